//! Changes that are not written yet, over the moment before them. Each key is written once, whatever happened to it.

use super::engine::{Each, Moment, Read};
use super::layout::Tree;
use crate::StoreError;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(super) struct Stage {
    moment: Arc<Moment>,
    changes: [Changes; 3],
    /// Bytes to be written, more or less.
    pub(super) bytes: u64,
}

impl Stage {
    pub(super) fn new(moment: Arc<Moment>) -> Self {
        Self { moment, changes: Default::default(), bytes: 0 }
    }

    pub(super) fn put(&mut self, tree: Tree, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        let (key, value) = (key.into(), value.into());
        self.bytes += (key.len() + value.len()) as u64;
        self.changes[tree as usize].insert(key, Some(value));
    }

    pub(super) fn delete(&mut self, tree: Tree, key: impl Into<Vec<u8>>) {
        let key = key.into();
        self.bytes += key.len() as u64;
        self.changes[tree as usize].insert(key, None);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.iter().all(BTreeMap::is_empty)
    }

    pub(super) fn into_changes(self) -> impl Iterator<Item = (Tree, Vec<u8>, Option<Vec<u8>>)> {
        let of_tree = |(tree, changes): (Tree, Changes)| {
            changes.into_iter().map(move |(key, value)| (tree, key, value))
        };
        Tree::ALL.into_iter().zip(self.changes).flat_map(of_tree)
    }
}

impl Read for Stage {
    fn folder(&self) -> &Path {
        self.moment.folder()
    }

    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.changes[tree as usize].get(key) {
            Some(change) => Ok(change.clone()),
            None => self.moment.get(tree, key),
        }
    }

    fn scan(&self, tree: Tree, prefix: &[u8], from: &[u8], each: &mut Each<'_>) -> Result<(), StoreError> {
        let start = if from > prefix { from } else { prefix };
        let changes =
            self.changes[tree as usize].range::<[u8], _>((Bound::Included(start), Bound::Unbounded));
        let mut changes = changes.take_while(|(key, _)| key.starts_with(prefix)).peekable();
        let mut on = true;
        self.moment.scan(tree, prefix, from, &mut |key, value| {
            // Changes before this entry come first; one of the same key takes its place.
            while let Some((own, change)) = changes.next_if(|(own, _)| own.as_slice() < key) {
                if let Some(change) = change {
                    on = each(own, change)?;
                    if !on {
                        return Ok(false);
                    }
                }
            }
            on = match changes.next_if(|(own, _)| own.as_slice() == key) {
                Some((_, None)) => true,
                Some((_, Some(change))) => each(key, change)?,
                None => each(key, value)?,
            };
            Ok(on)
        })?;
        for (own, change) in changes {
            if let (true, Some(change)) = (on, change) {
                on = each(own, change)?;
            }
        }
        Ok(())
    }
}
