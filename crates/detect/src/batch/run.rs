//! A run: documents, what they share, and which are copies of one another.

use super::copies::Classes;
use super::lists::{ONE_EARLIER, Shared, distinct};
use super::propose::Tally;
use super::ranges::Ranges;
use super::spool::Documents;
use super::{BatchError, Progress, Stage};
use crate::verify::{Evidence, FULL, Reader, Reading, Scratch, evidence, is_copy, weight};
use leitong_fingerprint::marks::Mark;
use leitong_store::Scoring;
use rayon::prelude::*;

/// Documents that are worked on together.
pub(super) const TOGETHER: u32 = 4096;
/// Candidates whose evidence is kept until it is known what weighs how much.
const KEPT: usize = 8;
/// A copy as good as this is not worth looking for a better one.
const CERTAIN: f64 = 1.9;

/// Documents with everything known that judging them needs.
pub struct Run {
    pub(super) documents: Documents,
    pub(super) classes: Classes,
    pub(super) shared: Shared,
    pub(super) ranges: Ranges,
    /// The first document of the group of copies that each belongs to.
    pub(super) origins: Vec<u32>,
    /// Earlier documents that each may be a copy of; most have none.
    pub(super) candidates: Vec<Proposed>,
}

/// Earlier documents that one may be a copy of.
pub(super) struct Proposed {
    pub(super) ordinal: u32,
    pub(super) others: Box<[u32]>,
    /// What they have in common if all marks weigh the same, as far as it was looked at; not kept where there are many.
    pub(super) evidence: Box<[Evidence]>,
    /// The best copy among them.
    copy: Option<u32>,
}

/// What a thread needs to compare documents.
#[derive(Default)]
pub(super) struct Bench {
    reader: Reader,
    bytes: Vec<u8>,
    pub(super) own: Reading,
    pub(super) other: Reading,
    pub(super) scratch: Scratch,
    pub(super) weights: Vec<u32>,
    tally: Tally,
    room: Vec<u32>,
    origins: Vec<u32>,
    /// Hashes of shared marks and what they weigh, by hash; empty where all weigh the same.
    weighed: Vec<(u32, u32)>,
}

impl Bench {
    pub(super) fn read_own(&mut self, run: &Run, ordinal: u32) -> Result<(), BatchError> {
        let Self { reader, own, bytes, .. } = self;
        run.documents.with_text(ordinal, bytes, |text| reader.read(text, own))
    }

    /// Gives every mark its weight: shared ones by the sources that have them, others fully.
    fn set_weights(&mut self, marks: &[Mark]) {
        let Self { weighed, weights, .. } = self;
        weights.clear();
        if !weighed.is_empty() {
            weights.extend(marks.iter().map(|mark| {
                weighed.binary_search_by_key(&mark.hash, |&(hash, _)| hash).map_or(FULL, |at| weighed[at].1)
            }));
        }
    }

    /// What the document read last and another have in common.
    pub(super) fn compare(&mut self, run: &Run, other: u32) -> Result<Evidence, BatchError> {
        let Self { reader, other: reading, bytes, .. } = self;
        run.documents.with_text(other, bytes, |text| reader.read(text, reading))?;
        Ok(evidence(&self.own, &self.other, &self.weights, &mut self.scratch))
    }
}

impl Run {
    pub(super) fn new(documents: Documents, memory: u64, progress: Progress<'_>) -> Result<Self, BatchError> {
        let total = u64::from(documents.len());
        progress(Stage::Sharing, 0, total);
        let classes = Classes::find(&documents);
        let scoring = Scoring::DEFAULT;
        let shared = Shared::find(&documents, &classes.sizes, &scoring, memory)?;
        let origins = (0..documents.len()).collect();
        let (ranges, candidates) = (Ranges::default(), Vec::new());
        let mut run = Self { documents, classes, shared, ranges, origins, candidates };
        for from in (0..run.documents.len()).step_by(TOGETHER as usize) {
            progress(Stage::Copies, u64::from(from), total);
            let proposed: Vec<_> = run.each(from, |run, bench, ordinal| run.propose(bench, ordinal))?;
            for proposed in proposed.into_iter().flatten() {
                // In order, so that the origin of an earlier one is known.
                if let Some(copy) = proposed.copy {
                    run.origins[proposed.ordinal as usize] = run.origins[copy as usize];
                }
                run.candidates.push(proposed);
            }
        }
        for ordinal in 0..run.documents.len() {
            let first = run.classes.first[ordinal as usize];
            run.origins[ordinal as usize] = run.origins[first as usize];
        }
        run.shared.lists.count_sources(&run.origins);
        progress(Stage::Copies, total, total);
        Ok(run)
    }

