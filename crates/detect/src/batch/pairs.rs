//! Every pair of a run that is not different, judged.

use super::run::{Bench, Look, Proposed, Run};
use super::{BatchError, Progress, Stage};
use crate::compare::Both;
use crate::verdict::Verdict;
use crate::verify::{Evidence, PlacedPair, PlacedText, Reader, Ruling, evidence, rule};
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
    pub passages: Vec<Both<Range<usize>>>,
}

/// What a thread needs to explain pairs; its memory is used again for the next.
#[derive(Default)]
pub struct Explainer {
    bench: Bench,
    reader: Reader,
    texts: [Vec<u8>; 2],
    placed: [PlacedText; 2],
}

impl Run {
    /// Judges two documents and says why.
    pub fn explain(&self, explainer: &mut Explainer, a: u32, b: u32) -> Result<Explained, BatchError> {
        let Explainer { bench, reader, texts: [x, y], placed: [in_x, in_y] } = explainer;
        let (text_a, text_b) = (self.documents.read(a, x)?, self.documents.read(b, y)?);
        in_x.read(&text_a, reader);
        in_y.read(&text_b, reader);
        self.weights_of(bench, (a, b), &in_x.reading)?;
        let evidence = evidence(&in_x.reading, &in_y.reading, &bench.weights, &mut bench.scratch);
        let (texts, placed) = (Both { a: &*text_a, b: &*text_b }, Both { a: &*in_x, b: &*in_y });
        let aligned = PlacedPair { texts, placed, found: &evidence, scratch: &bench.scratch };
        Ok(Explained {
            pair: Pair { a, b, ruling: rule(&evidence), evidence, weighed: true },
            ids: Both { a: self.documents.id(a)?, b: self.documents.id(b)? },
            passages: aligned.extents(),
        })
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
        let Proposed { ordinal: a, others, looks, .. } = proposed;
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
            if let Some(&Look { evidence, is_decided }) = looks.get(at) {
                let mut known = pair(b, evidence, false);
                if known.ruling.verdict == Verdict::Different {
                    // Weights can only take away.
                    continue;
                }
                if closely || !is_decided {
                    known.weighed = match evenly {
                        Some(evenly) => evenly,
                        None => *evenly.insert(self.weighs_evenly(bench, *a)?),
                    };
                }
                if known.weighed || (is_decided && !closely) {
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
