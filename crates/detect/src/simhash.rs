//! SimHash of a document: the general way, and the fast one of the default recipe.

use crate::fingerprinter::Fingerprinter;
use crate::prepared::Prepared;
use crate::python;
use crate::recipe::Features;
use crate::value::{Answer, Value};
use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::hash::{Algorithm, Units};
use leitong_fingerprint::ngram::{self, Distinct};
use leitong_fingerprint::simhash::{Counters, simhash};
use leitong_fingerprint::weight::{Occurrence, Scheme, TagBoosts, Term, Weighing};

/// Memory that the hot path uses again and again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    hashes: Vec<u64>,
    distinct: Distinct,
    counters: Counters<1>,
}

impl Fingerprinter {
    /// SimHash with the reasons where there is none.
    pub fn simhash(&self, document: &Prepared<'_>) -> Answer {
        let settings = &self.settings().simhash;
        if let Some(n) = self.fast_characters() {
            let letters = document.letters();
            let hash = self.simhash64_of_letters(&letters.text, n, &mut Scratch::default());
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

    /// The run length when SimHash is made of character runs in the way that has a fast path.
    fn fast_characters(&self) -> Option<usize> {
        let settings = &self.settings().simhash;
        let plain = settings.hash == Algorithm::Xxh3
            && settings.units == Units::Utf8
            && settings.bits <= 64
            && settings.top.is_none()
            && settings.boosts == TagBoosts::default();
        match settings.features {
            Features::Characters(n) if plain && is_counting(settings.weight) => Some(n),
            _ => None,
        }
    }

    /// The SimHash of letters (see [`Prepared::letters`]) as a word, for recipes of character runs; the hot path.
    fn simhash64_of_letters(&self, letters: &str, n: usize, scratch: &mut Scratch) -> Option<u64> {
        let settings = &self.settings().simhash;
        let Scratch { hashes, distinct, counters } = scratch;
        hashes.clear();
        counters.clear();
        ngram::hashes(letters, n, hashes);
        distinct.count(hashes);
        let features = distinct.hashes();
        let heaviest = if settings.weight == Scheme::Set {
            counters.add_all(features.as_chunks::<1>().0);
            1
        } else {
            let weigh = |&count: &u32| settings.weight.of_count(u64::from(count));
            let weights: Vec<u64> = distinct.counts().iter().map(weigh).collect();
            counters.add_weighted(features.as_chunks::<1>().0, &weights);
            weights.iter().copied().max().unwrap_or(0)
        };
        let allowed = settings.floor.allows(features.len(), heaviest, counters.total());
        allowed.then(|| counters.fold(settings.tie)[0])
    }

    /// The SimHash of a text as a word, for many texts in a row; `None` where there is too little evidence or the
    /// recipe has no 64-bit SimHash of character runs.
    #[must_use]
    pub fn simhash64(&self, text: &str, scratch: &mut Scratch) -> Option<u64> {
        let letters = self.letters_only().normalize(text);
        self.simhash64_of_letters(&letters.text, self.fast_characters()?, scratch)
    }
}

fn is_counting(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Uniform | Scheme::Count | Scheme::Set | Scheme::Sqrt)
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
