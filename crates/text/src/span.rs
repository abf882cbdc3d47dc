//! Spans, and the map from a derived text back to the text it came from.
//!
//! Every stage that changes a text (extraction, normalising) leaves an [`OffsetMap`], so that an answer can
//! point into the ORIGINAL. Maps compose: [`OffsetMap::then`] turns "normalised to extracted" and "extracted
//! to source" into "normalised to source".

use std::fmt;
use std::ops::Range;

/// A half-open range of byte offsets into a text of less than 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte offsets.
    ///
    /// Texts are refused at 4 GiB where they enter, so the narrowing loses nothing.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self { start: start as u32, end: end as u32 }
    }

    /// The same span as a range, for slicing.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span covers nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// One stretch of a derived text and the stretch of the source it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    derived: u32,
    source: u32,
    source_len: u32,
    /// Byte i of the derived stretch is byte i of the source stretch; otherwise the whole stands for the whole.
    linear: bool,
}

/// Maps offsets of a derived text to offsets of its source.
///
/// A list of pieces in derived order, each either *linear* (same length, byte for byte) or *whole* (any part
/// of it stands for all of its source). Text that was dropped from the source lies between pieces; text that
/// was added to the derived (a separator) is a whole piece with an empty source.
///
/// ```
/// use leitong_text::span::{OffsetMap, Span};
/// // "ＡＢ c" became "ab c": two full-width letters of 3 bytes each became one byte each.
/// let mut map = OffsetMap::default();
/// map.push_whole(1, Span::new(0, 3));
/// map.push_whole(1, Span::new(3, 6));
/// map.push_linear(Span::new(6, 8));
/// assert_eq!(map.to_source(Span::new(1, 4)), Span::new(3, 8));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffsetMap {
    pieces: Vec<Piece>,
    derived_len: u32,
}

impl OffsetMap {
    /// The map of a text onto itself.
    #[must_use]
    pub fn identity(len: usize) -> Self {
        let mut map = Self::default();
        map.push_linear(Span::new(0, len));
        map
    }

    /// Length of the derived text in bytes.
    #[must_use]
    pub fn derived_len(&self) -> usize {
        self.derived_len as usize
    }

    /// Makes room for about this many pieces.
    pub fn reserve(&mut self, pieces: usize) {
        self.pieces.reserve(pieces);
    }

    /// Appends a stretch that was taken over byte for byte (or with characters of the same byte lengths).
    #[inline]
    pub fn push_linear(&mut self, source: Span) {
        if source.is_empty() {
            return;
        }
        let source_len = source.end - source.start;
        if let Some(last) = self.pieces.last_mut()
            && last.linear
            && last.source + last.source_len == source.start
        {
            last.source_len += source_len;
        } else {
            self.pieces.push(Piece {
                derived: self.derived_len,
                source: source.start,
                source_len,
                linear: true,
            });
        }
        self.derived_len += source_len;
    }

    /// Appends `derived_len` bytes that as a whole stand for `source` as a whole.
    #[inline]
    pub fn push_whole(&mut self, derived_len: usize, source: Span) {
        if derived_len == 0 {
            return;
        }
        self.pieces.push(Piece {
            derived: self.derived_len,
            source: source.start,
            source_len: source.end - source.start,
            linear: false,
        });
        self.derived_len += derived_len as u32;
    }

    /// The stretch of the source that a stretch of the derived text came from: the smallest one that covers
    /// every piece it touches. An empty span maps to an empty span.
    #[must_use]
    pub fn to_source(&self, derived: Span) -> Span {
        let Some(first) = self.piece_at(derived.start) else {
            return Span::default();
        };
        let start = self.pieces[first].start_of(derived.start);
        if derived.is_empty() {
            return Span { start, end: start };
        }
        let last = self.piece_at(derived.end - 1).unwrap_or(first);
        let end = self.pieces[last].end_of(derived.end);
        Span { start, end: end.max(start) }
    }

    /// The map through both: `self` leads from this derived text to a middle text, `middle` from there to the
    /// source.
    #[must_use]
    pub fn then(&self, middle: &OffsetMap) -> OffsetMap {
        let mut out = OffsetMap::default();
        for (i, piece) in self.pieces.iter().enumerate() {
            let derived_len = self.derived_end(i) - piece.derived;
            let through = Span { start: piece.source, end: piece.source + piece.source_len };
            if piece.linear {
                middle.push_part_onto(through, &mut out);
            } else {
                out.push_whole(derived_len as usize, middle.to_source(through));
            }
        }
        out
    }

    /// Appends to `out` the pieces of `self` that lie in `part` of the derived text.
    fn push_part_onto(&self, part: Span, out: &mut OffsetMap) {
        let mut at = part.start;
        let mut index = self.piece_at(at).unwrap_or(self.pieces.len());
        while at < part.end && index < self.pieces.len() {
            let piece = self.pieces[index];
            let end = self.derived_end(index).min(part.end);
            let len = end - at;
            if piece.linear {
                let start = piece.start_of(at);
                out.push_linear(Span { start, end: start + len });
            } else {
                let source = Span { start: piece.source, end: piece.source + piece.source_len };
                out.push_whole(len as usize, source);
            }
            at = end;
            index += 1;
        }
    }

    fn derived_end(&self, index: usize) -> u32 {
        self.pieces.get(index + 1).map_or(self.derived_len, |next| next.derived)
    }

