//! Bytes to text to tokens.
//!
//! (front page to be completed)

pub mod encoding;
pub mod extract;
pub mod filter;
pub mod normalize;
pub mod segment;
pub mod sentence;
pub mod span;
pub mod synonyms;
