//! The index as its users see it.
//!
//! Additions go to the mutable part. When it has grown enough it is frozen and, in the background, made into a segment;
//! segments of similar size are merged, so that there are only a few. Deletions set a bit; the next merge leaves the
//! document out. Readers wait for neither.

use super::look_up::{Reading, look_up};
use super::part::{Body, Part};
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::state::{Inner, MOST_APART, Signal, State, lock_mutex};
use super::{KIND, MarkError, Options, Posting, SETTINGS, Stats};
use crate::files::{self, Deleted, Folder, Listed, Manifest};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::thread::JoinHandle;

/// A snapshot copies a mutable part up to this many postings; a larger one is frozen instead.
const COPIED: u64 = 1 << 16;
/// An insertion waits when the mutable part is this many times as large as it should be: memory stays bounded.
const OVERFULL: u64 = 4;
/// An insertion that makes a segment necessary waits for a merge when there are so many: merging cannot keep up then.
const MOST_PARTS: usize = 48;

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
    /// Started when there is first something to do for them.
    threads: OnceLock<Vec<JoinHandle<()>>>,
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
        Self { inner, threads: OnceLock::new() }
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
        self.inner.read().stats()
    }

    /// Whether there are threads for making and merging segments. Where none are to be had, that happens within the calls
    /// that need it.
    fn has_threads(&self) -> bool {
        let start = || if self.inner.options.background { self.inner.start_threads() } else { Vec::new() };
        !self.threads.get_or_init(start).is_empty()
    }

    /// Makes a segment of the mutable part, in the background where there is a thread for it. What was added stays added
    /// whatever becomes of it, so a failure waits for the next call.
    fn seal_soon(&self, size: u64, parts: usize) {
        let background = self.has_threads();
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
        let state = self.inner.read();
        if state.parts.len() < 2 && state.deleted.is_empty() {
            return;
        }
        drop(state);
        if !self.has_threads() {
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
        for thread in self.threads.take().into_iter().flatten() {
            let _ = thread.join();
        }
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
