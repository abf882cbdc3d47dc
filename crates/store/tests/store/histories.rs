//! Many threads at one store: of documents that are duplicates of each other one is stored, whatever else happens.

use crate::checker::{Call, DUPLICATE, Doc, Event, PROBED, Sight, distance, violations};
use leitong_fingerprint::Fingerprint;
use leitong_store::{
    Added, Addition, Candidate, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store,
    Stored, Want,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

/// How much is done.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) threads: u32,
    /// Rounds of each kind; each has documents of its own.
    pub(crate) rounds: u32,
    /// Calls of each thread in a mixed round.
    pub(crate) calls: u32,
}

/// A store whose every call is written down.
struct Recorder<'a> {
    store: &'a dyn Store,
    /// The collection: each suite has its own, so that one store can go through all.
    name: &'static str,
    moment: AtomicU64,
    events: Mutex<Vec<Event>>,
}

/// What became of a document that was to be added unless it is a duplicate.
#[derive(Debug)]
enum Decision {
    Stored { version: u64 },
    Duplicate(Sight),
}

impl<'a> Recorder<'a> {
    fn new(store: &'a dyn Store, name: &'static str) -> Self {
        let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: PROBED }];
        let collection = Collection { name: name.into(), recipe: [3; 16], about: String::new(), spaces };
        store.create(&collection).expect("a collection can be made");
        Self { store, name, moment: AtomicU64::new(0), events: Mutex::default() }
    }

    fn record<T>(&self, call: impl FnOnce(&dyn Store) -> (Call, T)) -> T {
        let start = self.moment.fetch_add(1, Ordering::SeqCst);
        let (call, answer) = call(self.store);
        let end = self.moment.fetch_add(1, Ordering::SeqCst);
        self.events.lock().unwrap().push(Event { start, end, call });
        answer
    }

    /// The optimistic loop: whoever is told of candidates judges them and comes again.
    fn add_unless_duplicate(&self, doc: &Doc) -> Decision {
        let mut judged = Vec::new();
        loop {
            match self.add(doc, Some(judged.clone())) {
                Ok(version) => return Decision::Stored { version },
                Err(sights) => {
                    // Otherwise the loop would never end.
                    let new =
                        sights.iter().all(|sight| !judged.contains(&sight.version)) && !sights.is_empty();
                    assert!(new, "{doc:?} was refused for {sights:?}, of which {judged:?} are judged");
                    judged.extend(sights.iter().map(|sight| sight.version));
                    if let Some(duplicate) = sights.into_iter().find(|sight| sight.distance <= DUPLICATE) {
                        return Decision::Duplicate(duplicate);
                    }
                }
            }
        }
    }

    /// One call: unless there is something not yet judged, or in any case.
    fn add(&self, doc: &Doc, judged: Option<Vec<u64>>) -> Result<u64, Vec<Sight>> {
        let policy = match &judged {
            // Two at a time, so that some come only with the next call.
            Some(judged) => {
                Policy::Unless { probes: vec![probe(doc.print)], judged: judged.clone(), limit: 2 }
            }
            None => Policy::Replace,
        };
        let addition = Addition::new(record(doc), policy);
        self.record(|store| {
            let added =
                store.add(self.name, vec![addition]).expect("an addition").pop().expect("an answer for it");
            let (doc, unless) = (doc.clone(), judged.is_some());
            match added {
                Added::Stored { version, replaced } => {
                    (Call::Stored { doc, version, replaced, unless }, Ok(version))
                }
                Added::Unjudged(found) => {
                    let sights: Vec<Sight> = found.candidates.iter().map(sight).collect();
                    let judged = judged.unwrap_or_default();
                    (Call::Unjudged { doc, judged, sights: sights.clone() }, Err(sights))
                }
                Added::Exists { .. } | Added::Changed { .. } => panic!("no answer to this policy: {added:?}"),
            }
        })
    }

    fn remove(&self, id: &str) {
        self.record(|store| {
            let version = store.remove(self.name, &[id]).expect("a removal")[0];
            (Call::Removed { id: id.to_owned(), version }, ())
        });
    }

    fn find(&self, print: u64) {
        let query = Query { probes: vec![probe(print)], except: None, after: None, limit: usize::MAX };
        self.record(|store| {
            let found = &store.find(self.name, &[query]).expect("a search")[0];
            (Call::Found { print, sights: found.candidates.iter().map(sight).collect() }, ())
        });
    }

    /// Does a thing in many threads at once; the answers in the order of the threads.
    fn at_once<T: Send>(&self, threads: u32, work: impl Fn(u32) -> T + Sync) -> Vec<T> {
        let barrier = Barrier::new(threads as usize);
        let (barrier, work) = (&barrier, &work);
        std::thread::scope(|scope| {
            let start = |thread| {
                scope.spawn(move || {
                    barrier.wait();
                    work(thread)
                })
            };
            let running: Vec<_> = (0..threads).map(start).collect();
            running.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
        })
    }

    /// What no order of the calls since the last time explains. All ids were of the form `round/…`.
    fn violations(&self, round: &str) -> Vec<String> {
        let left = self.store.scan(self.name, None, usize::MAX, Want::Record).expect("a scan");
        let left = left.iter().map(|Stored { version, record }| (doc(record), *version));
        let left: Vec<(Doc, u64)> =
            left.filter(|(doc, _)| doc.id.starts_with(&format!("{round}/"))).collect();
        violations(&std::mem::take(&mut *self.events.lock().unwrap()), &left)
    }

    fn assert_explained(&self, round: &str) {
        let wrong = self.violations(round);
        assert!(wrong.is_empty(), "{round}: {}, the first: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }
}

fn probe(print: u64) -> Probe {
    Probe::Near { space: Space::DOCUMENTS, fingerprint: print.into(), within: PROBED }
}

fn record(doc: &Doc) -> Record {
    let mut record = Record { id: doc.id.clone(), ..Record::default() };
    record.signals.near.push((Space::DOCUMENTS, doc.print.into()));
    record
}

fn doc(record: &Record) -> Doc {
    let print = record.signals.near(Space::DOCUMENTS).map_or(0, Fingerprint::low64);
    Doc { id: record.id.clone(), print }
}

fn sight(candidate: &Candidate) -> Sight {
    let Candidate { rank, record } = candidate;
    Sight { doc: doc(record), version: rank.version, distance: rank.distance }
}

/// Numbers that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let x = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Of documents that are all duplicates of each other exactly one is stored, and the others are told which.
pub(crate) fn one_of_many(store: &dyn Store, load: Load) {
    let recorder = Recorder::new(store, "one of many");
    for number in 0..load.rounds {
        let round = format!("one-{number}");
        // One bit flipped in each: any two differ in two, or not at all where there are more threads than bits.
        let print = |thread: u32| mix(number.into()) ^ 1 << (thread % 64);
        let decided = add_all(&recorder, load.threads, &round, print);
        let winners: Vec<_> = decided.iter().filter_map(stored).collect();
        assert_eq!(winners.len(), 1, "{round}: stored were {winners:?}");
        for (_, decision) in &decided {
            if let Decision::Duplicate(of) = decision {
                assert_eq!((&of.doc, of.version), winners[0], "{round}: told of another than the winner");
            }
        }
        recorder.assert_explained(&round);
    }
}

/// Chains: neighbours are duplicates, their neighbours are not. Several are stored, none of them neighbours, and whoever is
/// not has a neighbour that is.
pub(crate) fn chains(store: &dyn Store, load: Load) {
    let recorder = Recorder::new(store, "chains");
    for number in 0..load.rounds {
        let round = format!("chain-{number}");
        let print = |thread| mix(u64::from(number) << 32) ^ ((1_u64 << (thread % 64)) - 1);
        let decided = add_all(&recorder, load.threads, &round, print);
        let winners: Vec<_> = decided.iter().filter_map(stored).collect();
        for (doc, decision) in &decided {
            let mut near = winners.iter().filter(|(other, _)| distance(other.print, doc.print) <= DUPLICATE);
            match decision {
                Decision::Stored { .. } => assert_eq!(near.count(), 1, "{round}: {doc:?} beside a duplicate"),
                Decision::Duplicate(of) => {
                    assert!(
                        near.any(|near| *near == (&of.doc, of.version)),
                        "{round}: {of:?} was not stored"
                    );
                }
            }
        }
        recorder.assert_explained(&round);
    }
}

/// Each thread adds one document, unless it is a duplicate.
fn add_all(
    recorder: &Recorder<'_>,
    threads: u32,
    round: &str,
    print: impl Fn(u32) -> u64 + Sync,
) -> Vec<(Doc, Decision)> {
    recorder.at_once(threads, |thread| {
        let doc = Doc { id: format!("{round}/{thread}"), print: print(thread) };
        let decision = recorder.add_unless_duplicate(&doc);
        (doc, decision)
    })
}

fn stored((doc, decision): &(Doc, Decision)) -> Option<(&Doc, u64)> {
    match decision {
        Decision::Stored { version } => Some((doc, *version)),
        Decision::Duplicate(_) => None,
    }
}

/// Additions, replacements, removals and searches of a few documents that are near each other, by all threads.
pub(crate) fn mixed(store: &dyn Store, load: Load) {
    let recorder = Recorder::new(store, "mixed");
    for number in 0..load.rounds {
        let round = mixed_round(&recorder, load, number);
        recorder.assert_explained(&round);
    }
}

/// Does a mixed round and gives its name.
fn mixed_round(recorder: &Recorder<'_>, load: Load, number: u32) -> String {
    let round = format!("mixed-{number}");
    recorder.at_once(load.threads, |thread| {
        for call in 0..load.calls {
            let random = mix(u64::from(number) << 40 | u64::from(thread) << 20 | u64::from(call));
            // Two chains of eight links and twelve ids: most calls meet another.
            let chain = mix(u64::from(number) << 1 | random >> 8 & 1);
            let print = chain ^ ((1 << (random >> 16 & 7)) - 1);
            let id = format!("{round}/{}", (random >> 24) % 12);
            one_call(recorder, random, &Doc { id, print });
        }
    });
    round
}

fn one_call(recorder: &Recorder<'_>, random: u64, doc: &Doc) {
    match random & 15 {
        0..8 => _ = recorder.add_unless_duplicate(doc),
        8..10 => _ = recorder.add(doc, None).expect("`Replace` stores in any case"),
        10..14 => recorder.remove(&doc.id),
        _ => recorder.find(doc.print),
    }
}

/// The checker finds what is wrong with stores that are.
mod broken {
    use super::*;
    use crate::broken::{careless, racy};
    use leitong_store::Memory;

    #[test]
    fn a_store_that_does_not_probe() {
        let memory = Memory::default();
        let careless = careless(&memory);
        let recorder = Recorder::new(&careless, "careless");
        let load = Load { threads: 8, rounds: 1, calls: 20 };
        let round = mixed_round(&recorder, load, 0);
        let wrong = recorder.violations(&round);
        assert!(wrong.iter().any(|wrong| wrong.contains("its duplicate")), "not noticed: {wrong:?}");
    }

    #[test]
    fn a_store_that_probes_and_stores_in_two_steps() {
        const THREADS: u32 = 8;
        let memory = Memory::default();
        let racy = racy(&memory, THREADS);
        let recorder = Recorder::new(&racy, "racy");
        let decided = add_all(&recorder, THREADS, "race", |thread| 1 << thread);
        assert_eq!(decided.iter().filter_map(stored).count(), 8, "the race was not lost as it should be");
        let wrong = recorder.violations("race");
        assert!(wrong.iter().any(|wrong| wrong.contains("its duplicate")), "not noticed: {wrong:?}");
    }
}
