//! Clients that die between any two commands, and servers that come to grief.

use super::cluster::Running;
use super::{assert_sound, new_prefix, open, server};
use leitong_store::redis::{Options, Redis};
use leitong_store::{
    Added, Addition, Collection, Key, Mark, Policy, Probe, Query, Record, Space, SpaceSettings, Store,
    StoreError, Want,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

const NAME: &str = "faults";
const LEASE: Duration = Duration::from_millis(30);
/// More commands than any change of one record takes.
const MANY: usize = 200;

fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: NAME.into(), recipe: [5; 16], about: String::new(), spaces }
}

/// A record with all kinds of signals.
fn record(id: &str, print: u64) -> Record {
    let mut record = Record { id: id.into(), text: Some("正文".into()), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, print.into()));
    record.signals.keys.push(Key { kind: 1, value: print });
    record.signals.outline.marks = (0..3).map(|at| Mark { hash: print as u32 ^ at << 13, at }).collect();
    record.expires = Some(i64::MAX);
    record
}

fn unless(record: Record, judged: Vec<u64>) -> Addition {
    let (_, fingerprint) = record.signals.near[0].clone();
    let near = Probe::Near { space: Space::DOCUMENTS, fingerprint, within: 3 };
    let probes = vec![near, Probe::Marks(record.signals.outline.hashes())];
    Addition::new(record, Policy::Unless { probes, judged, limit: 5 })
}

/// What a client was doing when it died.
type Deed = fn(&Redis) -> Result<(), StoreError>;

const DEEDS: [(&str, Deed); 5] = [
    ("adding", |store| store.add(NAME, vec![unless(record("new", 0xff), Vec::new())]).map(drop)),
    ("replacing", |store| {
        store.add(NAME, vec![Addition::new(record("old", 0xff), Policy::Replace)]).map(drop)
    }),
    ("replacing unless", |store| store.add(NAME, vec![unless(record("old", 0xff), Vec::new())]).map(drop)),
    ("refused", |store| store.add(NAME, vec![unless(record("new", 0xff << 8 | 1), Vec::new())]).map(drop)),
    ("removing", |store| store.remove(NAME, &["old"]).map(drop)),
];

/// Whatever a client has done when it died: others go on after a lease at most, see all of it or nothing, and the rest is
/// swept away.
fn dies_between_any_two(address: &dyn Fn() -> String) {
    for (name, deed) in DEEDS {
        let mut stopped = 0;
        for commands in 0..MANY {
            let address = format!("{}&lease_ms={}", address(), LEASE.as_millis());
            let others = open(&address);
            others.create(&collection()).unwrap();
            let before = record("old", 0xff << 8);
            others.add(NAME, vec![Addition::new(before.clone(), Policy::New)]).unwrap();
            let left = Arc::new(AtomicUsize::new(usize::MAX));
            let options = Options { commands_left: Some(Arc::clone(&left)), ..Options::default() };
            let dying = Redis::open(&address, options).unwrap();
            // Looks for what others have left, and remembers the collection.
            dying.add(NAME, Vec::new()).unwrap();
            left.store(commands, std::sync::atomic::Ordering::SeqCst);
            let survived = deed(&dying).is_ok();
            drop(dying);
            others_go_on(&others, &before, &format!("{name}, died after {commands} commands"));
            if survived {
                break;
            }
            stopped += 1;
        }
        assert!((3..MANY).contains(&stopped), "{name} takes {stopped} commands");
    }
}

#[track_caller]
fn others_go_on(others: &Redis, before: &Record, what: &str) {
    let there = others.get(NAME, &["old", "new"], Want::Text).unwrap();
    let whole = |stored: &leitong_store::Stored| {
        let print = stored.record.signals.near[0].1.low64();
        stored.record == record(&stored.record.id, print)
    };
    assert!(there.iter().flatten().all(whole), "{what}: half a record: {there:?}");
    let accepted = there.iter().flatten().find(|stored| stored.record != *before);
    // Near to what the other was adding.
    let added = others.add(NAME, vec![unless(record("mine", 0xfe), Vec::new())]).unwrap().remove(0);
    match (accepted, &added) {
        (None, Added::Stored { .. }) => {}
        (Some(accepted), Added::Unjudged(found)) => {
            assert_eq!(found.candidates[0].rank.version, accepted.version, "{what}");
        }
        other => panic!("{what}: {other:?}"),
    }
    // Once to take note, and once when the lease is over.
    others.sweep().unwrap();
    std::thread::sleep(LEASE * 2);
    others.sweep().unwrap();
    assert_eq!(others.verify().unwrap().problems, Vec::<String>::new(), "{what}");
}

