//! Terms and their weights.
//!
//! Input: the words of a text in reading order, with part-of-speech tags where known. Output: each distinct term
//! once, with a weight, in order of first appearance. All weights are whole numbers: sums are then exact
//! and independent of order, thread count and machine, which stored fingerprints need. IDF is kept in thousandths.

use crate::hash::own64;
use crate::ngram::Distinct;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// The text of the built-in IDF table; recipes that use it carry its digest.
pub const CHINESE: &str = include_str!("../data/idf-zh.txt");

/// How a term's weight follows from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Every occurrence weighs 1.
    Uniform,
    /// Term frequency: a term weighs as often as it occurs. For SimHash the same as `uniform`; for `top` and
    /// the floor it is the term that counts, not the occurrence.
    Count,
    /// Every distinct term weighs 1, however often it occurs.
    Set,
    /// One, and one more for every doubling of the frequency: 1, 2, 2, 3, 3, 3, 3, 4. Padding repeated a thousand
    /// times cannot drown the rest.
    Log,
    /// The square root of the frequency, in 1/256: repeats count, but less and less.
    Sqrt,
    /// Frequency times inverse document frequency, in thousandths.
    TfIdf,
    /// TF-IDF in five levels: 5 for the heaviest fifth of the range, 1 for the lightest.
    Levels,
    /// By the length of the word in UTF-16 units, every occurrence: see [`length_weight`].
    Length,
}

impl Scheme {
    /// The weight of a term that occurs `count` times, for the schemes that look at nothing else; the others treat
    /// every term alike here, as `uniform` does.
    #[inline]
    #[must_use]
    pub fn of_count(self, count: u64) -> u64 {
        match self {
            Self::Set => 1,
            Self::Log => u64::from(u64::BITS - count.leading_zeros()),
            Self::Sqrt => (count << 16).isqrt(),
            _ => count,
        }
    }
}

/// One word of a text as the weighing sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence<'a> {
    /// The word.
    pub text: &'a str,
    /// Its part of speech, empty where unknown.
    pub tag: &'a str,
}

/// A distinct term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'a> {
    /// The term.
    pub text: &'a str,
    /// Its hash, [`own64`] of its bytes; terms are told apart by it.
    pub hash: u64,
    /// How often it occurs.
    pub count: u64,
    /// Its weight, all occurrences together.
    pub weight: u64,
    /// The heaviest single contribution it makes: one occurrence where occurrences are weighed, else all of it.
    pub peak: u64,
}

/// Inverse document frequencies, in thousandths of the natural logarithm.
///
/// Terms are looked up by their 64-bit hash, which the hot path has at hand anyway: four times faster than by
/// the term, and wrong for one unknown word in 400 million millions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idf {
    /// For terms the table does not know: the median of the table, as jieba does it.
    unknown: u32,
    /// The terms in their order.
    terms: Vec<(String, u32)>,
    by_hash: HashMap<u64, u32, BuildHasherDefault<AlreadyHashed>>,
}

/// Takes the hash of a term as it is.
#[derive(Clone, Debug, Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = own64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// What is wrong with an IDF table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "line {line} of the IDF table is {found:?}: write a term, white space and a number from 0 to 1000, like 北京 4.3"
)]
pub struct IdfError {
    /// Line, counted from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
}

impl Idf {
    /// Reads lines of a term, white space and a number.
    pub fn parse(text: &str) -> Result<Self, IdfError> {
        let mut terms = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.rsplit_once(char::is_whitespace).and_then(|(term, number)| {
                let value: f64 = number.parse().ok().filter(|v| (0.0..=1000.0).contains(v))?;
                Some((term.trim_end().to_owned(), (value * 1000.0).round() as u32))
            });
            let (term, value) = entry.ok_or_else(|| IdfError { line: i + 1, found: line.to_owned() })?;
            terms.push((term, value));
        }
        Ok(Self::from_terms(terms))
    }

    /// Learns from a corpus: `ln((1 + documents) / (1 + documents with the term)) + 1`, which is never zero.
    #[must_use]
    pub fn learn(documents: u64, document_counts: BTreeMap<String, u64>) -> Self {
        let table = document_counts.into_iter().map(|(term, count)| {
            let ratio = (1 + documents) as f64 / (1 + count.min(documents)) as f64;
            (term, ((ratio.ln() + 1.0) * 1000.0).round() as u32)
        });
        Self::from_terms(table.collect())
    }

    /// The built-in table of common Chinese words. Words it does not know are taken for rare ones.
    #[must_use]
    pub fn chinese() -> &'static Self {
        static TABLE: LazyLock<Idf> = LazyLock::new(|| {
            // The file is part of the program and a test reads it, so it parses.
            let mut table = Idf::parse(CHINESE).unwrap_or_default();
            table.unknown = 11_950;
            table
        });
        &TABLE
    }

    fn from_terms(mut terms: Vec<(String, u32)>) -> Self {
        // Stable, and of equal terms the last counts.
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        terms.reverse();
        terms.dedup_by(|a, b| a.0 == b.0);
        terms.reverse();
        let mut values: Vec<u32> = terms.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        let unknown = values.get(values.len() / 2).copied().unwrap_or(1000);
        let by_hash = terms.iter().map(|(term, value)| (own64(term.as_bytes()), *value)).collect();
        Self { unknown, terms, by_hash }
    }

    /// The value of a term, in thousandths.
    #[must_use]
    pub fn of(&self, term: &str) -> u32 {
        self.of_hash(own64(term.as_bytes()))
    }

    /// The value of a term by its hash ([`own64`] of its bytes), in thousandths.
    #[must_use]
    pub fn of_hash(&self, hash: u64) -> u32 {
        self.by_hash.get(&hash).copied().unwrap_or(self.unknown)
    }

    /// How many terms the table knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The table as text that [`Idf::parse`] reads back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = |(term, value): &(String, u32)| format!("{term}\t{}.{:03}\n", value / 1000, value % 1000);
        self.terms.iter().map(line).collect()
    }
}

