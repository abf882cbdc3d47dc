//! Which earlier documents a document may be a copy of: the same arithmetic as a store's, on lists.

use super::BatchError;
use super::lists::{List, Lists, ONE_EARLIER, Sizes};
use leitong_store::Scoring;
use std::cmp::Reverse;

/// Numbers of the sketch: few enough to stay in the cache next to the processor, many more than documents that most are met with.
const SKETCH: usize = if cfg!(test) { 1 << 8 } else { 1 << 12 };

/// Marks of earlier documents that are noted before any is summed up: texts of many megabytes have more.
const NOTED: usize = if cfg!(test) { 1 << 7 } else { 1 << 20 };

/// Sums by document, in a table that grows with what is found and not with the corpus.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The documents of all marks that are asked for, and the weight of the mark.
    met: Vec<(u32, u32)>,
    /// How often each of them was met, or more often where several share a place. Nothing between two questions.
    sketch: Vec<u8>,
    /// Document plus one, weight, count; document 0 where a slot is free.
    slots: Vec<(u32, u32, u32)>,
    used: Vec<u32>,
    room: Vec<u32>,
}

/// The documents before one that a mark speaks for.
fn earlier<'l>(list: &List<'l>, ordinal: u32, scoring: &Scoring) -> impl Iterator<Item = &'l u32> + use<'l> {
    list.first.iter().take(scoring.used).take_while(move |&&document| document < ordinal)
}

/// Bits of a document's number that look random, as many as an index below a power of two needs.
fn scattered(document: u32, mask: usize) -> usize {
    (document.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask
}

impl Tally {
    fn slot(&self, document: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = scattered(document, mask);
        while self.slots[at].0 != 0 && self.slots[at].0 != document + 1 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Counts a mark that a document has in the table.
    fn add(&mut self, document: u32, weight: u32) {
        if self.used.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.slot(document);
        if self.slots[at].0 == 0 {
            self.slots[at].0 = document + 1;
            self.used.push(at as u32);
        }
        self.slots[at].1 += weight;
        self.slots[at].2 += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let held: Vec<(u32, u32, u32)> = self.used.drain(..).map(|at| self.slots[at as usize]).collect();
        let size = (self.slots.len() * 2).max(256);
        self.slots.clear();
        self.slots.resize(size, (0, 0, 0));
        for entry in held {
            let at = self.slot(entry.0 - 1);
            self.slots[at] = entry;
            self.used.push(at as u32);
        }
    }

    /// Notes a mark that a document has. Beyond what can be noted everything is summed up.
    fn meet(&mut self, document: u32, weight: u32) {
        if self.met.len() == NOTED {
            return self.add(document, weight);
        }
        self.met.push((document, weight));
        let times = &mut self.sketch[scattered(document, SKETCH - 1)];
        *times = times.saturating_add(1);
    }

    /// Sums up what was met often enough. Nearly all that share anything with a document share one mark or two by chance, and no
    /// more is known of them in the end than that it is not enough.
    fn sum_up(&mut self, marks: u32, sizes: &Sizes, scoring: &Scoring) {
        let own = Sizes::bounded(marks, scoring);
        let met = std::mem::take(&mut self.met);
        let all = met.len() == NOTED;
        for &(document, weight) in &met {
            let times = u32::from(self.sketch[scattered(document, SKETCH - 1)]);
            if all || times >= own || times >= sizes.least_in_common(document) {
                self.add(document, weight);
            }
        }
        for &(document, _) in &met {
            self.sketch[scattered(document, SKETCH - 1)] = 0;
        }
        self.met = met;
        self.met.clear();
    }

    /// The earlier documents proposed for one, those with the most marks in common first.
    pub(super) fn propose(
        &mut self,
        ordinal: u32,
        own: &[u64],
        lists: &Lists,
        sizes: &Sizes,
        scoring: &Scoring,
    ) -> Result<Vec<u32>, BatchError> {
        self.sketch.resize(SKETCH, 0);
        let mut room = std::mem::take(&mut self.room);
        for &one in own.iter().filter(|&&at| at & ONE_EARLIER > 0) {
            self.meet(one as u32, scoring.weight(1));
        }
        let listed = || own.iter().copied().filter(|at| at & ONE_EARLIER == 0);
        lists.expect(listed());
        for at in listed() {
            let list = lists.get(at, &mut room)?;
            let weight = scoring.weight(list.documents as usize - 1);
            earlier(&list, ordinal, scoring).for_each(|&document| self.meet(document, weight));
        }
        self.room = room;
        let marks = sizes.of(ordinal);
        self.sum_up(marks, sizes, scoring);
        let (mut proposed, mut spare) = (Vec::new(), Vec::new());
        for at in self.used.drain(..) {
            let (document, weight, count) = std::mem::take(&mut self.slots[at as usize]);
            let document = document - 1;
            let fewer = marks.min(sizes.of(document));
            if weight >= scoring.need(fewer) {
                proposed.push((Reverse(count), document));
            } else if scoring.may_be_spared(count, fewer) {
                spare.push((Reverse(count), document));
            }
        }
        spare.sort_unstable();
        proposed.extend(spare.into_iter().take(scoring.spare));
        proposed.sort_unstable();
        Ok(proposed.into_iter().map(|(_, document)| document).collect())
    }
}
