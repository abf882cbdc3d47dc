//! Which earlier documents a document may be a copy of: the same arithmetic as a store's, on lists.

use super::BatchError;
use super::lists::{List, Lists, ONE_EARLIER, Sizes};
use leitong_store::Scoring;
use std::cmp::Reverse;

/// Sums by document, in a table that grows with what is found and not with the corpus.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Document plus one, weight, count; document 0 where a slot is free.
    slots: Vec<(u32, u32, u32)>,
    used: Vec<u32>,
    room: Vec<u32>,
    common: Vec<u64>,
}

/// The documents before one that a mark speaks for.
fn earlier<'l>(list: &List<'l>, ordinal: u32, scoring: &Scoring) -> impl Iterator<Item = &'l u32> + use<'l> {
    list.first.iter().take(scoring.used).take_while(move |&&document| document < ordinal)
}

impl Tally {
    fn slot(&self, document: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (document.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        while self.slots[at].0 != 0 && self.slots[at].0 != document + 1 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Counts a mark that a document has; if nothing is known of it yet, only if it is `worth` it.
    fn add(&mut self, document: u32, weight: u32, worth: impl FnOnce() -> bool) {
        if self.used.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.slot(document);
        if self.slots[at].0 == 0 {
            if !worth() {
                return;
            }
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

    /// The earlier documents proposed for one, those with the most marks in common first.
    pub(super) fn propose(
        &mut self,
        ordinal: u32,
        own: &[u64],
        lists: &Lists,
        sizes: &Sizes,
        scoring: &Scoring,
    ) -> Result<Vec<u32>, BatchError> {
        let mut room = std::mem::take(&mut self.room);
        let full = scoring.weight(1);
        for &one in own.iter().filter(|&&at| at & ONE_EARLIER > 0) {
            self.add(one as u32, full, || true);
        }
        let listed = || own.iter().copied().filter(|at| at & ONE_EARLIER == 0);
        lists.expect(listed());
        // Rare marks first. Most documents that share a common one share nothing else: unless they are so short that common
        // marks are enough, they need not be counted.
        let (mut common, mut together) = (std::mem::take(&mut self.common), 0);
        for at in listed() {
            let list = lists.get(at, &mut room)?;
            let weight = scoring.weight(list.documents as usize - 1);
            if weight < full {
                common.push(at);
                together = u32::saturating_add(together, weight);
                continue;
            }
            for &document in earlier(&list, ordinal, scoring) {
                self.add(document, weight, || true);
            }
        }
        let marks = sizes.of(ordinal);
        let long = scoring.too_long(together, common.len() as u32, marks);
        for at in common.drain(..) {
            let list = lists.get(at, &mut room)?;
            let weight = scoring.weight(list.documents as usize - 1);
            for &document in earlier(&list, ordinal, scoring) {
                self.add(document, weight, || long.is_none_or(|long| sizes.is_below(document, long)));
            }
        }
        (self.room, self.common) = (room, common);
        let (mut proposed, mut spare) = (Vec::new(), Vec::new());
        let (few, need) = (marks.min(Sizes::FEW), scoring.need(marks.min(Sizes::FEW)));
        for at in self.used.drain(..) {
            let (document, weight, count) = std::mem::take(&mut self.slots[at as usize]);
            let document = document - 1;
            // The more marks the shorter of both has, the more is needed: most have too little, whatever their number is.
            if weight < need && !scoring.may_be_spared(count, few) && sizes.has_many(document) {
                continue;
            }
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
