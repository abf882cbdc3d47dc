//! MinHash bands and winnowing marks as proposers: how many sources they propose, and what that costs.

use crate::data::{Document, Result};
use crate::edits::Edits;
use crate::near::share;
use leitong_detect::{Fingerprinter, Kind, Recipe, Value};
use rayon::prelude::*;
use std::collections::HashMap;

/// Keys that more documents have than this say nothing and are passed over.
const MOST_HOLDERS: usize = 256;

/// A way to make keys that two texts may have in common.
#[derive(Debug)]
pub struct Proposer {
    /// Its name in the table.
    pub name: String,
    fingerprinter: Fingerprinter,
    kind: Kind,
    /// The share of the smaller key set that must be common, in per cent; one key at least.
    least_percent: usize,
}

/// What was seen of a proposer on edited news.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProposerScore {
    /// The share of long variants whose base is proposed.
    pub long: f64,
    /// The share of short ones.
    pub short: f64,
    /// Documents proposed for a query, right or wrong.
    pub proposed: f64,
    /// Keys a document has.
    pub keys: f64,
}

impl Proposer {
    /// MinHash over runs of `n` characters.
    pub fn minhash(n: usize, bands: usize, rows: usize) -> Result<Self> {
        let toml = format!(
            "[minhash]\nfeatures = {{ characters = {n} }}\nbanding = {{ bands = {bands}, rows = {rows} }}\n"
        );
        Self::new(format!("minhash of {n} characters, {bands} bands of {rows}"), &toml, Kind::Minhash, 0)
    }

    /// Winnowing over characters.
    pub fn winnow(guarantee: usize, noise: usize) -> Result<Self> {
        let toml = format!("[winnow]\nguarantee = {guarantee}\nnoise = {noise}\n");
        Self::new(format!("winnow, guarantee {guarantee}, noise {noise}"), &toml, Kind::Winnow, 6)
    }

    fn new(name: String, toml: &str, kind: Kind, least_percent: usize) -> Result<Self> {
        let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let recipe = Recipe::from_toml(&format!("name = \"proposer\"\n{toml}"), "proposer", &none)?;
        Ok(Self { name, fingerprinter: Fingerprinter::new(recipe)?, kind, least_percent })
    }

    /// The different keys of each document.
    fn keys(&self, documents: &[Document]) -> Vec<Vec<u64>> {
        let keys = |document: &Document| {
            let prepared = self.fingerprinter.prepare(document.text.as_str());
            let answer = self.fingerprinter.fingerprint(self.kind, &prepared);
            let mut keys = match answer.ok().and_then(|answer| answer.value) {
                Some(Value::MinHash { bands, .. }) => bands,
                Some(Value::Marks(marks)) => marks.iter().map(|mark| mark.hash).collect(),
                _ => Vec::new(),
            };
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        documents.par_iter().map(keys).collect()
    }

    /// Scores it on edited news.
    #[must_use]
    pub fn score(&self, edits: &Edits) -> ProposerScore {
        let (index, queries) = (self.keys(&edits.index), self.keys(&edits.queries));
        let mut holders = HashMap::<u64, Vec<u32>>::new();
        for (at, keys) in index.iter().enumerate() {
            for &key in keys {
                holders.entry(key).or_default().push(at as u32);
            }
        }
        let propose = |keys: &Vec<u64>| -> Vec<u32> {
            let mut common = HashMap::<u32, usize>::new();
            let known = keys.iter().filter_map(|key| holders.get(key));
            for holder in known.filter(|holders| holders.len() <= MOST_HOLDERS).flatten() {
                *common.entry(*holder).or_default() += 1;
            }
            let enough = |(at, count): (u32, usize)| {
                let smaller = keys.len().min(index[at as usize].len());
                (count * 100 >= smaller * self.least_percent).then_some(at)
            };
            common.into_iter().filter_map(enough).collect()
        };
        let proposed: Vec<Vec<u32>> = queries.par_iter().map(propose).collect();
        let recall = |size: &str| {
            let of_size = edits.truths.iter().zip(&proposed).filter(|(truth, _)| truth.kind.ends_with(size));
            let found = of_size.clone().filter(|(truth, proposed)| proposed.contains(&(truth.base as u32)));
            share(found.count(), of_size.count())
        };
        ProposerScore {
            long: recall("long"),
            short: recall("short"),
            proposed: share(proposed.iter().map(Vec::len).sum(), proposed.len()),
            keys: share(index.iter().map(Vec::len).sum(), index.len()),
        }
    }
}

/// The settings that are compared.
pub fn all() -> Result<Vec<Proposer>> {
    let mut all = Vec::new();
    for (n, bands, rows) in
        [(5, 16, 8), (5, 32, 4), (5, 42, 3), (5, 64, 2), (5, 64, 4), (3, 32, 4), (4, 32, 4), (8, 32, 4)]
    {
        all.push(Proposer::minhash(n, bands, rows)?);
    }
    for (guarantee, noise) in
        [(9, 6), (13, 6), (11, 8), (15, 8), (19, 8), (23, 8), (31, 8), (17, 10), (19, 12)]
    {
        all.push(Proposer::winnow(guarantee, noise)?);
    }
    Ok(all)
}
