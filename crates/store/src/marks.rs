//! Finding documents by marks: what is rare counts much, what is common counts little, and long lists are cut off.
//!
//! Let `documents(m)` be the documents that are there and have a mark `m`, the oldest first. A question with the marks Q gives
//! each of the first [`Scoring::used`] of `documents(m)`, for each m of Q, the weight of m and a count of one. With n the
//! smaller number of different marks, the question's or the document's, a document is proposed if its weights reach what n
//! needs; of the others, some of those with the highest counts are proposed too. All of it in whole numbers: every store gives
//! the same answer.

use crate::record::distinct;
use crate::seam::{Probe, Sources};
use leitong_index::marks::Posting;
use std::cmp::Reverse;

/// The weight of a mark that few documents have.
const FULL: u32 = 1024;

/// How documents are found by marks: here, and nowhere else. Stores that are to give the same answers must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scoring {
    /// Documents of a mark that are counted: whether it has so many or more makes no difference.
    pub long: usize,
    /// Documents of a mark, the oldest, that it speaks for.
    pub used: usize,
    /// Up to so many documents, the one that asks included, a mark has its full weight, and then less in proportion.
    pub rare: u32,
    /// Hundredths of the marks that must be in common, if all of them are rare …
    pub percent: u32,
    /// … but at least so much weight, in 1/1024 of a mark …
    pub least: u32,
    /// … and never more than this.
    pub most: u32,
    /// Tenths of the marks that must be in common, however common they are, for a document that has too little weight …
    pub tenths: u32,
    /// … of which so many are proposed, those with the most marks in common.
    pub spare: usize,
}

impl Scoring {
    /// What all stores use.
    pub const DEFAULT: Self = Self {
        long: 1024,
        used: 64,
        rare: 16,
        percent: 6,
        least: FULL / 2,
        most: 4 * FULL,
        tenths: 3,
        spare: 8,
    };

    /// The weight of a mark that so many other documents have.
    #[must_use]
    pub fn weight(&self, documents: usize) -> u32 {
        let sharing = documents.min(self.long) as u32 + 1;
        if sharing <= self.rare { FULL } else { FULL * self.rare / sharing }
    }

    /// The weight a document needs, when the shorter of both has so many marks.
    #[must_use]
    pub fn need(&self, marks: u32) -> u32 {
        let share = u64::from(FULL) * u64::from(self.percent) * u64::from(marks) / 100;
        share.clamp(self.least.into(), self.most.into()) as u32
    }

    /// From how many marks on a document cannot be proposed that has nothing in common but these marks, if so many are asked for:
    /// the more the shorter of both has, the more is needed. Nothing if it can be with any number.
    #[must_use]
    pub fn too_long(&self, weight: u32, count: u32, asked: u32) -> Option<u32> {
        // What is needed never falls with the number of marks, so the first that is too long is found by halving.
        let (mut from, mut to) = (1, asked + 1);
        while from < to {
            let marks = from + (to - from) / 2;
            match weight < self.need(marks) && !self.may_be_spared(count, marks) {
                true => to = marks,
                false => from = marks + 1,
            }
        }
        (from <= asked).then_some(from)
    }

    /// How many marks a document that is proposed has in common at the least, when the shorter of both has so many.
    #[must_use]
    pub fn least_in_common(&self, marks: u32) -> u32 {
        let spared = (u64::from(self.tenths) * u64::from(marks)).div_ceil(10);
        self.need(marks).div_ceil(FULL).min(spared as u32).max(1)
    }

    /// Whether so many marks in common are enough for the few that are proposed without the weight.
    #[must_use]
    pub fn may_be_spared(&self, count: u32, marks: u32) -> bool {
        u64::from(count) * 10 >= u64::from(self.tenths) * u64::from(marks)
    }
}

impl Default for Scoring {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The marks of each such probe, each mark once.
pub(crate) fn probed(probes: &[Probe]) -> impl Iterator<Item = Vec<u32>> {
    probes.iter().filter_map(|probe| match probe {
        Probe::Marks(marks) => Some(distinct(marks.clone())),
        Probe::Near { .. } | Probe::Key(_) => None,
    })
}

/// A document that has one of the marks asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    version: u64,
    /// Which of the marks asked for.
    mark: u32,
    /// How many different ones the document has.
    marks: u32,
}

