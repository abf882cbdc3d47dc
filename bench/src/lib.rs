//! Benchmarks: what the programs under `src/bin` share.
//!
//! `stages` measures the speed of every stage, `recipes` the quality of SimHash settings; both read the data beside
//! the workspace (see [`data`]) and print tables that are kept, dated, under `results/`.

pub mod candidate;
pub mod collapse;
pub mod data;
pub mod edits;
pub mod near;
pub mod propose;
pub mod revisions;
pub mod short;
pub mod timing;
