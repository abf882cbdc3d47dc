//! Making segments of what has been added, and fewer segments of many.

use super::index::{Inner, lock_mutex};
use super::segment::{Segment, Source};
use super::view::{Body, Merged, Part};
use super::{HammingError, KIND, MOST_ITEMS};
use crate::Value;
use crate::files::{self, Deleted, Listed, Manifest};
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
            self.merge_and_note();
        }
    }

    /// Merges what is due; what goes wrong is kept for the next caller.
    pub(super) fn merge_and_note(&self) {
        let merge = std::panic::AssertUnwindSafe(|| self.merge(false));
        let outcome = std::panic::catch_unwind(merge)
            .unwrap_or_else(|_| Err(HammingError::Merge { what: "it panicked".into() }));
        if let Err(error) = outcome {
            lock_mutex(&self.signal).failure = Some(error);
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
        let build = || match &self.folder {
            None => Ok((self.options.build.in_memory(&source)?, None)),
            Some(folder) => {
                let file = folder.next_file.fetch_add(1, Ordering::Relaxed);
                let path = files::segment_path(&folder.path, file);
                Ok((self.options.build.to_file(&source, &path)?, Some(file)))
            }
        };
        files::apart(0, build).unwrap_or_else(|what| Err(HammingError::Merge { what }))
    }

    /// Writes down which segments there are, and removes the files of those that are no more.
    pub(super) fn write_manifest(&self) -> Result<(), HammingError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let state = self.read();
        // What stands behind a frozen part waits for it, so that ordinals are complete up to the end.
        let segments: Vec<Listed> = state.parts.iter().map_while(listed).collect();
        let end = state.segmented();
        let kept: Vec<u64> = state.parts.iter().filter_map(|part| part.file).collect();
        let deleted = state.deleted.clone();
        drop(state);
        let manifest = Manifest { settings: [V::WIDTH.into(), self.options.build.k.into()], end, segments };
        manifest.write(&KIND, &folder.path, &deleted)?;
        Ok(folder.remove(|file| !kept.contains(&file))?)
    }
}

/// A part as the manifest lists it; `None` if it is in no file.
fn listed<V: Value>(part: &Part<V>) -> Option<Listed> {
    let Body::Segment(segment) = &part.body else { return None };
    Some(Listed { ordinals: part.ordinals.clone(), file: part.file?, identity: segment.identity() })
}

/// The first of the trailing parts that belong together: all frozen ones, and segments not much larger than what
/// follows; with `all`, all parts. Never more than a segment can number, and nothing if it would be a lone segment.
fn first_to_merge<V: Value>(parts: &[Part<V>], all: bool) -> usize {
    let Some((last, before)) = parts.split_last() else { return 0 };
    let is_frozen = |part: &Part<V>| matches!(part.body, Body::Fresh(_));
    let oldest_frozen = parts.iter().position(is_frozen).unwrap_or(parts.len());
    let (mut start, mut items) = (before.len(), last.items());
    for part in before.iter().rev() {
        let belongs = all || start > oldest_frozen || part.items() < LARGER * items;
        if !belongs || last.ordinals.end - part.ordinals.start > MOST_ITEMS {
            break;
        }
        start -= 1;
        items += part.items();
    }
    let lone_segment = start == before.len() && !is_frozen(last) && !all;
    if lone_segment { parts.len() } else { start }
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
