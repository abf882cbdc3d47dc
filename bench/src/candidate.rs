//! The SimHash settings that are compared.

use crate::data::{Document, Result};
use leitong_detect::recipe::Features;
use leitong_detect::units::units;
use leitong_detect::{Fingerprinter, Recipe, Value};
use leitong_fingerprint::hash::own64;
use leitong_fingerprint::ngram::Distinct;
use leitong_fingerprint::shingle::{Shingles, hashes_of_words};
use leitong_fingerprint::simhash::{Counters, Tie};
use rayon::prelude::*;

/// One way to make 64-bit SimHashes.
#[derive(Debug)]
pub struct Candidate {
    /// Its name in the tables.
    pub name: String,
    fingerprinter: Fingerprinter,
    method: Method,
}

/// What the features are. Two ways that no recipe can say yet are measured besides.
#[derive(Clone, Copy, Debug)]
enum Method {
    /// As the recipe says.
    Recipe,
    /// Overlapping runs of so many words, as a set.
    WordRuns(usize),
    /// Overlapping runs of so many units (a Chinese character, a digit, up to four Latin letters), as a set.
    UnitRuns(usize),
}

impl Candidate {
    /// A built-in recipe.
    pub fn built_in(name: &str) -> Result<Self> {
        let fingerprinter = Fingerprinter::new(Recipe::built_in(name)?)?;
        Ok(Self { name: name.to_owned(), fingerprinter, method: Method::Recipe })
    }

    /// `leitong-1` with lines of TOML laid over it.
    fn own(name: &str, toml: &str) -> Result<Self> {
        let text = format!("name = \"{name}\"\n{toml}");
        let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let fingerprinter = Fingerprinter::new(Recipe::from_toml(&text, name, &none)?)?;
        Ok(Self { name: name.to_owned(), fingerprinter, method: Method::Recipe })
    }

    /// Sets, square roots or counts of character runs, without a floor.
    pub fn characters(n: usize, weight: &str) -> Result<Self> {
        let toml = format!(
            "[simhash]\nfeatures = {{ characters = {n} }}\nweight = \"{weight}\"\nfloor = {{ features = 1 }}"
        );
        Self::own(&format!("char {n} {weight}"), &toml)
    }

    /// Words under some weight, without a floor. `more` is TOML for `[simhash]`.
    fn words(name: &str, weight: &str, stop_words: bool, more: &str) -> Result<Self> {
        let filter = if stop_words { "" } else { "[words.filter]\nstop-words = []\n" };
        let simhash =
            format!("[simhash]\nfeatures = \"words\"\nweight = \"{weight}\"\nfloor = {{ features = 1 }}\n");
        Self::own(name, &format!("{filter}{simhash}{more}"))
    }

    fn with(self, name: String, method: Method) -> Self {
        Self { name, method, ..self }
    }

    /// The fingerprint of a text.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Option<u64> {
        let document = self.fingerprinter.prepare(text);
        match self.method {
            Method::Recipe => match self.fingerprinter.simhash(&document).value? {
                Value::Bits(bits) => Some(bits.words()[0]),
                _ => None,
            },
            Method::WordRuns(words) => {
                let tokens = document.tokens();
                let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
                fold_set(&hashes_of_words(&texts, words))
            }
            Method::UnitRuns(n) => fold_set(&unit_runs(&document.normalized().text, n)),
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
        let document = self.fingerprinter.prepare(text);
        match (self.method, self.fingerprinter.recipe().settings().simhash.features) {
            (Method::Recipe, Features::Characters(n)) => {
                Shingles::of_characters(&document.letters().text, n).hashes().len()
            }
            (Method::UnitRuns(n), _) => distinct(&unit_runs(&document.normalized().text, n)).hashes().len(),
            (method, _) => {
                let words = if let Method::WordRuns(words) = method { words } else { 1 };
                let tokens = document.tokens();
                let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
                Shingles::of_words(&texts, words).hashes().len()
            }
        }
    }
}

fn unit_runs(text: &str, n: usize) -> Vec<u64> {
    let values: Vec<u64> = units(text).units.iter().map(|unit| unit.value()).collect();
    if values.is_empty() {
        return Vec::new();
    }
    let hash = |run: &[u64]| own64(&run.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    values.windows(n.min(values.len())).map(hash).collect()
}

fn distinct(hashes: &[u64]) -> Distinct {
    let mut distinct = Distinct::default();
    distinct.count(hashes);
    distinct
}

fn fold_set(hashes: &[u64]) -> Option<u64> {
    let mut counters = Counters::<1>::default();
    counters.add_all(distinct(hashes).hashes().as_chunks::<1>().0);
    (counters.total() > 0).then(|| counters.fold(Tie::One)[0])
}

/// Everything that is compared, in the order of the tables.
pub fn all() -> Result<Vec<Candidate>> {
    const NOUNS: &str = "boosts = { n = 150, nr = 200, ns = 200, nt = 200, nz = 200 }";
    let mut all = Vec::new();
    for weight in ["set", "sqrt", "count"] {
        for n in 1..=8 {
            all.push(Candidate::characters(n, weight)?);
        }
    }
    for n in 1..=6 {
        all.push(Candidate::characters(1, "set")?.with(format!("unit {n} set"), Method::UnitRuns(n)));
    }
    for (label, stop_words) in [("", true), (" +stop", false)] {
        for weight in ["set", "sqrt", "count", "tf-idf", "levels"] {
            all.push(Candidate::words(&format!("word {weight}{label}"), weight, stop_words, "")?);
        }
        for weight in ["set", "count", "tf-idf"] {
            all.push(Candidate::words(&format!("word {weight}{label} nouns"), weight, stop_words, NOUNS)?);
        }
        for words in [2, 3] {
            let name = format!("word-{words} set{label}");
            all.push(
                Candidate::words(&name, "set", stop_words, "")?.with(name.clone(), Method::WordRuns(words)),
            );
        }
    }
    for top in [20, 50, 100] {
        all.push(Candidate::words(
            &format!("word tf-idf top {top}"),
            "tf-idf",
            true,
            &format!("top = {top}"),
        )?);
    }
    for name in ["leitong-1", "leitong-words-1", "cms-redis", "ik", "es-news", "semantic-2013", "py-simhash"]
    {
        all.push(Candidate::built_in(name)?);
    }
    Ok(all)
}
