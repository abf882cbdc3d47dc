//! The value every hash and every bit fingerprint is: a whole number of a fixed width.

use std::fmt;

/// Widths a fingerprint may have, in bits.
pub const WIDTHS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// A fingerprint or a hash: an unsigned number of 32 to 1024 bits.
///
/// Bit 0 is the least significant one. Printed as a number: most significant digit first, padded to its width.
///
/// ```
/// use leitong_fingerprint::Fingerprint;
/// let a: Fingerprint = "a734380886636d9e".parse()?;
/// let b = Fingerprint::from(0xa734_3808_8663_6d9f_u64);
/// assert_eq!(a.distance(&b)?, 1);
/// assert_eq!(b.to_string(), "a734380886636d9f");
/// # Ok::<(), leitong_fingerprint::BitsError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint {
    width: u32,
    /// Least significant word first.
    words: Box<[u64]>,
}

/// What can be wrong with a written fingerprint, or with two that are to be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BitsError {
    /// Empty, or longer than 1024 bits.
    #[error(
        "a fingerprint has 1 to 256 hexadecimal digits, this has {0}: check for a missing or a doubled value"
    )]
    Length(usize),
    /// A character that is no digit.
    #[error(
        "{found:?} at position {position} is no hexadecimal digit: a fingerprint is written like a734380886636d9e"
    )]
    Digit {
        /// The character.
        found: char,
        /// Its place, counted from 1.
        position: usize,
    },
    /// Two fingerprints of different widths.
    #[error("fingerprints of {0} and {1} bits cannot be compared: make both with the same recipe and --bits")]
    Widths(u32, u32),
}

impl Fingerprint {
    /// A fingerprint of `width` bits from words, least significant first. Bits beyond the width are cut off and
    /// missing words are zero.
    #[must_use]
    pub fn from_words(width: u32, words: &[u64]) -> Self {
        let count = width.div_ceil(64) as usize;
        let mut own: Box<[u64]> = (0..count).map(|i| words.get(i).copied().unwrap_or(0)).collect();
        let used = width % 64;
        if used != 0
            && let Some(top) = own.last_mut()
        {
            *top &= (1 << used) - 1;
        }
        Self { width, words: own }
    }

    /// A fingerprint from the bytes of a big-endian number, as digests are usually written.
    #[must_use]
    pub fn from_be_bytes(bytes: &[u8]) -> Self {
        let words: Vec<u64> = bytes
            .rchunks(8)
            .map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
            .collect();
        Self::from_words(bytes.len() as u32 * 8, &words)
    }

    /// Width in bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The words, least significant first.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The least significant 64 bits.
    #[must_use]
    pub fn low64(&self) -> u64 {
        self.words[0]
    }

    /// Bit `index`, counted from the least significant.
    #[must_use]
    pub fn bit(&self, index: u32) -> bool {
        self.words.get((index / 64) as usize).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// In how many bits two fingerprints differ.
    pub fn distance(&self, other: &Self) -> Result<u32, BitsError> {
        if self.width != other.width {
            return Err(BitsError::Widths(self.width, other.width));
        }
        Ok(crate::distance::hamming(&self.words, &other.words))
    }

    /// Binary digits, most significant first.
    #[must_use]
    pub fn to_bits(&self) -> String {
        (0..self.width).rev().map(|i| if self.bit(i) { '1' } else { '0' }).collect()
    }

    /// Binary digits, least significant first, as the recipe `ik` prints them.
    #[must_use]
    pub fn to_bits_lsb_first(&self) -> String {
        (0..self.width).map(|i| if self.bit(i) { '1' } else { '0' }).collect()
    }

    /// Decimal digits, unsigned.
    #[must_use]
    pub fn to_decimal(&self) -> String {
        const GROUP: u64 = 10_000_000_000_000_000_000; // the largest power of ten in a word: 19 digits
        let mut words = self.words.to_vec();
        let mut groups = Vec::new();
        while words.iter().any(|&word| word != 0) {
            let mut rest = 0u128;
            for word in words.iter_mut().rev() {
                let value = rest << 64 | u128::from(*word);
                *word = (value / u128::from(GROUP)) as u64;
                rest = value % u128::from(GROUP);
            }
            groups.push(rest as u64);
        }
        let Some(first) = groups.pop() else { return "0".into() };
        let mut out = first.to_string();
        for group in groups.iter().rev() {
            out.push_str(&format!("{group:019}"));
        }
        out
    }
}

impl From<u64> for Fingerprint {
    fn from(word: u64) -> Self {
        Self::from_words(64, &[word])
    }
}

impl fmt::Display for Fingerprint {
    /// Hexadecimal, most significant digit first, padded to the width.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.width.div_ceil(4) as usize;
        for i in (0..digits).rev() {
            let digit = self.words[i / 16] >> (i % 16 * 4) & 15;
            write!(f, "{digit:x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = BitsError;

    /// Reads hexadecimal digits; `0x` in front is allowed. The width is four bits a digit, as written.
    fn from_str(text: &str) -> Result<Self, BitsError> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let count = digits.chars().count();
        if count == 0 || count > 256 {
            return Err(BitsError::Length(count));
        }
        let mut words = vec![0u64; count.div_ceil(16)];
        for (i, found) in digits.chars().enumerate() {
            let digit = found.to_digit(16).ok_or(BitsError::Digit { found, position: i + 1 })?;
            let place = count - 1 - i;
            words[place / 16] |= u64::from(digit) << (place % 16 * 4);
        }
        Ok(Self::from_words(count as u32 * 4, &words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_prints() {
        for hex in ["0", "00ff", "a734380886636d9e", &"0123456789abcdef".repeat(16)] {
            let value: Fingerprint = hex.parse().unwrap();
            assert_eq!(value.to_string(), *hex);
        }
    }

    #[test]
    fn decimal_of_wide_numbers() {
        let value: Fingerprint = "ffffffffffffffffffffffffffffffff".parse().unwrap();
        assert_eq!(value.to_decimal(), u128::MAX.to_string());
        assert_eq!(Fingerprint::from(0).to_decimal(), "0");
        // 2^64 has a group of zeros inside when written in groups of 19 digits.
        let value: Fingerprint = "00000000000000008ac7230489e80000".parse().unwrap();
        assert_eq!(value.to_decimal(), "10000000000000000000");
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!("12g4".parse::<Fingerprint>(), Err(BitsError::Digit { found: 'g', position: 3 }));
        assert_eq!("".parse::<Fingerprint>(), Err(BitsError::Length(0)));
        let narrow: Fingerprint = "ff".parse().unwrap();
        assert_eq!(narrow.distance(&Fingerprint::from(1)), Err(BitsError::Widths(8, 64)));
    }

    #[test]
    fn the_documents_examples_of_distance() {
        for (a, b) in [("10101", "00110"), ("10101101", "10100011")] {
            let (a, b) = (a.parse::<Fingerprint>().unwrap(), b.parse::<Fingerprint>().unwrap());
            assert_eq!(a.distance(&b), Ok(3));
        }
    }
}
