//! What a fingerprint of any kind looks like.

use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::minhash::MinHash;

/// A fingerprint, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The fingerprint.
    pub value: Option<Value>,
    /// Why there is none.
    pub reason: Option<String>,
}

/// A fingerprint of some kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number of bits.
    Bits(Fingerprint),
    /// Several numbers, some of which may be missing: I-Match signatures.
    Several(Vec<Option<Fingerprint>>),
    /// A MinHash signature with its band keys.
    MinHash {
        /// The signature.
        signature: MinHash,
        /// A key a band.
        bands: Vec<u64>,
    },
    /// Winnowing marks.
    Marks(Vec<PlacedMark>),
    /// Many hashes of so many bits: a set of shingles, or rolling hashes in order.
    Hashes {
        /// Bits a hash has at most.
        bits: u32,
        /// The hashes.
        hashes: Vec<u64>,
    },
    /// Characters: a sentence code.
    Code(String),
    /// An image.
    Image {
        /// Its colour code.
        code: String,
        /// Its perceptual hash.
        hash: Fingerprint,
    },
}

/// A winnowing mark and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedMark {
    /// The hash.
    pub hash: u64,
    /// The index of its first unit: a letter or a word.
    pub position: u32,
    /// Its code points in the original text, where there is one.
    pub span: Option<(usize, usize)>,
}

impl Answer {
    pub(crate) fn some(value: Value) -> Self {
        Self { value: Some(value), reason: None }
    }

    pub(crate) fn none(reason: &str) -> Self {
        Self { value: None, reason: Some(reason.to_owned()) }
    }

    pub(crate) fn no_text() -> Self {
        Self::none("too little evidence: the text has no letters or digits that count")
    }

    pub(crate) fn unless_empty(empty: bool, value: impl FnOnce() -> Value) -> Self {
        if empty { Self::no_text() } else { Self::some(value()) }
    }
}
