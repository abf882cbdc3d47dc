//! An index that changes: segments, a mutable part, and what has been deleted.
//!
//! Additions go to the mutable part. When it has grown enough it is frozen and, in the background, made into a segment;
//! segments of similar size are merged, so that there are only a few. Deletions set a bit; the next merge leaves the
//! fingerprint out. Readers never wait for a merge.

use super::fresh::Fresh;
use super::plan;
use super::segment::{Build, Searcher, Segment, Source};
use super::view::{Body, Match, Numbered, Part, Snapshot, live};
use super::{HammingError, KIND, MOST_ITEMS};
use crate::Value;
use crate::files::{self, Deleted, Folder, Listed, Manifest};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;

/// Queries answered under one lock, so that a long list of them does not keep writers waiting.
const QUERIES_PER_LOCK: usize = 1024;
/// A snapshot copies a mutable part up to this many items; a larger one is frozen instead.
const COPIED: usize = 4096;
/// In a larger mutable part searches take longer than in a segment.
const MOST_FRESH: u64 = 4_000_000;

/// A gap of ordinals up to this long is filled with deleted values; a longer one starts a part of its own.
const FILLED: u64 = 4096;

/// How an index is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// How its segments are built.
    pub build: Build,
    /// Items in the mutable part before it is made into a segment; a tenth of all items if that is more, up to a few
    /// million.
    pub fresh: usize,
    /// Merge in a thread of its own; otherwise when the mutable part is full, within the call that filled it.
    pub background: bool,
}

impl Options {
    /// For distances up to `k`.
    #[must_use]
    pub fn new(k: u32) -> Self {
        Self { build: Build::new(k), fresh: 100_000, background: true }
    }
}

/// What an index consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Fingerprints that can be found.
    pub items: u64,
    /// Ordinals ever deleted.
    pub deleted: u64,
    /// The ordinal the next fingerprint will have.
    pub next: u64,
    /// Segments.
    pub segments: usize,
    /// Items in the mutable part and in frozen ones.
    pub fresh: u64,
    /// Bytes of the segments.
    pub bytes: u64,
}

/// A set of fingerprints that can be added to, deleted from and searched by many threads.
///
/// ```
/// use leitong_index::hamming::{Index, Options};
/// let index = Index::<u64>::in_memory(Options::new(3))?;
/// let first = index.insert(0xa734_3808_8663_6d9e)?;
/// let matches = index.find(0xa734_3808_8663_6d9f, 3)?;
/// assert_eq!((matches[0].ordinal, matches[0].distance), (first, 1));
/// # Ok::<(), leitong_index::hamming::HammingError>(())
/// ```
#[derive(Debug)]
pub struct Index<V: Value> {
    inner: Arc<Inner<V>>,
    merger: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct Inner<V> {
    pub(super) options: Options,
    pub(super) folder: Option<Folder>,
    state: RwLock<State<V>>,
    /// Held while parts are being replaced: one merge at a time.
    pub(super) merging: Mutex<()>,
    pub(super) signal: Mutex<Signal>,
    pub(super) wake: Condvar,
    searchers: Mutex<Vec<Searcher>>,
}

#[derive(Debug)]
pub(super) struct State<V> {
    /// Parts that no longer change, in order of their ordinals.
    pub(super) parts: Vec<Part<V>>,
    fresh: Fresh<V>,
    pub(super) fresh_start: u64,
    pub(super) deleted: Deleted,
}

#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) due: bool,
    pub(super) stop: bool,
    /// What went wrong in the background, for the next caller.
    pub(super) failure: Option<HammingError>,
}

impl<V: Value> State<V> {
    fn next(&self) -> u64 {
        self.fresh_start + self.fresh.values().len() as u64
    }

    /// The first ordinal that is in no segment yet.
    pub(super) fn segmented(&self) -> u64 {
        let frozen = self.parts.iter().find(|part| matches!(part.body, Body::Fresh(_)));
        frozen.map_or(self.fresh_start, |part| part.ordinals.start)
    }

