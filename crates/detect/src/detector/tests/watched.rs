//! A store that counts what is asked of it: how often, how much, and how much text it gives out at once.

use leitong_store::{
    Added, Addition, Collection, Count, Found, Memory, Query, Sources, Store, StoreError, Stored, Want,
};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) memory: Memory,
    finds: AtomicUsize,
    candidates: AtomicUsize,
    texts: AtomicUsize,
}

impl Watched {
    /// Calls of `find` since the last look.
    pub(super) fn finds(&self) -> usize {
        self.finds.swap(0, Ordering::Relaxed)
    }

    /// Most candidates one call was asked for since the last look.
    pub(super) fn most_candidates(&self) -> usize {
        self.candidates.swap(0, Ordering::Relaxed)
    }

    /// Most bytes of text one call gave out since the last look.
    pub(super) fn most_text(&self) -> usize {
        self.texts.swap(0, Ordering::Relaxed)
    }

    fn gives<'a>(&self, stored: impl Iterator<Item = &'a Stored>) {
        let bytes = stored.filter_map(|stored| stored.record.text.as_ref()).map(String::len).sum();
        self.texts.fetch_max(bytes, Ordering::Relaxed);
    }
}

impl Store for Watched {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.memory.collections()
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        self.memory.create(collection)
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        self.memory.destroy(collection)
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.finds.fetch_add(1, Ordering::Relaxed);
        self.candidates.fetch_max(queries.iter().map(|query| query.limit).sum(), Ordering::Relaxed);
        self.memory.find(collection, queries)
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.memory.sources(collection, questions)
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        self.memory.add(collection, additions)
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        self.memory.remove(collection, ids)
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        let stored = self.memory.get(collection, ids, want)?;
        self.gives(stored.iter().flatten());
        Ok(stored)
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        let stored = self.memory.scan(collection, after, limit, want)?;
        self.gives(stored.iter());
        Ok(stored)
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        self.memory.count(collection)
    }
}
