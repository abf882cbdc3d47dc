//! The string hashes, each frozen: what is stored today must come out the same in ten years.
//!
//! A hash reads a word either as its UTF-8 bytes or as its UTF-16 code units ([`Units`]); the documents this
//! system grew from hash code units, as Java strings do. Hashes that are defined over bytes (MD5, Murmur,
//! lookup3, xxh3) read the code units as little-endian byte pairs.
//!
//! Measured, and the reason why only compatibility recipes use it: FNV-1a over the code units of two-character
//! words leaves 22 to 30 of the 64 SimHash bits nearly constant, so that unrelated articles lie 11 to 16 bits
//! apart instead of 32. The recipes of our own use xxh3, which mixes.

mod classic;
mod fnv;
mod lookup3;
mod murmur;
mod parts;

use crate::Fingerprint;
use md5::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub use lookup3::{hashlittle, hashlittle2};
pub use murmur::{murmur3_x64_128, murmur64a};
pub use parts::Parts;

/// How a word becomes the units a hash reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    /// The bytes of its UTF-8 form.
    #[default]
    Utf8,
    /// Its UTF-16 code units.
    Utf16,
}

/// A string hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Algorithm {
    /// FNV-1 (multiply, then xor) of 32 to 1024 bits.
    Fnv1(u32),
    /// FNV-1a (xor, then multiply) of 32 to 1024 bits.
    Fnv1a(u32),
    /// The multiplicative hash of the documents: start with the first unit shifted left by this much, then
    /// `x = x * 1000003 ^ unit` for every unit, at last xor the length. 64 bits; an empty word gives 0.
    Mul1000003(u32),
    /// MD5, 128 bits, read as a big-endian number.
    Md5,
    /// MurmurHash64A with seed 0.
    Murmur64a,
    /// MurmurHash3 x64 128 with seed 0; the first half is the upper one.
    Murmur3,
    /// Jenkins lookup3, `hashlittle` with initval 0, 32 bits.
    Lookup3,
    /// Jenkins lookup3, `hashlittle2` with both seeds 0: its first result below, its second above, 64 bits.
    Lookup3Wide,
    /// SDBM at 64 bits.
    Sdbm,
    /// RS (Sedgewick) at 64 bits.
    Rs,
    /// JS (Justin Sobel) at 64 bits.
    Js,
    /// PJW (Weinberger) at 64 bits.
    Pjw,
    /// ELF at 64 bits.
    Elf,
    /// XXH3, 64 bits with seed 0. Wider: word i is XXH3 with seed i, so a narrow value is the tail of a wide one.
    Xxh3,
}

/// A hash name that does not exist, or one that is too narrow for what it shall do.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashError {
    /// No hash of that name.
    #[error("there is no hash called {0:?}; the names are: {names}", names = Algorithm::names().join(", "))]
    UnknownName(String),
    /// The hash has fewer bits than asked for.
    #[error("{algorithm} has {natural} bits, not {asked}: choose fewer bits, or xxh3, which has any width")]
    TooNarrow {
        /// The hash.
        algorithm: Algorithm,
        /// Its bits.
        natural: u32,
        /// Bits asked for.
        asked: u32,
    },
}

const NAMED: [(&str, Algorithm); 13] = [
    ("mul1000003-7", Algorithm::Mul1000003(7)),
    ("mul1000003-12", Algorithm::Mul1000003(12)),
    ("md5", Algorithm::Md5),
    ("murmur64a", Algorithm::Murmur64a),
    ("murmur3-128", Algorithm::Murmur3),
    ("lookup3", Algorithm::Lookup3),
    ("lookup3-64", Algorithm::Lookup3Wide),
    ("sdbm", Algorithm::Sdbm),
    ("rs", Algorithm::Rs),
    ("js", Algorithm::Js),
    ("pjw", Algorithm::Pjw),
    ("elf", Algorithm::Elf),
    ("xxh3", Algorithm::Xxh3),
];

impl Algorithm {
    /// Every hash there is.
    pub fn all() -> impl Iterator<Item = Self> {
        let fnv1 = crate::bits::WIDTHS.map(Self::Fnv1);
        let fnv1a = crate::bits::WIDTHS.map(Self::Fnv1a);
        fnv1.into_iter().chain(fnv1a).chain(NAMED.map(|(_, algorithm)| algorithm))
    }

    /// The names of every hash there is.
    #[must_use]
    pub fn names() -> Vec<String> {
        Self::all().map(|algorithm| algorithm.to_string()).collect()
    }

