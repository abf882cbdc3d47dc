//! Synonyms: several ways to say one thing become one word.
//!
//! A table is lines of `form<TAB>…<TAB>canonical`: the last field replaces every field before it.
//!
//! A form is matched on whole words that stand side by side (北京 + 华联), never inside a word, so 华联 is not found in
//! 中华 + 联合. Matching before segmenting was rejected for that reason; the opposite risk, words that cross the edge
//! of a form, is met by making the forms known to the dictionary ([`Synonyms::forms`]). The longest form wins, the
//! leftmost first, and what was put in is not looked at again. The canonical word is matched too, or a text
//! that writes it out (华联 + 商厦) would differ from one that had it put in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound::{Included, Unbounded};

use crate::normalize::Normalizer;
use crate::segment::Word;
use crate::span::Span;

/// A table of synonyms, normalised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synonyms {
    /// Canonical words, ascending.
    canonical: Vec<String>,
    /// From a form to its canonical word's number. Forms that start alike stand side by side.
    forms: BTreeMap<String, usize>,
}

/// Why a table was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SynonymError {
    /// A line without a tab.
    #[error("synonyms, line {line}: no tab; write the form, a tab, and the word that replaces it")]
    NoTab {
        /// The line, from 1.
        line: usize,
    },
    /// A field of which normalising leaves nothing.
    #[error("synonyms, line {line}: field {field} is empty after normalising")]
    Empty {
        /// The line, from 1.
        line: usize,
        /// The field, from 1.
        field: usize,
    },
    /// One form with two canonical words.
    #[error(
        "synonyms, line {line}: `{form}` already becomes `{before}` on line {line_before}; a form has one canonical word"
    )]
    Ambiguous {
        /// The line, from 1.
        line: usize,
        /// The form, normalised.
        form: String,
        /// What it became first.
        before: String,
        /// Where.
        line_before: usize,
    },
}

/// A form found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// How many words it takes up.
    pub words: usize,
    /// The number of the canonical word, for [`Synonyms::canonical`].
    pub canonical: usize,
}

impl Synonyms {
    /// Reads a table. Blank lines and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// If a line has no tab or an empty field, or a form was given another canonical word before. The error names
    /// the line.
    pub fn parse(table: &str, normalizer: &Normalizer) -> Result<Self, SynonymError> {
        let mut read: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for (line, text) in (1..).zip(table.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let mut fields = Vec::new();
            for (field, raw) in (1..).zip(text.split('\t')) {
                let normal = normalizer.normalize(raw.trim()).text;
                if normal.is_empty() {
                    return Err(SynonymError::Empty { line, field });
                }
                fields.push(normal);
            }
            let canonical = fields.pop().unwrap_or_default();
            if fields.is_empty() {
                return Err(SynonymError::NoTab { line });
            }
            for form in fields {
                match read.entry(form) {
                    Entry::Vacant(new) => {
                        new.insert((canonical.clone(), line));
                    }
                    Entry::Occupied(old) if old.get().0 == canonical => {}
                    Entry::Occupied(old) => {
                        let (form, (before, line_before)) = old.remove_entry();
                        return Err(SynonymError::Ambiguous { line, form, before, line_before });
                    }
                }
            }
        }
        let mut canonical: Vec<String> = read.values().map(|(to, _)| to.clone()).collect();
        canonical.sort_unstable();
        canonical.dedup();
        // A canonical word stands for itself, unless a line says otherwise.
        let mut forms: BTreeMap<String, usize> = canonical.iter().cloned().zip(0..).collect();
        for (form, (to, _)) in read {
            if let Ok(number) = canonical.binary_search(&to) {
                forms.insert(form, number);
            }
        }
        Ok(Self { canonical, forms })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Every form that is matched, canonical words included, ascending: words for a dictionary to know.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        self.forms.keys().map(String::as_str)
    }

    /// The canonical words, by number.
    #[must_use]
    pub fn canonical(&self) -> &[String] {
        &self.canonical
    }

    /// The longest form that starts with the first of `words` and ends with one of them. The words lie side by side
    /// in `text`.
    #[must_use]
    pub fn longest_match(&self, text: &str, words: &[Word]) -> Option<Match> {
        let start = words.first()?.span.start;
        let mut longest = None;
        for (i, word) in words.iter().enumerate() {
            let joined = &text[Span { start, end: word.span.end }.range()];
            // The first form that is not before `joined`: equal, or longer with the same start, or neither.
            let Some((form, &canonical)) = self.forms.range::<str, _>((Included(joined), Unbounded)).next()
            else {
                break;
            };
            if !form.starts_with(joined) {
                break;
            }
            if form == joined {
                longest = Some(Match { words: i + 1, canonical });
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::Options;

    fn parse(table: &str) -> Result<Synonyms, SynonymError> {
        Synonyms::parse(table, &Normalizer::new(Options::default()))
    }

    #[test]
    fn forms_are_normalised_and_canonical_words_stand_for_themselves() {
        let synonyms = parse("# shops\n\n北京華聯\t华联\t华联商厦\nＩＢＭ\t国际商业机器\n").unwrap();
        let forms: Vec<&str> = synonyms.forms().collect();
        assert_eq!(forms, ["ibm", "北京华联", "华联", "华联商厦", "国际商业机器"]);
        assert_eq!(synonyms.canonical(), ["华联商厦", "国际商业机器"]);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(parse("a\tb\nc"), Err(SynonymError::NoTab { line: 2 }));
        assert_eq!(parse("a\tb\n\n\u{200B}\tb"), Err(SynonymError::Empty { line: 3, field: 1 }));
        assert_eq!(parse("a\t"), Err(SynonymError::Empty { line: 1, field: 2 }));
        let message = parse("a\tb\nＡ\tc").unwrap_err().to_string();
        assert!(message.starts_with("synonyms, line 2: `a` already becomes `b` on line 1"), "{message}");
        assert!(parse("a\tb\na\tb").is_ok());
    }
}
