//! Tokens: segmenting, synonyms and filter in one, compiled from a recipe's settings.
//!
//! Input: a normalised text. Output: the words that count, as [`Token`]s that point into that text. Input that is
//! already tokens goes past this module.

use serde::{Deserialize, Serialize};

use crate::filter::{self, Filter};
use crate::normalize::Normalizer;
use crate::segment::{self, DictionaryError, Segment, Tag, Unit, UserDictionary, Word, WordKind};
use crate::span::Span;
use crate::synonyms::{SynonymError, Synonyms};

/// A word that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its text after all steps: that of the normalised text, or a synonym's canonical word.
    pub text: &'a str,
    /// Where it stands in the normalised text.
    pub span: Span,
    /// Its part of speech; [`Tag::NONE`] unless tags were asked for.
    pub tag: Tag,
    /// What kind of characters it is made of.
    pub kind: WordKind,
}

/// How a normalised text becomes tokens. Part of a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How it is cut.
    pub segment: segment::Settings,
    /// What is left out.
    pub filter: filter::Settings,
}

/// A user's own files, as text. Empty means none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resources<'a> {
    /// For the dictionary: see [`UserDictionary::parse`].
    pub dictionary: &'a str,
    /// Further stop words, one a line.
    pub stop_words: &'a str,
    /// A table of synonyms: see [`Synonyms::parse`].
    pub synonyms: &'a str,
}

/// Why a tokenizer could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The user dictionary is at fault.
    #[error(transparent)]
    Dictionary(#[from] DictionaryError),
    /// The table of synonyms is at fault.
    #[error(transparent)]
    Synonyms(#[from] SynonymError),
}

/// Cuts normalised texts into tokens. Make one and share it between threads.
///
/// ```
/// use leitong_text::normalize::{Normalizer, Options};
/// use leitong_text::tokenize::{Resources, Settings, Tokenizer};
/// let normalizer = Normalizer::new(Options::default());
/// let resources = Resources { synonyms: "北京华联\t华联商厦", ..Resources::default() };
/// let tokenizer = Tokenizer::new(&Settings::default(), resources, &normalizer, false)?;
/// let text = normalizer.normalize("他去北京華聯。").text;
/// let tokens: Vec<&str> = tokenizer.tokens(&text).iter().map(|token| token.text).collect();
/// assert_eq!(tokens, ["他", "去", "华联商厦"]);
/// # Ok::<(), leitong_text::tokenize::TokenizerError>(())
/// ```
pub struct Tokenizer {
    segmenter: Box<dyn Segment>,
    synonyms: Synonyms,
    /// The tags of the canonical words, by number.
    canonical_tags: Vec<Tag>,
    filter: Filter,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("synonyms", &self.synonyms)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// `normalizer` is the one the texts will go through: dictionary, stop words and synonyms go through it too.
    /// Parts of speech are computed where the filter needs them or `tags` asks for them.
    ///
    /// # Errors
    /// If one of the user's files cannot be read as what it should be; the error names the line.
    pub fn new(
        settings: &Settings,
        resources: Resources<'_>,
        normalizer: &Normalizer,
        tags: bool,
    ) -> Result<Self, TokenizerError> {
        let tags = tags || settings.filter.needs_tags();
        let synonyms = Synonyms::parse(resources.synonyms, normalizer)?;
        let mut dictionary = UserDictionary::parse(resources.dictionary, normalizer)?;
        let mut canonical_tags = Vec::new();
        if tags && !synonyms.is_empty() {
            // Before the forms are in the dictionary, where they have no tag.
            canonical_tags = tags_of(&synonyms, &*settings.segment.build(dictionary.clone(), true));
        }
        if settings.segment.by == Unit::Words {
            synonyms.forms().for_each(|form| dictionary.add(form));
        }
        let segmenter = settings.segment.build(dictionary, tags);
        let filter = Filter::new(&settings.filter, resources.stop_words, normalizer);
        Ok(Self { segmenter, synonyms, canonical_tags, filter })
    }

    /// The tokens of a text that went through the same normaliser.
    #[must_use]
    pub fn tokens<'a>(&'a self, text: &'a str) -> Vec<Token<'a>> {
        let mut words = Vec::new();
        let mut tokens = Vec::new();
        self.each_token(text, &mut words, |token| tokens.push(token));
        tokens
    }

    /// Calls `see` with each token of a text that went through the same normaliser; `words` is memory to be used again.
    pub fn each_token<'a>(&'a self, text: &'a str, words: &mut Vec<Word>, mut see: impl FnMut(Token<'a>)) {
        self.segmenter.segment(text, words);
        if !self.has_synonyms() {
            for &word in words.iter().filter(|&&word| self.filter.keeps_at(text, word)) {
                let Word { span, tag, kind } = word;
                see(Token { text: &text[span.range()], span, tag, kind });
            }
            return;
        }
        let mut rest = &words[..];
        while let Some(&Word { span, tag, kind }) = rest.first() {
            let (token, used) = match self.synonyms.longest_match(text, rest) {
                Some(found) => {
                    (self.replaced(found.canonical, span, rest[found.words - 1].span), found.words)
                }
                None => (Token { text: &text[span.range()], span, tag, kind }, 1),
            };
            if self.filter.keeps(token.text, token.tag, token.kind) {
                see(token);
            }
            rest = &rest[used..];
        }
    }

    /// Whether some words are replaced by others.
    #[must_use]
    pub fn has_synonyms(&self) -> bool {
        !self.synonyms.is_empty()
    }

    /// Where the tokens of a text stand that went through the same normaliser, in any order, if there are no synonyms: the
    /// fastest way. `words` and `places` are memory to be used again.
    pub fn places<'p>(&self, text: &str, words: &mut Vec<Word>, places: &'p mut Vec<Span>) -> &'p [Span] {
        self.segmenter.segment_and_filter(text, &self.filter, words, places)
    }

    fn replaced(&self, canonical: usize, first: Span, last: Span) -> Token<'_> {
        let text = &*self.synonyms.canonical()[canonical];
        Token {
            text,
            span: Span { start: first.start, end: last.end },
            tag: self.canonical_tags.get(canonical).copied().unwrap_or_default(),
            kind: WordKind::of(text),
        }
    }
}

