//! The subcommands, a file each: flags as typed, then ready objects, then the work.
//!
//! Those that use a database share `db` (opening and closing), `feed` (reading ahead), `answers` (a line for every item),
//! `incoming` (from what is read to what is stored) and `ids`. Those that work on many documents at once share `batch`, and `fields`
//! (whether the fields that flags name are there).

pub(crate) mod add;
mod answers;
pub(crate) mod articles;
mod audit;
pub(crate) mod backup;
pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod check_db;
pub(crate) mod cluster;
pub(crate) mod clusters;
mod cms;
pub(crate) mod compact;
pub(crate) mod compare;
mod db;
pub(crate) mod dedup;
pub(crate) mod distance;
pub(crate) mod eval;
pub(crate) mod export;
mod feed;
pub(crate) mod fields;
pub(crate) mod fingerprint;
pub(crate) mod get;
pub(crate) mod hash;
mod ids;
mod incoming;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod recipes;
pub(crate) mod remove;
pub(crate) mod similar;
pub(crate) mod stats;
pub(crate) mod undo;
