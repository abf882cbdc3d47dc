//! Many threads that add documents with the same marks: one of them is stored, and the others are told which.

use crate::histories::Load;
use leitong_store::{Added, Addition, Collection, Mark, Policy, Probe, Query, Record, Sources, Store};
use std::sync::Barrier;

pub(crate) const NAME: &str = "marked";
/// Marks of a document, and how many of them all have.
const MARKS: u32 = 40;
const SHARED: u32 = 30;
/// From so many in common on it is a duplicate: candidates with fewer are judged and not minded.
const DUPLICATE: u32 = 20;

pub(crate) fn collection() -> Collection {
    Collection { name: NAME.into(), recipe: [4; 16], about: String::new(), spaces: Vec::new() }
}

fn record(round: u32, thread: u32) -> Record {
    let mut record = Record { id: format!("{round}/{thread}"), ..Record::default() };
    // A sixth of them every round has, so that there are candidates of other rounds.
    let hash = |at: u32| match at {
        0..7 => at,
        7..SHARED => round << 8 | at,
        _ => 1 << 31 | round << 16 | thread << 8 | at,
    };
    record.signals.outline.marks = (0..MARKS).map(|at| Mark { hash: hash(at).swap_bytes(), at }).collect();
    record
}

/// The optimistic loop: the version stored, or that of the duplicate.
fn add_unless_duplicate(store: &dyn Store, record: &Record) -> Result<u64, u64> {
    let mut judged = Vec::new();
    let hashes = record.signals.outline.hashes();
    loop {
        let probes = vec![Probe::Marks(hashes.clone())];
        let policy = Policy::Unless { probes, judged: judged.clone(), limit: 2 };
        match store.add(NAME, vec![Addition::new(record.clone(), policy)]).unwrap().remove(0) {
            Added::Stored { version, .. } => return Ok(version),
            Added::Unjudged(found) => {
                let ranks: Vec<_> = found.candidates.iter().map(|candidate| candidate.rank).collect();
                let new = ranks.iter().all(|rank| !judged.contains(&rank.version)) && !ranks.is_empty();
                assert!(new, "refused for {ranks:?}, of which {judged:?} are judged");
                if let Some(duplicate) = ranks.iter().find(|rank| rank.keys.0 >= DUPLICATE) {
                    return Err(duplicate.version);
                }
                judged.extend(ranks.iter().map(|rank| rank.version));
            }
            other => panic!("no answer to this policy: {other:?}"),
        }
    }
}

/// Of documents that are all duplicates of each other by their marks exactly one is stored.
pub(crate) fn one_of_many(store: &dyn Store, load: Load) {
    store.create(&collection()).unwrap();
    for round in 0..load.rounds {
        let barrier = Barrier::new(load.threads as usize);
        let decided: Vec<Result<u64, u64>> = std::thread::scope(|scope| {
            let start = |thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    add_unless_duplicate(store, &record(round, thread))
                })
            };
            let running: Vec<_> = (0..load.threads).map(start).collect();
            running.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
        });
        let winners: Vec<u64> = decided.iter().filter_map(|decided| decided.ok()).collect();
        assert_eq!(winners.len(), 1, "round {round}: stored were {winners:?}");
        let told = decided.iter().filter_map(|decided| decided.err()).all(|version| version == winners[0]);
        assert!(told, "round {round}: told of another than the winner: {decided:?}");
    }
    all_are_found(store, load.rounds);
}

/// Every winner is found by its marks, and each is a source of its own.
fn all_are_found(store: &dyn Store, rounds: u32) {
    for round in 0..rounds {
        let marks = record(round, u32::MAX >> 24).signals.outline.hashes();
        let query = Query { probes: vec![Probe::Marks(marks)], limit: 1, ..Query::default() };
        let found = store.find(NAME, &[query]).unwrap().remove(0).candidates.remove(0);
        assert!(found.record.id.starts_with(&format!("{round}/")), "{round} finds {}", found.record.id);
        assert!(found.rank.keys.0 >= SHARED, "{round}: {:?}", found.rank);
    }
    let marks = [0, 7].map(|at| record(0, 0).signals.outline.marks[at].hash).into();
    let question = Sources { marks, ..Sources::default() };
    assert_eq!(store.sources(NAME, &[question]).unwrap(), [[rounds + 1, 2]]);
}

#[test]
#[should_panic(expected = "stored were")]
fn a_store_that_probes_and_stores_in_two_steps_is_noticed() {
    let memory = leitong_store::Memory::default();
    one_of_many(&crate::broken::racy(&memory, 8), Load { threads: 8, rounds: 1, calls: 0 });
}
