//! Making segments of what has been added, and fewer segments of many.

use super::build;
use super::part::{Body, Part};
use super::state::{Inner, MOST_APART, Signal, lock_mutex};
use super::{KIND, MarkError, SETTINGS};
use crate::files::{self, Deleted, Listed, Manifest};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// A segment is merged with what comes behind it unless it is this many times larger.
const LARGER: u64 = 3;
/// Segments smaller than a full mutable part by this factor count as of that size, so that many small ones are soon one.
const SMALL: u64 = 16;
/// Postings of a segment.
const MOST_POSTINGS: u64 = u32::MAX as u64;
/// Threads that write a segment.
const THREADS: usize = 2;

impl Inner {
    /// One makes segments, the other merges them: what is added need not wait in memory for a long merge.
    pub(super) fn start_threads(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let thread = |name: &str, work: fn(&Self)| {
            let own = Arc::clone(self);
            std::thread::Builder::new().name(name.into()).spawn(move || work(&own))
        };
        let seal = |inner: &Self| {
            inner.when_due(
                |signal| std::mem::take(&mut signal.seal),
                |inner| {
                    inner.note(Self::seal);
                    lock_mutex(&inner.signal).merge = true;
                    inner.wake.notify_all();
                },
            );
        };
        let merge = |inner: &Self| {
            inner.when_due(|signal| std::mem::take(&mut signal.merge), |inner| inner.note(Self::merge_due));
        };
        match (thread("leitong-seal", seal), thread("leitong-merge", merge)) {
            (Ok(seal), Ok(merge)) => vec![seal, merge],
            // One alone would leave its work undone.
            (one, other) => {
                self.stop_threads();
                one.into_iter().chain(other).for_each(|thread| _ = thread.join());
                self.stop.store(false, Ordering::Relaxed);
                Vec::new()
            }
        }
    }

    /// Has the threads end soon, in the middle of a merge if need be.
    pub(super) fn stop_threads(&self) {
        let signal = lock_mutex(&self.signal);
        self.stop.store(true, Ordering::Relaxed);
        drop(signal);
        self.wake.notify_all();
    }

