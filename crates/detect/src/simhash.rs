//! SimHash of a document: the general way, and the fast one of the default recipe.

use crate::fingerprinter::Fingerprinter;
use crate::letters::letters_of;
use crate::prepared::Prepared;
use crate::recipe::Features;
use crate::value::{Answer, Value};
use crate::{python, units};
use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::hash::{Algorithm, Parts, Units, murmur3_x64_128, own64};
use leitong_fingerprint::ngram::{self, Distinct};
use leitong_fingerprint::simhash::{Counters, simhash};
use leitong_fingerprint::weight::{Occurrence, Scheme, TagBoosts, Term, Weighing};
use leitong_text::segment::Word;
use leitong_text::span::Span;
use leitong_text::tokenize::Tokenizer;

/// Memory that the hot path uses again and again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    hashes: Vec<u64>,
    distinct: Distinct,
    counters: Counters<1>,
    /// Those of the distinct hashes that weigh more than 1, and by how much; then what was there before.
    heavier: Vec<u64>,
    weights: Vec<u64>,
    runs: UnitRuns,
    words: Vec<Word>,
    places: Vec<Span>,
    parts: Parts,
    normalized: String,
    letters: String,
}

impl Scratch {
    /// Gives back what an uncommonly long text has taken, where the memory is kept for long.
    pub(crate) fn forget_long_texts(&mut self) {
        const LONG: usize = 1 << 20;
        if self.normalized.capacity() > LONG {
            *self = Self::default();
        }
    }
}

/// Runs of units: the bytes of n units one after another, without what separates them.
#[derive(Clone, Debug, Default)]
struct UnitRuns {
    spans: Vec<(u32, u32)>,
    joined: String,
}

impl UnitRuns {
    /// Hands out every run of `n` units of a text; all units as one run where there are fewer.
    fn each(&mut self, text: &str, n: usize, mut run: impl FnMut(&str)) {
        let Self { spans, joined } = self;
        spans.clear();
        units::cut_features(text, |start, end| spans.push((start as u32, end as u32)));
        if spans.is_empty() {
            return;
        }
        for window in spans.windows(n.min(spans.len())) {
            let (first, last) = (window[0], window[window.len() - 1]);
            // Nearly always nothing stands between them, and the text itself holds the run.
            if window.windows(2).all(|pair| pair[0].1 == pair[1].0) {
                run(&text[first.0 as usize..last.1 as usize]);
            } else {
                joined.clear();
                window.iter().for_each(|&(start, end)| joined.push_str(&text[start as usize..end as usize]));
                run(joined);
            }
        }
    }
}

impl Fingerprinter {
    /// SimHash with the reasons where there is none.
    #[must_use]
    pub fn simhash(&self, document: &Prepared<'_>) -> Answer {
        let settings = &self.settings().simhash;
        if self.has_fast_path() {
            let mut scratch = Scratch::default();
            match document.words_as_given() {
                Some(words) if settings.features == Features::Words => {
                    scratch.hashes.extend(words.iter().map(|word| own64(word.as_bytes())));
                }
                _ => self.hash_features(self.text_of_features(document), &mut scratch),
            }
            let hash = self.fold_hashes(&mut scratch);
            return self.floored(hash.map(|hash| Fingerprint::from_words(settings.bits, &[hash])));
        }
        self.simhash_of_terms(document)
    }

    /// The text that features are cut from.
    fn text_of_features<'a>(&self, document: &'a Prepared<'_>) -> &'a str {
        match self.settings().simhash.features {
            Features::Characters(_) => &document.letters().text,
            _ => &document.normalized().text,
        }
    }

    /// The general way: every feature as a term with its weight.
    fn simhash_of_terms(&self, document: &Prepared<'_>) -> Answer {
        let settings = &self.settings().simhash;
        let weighing = Weighing {
            scheme: settings.weight,
            idf: self.simhash_idf.get(),
            boosts: &settings.boosts,
            top: settings.top,
        };
        match settings.features {
            Features::Words => {
                let tokens = document.tokens();
                let words: Vec<_> =
                    tokens.iter().map(|t| Occurrence { text: t.text, tag: t.tag.as_str() }).collect();
                self.fold(&weighing.weigh(&words))
            }
            Features::Characters(n) => {
                let letters = document.letters();
                self.fold(&weighing.weigh(&untagged(&character_runs(&letters.text, n))))
            }
            Features::Units(n) => {
                let mut runs = Vec::new();
                UnitRuns::default().each(&document.normalized().text, n, |run| runs.push(run.to_owned()));
                self.fold(&weighing.weigh(&untagged(&runs)))
            }
            Features::PythonWindows(n) => {
                let windows = python::windows(&document.plain_text(), n);
                self.fold(&weighing.weigh(&untagged(&windows)))
            }
        }
    }

