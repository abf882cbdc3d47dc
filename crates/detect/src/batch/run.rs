//! A run: documents, what they share, and which are copies of one another.

use super::copies::Classes;
use super::lists::{List, ONE_EARLIER, RANGE, Shared, distinct};
use super::propose::Tally;
use super::ranges::{Range, Ranges};
use super::spool::Documents;
use super::{BatchError, Progress, Stage};
use crate::verdict::Verdict;
use crate::verify::{BestCopy, Evidence, FULL, Reader, Reading, Scratch, evidence, rule, weight};
use leitong_fingerprint::marks::Mark;
use leitong_store::Scoring;
use rayon::prelude::*;
use std::sync::Arc;

/// Documents that are worked on together.
pub(super) const TOGETHER: u32 = 4096;
/// Candidates whose evidence is kept until it is known what weighs how much.
const KEPT: usize = 8;

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
    /// What was seen of them, as far as it was looked at; not kept where there are many.
    pub(super) looks: Box<[Look]>,
    /// The best copy among them.
    copy: Option<u32>,
}

/// What was seen of two documents before it was known what is rare.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// What they have in common if all marks weigh the same.
    pub(super) evidence: Evidence,
    /// Whether the verdict is the same whatever the marks will turn out to weigh.
    pub(super) is_decided: bool,
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
    /// The range that was asked for last.
    range: Option<(u32, Arc<Range>)>,
    /// Hashes of shared marks and what they weigh, by hash; empty where all weigh the same.
    weighed: Vec<(u32, u32)>,
}

impl Bench {
    /// The range of a document. Most ask for the same one again and again: only the first has to wait for others.
    fn range(&mut self, run: &Run, ordinal: u32) -> Result<Arc<Range>, BatchError> {
        let number = ordinal / RANGE;
        if let Some((_, range)) = self.range.as_ref().filter(|(own, _)| *own == number) {
            return Ok(Arc::clone(range));
        }
        let range = run.ranges.of(&run.shared, number)?;
        self.range = Some((number, Arc::clone(&range)));
        Ok(range)
    }

    pub(super) fn read_own(&mut self, run: &Run, ordinal: u32) -> Result<(), BatchError> {
        let Self { reader, own, bytes, .. } = self;
        reader.read(&run.documents.read(ordinal, bytes)?, own);
        Ok(())
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

    /// Gives the marks of the document read last their weights.
    fn weigh_own(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.set_weights(&own.marks);
        self.own = own;
    }

    /// What the document read last and another have in common.
    pub(super) fn compare(&mut self, run: &Run, other: u32) -> Result<Evidence, BatchError> {
        let Self { reader, other: reading, bytes, .. } = self;
        reader.read(&run.documents.read(other, bytes)?, reading);
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
        self.documents.text(ordinal)
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
        let range = bench.range(self, ordinal)?;
        let Shared { lists, sizes, .. } = &self.shared;
        let proposed = bench.tally.propose(ordinal, range.of(ordinal), lists, sizes, &Scoring::DEFAULT)?;
        if proposed.is_empty() {
            return Ok(None);
        }
        bench.read_own(self, ordinal)?;
        bench.weighed.clear();
        let mut best = BestCopy::default();
        let mut looks = Vec::new();
        for &other in &proposed {
            bench.weights.clear();
            let evidence = bench.compare(self, other)?;
            if proposed.len() <= KEPT {
                let is_decided = self.is_decided(bench, ordinal, &evidence)?;
                looks.push(Look { evidence, is_decided });
            }
            if !best.look(&evidence, other) {
                break;
            }
        }
        let (others, looks) = (proposed.into(), looks.into());
        Ok(Some(Proposed { ordinal, others, looks, copy: best.found() }))
    }

    /// Whether the verdict on the two documents compared last stays whatever their marks weigh. Marks weigh the more the fewer
    /// sources they have, which are no more than documents, and the more they weigh the more is said: what holds for both ends
    /// holds for all between them.
    fn is_decided(&self, bench: &mut Bench, ordinal: u32, found: &Evidence) -> Result<bool, BatchError> {
        let ruling = rule(found);
        if ruling.verdict == Verdict::Different || ruling.holds_for_any_weights(found) {
            return Ok(true);
        }
        if bench.weighed.is_empty() {
            self.weigh_by(bench, ordinal, |list, _| list.documents)?;
        }
        bench.weigh_own();
        let least = evidence(&bench.own, &bench.other, &bench.weights, &mut bench.scratch);
        Ok(rule(&least).verdict == ruling.verdict)
    }

    /// What the marks weigh that a document shares with others, by their hashes; nothing where all of them weigh the same.
    fn weigh(&self, bench: &mut Bench, ordinal: u32) -> Result<(), BatchError> {
        self.weigh_by(bench, ordinal, |list, seen| {
            list.sources.unwrap_or_else(|| distinct(list.first, &self.origins, seen))
        })
    }

    /// The same, with sources counted in some way.
    fn weigh_by(
        &self,
        bench: &mut Bench,
        ordinal: u32,
        sources: impl Fn(&List<'_>, &mut Vec<u32>) -> u32,
    ) -> Result<(), BatchError> {
        let first = self.classes.first[ordinal as usize];
        let range = bench.range(self, first)?;
        bench.weighed.clear();
        // A mark that one other has weighs fully.
        for &at in range.of(first).iter().filter(|&&at| at & ONE_EARLIER == 0) {
            let list = self.shared.lists.get(at, &mut bench.room)?;
            bench.weighed.push((list.mark, weight(sources(&list, &mut bench.origins))));
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
        bench.weigh_own();
        Ok(())
    }
}
