//! Finding by marks, at one moment or in the middle of a group.
//!
//! The mark index of a collection is made when its first outline comes; until then it costs nothing.

use super::engine::Read;
use super::find::Open;
use crate::StoreError;
use crate::marks::{self, Origins, Tally};
use crate::rank::Hits;
use crate::seam::{Probe, Sources};
use leitong_index::marks::{MarkIndex, Options, Posting};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

/// Marks that are kept in memory before they become a file, at 25 bytes each. After a crash so many are read again.
const IN_MEMORY: usize = 1_000_000;

/// Where the mark index of a collection is.
pub(super) fn folder(path: &Path, number: u32) -> PathBuf {
    path.join("index").join(format!("{number}-marks"))
}

/// Opens a mark index, or makes one.
pub(super) fn open_index(path: &Path, number: u32) -> Result<MarkIndex, StoreError> {
    Ok(MarkIndex::open(&folder(path, number), &Options { fresh: IN_MEMORY, ..Options::default() })?)
}

/// What the index does not know yet of a collection: the marks that a group adds, and the versions it removes.
#[derive(Debug, Default)]
pub(super) struct Pending {
    documents: Vec<Posting>,
    /// The first and the last entry of each mark. Entries are chained, for most marks have one only.
    lists: HashMap<u32, (u32, u32), BuildHasherDefault<AsItIs>>,
    /// A place in `documents`, and the next entry of the mark: behind this one, or 0.
    entries: Vec<(u32, u32)>,
    pub(super) removed: Vec<u64>,
}

impl Pending {
    pub(super) fn insert(&mut self, version: u64, origin: u64, marks: &[u32]) {
        let place = self.documents.len() as u32;
        self.documents.push(Posting { ordinal: version, origin, marks: marks.len() as u32 });
        for mark in marks {
            let new = self.entries.len() as u32;
            self.entries.push((place, 0));
            let (_, last) = self.lists.entry(*mark).or_insert((new, new));
            if *last != new {
                self.entries[*last as usize].1 = new;
                *last = new;
            }
        }
    }

    fn look_up(&self, marks: &[u32], each: &mut dyn FnMut(usize, Posting)) {
        for (at, mark) in marks.iter().enumerate().filter(|_| !self.documents.is_empty()) {
            let mut entry = self.lists.get(mark).map(|(first, _)| self.entries[*first as usize]);
            while let Some((place, next)) = entry {
                each(at, self.documents[place as usize]);
                entry = (next > 0).then(|| self.entries[next as usize]);
            }
        }
    }
}

/// Marks are hashes: spread evenly enough over the table as they are.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, value: u32) {
        // The table looks at the uppermost bits too.
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Marks that have more documents than are counted. Once that is known, only the documents that are used need be looked at,
/// as long as not so many have been deleted that it may no longer be true.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// Documents deleted since the store was opened.
    deleted: AtomicU64,
    /// The number of deletions up to which it is true of a mark.
    until: RwLock<HashMap<u32, u64, BuildHasherDefault<AsItIs>>>,
}

impl Common {
    pub(super) fn note_deletion(&self) {
        self.deleted.fetch_add(1, Relaxed);
    }

    /// Moves the marks to the front that are common though some documents are hidden, and says how many they are.
    fn sort(&self, marks: &mut [u32], hidden: usize) -> usize {
        let until = self.until.read().unwrap_or_else(PoisonError::into_inner);
        if until.is_empty() {
            return 0;
        }
        let gone = self.deleted.load(Relaxed) + hidden as u64;
        let is_common = |mark: &u32| until.get(mark).is_some_and(|&until| gone <= until);
        let (common, others): (Vec<u32>, Vec<u32>) = marks.iter().partition(|mark| is_common(mark));
        marks[..common.len()].copy_from_slice(&common);
        marks[common.len()..].copy_from_slice(&others);
        common.len()
    }

    /// Notes that a mark has so many documents more than are counted.
    fn note(&self, mark: u32, more: u64) {
        let until = self.deleted.load(Relaxed) + more;
        self.until.write().unwrap_or_else(PoisonError::into_inner).insert(mark, until);
    }
}

