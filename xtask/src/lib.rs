//! What tests need and is not ours: real servers, installed and started here, and nowhere else.

pub mod servers;
