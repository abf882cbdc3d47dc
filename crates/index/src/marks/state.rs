//! What an index consists of: the parts, the mutable one among them, and the locks around them.

use super::fresh::Fresh;
use super::part::{Body, Part};
use super::{MarkError, Options, Stats};
use crate::files::{Deleted, Folder};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Ordinals of a part lie less than this apart.
pub(super) const MOST_APART: u64 = u32::MAX as u64;

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) options: Options,
    pub(super) folder: Option<Folder>,
    pub(super) state: RwLock<State>,
    /// Held while segments are merged: one merge at a time. Taken before `files`.
    pub(super) merging: Mutex<()>,
    /// Held while segments are made of mutable parts, and while the manifest is written: files that are to be removed as
    /// soon as the manifest no longer lists them.
    pub(super) files: Mutex<Vec<u64>>,
    pub(super) signal: Mutex<Signal>,
    pub(super) wake: Condvar,
    /// The threads are to end.
    pub(super) stop: AtomicBool,
}

#[derive(Debug)]
pub(super) struct State {
    /// Parts that no longer change, in order of their ordinals, segments before frozen ones.
    pub(super) parts: Vec<Part>,
    pub(super) fresh: Fresh,
    /// The first ordinal the mutable part answers for.
    pub(super) fresh_start: u64,
    pub(super) next: u64,
    /// Of the documents that are in a part.
    pub(super) deleted: Deleted,
}

#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) seal: bool,
    pub(super) merge: bool,
    /// What went wrong in the background, for the next caller.
    pub(super) failure: Option<MarkError>,
}

impl State {
    pub(super) fn new(parts: Vec<Part>, next: u64, deleted: Deleted) -> Self {
        Self { parts, fresh: Fresh::new(), fresh_start: next, next, deleted }
    }

    /// What the index consists of.
    pub(super) fn stats(&self) -> Stats {
        let (documents, postings) = (self.fresh.documents().len() as u64, self.fresh.postings());
        let mut stats = Stats { documents, postings, fresh: postings, next: self.next, ..Stats::default() };
        for part in &self.parts {
            stats.documents += part.body.documents();
            stats.postings += part.body.postings();
            match &part.body {
                Body::Segment(segment) => {
                    (stats.segments, stats.bytes) = (stats.segments + 1, stats.bytes + segment.bytes());
                }
                Body::Fresh(fresh) => stats.fresh += fresh.postings(),
            }
        }
        stats.deleted = self.deleted.count();
        stats.documents -= stats.deleted;
        stats
    }

    /// The first ordinal that no segment answers for yet.
    pub(super) fn segmented(&self) -> u64 {
        self.parts.iter().find(|part| part.is_frozen()).map_or(self.fresh_start, |part| part.ordinals.start)
    }

    /// Moves the mutable part to those that no longer change.
    pub(super) fn freeze(&mut self) {
        let ordinals = self.fresh_start..self.next;
        if !self.fresh.documents().is_empty() {
            let fresh = std::mem::replace(&mut self.fresh, Fresh::new());
            self.parts.push(Part { ordinals, body: Body::Fresh(Arc::new(fresh)), file: None });
        }
        self.fresh_start = self.next;
    }

    /// What the mutable part takes: a document costs as much as a mark or two.
    pub(super) fn fresh_size(&self) -> u64 {
        self.fresh.postings() + self.fresh.documents().len() as u64
    }

    pub(super) fn has(&self, ordinal: u64) -> Result<bool, MarkError> {
        if ordinal >= self.fresh_start {
            return Ok(self.fresh.has(ordinal));
        }
        let place = self.parts.partition_point(|part| part.ordinals.end <= ordinal);
        self.parts.get(place).map_or(Ok(false), |part| part.body.has(ordinal))
    }
}

impl Inner {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What went wrong in the background since the last call.
    pub(super) fn failure(&self) -> Result<(), MarkError> {
        lock_mutex(&self.signal).failure.take().map_or(Ok(()), Err)
    }
}

pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
