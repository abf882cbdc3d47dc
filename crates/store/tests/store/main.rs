//! What every store promises, checked on each of them: against the slow twin, under many threads, and at its edges.
//!
//! A new store needs a module like `memory.rs`: a few lines for each suite.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

/// The tests of what every store promises, for a module with `with_new`, which hands a new store to a test, and `load`.
macro_rules! promises {
    () => {
        #[test]
        fn ids_are_kept_apart() {
            with_new(|store| crate::ids::kept_apart(store));
        }

        #[test]
        fn what_is_no_id_is_refused() {
            with_new(|store| crate::ids::refused(store));
        }

        #[test]
        fn errors_are_as_documented() {
            with_new(|store| crate::errors::no_collection(store));
            with_new(|store| crate::errors::other_collection(store));
            with_new(|store| crate::errors::misfits(store));
        }

        #[test]
        fn one_of_many_is_stored() {
            with_new(|store| crate::histories::one_of_many(store, load()));
        }

        #[test]
        fn one_of_many_is_stored_by_marks() {
            with_new(|store| crate::marked::one_of_many(store, load()));
        }

        #[test]
        fn chains_break_between_duplicates() {
            with_new(|store| crate::histories::chains(store, load()));
        }

        #[test]
        fn mixed_calls_can_be_explained() {
            with_new(|store| crate::histories::mixed(store, load()));
        }
    };
}

mod broken;
mod checker;
mod conformance;
mod embedded;
mod errors;
mod format;
mod histories;
mod ids;
mod marked;
mod measure;
mod memory;
mod model;
mod redis;
mod replaced;
mod search;
#[path = "../servers/mod.rs"]
mod servers;
mod steps;

use leitong_store::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock that goes on only when told to.
#[derive(Clone)]
pub(crate) struct Time(Arc<AtomicI64>);

impl Time {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_000)))
    }

    pub(crate) fn clock(&self) -> Clock {
        let time = Arc::clone(&self.0);
        Clock::new(move || time.load(Ordering::SeqCst))
    }

    pub(crate) fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// The usual amount of work, or the smaller one of an everyday run (`LEITONG_QUICK`).
pub(crate) fn amount(usual: u32, quick: u32) -> u32 {
    if std::env::var_os("LEITONG_QUICK").is_some() { quick } else { usual }
}
