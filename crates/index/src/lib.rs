//! Fingerprints to candidates: which stored fingerprints lie within `k` bits of this one, and which pairs of a batch
//! lie within `k` bits of each other. The answers are exact; [`scan`] holds the slow twins that prove it.

pub mod hamming;
pub mod join;
mod machine;
mod memory;
pub mod scan;
pub mod value;

pub use machine::Level;
pub use value::Value;
