//! What a store holds and has done.

use super::{Embedded, Tree};
use crate::StoreError;
use leitong_index::marks::MarkIndex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What has been written since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Records added or refused, and ids removed.
    pub operations: u64,
    /// Commits, each with one synchronisation of the disk.
    pub commits: u64,
    /// Time spent on them.
    pub time: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Activity {
    operations: AtomicU64,
    commits: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Activity {
    pub(super) fn count(&self, operations: usize, time: Duration) {
        self.operations.fetch_add(operations as u64, Relaxed);
        self.commits.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Relaxed);
    }
}

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Its collections, by name.
    pub collections: Vec<CollectionStats>,
    /// Bytes on disk of ids and keys, records, and texts.
    pub tree_bytes: [u64; 3],
    /// Bytes on disk of all documents, journals included.
    pub document_bytes: u64,
    /// What has been written since it was opened.
    pub work: Work,
}

/// What a collection holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionStats {
    /// Its name.
    pub name: String,
    /// Documents that have not expired.
    pub documents: u64,
    /// Records ever stored.
    pub versions: u64,
    /// The indexes of its spaces.
    pub indexes: Vec<leitong_index::hamming::Stats>,
    /// The index of its marks, if there has been an outline.
    pub marks: Option<leitong_index::marks::Stats>,
}

impl Embedded {
    /// What the store holds.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let (moment, collections) = {
            let view = self.shared.read();
            (view.moment.clone(), view.collections.clone())
        };
        let now = self.shared.clock.now();
        let of_one = |open: &super::Open| {
            let count = open.count(&*moment, now)?;
            let indexes = open.spaces.iter().map(|(_, index)| index.stats()).collect();
            let marks = open.marks.get().map(MarkIndex::stats);
            let (name, documents, versions) = (open.about.name.clone(), count.documents, count.next_version);
            Ok(CollectionStats { name, documents, versions, indexes, marks })
        };
        let collections = collections.values().map(|open| of_one(open));
        Ok(Stats {
            collections: collections.collect::<Result<_, StoreError>>()?,
            tree_bytes: Tree::ALL.map(|tree| self.shared.engine.bytes(tree)),
            document_bytes: self.shared.engine.all_bytes()?,
            work: self.work(),
        })
    }

    /// What has been written since the store was opened.
    #[must_use]
    pub fn work(&self) -> Work {
        let activity = &self.shared.activity;
        Work {
            operations: activity.operations.load(Relaxed),
            commits: activity.commits.load(Relaxed),
            time: Duration::from_nanos(activity.nanoseconds.load(Relaxed)),
        }
    }
}