    /// Moves the mutable part to those that no longer change.
    pub(super) fn freeze(&mut self, k: u32) -> Result<(), HammingError> {
        let end = self.next();
        if end > self.fresh_start {
            let fresh = std::mem::replace(&mut self.fresh, Fresh::new(k)?);
            let body = Body::Fresh(Arc::new(fresh));
            self.parts.push(Part { ordinals: self.fresh_start..end, body, file: None });
            self.fresh_start = end;
        }
        Ok(())
    }
}

impl<V: Value> Index<V> {
    /// An empty index that lives in memory only.
    pub fn in_memory(options: Options) -> Result<Self, HammingError> {
        plan::choose::<V>(1, &options.build)?;
        let state = State {
            parts: Vec::new(),
            fresh: Fresh::new(options.build.k)?,
            fresh_start: 0,
            deleted: Deleted::default(),
        };
        Ok(Self::start(options, None, state))
    }

    /// Opens the index in a folder, or makes a new one there. What was added or deleted after the last
    /// [`Index::flush`] or merge is not in it: [`Stats::next`] says from where on to add again.
    pub fn open(path: &Path, mut options: Options) -> Result<Self, HammingError> {
        std::fs::create_dir_all(path).map_err(|error| HammingError::io(path, error))?;
        let lock = files::lock(path)?;
        let (manifest, deleted) = match Manifest::read(&KIND, path)? {
            Some(read) => read,
            None => {
                files::refuse_segments(path)?;
                let settings = [V::WIDTH.into(), options.build.k.into()];
                let new = Manifest { settings, ..Manifest::default() };
                new.write(&KIND, path, &Deleted::default())?;
                (new, Deleted::default())
            }
        };
        let [width, k] = manifest.settings;
        if width != u64::from(V::WIDTH) {
            return Err(HammingError::Width { path: path.to_owned(), found: width, expected: V::WIDTH });
        }
        if u64::from(options.build.k) > k {
            return Err(HammingError::TooFar { asked: options.build.k, built: k as u32 });
        }
        options.build.k = k as u32;
        plan::choose::<V>(1, &options.build)?;
        let part = |listed: &Listed| {
            let file = files::segment_path(path, listed.file);
            let segment = Segment::open(&file)?;
            if segment.identity() != listed.identity {
                return Err(HammingError::Foreign { path: file });
            }
            let body = Body::Segment(Arc::new(segment));
            Ok(Part { ordinals: listed.ordinals.clone(), body, file: Some(listed.file) })
        };
        let parts = manifest.segments.iter().map(part).collect::<Result<Vec<_>, HammingError>>()?;
        let next_file = AtomicU64::new(parts.iter().filter_map(|part| part.file).max().unwrap_or(0) + 1);
        let state = State { parts, fresh: Fresh::new(options.build.k)?, fresh_start: manifest.end, deleted };
        let folder = Folder { path: path.to_owned(), next_file, _lock: lock };
        folder.remove_strangers(&manifest)?;
        Ok(Self::start(options, Some(folder), state))
    }

    fn start(options: Options, folder: Option<Folder>, state: State<V>) -> Self {
        let background = options.background;
        let inner = Arc::new(Inner {
            options,
            folder,
            state: RwLock::new(state),
            merging: Mutex::new(()),
            signal: Mutex::new(Signal::default()),
            wake: Condvar::new(),
            searchers: Mutex::new(Vec::new()),
        });
        let thread = |inner: Arc<Inner<V>>| {
            std::thread::Builder::new().name("leitong-merge".into()).spawn(move || inner.merge_when_due())
        };
        // Without a thread to be had, merges happen within the calls that need them.
        let merger = if background { thread(Arc::clone(&inner)).ok() } else { None };
        Self { inner, merger }
    }

    /// Adds a fingerprint and gives its ordinal.
    pub fn insert(&self, value: V) -> Result<u64, HammingError> {
        self.insert_many(&[value]).map(|ordinals| ordinals.start)
    }

