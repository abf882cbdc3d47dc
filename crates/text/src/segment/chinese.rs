//! Chinese words: jieba's dictionary and model, and a user's words on top.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use jieba_rs::Jieba;

use super::{Segment, Tag, TagTooLong, Word, WordKind};
use crate::normalize::Normalizer;
use crate::span::Span;

/// The dictionary that comes with jieba, loaded when the first Chinese text asks for it and shared by all: it
/// takes some 150 ms and 34 MB.
static SHARED: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Words that a user adds to the dictionary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserDictionary {
    /// Ordered, so that the same words always give the same dictionary.
    words: BTreeMap<String, Added>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Added {
    frequency: Option<u32>,
    tag: Option<Tag>,
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

/// Chinese words by jieba. Other scripts come out as jieba leaves them: Latin words whole, the rest in characters.
pub struct Chinese {
    user: UserDictionary,
    /// jieba's dictionary with the user's words, made when first needed.
    own: OnceLock<Jieba>,
    hmm: bool,
    tags: bool,
}

impl fmt::Debug for Chinese {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, own: _, hmm, tags } = self;
        f.debug_struct("Chinese").field("user", user).field("hmm", hmm).field("tags", tags).finish()
    }
}

impl Chinese {
    /// Loads nothing yet: the first text does. With `hmm`, a hidden Markov model finds words that are not in the
    /// dictionary; with `tags`, words get their part of speech.
    #[must_use]
    pub fn new(user: UserDictionary, hmm: bool, tags: bool) -> Self {
        Self { user, own: OnceLock::new(), hmm, tags }
    }

    /// Whether words get their part of speech.
    pub(super) fn tags(&self) -> bool {
        self.tags
    }

    fn jieba(&self) -> &Jieba {
        if self.user.is_empty() {
            return &SHARED;
        }
        self.own.get_or_init(|| {
            let mut jieba = SHARED.clone();
            for (word, added) in &self.user.words {
                let tag = added.tag.unwrap_or_default();
                jieba.add_word(word, added.frequency.map(|f| f as usize), Some(tag.as_str()));
            }
            jieba
        })
    }

    /// Appends the words of `part` of `text`.
    pub(super) fn append(&self, text: &str, part: Span, words: &mut Vec<Word>) {
        let slice = &text[part.range()];
        let offset = part.start as usize;
        let jieba = self.jieba();
        if self.tags {
            words.extend(jieba.tag(slice, self.hmm).iter().map(|tagged| Word {
                span: Span::new(offset + tagged.byte_start, offset + tagged.byte_end),
                tag: self.tag_of(tagged.word, tagged.tag),
                kind: WordKind::of(tagged.word),
            }));
        } else {
            words.extend(jieba.cut(slice, self.hmm).iter().map(|token| Word {
                span: Span::new(offset + token.byte_start, offset + token.byte_end),
                tag: Tag::NONE,
                kind: WordKind::of(token.word),
            }));
        }
    }

    /// The user's tag, or jieba's: jieba does not change the tag of a word that it already had.
    fn tag_of(&self, word: &str, by_jieba: &str) -> Tag {
        let by_user = if self.user.is_empty() { None } else { self.user.words.get(word) };
        // jieba's tags are at most four bytes.
        by_user.and_then(|added| added.tag).unwrap_or_else(|| Tag::new(by_jieba).unwrap_or_default())
    }
}

impl Segment for Chinese {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.append(text, Span::new(0, text.len()), words);
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::{cut, cut_with_tags};
    use super::*;
    use crate::normalize::Options;

    fn parse(lines: &str) -> Result<UserDictionary, DictionaryError> {
        UserDictionary::parse(lines, &Normalizer::new(Options::default()))
    }

    #[test]
    fn words_and_tags() {
        let chinese = Chinese::new(UserDictionary::default(), true, true);
        assert_eq!(cut_with_tags(&chinese, "我爱北京天安门"), ["我/r", "爱/v", "北京/ns", "天安门/ns"]);
    }

    #[test]
    fn the_model_can_be_switched_off() {
        let without = Chinese::new(UserDictionary::default(), false, false);
        let with = Chinese::new(UserDictionary::default(), true, false);
        assert_eq!(cut(&without, "他来到了网易杭研大厦"), ["他", "来到", "了", "网易", "杭", "研", "大厦"]);
        assert_eq!(cut(&with, "他来到了网易杭研大厦"), ["他", "来到", "了", "网易", "杭研", "大厦"]);
    }

    #[test]
    fn user_words_win_and_are_normalised() {
        let user = parse("# own words\n\n北京華聯 500 nt\n雷同網 品牌\nＡＢ測試\n北京 9 city").unwrap();
        let chinese = Chinese::new(user, true, true);
        let words = cut_with_tags(&chinese, "北京华联在北京用雷同网做ab测试");
        assert_eq!(words, ["北京华联/nt", "在/p", "北京/city", "用/p", "雷同网/品牌", "做/v", "ab测试/"]);
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
