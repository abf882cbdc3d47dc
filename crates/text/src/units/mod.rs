//! Units: what marks are made of and what alignment compares.
//!
//! One a character of scripts without spaces, one a digit, and one for every up to four letters of other words, so that a
//! Chinese character and a piece of an English word carry about as much. They are read from the normal form that equal
//! texts share ([`crate::normalize::Options::default`]): width, case, traditional characters, punctuation and spaces make
//! no difference. Stored marks are hashes of units, so a unit of today is the unit of ten years from now
//! (`tests::frozen`).
//!
//! Reading costs one look at a small bitmap for a Chinese character and does not build the normal form; where a
//! character may join the one before it the text is normalised the plain way, which is also what the tests compare with.

mod kind;
mod read;
#[cfg(test)]
mod tests;

pub use kind::Kind;
pub use read::{UnitReader, units_of};

/// A unit.
///
/// | value | what |
/// |---|---|
/// | below `0x11_0000` | a character that stands alone: the character itself |
/// | from `0x4000_0000` | a piece of one to four ASCII letters, seven bits each |
/// | from `0x2000_0000` | a piece with other letters, by 29 bits of a hash |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unit(u32);

const PIECE: u32 = 0x4000_0000;
const OTHER_PIECE: u32 = 0x2000_0000;
const LETTERS_A_UNIT: usize = 4;

/// Arabic digits, and Chinese numerals that may be part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numeral {
    /// 0 to 9.
    Digit,
    /// 一 to 亿 and 零.
    Chinese,
}

/// A bit for every character up to the last numeral: it is one.
static NUMERALS: [u64; '零' as usize / 64 + 1] = {
    const ALL: [char; 26] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '〇', '零', '一', '二', '三', '四', '五', '六',
        '七', '八', '九', '十', '百', '千', '万', '亿',
    ];
    let (mut bits, mut at) = ([0; '零' as usize / 64 + 1], 0);
    while at < ALL.len() {
        bits[ALL[at] as usize / 64] |= 1 << (ALL[at] as usize % 64);
        at += 1;
    }
    bits
};

impl Unit {
    /// The unit of a character that stands alone.
    fn alone(c: char) -> Self {
        Self(u32::from(c))
    }

    /// The unit of up to four letters.
    fn piece(letters: &[char]) -> Self {
        if letters.iter().all(char::is_ascii) {
            let packed = letters.iter().fold(0, |packed, &c| packed << 7 | u32::from(c));
            return Self(PIECE | packed);
        }
        let hash = letters.iter().fold(letters.len() as u32, |hash, &c| {
            (hash ^ u32::from(c)).wrapping_mul(0x9e37_79b1).rotate_left(15)
        });
        Self(OTHER_PIECE | hash.wrapping_mul(0x85eb_ca6b) >> 3)
    }

    /// The numeral the unit is, if it is one.
    #[must_use]
    #[inline]
    pub fn numeral(self) -> Option<Numeral> {
        // Most units are neither, and this is asked of all of them: one bit tells.
        let word = NUMERALS.get(self.0 as usize / 64)?;
        if word >> (self.0 % 64) & 1 == 0 {
            return None;
        }
        Some(if self.0 <= '9' as u32 { Numeral::Digit } else { Numeral::Chinese })
    }

    /// The character the unit is, unless it is a piece of a word.
    #[must_use]
    #[inline]
    pub fn character(self) -> Option<char> {
        char::from_u32(self.0)
    }

    /// The number that stands for it.
    #[must_use]
    #[inline]
    pub fn value(self) -> u32 {
        self.0
    }
}
