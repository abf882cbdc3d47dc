//! Real servers, started and stopped by `xtask`.
pub(crate) use xtask::servers::*;
