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
    /// The unit of a piece of text: the character itself, or up to four letters packed into a number. 16 bits a letter
    /// are enough, because letters beyond the basic plane are rare; the top bits keep a piece of one or two letters
    /// apart from a character that stands alone.
    fn of(piece: &str) -> Self {
        let mut letters = piece.chars();
        match (letters.next(), letters.next()) {
            (Some(c), None) if Kind::of(c) == Kind::Alone => Self(u64::from(c)),
            _ => {
                let packed = piece.chars().fold(0, |packed, c| packed << 16 | u64::from(c) & 0xffff);
                Self(packed ^ (piece.chars().count() as u64) << 61)
            }
        }
    }

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
    cut(text, |start, end| {
        out.units.push(Unit::of(&text[start..end]));
        out.spans.push(Span::new(start, end));
    });
    out
}

/// Finds the units of a text and hands out the bytes of each, in order.
fn cut(text: &str, unit: impl FnMut(usize, usize)) {
    cut_by(text, Kind::of, unit);
}

/// Finds the units that fingerprints are made of: those of alignment, but digits go together like letters, up to four.
/// There are only a hundred pairs of digits, so with a digit a unit all tables of numbers would get the same fingerprint.
pub(crate) fn cut_features(text: &str, unit: impl FnMut(usize, usize)) {
    cut_by(text, |c| if c.is_ascii_digit() { Kind::Letter } else { Kind::of(c) }, unit);
}

#[inline]
fn cut_by(text: &str, kind_of: impl Fn(char) -> Kind, mut unit: impl FnMut(usize, usize)) {
    let mut letters = 0;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let kind = kind_of(c);
        if letters > 0 && (kind != Kind::Letter || letters == LETTERS_A_UNIT) {
            unit(start, at);
            letters = 0;
        }
        match kind {
            Kind::Separator => {}
            Kind::Alone => unit(at, at + c.len_utf8()),
            Kind::Letter => {
                if letters == 0 {
                    start = at;
                }
                letters += 1;
            }
        }
    }
    if letters > 0 {
        unit(start, text.len());
    }
}

/// What a character is to a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends a unit and is in none.
    Separator,
    /// A unit by itself: a digit, or a character of a script that is written without spaces.
    Alone,
    /// Part of a word.
    Letter,
}

impl Kind {
    #[inline]
    fn of(c: char) -> Self {
        match c {
            // The two that texts are mostly made of, before the look-up in Unicode's tables.
            '一'..='龥' => Self::Alone,
            'a'..='z' => Self::Letter,
            '0'..='9' => Self::Alone,
            '\0'..='\x7f' if !c.is_ascii_alphabetic() => Self::Separator,
            '〇' => Self::Alone,
            _ if !c.is_alphanumeric() => Self::Separator,
            // Thai to Myanmar, Khmer; kana, CJK and Hangul are all from U+2E80 on.
            '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'.. => Self::Alone,
            _ => Self::Letter,
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
