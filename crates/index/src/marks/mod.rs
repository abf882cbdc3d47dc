//! Marks to documents: which documents have this mark, oldest first.
//!
//! A document has a set of marks (hashes of 32 bits, evenly spread: chosen places of its text) and an origin, the first
//! document of its group of copies. Documents are numbered by their owner in ascending order.

mod error;
mod fresh;
mod index;

pub use error::MarkError;
pub use index::{MarkIndex, Options, Stats};

/// A document that has a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    /// Its number.
    pub ordinal: u64,
    /// The number of the first document of its group of copies; usually its own.
    pub origin: u64,
    /// How many distinct marks it has, so that what is shared can be judged without reading it.
    pub marks: u32,
}
