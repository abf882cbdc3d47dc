//! Fingerprints to candidates: which stored fingerprints lie within `k` bits of this one, and which pairs of a batch
//! lie within `k` bits of each other. The answers are exact; [`scan`] holds the slow twins that prove it.
//!
//! The principal types are [`hamming::Index`], which changes, [`hamming::Segment`], which does not, and [`join::Join`];
//! [`marks::MarkIndex`] finds documents by the marks they share:
//!
//! ```
//! use leitong_index::hamming::{Build, Searcher};
//!
//! let values = [0x0f_u64, 0xff, 0x0e, 0xf0f0];
//! let segment = Build::new(3).in_memory(&values[..])?;
//! let mut found = Vec::new();
//! segment.search(&mut Searcher::new(), &[0x0d], 3, |query, ordinal, distance| found.push((query, ordinal, distance)))?;
//! found.sort_unstable();
//! assert_eq!(found, [(0, 0, 1), (0, 2, 2)]);
//! # Ok::<(), leitong_index::hamming::HammingError>(())
//! ```

mod files;
pub mod hamming;
pub mod join;
pub mod lock;
mod machine;
pub mod marks;
mod memory;
pub mod scan;
pub mod value;

pub use machine::Level;
pub use value::Value;
