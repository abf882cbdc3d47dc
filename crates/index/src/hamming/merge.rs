//! Making segments of what has been added, and fewer segments of many.

use super::deleted::Deleted;
use super::index::{Inner, lock_mutex};
use super::manifest::{self, Manifest};
use super::segment::{Segment, Source};
use super::view::{Body, Merged, Part};
use super::{HammingError, MOST_ITEMS};
use crate::Value;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// A segment is merged with what comes behind it unless it is this many times larger.
const LARGER: u64 = 3;

impl<V: Value> Inner<V> {
    pub(super) fn merge_when_due(&self) {
        loop {
            let mut signal = lock_mutex(&self.signal);
            while !signal.due && !signal.stop {
                signal = self.wake.wait(signal).unwrap_or_else(PoisonError::into_inner);
            }
            if signal.stop {
                return;
            }
            signal.due = false;
            drop(signal);
            if let Err(error) = self.merge(false) {
                lock_mutex(&self.signal).failure = Some(error);
            }
        }
    }

    /// Freezes the mutable part and merges what is frozen with the segments before it that are not much larger; with
    /// `all`, with all of them.
    pub(super) fn merge(&self, all: bool) -> Result<(), HammingError> {
        let _merging = lock_mutex(&self.merging);
        let mut state = self.write();
        state.freeze(self.options.build.k)?;
        let parts = state.parts.clone();
        let deleted = state.deleted.clone();
        drop(state);
        let start = first_to_merge(&parts, all);
        if start < parts.len() && !(all && already_merged(&parts, &deleted)) {
            self.replace(&parts[start..], &deleted)?;
        }
        self.write_manifest()
    }

    /// Puts one segment in the place of consecutive parts.
    fn replace(&self, parts: &[Part<V>], deleted: &Deleted) -> Result<(), HammingError> {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
        let ordinals = first.ordinals.start..last.ordinals.end;
        let source = Merged::new(parts, deleted)?;
        let merged = if source.items() > 0 { Some(self.build(&source)?) } else { None };
        let mut state = self.write();
        let from = state.parts.partition_point(|part| part.ordinals.start < ordinals.start);
        let to = state.parts.partition_point(|part| part.ordinals.end <= ordinals.end);
        let part =
            merged.map(|(segment, file)| Part { ordinals, body: Body::Segment(Arc::new(segment)), file });
        state.parts.splice(from..to, part);
        Ok(())
    }

    /// Builds a segment, in a file where there is a folder.
    pub(super) fn build(&self, source: &dyn Source<V>) -> Result<(Segment<V>, Option<u64>), HammingError> {
        match &self.folder {
            None => Ok((self.options.build.in_memory(&source)?, None)),
            Some(folder) => {
                let file = folder.next_file.fetch_add(1, Ordering::Relaxed);
                let path = manifest::segment_path(&folder.path, file);
                Ok((self.options.build.to_file(&source, &path)?, Some(file)))
            }
        }
    }

    /// Writes down which segments there are, and removes the files of those that are no more.
    pub(super) fn write_manifest(&self) -> Result<(), HammingError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let state = self.read();
        // What stands behind a frozen part waits for it, so that ordinals are complete up to the end.
        let in_files = state.parts.iter().map_while(|part| Some((part.ordinals.clone(), part.file?)));
        let segments: Vec<(Range<u64>, u64)> = in_files.collect();
        let end = state.parts.get(segments.len()).map_or(state.fresh_start, |part| part.ordinals.start);
        let kept: Vec<u64> = state.parts.iter().filter_map(|part| part.file).collect();
        let deleted = state.deleted.clone();
        drop(state);
        let manifest = Manifest { width: V::WIDTH.into(), k: self.options.build.k.into(), end, segments };
        manifest.write(&folder.path, &deleted)?;
        folder.remove(|file| !kept.contains(&file))
    }
}

/// The first of the trailing parts that belong together: all frozen ones, and segments not much larger than what
/// follows; with `all`, all parts. Never more than a segment can number.
fn first_to_merge<V: Value>(parts: &[Part<V>], all: bool) -> usize {
    let end = parts.last().map_or(0, |part| part.ordinals.end);
    let oldest_frozen =
        parts.iter().position(|part| matches!(part.body, Body::Fresh(_))).unwrap_or(parts.len());
    let mut start = parts.len();
    let mut items = 0;
    while let Some(part) = start.checked_sub(1).map(|before| &parts[before]) {
        let similar = items > 0 && part.items() < LARGER * items;
        let belongs = all || start > oldest_frozen || similar;
        if !belongs || end - part.ordinals.start > MOST_ITEMS {
            break;
        }
        start -= 1;
        items += part.items();
    }
    start
}

/// Whether a merge of all would change nothing.
fn already_merged<V: Value>(parts: &[Part<V>], deleted: &Deleted) -> bool {
    match parts {
        [] => true,
        [Part { ordinals, body: Body::Segment(segment), .. }] => {
            let gone = deleted.iter().filter(|ordinal| ordinals.contains(ordinal)).count() as u64;
            segment.items() + gone == ordinals.end - ordinals.start
        }
        _ => false,
    }
}
