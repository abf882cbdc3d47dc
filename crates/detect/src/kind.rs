//! The kinds of fingerprints, by name.

use serde::{Deserialize, Serialize};

/// The kinds of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Near texts have near values.
    #[default]
    Simhash,
    /// A signature that estimates Jaccard.
    Minhash,
    /// Marks with positions.
    Winnow,
    /// Equal means duplicate.
    Keywords,
    /// The set of shingles.
    Shingles,
    /// Every rolling hash, in order.
    RabinKarp,
    /// First and last characters of sentences.
    SentenceCode,
    /// Colour code and perceptual hash.
    Image,
    /// A model's vector as bits.
    Embedding,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Self::Simhash,
        Self::Minhash,
        Self::Winnow,
        Self::Keywords,
        Self::Shingles,
        Self::RabinKarp,
        Self::SentenceCode,
        Self::Image,
        Self::Embedding,
    ];

    /// Its name, and what it is in a few words.
    #[must_use]
    pub fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Simhash => ("simhash", "near texts have near values"),
            Self::Minhash => ("minhash", "a signature that estimates the share of common pieces"),
            Self::Winnow => ("winnow", "marks with positions that find every shared passage"),
            Self::Keywords => ("keywords", "a few words stand for the text; equal means duplicate"),
            Self::Shingles => ("shingles", "the set of overlapping pieces"),
            Self::RabinKarp => ("rabin-karp", "every rolling hash, in order"),
            Self::SentenceCode => ("sentence-code", "first and last characters of the sentences"),
            Self::Image => ("image", "colour code and perceptual hash of image files"),
            Self::Embedding => ("embedding", "vectors of a model, one JSON array of numbers a line"),
        }
    }
}
