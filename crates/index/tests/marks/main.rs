//! The mark index as its users see it, against a plain map.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod crash;
mod damage;
mod format;
mod large;
mod speed;
mod steps;
mod threads;
mod twin;
