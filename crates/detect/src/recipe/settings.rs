//! What a recipe says, as written in its TOML form.

use leitong_fingerprint::hash::{Algorithm, Units};
use leitong_fingerprint::keywords::ImatchBand;
use leitong_fingerprint::minhash::Banding;
use leitong_fingerprint::simhash::{Floor, Tie};
use leitong_fingerprint::weight::{Scheme, TagBoosts};
use leitong_fingerprint::winnow::Winnowing;
use leitong_text::{filter, normalize, segment};
use serde::{Deserialize, Serialize};

/// Everything that decides a fingerprint, one section a step.
///
/// Fields that are added later must be left out of the written form at their default, or digests of stored recipes
/// would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The name it is known by. Not part of the digest.
    pub name: String,
    /// One line on what it is for. Not part of the digest.
    pub about: String,
    /// How text is normalised.
    pub normalize: normalize::Options,
    /// How words are found and which are left out.
    pub words: WordSettings,
    /// SimHash.
    pub simhash: SimHashSettings,
    /// MinHash.
    pub minhash: MinHashSettings,
    /// Shingles.
    pub shingles: ShingleSettings,
    /// Winnowing.
    pub winnow: WinnowSettings,
    /// Rabin-Karp.
    pub rabin_karp: RabinKarpSettings,
    /// Keyword fingerprints.
    pub keywords: KeywordSettings,
    /// Sentence feature codes.
    pub sentence_code: SentenceCodeSettings,
    /// Image fingerprints.
    pub image: ImageSettings,
    /// Fingerprints of model vectors.
    pub embedding: EmbeddingSettings,
}

/// Where words come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WordSettings {
    /// The segmenter.
    pub segment: segment::Settings,
    /// What is left out.
    pub filter: filter::Settings,
    /// A file of stop words, one a line, besides the built-in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_words_file: Option<String>,
    /// A file of words for the segmenter: word, frequency, part of speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dictionary_file: Option<String>,
    /// A file of synonyms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synonyms_file: Option<String>,
}

impl WordSettings {
    /// Whether any file is referred to.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.stop_words_file.is_some() || self.dictionary_file.is_some() || self.synonyms_file.is_some()
    }
}

/// What a text is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// Words.
    Words,
    /// Overlapping runs of this many letters; white space and punctuation do not count.
    Characters(usize),
    /// Overlapping runs of this many units: a unit is a character of a script without spaces, or up to four letters or
    /// digits, so that every script gives runs of like weight.
    Units(usize),
    /// Overlapping runs of this many characters as the Python package simhash finds them.
    PythonWindows(usize),
}

/// Which IDF table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdfSource {
    /// The built-in table of Chinese words.
    Chinese,
    /// A table of one's own.
    File(String),
}

/// How SimHash is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SimHashSettings {
    /// Width: 32, 64, 128, 256, 512 or 1024.
    pub bits: u32,
    /// What is hashed.
    pub features: Features,
    /// How features are weighed.
    pub weight: Scheme,
    /// Keep only so many of the heaviest features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<usize>,
    /// IDF for the weights that need it.
    pub idf: IdfSource,
    /// Extra weight by part of speech, in per cent.
    #[serde(default, skip_serializing_if = "no_boosts")]
    pub boosts: TagBoosts,
    /// The hash of a feature.
    pub hash: Algorithm,
    /// What the hash reads.
    pub units: Units,
    /// What a bit becomes when ones and zeros weigh the same.
    pub tie: Tie,
    /// When there is too little to make a fingerprint from.
    pub floor: Floor,
    /// Print the least significant bit first in `bits` format. Not part of the digest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub print_lsb_first: bool,
}

fn no_boosts(boosts: &TagBoosts) -> bool {
    boosts.0.is_empty()
}

/// How MinHash is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MinHashSettings {
    /// The set.
    pub features: Features,
    /// Words a shingle, where the features are words.
    pub words: usize,
    /// Bands and places a band.
    pub banding: Banding,
}

/// How shingles are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ShingleSettings {
    /// What a shingle is made of.
    pub features: Features,
    /// Words a shingle, where the features are words.
    pub words: usize,
}

/// What positions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Letters; white space and punctuation do not count.
    Characters,
    /// Words.
    Words,
}

/// How marks are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WinnowSettings {
    /// Over what.
    pub over: Over,
    /// Every shared run of at least this many units is found.
    pub guarantee: usize,
    /// Units hashed together.
    pub noise: usize,
}

impl WinnowSettings {
    /// The arithmetic behind it.
    #[must_use]
    pub fn winnowing(self) -> Winnowing {
        Winnowing { guarantee: self.guarantee, noise: self.noise }
    }
}

/// A rolling hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RabinKarpSettings {
    /// Over what.
    pub over: Over,
    /// The base r.
    pub base: u64,
    /// The modulus q.
    pub modulus: u64,
    /// The window k.
    pub window: usize,
}

/// Which words or parts stand for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeywordSource {
    /// The heaviest terms.
    TopTerms(usize),
    /// The most frequent words with their counts.
    MostFrequent(usize),
    /// The words the author gave: field `keywords` of the input.
    Given,
    /// Title, author and date: fields of the input.
    Fields,
    /// The first paragraph.
    FirstParagraph,
    /// The last paragraph.
    LastParagraph,
    /// The sentence with this number, counted from 1.
    Sentence(usize),
    /// I-Match: words inside an IDF band, several lexicons.
    Imatch(ImatchBand),
}

/// How keyword fingerprints are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeywordSettings {
    /// What stands for the text.
    pub source: KeywordSource,
    /// How terms are weighed.
    pub weight: Scheme,
    /// IDF for weights and bands.
    pub idf: IdfSource,
    /// Extra weight by part of speech, in per cent.
    #[serde(default, skip_serializing_if = "no_boosts")]
    pub boosts: TagBoosts,
    /// The hash.
    pub hash: Algorithm,
}

/// How sentence codes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SentenceCodeSettings {
    /// Characters from either end of a sentence.
    pub edge: usize,
    /// Words a sentence needs to count.
    pub least_words: usize,
}

/// How image codes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageSettings {
    /// Blocks across.
    pub columns: usize,
    /// Blocks down.
    pub rows: usize,
}

/// How vectors become bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EmbeddingSettings {
    /// Width.
    pub bits: u32,
    /// Seed of the hyperplanes.
    pub seed: u64,
}
