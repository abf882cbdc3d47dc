//! A run: documents, what they share, and which are copies of one another.

use super::copies::Classes;
use super::lists::{List, ONE_EARLIER, RANGE, Shared, distinct};
use super::pairs::Extent;
use super::propose::Tally;
use super::ranges::{Range, Ranges};
use super::spool::Documents;
use super::{BatchError, Progress, Stage};
use crate::compare::Both;
use crate::verdict::Verdict;
use crate::verify::{
    BestCopy, Evidence, FULL, Kept, PlacedPair, PlacedText, Reader, Scratch, evidence, rule, weight,
};
use leitong_store::Scoring;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Documents that are worked on together.
pub(super) const TOGETHER: u32 = 4096;
/// Candidates whose evidence is kept until it is known what weighs how much.
const KEPT: usize = 8;
/// Bytes from which on it is cheaper to compare two texts again than to remember what was seen of them.
const LARGE: u64 = 1 << 10;

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
    /// Bytes that are left for what was seen of them.
    room: AtomicU64,
}

/// Earlier documents that one may be a copy of.
pub(super) struct Proposed {
    pub(super) ordinal: u32,
    pub(super) others: Box<[u32]>,
    /// How many of them, from the first on, were looked at so that it should be kept: none where there are many.
    pub(super) looked: u32,
    /// What was seen of these, as far as there was room.
    pub(super) looks: Box<[Look]>,
    /// The best copy among them.
    copy: Option<u32>,
}

/// What was seen of two documents before it was known what is rare.
pub(super) struct Look {
    /// What they have in common if all marks weigh the same.
    pub(super) evidence: Evidence,
    /// Whether the verdict is the same whatever the marks will turn out to weigh.
    pub(super) is_decided: bool,
    /// What else is needed to tell it without the texts; not kept where memory is short.
    seen: Option<Box<Seen>>,
}

struct Seen {
    kept: Kept,
    /// Where the passages that both have begin and end.
    passages: Box<[Extent]>,
}

impl Seen {
    /// Bytes of memory.
    fn size(&self) -> u64 {
        (size_of::<Self>() + self.kept.size() + size_of_val(&*self.passages)) as u64
    }
}

impl Look {
    /// What they have in common by what the marks weigh that `bench` has weighed, if the texts are not needed for it.
    pub(super) fn weighed(&self, bench: &Bench) -> Option<(Evidence, &[Extent])> {
        let Seen { kept, passages } = self.seen.as_deref()?;
        Some((self.evidence.weighed_again(kept, |mark| bench.weight(mark)), passages))
    }
}

/// What a thread needs to compare documents.
#[derive(Default)]
pub(super) struct Bench {
    reader: Reader,
    bytes: Vec<u8>,
    own: PlacedText,
    other: PlacedText,
    scratch: Scratch,
    weights: Vec<u32>,
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

    fn read_own(&mut self, run: &Run, ordinal: u32) -> Result<(), BatchError> {
        let Self { reader, own, bytes, .. } = self;
        own.read(&run.documents.read(ordinal, bytes)?, reader);
        Ok(())
    }

    /// What a mark weighs: a shared one by the sources that have it, another fully.
    fn weight(&self, mark: u32) -> u32 {
        let found = self.weighed.binary_search_by_key(&mark, |&(hash, _)| hash);
        found.map_or(FULL, |at| self.weighed[at].1)
    }

    /// Gives every mark of the document read last its weight.
    fn weigh_own(&mut self) {
        let mut weights = std::mem::take(&mut self.weights);
        weights.clear();
        if !self.weighed.is_empty() {
            weights.extend(self.own.reading.marks.iter().map(|mark| self.weight(mark.hash)));
        }
        self.weights = weights;
    }

    /// What the document read last and another have in common.
    pub(super) fn compare(&mut self, run: &Run, other: u32) -> Result<Evidence, BatchError> {
        let Self { reader, own, other: reading, bytes, weights, scratch, .. } = self;
        reading.read(&run.documents.read(other, bytes)?, reader);
        Ok(evidence(&own.reading, &reading.reading, weights, scratch))
    }