    /// How many documents there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.documents.len()
    }

    /// The id of a document.
    pub fn id(&self, ordinal: u32) -> Result<String, BatchError> {
        self.documents.id(ordinal)
    }

    /// The text of a document.
    pub fn text(&self, ordinal: u32) -> Result<String, BatchError> {
        Ok(self.documents.get(ordinal)?.1)
    }

    /// Does something with every document of a stretch, on all cores; answers in order.
    fn each<T: Send>(
        &self,
        from: u32,
        work: impl Fn(&Self, &mut Bench, u32) -> Result<T, BatchError> + Sync,
    ) -> Result<Vec<T>, BatchError> {
        let stretch = from..self.documents.len().min(from + TOGETHER);
        stretch
            .into_par_iter()
            .map_init(Bench::default, |bench, ordinal| work(self, bench, ordinal))
            .collect()
    }

    /// The candidates of a document and the best copy among them, if there are any.
    fn propose(&self, bench: &mut Bench, ordinal: u32) -> Result<Option<Proposed>, BatchError> {
        if self.classes.sizes[ordinal as usize] == 0 {
            return Ok(None);
        }
        let range = self.ranges.of(&self.shared, ordinal)?;
        let (lists, marks) = (&self.shared.lists, &self.shared.marks);
        let proposed = bench.tally.propose(ordinal, range.of(ordinal), lists, marks, &Scoring::DEFAULT)?;
        if proposed.is_empty() {
            return Ok(None);
        }
        bench.read_own(self, ordinal)?;
        bench.weights.clear();
        let mut best: Option<(f64, u32)> = None;
        let mut looked_at = Vec::new();
        for &other in &proposed {
            let found = bench.compare(self, other)?;
            if proposed.len() <= KEPT {
                looked_at.push(found);
            }
            if let Some(strength) = is_copy(&found).filter(|&new| best.is_none_or(|(old, _)| new > old)) {
                best = Some((strength, other));
            }
            if best.is_some_and(|(strength, _)| strength >= CERTAIN) {
                break;
            }
        }
        let copy = best.map(|(_, other)| other);
        Ok(Some(Proposed { ordinal, others: proposed.into(), evidence: looked_at.into(), copy }))
    }

    /// What the marks weigh that a document shares with others, by their hashes; nothing where all of them weigh the same.
    fn weigh(&self, bench: &mut Bench, ordinal: u32) -> Result<(), BatchError> {
        let first = self.classes.first[ordinal as usize];
        let range = self.ranges.of(&self.shared, first)?;
        bench.weighed.clear();
        // A mark that one other has weighs fully.
        for &at in range.of(first).iter().filter(|&&at| at & ONE_EARLIER == 0) {
            let list = self.shared.lists.get(at, &mut bench.room)?;
            let sources =
                list.sources.unwrap_or_else(|| distinct(list.first, &self.origins, &mut bench.origins));
            bench.weighed.push((list.mark, weight(sources)));
        }
        if bench.weighed.iter().all(|&(_, weight)| weight == FULL) {
            bench.weighed.clear();
        }
        bench.weighed.sort_unstable();
        Ok(())
    }

    /// Whether all marks of a document weigh the same.
    pub(super) fn weighs_evenly(&self, bench: &mut Bench, ordinal: u32) -> Result<bool, BatchError> {
        self.weigh(bench, ordinal)?;
        Ok(bench.weighed.is_empty())
    }

    /// Of two documents the one whose lists have all marks that both share.
    fn later(&self, (a, b): (u32, u32)) -> u32 {
        self.classes.first[a as usize].max(self.classes.first[b as usize])
    }

    /// What the marks of the first of a pair weigh, that has been read already.
    pub(super) fn weights_of(
        &self,
        bench: &mut Bench,
        pair: (u32, u32),
        reading: &Reading,
    ) -> Result<(), BatchError> {
        self.weigh(bench, self.later(pair))?;
        bench.set_weights(&reading.marks);
        Ok(())
    }

    /// Reads the first of a pair and what its marks weigh.
    pub(super) fn read_weighed(&self, bench: &mut Bench, pair: (u32, u32)) -> Result<(), BatchError> {
        bench.read_own(self, pair.0)?;
        self.weigh(bench, self.later(pair))?;
        let own = std::mem::take(&mut bench.own);
        bench.set_weights(&own.marks);
        bench.own = own;
        Ok(())
    }
}