/// The tag of a canonical word of several words is that of the last: Chinese compounds have their head there.
fn tags_of(synonyms: &Synonyms, segmenter: &dyn Segment) -> Vec<Tag> {
    let mut words = Vec::new();
    let tag = |word: &String| {
        segmenter.segment(word, &mut words);
        words.last().map_or(Tag::NONE, |last| last.tag)
    };
    synonyms.canonical().iter().map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{StopList, TagPreset};
    use crate::normalize::Options;

    fn make(settings: &Settings, resources: Resources<'_>, tags: bool) -> Tokenizer {
        Tokenizer::new(settings, resources, &Normalizer::new(Options::default()), tags).unwrap()
    }

    fn cut(tokenizer: &Tokenizer, text: &str) -> String {
        let tokens = tokenizer.tokens(text);
        tokens.iter().map(|t| format!("{}/{}", t.text, t.tag)).collect::<Vec<_>>().join(" ")
    }

    fn with_synonyms(synonyms: &str) -> Resources<'_> {
        Resources { synonyms, ..Resources::default() }
    }

    #[test]
    fn phrases_are_replaced_and_keep_their_place() {
        let tokenizer =
            make(&Settings::default(), with_synonyms("北京华联\t华联商厦\nnew york city\tnyc"), true);
        let text = "他在北京华联买,她在华联商厦买,i love new york city.";
        assert_eq!(
            cut(&tokenizer, text),
            "他/r 在/p 华联商厦/nt 买/v 她/r 在/p 华联商厦/nt 买/v i/eng love/eng nyc/eng"
        );
        let places: Vec<&str> = tokenizer.tokens(text).iter().map(|t| &text[t.span.range()]).collect();
        assert_eq!(places[2], "北京华联");
        assert_eq!(places[6], "华联商厦");
        assert_eq!(places[10], "new york city");
    }

    #[test]
    fn the_longest_wins_whole_words_only_and_nothing_cascades() {
        let table = "华联\t商店\n北京华联\t华联商厦\n甲\t乙\n乙\t丙\ncat\tpet";
        let tokenizer = make(&Settings::default(), with_synonyms(table), false);
        assert_eq!(cut(&tokenizer, "北京华联"), "华联商厦/");
        assert_eq!(cut(&tokenizer, "中华联合"), "中华/ 联合/");
        assert_eq!(cut(&tokenizer, "甲 乙 丙"), "乙/ 丙/ 丙/");
        assert_eq!(cut(&tokenizer, "cat category"), "pet/ category/");
    }

    #[test]
    fn characters_know_synonyms_too() {
        let settings = Settings {
            segment: segment::Settings { by: Unit::Characters, ..Default::default() },
            ..Settings::default()
        };
        let tokenizer = make(&settings, with_synonyms("华联\t商店"), false);
        assert_eq!(cut(&tokenizer, "去华联。"), "去/ 商店/");
    }

    #[test]
    fn filters_come_last_and_ask_for_the_tags_they_need() {
        let mut settings = Settings::default();
        settings.filter.stop_words = vec![StopList::Hit];
        let resources = Resources { stop_words: "商店\n", ..with_synonyms("华联\t商店") };
        assert_eq!(cut(&make(&settings, resources, false), "我们去华联和北京"), "去/ 北京/");
        settings.filter.stop_tag_preset = Some(TagPreset::Cms);
        assert_eq!(
            cut(&make(&settings, Resources::default(), false), "我们在北京吃3个apple"),
            "北京/ns 吃/v"
        );
    }

    #[test]
    fn faults_name_file_and_line() {
        let normalizer = Normalizer::new(Options::default());
        let fault = |resources| {
            Tokenizer::new(&Settings::default(), resources, &normalizer, false).unwrap_err().to_string()
        };
        assert!(fault(with_synonyms("一")).starts_with("synonyms, line 1: no tab"));
        let resources = Resources { dictionary: "\n词 -1 n", ..Resources::default() };
        assert!(fault(resources).starts_with("user dictionary, line 2: the frequency `-1`"));
    }

    #[test]
    fn settings_read_back_and_refuse_strangers() {
        let settings: Settings = serde_json::from_str(r#"{"segment":{"by":"words","hmm":false}}"#).unwrap();
        assert!(!settings.segment.hmm);
        assert!(serde_json::from_str::<Settings>(r#"{"filters":{}}"#).is_err());
    }
}
