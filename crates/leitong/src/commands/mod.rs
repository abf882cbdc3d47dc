//! The subcommands, a file each: flags as typed, then ready objects, then the work.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod distance;
pub(crate) mod fingerprint;
pub(crate) mod hash;
pub(crate) mod recipes;
