//! Every pair of a run that is not different, judged.

use super::run::{Bench, Proposed, Run};
use super::{BatchError, Progress, Stage};
use crate::compare::SharedPassage;
use crate::verdict::Verdict;
use crate::verify::{Evidence, PlacedText, Ruling, evidence, reason, rule};
use rayon::prelude::*;

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
    /// What decided, in words.
    pub reason: String,
    /// What both texts have.
    pub passages: Vec<SharedPassage>,
}

impl Run {
    /// Judges two documents and says why.
    pub fn explain(&self, a: u32, b: u32) -> Result<Explained, BatchError> {
        let mut bench = Bench::default();
        let (x, y) = (PlacedText::new(self.text(a)?), PlacedText::new(self.text(b)?));
        self.weights_of(&mut bench, (a, b), &x.reading)?;
        let evidence = evidence(&x.reading, &y.reading, &bench.weights, &mut bench.scratch);
        let pair = Pair { a, b, ruling: rule(&evidence), evidence, weighed: true };
        let passages = x.passages(&y, &evidence, &bench.scratch);
        Ok(Explained { pair, reason: reason(&evidence, pair.ruling), passages })
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
        let Proposed { ordinal: a, others, evidence, .. } = proposed;
        let pair = |b: u32, evidence: Evidence, weighed: bool| Pair {
            a: *a,
            b,
            ruling: rule(&evidence),
            evidence,
            weighed,
        };
        let mut pairs = Vec::with_capacity(others.len());
        let (mut evenly, mut read) = (None, false);
        for (at, &b) in others.iter().enumerate() {
            // What was seen when copies were looked for still holds where what is rare does not matter.
            if let Some(mut known) = evidence.get(at).map(|&known| pair(b, known, false)) {
                if known.ruling.verdict == Verdict::Different {
                    // Weights can only take away.
                    continue;
                }
                let decided = known.ruling.holds_for_any_weights(&known.evidence);
                if closely || !decided {
                    known.weighed = match evenly {
                        Some(evenly) => evenly,
                        None => *evenly.insert(self.weighs_evenly(bench, *a)?),
                    };
                }
                if known.weighed || (decided && !closely) {
                    pairs.push(known);
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
