//! SimHash of a document: the general way, and the fast one of the default recipe.

use crate::fingerprinter::Fingerprinter;
use crate::prepared::Prepared;
use crate::recipe::Features;
use crate::value::{Answer, Value};
use crate::{python, units};
use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::hash::{Algorithm, Units, own64};
use leitong_fingerprint::ngram::{self, Distinct};
use leitong_fingerprint::simhash::{Counters, simhash};
use leitong_fingerprint::weight::{Occurrence, Scheme, TagBoosts, Term, Weighing};
use leitong_text::normalize::Normalized;

/// Memory that the hot path uses again and again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    hashes: Vec<u64>,
    distinct: Distinct,
    counters: Counters<1>,
    runs: UnitRuns,
    normalized: Normalized,
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
            let text = match settings.features {
                Features::Units(_) => &document.normalized().text,
                _ => &document.letters().text,
            };
            let hash = self.fold_runs(text, &mut Scratch::default());
            return self.floored(hash.map(|hash| Fingerprint::from_words(settings.bits, &[hash])));
        }
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

    /// Whether SimHash is made of runs of characters or units in the way that has a fast path.
    fn has_fast_path(&self) -> bool {
        let settings = &self.settings().simhash;
        matches!(settings.features, Features::Characters(_) | Features::Units(_))
            && is_counting(settings.weight)
            && settings.hash == Algorithm::Xxh3
            && settings.units == Units::Utf8
            && settings.bits <= 64
            && settings.top.is_none()
            && settings.boosts == TagBoosts::default()
    }

    /// The SimHash of runs as a word; the hot path. `text` is normalised: for characters the letters alone.
    fn fold_runs(&self, text: &str, scratch: &mut Scratch) -> Option<u64> {
        let settings = &self.settings().simhash;
        let Scratch { hashes, distinct, counters, runs, .. } = scratch;
        hashes.clear();
        counters.clear();
        match settings.features {
            Features::Units(n) => runs.each(text, n, |run| hashes.push(own64(run.as_bytes()))),
            Features::Characters(n) => ngram::hashes(text, n, hashes),
            Features::Words | Features::PythonWindows(_) => return None,
        }
        distinct.count(hashes);
        let features = distinct.hashes();
        // Most features occur once and weigh the same, `single`: those are counted in bulk, and what the others weigh
        // beyond that is added one by one.
        let single = settings.weight.of_count(1);
        let mut heaviest = 0;
        if single == 1 {
            counters.add_all(features.as_chunks::<1>().0);
        }
        for (&hash, &count) in features.iter().zip(distinct.counts()) {
            let weight = settings.weight.of_count(u64::from(count));
            heaviest = heaviest.max(weight);
            counters.add([hash], if single == 1 { weight - 1 } else { weight });
        }
        let allowed = settings.floor.allows(features.len(), heaviest, counters.total());
        allowed.then(|| counters.fold(settings.tie)[0])
    }

    /// The SimHash of a text as a word, for many texts in a row; `None` where there is too little evidence, or where
    /// the recipe's SimHash is not made of runs of characters or units at 64 bits.
    #[must_use]
    pub fn simhash64(&self, text: &str, scratch: &mut Scratch) -> Option<u64> {
        if !self.has_fast_path() {
            return None;
        }
        let normalizer = match self.settings().simhash.features {
            Features::Units(_) => self.normalizer(),
            _ => self.letters_only(),
        };
        let mut normalized = std::mem::take(&mut scratch.normalized);
        normalizer.normalize_into(text, &mut normalized);
        let hash = self.fold_runs(&normalized.text, scratch);
        scratch.normalized = normalized;
        hash
    }
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
