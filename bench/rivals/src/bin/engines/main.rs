//! Embedded key-value engines as a document store with durability on: one writer, one synced commit a group of documents.
//! Linux only (`/proc`). Results: `bench/results/2026-11-15-store-engines.md`.

mod documents;
mod fjall_store;
mod measure;
mod redb_store;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: engines fsync DIR SECONDS | run SETUP DIR DOCUMENTS SECONDS | open SETUP DIR \
                     | crash SETUP DIR FROM SECONDS | write SETUP DIR FROM; SETUP is redb[,quick] or \
                     fjall[,blobs][,memtable=MIB][,journal=MIB][,plain][,lz4][,pinned][,unpinned][,nobloom][,workers=N]";

/// Any error ends the run; it is only ever shown.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What an engine has to do. A group is one atomic commit, on disk when `write` returns.
pub trait Store: Sync + Sized {
    fn open(directory: &Path, setup: &str) -> Fallible<Self>;
    /// Looks up the id of each of the documents `from..to` (none is there yet) and writes them all.
    fn write(&self, from: u64, to: u64) -> Fallible<()>;
    /// Waits until work in the background has ended.
    fn settle(&self) -> Fallible<()>;
    /// One consistent view, as a request would take it.
    fn view(&self) -> Fallible<impl View>;
    /// What the engine says of itself, for the log.
    fn state(&self) -> String;
}

/// Reads at one point in time.
pub trait View {
    /// The length of a record.
    fn record(&self, ordinal: u64) -> Fallible<Option<usize>>;
    /// The length of a text.
    fn text(&self, ordinal: u64) -> Fallible<Option<usize>>;
    fn id(&self, ordinal: u64) -> Fallible<Option<u64>>;
    /// Number and bytes of all records, in order.
    fn scan(&self) -> Fallible<(u64, u64)>;
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Fallible<()> {
    match *arguments {
        ["fsync", directory, seconds] => measure::fsync(Path::new(directory), seconds_of(seconds)?),
        [action, setup, directory, ref rest @ ..] if setup.starts_with("fjall") => {
            act::<fjall_store::FjallStore>(action, setup, Path::new(directory), rest)
        }
        [action, setup, directory, ref rest @ ..] if setup.starts_with("redb") => {
            act::<redb_store::RedbStore>(action, setup, Path::new(directory), rest)
        }
        _ => Err(USAGE.into()),
    }
}

fn act<S: Store>(action: &str, setup: &str, directory: &Path, rest: &[&str]) -> Fallible<()> {
    match (action, rest) {
        ("run", [documents, seconds]) => {
            measure::run::<S>(setup, directory, documents.parse()?, seconds_of(seconds)?)
        }
        ("open", []) => open::<S>(setup, directory, 0),
        ("write", [from]) => write_for_ever::<S>(setup, directory, from.parse()?),
        ("crash", [from, seconds]) => crash::<S>(setup, directory, from.parse()?, seconds_of(seconds)?),
        _ => Err(USAGE.into()),
    }
}

fn seconds_of(text: &str) -> Fallible<Duration> {
    Ok(Duration::from_secs_f64(text.parse()?))
}

/// Times an open in this process and checks that the documents before `expected` are there.
fn open<S: Store>(setup: &str, directory: &Path, expected: u64) -> Fallible<()> {
    let start = Instant::now();
    let store = S::open(directory, setup)?;
    let opened = start.elapsed();
    let view = store.view()?;
    let (count, bytes) = view.scan()?;
    println!("open {:.1} ms, {count} records, {bytes} bytes", opened.as_secs_f64() * 1e3);
    measure::print_memory("after open and scan")?;
    if count < expected {
        return Err(format!("{expected} documents were acknowledged, {count} are there").into());
    }
    for ordinal in count.saturating_sub(5_000)..count {
        if view.text(ordinal)?.is_none() || view.id(ordinal)? != Some(ordinal) {
            return Err(format!("document {ordinal} is there in part only").into());
        }
    }
    drop(view);
    let start = Instant::now();
    drop(store);
    println!("close {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Writes groups of 128 and names each acknowledged one on standard output.
fn write_for_ever<S: Store>(setup: &str, directory: &Path, mut next: u64) -> Fallible<()> {
    let store = S::open(directory, setup)?;
    let mut out = std::io::stdout().lock();
    loop {
        store.write(next, next + 128)?;
        next += 128;
        writeln!(out, "{next}")?;
        out.flush()?;
    }
}

/// Kills a writing process after `time` and opens what it left.
fn crash<S: Store>(setup: &str, directory: &Path, from: u64, time: Duration) -> Fallible<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["write", setup])
        .arg(directory)
        .arg(from.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("no standard output")?;
    let reader = std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).filter_map(|line| line.parse().ok()).last()
    });
    std::thread::sleep(time);
    child.kill()?;
    child.wait()?;
    let acknowledged: Option<u64> = reader.join().map_err(|_| "the reader failed")?;
    let acknowledged = acknowledged.unwrap_or(from);
    println!("killed after {acknowledged} documents, {} on disk", measure::disk(directory)?);
    open::<S>(setup, directory, acknowledged)
}
