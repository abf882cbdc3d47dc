//! Marks to documents: which documents have this mark, oldest first.
//!
//! A document has a set of marks (hashes of 32 bits, evenly spread, of chosen places of its text) and an origin, the first
//! document of its group of copies. Its owner numbers documents in ascending order, and can feed them again.
//! [`MarkIndex`] answers which live documents have a mark. Rejected: the lists inside the documents' own store, where a
//! document of a hundred marks is a hundred writes at random places, each rewritten at every compaction with its key.
//!
//! ```text
//! insert ──> mutable part ──(frozen when full)──> segment ──(merged with its like)──> fewer, larger segments
//!            25 bytes a posting                   4 bytes a posting
//! delete ──> a bit, looked at before an answer is given; the next merge drops the document, and then the bit
//! ```
//!
//! # On disk
//! The folder is as it was after the last flush, or after what the background has written since; it keeps no log.
//! Numbers are little-endian; "word" is one of 64 bits. Checksums are XXH3 of 64 bits.
//!
//! ```text
//! folder      lock                held by the process that has it open; its text says which
//!             manifest            which segments there are; replaced as a whole
//!             00000001.segment …  written under another name (.tmp), synced, renamed, never changed
//!
//! manifest    magic               16 bytes "leitong markset\n"
//!             version             word: 1
//!             settings            2 words: 32 (the bits of a mark), 0
//!             end                 word: the ordinal from which on the index is to be fed again
//!             segments            word: how many; each: first ordinal, end, file number, checksum of its foot (4 words)
//!             deleted             word: how many chunks; each: its number c (word), and 1024 words of which bit b says that
//!                                 ordinal c · 65,536 + b is deleted, though a segment still holds it
//!             checksum            word: of everything before it
//!
//! segment     head                16 bytes "leitong marks 1\n" · words: version (1), s (a chunk has 2^s bytes), foot: place,
//!                                 length, file length, checksum of all this
//!             sections            each from a chunk's start on, the rest of its last chunk zero
//!             foot                words: 5, the parameters · 3, the sections (kind, 0, place, bytes) · number of chunks, the
//!                                 checksum of each · checksum of the foot
//!
//! parameters  base, documents, postings, b (bits of a bucket's number), r (bits of a row)
//! documents   kind 9: 16 bytes each, ascending by ordinal, a document's place is its row: ordinal − base (32 bits),
//!             distinct marks (32 bits), origin (64 bits)
//! directory   kind 4: 2^b + 1 numbers of 32 bits: how many postings have a mark whose top b bits are smaller
//! postings    kind 10: ascending by mark, then row; 32 − b + r bits each, the lowest first in words one after the other:
//!             the row (r bits), the low 32 − b bits of the mark; then the rest of the last word zero, and a zero word
//! ```
//! The checksum of a chunk is compared when it is first read; nothing unchecked is ever answered. With b = log₂(postings / 8)
//! rounded down, a posting takes 32 − b + r bits and its share of the directory: 4.2 bytes for 80 marks a document.
//!
//! # Limits
//! A segment holds less than 2³² postings and ordinals less than 2³² apart; an index has more segments then. Ordinals are
//! expected to be dense: of every 65,536 among which something is deleted, the bitmap takes 8 KiB.

mod build;
mod cursor;
mod error;
mod fresh;
mod index;
mod look_up;
mod options;
mod packed;
mod part;
mod segment;
mod snapshot;
mod state;
mod upkeep;

use crate::files::Kind;

pub use error::MarkError;
pub use index::MarkIndex;
pub use options::{Options, Stats};
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