    fn fold(&self, terms: &[Term<'_>]) -> Answer {
        let settings = &self.settings().simhash;
        let heaviest = terms.iter().map(|term| term.peak).max().unwrap_or(0);
        let sum = terms.iter().map(|term| term.weight).sum();
        if !settings.floor.allows(terms.len(), heaviest, sum) {
            return self.floored(None);
        }
        // Terms carry the hash of our own recipes already.
        let have_hash =
            settings.hash == Algorithm::Xxh3 && settings.units == Units::Utf8 && settings.bits <= 64;
        let hash = |term: &Term<'_>, out: &mut [u64]| match out {
            [word] if have_hash => *word = term.hash,
            _ => settings.hash.hash_into(term.text, settings.units, out),
        };
        self.floored(Some(simhash(terms, settings.bits, settings.tie, |term| term.weight, hash)))
    }

    fn floored(&self, value: Option<Fingerprint>) -> Answer {
        match value {
            Some(value) => Answer::some(Value::Bits(value)),
            None => {
                Answer::none("too little evidence for a SimHash: the text has too few different features")
            }
        }
    }

    /// Whether the weight of a feature depends on nothing but how often it occurs, and its hash is ours: such features need
    /// not be terms.
    fn has_fast_path(&self) -> bool {
        let settings = &self.settings().simhash;
        !matches!(settings.features, Features::PythonWindows(_))
            && is_counting(settings.weight)
            && settings.hash == Algorithm::Xxh3
            && settings.units == Units::Utf8
            && settings.bits <= 64
            && settings.top.is_none()
            && settings.boosts == TagBoosts::default()
    }

    /// The hashes of all features of a normalised text (for characters, of its letters), in any order; the hot path.
    fn hash_features(&self, text: &str, scratch: &mut Scratch) {
        let Scratch { hashes, runs, .. } = scratch;
        hashes.clear();
        match self.settings().simhash.features {
            Features::Units(n) => runs.each(text, n, |run| hashes.push(own64(run.as_bytes()))),
            Features::Characters(n) => ngram::hashes(text, n, hashes),
            Features::Words => hash_words(self.untagged_tokenizer(), text, scratch),
            Features::PythonWindows(_) => {}
        }
    }

    /// The SimHash of the features whose hashes are in the scratch memory, as a word.
    fn fold_hashes(&self, scratch: &mut Scratch) -> Option<u64> {
        let settings = &self.settings().simhash;
        let Scratch { hashes, distinct, counters, heavier, weights, .. } = scratch;
        counters.clear();
        distinct.count(hashes);
        let (features, counts) = (distinct.hashes(), distinct.counts());
        // Most features weigh 1: all are counted so in bulk, and then what some weigh beyond that.
        counters.add_all(features.as_chunks::<1>().0);
        let weight = |count: u32| settings.weight.of_count(u64::from(count));
        let all_are_heavier = weight(1) > 1;
        heavier.resize(heavier.len().max(features.len()), 0);
        weights.resize(heavier.len(), 0);
        let mut len = 0;
        for (&hash, &count) in features.iter().zip(counts) {
            // Which ones are can hardly be predicted: so there is no branch for it.
            (heavier[len], weights[len]) = (hash, count.into());
            len += usize::from(all_are_heavier | (count > 1));
        }
        let weights = &mut weights[..len];
        weights.iter_mut().for_each(|count| *count = settings.weight.of_count(*count) - 1);
        counters.add_weighted(heavier[..len].as_chunks::<1>().0, weights);
        // Weights grow with counts.
        let heaviest = counts.iter().max().map_or(0, |&count| weight(count));
        let allowed = settings.floor.allows(features.len(), heaviest, counters.total());
        allowed.then(|| counters.fold(settings.tie)[0])
    }

    /// The SimHash of a text as a word, for many texts in a row; `None` where there is too little evidence, or where
    /// the recipe's SimHash has more than 64 bits or weighs features by more than how often they occur.
    #[must_use]
    pub fn simhash64(&self, text: &str, scratch: &mut Scratch) -> Option<u64> {
        if !self.has_fast_path() {
            return None;
        }
        self.normalize_for_features(text, scratch);
        self.fold_hashes(scratch)
    }

    /// Normalises a text into the scratch memory, once, and hashes its features.
    fn normalize_for_features(&self, text: &str, scratch: &mut Scratch) {
        let normalizer = match self.settings().simhash.features {
            Features::Characters(_) => self.letters_only(),
            _ => self.normalizer(),
        };
        let mut normalized = std::mem::take(&mut scratch.normalized);
        normalizer.normalize_text(text, &mut normalized);
        self.hash_features(&normalized, scratch);
        scratch.normalized = normalized;
    }

