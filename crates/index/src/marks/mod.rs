//! Marks to documents: which documents have this mark, oldest first.
//!
//! A document has a set of marks (hashes of 32 bits, evenly spread: chosen places of its text) and an origin, the first
//! document of its group of copies. Documents are numbered by their owner in ascending order.

mod build;
mod cursor;
mod error;
mod fresh;
mod index;
mod look_up;
mod packed;
mod part;
mod segment;
mod snapshot;
mod upkeep;

use crate::files::Kind;

pub use error::MarkError;
pub use index::{MarkIndex, Options, Stats};
pub use snapshot::Snapshot;

/// The files of a mark index.
static KIND: Kind =
    Kind { segment: *b"leitong marks 1\n", manifest: *b"leitong markset\n", name: "mark index" };
/// The settings in its manifest: the bits of a mark, and nothing.
const SETTINGS: [u64; 2] = [32, 0];

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