    /// The piece that holds the byte at `derived`, or the last one for an offset at or past the end.
    fn piece_at(&self, derived: u32) -> Option<usize> {
        self.pieces.partition_point(|p| p.derived <= derived).checked_sub(1)
    }
}

impl Piece {
    fn start_of(&self, derived: u32) -> u32 {
        if self.linear { self.source + (derived - self.derived).min(self.source_len) } else { self.source }
    }

    fn end_of(&self, derived_end: u32) -> u32 {
        if self.linear {
            self.source + (derived_end - self.derived).min(self.source_len)
        } else {
            self.source + self.source_len
        }
    }
}

/// Turns byte offsets of one text into code point offsets, which is what answers carry.
///
/// ```
/// use leitong_text::span::CodePoints;
/// let mut points = CodePoints::new("雷同 a");
/// assert_eq!([points.at(0), points.at(3), points.at(7), points.at(3)], [0, 1, 3, 1]);
/// ```
#[derive(Debug)]
pub struct CodePoints<'a> {
    text: &'a [u8],
    byte: usize,
    point: usize,
}

impl<'a> CodePoints<'a> {
    /// A counter at the start of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), byte: 0, point: 0 }
    }

    /// How many code points start before byte `offset`. Costs what lies between this and the last one asked for.
    pub fn at(&mut self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        if end < self.byte {
            self.point -= starts(&self.text[end..self.byte]);
        } else {
            self.point += starts(&self.text[self.byte..end]);
        }
        self.byte = end;
        self.point
    }
}

/// Turns byte offsets of one text into code point offsets, in any order.
///
/// ```
/// use leitong_text::span::PointIndex;
/// let points = PointIndex::new("雷同 a");
/// assert_eq!([points.at(7), points.at(0), points.at(3)], [3, 0, 1]);
/// ```
#[derive(Debug)]
pub struct PointIndex<'a> {
    text: &'a [u8],
    /// How many code points start before each block.
    before: Vec<u32>,
}

impl<'a> PointIndex<'a> {
    const BLOCK: usize = 256;

    /// The index of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let text = text.as_bytes();
        let (mut before, mut sum) = (Vec::with_capacity(text.len() / Self::BLOCK + 2), 0);
        before.push(sum);
        for block in text.chunks(Self::BLOCK) {
            sum += starts(block) as u32;
            before.push(sum);
        }
        Self { text, before }
    }

    /// How many code points start before byte `offset`.
    #[must_use]
    pub fn at(&self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        let block = end / Self::BLOCK;
        self.before[block] as usize + starts(&self.text[block * Self::BLOCK..end])
    }
}

/// How many code points start in these bytes, eight bytes at a time: all but those of the form `10xxxxxx` start one.
fn starts(bytes: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let (eights, rest) = bytes.as_chunks::<8>();
    let of_eight = |&eight: &[u8; 8]| {
        let eight = u64::from_le_bytes(eight);
        ((!eight >> 7 | eight >> 6) & EACH).count_ones() as usize
    };
    eights.iter().map(of_eight).sum::<usize>() + rest.iter().filter(|&&b| b & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_counted_in_any_order() {
        let text = "雷同 a ünïcode 𠮷野家 如有雷同，纯属巧合 the quick brown fox".repeat(20);
        let expected = |offset: usize| text.char_indices().take_while(|(at, _)| *at < offset).count();
        let (mut points, index) = (CodePoints::new(&text), PointIndex::new(&text));
        let offsets = text.char_indices().map(|(at, _)| at);
        for (near, far) in offsets.clone().zip(offsets.rev()) {
            assert_eq!([points.at(near), points.at(far)], [expected(near), expected(far)]);
            assert_eq!(index.at(far), expected(far));
        }
        assert_eq!([points.at(usize::MAX), index.at(usize::MAX)], [text.chars().count(); 2]);
    }

    #[test]
    fn dropped_text_lies_between_pieces() {
        // "a, b" -> "ab"
        let mut map = OffsetMap::default();
        map.push_linear(Span::new(0, 1));
        map.push_linear(Span::new(3, 4));
        assert_eq!(map.to_source(Span::new(0, 2)), Span::new(0, 4));
        assert_eq!(map.to_source(Span::new(0, 1)), Span::new(0, 1));
        assert_eq!(map.to_source(Span::new(1, 2)), Span::new(3, 4));
    }

    #[test]
    fn an_empty_map_answers_with_an_empty_span() {
        assert_eq!(OffsetMap::default().to_source(Span::new(0, 0)), Span::default());
    }

    #[test]
    fn maps_compose() {
        // source "<b>ＡB</b>c" -> middle "ＡBc" -> derived "abc"
        let mut extract = OffsetMap::default();
        extract.push_linear(Span::new(3, 7));
        extract.push_linear(Span::new(11, 12));
        let mut normalize = OffsetMap::default();
        normalize.push_whole(1, Span::new(0, 3));
        normalize.push_linear(Span::new(3, 5));
        let both = normalize.then(&extract);
        assert_eq!(both.to_source(Span::new(0, 1)), Span::new(3, 6));
        assert_eq!(both.to_source(Span::new(1, 2)), Span::new(6, 7));
        assert_eq!(both.to_source(Span::new(1, 3)), Span::new(6, 12));
        for (start, end) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let span = Span::new(start, end);
            assert_eq!(both.to_source(span), extract.to_source(normalize.to_source(span)));
        }
    }
}
