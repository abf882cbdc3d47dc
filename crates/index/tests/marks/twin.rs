//! The slow twin: all documents in a map.

use leitong_index::marks::{MarkIndex, Posting};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What an index should hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Twin {
    pub(crate) documents: BTreeMap<u64, (u64, BTreeSet<u32>)>,
    pub(crate) next: u64,
    /// What the last flush promised.
    pub(crate) flushed: u64,
}

impl Twin {
    pub(crate) fn insert(&mut self, ordinal: u64, origin: u64, marks: &[u32]) {
        self.documents.insert(ordinal, (origin, marks.iter().copied().collect()));
        self.next = ordinal + 1;
    }

    pub(crate) fn look_up(&self, marks: &[u32], most: usize) -> Vec<(usize, Posting)> {
        let posting = |(&ordinal, (origin, marks)): (&u64, &(u64, BTreeSet<u32>))| Posting {
            ordinal,
            origin: *origin,
            marks: marks.len() as u32,
        };
        let mut all = Vec::new();
        for (place, mark) in marks.iter().enumerate() {
            let having = self.documents.iter().filter(|document| document.1.1.contains(mark));
            all.extend(having.take(most).map(|document| (place, posting(document))));
        }
        all
    }

    /// All marks there are.
    pub(crate) fn marks(&self) -> Vec<u32> {
        let marks: BTreeSet<u32> =
            self.documents.values().flat_map(|document| document.1.iter().copied()).collect();
        marks.into_iter().collect()
    }

    /// Compares everything an index can be asked.
    pub(crate) fn check(&self, index: &MarkIndex) {
        let mut documents = Vec::new();
        index.for_each(&mut |ordinal, origin, marks| documents.push((ordinal, origin, marks))).unwrap();
        let expected: Vec<_> = self
            .documents
            .iter()
            .map(|(&ordinal, (origin, marks))| (ordinal, *origin, marks.len() as u32))
            .collect();
        assert_eq!(documents, expected);
        assert_eq!(index.next(), self.next);
        assert_eq!(index.stats().documents, self.documents.len() as u64);
        let marks = self.marks();
        assert_eq!(look_up(index, &marks, usize::MAX), self.look_up(&marks, usize::MAX));
    }
}

pub(crate) fn look_up(index: &MarkIndex, marks: &[u32], most: usize) -> Vec<(usize, Posting)> {
    let mut found = Vec::new();
    index.look_up(marks, most, &mut |place, posting| found.push((place, posting))).unwrap();
    found
}

/// The names of an index's files, but for the lock.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

/// Makes a folder the copy of another.
pub(crate) fn copy(from: &Path, to: &Path) {
    files(to).iter().for_each(|name| std::fs::remove_file(to.join(name)).unwrap());
    files(from).iter().for_each(|name| _ = std::fs::copy(from.join(name), to.join(name)).unwrap());
}