    /// Adds fingerprints; their ordinals are consecutive. After an error ([`HammingError::Memory`]) some may have been
    /// added: [`Stats::next`] tells. A merge that failed in the background is reported by the next call that adds or
    /// deletes, which then has done nothing.
    pub fn insert_many(&self, values: &[V]) -> Result<Range<u64>, HammingError> {
        self.inner.failure()?;
        let mut state = self.inner.write();
        let start = state.next();
        if (state.fresh.values().len() + values.len()) as u64 > MOST_ITEMS {
            return Err(HammingError::TooMany { items: values.len() as u64 });
        }
        for &value in values {
            state.fresh.insert(value)?;
        }
        let end = state.next();
        let most = (self.inner.options.fresh as u64).max((state.fresh_start / 10).min(MOST_FRESH));
        let due = end - state.segmented() >= most;
        drop(state);
        if due {
            self.merge_soon();
        }
        Ok(start..end)
    }

    /// Goes on with a later ordinal; those left out count as deleted. For whoever numbers items on their own, and has some
    /// without a fingerprint.
    pub fn skip_to(&self, next: u64) -> Result<(), HammingError> {
        self.inner.failure()?;
        let mut state = self.inner.write();
        let skipped = state.next()..next;
        if skipped.end.saturating_sub(skipped.start) <= FILLED {
            for ordinal in skipped {
                state.fresh.insert(filler(ordinal))?;
                state.deleted.insert(ordinal);
            }
        } else {
            state.freeze(self.inner.options.build.k)?;
            state.fresh_start = next;
            skipped.for_each(|ordinal| _ = state.deleted.insert(ordinal));
        }
        Ok(())
    }

    /// Adds a whole batch as a segment of its own. The source's ordinals are the numbers below its number of items, each
    /// once; here they are moved behind all others.
    pub fn insert_batch(&self, source: &(impl Source<V> + ?Sized)) -> Result<Range<u64>, HammingError> {
        // What is in the mutable part now need not be merged with the batch later.
        self.flush()?;
        if source.items() == 0 {
            let next = self.inner.read().next();
            return Ok(next..next);
        }
        let merging = lock_mutex(&self.inner.merging);
        let (segment, file) = self.inner.build(&Numbered(&source))?;
        let mut state = self.inner.write();
        state.freeze(self.inner.options.build.k)?;
        let ordinals = state.fresh_start..state.fresh_start + source.items();
        let body = Body::Segment(Arc::new(segment));
        state.parts.push(Part { ordinals: ordinals.clone(), body, file });
        state.fresh_start = ordinals.end;
        drop(state);
        self.inner.write_manifest()?;
        drop(merging);
        self.merge_soon();
        Ok(ordinals)
    }

    /// Deletes a fingerprint; false if there is none with this ordinal any more.
    pub fn delete(&self, ordinal: u64) -> Result<bool, HammingError> {
        self.inner.failure()?;
        let mut state = self.inner.write();
        Ok(ordinal < state.next() && state.deleted.insert(ordinal))
    }

    /// Everything within `k` bits of a fingerprint, the nearest first, the oldest of equally near ones first.
    pub fn find(&self, query: V, k: u32) -> Result<Vec<Match>, HammingError> {
        let mut all = Vec::new();
        self.search(&[query], k, |found| all.push(found))?;
        all.sort_unstable();
        Ok(all)
    }

    /// Finds everything within `k` bits of each query, each once, in no certain order. Changes made meanwhile may show for
    /// some queries and not for others; a [`Index::snapshot`] is the same for all. `found` is called while the index is
    /// locked for reading, so it must not use the index itself: collect, or search a snapshot.
    pub fn search(&self, queries: &[V], k: u32, mut found: impl FnMut(Match)) -> Result<(), HammingError> {
        if k > self.inner.options.build.k {
            return Err(HammingError::TooFar { asked: k, built: self.inner.options.build.k });
        }
        let mut searcher = lock_mutex(&self.inner.searchers).pop().unwrap_or_default();
        let mut answer = Ok(());
        for (chunk, queries) in (0..).zip(queries.chunks(QUERIES_PER_LOCK)) {
            let first = chunk * QUERIES_PER_LOCK as u32;
            let mut found = |f: Match| found(Match { query: first + f.query, ..f });
            answer = self.inner.read().search(&mut searcher, queries, k, &mut found);
            if answer.is_err() {
                break;
            }
        }
        lock_mutex(&self.inner.searchers).push(searcher);
        answer
    }