#[test]
fn a_client_of_a_cluster_dies_between_any_two_commands() {
    let Some(running) = Running::start(0) else { return };
    dies_between_any_two(&|| running.address());
}

#[test]
fn a_client_of_one_server_dies_between_any_two_commands() {
    let Some(server) = server(&[]) else { return };
    for (name, deed) in DEEDS {
        for commands in 0..10 {
            let address = format!("redis://127.0.0.1:{}?prefix={}", server.port(), new_prefix());
            let others = open(&address);
            others.create(&collection()).unwrap();
            others.add(NAME, vec![Addition::new(record("old", 0xff << 8), Policy::New)]).unwrap();
            let left = Arc::new(AtomicUsize::new(commands));
            let options = Options { commands_left: Some(left), ..Options::default() };
            let dying = Redis::open(&address, options).unwrap();
            _ = deed(&dying);
            assert_eq!(
                others.verify().unwrap().problems,
                Vec::<String>::new(),
                "{name}, died after {commands} commands"
            );
        }
    }
}

/// A collection that was being destroyed when the client died is gone for all, and its keys go with the next one made.
#[test]
fn a_client_dies_while_it_destroys() {
    let Some(running) = Running::start(0) else { return };
    for commands in 0..MANY {
        let address = running.address();
        let others = open(&address);
        others.create(&collection()).unwrap();
        others.add(NAME, vec![Addition::new(record("old", 1), Policy::New)]).unwrap();
        let options =
            Options { commands_left: Some(Arc::new(AtomicUsize::new(commands))), ..Options::default() };
        let remembering = open(&address);
        let ask = || {
            let near = Probe::Near { space: Space::DOCUMENTS, fingerprint: 1.into(), within: 3 };
            remembering.find(NAME, &[Query { probes: vec![near], limit: 1, ..Query::default() }])
        };
        assert_eq!(ask().unwrap()[0].candidates.len(), 1);
        let destroyed = Redis::open(&address, options).unwrap().destroy(NAME).is_ok();
        // Whoever remembers it finds all of it, or learns that it is gone.
        match ask() {
            Ok(found) => assert!(!destroyed && found[0].candidates.len() == 1, "{commands}: {found:?}"),
            Err(error) => assert!(matches!(error, StoreError::NoCollection { .. }), "{commands}: {error}"),
        }
        let there = others.collections().unwrap().len();
        let added = others.add(NAME, vec![Addition::new(record("new", 2), Policy::New)]);
        match there {
            0 => assert!(matches!(added, Err(StoreError::NoCollection { .. })), "{commands}: {added:?}"),
            _ => assert!(added.is_ok(), "{commands}: {added:?}"),
        }
        others.create(&collection()).unwrap();
        assert_eq!(others.count(NAME).unwrap().documents, if there == 0 { 0 } else { 2 }, "{commands}");
        assert_sound(&others);
        if destroyed {
            assert!(commands > 3, "destroying takes {commands} commands");
            return;
        }
    }
    panic!("never destroyed");
}

/// A collection that was being made when the client died is there or not, and can be made.
#[test]
fn a_client_dies_while_it_creates() {
    let Some(running) = Running::start(0) else { return };
    for commands in 0..MANY {
        let address = running.address();
        let options =
            Options { commands_left: Some(Arc::new(AtomicUsize::new(commands))), ..Options::default() };
        let created = Redis::open(&address, options).unwrap().create(&collection()).is_ok();
        let others = open(&address);
        others.create(&collection()).unwrap();
        others.add(NAME, vec![Addition::new(record("new", 2), Policy::New)]).unwrap();
        assert_sound(&others);
        if created {
            assert!(commands > 3, "creating takes {commands} commands");
            return;
        }
    }
    panic!("never created");
}
