//! Every character a word.
//!
//! A character is a Unicode scalar value. Grapheme clusters were rejected: their rules change with Unicode, so
//! that stored fingerprints would too, and other tools' n-grams count code points.

use super::{Segment, Tag, Word, WordKind, tag_by_form};
use crate::span::Span;

/// One word a character.
#[derive(Clone, Copy, Debug)]
pub struct Characters {
    tags: bool,
}

impl Characters {
    /// With `tags`, digits, Latin letters and punctuation are tagged as such.
    #[must_use]
    pub fn new(tags: bool) -> Self {
        Self { tags }
    }
}

impl Segment for Characters {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        words.extend(text.char_indices().map(|(start, c)| {
            let span = Span::new(start, start + c.len_utf8());
            let kind = WordKind::of_char(c);
            let tag = if self.tags { tag_by_form(&text[span.range()], kind) } else { Tag::NONE };
            Word { span, tag, kind }
        }));
    }
}
