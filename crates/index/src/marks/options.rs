//! How an index is kept, and what it says about itself.

/// How an index is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Postings (marks of all documents) in the mutable part before it is made into a segment; each takes about 25 bytes
    /// there and 4 in a segment.
    pub fresh: usize,
    /// Make and merge segments in threads of their own; otherwise within the call that made it necessary.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { fresh: 4_000_000, background: true }
    }
}

/// What an index consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents that can be found.
    pub documents: u64,
    /// Documents deleted that are still held: a merge drops them.
    pub deleted: u64,
    /// Marks of all documents, with those of deleted ones that are still held.
    pub postings: u64,
    /// The ordinal behind all that has been seen.
    pub next: u64,
    /// Segments.
    pub segments: usize,
    /// Postings that are in no segment yet.
    pub fresh: u64,
    /// Bytes of the segments.
    pub bytes: u64,
}
