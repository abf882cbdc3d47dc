//! The Hamming index as its users see it, against the slow scan and a plain list.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod damage;
mod format;
mod index;
mod segments;
