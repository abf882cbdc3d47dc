//! Filtering: which words count.
//!
//! By text (stop words), by part of speech, and by kind (punctuation, white space). Stop words are normalised like
//! the texts, because that is what they are compared with.

mod stop_words;

use serde::{Deserialize, Serialize};

use crate::normalize::{Normalizer, is_punctuation};
use crate::segment::{Tag, Word, WordKind};
use crate::span::Span;
use stop_words::StopWords;

/// A list of stop words that comes with the crate; `data/stopwords/README.md` says where each is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopList {
    /// Harbin Institute of Technology.
    Hit,
    /// Baidu.
    Baidu,
    /// A Chinese list of wide circulation.
    Cn,
    /// Sichuan University.
    Scu,
    /// English.
    En,
}

impl StopList {
    /// Its words, one a line.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            StopList::Hit => include_str!("../data/stopwords/hit.txt"),
            StopList::Baidu => include_str!("../data/stopwords/baidu.txt"),
            StopList::Cn => include_str!("../data/stopwords/cn.txt"),
            StopList::Scu => include_str!("../data/stopwords/scu.txt"),
            StopList::En => include_str!("../data/stopwords/en.txt"),
        }
    }
}

/// A named set of parts of speech to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagPreset {
    /// The list of the CMS document, which was written for the segmenter ansj.
    ///
    /// jieba's tags differ: its morphemes are in lower case (`mg`, not `Mg`), Latin words are `eng`, not `en`, and
    /// punctuation is `x`, not `w`; both spellings are in the preset. ansj's `null` (no part of speech)
    /// has no counterpart and stops nothing: words without a tag are here those of a user's dictionary and of
    /// other scripts. Tags are compared whole, so `mq` or `uj` stay, as in the document.
    Cms,
}

impl TagPreset {
    /// Its tags.
    #[must_use]
    pub fn tags(self) -> &'static [&'static str] {
        match self {
            TagPreset::Cms => &[
                "Bg", "b", "c", "e", "f", "h", "i", "j", "k", "l", "Mg", "m", "o", "p", "q", "Rg", "r", "s",
                "Tg", "t", "u", "w", "x", "Yg", "y", "z", "en", "null", "bg", "mg", "rg", "tg", "yg", "eng",
            ],
        }
    }
}

/// Which words to leave out. Part of a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Lists of stop words, of those that come with the crate.
    pub stop_words: Vec<StopList>,
    /// A named set of parts of speech.
    pub stop_tag_preset: Option<TagPreset>,
    /// Further parts of speech.
    pub stop_tags: Vec<Tag>,
    /// Leave out punctuation, symbols and emoji.
    pub drop_punctuation: bool,
    /// Leave out white space.
    pub drop_whitespace: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stop_words: Vec::new(),
            stop_tag_preset: None,
            stop_tags: Vec::new(),
            drop_punctuation: true,
            drop_whitespace: true,
        }
    }
}

impl Settings {
    /// Whether words need their part of speech to be filtered.
    #[must_use]
    pub fn needs_tags(&self) -> bool {
        self.stop_tag_preset.is_some() || !self.stop_tags.is_empty()
    }
}

/// [`Settings`] made ready.
///
/// ```
/// use leitong_text::filter::{Filter, Settings, StopList};
/// use leitong_text::normalize::{Normalizer, Options};
/// use leitong_text::segment::{Tag, WordKind};
/// let settings = Settings { stop_words: vec![StopList::Hit], ..Settings::default() };
/// let filter = Filter::new(&settings, "絕非\n", &Normalizer::new(Options::default()));
/// assert!(!filter.keeps("绝非", Tag::NONE, WordKind::Word));
/// assert!(!filter.keeps("我们", Tag::NONE, WordKind::Word));
/// assert!(filter.keeps("雷同", Tag::NONE, WordKind::Word));
/// ```
#[derive(Clone, Debug)]
pub struct Filter {
    stop_words: StopWords,
    stop_tags: Vec<Tag>,
    /// By the number of the kind.
    drops: [bool; 4],
}

impl Filter {
    /// `own_stop_words` has one word a line, blank lines allowed.
    #[must_use]
    pub fn new(settings: &Settings, own_stop_words: &str, normalizer: &Normalizer) -> Self {
        let lists = settings.stop_words.iter().map(|list| list.text()).chain([own_stop_words]);
        let stop_words = lists.flat_map(str::lines).filter_map(|line| normal_form(line.trim(), normalizer));
        let preset = settings.stop_tag_preset.map_or(&[][..], TagPreset::tags);
        let preset = preset.iter().filter_map(|name| Tag::new(name).ok());
        let mut drops = [false; 4];
        drops[WordKind::Punctuation as usize] = settings.drop_punctuation;
        drops[WordKind::Space as usize] = settings.drop_whitespace;
        Self {
            stop_words: StopWords::new(stop_words),
            stop_tags: preset.chain(settings.stop_tags.iter().copied()).collect(),
            drops,
        }
    }

    /// Whether a word of this (normalised) text, tag and kind counts.
    #[inline]
    #[must_use]
    pub fn keeps(&self, text: &str, tag: Tag, kind: WordKind) -> bool {
        self.keeps_kind(tag, kind) && !self.stop_words.contains(text)
    }

    /// The same for a word where it stands in a text.
    #[inline]
    #[must_use]
    pub(crate) fn keeps_at(&self, text: &str, word: Word) -> bool {
        self.keeps_kind(word.tag, word.kind) && !self.stops_at(text, word.span)
    }

    /// Whether a word where it stands in a text is a stop word; without a branch for most words.
    #[inline(always)]
    #[must_use]
    pub(crate) fn stops_at(&self, text: &str, word: Span) -> bool {
        self.stop_words.contains_at(text, word)
    }

