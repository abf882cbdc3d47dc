//! In a cluster every string of fingerprints stands in two or three copies, of which a question reads one.

use super::cluster::Running;
use super::{assert_sound, open};
use crate::servers::Redis as Server;
use leitong_store::redis::Redis;
use leitong_store::{
    Added, Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, StoreError,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const NAME: &str = "copies";
const DOCUMENTS: u64 = 300;

fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: NAME.into(), recipe: [3; 16], about: String::new(), spaces }
}

/// Far from those of all others.
fn print(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn near(print: u64) -> Probe {
    Probe::Near { space: Space::DOCUMENTS, fingerprint: print.into(), within: 3 }
}

fn record(number: u64) -> Record {
    let mut record = Record { id: number.to_string(), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, print(number).into()));
    record
}

fn fill(store: &Redis) {
    let additions = (0..DOCUMENTS).map(|number| Addition::new(record(number), Policy::New));
    store.add(NAME, additions.collect()).unwrap();
}

/// The ids of what is near a document, by a question of three bits more or less.
fn found(store: &Redis, number: u64) -> Result<Vec<String>, StoreError> {
    let asked = print(number) ^ 1 << (number % 64) ^ 1 << (number * 7 % 64) ^ 1 << (number * 31 % 64);
    let query = Query { probes: vec![near(asked)], limit: 5, ..Query::default() };
    let found = store.find(NAME, &[query])?.remove(0);
    Ok(found.candidates.into_iter().map(|found| found.record.id).collect())
}

#[track_caller]
fn assert_all_found(store: &Redis) {
    for number in 0..DOCUMENTS {
        assert_eq!(found(store, number).unwrap(), [number.to_string()], "document {number}");
    }
}

/// What a node and those it names say.
fn ask(node: &Server, command: &[&str]) -> String {
    let answer = node.ask(&[&["-c"], command].concat());
    answer.trim().to_owned()
}

/// All keys of the prefix that match.
pub(super) fn keys(running: &Running, pattern: &str) -> Vec<String> {
    let masters = running.cluster.nodes().iter();
    let keys = masters.map(|node| node.ask(&["KEYS", pattern]));
    keys.flat_map(|keys| keys.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(super) fn prefix(address: &str) -> &str {
    address.rsplit('=').next().unwrap()
}

/// Collections whose settings say nothing of copies have one, and no signs.
#[test]
fn collections_made_before() {
    let Some(running) = Running::start(0) else { return };
    let address = running.address();
    open(&address).create(&collection()).unwrap();
    let (node, all) = (&running.cluster.nodes()[0], format!("{{{}}}:collections", prefix(&address)));
    let settings = ask(node, &["HGET", &all, NAME]);
    let before = settings.replace(r#","copies":[3,2]"#, "");
    assert_ne!(settings, before);
    _ = ask(node, &["HSET", &all, NAME, &before]);
    for sign in keys(&running, &format!("{}:1:alive.*", prefix(&address))) {
        _ = ask(node, &["DEL", &sign]);
    }
    let store = open(&address);
    fill(&store);
    assert_sound(&store);
    assert_all_found(&store);
    let strings = keys(&running, &format!("{}:1:n*", prefix(&address)));
    assert!(strings.iter().all(|key| key.matches('.').count() == 2), "{strings:?}");
    let probes = vec![near(print(7) ^ 1)];
    let unless = Policy::Unless { probes, judged: Vec::new(), limit: 1 };
    let added = store.add(NAME, vec![Addition::new(record(1000), unless)]).unwrap().remove(0);
    assert!(matches!(added, Added::Unjudged(_)), "{added:?}");
    store.remove(NAME, &["7"]).unwrap();
    assert_eq!(found(&store, 7).unwrap(), Vec::<String>::new());
    assert_sound(&store);
    assert!(store.destroy(NAME).unwrap());
    assert_eq!(keys(&running, &format!("{}:*1*", prefix(&address))), Vec::<String>::new());
}

/// Whichever copy is lost, it is noticed and made anew from the records; without a sign of it the collection is there all the same.
#[test]
fn what_is_lost_is_made_anew() {
    let Some(running) = Running::start(0) else { return };
    let address = running.address();
    let store = open(&address);
    store.create(&collection()).unwrap();
    fill(&store);
    let strings = keys(&running, &format!("{}:1:n*", prefix(&address)));
    let mut copies: BTreeMap<&str, usize> = BTreeMap::new();
    strings.iter().for_each(|key| *copies.entry(key.rsplit_once('.').unwrap().0).or_default() += 1);
    for (key, number) in copies {
        assert_eq!(number, if key.contains(":n0.0.") { 3 } else { 2 }, "{key}");
    }
    let node = &running.cluster.nodes()[0];
    let signs = keys(&running, &format!("{}:1:alive.*", prefix(&address)));
    assert_eq!(signs.len(), 32);
    for lost in [&strings[..1], &strings[100..101], &strings[..40], &signs[..1], &signs] {
        for key in lost {
            _ = ask(node, &["DEL", key]);
        }
        if lost[0].contains("alive") {
            assert_all_found(&store);
        }
        let wrong = store.verify().unwrap();
        assert!(wrong.problem_count as usize >= lost.len(), "{lost:?}: {wrong:?}");
        let (mended, left) = store.repair().unwrap();
        assert_eq!((mended, left.problem_count), (wrong.problems, 0));
        assert_sound(&store);
        assert_all_found(&store);
    }
    store.destroy(NAME).unwrap();
    assert_eq!(keys(&running, &format!("{}:*1*", prefix(&address))), Vec::<String>::new());
}

/// Slots that move to another master while somebody asks: the copies are where they are, and answers are the same.
#[test]
fn slots_that_move() {
    let Some(running) = Running::start(0) else { return };
    let address = running.address();
    let store = open(&address);
    store.create(&collection()).unwrap();
    fill(&store);
    let over = AtomicBool::new(false);
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !over.load(Ordering::SeqCst) {
                assert_all_found(&store);
                let number = DOCUMENTS + asked;
                let probes = vec![near(print(number))];
                let unless = Policy::Unless { probes, judged: Vec::new(), limit: 1 };
                let added = store.add(NAME, vec![Addition::new(record(number), unless)]).unwrap();
                assert!(matches!(added[0], Added::Stored { .. }), "{added:?}");
                asked += 1;
            }
            asked
        });
        let moves = [(0, 1), (1, 2), (2, 0)];
        let moved = moves.into_iter().try_for_each(|(from, to)| running.cluster.move_slots(from, to, 1500));
        over.store(true, Ordering::SeqCst);
        moved.unwrap();
        asking.join().unwrap()
    });
    assert!(asked > 0);
    assert_all_found(&store);
    assert_sound(&open(&address));
}