/// The documents of each mark of a question, as they are seen.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    scoring: Scoring,
    /// Versions that are not there for the question, in order.
    hidden: &'a [u64],
    /// Documents seen of each mark.
    counts: Vec<usize>,
    /// So many marks, the first ones, are known to have as many documents as are counted: only those used are seen.
    common: usize,
    hits: Vec<Hit>,
}

impl<'a> Tally<'a> {
    /// For so many different marks.
    pub(crate) fn new(scoring: Scoring, marks: usize, hidden: &'a [u64]) -> Self {
        Self { scoring, hidden, counts: vec![0; marks], common: 0, hits: Vec::new() }
    }

    /// The first so many of the marks are known to have [`Scoring::long`] documents or more.
    pub(crate) fn with_common(self, common: usize) -> Self {
        Self { common, ..self }
    }

    /// How many documents of a mark are worth looking at.
    pub(crate) fn most(&self) -> usize {
        self.scoring.long + self.hidden.len()
    }

    /// How many documents of a mark that is known to be common are worth looking at.
    pub(crate) fn most_of_common(&self) -> usize {
        self.scoring.used + self.hidden.len()
    }

    /// The places of marks that have turned out to be common.
    pub(crate) fn newly_common(&self) -> impl Iterator<Item = usize> {
        (self.common..self.counts.len()).filter(|&mark| self.counts[mark] >= self.scoring.long)
    }

    /// A document has a mark. Those of one mark come in order, the oldest first.
    pub(crate) fn see(&mut self, mark: usize, posting: Posting) {
        if self.hidden.binary_search(&posting.ordinal).is_ok() {
            return;
        }
        let count = &mut self.counts[mark];
        if *count < self.scoring.used {
            let Posting { ordinal: version, marks, .. } = posting;
            self.hits.push(Hit { version, mark: mark as u32, marks });
        }
        *count += 1;
    }

    /// The documents that are proposed, and how many marks they have in common.
    pub(crate) fn proposed(mut self) -> Vec<(u64, u32)> {
        self.counts[..self.common].fill(self.scoring.long);
        let weights: Vec<u32> = self.counts.iter().map(|&count| self.scoring.weight(count)).collect();
        self.prune(&weights);
        self.hits.sort_unstable();
        let (mut proposed, mut spare) = (Vec::new(), Vec::new());
        for hits in self.hits.chunk_by(|a, b| a.version == b.version) {
            let weight: u64 = hits.iter().map(|hit| u64::from(weights[hit.mark as usize])).sum();
            let (count, marks) = (hits.len() as u32, hits[0].marks.min(weights.len() as u32));
            if weight >= u64::from(self.scoring.need(marks)) {
                proposed.push((hits[0].version, count));
            } else if self.scoring.may_be_spared(count, marks) {
                spare.push((Reverse(count), hits[0].version));
            }
        }
        spare.sort_unstable();
        proposed.extend(spare.iter().take(self.scoring.spare).map(|&(count, version)| (version, count.0)));
        proposed
    }
}

impl Tally<'_> {
    /// Leaves out documents that have none but common marks and could not be proposed if they had all of those: they are
    /// nearly all of the hits.
    fn prune(&mut self, weights: &[u32]) {
        let common: Vec<bool> = weights.iter().map(|weight| *weight < FULL).collect();
        let marks = common.iter().filter(|common| **common).count() as u32;
        let weight: u32 = weights.iter().filter(|weight| **weight < FULL).sum();
        let asked = weights.len() as u32;
        let Some(long) = self.scoring.too_long(weight, marks, asked) else { return };
        let mut rare: Vec<u64> =
            self.hits.iter().filter(|hit| !common[hit.mark as usize]).map(|hit| hit.version).collect();
        rare.sort_unstable();
        self.hits.retain(|hit| {
            let may_be = !common[hit.mark as usize] || hit.marks.min(asked) < long;
            may_be || rare.binary_search(&hit.version).is_ok()
        });
    }
}

