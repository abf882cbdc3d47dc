//! Edited news: index bases, hosts and background, ask for every variant.

use crate::candidate::Candidate;
use crate::data::{self, Document, Result};
use crate::near::{self, DISTANCES, FARTHEST, Hit, share};
use leitong_fingerprint::shingle::Shingles;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The set, read.
#[derive(Debug)]
pub struct Edits {
    /// Bases, hosts and background.
    pub index: Vec<Document>,
    /// The variants.
    pub queries: Vec<Document>,
    /// What is true of each variant.
    pub truths: Vec<Truth>,
    /// Shingles of `index`.
    pub index_shingles: Vec<Shingles>,
    query_shingles: Vec<Shingles>,
}

/// What is true of a variant.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The edit and, after a blank, the size class: `char_5 short`.
    pub kind: String,
    /// Position of the base in the index.
    pub base: usize,
    /// Position of the second source, where there is one.
    pub second: Option<usize>,
}

/// How well one candidate does.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Of each kind: how many variants, and how many of them lie within each of [`DISTANCES`] of their base.
    pub kinds: BTreeMap<String, (usize, [usize; 4])>,
    /// Hits on a true source within each distance.
    pub right: [usize; 4],
    /// Other hits within each distance.
    pub wrong: [usize; 4],
    /// Other hits within 3 bits between texts that do not even look alike.
    pub unrelated: usize,
    /// How many variants were asked for.
    pub queries: usize,
}

impl Edits {
    /// Reads the set.
    pub fn read() -> Result<Self> {
        let mut index = Vec::new();
        for name in ["bases", "hosts", "background"] {
            index.extend(data::documents(&format!("edits_{name}.jsonl.zst"))?);
        }
        let queries = data::documents("edits_variants.jsonl.zst")?;
        let rows = data::rows(data::read("edits_truth.tsv.zst")?)?;
        let rows: BTreeMap<&str, &Vec<String>> = rows.iter().map(|row| (row[0].as_str(), row)).collect();
        let places = data::positions(&index);
        let truth = |query: &Document| -> Result<Truth> {
            let row = rows.get(query.id.as_str()).ok_or_else(|| format!("no truth for {}", query.id))?;
            let base = *places.get(row[1].as_str()).ok_or_else(|| format!("no base {}", row[1]))?;
            Ok(Truth {
                kind: format!("{} {}", row[2], row[3]),
                base,
                second: places.get(row[8].as_str()).copied(),
            })
        };
        let truths = queries.iter().map(truth).collect::<Result<Vec<Truth>>>()?;
        let (index_shingles, query_shingles) = (near::shingles(&index, 5), near::shingles(&queries, 5));
        Ok(Self { truths, index_shingles, query_shingles, index, queries })
    }

    /// Scores a candidate, given its fingerprints of the index.
    #[must_use]
    pub fn score(&self, candidate: &Candidate, index: &[Option<u64>]) -> Score {
        let queries = candidate.fingerprints(&self.queries);
        let mut score = Score { queries: queries.len(), ..Score::default() };
        for (truth, &query) in self.truths.iter().zip(&queries) {
            let (count, found) = score.kinds.entry(truth.kind.clone()).or_default();
            *count += 1;
            let distance = near::distance(query, index[truth.base]);
            add_within(found, distance);
        }
        let hits = near::between(&queries, index, FARTHEST);
        let (right, wrong): (Vec<&Hit>, Vec<&Hit>) = hits.iter().partition(|hit| {
            let truth = &self.truths[hit.a];
            truth.base == hit.b || truth.second == Some(hit.b)
        });
        right.iter().for_each(|hit| add_within(&mut score.right, Some(hit.distance)));
        wrong.iter().for_each(|hit| add_within(&mut score.wrong, Some(hit.distance)));
        let unrelated = |hit: &&&Hit| {
            hit.distance <= 3 && !near::look_alike(&self.query_shingles[hit.a], &self.index_shingles[hit.b])
        };
        score.unrelated = wrong.par_iter().filter(unrelated).count();
        score
    }
}

/// Counts a distance in every bound it lies within.
pub fn add_within(counts: &mut [usize; 4], distance: Option<u32>) {
    for (count, bound) in counts.iter_mut().zip(DISTANCES) {
        *count += usize::from(distance.is_some_and(|distance| distance <= bound));
    }
}

impl Score {
    /// The share of variants within each distance of their base, among the kinds that `which` chooses.
    pub fn recall(&self, which: impl Fn(&str) -> bool) -> [f64; 4] {
        let chosen: Vec<_> =
            self.kinds.iter().filter(|(kind, _)| which(kind)).map(|(_, counts)| counts).collect();
        let all = chosen.iter().map(|(count, _)| count).sum();
        std::array::from_fn(|at| share(chosen.iter().map(|(_, found)| found[at]).sum(), all))
    }

    /// The share of hits that are right, within each distance.
    #[must_use]
    pub fn precision(&self) -> [f64; 4] {
        std::array::from_fn(|at| share(self.right[at], self.right[at] + self.wrong[at]))
    }

    /// Wrong hits for every thousand queries, within each distance.
    #[must_use]
    pub fn wrong_per_thousand(&self) -> [f64; 4] {
        self.wrong.map(|wrong| 1000.0 * share(wrong, self.queries))
    }
}
