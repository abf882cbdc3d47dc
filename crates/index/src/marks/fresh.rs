//! The mutable part: a hash table from a mark to the list of its documents, in the order they came.
//!
//! Marks are cut into shards by their top bits. Each shard grows on its own, so that no insertion waits for a table of
//! millions to be laid out anew, and each is sorted on its own, within the cache, when the part becomes a segment.

use super::Posting;
use crate::machine;

/// Top bits of a mark that tell its shard.
const SHARD_BITS: u32 = 8;
/// Marks of a document announced at once.
const GROUP: usize = 32;
/// Marks in ascending order, one shard after the other.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;

/// Documents and their marks. Rows are numbered in the order of insertion.
#[derive(Clone, Debug)]
pub(super) struct Fresh {
    documents: Vec<Posting>,
    postings: u64,
    shards: Vec<Shard>,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    /// A power of two, or none at all.
    slots: Vec<Slot>,
    used: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    mark: u32,
    /// The newest entry, plus one; 0 in a free slot.
    last: u32,
}

/// A document in the list of a mark.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: u32,
    /// The next newer entry; behind the newest the oldest, so that both ends are one step from the slot.
    next: u32,
}

impl Fresh {
    pub(super) fn new() -> Self {
        Self { documents: Vec::new(), postings: 0, shards: vec![Shard::default(); SHARDS] }
    }

    /// By row, ascending by ordinal.
    pub(super) fn documents(&self) -> &[Posting] {
        &self.documents
    }

    pub(super) fn postings(&self) -> u64 {
        self.postings
    }

    /// Whether there is a document of this ordinal.
    pub(super) fn has(&self, ordinal: u64) -> bool {
        self.documents.binary_search_by_key(&ordinal, |document| document.ordinal).is_ok()
    }

    /// Adds a document behind all others, with its distinct marks.
    pub(super) fn insert(&mut self, ordinal: u64, origin: u64, marks: &[u32]) {
        let row = self.documents.len() as u32;
        self.documents.push(Posting { ordinal, origin, marks: marks.len() as u32 });
        self.postings += marks.len() as u64;
        for group in marks.chunks(GROUP) {
            group.iter().for_each(|&mark| self.announce(mark));
            group.iter().for_each(|&mark| self.shards[shard_of(mark)].insert(mark, row));
        }
    }

    /// Announces a mark that will be looked up.
    #[inline]
    pub(super) fn announce(&self, mark: u32) {
        let shard = &self.shards[shard_of(mark)];
        if !shard.slots.is_empty() {
            machine::prefetch(&shard.slots, shard.home(mark));
        }
    }

    /// The newest entry of a mark.
    #[inline]
    pub(super) fn find(&self, mark: u32) -> Option<u32> {
        let shard = &self.shards[shard_of(mark)];
        let slot = shard.slots.get(shard.find(mark)?)?;
        let last = slot.last.checked_sub(1)?;
        machine::prefetch(&shard.entries, last as usize);
        Some(last)
    }

    /// The documents of a mark whose newest entry is `last`, oldest first.
    #[inline]
    pub(super) fn list(&self, mark: u32, last: u32) -> impl Iterator<Item = &Posting> {
        self.shards[shard_of(mark)].rows(last).map(|row| &self.documents[row as usize])
    }

    /// Gives the postings of a shard, sorted, each as the mark above the row.
    pub(super) fn shard(&self, shard: usize, postings: &mut Vec<u64>) {
        let shard = &self.shards[shard];
        let mut used: Vec<Slot> = shard.slots.iter().filter(|slot| slot.last != 0).copied().collect();
        used.sort_unstable_by_key(|slot| slot.mark);
        postings.reserve(shard.entries.len());
        for slot in used {
            let above = u64::from(slot.mark) << 32;
            postings.extend(shard.rows(slot.last - 1).map(|row| above | u64::from(row)));
        }
    }
}

#[inline]
fn shard_of(mark: u32) -> usize {
    (mark >> (32 - SHARD_BITS)) as usize
}

impl Shard {
    fn insert(&mut self, mark: u32, row: u32) {
        // At most two thirds are used, so a search ends soon.
        if self.used * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        let new = self.entries.len() as u32;
        let Some(slot) = self.find(mark) else { return };
        let slot = &mut self.slots[slot];
        if slot.last == 0 {
            self.used += 1;
            slot.mark = mark;
            self.entries.push(Entry { row, next: new });
        } else {
            let last = &mut self.entries[slot.last as usize - 1];
            let oldest = std::mem::replace(&mut last.next, new);
            self.entries.push(Entry { row, next: oldest });
        }
        slot.last = new + 1;
    }

    fn grow(&mut self) {
        let larger = vec![Slot::default(); (self.slots.len() * 2).max(8)];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.last != 0) {
            if let Some(place) = self.find(slot.mark) {
                self.slots[place] = slot;
            }
        }
    }

    /// Where a mark's search begins: spread once more, because the marks of a shard may be anything.
    #[inline]
    fn home(&self, mark: u32) -> usize {
        ((u64::from(mark.wrapping_mul(0x9e37_79b1)) * self.slots.len() as u64) >> 32) as usize
    }

    /// The slot of a mark, or the free one where it belongs; `None` while there are no slots.
    #[inline]
    fn find(&self, mark: u32) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let mut place = self.home(mark);
        while self.slots[place].last != 0 && self.slots[place].mark != mark {
            place = (place + 1) & last;
        }
        Some(place)
    }

    #[inline]
    fn rows(&self, last: u32) -> impl Iterator<Item = u32> {
        let mut at = Some(self.entries[last as usize].next);
        std::iter::from_fn(move || {
            let entry = self.entries[at? as usize];
            at = (at != Some(last)).then_some(entry.next);
            Some(entry.row)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_complete_and_in_order(
            documents in prop::collection::vec(
                prop::collection::btree_set(prop_oneof![0..20_u32, any::<u32>(), (0..9_u32).prop_map(|n| n << 24)], 0..30),
                0..60,
            ),
        ) {
            let mut fresh = Fresh::new();
            let mut truth = std::collections::BTreeMap::<u32, Vec<u32>>::new();
            for (row, marks) in (0..).zip(&documents) {
                let marks: Vec<u32> = marks.iter().copied().collect();
                fresh.insert(u64::from(row) * 3, 7, &marks);
                marks.iter().for_each(|&mark| truth.entry(mark).or_default().push(row));
            }
            for mark in (0..25).chain(truth.keys().copied()) {
                let list = fresh.find(mark).map(|last| fresh.list(mark, last).map(|d| (d.ordinal / 3) as u32).collect());
                prop_assert_eq!(list, truth.get(&mark).cloned());
            }
            let mut all = Vec::new();
            (0..SHARDS).for_each(|shard| fresh.shard(shard, &mut all));
            let expected = truth.iter().flat_map(|(&mark, rows)| rows.iter().map(move |&row| u64::from(mark) << 32 | u64::from(row)));
            prop_assert_eq!(all, expected.collect::<Vec<_>>());
            prop_assert_eq!(fresh.postings(), truth.values().map(|rows| rows.len() as u64).sum::<u64>());
        }
    }
}
