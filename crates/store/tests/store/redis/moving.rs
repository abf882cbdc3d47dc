//! Slots that stand between two masters: what is in them is with the old one still, and what is no longer there is with the new one.
//! A script that empties a key and fills it again would find it gone.

use super::cluster::Running;
use super::copies::{keys, prefix};
use super::{assert_sound, open};
use leitong_store::redis::{Options, Redis};
use leitong_store::{Addition, Collection, Mark, Policy, Record, Space, SpaceSettings, Store, Want};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NAME: &str = "moving";
const LEASE: Duration = Duration::from_millis(30);

fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: NAME.into(), recipe: [7; 16], about: String::new(), spaces }
}

/// All of one wording.
fn put(store: &Redis, id: &str, text: &str) {
    let mut record = Record { id: id.into(), text: Some(text.into()), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, 0x0123_4567_89ab_cdef.into()));
    record.signals.outline.marks.push(Mark { hash: 7, at: 0 });
    store.add(NAME, vec![Addition::new(record, Policy::Replace)]).unwrap();
}

/// The slots of keys, each with the master that has it.
fn slots(running: &Running, pattern: &str) -> BTreeSet<(usize, String)> {
    let nodes = running.cluster.nodes();
    let of = |key: &String| {
        let has = |node: &&xtask::servers::Redis| node.ask(&["EXISTS", key]).trim() == "1";
        let node = nodes.iter().position(|node| has(&node)).unwrap();
        (node, nodes[node].ask(&["CLUSTER", "KEYSLOT", key]).trim().to_owned())
    };
    keys(running, pattern).iter().map(of).collect()
}

/// Does something while slots are on their way to the next master; then they arrive.
fn while_they_move(running: &Running, slots: &BTreeSet<(usize, String)>, work: impl FnOnce()) {
    let nodes = running.cluster.nodes();
    let ids: Vec<String> =
        nodes.iter().map(|node| node.ask(&["CLUSTER", "MYID"]).trim().to_owned()).collect();
    let next = |from: usize| (from + 1) % nodes.len();
    let set = |node: usize, slot: &str, what: [&str; 2]| {
        let said = nodes[node].ask(&["CLUSTER", "SETSLOT", slot, what[0], what[1]]);
        assert_eq!(said.trim(), "OK", "{slot} {what:?}");
    };
    for (from, slot) in slots {
        set(next(*from), slot, ["IMPORTING", &ids[*from]]);
        set(*from, slot, ["MIGRATING", &ids[next(*from)]]);
    }
    work();
    for (from, slot) in slots {
        let (to, port) = (next(*from), nodes[next(*from)].port().to_string());
        for key in nodes[*from].ask(&["CLUSTER", "GETKEYSINSLOT", slot, "1000"]).split_whitespace() {
            let moved = nodes[*from].ask(&["MIGRATE", "127.0.0.1", &port, key, "0", "10000"]);
            assert_eq!(moved.trim(), "OK", "{key}");
        }
        let others = (0..nodes.len()).filter(|node| *node != to);
        std::iter::once(to).chain(others).for_each(|node| set(node, slot, ["NODE", &ids[to]]));
    }
}

#[test]
fn what_is_cut_leaves_the_rest() {
    let Some(running) = Running::start(0) else { return };
    let address = running.address();
    let store = open(&address);
    store.create(&collection()).unwrap();
    ["stays", "goes", "too"].iter().for_each(|id| put(&store, id, "text"));
    let strings = slots(&running, &format!("{}:1:[nm]*", prefix(&address)));
    while_they_move(&running, &strings, || {
        assert!(store.remove(NAME, &["goes"]).unwrap()[0].is_some());
        put(&store, "too", "another text");
    });
    assert_sound(&store);
    assert_eq!(store.count(NAME).unwrap().documents, 2);
}

#[test]
fn what_is_replaced_is_there() {
    let Some(running) = Running::start(0) else { return };
    let address = format!("{}&lease_ms={}", running.address(), LEASE.as_millis());
    let store = open(&address);
    store.create(&collection()).unwrap();
    let prefix = address.split("prefix=").nth(1).and_then(|rest| rest.split('&').next()).unwrap();
    // Scripts run in a slot that moves where all of their keys are there: one that was removed, one that is there, and one whose
    // client has died.
    put(&store, "one", "text");
    store.remove(NAME, &["one"]).unwrap();
    put(&store, "one", "text");
    let tickets = || keys(&running, &format!("{prefix}:*:tickets")).len();
    for commands in 0.. {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let options = Options { commands_left: Some(Arc::clone(&left)), ..Options::default() };
        let dying = Redis::open(&address, options).unwrap();
        dying.add(NAME, Vec::new()).unwrap();
        left.store(commands, Ordering::SeqCst);
        let record = Record { id: "one".into(), text: Some("never".into()), ..Record::default() };
        assert!(dying.add(NAME, vec![Addition::new(record, Policy::Replace)]).is_err(), "it has not died");
        if tickets() > 0 {
            break;
        }
    }
    let partition = slots(&running, &format!("{prefix}:[{{]*[}}]:*"));
    assert_eq!(partition.len(), 1, "everything is in one partition: {partition:?}");
    while_they_move(&running, &partition, || put(&store, "one", "another text"));
    let there = store.get(NAME, &["one"], Want::Text).unwrap().remove(0).expect("it is lost");
    assert_eq!(there.record.text.as_deref(), Some("another text"));
    store.sweep().unwrap();
    std::thread::sleep(LEASE * 2);
    store.sweep().unwrap();
    assert_sound(&store);
    assert_eq!(tickets(), 0);
}
