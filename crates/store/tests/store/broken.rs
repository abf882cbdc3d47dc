//! Stores with a fault, for tests that must find it.

use crate::conformance::{SCORING, Subject, conforms};
use leitong_store::{
    Added, Addition, Clock, Collection, Count, Found, Memory, Policy, Query, Scoring, Sources, Store,
    StoreError, Stored, Want,
};
use std::sync::Barrier;

type Add<'a> = Box<dyn Fn(&str, Vec<Addition>) -> Result<Vec<Added>, StoreError> + Send + Sync + 'a>;

/// A store that adds in its own way.
pub(crate) struct Broken<'a> {
    store: &'a dyn Store,
    add: Add<'a>,
}

/// Stores whatever it is given.
pub(crate) fn careless(store: &dyn Store) -> Broken<'_> {
    let add =
        |name: &str, additions: Vec<Addition>| store.add(name, additions.into_iter().map(always).collect());
    Broken { store, add: Box::new(add) }
}

/// Looks for candidates and stores afterwards, with all other threads in between.
pub(crate) fn racy(store: &dyn Store, threads: u32) -> Broken<'_> {
    let barrier = Barrier::new(threads as usize);
    let add = move |name: &str, additions: Vec<Addition>| {
        let probes = match &additions[0].policy {
            Policy::Unless { probes, .. } => probes.clone(),
            Policy::New | Policy::Replace => Vec::new(),
        };
        let found = store.find(name, &[Query { probes, limit: 1, ..Query::default() }])?;
        barrier.wait();
        match found.into_iter().find(|found| !found.candidates.is_empty()) {
            Some(found) => Ok(vec![Added::Unjudged(found)]),
            None => store.add(name, additions.into_iter().map(always).collect()),
        }
    };
    Broken { store, add: Box::new(add) }
}

fn always(Addition { record, .. }: Addition) -> Addition {
    Addition::new(record, Policy::Replace)
}

impl Store for Broken<'_> {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.store.collections()
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        self.store.create(collection)
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        self.store.destroy(collection)
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.store.find(collection, queries)
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.store.sources(collection, questions)
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        (self.add)(collection, additions)
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        self.store.remove(collection, ids)
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        self.store.get(collection, ids, want)
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        self.store.scan(collection, after, limit, want)
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        self.store.count(collection)
    }
}

/// A store that loses everything when it is closed.
struct Forgetful(Memory, Clock);

impl Subject for Forgetful {
    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn reopen(&mut self) {
        self.0 = Memory::new(self.1.clone()).with_scoring(SCORING);
    }
}

impl Subject for Broken<'static> {
    fn store(&self) -> &dyn Store {
        self
    }
}

#[test]
#[should_panic(expected = "the store and the model disagree")]
fn a_store_that_forgets_does_not_conform() {
    conforms(100, &|clock: Clock| {
        Box::new(Forgetful(Memory::new(clock.clone()).with_scoring(SCORING), clock))
    });
}

#[test]
#[should_panic(expected = "the store and the model disagree")]
fn a_store_that_weighs_otherwise_does_not_conform() {
    let other = Scoring { rare: SCORING.rare + 1, ..SCORING };
    conforms(300, &|clock| Box::new(Memory::new(clock).with_scoring(other)));
}

#[test]
#[should_panic(expected = "the store and the model disagree")]
fn a_store_that_does_not_probe_does_not_conform() {
    // Leaked: a store that borrows another must outlive the case, and there are few of them.
    conforms(100, &|clock| Box::new(careless(Box::leak(Box::new(Memory::new(clock).with_scoring(SCORING))))));
}