    /// Whether it drops whatever is neither letter nor digit.
    #[must_use]
    pub(crate) fn drops_signs(&self) -> bool {
        self.drops[WordKind::Punctuation as usize] && self.drops[WordKind::Space as usize]
    }

    /// Whether it depends on the parts of speech.
    #[must_use]
    pub(crate) fn has_stop_tags(&self) -> bool {
        !self.stop_tags.is_empty()
    }

    #[inline]
    fn keeps_kind(&self, tag: Tag, kind: WordKind) -> bool {
        !self.drops[kind as usize] & (self.stop_tags.is_empty() || !self.stop_tags.contains(&tag))
    }
}

/// A stop word as it stands in a normalised text; `None` if it cannot stand there.
fn normal_form(word: &str, normalizer: &Normalizer) -> Option<Box<str>> {
    let normal = normalizer.normalize(word).text;
    // The lists hold scraps such as `.一` and `１．`. Where punctuation goes they would become 一 and 1, which
    // nobody asked to stop. An apostrophe inside (don't) is another matter: the text loses it too.
    let lost_an_edge =
        |edge: Option<char>| edge.is_some_and(is_punctuation) && !normal.contains(is_punctuation);
    if normal.is_empty() || lost_an_edge(word.chars().next()) || lost_an_edge(word.chars().next_back()) {
        return None;
    }
    Some(normal.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::{Options, Punctuation};

    fn normalizer(punctuation: Punctuation) -> Normalizer {
        Normalizer::new(Options { punctuation, ..Options::default() })
    }

    fn with(stop_words: &[StopList]) -> Settings {
        Settings { stop_words: stop_words.to_vec(), ..Settings::default() }
    }

    fn keeps(filter: &Filter, text: &str) -> bool {
        filter.keeps(text, Tag::NONE, WordKind::of(text))
    }

    #[test]
    fn a_word_in_a_text_is_kept_like_one_alone() {
        let filter = Filter::new(&with(&[StopList::Hit, StopList::En]), "", &normalizer(Punctuation::Keep));
        let text = "我们的the图书馆不仅由此可见。abcdefgh you're 的";
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (number, &start) in bounds.iter().enumerate() {
            for &end in &bounds[number + 1..] {
                let word = &text[start..end];
                let (span, kind) = (Span::new(start, end), WordKind::of(word));
                let kept = filter.keeps_at(text, Word { span, tag: Tag::NONE, kind });
                assert_eq!(kept, keeps(&filter, word), "{word}");
            }
        }
    }

    #[test]
    fn every_list_is_there() {
        for (list, word) in [
            (StopList::Hit, "不仅"),
            (StopList::Baidu, "about"),
            (StopList::Cn, "一些"),
            (StopList::Scu, "由此可见"),
            (StopList::En, "you're"),
        ] {
            let filter = Filter::new(&with(&[list]), "", &normalizer(Punctuation::Keep));
            assert!(!keeps(&filter, word), "{list:?}");
            assert!(keeps(&filter, "雷同"), "{list:?}");
        }
    }

    #[test]
    fn stop_words_are_normalised_like_the_text() {
        let own = "\n ＴＨＥ \n絕非\ndon't\n.一\n1．\n";
        let filter = Filter::new(&Settings::default(), own, &normalizer(Punctuation::Keep));
        assert!(!keeps(&filter, "the") && !keeps(&filter, "绝非") && !keeps(&filter, "don't"));
        assert!(keeps(&filter, "THE"), "a text is normalised before");
        let filter = Filter::new(&Settings::default(), own, &normalizer(Punctuation::Drop));
        assert!(!keeps(&filter, "dont") && keeps(&filter, "一") && keeps(&filter, "1"));
    }

    #[test]
    fn parts_of_speech() {
        let settings = Settings {
            stop_tag_preset: Some(TagPreset::Cms),
            stop_tags: vec![Tag::new("机构").unwrap()],
            ..Settings::default()
        };
        assert!(settings.needs_tags() && !Settings::default().needs_tags());
        let filter = Filter::new(&settings, "", &normalizer(Punctuation::Keep));
        let keeps = |tag| filter.keeps("词", Tag::new(tag).unwrap(), WordKind::Word);
        assert!(["r", "eng", "x", "mg", "机构"].map(keeps).iter().all(|&kept| !kept));
        assert!(["n", "ns", "v", "mq", ""].map(keeps).iter().all(|&kept| kept));
    }

    #[test]
    fn punctuation_and_space_are_optional() {
        let both = Filter::new(&Settings::default(), "", &normalizer(Punctuation::Keep));
        assert!(!keeps(&both, "。") && !keeps(&both, " ") && keeps(&both, "3.14"));
        let settings = Settings { drop_punctuation: false, drop_whitespace: false, ..Settings::default() };
        let neither = Filter::new(&settings, "", &normalizer(Punctuation::Keep));
        assert!(keeps(&neither, "。") && keeps(&neither, " "));
    }

    #[test]
    fn settings_read_back_and_refuse_strangers() {
        let json = r#"{"stop-words":["hit","en"],"stop-tag-preset":"cms","stop-tags":["nr"]}"#;
        let settings: Settings = serde_json::from_str(json).unwrap();
        assert_eq!(settings.stop_words, [StopList::Hit, StopList::En]);
        let again = serde_json::from_str(&serde_json::to_string(&settings).unwrap()).unwrap();
        assert_eq!(settings, again);
        assert!(serde_json::from_str::<Settings>(r#"{"stopwords":[]}"#).is_err());
        assert!(serde_json::from_str::<Settings>(r#"{"stop-words":["own"]}"#).is_err());
        assert!(serde_json::from_str::<Settings>(r#"{"stop-tags":["muchtoolong"]}"#).is_err());
    }
}
