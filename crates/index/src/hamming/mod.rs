//! Exact search: everything within `k` bits of a fingerprint.

mod cells;
mod columns;
mod error;
mod fresh;
mod groups;
mod index;
mod merge;
mod partition;
mod plan;
mod rows;
mod scheme;
mod segment;
mod view;

use crate::files::Kind;
pub use error::HammingError;
pub use index::{Index, Options, Stats};
pub use segment::{Build, Layout, Searcher, Segment, Source};
pub use view::{Match, Snapshot};

/// The files of a Hamming index.
static KIND: Kind =
    Kind { segment: *b"leitong hamming\n", manifest: *b"leitong index 1\n", name: "Hamming index" };

/// Set in a row or an ordinal whose value occurs more than once.
const TWIN: u32 = 1 << 31;

/// How many fingerprints one segment can hold: the places in its list of equal ones, up to one and a half for each, have
/// 31 bits.
pub const MOST_ITEMS: u64 = (1 << 31) / 3 * 2;

/// A stored fingerprint within reach of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// Which of the queries.
    pub(crate) query: u32,
    /// Relative to the segment's first.
    pub(crate) ordinal: u32,
    /// In how many bits they differ.
    pub(crate) distance: u32,
}
