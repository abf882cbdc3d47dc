//! The default: Chinese by dictionary, every other script by Unicode's boundaries.
//!
//! jieba leaves a Russian or Korean sentence in single letters, and Unicode's rules leave a Chinese one in single
//! characters; so each gets what it understands. A run of jieba's own character class (Han, ASCII letters and
//! digits, `+#&._%-`) that holds a Han character goes to jieba whole, because its dictionary has words such as T恤
//! and 3D打印; everything else goes to Unicode. So inside such a run the words are exactly jieba's, and
//! between runs they may differ (numbers and Latin words on their own, rows of spaces).
//!
//! The dictionary cuts the whole text at once and what it says between runs is thrown away: it works in
//! chunks of some hundred characters, and runs are much shorter.

use super::chinese::{Chinese, Cuts, is_of_words};
use super::{Segment, Tag, UnicodeWords, Word, WordKind, is_han, tag_by_form};
use crate::span::Span;

/// Chinese words where there are Han characters, Unicode words elsewhere.
#[derive(Debug)]
pub struct Mixed {
    chinese: Chinese,
    unicode: UnicodeWords,
}

impl Mixed {
    /// Han runs go to `chinese`; the rest has tags if and only if it has.
    #[must_use]
    pub fn new(chinese: Chinese) -> Self {
        let unicode = UnicodeWords::new(chinese.tags());
        Self { chinese, unicode }
    }

    /// Appends what stands between two Han runs: mostly a comma or a full stop.
    fn append_other(&self, text: &str, part: Span, words: &mut Vec<Word>) {
        let other = &text[part.range()];
        if !is_plain_punctuation(other) {
            return self.unicode.append(text, part, words);
        }
        words.extend(other.char_indices().map(|(at, c)| {
            let start = part.start as usize + at;
            let kind = WordKind::of_char(c);
            let tag = if self.chinese.tags() { tag_by_form("", kind) } else { Tag::NONE };
            Word { span: Span::new(start, start + c.len_utf8()), tag, kind }
        }));
    }
}

impl Segment for Mixed {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.chinese.with_cuts(text, self.chinese.tags(), |cuts| {
            let (mut done, mut at) = (0, 0);
            while let Some(run) = next_han_run(text, cuts, &mut at) {
                let span = Span { start: cuts.offsets[run.start], end: cuts.offsets[run.end] };
                self.append_other(text, Span { start: done, end: span.start }, words);
                self.chinese.append_cuts(text, cuts, run, words);
                done = span.end;
            }
            self.append_other(text, Span { start: done, end: text.len() as u32 }, words);
        });
    }
}

/// The next words, from number `at` on, that lie side by side, are of jieba's class, and have a Han character among
/// them.
fn next_han_run(text: &str, cuts: &Cuts, at: &mut usize) -> Option<std::ops::Range<usize>> {
    /// What the first character of a word says about the whole.
    enum Class {
        Han,
        Ascii,
        Other,
    }
    // A word of jieba's class has no other characters, but Han and ASCII may be mixed.
    let class = |number: usize| {
        let &[start, end] = cuts.offsets.get(number..number + 2)? else { return None };
        let word = &text[start as usize..end as usize];
        Some(match word.as_bytes() {
            [0xE5..=0xE9, ..] => Class::Han, // U+5000 to U+9FFF
            _ if !word.starts_with(is_of_words) => Class::Other,
            _ if word.contains(is_han) => Class::Han,
            _ => Class::Ascii,
        })
    };
    loop {
        let start = *at;
        let mut han = false;
        loop {
            match class(*at) {
                Some(Class::Han) => han = true,
                Some(Class::Ascii) => {}
                Some(Class::Other) => break,
                None if han => return Some(start..*at),
                None => return None,
            }
            *at += 1;
        }
        if han {
            return Some(start..*at);
        }
        *at += 1;
    }
}

/// Whether Unicode's rules make a word of every character: true for most of what stands between Chinese words.
/// Nothing of it is a letter, digit or mark, nor `\r`, and only one may be a space.
fn is_plain_punctuation(text: &str) -> bool {
    let is_plain = |c| {
        matches!(
            c,
            '\n' | ' '
                | '!'
                | '"'
                | '\''
                | '('
                | ')'
                | ','
                | '.'
                | '/'
                | ':'
                | ';'
                | '?'
                | '·'
                | '—'
                | '‘'
                | '’'
                | '“'
                | '”'
                | '…'
                | '、'
                | '。'
                | '《'
                | '》'
                | '「'
                | '」'
                | '【'
                | '】'
                | '！'
                | '（'
                | '）'
                | '，'
                | '：'
                | '；'
                | '？'
        )
    };
    text.chars().all(is_plain) && !text.contains("  ")
}

#[cfg(test)]
mod tests {
    use super::super::UserDictionary;
    use super::super::contract::nasty;
    use super::*;
    use proptest::prelude::*;

    /// The same by its definition: run by run.
    fn run_by_run(mixed: &Mixed, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut done = 0;
        let is_ascii = |c: char| c.is_ascii() && is_of_words(c);
        while let Some(first) = text[done..].find(is_han).map(|at| done + at) {
            let start = text[done..first].trim_end_matches(is_ascii).len() + done;
            let end = text[first..].find(|c| !is_of_words(c)).map_or(text.len(), |len| first + len);
            mixed.unicode.append(text, Span::new(done, start), &mut words);
            mixed.chinese.append(text, Span::new(start, end), &mut words);
            done = end;
        }
        mixed.unicode.append(text, Span::new(done, text.len()), &mut words);
        words
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_whole_text_at_once_is_the_same(text in nasty(), more in "[，。“”… \n!?.'a1中]{0,12}", tags: bool) {
            let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, tags));
            let text = text + &more;
            let mut words = Vec::new();
            mixed.segment(&text, &mut words);
            prop_assert_eq!(words, run_by_run(&mixed, &text));
        }
    }
}
