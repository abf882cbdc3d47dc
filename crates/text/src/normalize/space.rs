//! White space.

use serde::{Deserialize, Serialize};

/// What becomes of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whitespace {
    /// Stays.
    Keep,
    /// A run becomes one space; none at the ends.
    #[default]
    Collapse,
    /// A run becomes one space, or one line feed where it holds a line break; none at the ends. For recipes that
    /// look at sentences, which end at line breaks.
    Lines,
    /// Goes without a trace.
    Drop,
}

/// Whether `c` ends a line.
pub(crate) fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
