//! Words by Unicode's boundaries (UAX #29).
//!
//! Right for scripts that put spaces between words. Scripts that do not come apart into characters (Han,
//! hiragana, Thai with its vowel signs), which is what n-grams over them want anyway.

use unicode_segmentation::UnicodeSegmentation;

use super::{Segment, Tag, Word, WordKind, tag_by_form};
use crate::span::Span;

/// Unicode words.
#[derive(Clone, Copy, Debug)]
pub struct UnicodeWords {
    tags: bool,
}

impl UnicodeWords {
    /// With `tags`, numbers, Latin words and punctuation are tagged as such.
    #[must_use]
    pub fn new(tags: bool) -> Self {
        Self { tags }
    }

    /// Appends the words of `part` of `text`.
    pub(super) fn append(self, text: &str, part: Span, words: &mut Vec<Word>) {
        let offset = part.start as usize;
        for (start, word) in text[part.range()].split_word_bound_indices() {
            let kind = WordKind::of(word);
            let tag = if self.tags { tag_by_form(word, kind) } else { Tag::NONE };
            words.push(Word { span: Span::new(offset + start, offset + start + word.len()), tag, kind });
        }
    }
}

impl Segment for UnicodeWords {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.append(text, Span::new(0, text.len()), words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::cut;
    use super::*;

    #[test]
    fn scripts_come_out_sensibly() {
        let by_unicode = UnicodeWords::new(false);
        let cases: [(&str, &[&str]); 6] = [
            ("Don't pay 3.14 USD", &["Don't", "pay", "3.14", "USD"]),
            ("Съешь ещё", &["Съешь", "ещё"]),
            ("مرحبا بالعالم", &["مرحبا", "بالعالم"]),
            ("한국어 문장", &["한국어", "문장"]),
            ("カタカナとひら", &["カタカナ", "と", "ひ", "ら"]),
            ("中文", &["中", "文"]),
        ];
        for (text, words) in cases {
            assert_eq!(cut(&by_unicode, text), words);
        }
    }
}
