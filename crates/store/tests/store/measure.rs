//! How fast it is, on a real disk: `cargo test --release -p leitong-store --test store measure -- --ignored --nocapture`.
//!
//! `LEITONG_MEASURED` is the number of documents. What is printed depends on the machine; nothing is asserted of it.

use crate::embedded::open;
use leitong_store::{
    Addition, Collection, Key, Mark, Outline, Policy, Probe, Query, Record, Signals, Space, SpaceSettings,
    Store,
};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const NAME: &str = "measured";
const PLAIN: &str = "without marks";
const MARKS: u64 = 80;
const THREADS: usize = 32;

fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Most marks are the document's own; one in eight is wording that many have, some of it nearly all. `LEITONG_COMMON=0` leaves
/// that out.
fn marks(number: u64) -> Vec<u32> {
    static NONE: LazyLock<bool> = LazyLock::new(|| std::env::var("LEITONG_COMMON").is_ok_and(|n| n == "0"));
    let mark = |at: u64| {
        let random = mix(number << 8 | at);
        let common = 1_u64 << (random >> 8 & 15);
        if at.is_multiple_of(8) && !*NONE { (random >> 32) % common } else { random >> 32 }
    };
    (0..MARKS).map(|at| mark(at) as u32).collect()
}

fn record(number: u64) -> Record {
    let marks = (0..).step_by(12).zip(marks(number)).map(|(at, hash)| Mark { hash, at }).collect();
    Record {
        id: format!("document/{number}"),
        signals: Signals {
            near: vec![(Space::DOCUMENTS, mix(!number).into())],
            keys: vec![Key { kind: 1, value: mix(number << 20) }],
            exact: Some(mix(number << 20).into()),
            outline: Outline { marks, units: 1000, numbers: vec![number] },
        },
        ..Record::default()
    }
}

fn addition(number: u64) -> Addition {
    let record = record(number);
    let near =
        Probe::Near { space: Space::DOCUMENTS, fingerprint: record.signals.near[0].1.clone(), within: 3 };
    let key = Probe::Key(record.signals.keys[0]);
    let probes = vec![near, key, Probe::Marks(record.signals.outline.hashes())];
    Addition::new(record, Policy::Unless { probes, judged: Vec::new(), limit: 8 })
}

/// Does a thing with each number, in many threads; how many a second.
#[expect(clippy::print_stdout, reason = "it is what it is there for")]
fn rate(what: &str, numbers: std::ops::Range<u64>, work: impl Fn(u64) + Sync) {
    let (count, next) = (numbers.end - numbers.start, AtomicU64::new(numbers.start));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        break;
                    }
                    work(number);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.0}/s ({count} in {seconds:.1} s)", count as f64 / seconds);
}

#[test]
#[ignore = "measures; takes minutes"]
fn measure() {
    let documents = std::env::var("LEITONG_MEASURED").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = open(folder.path());
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    let collection = Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces };
    store.create(&collection).unwrap();
    store.create(&Collection { name: PLAIN.into(), ..collection }).unwrap();
    // The same without marks, for comparison: what else the machine does shows in both.
    rate("adds unless duplicate, without marks", 0..documents / 4, |number| {
        let mut addition = addition(number);
        addition.record.signals.outline = Outline::default();
        if let Policy::Unless { probes, .. } = &mut addition.policy {
            probes.truncate(2);
        }
        store.add(PLAIN, vec![addition]).unwrap();
    });
    let add = |number| _ = store.add(NAME, vec![addition(number)]).unwrap();
    rate("adds unless duplicate, the first half", 0..documents / 2, add);
    rate("adds unless duplicate, the second half", documents / 2..documents, add);
    println!("{:?}", store.stats().unwrap());
    let find = |probes: Vec<Probe>| {
        let query = Query { probes, limit: 8, ..Query::default() };
        store.find(NAME, &[query]).unwrap().remove(0).candidates.len()
    };
    rate("finds by marks, nothing found", documents..documents + 20_000, |number| {
        find(vec![Probe::Marks(marks(number))]);
    });
    rate("finds by marks, one found", 0..20_000, |number| {
        assert!(find(vec![Probe::Marks(marks(mix(number) % documents))]) > 0);
    });
    rate("finds as an addition does", documents..documents + 20_000, |number| {
        let Policy::Unless { probes, .. } = addition(number).policy else { return };
        find(probes);
    });
    let start = Instant::now();
    store.close().unwrap();
    println!("closing: {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let store = open(folder.path());
    println!("opening: {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    assert_eq!(store.verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    println!("checking: {:.2} s", start.elapsed().as_secs_f64());
}