    /// The index as it is now, for searching without locks.
    pub fn snapshot(&self) -> Result<Snapshot<V>, HammingError> {
        let mut state = self.inner.write();
        if state.fresh.values().len() > COPIED {
            state.freeze(self.inner.options.build.k)?;
        }
        let mut parts = state.parts.clone();
        if !state.fresh.values().is_empty() {
            let body = Body::Fresh(Arc::new(state.fresh.try_clone()?));
            parts.push(Part { ordinals: state.fresh_start..state.next(), body, file: None });
        }
        Ok(Snapshot { parts, deleted: state.deleted.clone(), k: self.inner.options.build.k })
    }

    /// Makes everything added and deleted so far part of the files, for good.
    pub fn flush(&self) -> Result<(), HammingError> {
        self.inner.failure()?;
        self.inner.merge(false)
    }

    /// Merges everything into one segment, without what has been deleted.
    pub fn merge(&self) -> Result<(), HammingError> {
        self.inner.failure()?;
        self.inner.merge(true)
    }

    /// Merges what is due: in the background where there is a thread for it. What was added before stays added whatever
    /// becomes of the merge, so a failure waits for the next call.
    fn merge_soon(&self) {
        if self.merger.as_ref().is_some_and(|merger| !merger.is_finished()) {
            lock_mutex(&self.inner.signal).due = true;
            self.inner.wake.notify_one();
        } else {
            self.inner.merge_and_note();
        }
    }

    /// Reads every segment once and compares all checksums.
    pub fn verify(&self) -> Result<(), HammingError> {
        let parts = self.inner.read().parts.clone();
        parts.iter().try_for_each(|part| match &part.body {
            Body::Segment(segment) => segment.verify(),
            Body::Fresh(_) => Ok(()),
        })
    }

    /// What the index consists of.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let state = self.inner.read();
        let (mut segments, mut bytes, mut frozen) = (0, 0, 0);
        for part in &state.parts {
            match &part.body {
                Body::Segment(segment) => (segments, bytes) = (segments + 1, bytes + segment.bytes()),
                Body::Fresh(fresh) => frozen += fresh.values().len() as u64,
            }
        }
        Stats {
            items: state.next() - state.deleted.count(),
            deleted: state.deleted.count(),
            next: state.next(),
            segments,
            fresh: frozen + state.fresh.values().len() as u64,
            bytes,
        }
    }
}

impl<V: Value> Drop for Index<V> {
    fn drop(&mut self) {
        lock_mutex(&self.inner.signal).stop = true;
        self.inner.wake.notify_one();
        if let Some(merger) = self.merger.take() {
            let _ = merger.join();
        }
    }
}

impl<V: Value> State<V> {
    fn search(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        found: &mut impl FnMut(Match),
    ) -> Result<(), HammingError> {
        self.parts.iter().try_for_each(|part| part.find(searcher, queries, k, &self.deleted, found))?;
        let mut found = live(self.fresh_start, &self.deleted, found);
        self.fresh.find(searcher.level, queries, k, &mut searcher.fresh, &mut found)
    }
}

impl<V: Value> Inner<V> {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State<V>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State<V>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What went wrong in the background since the last call.
    fn failure(&self) -> Result<(), HammingError> {
        lock_mutex(&self.signal).failure.take().map_or(Ok(()), Err)
    }
}

/// A value for an ordinal that has none: all over the space, so that no search has many of them to pass.
fn filler<V: Value>(ordinal: u64) -> V {
    let word = |i: u64| (ordinal ^ i << 48).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
    V::from_words(&std::array::from_fn::<u64, 16, _>(|i| word(i as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)))
}

pub(super) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
