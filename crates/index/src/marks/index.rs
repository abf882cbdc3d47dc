//! The index as its users see it.
//!
//! Additions go to the mutable part. When it has grown enough it is frozen and, in the background, made into a segment;
//! segments of similar size are merged, so that there are only a few. Deletions set a bit; the next merge leaves the
//! document out. Readers wait for neither.

use super::fresh::Fresh;
use super::look_up::{Reading, look_up};
use super::part::{Body, Part};
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::{KIND, MarkError, Posting, SETTINGS};
use crate::files::{self, Deleted, Folder, Listed, Manifest};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

/// A snapshot copies a mutable part up to this many postings; a larger one is frozen instead.
const COPIED: u64 = 1 << 16;
/// Ordinals of a part lie less than this apart.
pub(super) const MOST_APART: u64 = u32::MAX as u64;
/// An insertion waits when the mutable part is this many times as large as it should be: memory stays bounded.
const OVERFULL: u64 = 4;
/// An insertion that makes a segment necessary waits for a merge when there are so many.
const MOST_PARTS: usize = 24;

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
    /// Documents deleted that are still held: a merge drops them.
    pub deleted: u64,
    /// Marks of all documents, with those of deleted ones that are still held.
    pub postings: u64,
    /// The ordinal behind all that has been seen.
    pub next: u64,
    /// Segments.
    pub segments: usize,
    /// Postings that are in no segment yet.
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
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) options: Options,
    pub(super) folder: Option<Folder>,
    state: RwLock<State>,
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
    fresh: Fresh,
    /// The first ordinal the mutable part answers for.
    fresh_start: u64,
    next: u64,
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
    fn new(parts: Vec<Part>, next: u64, deleted: Deleted) -> Self {
        Self { parts, fresh: Fresh::new(), fresh_start: next, next, deleted }
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
    fn fresh_size(&self) -> u64 {
        self.fresh.postings() + self.fresh.documents().len() as u64
    }

    fn has(&self, ordinal: u64) -> Result<bool, MarkError> {
        if ordinal >= self.fresh_start {
            return Ok(self.fresh.has(ordinal));
        }
        let place = self.parts.partition_point(|part| part.ordinals.end <= ordinal);
        self.parts.get(place).map_or(Ok(false), |part| part.body.has(ordinal))
    }
}

