//! Bytes to text to tokens. Depends on nothing else of ours.
//!
//! Data flows one way, a module a step; every step that changes a text leaves the way back ([`span::OffsetMap`]), so
//! that answers can point into the original:
//!
//! | module | from | to |
//! |---|---|---|
//! | [`encoding`] | bytes | characters |
//! | [`extract`] | a file | its text: HTML, XML, Word, Excel, PDF, plain |
//! | [`normalize`] | any text | the one form that equal texts share |
//! | [`segment`] | a text | words, every byte in exactly one |
//! | [`synonyms`], [`filter`] | words | the words that count |
//! | [`tokenize`] | the last three in one | [`tokenize::Token`]s |
//! | [`sentence`] | a text | its sentences, noise left out |
//! | [`units`] | any text | what marks and alignment are made of |
//!
//! ```
//! use leitong_text::extract::{self, extract};
//! use leitong_text::normalize::{Normalizer, Options};
//! use leitong_text::tokenize::{Resources, Settings, Tokenizer};
//!
//! let page = "<html><body><p>如有雷同，絕非巧合。</p></body></html>".as_bytes();
//! let found = extract(page, Some("page.html"), &extract::Options::default())?;
//! let normalizer = Normalizer::new(Options::default());
//! let normalized = normalizer.normalize(&found.text);
//! assert_eq!(normalized.text, "如有雷同,绝非巧合。");
//! let tokenizer = Tokenizer::new(&Settings::default(), Resources::default(), &normalizer, false)?;
//! let words: Vec<&str> = tokenizer.tokens(&normalized.text).iter().map(|token| token.text).collect();
//! assert_eq!(words, ["如有雷同", "绝非", "巧合"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod encoding;
pub mod extract;
pub mod filter;
mod machine;
pub mod normalize;
pub mod segment;
pub mod sentence;
pub mod span;
pub mod synonyms;
pub mod tokenize;
pub mod units;

/// Names the data that words and normal forms depend on, besides what a recipe says: the tables of Unicode, the table of
/// simplified characters, the dictionary. It is part of every recipe's digest, so change it together with the data.
pub const DATA_VERSION: &str = "normal forms 1, t2s opencc 0.4, dictionary jieba 0.11";
