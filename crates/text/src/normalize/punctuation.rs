//! Punctuation and symbols.

use serde::{Deserialize, Serialize};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What becomes of punctuation and symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Punctuation {
    /// Stays.
    #[default]
    Keep,
    /// Each becomes a space, so that the words on both sides stay apart.
    Space,
    /// Goes without a trace.
    Drop,
}

/// Whether `c` is punctuation, a symbol (emoji too) or a format character that is not white space.
///
/// Letters, marks and numbers are not; neither are private-use and unassigned characters, which are letters in
/// somebody's font or in a later Unicode.
pub(crate) fn is_punctuation(c: char) -> bool {
    match c.general_category_group() {
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol => true,
        GeneralCategoryGroup::Other => {
            matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format)
                && !c.is_whitespace()
        }
        _ => false,
    }
}
