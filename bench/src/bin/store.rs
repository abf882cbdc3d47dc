//! The embedded store under load, durable: add-unless-duplicate from many threads, check, memory, opening.
//!
//! `cargo run --release -p leitong-bench --bin store -- FOLDER [--documents N] [--seconds S] [--threads T] [--batch B,…] [--bare]`
//!
//! FOLDER is made if it does not exist; one that holds documents is used as it is, so that opening can be measured apart.
//! With `--bare` it is filled with records that have a random fingerprint and no text, for large numbers.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use leitong_bench::data::{self, Result};
use leitong_detect::detector::{
    CheckOptions, Collection, CollectionSettings, Detector, Document, Evidence, Question, When,
};
use leitong_fingerprint::Fingerprint;
use leitong_store::embedded::{Embedded, Options};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes of a text, about.
const TEXT: usize = 2048;
/// One in so many documents is a copy of an earlier one with a character changed.
const COPIES: u64 = 20;
/// Copies are of documents below this number.
const STORED: u64 = 100_000;
const CACHE: u64 = 64 << 20;

/// As in the binary.
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

struct Arguments {
    folder: PathBuf,
    documents: u64,
    seconds: u64,
    threads: usize,
    batches: Vec<usize>,
    bare: bool,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    let writer = Texts::load()?;
    // Made before, so that only checking is measured; every tenth is stored.
    let question = |i: u64| writer.text(if i.is_multiple_of(10) { i } else { (1 << 40) + i });
    let questions: Vec<String> = (0..20_000).map(question).collect();
    // Tables and dictionaries are not the store's.
    let detector = Detector::new(Arc::new(leitong_store::Memory::default()));
    let warm = detector.create("default", &CollectionSettings::default())?;
    warm.add(vec![Document::new("0", writer.text(0))], When::Replace, Evidence::None)?;
    drop((warm, detector));
    let before = memory();

    let start = Instant::now();
    let store = Arc::new(Embedded::open(&arguments.folder, Options { cache: CACHE, ..Options::default() })?);
    println!("opened in {:.1} ms; {}", start.elapsed().as_secs_f64() * 1e3, memory().since(&before, 0));
    let detector = Detector::new(store.clone());
    let collection = detector.create("default", &CollectionSettings::default())?;
    fill(&collection, &writer, &arguments)?;
    let documents = collection.count()?.documents;
    println!("{documents} documents; {}", memory().since(&before, documents));
    println!("4 KiB + fdatasync: {:.3} ms at the median", synchronising(&arguments.folder)?);
    if !arguments.bare {
        let next = AtomicU64::new(documents * 2);
        for &batch in &arguments.batches {
            add_unless(&store, &collection, &writer, &arguments, batch, &next);
        }
        println!("{}", memory().since(&before, collection.count()?.documents));
        for (threads, batch) in [(1, 1), (2, 1), (arguments.threads, 1), (2, 64)] {
            check(&collection, &questions, &arguments, threads, batch);
        }
        println!("4 KiB + fdatasync: {:.3} ms at the median", synchronising(&arguments.folder)?);
    }
    let documents = collection.count()?.documents;
    println!("{documents} documents; {}", memory().since(&before, documents));
    println!("{:?}", store.stats()?);
    drop((collection, detector));
    let start = Instant::now();
    Arc::into_inner(store).ok_or("somebody still uses the store")?.close()?;
    println!("closed in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let store = Embedded::open(&arguments.folder, Options { cache: CACHE, ..Options::default() })?;
    println!("opened again in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    store.close()?;
    Ok(())
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        folder: PathBuf::new(),
        documents: 1_000_000,
        seconds: 10,
        threads: 32,
        batches: vec![1, 4, 8, 16],
        bare: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--documents" => arguments.documents = value()?.parse()?,
            "--seconds" => arguments.seconds = value()?.parse()?,
            "--threads" => arguments.threads = value()?.parse()?,
            "--batch" => {
                arguments.batches =
                    value()?.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
            }
            "--bare" => arguments.bare = true,
            folder => arguments.folder = folder.into(),
        }
    }
    if arguments.folder.as_os_str().is_empty() {
        return Err("name a folder".into());
    }
    Ok(arguments)
}

/// Texts of real sentences in any number: each takes its sentences from a different place.
struct Texts(Vec<String>);

impl Texts {
    fn load() -> Result<Self> {
        let mut sentences = Vec::new();
        for document in data::documents("edits_background.jsonl.zst")? {
            let parts = document.text.split_inclusive(['。', '！', '？', '\n']);
            sentences.extend(parts.filter(|part| part.len() > 30).map(str::to_owned));
        }
        Ok(Self(sentences))
    }

    fn text(&self, number: u64) -> String {
        let copy = number % COPIES == COPIES - 1;
        // Of one that is stored, and no copy itself.
        let mut state = if copy { number % STORED / COPIES * COPIES } else { number };
        let mut text = String::with_capacity(TEXT + 512);
        while text.len() < TEXT {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            text.push_str(&self.0[(mixed ^ mixed >> 27) as usize % self.0.len()]);
        }
        if copy { text + "改" } else { text }
    }

    fn document(&self, number: u64) -> Document {
        Document {
            title: Some(format!("第{number}篇")),
            source: Some("新华社".into()),
            published: Some(1_700_000_000 + number as i64),
            ..Document::new(format!("https://example.com/article/{number}"), self.text(number))
        }
    }
}