/// The origins of each mark of a question, as they are seen.
#[derive(Debug)]
pub(crate) struct Origins<'a> {
    scoring: Scoring,
    hidden: &'a [u64],
    /// The marks, each once, in order.
    pub(crate) marks: Vec<u32>,
    counts: Vec<usize>,
    /// Origins of a mark, by its place in `marks`.
    seen: Vec<(usize, u64)>,
}

impl<'a> Origins<'a> {
    pub(crate) fn new(scoring: Scoring, question: &Sources, hidden: &'a [u64]) -> Self {
        let marks = distinct(question.marks.clone());
        Self { scoring, hidden, counts: vec![0; marks.len()], marks, seen: Vec::new() }
    }

    /// How many documents of a mark are worth looking at.
    pub(crate) fn most(&self) -> usize {
        self.scoring.long + self.hidden.len()
    }

    /// A document has a mark. Those of one mark come in order, the oldest first.
    pub(crate) fn see(&mut self, mark: usize, posting: Posting) {
        if self.counts[mark] < self.scoring.long && self.hidden.binary_search(&posting.ordinal).is_err() {
            self.counts[mark] += 1;
            self.seen.push((mark, posting.origin));
        }
    }

    /// How many there are of each mark of the question, its own included.
    pub(crate) fn answer(mut self, question: &Sources) -> Vec<u32> {
        self.seen.sort_unstable();
        self.seen.dedup();
        let mut numbers = vec![0_u32; self.marks.len()];
        self.seen.iter().for_each(|&(mark, _)| numbers[mark] += 1);
        let own = |mark: usize| match question.origin {
            Some(origin) => self.seen.binary_search(&(mark, origin)).is_err(),
            None => true,
        };
        let of_mark = |hash: &u32| {
            let place = self.marks.binary_search(hash).unwrap_or_else(|place| place);
            numbers.get(place).copied().unwrap_or_default() + u32::from(own(place))
        };
        question.marks.iter().map(of_mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn posting(ordinal: u64, origin: u64, marks: u32) -> Posting {
        Posting { ordinal, origin, marks }
    }

    #[test]
    fn weights_and_needs() {
        let scoring = Scoring::DEFAULT;
        let weights = [0, 14, 15, 16, 31, 1023, 1024, 5000].map(|documents| scoring.weight(documents));
        assert_eq!(weights, [1024, 1024, 1024, 963, 512, 16, 15, 15]);
        assert_eq!(
            [0, 8, 9, 20, 66, 67, 1000].map(|marks| scoring.need(marks)),
            [512, 512, 552, 1228, 4055, 4096, 4096]
        );
        assert!(
            scoring.may_be_spared(3, 10) && !scoring.may_be_spared(2, 10) && !scoring.may_be_spared(3, 11)
        );
    }

    proptest! {
        #[test]
        fn less_than_the_least_in_common_is_never_enough(
            (marks, count) in (1..2000_u32, 1..70_u32),
            (percent, least, tenths) in (0..100_u32, 0..5000_u32, 1..10_u32),
        ) {
            let scoring = Scoring { percent, least: least.min(Scoring::DEFAULT.most), tenths, ..Scoring::DEFAULT };
            let may_be = count * FULL >= scoring.need(marks) || scoring.may_be_spared(count, marks);
            prop_assert_eq!(may_be, count >= scoring.least_in_common(marks));
            prop_assert!(scoring.least_in_common(marks) <= scoring.least_in_common(marks + 1));
        }

        #[test]
        fn too_long_is_the_first_of_all(weight in 0..5000_u32, count in 0..200_u32, asked in 0..700_u32) {
            let scoring = Scoring::DEFAULT;
            let is_too_long = |marks: &u32| weight < scoring.need(*marks) && !scoring.may_be_spared(count, *marks);
            prop_assert_eq!(scoring.too_long(weight, count, asked), (1..=asked).find(is_too_long));
        }
    }

    #[test]
    fn the_eight_with_the_most() {
        // Thirty documents with all ten marks, which are so common that none has the weight, and one that has nine.
        let scoring = Scoring { rare: 1, ..Scoring::DEFAULT };
        let mut tally = Tally::new(scoring, 10, &[4]);
        for mark in 0..10 {
            (0..30)
                .filter(|version| *version != 2 || mark > 0)
                .for_each(|version| tally.see(mark, posting(version, 0, 10)));
        }
        let versions: Vec<u64> = tally.proposed().into_iter().map(|(version, _)| version).collect();
        assert_eq!(
            versions,
            [0, 1, 3, 5, 6, 7, 8, 9],
            "the oldest; one has less in common, one is not there"
        );
    }

    #[test]
    fn only_the_oldest_are_used() {
        let scoring = Scoring { used: 3, long: 5, ..Scoring::DEFAULT };
        let mut tally = Tally::new(scoring, 1, &[0, 2]);
        assert_eq!(tally.most(), 7);
        (0..9).for_each(|version| tally.see(0, posting(version, 0, 1)));
        assert_eq!(tally.proposed(), [(1, 1), (3, 1), (4, 1)]);
    }

    /// As it is defined, document by document.
    fn naive(scoring: Scoring, lists: &[Vec<Posting>]) -> Vec<(u64, u32)> {
        let mut documents: Vec<Posting> = lists.iter().flatten().copied().collect();
        documents.sort_unstable();
        documents.dedup();
        let (mut proposed, mut others) = (Vec::new(), Vec::new());
        for document in documents {
            let speaks =
                |list: &&Vec<Posting>| list.iter().take(scoring.used).any(|other| *other == document);
            let lists: Vec<_> = lists.iter().filter(speaks).collect();
            let weight: u32 = lists.iter().map(|list| scoring.weight(list.len())).sum();
            let (count, n) = (lists.len() as u32, document.marks.min(20));
            if count > 0 && weight >= scoring.need(n) {
                proposed.push((document.ordinal, count));
            } else if count > 0 && scoring.may_be_spared(count, n) {
                others.push((Reverse(count), document.ordinal));
            }
        }
        others.sort_unstable();
        proposed.extend(others.iter().take(scoring.spare).map(|(count, version)| (*version, count.0)));
        proposed
    }

    proptest! {
        #[test]
        fn as_it_is_defined(
            documents in prop::collection::vec((0..1_u32 << 20, 1..40_u32), 0..60),
            (rare, used, percent, tenths) in (1..40_u32, 1..40_usize, 1..20_u32, 1..9_u32),
        ) {
            let scoring = Scoring { rare, used, percent, tenths, spare: 3, ..Scoring::DEFAULT };
            // A bit for each mark; the first ones are set in most.
            let has = |bits: u32, mark: u32| (bits | bits >> 7 << (mark / 2)) >> mark & 1 == 1;
            let of_mark = |mark: u32| {
                let documents = (0..).zip(&documents).filter(|(_, (bits, _))| has(*bits, mark));
                documents.map(|(ordinal, (_, marks))| posting(ordinal, 0, *marks)).collect::<Vec<_>>()
            };
            let lists: Vec<Vec<Posting>> = (0..20).map(of_mark).collect();
            let mut tally = Tally::new(scoring, 20, &[]);
            for (mark, list) in lists.iter().enumerate() {
                list.iter().for_each(|posting| tally.see(mark, *posting));
            }
            prop_assert_eq!(tally.proposed(), naive(scoring, &lists));
        }
    }

    #[test]
    fn sources_are_counted_once() {
        let scoring = Scoring { long: 4, ..Scoring::DEFAULT };
        let ask = |origin| {
            let question = Sources { marks: vec![9, 5, 9, 7], origin, except: None };
            let mut origins = Origins::new(scoring, &question, &[3]);
            assert_eq!(origins.marks, [5, 7, 9]);
            for (version, origin) in [(1, 1), (2, 1), (3, 8), (4, 4), (5, 1), (6, 6)] {
                origins.see(2, posting(version, origin, 1));
            }
            origins.see(0, posting(1, 1, 1));
            origins.answer(&question)
        };
        assert_eq!(ask(None), [3, 2, 3, 1]);
        assert_eq!(ask(Some(1)), [2, 1, 2, 1]);
        assert_eq!(ask(Some(6)), [3, 2, 3, 1], "the fifth and later are not seen");
    }
}
