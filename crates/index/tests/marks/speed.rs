//! How fast it is, and how small: `cargo test --release -p leitong-index --test marks speed -- --ignored --nocapture`.
//! `MARKS_DOCUMENTS` says how many documents (a million), `MARKS_FOLDER` where they lie.

use leitong_index::marks::{MarkIndex, Options};
use std::time::{Duration, Instant};

const MARKS: u64 = 80;
const CALLS: u64 = 20_000;

/// What this thread has computed: others may use the machine at the same time.
fn computed() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// Mark `i` of a document: evenly spread, the same each time.
fn mark(document: u64, i: u64) -> u32 {
    let mut x = (document * MARKS + i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ x >> 32) as u32
}

fn marks_of(document: u64) -> Vec<u32> {
    // One in ten is common: a tenth of a per cent of the documents have it.
    (0..MARKS).map(|i| if i % 10 == 0 { mark(document % 1000, i) } else { mark(document, i) }).collect()
}

/// Calls with 100 marks of which `known` are in some document; 90 of a hundred in none, as good as.
fn look_up(index: &MarkIndex, documents: u64, known: u64, most: usize) -> (Duration, u64) {
    let query = |call: u64| -> Vec<u32> {
        let document = call.wrapping_mul(7919) % documents;
        let own = (0..known).map(|i| mark(document, 1 + i % 9 + i / 9 * 10));
        own.chain((known..100).map(|i| mark(documents + 1000 + call, i))).collect()
    };
    let queries: Vec<Vec<u32>> = (0..CALLS).map(query).collect();
    let mut found = 0;
    let start = computed();
    for query in &queries {
        index.look_up(query, most, &mut |_, posting| found += u64::from(posting.marks > 0)).unwrap();
    }
    (computed() - start, found)
}

#[expect(clippy::print_stdout, reason = "figures are what it is for")]
fn report(index: &MarkIndex, documents: u64, what: &str) {
    look_up(index, documents, 10, 1024);
    let (time, found) = look_up(index, documents, 10, 1024);
    let stats = index.stats();
    println!(
        "{what}: look_up of 100 marks, 10 there: {:.2} µs ({:.1} found); {} segments, {:.2} bytes a posting",
        time.as_secs_f64() * 1e6 / CALLS as f64,
        found as f64 / CALLS as f64,
        stats.segments,
        stats.bytes as f64 / (stats.postings - stats.fresh).max(1) as f64,
    );
}

#[test]
#[ignore = "prints figures"]
fn speed() {
    let documents = std::env::var("MARKS_DOCUMENTS").map_or(1_000_000, |text| text.parse().unwrap());
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("MARKS_FOLDER").map_or(own.path().to_owned(), Into::into);
    let options = Options::default();
    let index = MarkIndex::open(&folder, &options).unwrap();
    let sets: Vec<Vec<u32>> = (0..documents.min(200_000)).map(marks_of).collect();
    let (mut time, mut worst) = (Duration::ZERO, Duration::ZERO);
    let start = computed();
    sets.iter().zip(0..).for_each(|(marks, document)| index.insert_at(document, document, marks).unwrap());
    println!(
        "insert: {:.0} documents/s of its own time",
        sets.len() as f64 / (computed() - start).as_secs_f64()
    );
    for document in sets.len() as u64..documents {
        let marks = marks_of(document);
        let start = Instant::now();
        index.insert_at(document, document, &marks).unwrap();
        let one = start.elapsed();
        (time, worst) = (time + one, worst.max(one));
    }
    println!(
        "insert: {:.0} documents/s of {MARKS} marks, the slowest {:.1} ms",
        (documents - sets.len() as u64) as f64 / time.as_secs_f64(),
        worst.as_secs_f64() * 1e3
    );
    report(&index, documents, "as it is");
    let start = Instant::now();
    index.flush().unwrap();
    println!("flush: {:.2} s", start.elapsed().as_secs_f64());
    report(&index, documents, "flushed");
    let start = Instant::now();
    index.merge().unwrap();
    println!("merge: {:.2} s for {} postings", start.elapsed().as_secs_f64(), index.stats().postings);
    report(&index, documents, "merged");
    drop(index);
    let start = Instant::now();
    let index = MarkIndex::open(&folder, &options).unwrap();
    println!("open: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    report(&index, documents, "opened");
    (0..documents).step_by(10).for_each(|ordinal| assert!(index.delete(ordinal).unwrap()));
    report(&index, documents, "a tenth deleted");
    let common: Vec<u32> = (0..8).map(|i| mark(7, i * 10)).collect();
    let start = Instant::now();
    let mut found = 0;
    for _ in 0..100 {
        index.look_up(&common, 1024, &mut |_, _| found += 1).unwrap();
    }
    println!(
        "long lists: {:.0} ns a document ({found})",
        start.elapsed().as_secs_f64() * 1e9 / f64::from(found)
    );
}
