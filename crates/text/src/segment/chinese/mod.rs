//! Chinese words: the words and tags of jieba-rs 0.11, four to five times as fast (bench/results has the numbers).
//!
//! Input: a text. Output: the offsets where its words start, and their parts of speech. jieba takes the most probable
//! way to cut every run of Han characters, ASCII letters, digits and some signs into words of its dictionary; a hidden
//! Markov model then joins what was left in single characters, and another one guesses the tags of such words. Here the
//! same sums are done in the same order, so that not one word differs; `tests/jieba.rs` compares.
//!
//! | file | what |
//! |---|---|
//! | `layout` | the bits of the stored tables, with drawings; shared with the build script |
//! | `dictionary` | the tables at run time, and how a word is looked up in them |
//! | `route` | a text to the best path through its words, some hundred characters at a time |
//! | `cut` | the path to words: what is joined, what the models say |
//! | `model` | the two hidden Markov models |
//! | `own` | a user's words beside the dictionary |
//! | `modes` | full mode and search mode |
//! | `user` | a user's dictionary as it is read from a file |
//!
//! The tables are made by the build script from jieba's files in `data/jieba` and are read-only; with them a process
//! grows by some 18 MB, and unpacking takes some 25 ms. Rejected: crates for double arrays (crawdad, daachorse), which
//! map a character and walk node by node, so that every step waits for memory; a stored graph of all words, as jieba
//! has it; and tables in the executable as they are, which would make that 10 MB larger to save those milliseconds.

mod cut;
mod dictionary;
mod layout;
mod model;
mod modes;
mod own;
mod route;
mod user;

use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;

pub(super) use cut::Cuts;
use cut::Scratch;
use dictionary::{Dictionary, SHARED};
pub(super) use layout::is_of_words;
use route::OWN_TAG;
pub use user::{DictionaryError, UserDictionary};

use super::{Segment, Tag, Word, WordKind};
use crate::span::Span;

/// Chinese words by jieba's dictionary and models. Other scripts come out as jieba leaves them: Latin words whole, the
/// rest in characters.
///
/// Make one and share it between threads: every thread brings its own scratch memory, so that documents are cut in
/// parallel.
///
/// ```
/// use leitong_text::segment::{Chinese, UserDictionary};
/// let chinese = Chinese::new(UserDictionary::default(), true, false);
/// let mut offsets = Vec::new();
/// chinese.cut_offsets("他来到了网易杭研大厦", &mut offsets);
/// assert_eq!(offsets, [0, 3, 9, 12, 18, 24, 30]);
/// ```
pub struct Chinese {
    user: UserDictionary,
    /// A user's word may be a single character (or line end) that jieba looks up for its tag only.
    tags_separators: bool,
    /// jieba's dictionary with the user's words, made when first needed.
    own: OnceLock<Dictionary>,
    hmm: bool,
    tags: bool,
}

impl fmt::Debug for Chinese {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, hmm, tags, .. } = self;
        f.debug_struct("Chinese")
            .field("user", user)
            .field("hmm", hmm)
            .field("tags", tags)
            .finish_non_exhaustive()
    }
}

thread_local! {
    static SCRATCH: RefCell<(Scratch, Cuts)> = RefCell::default();
}

/// What is asked for besides where words begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// Their parts of speech.
    pub(super) tags: bool,
    /// The classes of their first characters.
    pub(super) classes: bool,
}

/// Words that a thread keeps room for.
const KEPT_WORDS: usize = 1 << 18;

impl Chinese {
    /// Loads nothing yet: the first text does. With `hmm`, a hidden Markov model finds words that are not in the
    /// dictionary; with `tags`, words get their part of speech.
    #[must_use]
    pub fn new(user: UserDictionary, hmm: bool, tags: bool) -> Self {
        let separator =
            |word: &str| word == "\r\n" || word.chars().count() == 1 && !word.contains(layout::is_of_words);
        let tags_separators = user.words.keys().any(|word| separator(word));
        Self { user, tags_separators, own: OnceLock::new(), hmm, tags }
    }

    /// Replaces `offsets` by the byte offsets where the words of `text` start, with the length of `text` as the last.
    /// The fastest way to the words; a text has to be shorter than 4 GiB.
    pub fn cut_offsets(&self, text: &str, offsets: &mut Vec<u32>) {
        self.with_cuts(text, Wanted::default(), |cuts| cuts.swap_offsets(offsets));
    }

    /// The same, and replaces `tags` by the parts of speech of the words.
    pub fn tag_offsets(&self, text: &str, offsets: &mut Vec<u32>, tags: &mut Vec<Tag>) {
        self.with_cuts(text, Wanted { tags: true, classes: false }, |cuts| {
            tags.clear();
            let known = &self.dictionary().fixed.tags;
            if self.user.is_empty() {
                tags.extend(cuts.tags.iter().map(|&number| known[usize::from(number)]));
            } else {
                let words = cuts.words().zip(&cuts.tags);
                tags.extend(words.map(|(word, &number)| self.tag_of(text, word, number)));
            }
            cuts.swap_offsets(offsets);
        });
    }

    /// Whether words get their part of speech.
    pub(super) fn tags(&self) -> bool {
        self.tags
    }

    fn dictionary(&self) -> &Dictionary {
        if self.user.is_empty() {
            return &SHARED;
        }
        let words = || self.user.words.iter().map(|(word, added)| (word.as_str(), added.frequency));
        self.own.get_or_init(|| SHARED.with_words(words()))
    }

