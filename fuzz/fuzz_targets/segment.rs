//! Any text, cut in every way: no panic, no memory fault, every word on character boundaries, and jieba-rs's words.
//!
//! `cargo +nightly fuzz run segment -- -max_total_time=600` in the folder above. The first byte says whether the first
//! line is a user's dictionary (words separated by blanks); the rest is the text, broken UTF-8 replaced.

#![no_main]

use std::sync::LazyLock;

use jieba_rs::Jieba;
use leitong_text::segment::{Chinese, Mixed, Segment, UserDictionary, Word};
use leitong_text::span::Span;
use libfuzzer_sys::fuzz_target;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    // A dictionary of one's own is a copy of 11 MB: now and then.
    match (kind, text.split_once('\n')) {
        (0, Some((words, text))) => {
            let mut user = UserDictionary::default();
            words.split(' ').filter(|word| !word.is_empty()).for_each(|word| user.add(word));
            check(&user, text, false);
        }
        _ => check(&UserDictionary::default(), &text, true),
    }
});

fn check(user: &UserDictionary, text: &str, compare: bool) {
    for hmm in [false, true] {
        let chinese = Chinese::new(user.clone(), hmm, true);
        let (mut plain, mut offsets, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        chinese.cut_offsets(text, &mut plain);
        chinese.tag_offsets(text, &mut offsets, &mut tags);
        assert_eq!(plain, offsets, "tags change the words");
        assert_eq!(tags.len() + 1, offsets.len());
        assert_eq!((offsets[0], *offsets.last().unwrap() as usize), (0, text.len()));
        for pair in offsets.windows(2) {
            assert!(pair[0] < pair[1] && text.is_char_boundary(pair[1] as usize));
        }
        let (search, all) = (chinese.cut_for_search(text), chinese.cut_all(text));
        for Span { start, end } in search.into_iter().chain(all) {
            assert!(!text[start as usize..end as usize].is_empty());
        }
        let mut words: Vec<Word> = Vec::new();
        Mixed::new(chinese).segment(text, &mut words);
        assert_eq!(words.iter().map(|word| text[word.span.range()].len()).sum::<usize>(), text.len());
        if compare {
            let theirs = JIEBA.tag(text, hmm);
            let theirs = theirs.iter().map(|tagged| (tagged.byte_start as u32, tagged.tag));
            assert!(offsets.iter().copied().zip(tags.iter().map(|tag| tag.as_str())).eq(theirs));
        }
    }
}
