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

use super::chinese::{Chinese, first_bytes, is_of_words};
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

    /// Replaces the contents of `words` by the words of `text`.
    fn cut<const TAGS: bool>(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.chinese.with_cuts(text, TAGS, |cuts| {
            words.reserve(cuts.offsets.len());
            // Up to where the text is done, the first word that may belong to the next run, and whether that has a Han
            // character by now: until then nobody knows whose its words are.
            let (mut done, mut run, mut is_han_run) = (0, 0, false);
            for (number, span) in cuts.words().enumerate() {
                match class(text, span) {
                    Class::Han => {
                        if !is_han_run {
                            self.append_other(text, Span { start: done, end: cuts.offsets[run] }, words);
                            if run < number {
                                self.chinese.append_cuts(text, cuts, run..number, words);
                            }
                            is_han_run = true;
                        }
                        let tag =
                            if TAGS { self.chinese.tag_of_cut(text, cuts, number, span) } else { Tag::NONE };
                        words.push(Word { span, tag, kind: WordKind::Word });
                    }
                    Class::Ascii if is_han_run => {
                        self.chinese.append_cuts(text, cuts, number..number + 1, words);
                    }
                    Class::Ascii => {}
                    Class::Other => {
                        done = if is_han_run { span.start } else { done };
                        (run, is_han_run) = (number + 1, false);
                    }
                }
            }
            if !is_han_run {
                self.append_other(text, Span { start: done, end: text.len() as u32 }, words);
            }
        });
    }

    /// Appends what stands between two Han runs: mostly a comma or a full stop.
    fn append_other(&self, text: &str, part: Span, words: &mut Vec<Word>) {
        let before = words.len();
        let (mut start, mut last) = (part.start, None);
        for c in text[part.range()].chars() {
            match plain_kind(c) {
                Some(kind) if !(c == ' ' && last == Some(' ')) => {
                    let span = Span { start, end: start + c.len_utf8() as u32 };
                    let tag = if self.chinese.tags() { tag_by_form("", kind) } else { Tag::NONE };
                    words.push(Word { span, tag, kind });
                    (start, last) = (span.end, Some(c));
                }
                _ => {
                    words.truncate(before);
                    return self.unicode.append(text, part, words);
                }
            }
        }
    }
}

impl Segment for Mixed {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        if self.chinese.tags() { self.cut::<true>(text, words) } else { self.cut::<false>(text, words) }
    }
}

/// What a word of the dictionary's is made of.
enum Class {
    /// Characters of jieba's class with a Han character among them.
    Han,
    /// The others of that class.
    Ascii,
    /// Anything else.
    Other,
}

/// A word of jieba's class has no other characters, but Han and ASCII may be mixed. Two bytes decide nearly always.
#[inline(always)]
fn class(text: &str, word: Span) -> Class {
    match first_bytes(text, word) {
        Some(0xE4B8..=0xE9BF) => Class::Han, // U+4E00 to U+9FFF
        Some(0xE280..=0xE38F | 0xEFBC..=0xEFBF) => Class::Other, // U+2000 to U+33FF, U+FF00 to U+FFFF
        Some(two @ ..0x8000) if !is_of_words(char::from((two >> 8) as u8)) => Class::Other,
        _ => class_by_characters(&text[word.range()]),
    }
}

fn class_by_characters(word: &str) -> Class {
    if !word.starts_with(is_of_words) {
        Class::Other
    } else if word.contains(is_han) {
        Class::Han
    } else {
        Class::Ascii
    }
}

/// The kind of a character of which Unicode's rules make a word of its own, unless it is the second of two spaces: what
/// mostly stands between Chinese words. Nothing of it is a letter, digit or mark, nor `\r`.
#[inline]
fn plain_kind(c: char) -> Option<WordKind> {
    match c {
        '\n' | ' ' => Some(WordKind::Space),
        '!' | '"' | '\'' | '(' | ')' | ',' | '.' | '/' | ':' | ';' | '?' => Some(WordKind::Punctuation),
        '·' | '—' | '‘' | '’' | '“' | '”' | '…' => Some(WordKind::Punctuation),
        '、' | '。' | '《' | '》' | '「' | '」' | '【' | '】' => Some(WordKind::Punctuation),
        '！' | '（' | '）' | '，' | '：' | '；' | '？' => Some(WordKind::Punctuation),
        _ => None,
    }
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
