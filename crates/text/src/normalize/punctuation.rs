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
#[inline]
pub(crate) fn is_punctuation(c: char) -> bool {
    match c {
        // Nearly all punctuation of Chinese texts, without a search in Unicode's tables.
        '!'..='/' | ':'..='@' | '['..='`' | '{'..='~' => true,
        '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3020}' => true,
        _ => is_punctuation_by_category(c),
    }
}

fn is_punctuation_by_category(c: char) -> bool {
    match c.general_category_group() {
        GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Symbol => true,
        GeneralCategoryGroup::Other => {
            matches!(c.general_category(), GeneralCategory::Control | GeneralCategory::Format)
                && !c.is_whitespace()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_says_what_unicode_says() {
        for c in '\0'..='\u{ffff}' {
            assert_eq!(is_punctuation(c), is_punctuation_by_category(c), "{c:?}");
        }
    }
}