    /// What a document is found by: its SimHash, where there is enough evidence, and the digest of its letters, where it
    /// has any.
    #[must_use]
    pub fn simhash_and_digest(
        &self,
        text: &str,
        scratch: &mut Scratch,
    ) -> (Option<Fingerprint>, Option<u128>) {
        let settings = &self.settings().simhash;
        if !self.has_fast_path() {
            let document = self.prepare(text);
            let simhash = match self.simhash(&document).value {
                Some(Value::Bits(bits)) => Some(bits),
                _ => None,
            };
            return (simhash, digest(&document.letters().text));
        }
        self.normalize_for_features(text, scratch);
        let simhash = self.fold_hashes(scratch).map(|word| Fingerprint::from_words(settings.bits, &[word]));
        let Scratch { normalized, letters, .. } = scratch;
        if matches!(settings.features, Features::Characters(_)) {
            return (simhash, digest(normalized));
        }
        letters_of(normalized, letters);
        (simhash, digest(letters))
    }
}

/// Appends the hashes of the tokens of a normalised text, in any order.
fn hash_words(tokenizer: &Tokenizer, text: &str, scratch: &mut Scratch) {
    let Scratch { hashes, words, places, parts, .. } = scratch;
    if tokenizer.has_synonyms() {
        return tokenizer.each_token(text, words, |token| hashes.push(own64(token.text.as_bytes())));
    }
    let places = tokenizer.places(text, words, places);
    parts.start(places.len());
    places.iter().for_each(|place| parts.push(place.start, place.end));
    parts.hash(text.as_bytes(), hashes);
}

/// 128 bits that equal texts have in common, and in practice only they; stored, so frozen.
fn digest(letters: &str) -> Option<u128> {
    let (high, low) = murmur3_x64_128(letters.as_bytes(), 0);
    (!letters.is_empty()).then_some(u128::from(high) << 64 | u128::from(low))
}

fn is_counting(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Uniform | Scheme::Count | Scheme::Set | Scheme::Log | Scheme::Sqrt)
}

fn untagged<S: AsRef<str>>(texts: &[S]) -> Vec<Occurrence<'_>> {
    texts.iter().map(|text| Occurrence { text: text.as_ref(), tag: "" }).collect()
}

/// The slow twin of [`ngram::hashes`]: the runs themselves.
fn character_runs(text: &str, n: usize) -> Vec<&str> {
    let mut bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    bounds.push(text.len());
    match bounds.len() {
        1 => Vec::new(),
        count if count <= n => vec![text],
        _ => bounds.windows(n + 1).map(|window| &text[window[0]..window[n]]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    /// Stored digests must come out the same in ten years.
    #[test]
    fn the_digest_is_frozen() {
        let fingerprinter = Fingerprinter::new(Recipe::default()).unwrap();
        let mut scratch = Scratch::default();
        let mut of = |text| fingerprinter.simhash_and_digest(text, &mut scratch).1;
        assert_eq!(of("，。 \n"), None);
        assert_eq!(of("如有雷同，純屬巧合"), of(" 如有雷同 纯属巧合。"));
        // Murmur3 of the eight characters' 24 bytes, by a second implementation.
        assert_eq!(of("如有雷同，純屬巧合"), Some(FROZEN));
    }
    const FROZEN: u128 = 0x93f8_54a7_c354_8819_8c62_d3d1_a378_060f;

    /// Both ways on texts with repeats, stop words, Latin words and numbers, and on words given apart.
    #[test]
    fn the_fast_path_equals_the_general_way() {
        let text = "今天上午九时，历时三年建设的城东图书馆正式对市民开放。图书馆共有三层，藏书三十万册，图书馆免费开放。\n\
                    The new library opened today; the library is free. 2026年3月，借书证 3D打印 T恤。\
                    由此可见，yourself、because、图书馆由此可见。";
        let texts = [text, "", "图书馆", &text.repeat(3), "a b c d e f g h i j"];
        let mut fast = 0;
        for name in crate::recipe::names() {
            let fingerprinter = Fingerprinter::new(Recipe::built_in(name).unwrap()).unwrap();
            if !fingerprinter.has_fast_path() {
                continue;
            }
            fast += 1;
            let mut scratch = Scratch::default();
            for text in texts {
                let document = fingerprinter.prepare(text);
                let general = fingerprinter.simhash_of_terms(&document);
                assert_eq!(fingerprinter.simhash(&document), general, "{name}: {text}");
                let word = fingerprinter.simhash64(text, &mut scratch);
                assert_eq!(word.map(|word| Value::Bits(word.into())), general.value, "{name}: {text}");
                let both = fingerprinter.simhash_and_digest(text, &mut scratch);
                assert_eq!(
                    both,
                    (word.map(Fingerprint::from), digest(&document.letters().text)),
                    "{name}: {text}"
                );
            }
            let words = text.split_whitespace().map(str::to_owned).collect();
            let document = fingerprinter.prepare_tokens(words);
            assert_eq!(fingerprinter.simhash(&document), fingerprinter.simhash_of_terms(&document), "{name}");
        }
        assert!(fast >= 2);
    }
}
