//! The subcommands, a file each: flags as typed, then ready objects, then the work.
//!
//! Those that use a database share `db` (opening and closing), `feed` (reading ahead), `answers` (a line for every item),
//! `incoming` (from what is read to what is stored) and `ids`.

pub(crate) mod add;
mod answers;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod check_db;
pub(crate) mod clusters;
pub(crate) mod compact;
pub(crate) mod compare;
mod db;
pub(crate) mod distance;
pub(crate) mod export;
mod feed;
pub(crate) mod fingerprint;
pub(crate) mod get;
pub(crate) mod hash;
mod ids;
mod incoming;
pub(crate) mod recipes;
pub(crate) mod remove;
pub(crate) mod similar;
pub(crate) mod stats;
