//! The parts of an index at one moment, and searching them all.

use super::fresh::Fresh;
use super::segment::{Searcher, Segment, Source};
use super::{Found, HammingError};
use crate::Value;
use crate::files::Deleted;
use std::ops::Range;
use std::sync::Arc;

/// A stored fingerprint within reach of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Which of the queries, counted from 0.
    pub query: u32,
    /// In how many bits the two differ.
    pub distance: u32,
    /// The stored fingerprint.
    pub ordinal: u64,
}

/// A part that no longer changes, and the ordinals it was given.
#[derive(Debug)]
pub(crate) struct Part<V> {
    pub(crate) ordinals: Range<u64>,
    pub(crate) body: Body<V>,
    /// The number of its file, where it has one.
    pub(crate) file: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum Body<V> {
    Segment(Arc<Segment<V>>),
    Fresh(Arc<Fresh<V>>),
}

impl<V> Clone for Part<V> {
    fn clone(&self) -> Self {
        let body = match &self.body {
            Body::Segment(segment) => Body::Segment(Arc::clone(segment)),
            Body::Fresh(fresh) => Body::Fresh(Arc::clone(fresh)),
        };
        Self { ordinals: self.ordinals.clone(), body, file: self.file }
    }
}

impl<V: Value> Part<V> {
    pub(crate) fn find(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        deleted: &Deleted,
        found: &mut impl FnMut(Match),
    ) -> Result<(), HammingError> {
        let mut found = live(self.ordinals.start, deleted, found);
        match &self.body {
            Body::Segment(segment) => segment.find(searcher, queries, k, &mut found),
            Body::Fresh(fresh) => fresh.find(searcher.level, queries, k, &mut searcher.fresh, &mut found),
        }
    }

    pub(crate) fn items(&self) -> u64 {
        match &self.body {
            Body::Segment(segment) => segment.items(),
            Body::Fresh(fresh) => fresh.values().len() as u64,
        }
    }

    fn rows(&self) -> usize {
        match &self.body {
            Body::Segment(segment) => segment.rows(),
            Body::Fresh(fresh) => fresh.values().len(),
        }
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        match &self.body {
            Body::Segment(segment) => segment.read(range, items),
            Body::Fresh(fresh) => fresh.values().read(range, items),
        }
    }
}

/// Passes on what is not deleted, with its own ordinal.
#[inline(always)]
pub(crate) fn live(base: u64, deleted: &Deleted, found: &mut impl FnMut(Match)) -> impl FnMut(Found) {
    move |f: Found| {
        let ordinal = base + u64::from(f.ordinal);
        if deleted.is_empty() || !deleted.contains(ordinal) {
            found(Match { query: f.query, distance: f.distance, ordinal });
        }
    }
}

/// Consecutive parts as the source of a new segment, without what has been deleted.
pub(crate) struct Merged<'a, V> {
    parts: &'a [Part<V>],
    deleted: &'a Deleted,
    items: u64,
}

impl<'a, V: Value> Merged<'a, V> {
    pub(crate) fn new(parts: &'a [Part<V>], deleted: &'a Deleted) -> Result<Self, HammingError> {
        let mut merged = Self { parts, deleted, items: parts.iter().map(Part::items).sum() };
        if !deleted.is_empty() {
            let mut items = Vec::new();
            let mut live = 0;
            for from in (0..merged.rows()).step_by(1 << 16) {
                items.clear();
                merged.read(from..merged.rows().min(from + (1 << 16)), &mut items)?;
                live += items.len() as u64;
            }
            merged.items = live;
        }
        Ok(merged)
    }
}

impl<V: Value> Source<V> for Merged<'_, V> {
    fn rows(&self) -> usize {
        self.parts.iter().map(Part::rows).sum()
    }

    fn items(&self) -> u64 {
        self.items
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        let first = self.parts.first().map_or(0, |part| part.ordinals.start);
        let mut before = 0;
        for part in self.parts {
            let rows = part.rows();
            let (from, to) =
                (range.start.clamp(before, before + rows), range.end.clamp(before, before + rows));
            let start = items.len();
            if from < to {
                part.read(from - before..to - before, items)?;
            }
            let shift = (part.ordinals.start - first) as u32;
            items[start..].iter_mut().for_each(|item| item.0 += shift);
            before += rows;
        }
        if !self.deleted.is_empty() {
            items.retain(|item| !self.deleted.contains(first + u64::from(item.0)));
        }
        Ok(())
    }
}

/// A batch whose ordinals are checked: a wrong one would be somebody else's.
pub(crate) struct Numbered<S>(pub(crate) S);

impl<V: Value, S: Source<V>> Source<V> for Numbered<S> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn items(&self) -> u64 {
        self.0.items()
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        let start = items.len();
        self.0.read(range, items)?;
        match items[start..].iter().find(|item| u64::from(item.0) >= self.items()) {
            Some(&(ordinal, _)) => Err(HammingError::Ordinal { ordinal, items: self.items() }),
            None => Ok(()),
        }
    }
}

/// An index as it was at one moment. Searching it takes no lock, and nothing that happens later shows in it.
#[derive(Debug)]
pub struct Snapshot<V> {
    pub(crate) parts: Vec<Part<V>>,
    pub(crate) deleted: Deleted,
    pub(crate) k: u32,
}

impl<V: Value> Snapshot<V> {
    /// Calls `item` with the ordinal and value of everything in it, in no certain order.
    pub fn for_each(&self, mut item: impl FnMut(u64, V)) -> Result<(), HammingError> {
        const ROWS: usize = 1 << 16;
        let mut items = Vec::new();
        for part in &self.parts {
            for from in (0..part.rows()).step_by(ROWS) {
                items.clear();
                part.read(from..part.rows().min(from + ROWS), &mut items)?;
                for &(ordinal, value) in &items {
                    let ordinal = part.ordinals.start + u64::from(ordinal);
                    if !self.deleted.contains(ordinal) {
                        item(ordinal, value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds everything within `k` bits of each query, each once, in no certain order.
    pub fn search(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        mut found: impl FnMut(Match),
    ) -> Result<(), HammingError> {
        if k > self.k {
            return Err(HammingError::TooFar { asked: k, built: self.k });
        }
        self.parts.iter().try_for_each(|part| part.find(searcher, queries, k, &self.deleted, &mut found))
    }
}
