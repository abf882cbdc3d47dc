//! Filtering: which words count.
//!
//! By text (stop words), by part of speech, and by kind (punctuation, white space). Stop words are normalised like
//! the texts, because that is what they are compared with.

use serde::{Deserialize, Serialize};

use crate::normalize::{Normalizer, is_punctuation};
use crate::segment::{Tag, WordKind};

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
    drop_punctuation: bool,
    drop_whitespace: bool,
}

impl Filter {
    /// `own_stop_words` has one word a line, blank lines allowed.
    #[must_use]
    pub fn new(settings: &Settings, own_stop_words: &str, normalizer: &Normalizer) -> Self {
        let lists = settings.stop_words.iter().map(|list| list.text()).chain([own_stop_words]);
        let stop_words = lists.flat_map(str::lines).filter_map(|line| normal_form(line.trim(), normalizer));
        let preset = settings.stop_tag_preset.map_or(&[][..], TagPreset::tags);
        let preset = preset.iter().filter_map(|name| Tag::new(name).ok());
        Self {
            stop_words: StopWords::new(stop_words),
            stop_tags: preset.chain(settings.stop_tags.iter().copied()).collect(),
            drop_punctuation: settings.drop_punctuation,
            drop_whitespace: settings.drop_whitespace,
        }
    }

    /// Whether a word of this (normalised) text, tag and kind counts.
    #[inline]
    #[must_use]
    pub fn keeps(&self, text: &str, tag: Tag, kind: WordKind) -> bool {
        match kind {
            WordKind::Space if self.drop_whitespace => return false,
            WordKind::Punctuation if self.drop_punctuation => return false,
            _ => {}
        }
        !self.stop_tags.contains(&tag) && !self.stop_words.contains(text)
    }
}

/// A set of words that every word of every text is looked up in: an open hash table over the first eight bytes and the
/// length, which are all there is of most words.
#[derive(Clone, Debug, Default)]
struct StopWords {
    /// Their number is a power of two, at least half of them empty; no slots where there are no words.
    slots: Vec<StopWord>,
    /// A bit for the hash of every word: it stays in the first cache and sends most words away at once.
    seen: Vec<u64>,
}

/// An empty slot is the empty word, which is never looked up.
#[derive(Clone, Debug, Default)]
struct StopWord {
    start: u64,
    word: Box<str>,
}

impl StopWords {
    fn new(words: impl Iterator<Item = Box<str>>) -> Self {
        let words: Vec<Box<str>> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Self::default();
        }
        let mut set = Self {
            slots: vec![StopWord::default(); (words.len() * 2).next_power_of_two()],
            seen: vec![0; 1 << (SEEN_BITS - 6)],
        };
        for word in words {
            let start = start_of(&word);
            let bit = hash_of(start, word.len()) >> (64 - SEEN_BITS);
            set.seen[(bit / 64) as usize] |= 1 << (bit % 64);
            let at = set.slot(start, &word);
            set.slots[at] = StopWord { start, word };
        }
        set
    }

    /// The slot of a word, or the empty one where it belongs.
    #[inline]
    fn slot(&self, start: u64, word: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (hash_of(start, word.len()) >> 32) as usize & mask;
        loop {
            let StopWord { start: found, word: other } = &self.slots[at];
            let same = *found == start && other.len() == word.len() && (word.len() <= 8 || **other == *word);
            if same || other.is_empty() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn contains(&self, word: &str) -> bool {
        if self.slots.is_empty() || word.is_empty() {
            return false;
        }
        let start = start_of(word);
        let bit = hash_of(start, word.len()) >> (64 - SEEN_BITS);
        self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
            && !self.slots[self.slot(start, word)].word.is_empty()
    }
}

/// Sixteen thousand bits, two kilobytes.
const SEEN_BITS: u32 = 14;

#[inline]
fn hash_of(start: u64, length: usize) -> u64 {
    (start ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The first eight bytes of a word, zeros where it has fewer.
#[inline]
fn start_of(word: &str) -> u64 {
    let bytes = word.as_bytes();
    if let Some(&eight) = bytes.first_chunk() {
        return u64::from_le_bytes(eight);
    }
    // Two reads that overlap where there are fewer than eight bytes: what both hold is the same.
    if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(first), u32::from_le_bytes(last));
        return u64::from(first) | u64::from(last) << ((bytes.len() - 4) * 8);
    }
    // One to three bytes: the first, the middle and the last are all of them.
    let byte = |at: usize| bytes.get(at).map_or(0, |&byte| u64::from(byte) << (at * 8));
    byte(0) | byte(bytes.len() / 2) | byte(bytes.len().saturating_sub(1))
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
    fn the_start_of_a_word_is_its_first_eight_bytes() {
        for length in 0..12 {
            let word = &"abcdefghijkl"[..length];
            let slow = word.bytes().take(8).rev().fold(0, |start, byte| start << 8 | u64::from(byte));
            assert_eq!(start_of(word), slow, "{word}");
        }
    }

    #[test]
    fn stop_words_are_a_set() {
        let all = [StopList::Hit, StopList::Baidu, StopList::Cn, StopList::Scu, StopList::En];
        let lists = all.map(StopList::text).concat();
        let words: std::collections::BTreeSet<&str> = lists.lines().filter(|word| !word.is_empty()).collect();
        let set = StopWords::new(words.iter().map(|&word| word.into()));
        for word in &words {
            assert!(set.contains(word), "{word}");
            for other in [
                &format!("{word}\0"),
                &format!("{word}的"),
                &word[..word.floor_char_boundary(word.len() - 1)],
            ] {
                assert_eq!(set.contains(other), words.contains(other), "{other:?}");
            }
        }
        assert!(!StopWords::default().contains("的"));
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
