//! Every pair of a run that is not different, judged.

use super::run::{Bench, Proposed, Run};
use super::{BatchError, Progress, Stage};
use crate::compare::Both;
use crate::verdict::Verdict;
use crate::verify::{Evidence, Ruling, rule};
use rayon::prelude::*;
use std::ops::Range;

/// Documents whose candidates are judged together.
const TOGETHER: usize = 1024;

/// Two documents and what one is to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The later document.
    pub a: u32,
    /// The earlier one.
    pub b: u32,
    /// What `a` is to `b`.
    pub ruling: Ruling,
    /// Why.
    pub evidence: Evidence,
    /// Whether the evidence knows what is rare; there are verdicts that do not need it.
    pub weighed: bool,
}

/// A pair and where the texts agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The pair.
    pub pair: Pair,
    /// The ids of both.
    pub ids: Both<String>,
    /// Where the passages that both texts have begin and end, in code points.
    pub passages: Vec<Extent>,
}

/// Where a passage begins and ends in both texts, in code points.
pub type Extent = Both<Range<usize>>;

/// What a thread needs to explain pairs; its memory is used again for the next.
#[derive(Default)]
pub struct Explainer(Bench);

impl Run {
    /// Judges two documents and says why.
    pub fn explain(&self, explainer: &mut Explainer, a: u32, b: u32) -> Result<Explained, BatchError> {
        let bench = &mut explainer.0;
        let (evidence, passages) = match self.seen(bench, a, b)? {
            Some(known) => known,
            None => self.compared(bench, a, b)?,
        };
        Ok(Explained {
            pair: Pair { a, b, ruling: rule(&evidence), evidence, weighed: true },
            ids: Both { a: self.documents.id(a)?, b: self.documents.id(b)? },
            passages,
        })
    }

    /// What two documents have in common and where.
    pub(super) fn compared(
        &self,
        bench: &mut Bench,
        a: u32,
        b: u32,
    ) -> Result<(Evidence, Vec<Extent>), BatchError> {
        self.read_weighed(bench, (a, b))?;
        let evidence = bench.compare(self, b)?;
        Ok((evidence, bench.extents(&evidence)))
    }

    /// The same, if it was seen when copies were looked for.
    pub(super) fn seen(
        &self,
        bench: &mut Bench,
        a: u32,
        b: u32,
    ) -> Result<Option<(Evidence, Vec<Extent>)>, BatchError> {
        let Ok(at) = self.candidates.binary_search_by_key(&a, |proposed| proposed.ordinal) else {
            return Ok(None);
        };
        let Proposed { others, looks, .. } = &self.candidates[at];
        let Some((_, look)) = others.iter().zip(looks).find(|&(&other, _)| other == b) else {
            return Ok(None);
        };
        self.weigh(bench, a)?;
        Ok(look.weighed(bench).map(|(evidence, passages)| (evidence, passages.to_vec())))
    }

    /// Calls `each` with every pair of different texts that is not different, each once: by the later document, then by how
    /// much is shared. Equal texts are one here: [`Run::equals`] has the others.
    pub fn pairs(
        &self,
        progress: Progress<'_>,
        each: &mut dyn FnMut(Pair) -> Result<(), BatchError>,
    ) -> Result<(), BatchError> {
        self.judged(true, progress, each)
    }

    /// The same; unless `closely`, what is rare is weighed only where it decides.
    pub(super) fn judged(
        &self,
        closely: bool,
        progress: Progress<'_>,
        each: &mut dyn FnMut(Pair) -> Result<(), BatchError>,
    ) -> Result<(), BatchError> {
        let total = self.candidates.len() as u64;
        for (done, part) in self.candidates.chunks(TOGETHER).enumerate() {
            progress(Stage::Judging, (done * TOGETHER) as u64, total);
            let judged: Vec<Vec<Pair>> = part
                .par_iter()
                .map_init(Bench::default, |bench, proposed| self.judge_all(bench, proposed, closely))
                .collect::<Result<_, _>>()?;
            judged.into_iter().flatten().try_for_each(&mut *each)?;
        }
        progress(Stage::Judging, total, total);
        Ok(())
    }

    fn judge_all(
        &self,
        bench: &mut Bench,
        proposed: &Proposed,
        closely: bool,
    ) -> Result<Vec<Pair>, BatchError> {
        let Proposed { ordinal: a, others, looked, looks, .. } = proposed;
        let pair = |b: u32, evidence: Evidence, weighed: bool| Pair {
            a: *a,
            b,
            ruling: rule(&evidence),
            evidence,
            weighed,
        };
        let mut pairs = Vec::with_capacity(others.len());
        let (mut weighed, mut read) = (false, false);
        for (at, &b) in others.iter().enumerate() {
            let again;
            let look = match looks.get(at) {
                None if at < *looked as usize => {
                    again = self.look_again(bench, *a, b)?;
                    (weighed, read) = (false, false);
                    Some(&again)
                }
                kept => kept,
            };
            // What was seen when copies were looked for still holds but for what is rare.
            if let Some(look) = look {
                let known = pair(b, look.evidence, false);
                if known.ruling.verdict == Verdict::Different {
                    // Weights can only take away.
                    continue;
                }
                if look.is_decided && !closely {
                    pairs.push(known);
                    continue;
                }
                if !std::mem::replace(&mut weighed, true) {
                    self.weigh(bench, *a)?;
                }
                if let Some((evidence, _)) = look.weighed(bench) {
                    pairs.push(pair(b, evidence, true));
                    continue;
                }
            }
            if !std::mem::replace(&mut read, true) {
                self.read_weighed(bench, (*a, *a))?;
            }
            pairs.push(pair(b, bench.compare(self, b)?, true));
        }
        pairs.retain(|pair| pair.ruling.verdict != Verdict::Different);
        Ok(pairs)
    }

    /// Judges two documents, whether they are candidates or not.
    pub fn judge(&self, a: u32, b: u32) -> Result<Pair, BatchError> {
        let mut bench = Bench::default();
        self.read_weighed(&mut bench, (a, b))?;
        let evidence = bench.compare(self, b)?;
        Ok(Pair { a, b, ruling: rule(&evidence), evidence, weighed: true })
    }

    /// The documents with the same text as one, itself included; only the first of them is in [`Run::pairs`].
    #[must_use]
    pub fn equals<'r>(&'r self, first: &'r u32) -> &'r [u32] {
        self.classes.members(first)
    }

    /// The first document with the same text.
    #[must_use]
    pub fn first(&self, ordinal: u32) -> u32 {
        self.classes.first[ordinal as usize]
    }
}