/// A question for marks: who asks, when, and what has changed since the index was.
pub(super) struct Asked<'a> {
    /// The version of the document that asks, which does not count.
    pub(super) own: Option<u64>,
    pub(super) now: i64,
    pub(super) pending: Option<&'a Pending>,
}

impl Open {
    /// The mark index, made if there is none.
    pub(super) fn mark_index(&self, path: &Path) -> Result<&MarkIndex, StoreError> {
        if self.marks.get().is_none() {
            // Only the writer makes one, so nobody else has meanwhile.
            let _ = self.marks.set(open_index(path, self.number)?);
        }
        let none = || StoreError::Damaged { path: path.to_owned(), what: "a mark index is missing".into() };
        self.marks.get().ok_or_else(none)
    }

    /// What the marks among the probes find.
    pub(super) fn find_marks(
        &self,
        read: &impl Read,
        probes: &[Probe],
        asked: &Asked<'_>,
        hits: &mut Hits,
    ) -> Result<(), StoreError> {
        if self.marks.get().is_none() {
            return Ok(());
        }
        let mut hidden = None;
        for mut marks in marks::probed(probes) {
            let hidden = match &mut hidden {
                Some(hidden) => hidden,
                none => none.insert(self.hidden(read, asked)?),
            };
            let common = self.common.sort(&mut marks, hidden.len());
            let mut tally = Tally::new(self.scoring, marks.len(), hidden).with_common(common);
            let (first, rest) = marks.split_at(common);
            let most = tally.most_of_common();
            self.look_up(first, most, asked.pending, &mut |mark, posting| tally.see(mark, posting))?;
            let most = tally.most();
            self.look_up(rest, most, asked.pending, &mut |mark, posting| tally.see(common + mark, posting))?;
            tally.newly_common().try_for_each(|place| self.note_common(marks[place]))?;
            tally.proposed().into_iter().for_each(|(version, count)| hits.marks(version, count));
        }
        Ok(())
    }

    /// Finds out how much more than common a mark is.
    fn note_common(&self, mark: u32) -> Result<(), StoreError> {
        let mut count = 0;
        if let Some(index) = self.marks.get() {
            index.look_up(&[mark], 2 * self.scoring.long, &mut |_, _| count += 1)?;
        }
        if count >= self.scoring.long {
            self.common.note(mark, (count - self.scoring.long) as u64);
        }
        Ok(())
    }

    /// How many sources each mark of a question has.
    pub(super) fn sources(
        &self,
        read: &impl Read,
        question: &Sources,
        asked: &Asked<'_>,
    ) -> Result<Vec<u32>, StoreError> {
        let hidden = self.hidden(read, asked)?;
        let mut origins = Origins::new(self.scoring, question, &hidden);
        let (marks, most) = (origins.marks.clone(), origins.most());
        self.look_up(&marks, most, asked.pending, &mut |mark, posting| origins.see(mark, posting))?;
        Ok(origins.answer(question))
    }

    /// The documents of each mark, up to a number of each: first those of the index, then those of the group, which are younger.
    fn look_up(
        &self,
        marks: &[u32],
        most: usize,
        pending: Option<&Pending>,
        each: &mut dyn FnMut(usize, Posting),
    ) -> Result<(), StoreError> {
        if let Some(index) = self.marks.get() {
            index.look_up(marks, most, each)?;
        }
        pending.into_iter().for_each(|pending| pending.look_up(marks, each));
        Ok(())
    }

    /// Versions that are in the index or the group and not there for the question, in order.
    fn hidden(&self, read: &impl Read, asked: &Asked<'_>) -> Result<Vec<u64>, StoreError> {
        let mut hidden: Vec<u64> = asked.own.into_iter().collect();
        hidden.extend(asked.pending.iter().flat_map(|pending| &pending.removed));
        self.each_expired(read, asked.now, &mut |version| {
            hidden.push(version);
            true
        })?;
        hidden.sort_unstable();
        hidden.dedup();
        Ok(hidden)
    }
}
