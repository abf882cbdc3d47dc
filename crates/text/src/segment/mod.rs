//! Segmenting: a text into words, every byte of it in exactly one.
//!
//! [`Segment`] is the seam. Its implementers, a file each:
//!
//! | file | words | for |
//! |---|---|---|
//! | `chinese` | dictionary and hidden Markov model (jieba), with parts of speech | Chinese |
//! | `unicode` | Unicode word boundaries (UAX #29) | Latin, Cyrillic, Arabic, Korean, … |
//! | `character` | every character | character n-grams in any script |
//! | `mixed` | Chinese where there are Han characters, Unicode words elsewhere | the default |
//!
//! Punctuation and white space are words too, told apart by their [`WordKind`]: so the words joined give the text
//! back, phrases can be matched across them, and leaving them out is the filter's business alone.

mod character;
mod chinese;
#[cfg(test)]
mod contract;
mod mixed;
mod tag;
mod unicode;

use serde::{Deserialize, Serialize};

pub use character::Characters;
pub use chinese::{Chinese, DictionaryError, UserDictionary};
pub use mixed::Mixed;
pub use tag::{Tag, TagTooLong};
pub use unicode::UnicodeWords;

use crate::filter::Filter;
use crate::normalize::is_punctuation;
use crate::span::Span;

/// A word of a text: where it stands, what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Bytes of the text.
    pub span: Span,
    /// Part of speech; [`Tag::NONE`] unless the segmenter was asked for tags.
    pub tag: Tag,
    /// What kind of characters it is made of.
    pub kind: WordKind,
}

/// What kind of characters a word is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// At least one letter.
    Word,
    /// Digits, and perhaps signs among them, but no letter.
    Number,
    /// Neither letter nor digit: punctuation, symbols, emoji, controls.
    Punctuation,
    /// White space only.
    Space,
}

impl WordKind {
    /// The kind of a word with this text.
    #[must_use]
    pub fn of(word: &str) -> Self {
        let mut kind = WordKind::Space;
        for c in word.chars() {
            match WordKind::of_char(c) {
                WordKind::Word => return WordKind::Word,
                WordKind::Number => kind = WordKind::Number,
                WordKind::Punctuation if kind == WordKind::Space => kind = WordKind::Punctuation,
                WordKind::Punctuation | WordKind::Space => {}
            }
        }
        kind
    }

    /// The kind of a single character.
    #[must_use]
    pub fn of_char(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => WordKind::Word,
            '0'..='9' => WordKind::Number,
            ' ' | '\n' => WordKind::Space,
            _ if is_han(c) => WordKind::Word,
            _ if c.is_whitespace() => WordKind::Space,
            _ if c.is_numeric() => WordKind::Number,
            _ if is_punctuation(c) => WordKind::Punctuation,
            _ => WordKind::Word,
        }
    }
}

/// The seam: cuts a text into words.
///
/// An implementer promises, for every text of less than 4 GiB: no panic; spans ascend, are not empty, lie on
/// character boundaries and cover the text without a gap; the same answer every time, on every thread.
pub trait Segment: Send + Sync {
    /// Replaces the contents of `words` by the words of `text`.
    fn segment(&self, text: &str, words: &mut Vec<Word>);

    /// Where those words stand that a filter keeps, in any order; `words` and `places` are memory to be used again.
    fn segment_and_filter<'p>(
        &self,
        text: &str,
        filter: &Filter,
        words: &mut Vec<Word>,
        places: &'p mut Vec<Span>,
    ) -> &'p [Span] {
        self.segment(text, words);
        keep(text, filter, words, places)
    }
}

/// Where those words stand that a filter keeps.
fn keep<'p>(text: &str, filter: &Filter, words: &[Word], places: &'p mut Vec<Span>) -> &'p [Span] {
    places.clear();
    places.extend(words.iter().filter(|&&word| filter.keeps_at(text, word)).map(|word| word.span));
    places
}

/// What a text is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Words: Chinese by dictionary, everything else by Unicode's rules.
    #[default]
    Words,
    /// Words by Unicode's rules alone, without a dictionary; each Han character is one.
    UnicodeWords,
    /// Characters (Unicode scalar values).
    Characters,
}

/// Which segmenter, and how. Part of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// What a text is cut into.
    pub by: Unit,
    /// Let a hidden Markov model find Chinese words that are not in the dictionary.
    pub hmm: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { by: Unit::Words, hmm: true }
    }
}

impl Settings {
    /// The segmenter. `user_dictionary` plays a part for [`Unit::Words`] only. Tags cost about half as much again,
    /// so they are computed only where `tags` asks for them; the words are the same.
    #[must_use]
    pub fn build(self, user_dictionary: UserDictionary, tags: bool) -> Box<dyn Segment> {
        match self.by {
            Unit::Words => Box::new(Mixed::new(Chinese::new(user_dictionary, self.hmm, tags))),
            Unit::UnicodeWords => Box::new(UnicodeWords::new(tags)),
            Unit::Characters => Box::new(Characters::new(tags)),
        }
    }
}

/// Whether `c` is a Han character of the ranges that jieba's dictionary covers.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
}

/// The tag of a word that no dictionary has tagged, by jieba's conventions; other scripts have none.
fn tag_by_form(word: &str, kind: WordKind) -> Tag {
    match kind {
        WordKind::Number => Tag::NUMBER,
        WordKind::Punctuation | WordKind::Space => Tag::OTHER,
        WordKind::Word if word.is_ascii() => Tag::ENGLISH,
        WordKind::Word => Tag::NONE,
    }
}
