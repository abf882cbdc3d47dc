//! Units: what alignment compares. One a character of scripts without spaces and one a digit, one for every up to
//! four letters of other words, so that a Chinese character and a piece of an English word carry about as much.

use leitong_text::span::Span;

/// A unit: a hash of what it is, with a flag for numerals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit(u64);

/// Arabic digits, and Chinese numerals that may be part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numeral {
    /// 0 to 9.
    Digit,
    /// 一 to 亿 and 零.
    Chinese,
}

/// The units of a text with their places.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// The units in reading order.
    pub units: Vec<Unit>,
    /// The span of each in the text they were made from.
    pub spans: Vec<Span>,
}

const LETTERS_A_UNIT: usize = 4;

impl Unit {
    /// The numeral the unit is, if it is one.
    #[must_use]
    pub fn numeral(self) -> Option<Numeral> {
        let c = char::from_u32(u32::try_from(self.0).ok()?)?;
        match c {
            '0'..='9' => Some(Numeral::Digit),
            '〇' | '零' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九' | '十' | '百'
            | '千' | '万' | '亿' => Some(Numeral::Chinese),
            _ => None,
        }
    }

    /// The character the unit is, unless it is a piece of a word.
    #[must_use]
    pub fn character(self) -> Option<char> {
        char::from_u32(u32::try_from(self.0).ok()?)
    }

    /// The unit as a number, for hashing.
    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}

/// Cuts a normalised text (lower case, width folded) into units; everything that is no letter or digit only
/// separates.
#[must_use]
pub fn units(text: &str) -> Units {
    let mut out = Units::default();
    let mut piece = Piece::default();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if !c.is_alphanumeric() && c != '〇' {
            piece.flush(&mut out);
        } else if stands_alone(c) {
            piece.flush(&mut out);
            out.units.push(Unit(u64::from(c)));
            out.spans.push(Span::new(at, end));
        } else {
            piece.push(c, at, end, &mut out);
        }
    }
    piece.flush(&mut out);
    out
}

/// Digits, and letters of scripts that are written without spaces between words.
fn stands_alone(c: char) -> bool {
    match u32::from(c) {
        0x30..=0x39 => true,
        // Thai to Myanmar, Khmer; kana, CJK and Hangul are all from U+2E80 on.
        0x0E00..=0x109F | 0x1780..=0x17FF | 0x2E80.. => true,
        _ => false,
    }
}

/// Up to four letters of a word on their way to a unit.
#[derive(Default)]
struct Piece {
    value: u64,
    letters: usize,
    start: usize,
    end: usize,
}

impl Piece {
    fn push(&mut self, c: char, start: usize, end: usize, out: &mut Units) {
        if self.letters == 0 {
            self.start = start;
        }
        // 16 bits a letter is enough: letters beyond the basic plane are in scripts that stand alone, or rare.
        self.value = self.value << 16 | u64::from(c) & 0xffff;
        self.letters += 1;
        self.end = end;
        if self.letters == LETTERS_A_UNIT {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Units) {
        if self.letters > 0 {
            // The top bits keep a piece of one or two letters apart from a character that stands alone.
            let value = self.value ^ (self.letters as u64) << 61;
            out.units.push(Unit(value));
            out.spans.push(Span::new(self.start, self.end));
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_digits_and_pieces() {
        let text = "2026年 duplicate, 雷同";
        let cut = units(text);
        let pieces: Vec<&str> = cut.spans.iter().map(|span| &text[span.range()]).collect();
        assert_eq!(pieces, ["2", "0", "2", "6", "年", "dupl", "icat", "e", "雷", "同"]);
        assert_eq!(cut.units[0].numeral(), Some(Numeral::Digit));
        assert_eq!(cut.units[7].character(), None, "a piece is no character");
    }

    #[test]
    fn words_begin_new_pieces() {
        assert_ne!(units("an ice").units, units("a nice").units);
        assert_eq!(units("a-b").units, units("a b").units);
        assert!(units("，。！").units.is_empty());
    }
}
