//! Nearest neighbours, found exactly: one pass over everything that stays.

use super::exact;
use crate::output::Failure;
use leitong_detect::batch::{Fate, Run};
use rayon::prelude::*;
use std::collections::HashMap;

/// Documents that are read together.
const TOGETHER: u32 = 4096;

/// The share of the shorter text's runs that the other has, and Jaccard.
type Nearness = (f64, f64);

/// Finds the nearest neighbours of a few documents among all that stay.
pub(super) struct Nearest<'n> {
    run: &'n Run,
    documents: Vec<u32>,
    /// How many runs each has.
    sizes: Vec<usize>,
    /// Which of them have a run.
    having: HashMap<u64, Vec<u32>>,
}

impl<'n> Nearest<'n> {
    pub(super) fn new(run: &'n Run, documents: Vec<u32>) -> Result<Self, Failure> {
        let all: Vec<Vec<u64>> = documents
            .par_iter()
            .map(|&document| Ok(exact::runs(&exact::letters(&run.text(document)?))))
            .collect::<Result<_, Failure>>()?;
        let mut having: HashMap<u64, Vec<u32>> = HashMap::new();
        for (at, runs) in (0..).zip(&all) {
            runs.iter().for_each(|&run| having.entry(run).or_default().push(at));
        }
        Ok(Self { run, documents, sizes: all.iter().map(Vec::len).collect(), having })
    }

    /// The nearest of each: by the share of the shorter one's runs, then by Jaccard, then the first.
    pub(super) fn search(self, fates: &[Fate]) -> Result<Vec<(u32, Option<u32>)>, Failure> {
        let mut best: Vec<Option<(Nearness, u32)>> = vec![None; self.documents.len()];
        if self.documents.is_empty() {
            return Ok(Vec::new());
        }
        for from in (0..self.run.count()).step_by(TOGETHER as usize) {
            let some = from..self.run.count().min(from + TOGETHER);
            let near: Vec<Vec<(u32, Nearness)>> = some
                .clone()
                .into_par_iter()
                .map(|other| match fates[other as usize] {
                    Fate::Stays => self.near(other),
                    Fate::Goes(_) => Ok(Vec::new()),
                })
                .collect::<Result<_, Failure>>()?;
            for (other, near) in some.zip(near) {
                for (at, score) in near {
                    let own = &mut best[at as usize];
                    if own.is_none_or(|(best, _)| score > best) {
                        *own = Some((score, other));
                    }
                }
            }
        }
        Ok(self
            .documents
            .into_iter()
            .zip(best)
            .map(|(own, best)| (own, best.map(|(_, other)| other)))
            .collect())
    }

    /// How near a document is to those it shares anything with.
    fn near(&self, other: u32) -> Result<Vec<(u32, Nearness)>, Failure> {
        let runs = exact::runs(&exact::letters(&self.run.text(other)?));
        let mut shared = vec![0_usize; self.documents.len()];
        for run in &runs {
            for &at in self.having.get(run).map_or(&[][..], Vec::as_slice) {
                shared[at as usize] += 1;
            }
        }
        let counts = (0..)
            .zip(shared)
            .filter(|&(at, count): &(u32, usize)| count > 0 && self.documents[at as usize] != other);
        Ok(counts
            .map(|(at, count)| (at, exact::shares(self.sizes[at as usize], runs.len(), count)))
            .collect())
    }
}