/// Extra weight for parts of speech, in per cent; the longest tag prefix that fits counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TagBoosts(pub BTreeMap<String, u32>);

impl TagBoosts {
    /// Place names, names of people and bodies, other proper nouns, and nouns in general weigh more.
    #[must_use]
    pub fn nouns() -> Self {
        let boosts = [("ns", 200), ("nr", 200), ("nt", 200), ("nz", 200), ("n", 150)];
        Self(boosts.map(|(tag, percent)| (tag.to_owned(), percent)).into())
    }

    fn percent(&self, tag: &str) -> u64 {
        let fits = self.0.iter().filter(|(prefix, _)| tag.starts_with(prefix.as_str()));
        fits.max_by_key(|(prefix, _)| prefix.len()).map_or(100, |(_, percent)| u64::from(*percent))
    }
}

/// The weight of a word by its length: blank 0; one UTF-16 unit 1; from U+3040 on two units 8 and more 16;
/// otherwise two units 2 and more 4.
#[must_use]
pub fn length_weight(word: &str) -> u64 {
    let mut units = word.encode_utf16();
    let (first, length) = (units.next(), 1 + units.count());
    match (first, length) {
        (None, _) => 0,
        _ if word.trim().is_empty() => 0,
        (_, 1) => 1,
        (Some(0x3040..), 2) => 8,
        (Some(0x3040..), _) => 16,
        (_, 2) => 2,
        _ => 4,
    }
}

/// Everything that decides the weights.
#[derive(Clone, Copy, Debug)]
pub struct Weighing<'a> {
    /// The scheme.
    pub scheme: Scheme,
    /// IDF values for the schemes that need them.
    pub idf: &'a Idf,
    /// Boosts by part of speech.
    pub boosts: &'a TagBoosts,
    /// Keep only this many of the heaviest terms; ties are broken by the term itself.
    pub top: Option<usize>,
}

impl Weighing<'_> {
    /// The distinct terms of a text with their weights, in order of first appearance (with `top`: in the order of the
    /// terms). Terms of weight 0 are left out. A term that occurs with several tags has the first one.
    #[must_use]
    pub fn weigh<'t>(&self, words: &[Occurrence<'t>]) -> Vec<Term<'t>> {
        let hashes: Vec<u64> = words.iter().map(|word| own64(word.text.as_bytes())).collect();
        let mut distinct = Distinct::default();
        distinct.count(&hashes);
        let firsts = distinct.firsts().iter().zip(distinct.hashes()).zip(distinct.counts());
        let mut terms: Vec<Term<'t>> = firsts
            .map(|((&at, &hash), &count)| self.term(words[at as usize], hash, u64::from(count)))
            .collect();
        if self.scheme == Scheme::Levels {
            levels(&mut terms);
        }
        terms.retain(|term| term.weight > 0);
        if let Some(top) = self.top {
            keep_heaviest(&mut terms, top);
        }
        terms
    }

    fn term<'t>(&self, word: Occurrence<'t>, hash: u64, count: u64) -> Term<'t> {
        let text = word.text;
        let (weight, peak) = match self.scheme {
            Scheme::Uniform => (count, 1),
            Scheme::Count | Scheme::Set | Scheme::Log | Scheme::Sqrt => same(self.scheme.of_count(count)),
            Scheme::Length => (count * length_weight(text), length_weight(text)),
            Scheme::TfIdf | Scheme::Levels => same(count * u64::from(self.idf.of_hash(hash))),
        };
        if self.boosts.0.is_empty() {
            return Term { text, hash, count, weight, peak };
        }
        let percent = self.boosts.percent(word.tag);
        Term { text, hash, count, weight: weight * percent, peak: peak * percent }
    }
}

