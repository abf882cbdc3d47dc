//! Full Unicode case folding, locale-independent.
//!
//! Folding, not lower-casing: lower-casing leaves ß and ss, σ and ς apart. Some foldings are several characters.

use caseless::Caseless;

/// What `c` folds to.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c).default_case_fold()
}
