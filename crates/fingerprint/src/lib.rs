//! Features to fingerprints: pure arithmetic, no clock, no threads, no files.
//!
//! The principal type is [`Fingerprint`], a number of 32 to 1024 bits. Around it, one module a method:
//!
//! | module | makes |
//! |---|---|
//! | [`hash`] | string hashes, each frozen by vectors |
//! | [`weight`] | weighted terms from words |
//! | [`simhash`] | the fingerprint that keeps near texts near |
//! | [`ngram`], [`shingle`] | overlapping pieces of a text, counted or as a set |
//! | [`minhash`] | signatures that estimate Jaccard, with bands |
//! | [`rolling`], [`winnow`] | marks that find every shared passage |
//! | [`keywords`] | equal-means-duplicate fingerprints, I-Match |
//! | [`sentence_code`], [`image`], [`embedding`] | codes of sentences, pictures, model vectors |
//! | [`distance`] | Hamming, Jaccard, containment, cosine |
//! | [`bloom`] | "seen this exact fingerprint?" |
//!
//! ```
//! use leitong_fingerprint::hash::{Algorithm, Units};
//! use leitong_fingerprint::simhash::{Tie, simhash};
//!
//! let of = |words: &[&str]| {
//!     simhash(words, 64, Tie::One, |_| 1, |word, out| Algorithm::Xxh3.hash_into(word, Units::Utf8, out))
//! };
//! let a = of(&["如", "有", "雷同", "绝", "非", "巧合"]);
//! let b = of(&["如", "有", "雷同", "纯", "属", "巧合"]);
//! assert!(a.distance(&b)? < 32);
//! # Ok::<(), leitong_fingerprint::BitsError>(())
//! ```

pub mod bits;
pub mod bloom;
pub mod distance;
pub mod embedding;
pub mod hash;
pub mod image;
pub mod keywords;
mod machine;
pub mod marks;
pub mod minhash;
pub mod ngram;
pub mod rolling;
pub mod sentence_code;
pub mod shingle;
pub mod simhash;
pub mod weight;
pub mod winnow;

pub use bits::{BitsError, Fingerprint};