    /// How many bits it gives by itself.
    #[must_use]
    pub fn natural_width(self) -> u32 {
        match self {
            Self::Fnv1(width) | Self::Fnv1a(width) => width,
            Self::Md5 | Self::Murmur3 => 128,
            Self::Lookup3 => 32,
            _ => 64,
        }
    }

    /// Whether it can give `width` bits. Fewer than the natural width are the lowest ones.
    pub fn check_width(self, width: u32) -> Result<(), HashError> {
        let natural = self.natural_width();
        if width <= natural || self == Self::Xxh3 {
            Ok(())
        } else {
            Err(HashError::TooNarrow { algorithm: self, natural, asked: width })
        }
    }

    /// The hash of a word, at its natural width.
    #[must_use]
    pub fn hash(self, word: &str, units: Units) -> Fingerprint {
        let mut words = [0; 16];
        self.hash_into(word, units, &mut words);
        Fingerprint::from_words(self.natural_width(), &words)
    }

    /// The lowest bits of the hash of a word, as many as `out` has room for, least significant word first.
    /// Words beyond the natural width stay zero; [`Algorithm::check_width`] tells beforehand.
    pub fn hash_into(self, word: &str, units: Units, out: &mut [u64]) {
        match units {
            Units::Utf8 => self.hash_units(word.bytes().map(u16::from), word.as_bytes(), out),
            Units::Utf16 if self.reads_bytes() => {
                let bytes: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
                self.hash_units(std::iter::empty(), &bytes, out);
            }
            Units::Utf16 => self.hash_units(word.encode_utf16(), &[], out),
        }
    }

    fn reads_bytes(self) -> bool {
        use Algorithm::{Lookup3, Lookup3Wide, Md5, Murmur3, Murmur64a, Xxh3};
        matches!(self, Md5 | Murmur64a | Murmur3 | Lookup3 | Lookup3Wide | Xxh3)
    }

    /// `units` and `bytes` are the same word in two forms; each hash reads the one it is defined over.
    fn hash_units(self, units: impl Iterator<Item = u16>, bytes: &[u8], out: &mut [u64]) {
        out.fill(0);
        let single = match self {
            Self::Fnv1(width) => return fnv::fnv(units, width, fnv::Order::MultiplyFirst, out),
            Self::Fnv1a(width) => return fnv::fnv(units, width, fnv::Order::XorFirst, out),
            Self::Md5 => {
                let digest: [u8; 16] = md5::Md5::digest(bytes).into();
                return put(out, u128::from_be_bytes(digest));
            }
            Self::Murmur3 => {
                let (first, second) = murmur3_x64_128(bytes, 0);
                return put(out, u128::from(first) << 64 | u128::from(second));
            }
            Self::Xxh3 => {
                for (seed, word) in out.iter_mut().enumerate() {
                    *word = xxh3_64_with_seed(bytes, seed as u64);
                }
                return;
            }
            Self::Murmur64a => murmur64a(bytes, 0),
            Self::Lookup3 => u64::from(hashlittle(bytes, 0)),
            Self::Lookup3Wide => {
                let (first, second) = hashlittle2(bytes, 0, 0);
                u64::from(second) << 32 | u64::from(first)
            }
            Self::Mul1000003(shift) => classic::mul1000003(units, shift),
            Self::Sdbm => classic::sdbm(units),
            Self::Rs => classic::rs(units),
            Self::Js => classic::js(units),
            Self::Pjw => classic::pjw(units),
            Self::Elf => classic::elf(units),
        };
        put(out, u128::from(single));
    }
}

/// The 64-bit hash of our own recipes: XXH3 of the bytes, seed 0.
#[inline]
#[must_use]
pub fn own64(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

fn put(out: &mut [u64], value: u128) {
    for (word, part) in out.iter_mut().zip([value as u64, (value >> 64) as u64]) {
        *word = part;
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fnv1(width) => write!(f, "fnv1-{width}"),
            Self::Fnv1a(width) => write!(f, "fnv1a-{width}"),
            Self::Mul1000003(shift) => write!(f, "mul1000003-{shift}"),
            other => f.write_str(NAMED.iter().find(|(_, a)| a == other).map_or("", |(name, _)| name)),
        }
    }
}

impl FromStr for Algorithm {
    type Err = HashError;

    fn from_str(name: &str) -> Result<Self, HashError> {
        Self::all()
            .find(|algorithm| algorithm.to_string() == name)
            .ok_or_else(|| HashError::UnknownName(name.to_owned()))
    }
}

impl From<Algorithm> for String {
    fn from(algorithm: Algorithm) -> Self {
        algorithm.to_string()
    }
}

impl TryFrom<String> for Algorithm {
    type Error = HashError;

    fn try_from(name: String) -> Result<Self, HashError> {
        name.parse()
    }
}
