//! Redis: one server, and in `cluster` a cluster. Everything a store promises, and that index and records fit together afterwards.

mod cluster;
mod copies;
mod failover;
mod faults;
mod moving;
mod pages;
mod tls;
mod troubles;

use crate::conformance::{SCORING, Subject, conforms};
use crate::histories::Load;
use crate::servers::Redis as Server;
use crate::{amount, marked, replaced};
use leitong_store::redis::{Options, Redis};
use leitong_store::{Added, Addition, Clock, Found, Mark, Policy, Probe, Query, Record, Sources, Store};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A name that no other test of this run has.
pub(crate) fn new_prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test-{}", NEXT.fetch_add(1, Ordering::SeqCst))
}

/// Everything fits together.
#[track_caller]
pub(crate) fn assert_sound(store: &Redis) {
    assert_eq!(store.verify().unwrap().problems, Vec::<String>::new());
}

/// A server, or the reason why a test is skipped.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
#[track_caller]
pub(crate) fn server(arguments: &[&str]) -> Option<Server> {
    let server = Server::start(arguments);
    if server.is_none() {
        println!("skipped: {} (redis-server is not installed)", std::panic::Location::caller());
    }
    server
}

pub(crate) fn open(address: &str) -> Redis {
    Redis::open(address, Options::default()).unwrap()
}

pub(crate) struct InRedis {
    pub(crate) store: Redis,
    pub(crate) address: String,
    pub(crate) clock: Clock,
}

impl InRedis {
    /// With the limits that the model has.
    pub(crate) fn new(address: String, clock: Clock) -> Self {
        let options = Options { clock: clock.clone(), scoring: SCORING, ..Options::default() };
        Self { store: Redis::open(&address, options).unwrap(), address, clock }
    }
}

impl Subject for InRedis {
    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn reopen(&mut self) {
        *self = Self::new(self.address.clone(), self.clock.clone());
    }

    fn maintain(&mut self, how: u8) {
        match how % 3 {
            0 => _ = self.store.sweep().unwrap(),
            1 => assert_sound(&self.store),
            _ => _ = self.store.stats().unwrap(),
        }
    }
}

impl Drop for InRedis {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_sound(&self.store);
        }
    }
}

#[test]
fn as_the_model() {
    let Some(server) = server(&[]) else { return };
    conforms(amount(300, 20), &|clock| {
        let address = format!("redis://127.0.0.1:{}?prefix={}", server.port(), new_prefix());
        Box::new(InRedis::new(address, clock))
    });
}

fn with_new(test: impl FnOnce(&dyn Store)) {
    let Some(server) = server(&[]) else { return };
    let store = open(&format!("redis://127.0.0.1:{}", server.port()));
    test(&store);
    assert_sound(&store);
}

#[test]
fn what_is_replaced_is_always_there() {
    with_new(|store| replaced::always_there(store, amount(300, 50), Duration::from_millis(5)));
}

/// Marks stand in strings with others; of a long one only as much is read as is needed, and no less.
#[test]
fn a_rare_mark_behind_a_common_one() {
    let Some(server) = server(&[]) else { return };
    let store = open(&format!("redis://127.0.0.1:{}", server.port()));
    store.create(&marked::collection()).unwrap();
    let add = |id: String, hash| {
        let mut record = Record { id, ..Record::default() };
        record.signals.outline.marks = vec![Mark { hash, at: 0 }];
        Addition::new(record, Policy::Replace)
    };
    let (common, rare) = (7 << 12, 7 << 12 | 1);
    let mut additions: Vec<Addition> = (0..5000).map(|at| add(format!("common {at}"), common)).collect();
    additions.push(add("rare".into(), rare));
    store.add(marked::NAME, additions).unwrap();
    let ask = |hash| Query { probes: vec![Probe::Marks(vec![hash])], limit: 100, ..Query::default() };
    let found = store.find(marked::NAME, &[ask(rare), ask(common)]).unwrap();
    let ids = |found: &Found| found.candidates.iter().map(|one| one.record.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&found[0]), ["rare"]);
    // None has the weight, and eight are proposed all the same: the oldest.
    assert_eq!(ids(&found[1]), (0..8).map(|at| format!("common {at}")).collect::<Vec<_>>());
    let sources = Sources { marks: vec![rare, common], ..Sources::default() };
    assert_eq!(store.sources(marked::NAME, &[sources]).unwrap(), [[2, 1025]]);
}

/// A question for no marks at all is one for marks all the same: what has expired is not there.
#[test]
fn what_has_expired_is_not_replaced() {
    let Some(server) = server(&[]) else { return };
    let store = open(&format!("redis://127.0.0.1:{}", server.port()));
    store.create(&marked::collection()).unwrap();
    let record = Record { id: "a".into(), expires: Some(1), ..Record::default() };
    store.add(marked::NAME, vec![Addition::new(record.clone(), Policy::Replace)]).unwrap();
    let policy = Policy::Unless { probes: vec![Probe::Marks(Vec::new())], judged: Vec::new(), limit: 1 };
    let addition = Addition { over: Some(7), ..Addition::new(record, policy) };
    let added = store.add(marked::NAME, vec![addition]).unwrap();
    assert_eq!(added, [Added::Changed { version: None }]);
}

promises!();

fn load() -> Load {
    Load { threads: 64, rounds: amount(20, 3), calls: 10 }
}