fn same(weight: u64) -> (u64, u64) {
    (weight, weight)
}

/// Replaces weights by levels 1 to 5 of the heaviest one.
fn levels(terms: &mut [Term<'_>]) {
    let heaviest = terms.iter().map(|term| term.weight).max().unwrap_or(0).max(1);
    for term in terms {
        term.weight = (term.weight * 5).div_ceil(heaviest);
        term.peak = term.weight;
    }
}

/// Keeps the `top` heaviest terms, smaller terms first among equals, in the order of the terms.
pub fn keep_heaviest(terms: &mut Vec<Term<'_>>, top: usize) {
    if terms.len() > top {
        terms.sort_by(|a, b| b.weight.cmp(&a.weight).then(a.text.cmp(b.text)));
        terms.truncate(top);
    }
    terms.sort_by_key(|term| term.text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(texts: &[&'a str]) -> Vec<Occurrence<'a>> {
        texts.iter().map(|text| Occurrence { text, tag: "" }).collect()
    }

    fn weigh<'a>(scheme: Scheme, top: Option<usize>, texts: &[&'a str]) -> Vec<(&'a str, u64)> {
        let idf = Idf::parse("a 1.5\nb 3\nc 0.5\n").unwrap();
        let weighing = Weighing { scheme, idf: &idf, boosts: &TagBoosts::default(), top };
        let mut terms = weighing.weigh(&words(texts));
        terms.sort_by_key(|term| term.text);
        terms.iter().map(|term| (term.text, term.weight)).collect()
    }

    #[test]
    fn schemes() {
        let text = ["b", "a", "a", "c", "a", "a"];
        assert_eq!(weigh(Scheme::Count, None, &text), [("a", 4), ("b", 1), ("c", 1)]);
        assert_eq!(weigh(Scheme::Set, None, &text), [("a", 1), ("b", 1), ("c", 1)]);
        assert_eq!(weigh(Scheme::Log, None, &text), [("a", 3), ("b", 1), ("c", 1)]);
        assert_eq!(weigh(Scheme::Sqrt, None, &text), [("a", 512), ("b", 256), ("c", 256)]);
        assert_eq!(weigh(Scheme::TfIdf, None, &text), [("a", 6000), ("b", 3000), ("c", 500)]);
        assert_eq!(weigh(Scheme::Levels, None, &text), [("a", 5), ("b", 3), ("c", 1)]);
        assert_eq!(weigh(Scheme::Length, None, &["雷同", "雷同", "a"]), [("a", 1), ("雷同", 16)]);
    }

    #[test]
    fn ties_are_broken_by_the_term() {
        assert_eq!(weigh(Scheme::Count, Some(2), &["c", "b", "a"]), [("a", 1), ("b", 1)]);
        assert_eq!(weigh(Scheme::Count, Some(2), &["a", "b", "c", "c"]), [("a", 1), ("c", 2)]);
    }

    #[test]
    fn nouns_weigh_more() {
        let boosts = TagBoosts::nouns();
        let weighing = Weighing { scheme: Scheme::Count, idf: &Idf::default(), boosts: &boosts, top: None };
        let words = [
            Occurrence { text: "北京", tag: "ns" },
            Occurrence { text: "声音", tag: "n" },
            Occurrence { text: "质疑", tag: "v" },
        ];
        let weights: Vec<u64> = weighing.weigh(&words).iter().map(|term| term.weight).collect();
        assert_eq!(weights, [200, 150, 100]);
    }

    #[test]
    fn the_idf_table_names_the_bad_line() {
        assert_eq!(Idf::parse("a 1\n\nb x"), Err(IdfError { line: 3, found: "b x".into() }));
        let learned = Idf::learn(9, [("a".to_owned(), 9), ("b".to_owned(), 0)].into());
        assert_eq!((learned.of("a"), learned.of("b")), (1000, 3303));
        assert_eq!(Idf::parse(&learned.to_text()), Ok(learned));
        assert_eq!(Idf::parse("a 1\nb 2\na 3").unwrap().of("a"), 3000, "the last of equal terms counts");
    }

    #[test]
    fn the_built_in_table() {
        let idf = Idf::chinese();
        assert_eq!(idf.len(), 44_337);
        assert_eq!((idf.of("的"), idf.of("没有这个词")), (880, 11_950));
    }

    #[test]
    fn blank_words_weigh_nothing() {
        assert_eq!([length_weight(""), length_weight(" "), length_weight("\u{3000}")], [0, 0, 0]);
        // An astral character is two units, and its first unit lies above U+3040.
        assert_eq!([length_weight("😀"), length_weight("ab"), length_weight("abc")], [8, 2, 4]);
    }
}
