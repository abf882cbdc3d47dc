//! A client that stops between any two steps holds nobody up for longer than its lease, and leaves nothing half done.

use super::subject::{clear, new_address, open};
use leitong_fingerprint::Fingerprint;
use leitong_store::opensearch::{Fault, OpenSearch, Options};
use leitong_store::{
    Added, Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, StoreError, Want,
};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

const NAME: &str = "crashes";
/// For the other of two clients: one that has failed never comes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where a client can stop.
const STEPS: [&str; 6] = ["read", "announced", "numbered", "seen who is coming", "looked", "stored"];

fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces }
}

fn addition(id: &str, print: u64, judged: &[u64]) -> Addition {
    let mut record = Record { id: id.into(), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, print.into()));
    Addition::new(record, Policy::Unless { probes: vec![probe(print)], judged: judged.to_vec(), limit: 9 })
}

fn probe(print: u64) -> Probe {
    Probe::Near { space: Space::DOCUMENTS, fingerprint: Fingerprint::from(print), within: 3 }
}

/// The ids that are found near a fingerprint.
fn found(store: &dyn Store, print: u64) -> Vec<String> {
    let query = Query { probes: vec![probe(print)], limit: 99, ..Query::default() };
    let found = store.find(NAME, &[query]).unwrap().remove(0);
    found.candidates.into_iter().map(|candidate| candidate.record.id).collect()
}

fn stopping(address: &str, at: &'static str) -> OpenSearch {
    reaching(address, move |step| step == at)
}

/// A client that asks at every step whether it is to stop.
fn reaching(address: &str, stops: impl Fn(&str) -> bool + Send + Sync + 'static) -> OpenSearch {
    let mut options = Options::default();
    options.fault = Fault::new(stops);
    OpenSearch::open(address, options).unwrap()
}

pub(crate) fn between_any_two_steps(url: &str) {
    let address = new_address(url);
    let store = open(&address);
    store.create(&collection()).unwrap();
    for (number, step) in STEPS.into_iter().enumerate() {
        let print = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        a_new_one(&store, &stopping(&address, step), step, print);
        one_in_place_of_another(&store, &stopping(&address, step), step, !print);
    }
    clear(url, &address, &store);
}

/// One has announced a document, and is stored while another who adds the same looks around: between its look for announcements and
/// that for records. Each of the two looks sees a moment of its own, and one of them must show the first.
pub(crate) fn stored_while_another_looks(url: &str) {
    let address = new_address(url);
    let (at_the_door, arrived) = channel();
    let (go, may_go) = channel();
    let (stored, is_stored) = channel();
    let may_go = Mutex::new(may_go);
    let first = reaching(&address, move |step| {
        if step == "looked" {
            at_the_door.send(()).unwrap();
            may_go.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        false
    });
    let is_stored = Mutex::new(Some(is_stored));
    let second = reaching(&address, move |step| {
        if let Some(is_stored) = is_stored.lock().unwrap().take_if(|_| step == "seen who is coming") {
            go.send(()).unwrap();
            is_stored.recv_timeout(PATIENCE).unwrap();
        }
        false
    });
    first.create(&collection()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let added = first.add(NAME, vec![addition("first", 7, &[])]).unwrap().remove(0);
            assert!(matches!(added, Added::Stored { .. }), "{added:?}");
            // So that searches see it, as those of others would make them.
            assert_eq!(found(&first, 7), ["first"]);
            stored.send(()).unwrap();
        });
        arrived.recv_timeout(PATIENCE).unwrap();
        let added = second.add(NAME, vec![addition("second", 7, &[])]).unwrap().remove(0);
        assert!(
            matches!(&added, Added::Unjudged(found) if found.candidates[0].record.id == "first"),
            "{added:?}"
        );
    });
    assert_eq!(found(&first, 7), ["first"]);
    clear(url, &address, &first);
}

/// It stops while it adds a document that was not there.
fn a_new_one(store: &OpenSearch, stopping: &OpenSearch, step: &str, print: u64) {
    let [first, second] = ["first", "second"].map(|which| format!("{which} {step}"));
    let stopped = stopping.add(NAME, vec![addition(&first, print, &[])]);
    assert!(matches!(stopped, Err(StoreError::Uncertain { .. })), "{step}: {stopped:?}");
    let is_stored = step == "stored";
    assert_eq!(found(store, print).len(), usize::from(is_stored), "seen after {step}");
    assert_eq!(store.get(NAME, &[&first], Want::Text).unwrap()[0].is_some(), is_stored, "got after {step}");
    let added = store.add(NAME, vec![addition(&second, print ^ 1, &[])]).unwrap().remove(0);
    match (is_stored, &added) {
        (true, Added::Unjudged(candidates)) => assert_eq!(candidates.candidates[0].record.id, first),
        (false, Added::Stored { replaced: None, .. }) => assert_eq!(found(store, print), [second]),
        _ => panic!("after {step}: {added:?}"),
    }
    // The same id goes on where it was.
    let mut again = addition(&first, print.swap_bytes(), &[]);
    again.policy = Policy::New;
    let added = store.add(NAME, vec![again]).unwrap().remove(0);
    assert_eq!(matches!(added, Added::Exists { .. }), is_stored, "after {step}: {added:?}");
}

/// It stops while it replaces a document, which stays until it is replaced.
fn one_in_place_of_another(store: &OpenSearch, stopping: &OpenSearch, step: &str, print: u64) {
    let (id, far) = (format!("old {step}"), print.rotate_left(32) ^ 0xffff);
    store.add(NAME, vec![addition(&id, far, &[])]).unwrap();
    let stopped = stopping.add(NAME, vec![addition(&id, print, &[])]);
    assert!(matches!(stopped, Err(StoreError::Uncertain { .. })), "{step}: {stopped:?}");
    let (here, gone) = if step == "stored" { (print, far) } else { (far, print) };
    assert_eq!(found(store, here), [id.as_str()], "after {step}");
    assert_eq!(found(store, gone), [""; 0], "after {step}");
    let added = store.add(NAME, vec![addition("other", gone ^ 2, &[])]).unwrap().remove(0);
    assert!(matches!(added, Added::Stored { .. }), "after {step}: {added:?}");
    assert_eq!(found(store, here), [id.as_str()], "what was there is still there, after {step}");
    assert!(store.remove(NAME, &[&id, "other"]).unwrap().iter().all(Option::is_some), "after {step}");
    assert_eq!(found(store, here), [""; 0], "after {step}");
}
