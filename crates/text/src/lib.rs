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
pub mod tokenize;

/// Names the data that words and normal forms depend on, besides what a recipe says: the tables of Unicode, the table of
/// simplified characters, the dictionary. It is part of every recipe's digest, so change it together with the data.
pub const DATA_VERSION: &str = "normal forms 1, t2s opencc 0.4, dictionary jieba 0.11";