    /// Cuts a text and shows the result to `then`.
    pub(super) fn with_cuts<R>(&self, text: &str, wanted: Wanted, then: impl FnOnce(&mut Cuts) -> R) -> R {
        let dictionary = self.dictionary();
        SCRATCH.with_borrow_mut(|(scratch, cuts)| {
            cuts.wants_classes = wanted.classes;
            cut::cut::<true>(dictionary, text, self.hmm, wanted.tags, scratch, cuts);
            let result = then(cuts);
            cuts.release(KEPT_WORDS);
            result
        })
    }

    /// The tag of word `number` of `text`, which stands at `word`, as [`Chinese::with_cuts`] gave it.
    #[inline(always)]
    pub(super) fn tag_of_cut(&self, text: &str, cuts: &Cuts, number: usize, word: Span) -> Tag {
        cuts.tags.get(number).map_or(Tag::NONE, |&tag| self.tag_of(text, word, tag))
    }

    /// Word `number` of `text`, as [`Chinese::with_cuts`] gave it.
    #[inline]
    pub(super) fn word(&self, text: &str, cuts: &Cuts, number: usize) -> Word {
        let span = cuts.word(number);
        Word { span, tag: self.tag_of_cut(text, cuts, number, span), kind: kind_of(text, span) }
    }

    /// Appends all words of `text`.
    fn append_all(&self, text: &str, words: &mut Vec<Word>) {
        self.with_cuts(text, Wanted { tags: self.tags, classes: false }, |cuts| {
            words.extend((0..cuts.offsets().len() - 1).map(|number| self.word(text, cuts, number)));
        });
    }

    /// Appends the words of `part` of `text`, cut on its own.
    #[cfg(test)]
    pub(super) fn append(&self, text: &str, part: Span, words: &mut Vec<Word>) {
        let from = words.len();
        let part_text = &text[part.range()];
        self.append_all(part_text, words);
        for word in &mut words[from..] {
            word.span = Span { start: word.span.start + part.start, end: word.span.end + part.start };
        }
    }

    /// The tag with this number: the user's, or jieba's, which does not change the tag of a word that it already had.
    #[inline]
    fn tag_of(&self, text: &str, word: Span, number: u8) -> Tag {
        let fixed = &self.dictionary().fixed;
        if number != OWN_TAG && !(self.tags_separators && number == fixed.other) {
            return fixed.tags[usize::from(number)];
        }
        let word = &text[word.range()];
        match self.user.words.get(word) {
            Some(added) => added.tag.or_else(|| SHARED.tag(word)).unwrap_or(Tag::NONE),
            None => fixed.tags[usize::from(fixed.other)],
        }
    }
}

/// The kind of a word; most of them start with a Han character.
#[inline(always)]
fn kind_of(text: &str, word: Span) -> WordKind {
    match first_bytes(text, word) {
        Some(0xE4B8..=0xE9BF) => WordKind::Word,
        _ => WordKind::of(&text[word.range()]),
    }
}

/// The first two bytes of a word, or of what follows it. From 0xE4B8 to 0xE9BF they tell a Han character (U+4E00 to U+9FFF),
/// which nearly all words start with.
#[inline(always)]
pub(super) fn first_bytes(text: &str, word: Span) -> Option<u16> {
    let bytes = text.as_bytes().get(word.start as usize..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

impl Segment for Chinese {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.append_all(text, words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{cut, cut_with_tags};
    use super::*;
    use crate::normalize::{Normalizer, Options};

    #[test]
    fn words_and_tags() {
        let chinese = Chinese::new(UserDictionary::default(), true, true);
        assert_eq!(cut_with_tags(&chinese, "我爱北京天安门"), ["我/r", "爱/v", "北京/ns", "天安门/ns"]);
    }

    #[test]
    fn the_model_can_be_switched_off() {
        let without = Chinese::new(UserDictionary::default(), false, false);
        let with = Chinese::new(UserDictionary::default(), true, false);
        assert_eq!(cut(&without, "他来到了网易杭研大厦"), ["他", "来到", "了", "网易", "杭", "研", "大厦"]);
        assert_eq!(cut(&with, "他来到了网易杭研大厦"), ["他", "来到", "了", "网易", "杭研", "大厦"]);
    }

    #[test]
    fn user_words_win_and_are_normalised() {
        let lines = "# own words\n\n北京華聯 500 nt\n雷同網 品牌\nＡＢ測試\n北京 9 city";
        let user = UserDictionary::parse(lines, &Normalizer::new(Options::default())).unwrap();
        let chinese = Chinese::new(user, true, true);
        let words = cut_with_tags(&chinese, "北京华联在北京用雷同网做ab测试");
        assert_eq!(words, ["北京华联/nt", "在/p", "北京/city", "用/p", "雷同网/品牌", "做/v", "ab测试/"]);
    }

    #[test]
    fn a_text_without_separators_leaves_no_memory_behind() {
        let chinese = Chinese::new(UserDictionary::default(), true, true);
        let long = "雷同".repeat(200_000);
        let (mut offsets, mut tags) = (Vec::new(), Vec::new());
        chinese.tag_offsets(&long, &mut offsets, &mut tags);
        assert_eq!((offsets.len(), tags.len()), (200_001, 200_000));
        chinese.tag_offsets("雷同", &mut offsets, &mut tags);
        assert_eq!(offsets, [0, 6]);
    }
}