    fn when_due(&self, take: fn(&mut Signal) -> bool, work: fn(&Self)) {
        loop {
            let mut signal = lock_mutex(&self.signal);
            while !self.stop.load(Ordering::Relaxed) && !take(&mut signal) {
                signal = self.wake.wait(signal).unwrap_or_else(PoisonError::into_inner);
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            drop(signal);
            work(self);
        }
    }

    /// Does something; what goes wrong is kept for the next caller.
    pub(super) fn note(&self, work: fn(&Self) -> Result<(), MarkError>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(self)));
        let outcome = outcome.unwrap_or_else(|_| Err(MarkError::Merge { what: "it panicked".into() }));
        if let Err(error) = outcome {
            lock_mutex(&self.signal).failure = Some(error);
        }
    }

    /// Makes one segment of everything that is in none yet, and writes down what there is.
    pub(super) fn seal(&self) -> Result<(), MarkError> {
        let mut obsolete = lock_mutex(&self.files);
        let mut state = self.write();
        state.freeze();
        let frozen: Vec<Part> = state.parts.iter().filter(|part| part.is_frozen()).cloned().collect();
        let deleted = state.deleted.clone();
        drop(state);
        for run in runs(&frozen) {
            let built = self.build(&frozen[run.clone()], &deleted)?;
            self.replace(&frozen[run], &deleted, built);
        }
        self.write_manifest(&mut obsolete)
    }

    /// Merges segments of similar size, until there are none.
    pub(super) fn merge_due(&self) -> Result<(), MarkError> {
        let _merging = lock_mutex(&self.merging);
        loop {
            let (parts, deleted) = self.segments();
            let Some(run) = self.due(&parts, &deleted) else { return Ok(()) };
            self.merge_run(&parts[run], &deleted)?;
        }
    }

    /// Makes as few segments as can be, without what has been deleted.
    pub(super) fn merge_all(&self) -> Result<(), MarkError> {
        let _merging = lock_mutex(&self.merging);
        self.seal()?;
        let (parts, deleted) = self.segments();
        for run in runs(&parts) {
            let run = &parts[run];
            if run.len() > 1 || run.iter().any(|part| deleted.count_in(part.ordinals.clone()) > 0) {
                self.merge_run(run, &deleted)?;
            }
        }
        Ok(())
    }

    /// The segments there are, and what has been deleted.
    fn segments(&self) -> (Vec<Part>, Deleted) {
        let state = self.read();
        let segments = state.parts.iter().filter(|part| !part.is_frozen()).cloned().collect();
        (segments, state.deleted.clone())
    }

    fn merge_run(&self, run: &[Part], deleted: &Deleted) -> Result<(), MarkError> {
        let built = self.build(run, deleted)?;
        let mut obsolete = lock_mutex(&self.files);
        self.replace(run, deleted, built);
        obsolete.extend(run.iter().filter_map(|part| part.file));
        self.write_manifest(&mut obsolete)
    }

    /// The last segments that are to be one: each not much larger than what follows. If there are none, one that is half
    /// deleted.
    fn due(&self, parts: &[Part], deleted: &Deleted) -> Option<Range<usize>> {
        let least = self.options.fresh as u64 / SMALL;
        let mut run = parts.len()..parts.len();
        let mut sum = Sum::default();
        for (place, part) in parts.iter().enumerate().rev() {
            if !run.is_empty() && part.size() >= LARGER * sum.size.max(least) || !sum.add(part) {
                break;
            }
            run.start = place;
        }
        if run.len() > 1 {
            return Some(run);
        }
        let half_gone = |part: &Part| deleted.count_in(part.ordinals.clone()) * 2 > part.body.documents();
        parts.iter().position(half_gone).map(|place| place..place + 1)
    }

    /// Builds a segment of parts that follow each other, in a file where there is a folder; `None` if nothing is left.
    fn build(&self, parts: &[Part], deleted: &Deleted) -> Result<Option<Part>, MarkError> {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(None) };
        let file = self.folder.as_ref().map(|folder| folder.next_file.fetch_add(1, Ordering::Relaxed));
        let path =
            self.folder.as_ref().zip(file).map(|(folder, file)| files::segment_path(&folder.path, file));
        let built = files::apart(THREADS, || build::merge(parts, deleted, path.as_deref(), &self.stop));
        let segment = built.unwrap_or_else(|what| Err(MarkError::Merge { what }))?;
        let ordinals = first.ordinals.start..last.ordinals.end;
        Ok(segment.map(|segment| Part { ordinals, body: Body::Segment(Arc::new(segment)), file }))
    }

    /// Puts a part in the place of others, which were built without `deleted`: those need not be remembered any longer.
    fn replace(&self, parts: &[Part], deleted: &Deleted, built: Option<Part>) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        let ordinals = first.ordinals.start..last.ordinals.end;
        let mut state = self.write();
        let from = state.parts.partition_point(|part| part.ordinals.start < ordinals.start);
        let to = state.parts.partition_point(|part| part.ordinals.end <= ordinals.end);
        state.parts.splice(from..to, built);
        state.deleted.remove_all(deleted, ordinals);
        state.deleted.tidy();
    }

    /// Writes down which segments there are, and then removes the files of those that are no more. (Other files may be
    /// those of a merge that goes on meanwhile.)
    fn write_manifest(&self, obsolete: &mut Vec<u64>) -> Result<(), MarkError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let state = self.read();
        let segments: Vec<Listed> = state.parts.iter().map_while(listed).collect();
        let end = state.segmented();
        let deleted = state.deleted.clone();
        drop(state);
        Manifest { settings: SETTINGS, end, segments }.write(&KIND, &folder.path, &deleted)?;
        if !obsolete.is_empty() {
            folder.remove(|file| obsolete.contains(&file))?;
            obsolete.clear();
        }
        Ok(())
    }
}

/// A part as the manifest lists it; `None` if it is in no file.
fn listed(part: &Part) -> Option<Listed> {
    let Body::Segment(segment) = &part.body else { return None };
    Some(Listed { ordinals: part.ordinals.clone(), file: part.file?, identity: segment.identity() })
}

/// Parts added up from one side, while one segment can hold them.
#[derive(Default)]
struct Sum {
    size: u64,
    postings: u64,
    ordinals: Option<Range<u64>>,
}

impl Sum {
    /// Adds a part; false, and nothing has been added, if it would be too much.
    fn add(&mut self, part: &Part) -> bool {
        let postings = self.postings + part.body.postings();
        let own = part.ordinals.clone();
        let ordinals =
            self.ordinals.clone().map_or(own.clone(), |o| o.start.min(own.start)..o.end.max(own.end));
        // A part alone is small enough, whatever it answers for.
        let alone = self.ordinals.is_none();
        if !alone && (postings > MOST_POSTINGS || ordinals.end - ordinals.start > MOST_APART) {
            return false;
        }
        *self = Self { size: self.size + part.size(), postings, ordinals: Some(ordinals) };
        true
    }
}

/// All parts, as few runs as can be.
fn runs(parts: &[Part]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut sum = Sum::default();
    for (place, part) in parts.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if sum.add(part) => run.end = place + 1,
            _ => {
                sum = Sum::default();
                sum.add(part);
                runs.push(place..place + 1);
            }
        }
    }
    runs
}
