//! What stays, and why the others go: from what the run found, or judged once more.

use super::{Stages, Taken, evidence};
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run, Selection};
use leitong_detect::verdict::Verdict;
use leitong_detect::verify::{Evidence, Rule, Ruling};
use std::io::Read;

/// Pairs that the run found, as far as there is room for them.
pub(crate) struct Found {
    pairs: Vec<Pair>,
    most: usize,
    pub(crate) quotes: u64,
}

impl Found {
    /// In at most so many bytes.
    pub(crate) fn new(memory: u64) -> Self {
        Self { pairs: Vec::new(), most: memory as usize / size_of::<Pair>(), quotes: 0 }
    }

    pub(crate) fn push(&mut self, pair: Pair) {
        if !pair.ruling.verdict.is_duplicate() {
            self.quotes += 1;
        } else if self.pairs.len() < self.most {
            self.pairs.push(pair);
        }
    }

    /// Makes it ready to be asked.
    pub(crate) fn ready(&mut self) {
        self.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    }

    /// What a document that goes is to the one that stays, with all figures.
    pub(crate) fn pair(&self, run: &Run, gone: u32, kept: u32) -> Result<Pair, Failure> {
        match self.known(run, gone, kept)? {
            pair if pair.weighed => Ok(pair),
            pair => Ok(Pair { a: pair.a, b: pair.b, ..run.judge(gone, kept)? }),
        }
    }

    /// What a document that goes is to the one that stays; only the verdict is sure.
    pub(crate) fn known(&self, run: &Run, gone: u32, kept: u32) -> Result<Pair, Failure> {
        let (a, b) = (run.first(gone), run.first(kept));
        if a == b {
            let ruling = Ruling { verdict: Verdict::Exact, rule: Rule::Equal };
            return Ok(Pair {
                a: gone,
                b: kept,
                ruling,
                evidence: Evidence { equal: true, ..Evidence::default() },
                weighed: true,
            });
        }
        // Found from the later one; from the earlier one everything is the other way round.
        let key = (a.max(b), a.min(b));
        match self.pairs.binary_search_by_key(&key, |pair| (pair.a, pair.b)) {
            Ok(at) if a > b => Ok(Pair { a: gone, b: kept, ..self.pairs[at] }),
            Ok(at) => Ok(evidence::turned(&self.pairs[at], gone, kept)),
            Err(_) => Ok(Pair { a: gone, b: kept, ..run.judge(a, b)? }),
        }
    }
}

impl Taken {
    /// Chooses what stays, with at most so many bytes for what was found.
    pub(crate) fn select(&self, memory: u64) -> Result<(Selection, Found), Failure> {
        self.select_watched(memory, &mut |_| {})
    }

    /// The same; `each` is told every pair found.
    pub(crate) fn select_watched(
        &self,
        memory: u64,
        each: &mut dyn FnMut(&Pair),
    ) -> Result<(Selection, Found), Failure> {
        let mut bytes = Vec::new();
        self.work.read("ranks")?.read_to_end(&mut bytes)?;
        let ranks: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|&number| u64::from_le_bytes(number)).collect();
        drop(bytes);
        let mut found = Found::new(memory);
        let stages = Stages::new(true);
        let selection = self.run.select(
            (!ranks.is_empty()).then_some(&ranks),
            &|stage, done, total| stages.reached(stage, done, total),
            &mut |pair| {
                each(&pair);
                found.push(pair);
                Ok(())
            },
        )?;
        found.ready();
        Ok((selection, found))
    }
}
