//! Text in, answer out: the only crate that sees both the text and the arithmetic.
//!
//! The principal types are [`Recipe`], everything that decides a fingerprint as one value with a digest, and
//! [`Fingerprinter`], a recipe made ready.
//!
//! ```
//! use leitong_detect::{Fingerprinter, Recipe};
//! use leitong_detect::verdict::Verdict;
//!
//! let fingerprinter = Fingerprinter::new(Recipe::built_in("leitong-1")?)?;
//! let a = fingerprinter.prepare("如有雷同，纯属巧合；请勿对号入座。");
//! let b = fingerprinter.prepare("如有雷同,純屬巧合;請勿對號入座.");
//! let comparison = fingerprinter.compare(&a, &b);
//! assert_eq!(comparison.judgement.verdict, Verdict::Exact);
//! assert_eq!(comparison.distance, Some(0));
//! # Ok::<(), leitong_detect::RecipeError>(())
//! ```

pub mod batch;
pub mod compare;
pub mod detector;
mod fingerprinter;
mod keywords;
mod kind;
mod letters;
mod picture;
mod prepared;
mod python;
pub mod recipe;
mod simhash;
mod units;
mod value;
pub mod verdict;
pub mod verify;

pub use fingerprinter::{FingerprintError, Fingerprinter};
pub use kind::Kind;
pub use prepared::{Fields, Prepared};
pub use recipe::{Recipe, RecipeDigest, RecipeError};
pub use simhash::Scratch;
pub use value::{Answer, PlacedMark, Value};
