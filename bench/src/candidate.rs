//! The SimHash settings that are compared.

use crate::data::{Document, Result};
use leitong_detect::{Fingerprinter, Kind, Recipe, Value};
use leitong_fingerprint::ngram::Distinct;
use leitong_fingerprint::shingle::hashes_of_words;
use leitong_fingerprint::simhash::{Counters, Tie};
use rayon::prelude::*;

/// One way to make 64-bit SimHashes.
#[derive(Debug)]
pub struct Candidate {
    /// Its name in the tables.
    pub name: String,
    fingerprinter: Fingerprinter,
    /// Where features are runs of so many words, which no recipe can say: as a set.
    word_runs: Option<usize>,
}

impl Candidate {
    /// A built-in recipe.
    pub fn built_in(name: &str) -> Result<Self> {
        let fingerprinter = Fingerprinter::new(Recipe::built_in(name)?)?;
        Ok(Self { name: name.to_owned(), fingerprinter, word_runs: None })
    }

    /// `leitong-1` with other features and weights and without a floor. `more` is TOML for `[simhash]`. Shingles are
    /// made of the same features, to count them.
    fn own(name: String, features: &str, weight: &str, stop_words: bool, more: &str) -> Result<Self> {
        let filter = if stop_words { "" } else { "[words.filter]\nstop-words = []\n" };
        let toml = format!(
            "name = \"{name}\"\n{filter}[shingles]\nfeatures = {features}\nwords = 1\n\
             [simhash]\nfeatures = {features}\nweight = \"{weight}\"\nfloor = {{ features = 1 }}\n{more}"
        );
        let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let fingerprinter = Fingerprinter::new(Recipe::from_toml(&toml, &name, &none)?)?;
        Ok(Self { name, fingerprinter, word_runs: None })
    }

    /// The fingerprint of a text.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Option<u64> {
        let document = self.fingerprinter.prepare(text);
        if let Some(words) = self.word_runs {
            let tokens = document.tokens();
            let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
            return fold_set(&hashes_of_words(&texts, words));
        }
        match self.fingerprinter.simhash(&document).value? {
            Value::Bits(bits) => Some(bits.words()[0]),
            _ => None,
        }
    }

    /// The fingerprints of documents, on all cores.
    #[must_use]
    pub fn fingerprints(&self, documents: &[Document]) -> Vec<Option<u64>> {
        documents.par_iter().map(|document| self.fingerprint(&document.text)).collect()
    }

    /// How many different features a text has; what a floor counts.
    #[must_use]
    pub fn features(&self, text: &str) -> usize {
        let answer = self.fingerprinter.fingerprint(Kind::Shingles, &self.fingerprinter.prepare(text));
        match answer.ok().and_then(|answer| answer.value) {
            Some(Value::Hashes { hashes, .. }) => hashes.len(),
            _ => 0,
        }
    }
}

fn fold_set(hashes: &[u64]) -> Option<u64> {
    let (mut distinct, mut counters) = (Distinct::default(), Counters::<1>::default());
    distinct.count(hashes);
    counters.add_all(distinct.hashes().as_chunks::<1>().0);
    (counters.total() > 0).then(|| counters.fold(Tie::One)[0])
}

/// Everything that is compared, in the order of the tables.
pub fn all() -> Result<Vec<Candidate>> {
    const NOUNS: &str = "boosts = { n = 150, nr = 200, ns = 200, nt = 200, nz = 200 }";
    let mut all = Vec::new();
    for (label, features, longest) in [("char", "characters", 8), ("unit", "units", 4)] {
        for weight in ["set", "log", "sqrt", "count"] {
            for n in 1..=longest {
                let features = format!("{{ {features} = {n} }}");
                all.push(Candidate::own(format!("{label} {n} {weight}"), &features, weight, true, "")?);
            }
        }
    }
    for (label, stop_words) in [("", true), (" +stop", false)] {
        let words = |name: String, weight: &str, more: &str| {
            Candidate::own(format!("word {name}{label}"), "\"words\"", weight, stop_words, more)
        };
        for weight in ["set", "log", "sqrt", "count", "tf-idf", "levels"] {
            all.push(words(weight.to_owned(), weight, "")?);
        }
        for weight in ["set", "log", "count", "tf-idf"] {
            all.push(words(format!("{weight} nouns"), weight, NOUNS)?);
        }
        for runs in [2, 3] {
            all.push(Candidate { word_runs: Some(runs), ..words(format!("runs of {runs} set"), "set", "")? });
        }
        for top in [20, 50, 100].into_iter().filter(|_| stop_words) {
            all.push(words(format!("tf-idf top {top}"), "tf-idf", &format!("top = {top}"))?);
        }
    }
    for name in ["leitong-1", "leitong-words-1", "cms-redis", "ik", "es-news", "semantic-2013", "py-simhash"]
    {
        all.push(Candidate::built_in(name)?);
    }
    Ok(all)
}
