//! The store in OpenSearch or Elasticsearch: bulk adds, checks by fingerprint and by marks, adds unless duplicate.
//!
//! `search ADDRESS [--documents N] [--batch B] [--marked N] [--threads T]`, with the address of a running server and a prefix
//! that nothing else has: `opensearch+http://127.0.0.1:9200/bench`. Everything below the prefix is removed in the end.

#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use leitong_store::opensearch::{OpenSearch, Options};
use leitong_store::{
    Addition, Collection, Key, Mark, Outline, Policy, Probe, Query, Record, Signals, Space, SpaceSettings,
    Store, StoreError,
};
use std::time::{Duration, Instant};

/// Marks of a document.
const MARKS: u64 = 100;
/// Questions of each kind.
const ASKED: u64 = 1000;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().ok_or("the address of a server is missing")?;
    let number = |name: &str, usual: u64| {
        let place = arguments.iter().position(|argument| argument == name);
        place.and_then(|place| arguments.get(place + 1)?.parse().ok()).unwrap_or(usual)
    };
    let store = OpenSearch::open(address, Options::default()).map_err(|error| error.to_string())?;
    let threads = number("--threads", 2);
    let run = || -> Result<(), StoreError> {
        plain(&store, number("--documents", 1_000_000), number("--batch", 2000), threads)?;
        marked(&store, number("--marked", 100_000), number("--batch", 2000), threads)
    };
    let done = run().map_err(|error| error.to_string());
    for name in ["plain", "marked"] {
        store.destroy(name).map_err(|error| error.to_string())?;
    }
    done
}

/// Documents with a fingerprint and a key.
fn plain(store: &OpenSearch, documents: u64, batch: u64, threads: u64) -> Result<(), StoreError> {
    store.create(&collection("plain"))?;
    fill(store, "plain", documents, batch, threads, &|number| record(number, false))?;
    let near = |fingerprint: u64| {
        vec![Probe::Near { space: Space::DOCUMENTS, fingerprint: fingerprint.into(), within: 3 }]
    };
    ask(store, "plain", "checks, nothing near", &|number| near(mix(!(documents + number))))?;
    ask(store, "plain", "checks, one near", &|number| near(mix(!(mix(number) % documents)) ^ 0x8001_0000))?;
    unless(store, "plain", documents, false)
}

/// Documents with marks too.
fn marked(store: &OpenSearch, documents: u64, batch: u64, threads: u64) -> Result<(), StoreError> {
    store.create(&collection("marked"))?;
    fill(store, "marked", documents, batch, threads, &|number| record(number, true))?;
    ask(store, "marked", "checks by marks, nothing alike", &|number| {
        vec![Probe::Marks(marks(documents + number))]
    })?;
    ask(store, "marked", "checks by marks, one alike", &|number| {
        vec![Probe::Marks(marks(mix(number) % documents))]
    })?;
    unless(store, "marked", documents, true)
}

fn fill(
    store: &OpenSearch,
    name: &str,
    documents: u64,
    batch: u64,
    threads: u64,
    record: &(dyn Fn(u64) -> Record + Sync),
) -> Result<(), StoreError> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let work = |thread: u64| {
            scope.spawn(move || -> Result<(), StoreError> {
                for first in (thread * batch..documents).step_by((threads * batch) as usize) {
                    let numbers = first..(first + batch).min(documents);
                    let additions = numbers.map(|number| Addition::new(record(number), Policy::Replace));
                    store.add(name, additions.collect())?;
                }
                Ok(())
            })
        };
        let running: Vec<_> = (0..threads).map(work).collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {documents} added, {batch} a call, {threads} threads: {:.0}/s",
        documents as f64 / seconds
    );
    Ok(())
}

fn ask(
    store: &OpenSearch,
    name: &str,
    what: &str,
    probes: &dyn Fn(u64) -> Vec<Probe>,
) -> Result<(), StoreError> {
    let (mut times, mut found) = (Vec::new(), 0);
    for number in 0..ASKED {
        let query = Query { probes: probes(number), limit: 8, ..Query::default() };
        let start = Instant::now();
        found += store.find(name, &[query])?[0].candidates.len();
        times.push(start.elapsed());
    }
    report(name, &format!("{what} ({found} found)"), times);
    Ok(())
}

fn unless(store: &OpenSearch, name: &str, documents: u64, with_marks: bool) -> Result<(), StoreError> {
    let mut times = Vec::new();
    for number in documents..documents + ASKED / 5 {
        let record = record(number, with_marks);
        let (_, fingerprint) = record.signals.near[0].clone();
        let mut probes = vec![Probe::Near { space: Space::DOCUMENTS, fingerprint, within: 3 }];
        probes.extend(with_marks.then(|| Probe::Marks(record.signals.outline.hashes())));
        let policy = Policy::Unless { probes, judged: Vec::new(), limit: 8 };
        let start = Instant::now();
        store.add(name, vec![Addition::new(record, policy)])?;
        times.push(start.elapsed());
    }
    report(name, "adds unless duplicate, one a call", times);
    Ok(())
}

fn report(name: &str, what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    println!("{name}: {what}: p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms", at(50), at(90), at(99));
}

fn collection(name: &str) -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    Collection { name: name.into(), recipe: [1; 16], about: String::new(), spaces }
}

fn record(number: u64, with_marks: bool) -> Record {
    let marks = if with_marks { marks(number) } else { Vec::new() };
    let marks: Vec<Mark> = (0..).step_by(12).zip(marks).map(|(at, hash)| Mark { hash, at }).collect();
    Record {
        id: format!("document/{number}"),
        signals: Signals {
            near: vec![(Space::DOCUMENTS, mix(!number).into())],
            keys: vec![Key { kind: 1, value: mix(number << 20) }],
            exact: Some(mix(number << 20).into()),
            outline: Outline { marks, units: 0, numbers: Vec::new() },
        },
        title: Some(format!("文章 {number}")),
        published: Some(1_700_000_000 + number as i64),
        ..Record::default()
    }
}

/// Most are the document's own; one in eight is wording that many have, some of it nearly all.
fn marks(number: u64) -> Vec<u32> {
    let mark = |at: u64| {
        let random = mix(number << 8 | at);
        let common = 1_u64 << (random >> 8 & 15);
        if at.is_multiple_of(8) { (random >> 32) % common } else { random >> 32 }
    };
    (0..MARKS).map(|at| mark(at) as u32).collect()
}

/// Numbers that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