fn fill(collection: &Collection, writer: &Texts, arguments: &Arguments) -> Result<()> {
    let from = collection.count()?.documents;
    let start = Instant::now();
    for first in (from..arguments.documents).step_by(512) {
        let numbers = first..arguments.documents.min(first + 512);
        let documents = numbers.map(|number| match arguments.bare {
            true => {
                let random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let random = (random ^ random >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let fingerprint = Fingerprint::from(random ^ random >> 32);
                Document::of_fingerprint(format!("https://example.com/article/{number}"), fingerprint)
            }
            false => writer.document(number),
        });
        collection.add(documents.collect(), When::Replace, Evidence::None)?;
    }
    let added = arguments.documents.saturating_sub(from);
    if added > 0 {
        let seconds = start.elapsed().as_secs_f64();
        println!("filled with {added} documents in {seconds:.1} s: {:.0}/s", added as f64 / seconds);
    }
    Ok(())
}

fn synchronising(folder: &Path) -> Result<f64> {
    let path = folder.join("synchronising.tmp");
    let mut file = File::create(&path)?;
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..200 {
        file.write_all(&[7; 4096])?;
        let start = Instant::now();
        file.sync_data()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_file(path)?;
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Runs `work` in threads until the time is over; it gives how many it has done. All of that, and the times of the calls.
fn load(threads: usize, seconds: u64, work: &(dyn Fn() -> u64 + Sync)) -> (f64, Vec<Duration>) {
    let over = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let start = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let thread = || {
            let mut times = Vec::new();
            while !over.load(Relaxed) {
                let start = Instant::now();
                done.fetch_add(work(), Relaxed);
                times.push(start.elapsed());
            }
            times
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Relaxed);
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    times.sort_unstable();
    (done.load(Relaxed) as f64 / start.elapsed().as_secs_f64(), times)
}

fn milliseconds(times: &[Duration], share: f64) -> f64 {
    times.get((times.len() as f64 * share) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

fn add_unless(
    store: &Embedded,
    collection: &Collection,
    writer: &Texts,
    arguments: &Arguments,
    batch: usize,
    next: &AtomicU64,
) {
    let (before, refused) = (store.work(), AtomicU64::new(0));
    let (rate, times) = load(arguments.threads, arguments.seconds, &|| {
        let first = next.fetch_add(batch as u64, Relaxed);
        let documents = (first..first + batch as u64).map(|number| writer.document(number)).collect();
        match collection.add(documents, When::UnlessDuplicate, Evidence::None) {
            Ok(added) => {
                let stored = added.iter().flatten().filter(|added| added.outcome.is_stored()).count();
                refused.fetch_add((batch - stored) as u64, Relaxed);
                batch as u64
            }
            Err(error) => {
                println!("{error}");
                0
            }
        }
    });
    let after = store.work();
    let commits = (after.commits - before.commits).max(1);
    println!(
        "add unless duplicate, {} threads, {batch} a call: {rate:.0}/s; {:.0} operations and {:.3} ms a commit; \
         a call {:.2} ms p50, {:.2} p99; {} refused",
        arguments.threads,
        (after.operations - before.operations) as f64 / commits as f64,
        (after.time - before.time).as_secs_f64() * 1e3 / commits as f64,
        milliseconds(&times, 0.5),
        milliseconds(&times, 0.99),
        refused.load(Relaxed),
    );
}

fn check(collection: &Collection, questions: &[String], arguments: &Arguments, threads: usize, batch: usize) {
    let (next, duplicates) = (AtomicU64::new(1 << 40), AtomicU64::new(0));
    let (rate, times) = load(threads, arguments.seconds, &|| {
        let first = next.fetch_add(batch as u64, Relaxed);
        let text = |i: u64| Question::new(questions[((first + i) % questions.len() as u64) as usize].clone());
        let checked = collection.check((0..batch as u64).map(text).collect(), &CheckOptions::default());
        let found = checked.iter().flatten().flatten().filter(|checked| checked.duplicate()).count();
        duplicates.fetch_add(found as u64, Relaxed);
        batch as u64
    });
    println!(
        "check, {threads} threads, {batch} a call: {rate:.0}/s; a call {:.3} ms p50, {:.3} p99; {} duplicates",
        milliseconds(&times, 0.5),
        milliseconds(&times, 0.99),
        duplicates.load(Relaxed)
    );
}

/// Bytes of this process.
#[derive(Clone, Copy, Default)]
struct Memory {
    anonymous: u64,
    files: u64,
}

fn memory() -> Memory {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        number.unwrap_or(0) << 10
    };
    Memory { anonymous: of("RssAnon:"), files: of("RssFile:") }
}

impl Memory {
    fn since(&self, before: &Self, documents: u64) -> String {
        let anonymous = self.anonymous.saturating_sub(before.anonymous);
        let files = self.files.saturating_sub(before.files);
        let each = (anonymous + files).saturating_sub(CACHE) as f64 / documents.max(1) as f64;
        format!(
            "memory {} MB of its own and {} MB of files: {each:.1} bytes a document beyond the cache of {} MB",
            anonymous >> 20,
            files >> 20,
            CACHE >> 20
        )
    }
}