impl MarkIndex {
    /// An empty index that lives in memory only.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::in_memory_with(&Options::default())
    }

    /// An empty index that lives in memory only, kept in a certain way.
    #[must_use]
    pub fn in_memory_with(options: &Options) -> Self {
        Self::start(options, None, State::new(Vec::new(), 0, Deleted::default()))
    }

    /// Opens the index in a folder, or makes a new one there. What was added or deleted after the last
    /// [`MarkIndex::flush`] may not be in it: [`MarkIndex::next`] says from where on to add again, and deletions are to be
    /// repeated.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, MarkError> {
        std::fs::create_dir_all(folder).map_err(|error| files::FileError::io(folder, error))?;
        let lock = files::lock(folder)?;
        let (manifest, deleted) = match Manifest::read(&KIND, folder)? {
            Some(read) => read,
            None => {
                files::refuse_segments(folder)?;
                let new = Manifest { settings: SETTINGS, ..Manifest::default() };
                new.write(&KIND, folder, &Deleted::default())?;
                (new, Deleted::default())
            }
        };
        if manifest.settings != SETTINGS {
            let reason = "its marks are of another kind: use the program that wrote it";
            return Err(MarkError::Refused { path: folder.to_owned(), reason: reason.into() });
        }
        let parts = manifest.segments.iter().map(|listed| open_part(folder, listed));
        let parts = parts.collect::<Result<Vec<_>, MarkError>>()?;
        let next_file = AtomicU64::new(parts.iter().filter_map(|part| part.file).max().unwrap_or(0) + 1);
        let own = Folder { path: folder.to_owned(), next_file, _lock: lock };
        own.remove_strangers(&manifest)?;
        Ok(Self::start(options, Some(own), State::new(parts, manifest.end, deleted)))
    }

    fn start(options: &Options, folder: Option<Folder>, state: State) -> Self {
        let inner = Arc::new(Inner {
            options: options.clone(),
            folder,
            state: RwLock::new(state),
            merging: Mutex::new(()),
            files: Mutex::new(Vec::new()),
            signal: Mutex::new(Signal::default()),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        // Without threads to be had, all happens within the calls that need it.
        let threads = if options.background { inner.start_threads() } else { Vec::new() };
        Self { inner, threads }
    }

    /// Adds a document behind all others. Its marks may come in any order and repeated; they count once. What failed in
    /// the background is reported by the next call that changes something, which then has done nothing.
    pub fn insert_at(&self, ordinal: u64, origin: u64, marks: &[u32]) -> Result<(), MarkError> {
        self.inner.failure()?;
        let mut marks = marks.to_vec();
        marks.sort_unstable();
        marks.dedup();
        let mut state = self.inner.write();
        if ordinal < state.next {
            return Err(MarkError::Order { ordinal, next: state.next });
        }
        let first = state.fresh.documents().first().map_or(ordinal, |document| document.ordinal);
        if ordinal - first >= MOST_APART {
            state.freeze();
        }
        state.fresh.insert(ordinal, origin, &marks);
        state.next = ordinal.saturating_add(1);
        let (size, parts) = (state.fresh_size(), state.parts.len());
        drop(state);
        if size >= self.inner.options.fresh as u64 {
            self.seal_soon(size, parts);
        }
        Ok(())
    }

    /// Says that there is nothing under the ordinals below this one that is not there now.
    pub fn skip_to(&self, ordinal: u64) -> Result<(), MarkError> {
        self.inner.failure()?;
        let mut state = self.inner.write();
        state.next = state.next.max(ordinal);
        Ok(())
    }

    /// The ordinal behind all that has been seen: from here on an owner feeds the index again after opening it.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.inner.read().next
    }

    /// Deletes a document; false if there is none with this ordinal any more.
    pub fn delete(&self, ordinal: u64) -> Result<bool, MarkError> {
        self.inner.failure()?;
        let mut state = self.inner.write();
        Ok(state.has(ordinal)? && state.deleted.insert(ordinal))
    }

    /// For every mark, by its place in `marks`: the live documents that have it, ascending, at most `most` of each. Places
    /// come in order. All answers are of one moment: `each` is called while the index is locked for reading, so it must
    /// not use the index itself. An error may come after some answers; those were right.
    pub fn look_up(
        &self,
        marks: &[u32],
        most: usize,
        each: &mut dyn FnMut(usize, Posting),
    ) -> Result<(), MarkError> {
        let state = self.inner.read();
        let mut readings: Vec<Reading<'_>> = state.parts.iter().map(Reading::of).collect();
        readings.push(Reading::Fresh(&state.fresh));
        look_up(&readings, &state.deleted, marks, most, each)
    }

    /// The index as it is now, for reading without locks.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut state = self.inner.write();
        if state.fresh_size() > COPIED {
            state.freeze();
        }
        let mut parts = state.parts.clone();
        if !state.fresh.documents().is_empty() {
            let body = Body::Fresh(Arc::new(state.fresh.clone()));
            parts.push(Part { ordinals: state.fresh_start..state.next, body, file: None });
        }
        Snapshot { parts, deleted: state.deleted.clone(), next: state.next }
    }

    /// Writes down everything added and deleted so far, for good.
    pub fn flush(&self) -> Result<(), MarkError> {
        self.inner.failure()?;
        self.inner.seal()?;
        self.merge_soon();
        Ok(())
    }

    /// Makes one segment of everything, without what has been deleted. (More than one where more than 2³² postings or
    /// ordinals would be in it.)
    pub fn merge(&self) -> Result<(), MarkError> {
        self.inner.failure()?;
        self.inner.merge_all()
    }

    /// Reads every segment once and compares all checksums.
    pub fn verify(&self) -> Result<(), MarkError> {
        let parts = self.inner.read().parts.clone();
        parts.iter().try_for_each(|part| match &part.body {
            Body::Segment(segment) => segment.verify(),
            Body::Fresh(_) => Ok(()),
        })
    }

    /// Calls `each` with the ordinal, the origin and the number of distinct marks of every live document, ascending. They
    /// are those of the moment of the call; nothing is locked meanwhile.
    pub fn for_each(&self, each: &mut dyn FnMut(u64, u64, u32)) -> Result<(), MarkError> {
        self.snapshot().for_each(each)
    }

    /// What the index consists of.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.inner.read();
        let (documents, postings) = (state.fresh.documents().len() as u64, state.fresh.postings());
        let mut stats = Stats { documents, postings, fresh: postings, next: state.next, ..Stats::default() };
        for part in &state.parts {
            stats.documents += part.body.documents();
            stats.postings += part.body.postings();
            match &part.body {
                Body::Segment(segment) => {
                    (stats.segments, stats.bytes) = (stats.segments + 1, stats.bytes + segment.bytes());
                }
                Body::Fresh(fresh) => stats.fresh += fresh.postings(),
            }
        }
        stats.deleted = state.deleted.count();
        stats.documents -= stats.deleted;
        stats
    }

    /// Makes a segment of the mutable part, in the background where there is a thread for it. What was added stays added
    /// whatever becomes of it, so a failure waits for the next call.
    fn seal_soon(&self, size: u64, parts: usize) {
        let background = !self.threads.is_empty();
        if background {
            lock_mutex(&self.inner.signal).seal = true;
            self.inner.wake.notify_all();
        }
        if !background || size >= OVERFULL * self.inner.options.fresh as u64 {
            self.inner.note(Inner::seal);
        }
        if !background || parts >= MOST_PARTS {
            self.inner.note(Inner::merge_due);
        }
    }

    fn merge_soon(&self) {
        if self.threads.is_empty() {
            self.inner.note(Inner::merge_due);
        } else {
            lock_mutex(&self.inner.signal).merge = true;
            self.inner.wake.notify_all();
        }
    }
}

impl Drop for MarkIndex {
    fn drop(&mut self) {
        self.inner.stop_threads();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
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
    fn failure(&self) -> Result<(), MarkError> {
        lock_mutex(&self.signal).failure.take().map_or(Ok(()), Err)
    }
}

fn open_part(folder: &Path, listed: &Listed) -> Result<Part, MarkError> {
    let path = files::segment_path(folder, listed.file);
    let segment = Segment::open(&path)?;
    if segment.identity() != listed.identity {
        return Err(MarkError::Foreign { path });
    }
    let body = Body::Segment(Arc::new(segment));
    Ok(Part { ordinals: listed.ordinals.clone(), body, file: Some(listed.file) })
}

pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
