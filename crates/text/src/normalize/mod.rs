//! Normalising: two texts that a reader calls the same become the same characters.
//!
//! Input: any text. Output: the normalised text and an [`OffsetMap`] back into the input. The rules, one file
//! each, always in this order and each switchable in [`Options`]:
//!
//! | file | rule |
//! |---|---|
//! | `nfkc` | Unicode NFKC: full-width letters, ligatures, compatibility ideographs, composed accents |
//! | `case` | full case folding (ẞ and ss become equal) |
//! | `chinese` | traditional characters to simplified |
//! | `invisible` | zero-width characters and controls dropped, so that they cannot hide a copy |
//! | `punctuation` | kept, turned into spaces, or dropped |
//! | `space` | kept, collapsed, or dropped |
//!
//! A [`Normalizer`] composes them into one table, so that a text costs one look-up a character; stretches that do
//! not change are copied as they are. Only NFKC looks at neighbours: where a character may join the one before
//! it (combining marks, Hangul jamo, half-width kana with a voice mark) that cluster alone takes the slow path.
//! The tests hold the result equal to the plain passes one after another, over every character.
//!
//! Rejected: passes one after another in production (slower, and the maps would have to be composed), and ICU's `NFKC_Casefold` (it fixes the combination; recipes need each rule on its own).

mod case;
mod chinese;
mod invisible;
mod nfkc;
mod punctuation;
mod run;
mod space;
mod table;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use punctuation::Punctuation;
pub use space::Whitespace;

use crate::span::OffsetMap;
use table::{Entry, Table};

pub(crate) use punctuation::is_punctuation;
pub(crate) use space::is_line_break;

/// What normalising does. Part of a recipe: a different value gives different fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Apply Unicode NFKC: width, ligatures, compatibility forms, composition.
    pub nfkc: bool,
    /// Apply full Unicode case folding.
    pub fold_case: bool,
    /// Turn traditional Chinese characters into simplified ones.
    pub simplify: bool,
    /// Drop zero-width characters, variation selectors and control characters.
    pub drop_invisible: bool,
    /// What becomes of punctuation and symbols.
    pub punctuation: Punctuation,
    /// What becomes of white space.
    pub whitespace: Whitespace,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nfkc: true,
            fold_case: true,
            simplify: true,
            drop_invisible: true,
            punctuation: Punctuation::Keep,
            whitespace: Whitespace::Collapse,
        }
    }
}

impl Options {
    /// No rule at all: the text stays as it is.
    #[must_use]
    pub fn none() -> Self {
        Self {
            nfkc: false,
            fold_case: false,
            simplify: false,
            drop_invisible: false,
            punctuation: Punctuation::Keep,
            whitespace: Whitespace::Keep,
        }
    }
}

/// What becomes of a character whatever its neighbours are.
pub(crate) enum Plain<'t> {
    /// One character; white space stands for white space of any length.
    One(char),
    /// None, or several.
    Several(&'t str),
    /// Not known alone: it may join the character before it.
    JoinsPrevious,
}

/// A normalised text and the way back into its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalized {
    /// The text after all rules.
    pub text: String,
    /// From offsets of `text` to offsets of the source.
    pub map: OffsetMap,
}

/// [`Options`] compiled into tables. Building costs some milliseconds; build one and share it between threads.
///
/// ```
/// use leitong_text::normalize::{Normalizer, Options};
/// use leitong_text::span::Span;
/// let normalizer = Normalizer::new(Options::default());
/// let normalized = normalizer.normalize("ＬＥＩ\u{3000} 雷同，絕非巧合");
/// assert_eq!(normalized.text, "lei 雷同,绝非巧合");
/// assert_eq!(normalized.map.to_source(Span::new(0, 3)), Span::new(0, 9));
/// ```
#[derive(Clone, Debug)]
pub struct Normalizer {
    options: Options,
    table: Table,
}

impl Normalizer {
    /// Compiles the rules.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, table: Table::compile(options) }
    }

    /// The rules this was compiled from.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// What becomes of a character that nothing joins.
    pub(crate) fn plain(&self, c: char) -> Plain<'_> {
        match self.table.entry(c) {
            Entry::Unchanged => Plain::One(c),
            Entry::Other(other) => Plain::One(other),
            Entry::Several => Plain::Several(self.table.several(c)),
            Entry::Dropped => Plain::Several(""),
            Entry::Space | Entry::Line => Plain::One(' '),
            Entry::JoinsPrevious => Plain::JoinsPrevious,
        }
    }

    /// Normalises `text`, which is shorter than 4 GiB.
    #[must_use]
    pub fn normalize(&self, text: &str) -> Normalized {
        let mut out = Normalized::default();
        run::run::<true>(&self.table, text, &mut out.text, &mut out.map);
        out
    }

    /// The same for whoever does not ask where anything came from: normalises `text` into `out`, whose memory is used again.
    pub fn normalize_text(&self, text: &str, out: &mut String) {
        out.clear();
        run::run::<true>(&self.table, text, out, &mut run::Nowhere);
    }
}
