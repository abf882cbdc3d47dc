//! Builds a text from stretches of marked-up source, with white space folded and the map kept in step.

use crate::span::{OffsetMap, Span};

/// What separates the text so far from what comes next; the strongest one asked for wins.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    Nothing,
    Space,
    Tab,
    Line,
    Paragraph,
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Space => " ",
            Self::Tab => "\t",
            Self::Line => "\n",
            Self::Paragraph => "\n\n",
        }
    }
}

/// Collects text. Runs of white space become one space; separators are written only between words, so that
/// the text neither starts nor ends with one.
#[derive(Default)]
pub(super) struct TextBuilder {
    text: String,
    map: OffsetMap,
    gap: Gap,
    /// The white space in the source that a pending [`Gap::Space`] stands for.
    space: Span,
    /// It is one plain space, the same as what is written for it.
    space_is_plain: bool,
    /// Where in the source the last word ended.
    source_end: u32,
}

impl TextBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Text that stands in the source at byte `at` as it is.
    pub(super) fn verbatim(&mut self, raw: &str, at: usize) {
        let (mut rest, mut at) = (raw, at);
        while !rest.is_empty() {
            let word_at = rest.len() - rest.trim_start().len();
            if word_at > 0 {
                self.white_space(Span::new(at, at + word_at), rest[..word_at] == *" ");
            }
            let word = &rest[word_at..];
            let word = &word[..word.find(char::is_whitespace).unwrap_or(word.len())];
            at += word_at;
            if !word.is_empty() {
                self.close_gap(at);
                self.text.push_str(word);
                self.map.push_linear(Span::new(at, at + word.len()));
                at += word.len();
                self.source_end = at as u32;
            }
            rest = &rest[word_at + word.len()..];
        }
    }

    /// Text that stands for a stretch of the source, such as a character for its entity.
    pub(super) fn decoded(&mut self, text: &str, source: Span) {
        if text.chars().all(char::is_whitespace) {
            self.white_space(source, false);
            return;
        }
        self.close_gap(source.start as usize);
        self.text.push_str(text);
        self.map.push_whole(text.len(), source);
        self.source_end = source.end;
    }

    /// A space before the next word that is not in the source.
    pub(super) fn space(&mut self) {
        let at = self.source_end;
        self.white_space(Span { start: at, end: at }, false);
    }

    /// A tab before the next word.
    pub(super) fn tab(&mut self) {
        self.gap = self.gap.max(Gap::Tab);
    }

    /// The next word starts a line.
    pub(super) fn line(&mut self) {
        self.gap = self.gap.max(Gap::Line);
    }

    /// The next word follows a blank line.
    pub(super) fn paragraph(&mut self) {
        self.gap = self.gap.max(Gap::Paragraph);
    }

    /// Where the next word will start once the gap before it is written.
    pub(super) fn next_start(&self) -> usize {
        if self.text.is_empty() { 0 } else { self.text.len() + self.gap.text().len() }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn finish(self) -> (String, OffsetMap) {
        (self.text, self.map)
    }

    fn white_space(&mut self, source: Span, is_plain: bool) {
        if self.gap == Gap::Nothing {
            self.gap = Gap::Space;
            self.space = source;
            self.space_is_plain = is_plain;
        }
    }

    /// Writes the pending separator before a word from byte `at` of the source.
    fn close_gap(&mut self, at: usize) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        if self.text.is_empty() || gap == Gap::Nothing {
            return;
        }
        self.text.push_str(gap.text());
        match gap {
            // Linear, so that plain sentences are one piece of the map.
            Gap::Space if self.space_is_plain => self.map.push_linear(self.space),
            Gap::Space => self.map.push_whole(1, self.space),
            _ => self.map.push_whole(gap.text().len(), Span::new(at, at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_white_space_and_maps_it() {
        let source = "  one \n\u{3000}two<br>three &lt; ";
        let mut builder = TextBuilder::new();
        builder.verbatim(&source[..13], 0);
        builder.line();
        builder.verbatim(&source[17..23], 17);
        builder.decoded("<", Span::new(23, 27));
        builder.verbatim(&source[27..], 27);
        let (text, map) = builder.finish();
        assert_eq!(text, "one two\nthree <");
        assert_eq!(map.derived_len(), text.len());
        let source_of = |part: &str| {
            let start = text.find(part).unwrap();
            &source[map.to_source(Span::new(start, start + part.len())).range()]
        };
        assert_eq!(source_of("two"), "two");
        assert_eq!(source_of("one two"), "one \n\u{3000}two");
        assert_eq!(source_of("<"), "&lt;");
        assert_eq!(source_of("two\nthree"), "two<br>three");
    }
}
