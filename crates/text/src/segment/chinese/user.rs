//! The words that a user adds, as they come from a file.

use std::collections::BTreeMap;

use crate::normalize::Normalizer;
use crate::segment::{Tag, TagTooLong};

/// Words that a user adds to the dictionary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserDictionary {
    /// Ordered, so that the same words always give the same dictionary.
    pub(super) words: BTreeMap<String, Added>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Added {
    pub(super) frequency: Option<u32>,
    pub(super) tag: Option<Tag>,
}

/// Why a user dictionary was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DictionaryError {
    /// More than word, frequency and tag.
    #[error(
        "user dictionary, line {line}: more than three fields; write `word`, `word frequency` or `word frequency tag`"
    )]
    Fields {
        /// The line, from 1.
        line: usize,
    },
    /// A frequency that is no number from 1 to 4294967295.
    #[error("user dictionary, line {line}: the frequency `{found}` is no whole number from 1 to {max}", max = u32::MAX)]
    Frequency {
        /// The line, from 1.
        line: usize,
        /// What stood there.
        found: String,
    },
    /// A tag that is too long.
    #[error("user dictionary, line {line}: {source}")]
    Tag {
        /// The line, from 1.
        line: usize,
        /// The tag.
        source: TagTooLong,
    },
    /// A word that normalises to nothing.
    #[error("user dictionary, line {line}: nothing is left of `{word}` after normalising; take it out")]
    Empty {
        /// The line, from 1.
        line: usize,
        /// The word as written.
        word: String,
    },
}

impl UserDictionary {
    /// Reads lines of `word`, `word frequency`, `word tag` or `word frequency tag`, separated by white space, and
    /// normalises the words as the texts will be. Blank lines and lines that start with `#` are skipped; of a word
    /// given twice the last line counts. Without a frequency the word gets one that makes it win over its parts.
    ///
    /// Only words of Han characters, ASCII letters and digits and `+#&._%-` can be found: jieba looks at no others.
    ///
    /// # Errors
    /// If a line is none of these. The error names the line.
    pub fn parse(lines: &str, normalizer: &Normalizer) -> Result<Self, DictionaryError> {
        let mut dictionary = Self::default();
        for (line, fields) in (1..).zip(lines.lines().map(str::split_whitespace)) {
            let fields: Vec<&str> = fields.collect();
            let (word, frequency, tag) = match fields[..] {
                [] => continue,
                [word, ..] if word.starts_with('#') => continue,
                [word] => (word, None, None),
                [word, second] if second.starts_with(|c: char| c.is_ascii_digit()) => {
                    (word, Some(second), None)
                }
                [word, second] => (word, None, Some(second)),
                [word, frequency, tag] => (word, Some(frequency), Some(tag)),
                _ => return Err(DictionaryError::Fields { line }),
            };
            let frequency = match frequency.map(|f| (f, f.parse::<u32>())) {
                None => None,
                Some((_, Ok(number))) if number > 0 => Some(number),
                Some((found, _)) => {
                    return Err(DictionaryError::Frequency { line, found: found.to_owned() });
                }
            };
            let tag =
                tag.map(Tag::new).transpose().map_err(|source| DictionaryError::Tag { line, source })?;
            let normalized = normalizer.normalize(word).text;
            if normalized.is_empty() {
                return Err(DictionaryError::Empty { line, word: word.to_owned() });
            }
            dictionary.words.insert(normalized, Added { frequency, tag });
        }
        Ok(dictionary)
    }

    /// Adds a word, already normalised, with a frequency that makes it win over its parts; one that is there
    /// already stays as it is.
    pub fn add(&mut self, word: &str) {
        if !self.words.contains_key(word) {
            self.words.insert(word.to_owned(), Added::default());
        }
    }

    /// Whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::Options;

    fn parse(lines: &str) -> Result<UserDictionary, DictionaryError> {
        UserDictionary::parse(lines, &Normalizer::new(Options::default()))
    }

    #[test]
    fn errors_name_the_line() {
        let frequency = |line, found: &str| DictionaryError::Frequency { line, found: found.to_owned() };
        assert_eq!(parse("\n词 0"), Err(frequency(2, "0")));
        assert_eq!(parse("词 1x"), Err(frequency(1, "1x")));
        assert_eq!(parse("词 99999999999 n"), Err(frequency(1, "99999999999")));
        assert_eq!(parse("一 二 三 四"), Err(DictionaryError::Fields { line: 1 }));
        assert_eq!(
            parse("\u{200B} 3 n"),
            Err(DictionaryError::Empty { line: 1, word: "\u{200B}".to_owned() })
        );
        let message = parse("词 3 verylongtag").unwrap_err().to_string();
        assert!(
            message.starts_with("user dictionary, line 1: the part-of-speech tag `verylongtag`"),
            "{message}"
        );
    }
}