    /// Where the passages of the two documents compared last begin and end.
    pub(super) fn extents(&self, found: &Evidence) -> Vec<Extent> {
        let placed = Both { a: &self.own, b: &self.other };
        PlacedPair { placed, found, scratch: &self.scratch }.extents()
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
        let room = AtomicU64::new(memory / 4);
        let mut run = Self { documents, classes, shared, ranges, origins, candidates, room };
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

    /// How many marks of documents an earlier one has too, each document's counted.
    #[must_use]
    pub fn shared_marks(&self) -> u64 {
        self.shared.of_documents.len()
    }

    /// How many of these are in lists of three documents and more, and how many bytes the lists take.
    #[must_use]
    pub fn lists(&self) -> (u64, u64) {
        (self.shared.listed, self.shared.lists.size())
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
        let (mut looks, mut looked, mut keeps) = (Vec::new(), 0, proposed.len() <= KEPT);
        for &other in &proposed {
            bench.weights.clear();
            let evidence = bench.compare(self, other)?;
            looked += u32::from(proposed.len() <= KEPT);
            keeps = keeps && self.has_room(size_of::<Look>() as u64);
            if keeps {
                looks.push(self.look(bench, ordinal, evidence)?);
            }
            if !best.look(&evidence, other) {
                break;
            }
        }
        let (others, looks) = (proposed.into(), looks.into());
        Ok(Some(Proposed { ordinal, others, looked, looks, copy: best.found() }))
    }

    /// The same as when copies were looked for, where it was not kept.
    pub(super) fn look_again(&self, bench: &mut Bench, ordinal: u32, other: u32) -> Result<Look, BatchError> {
        bench.read_own(self, ordinal)?;
        bench.weighed.clear();
        bench.weights.clear();
        let evidence = bench.compare(self, other)?;
        self.look(bench, ordinal, evidence)
    }

    /// What can be said of the two documents compared last before it is known what is rare. Marks weigh the more the fewer sources
    /// they have, which are no more than documents, and the more they weigh the more is said: a verdict that holds for both ends
    /// holds for all between them.
    fn look(&self, bench: &mut Bench, ordinal: u32, evidence: Evidence) -> Result<Look, BatchError> {
        let ruling = rule(&evidence);
        if ruling.verdict == Verdict::Different {
            return Ok(Look { evidence, is_decided: true, seen: None });
        }
        if bench.weighed.is_empty() {
            self.weigh_by(bench, ordinal, |list, _| list.documents)?;
        }
        bench.weigh_own();
        let passages = bench.extents(&evidence).into();
        let Bench { own, weights, scratch, .. } = bench;
        let kept = Kept::of(scratch, &own.reading.marks, weights);
        let is_decided = ruling.holds_for_any_weights(&evidence)
            || rule(&evidence.weighed(weights, scratch)).verdict == ruling.verdict;
        let seen = kept.map(|kept| Seen { kept, passages }).filter(|seen| self.has_room(seen.size()));
        Ok(Look { evidence, is_decided, seen: seen.map(Box::new) })
    }

    /// Whether there is room for something that is kept, which takes it. Who gets it depends on who comes first; what is said of two
    /// documents does not depend on what was kept.
    fn has_room(&self, size: u64) -> bool {
        let take = |room: u64| room.checked_sub(size);
        size <= LARGE && self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// What the marks weigh that a document shares with others, by their hashes; nothing where all of them weigh the same.
    pub(super) fn weigh(&self, bench: &mut Bench, ordinal: u32) -> Result<(), BatchError> {
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

    /// Of two documents the one whose lists have all marks that both share.
    fn later(&self, (a, b): (u32, u32)) -> u32 {
        self.classes.first[a as usize].max(self.classes.first[b as usize])
    }

    /// Reads the first of a pair and what its marks weigh.
    pub(super) fn read_weighed(&self, bench: &mut Bench, pair: (u32, u32)) -> Result<(), BatchError> {
        bench.read_own(self, pair.0)?;
        self.weigh(bench, self.later(pair))?;
        bench.weigh_own();
        Ok(())
    }
}
