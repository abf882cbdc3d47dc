//! What is measured, the same for every engine.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::documents::{ABSENT, splitmix};
use crate::{Fallible, Store, View};

/// Writes 4 KiB and calls `fdatasync`, again and again: once appending, once in place.
pub fn fsync(directory: &Path, time: Duration) -> Fallible<()> {
    let path = directory.join("fsync");
    let file = File::create(&path)?;
    for (name, step) in [("append", 4096), ("in place", 0)] {
        let (mut times, mut at, start) = (Vec::new(), 0, Instant::now());
        while start.elapsed() < time {
            let begun = Instant::now();
            file.write_all_at(&[0x5A; 4096], at)?;
            file.sync_data()?;
            times.push(begun.elapsed());
            at += step;
        }
        println!("fdatasync of 4 KiB, {name}: {}", quantiles(&mut times));
    }
    Ok(std::fs::remove_file(path)?)
}

/// Loads, writes groups of other sizes, reads, and closes.
pub fn run<S: Store>(setup: &str, directory: &Path, documents: u64, time: Duration) -> Fallible<()> {
    let store = S::open(directory, setup)?;
    let mut next = load(&store, "load", 0, 128, documents, Duration::MAX)?;
    print_memory("after the load")?;
    let start = Instant::now();
    store.settle()?;
    println!(
        "settle {:.1} s, {} on disk; {}",
        start.elapsed().as_secs_f64(),
        disk(directory)?,
        store.state()
    );
    for group in [1, 32, 128, 512] {
        next = load(&store, "group", next, group, u64::MAX, time)?;
        store.settle()?;
    }
    let size = disk(directory)?;
    println!("{next} documents, {size} on disk, {} written; {}", written()?, store.state());
    reads(&store, next, time)?;
    print_memory("after the reads")?;
    let start = Instant::now();
    drop(store);
    println!("close {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Writes groups until `end` documents are there or `time` is over; the number of documents then.
fn load<S: Store>(store: &S, what: &str, from: u64, group: u64, end: u64, time: Duration) -> Fallible<u64> {
    let (mut times, mut next, start) = (Vec::new(), from, Instant::now());
    while next < end && start.elapsed() < time {
        let begun = Instant::now();
        store.write(next, next + group)?;
        times.push(begun.elapsed());
        next += group;
    }
    let rate = (next - from) as f64 / start.elapsed().as_secs_f64();
    println!("{what} {group}: {rate:.0} documents/s; {}", quantiles(&mut times));
    Ok(next)
}

fn reads<S: Store>(store: &S, documents: u64, time: Duration) -> Fallible<()> {
    let time = time / 3;
    let (start, mut views) = (Instant::now(), 0_u64);
    while start.elapsed() < time / 4 {
        drop(store.view()?);
        views += 1;
    }
    println!("view: {:.2} µs", start.elapsed().as_secs_f64() * 1e6 / views as f64);
    let rate = std::thread::scope(|scope| -> Fallible<f64> {
        let threads: Vec<_> = (1..3)
            .map(|seed| {
                scope.spawn(move || {
                    let view = store.view()?;
                    ask(documents, time, seed, |ordinal| Ok(view.record(ordinal)?.is_some()))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a reader failed")?).sum()
    })?;
    println!("records, 2 threads: {rate:.0}/s");
    let view = store.view()?;
    println!("texts: {:.0}/s", ask(documents, time, 3, |ordinal| Ok(view.text(ordinal)?.is_some()))?);
    let rate = ask(documents, time, 4, |ordinal| Ok(view.id(ordinal)? == Some(ordinal)))?;
    println!("ids, hits: {rate:.0}/s");
    let rate = ask(documents, time, 5, |ordinal| Ok(view.id(ordinal + ABSENT)?.is_none()))?;
    println!("ids, misses: {rate:.0}/s");
    for _ in 0..2 {
        let start = Instant::now();
        let (count, bytes) = view.scan()?;
        let seconds = start.elapsed().as_secs_f64();
        println!("scan: {:.0} records/s, {:.0} MB/s", count as f64 / seconds, bytes as f64 / seconds / 1e6);
    }
    Ok(())
}

/// Asks for random ordinals; every answer has to be right. Questions a second.
fn ask(
    documents: u64,
    time: Duration,
    mut seed: u64,
    right: impl Fn(u64) -> Fallible<bool>,
) -> Fallible<f64> {
    let (start, mut asked) = (Instant::now(), 0_u64);
    while start.elapsed() < time {
        for _ in 0..64 {
            let ordinal = splitmix(&mut seed) % documents;
            if !right(ordinal)? {
                return Err(format!("wrong answer for {ordinal}").into());
            }
        }
        asked += 64;
    }
    Ok(asked as f64 / start.elapsed().as_secs_f64())
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: f64| match times {
        [] => 0.0,
        _ => times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3,
    };
    format!("p50 {:.2}, p99 {:.2}, max {:.1} ms, {} times", at(0.5), at(0.99), at(1.0), times.len())
}

/// Resident memory, anonymous and of files apart.
pub fn print_memory(when: &str) -> Fallible<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let fields: Vec<_> = status
        .lines()
        .filter(|line| ["RssAnon", "RssFile", "VmHWM", "Threads"].iter().any(|name| line.starts_with(name)))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    println!("memory {when}: {}", fields.join(", "));
    Ok(())
}

/// Bytes this process sent to the disk.
fn written() -> Fallible<String> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).ok_or("no write_bytes")?;
    Ok(format!("{} MB", bytes.parse::<u64>()? / 1_000_000))
}

/// Blocks allocated below a folder.
pub fn disk(directory: &Path) -> Fallible<String> {
    fn blocks(directory: &Path) -> std::io::Result<u64> {
        let mut sum = 0;
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            sum += if metadata.is_dir() { blocks(&entry.path())? } else { metadata.blocks() };
        }
        Ok(sum)
    }
    Ok(format!("{} MB", blocks(directory)? * 512 / 1_000_000))
}
