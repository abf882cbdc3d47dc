//! `leitong bench dedup`: the whole of `leitong dedup` on made documents, as a process of its own, so that its memory is its own.

use super::corpus::{Corpus, Edit, Kind};
use super::{count, median};
use crate::commands::batch::size;
use crate::output::Failure;
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Documents that are made together.
const TOGETHER: u64 = 4096;

/// Flags.
#[derive(clap::Args)]
#[command(
    after_help = "Documents are made in the folder for temporary files (TMPDIR), which needs about three times their size, and \
    are removed in the end. A part of them are copies: reprinted with other punctuation, with one character in 50, 20 or 8 changed, \
    with a sentence in six left out, or with a fifth added. Others look alike and are none: forms with other numbers, and \
    different texts with the same end.\n\n\
    recall: of the copies, the share that was found. false_removals: documents that were removed for one that they are no copy of."
)]
pub(super) struct Args {
    /// How many documents; K, M and G are thousand, million and billion
    #[arg(long, value_name = "N", default_value = "50K", value_parser = count)]
    n: u64,
    /// Characters of a document, on average
    #[arg(long, value_name = "N", default_value_t = 700, value_parser = clap::value_parser!(u64).range(50..=1_000_000))]
    length: u64,
    /// Of a hundred documents, those that are copies
    #[arg(long, value_name = "PERCENT", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=90))]
    copies: u64,
    /// Other documents
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Threads of the run [default: all cores]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory of the run, as for `leitong dedup`
    #[arg(long, value_name = "SIZE", value_parser = size::ceiling)]
    memory: Option<u64>,
    /// How often to measure; the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Print JSON, one object
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Map<String, Json>, Failure> {
    if args.n > u64::from(u32::MAX) {
        return Err(Failure::Usage("--n: a run takes at most 4 billion documents".into()));
    }
    let corpus = Corpus { seed: args.seed, length: args.length, copies: args.copies };
    let folder = tempfile::Builder::new().prefix("leitong-bench-").tempdir()?;
    let bytes = make(&corpus, args.n, &folder.path().join("in.jsonl"))?;
    let mut times = Vec::new();
    let mut summary = Json::Null;
    for _ in 0..args.rounds {
        let begun = Instant::now();
        summary = dedup(args, folder.path())?;
        times.push(begun.elapsed().as_secs_f64());
    }
    let found = Found::read(&corpus, args.n, &folder.path().join("why.jsonl"))?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let threads = args.threads.map_or(cores, u64::from);
    let seconds = median(times);
    let rate = args.n as f64 / seconds;
    let mut figures = json!({
        "benchmark": "dedup",
        "n": args.n,
        "length": args.length,
        "seed": args.seed,
        "bytes": bytes,
        "threads": threads,
        "wall_s": seconds,
        "docs_per_s": rate,
        "docs_per_s_core": rate / threads.min(cores) as f64,
        "mb_per_s": bytes as f64 / seconds / 1e6,
        "peak_bytes": summary["peak_bytes"],
        "removed": summary["removed"],
        "copies": found.planted(),
        "recall": share(found.right(), found.planted()),
        "false_removals": found.wrong,
    })
    .as_object()
    .cloned()
    .unwrap_or_default();
    for (edit, (planted, right)) in &found.of {
        figures.insert(format!("recall_{}", edit.name()), share(*right, *planted));
    }
    Ok(figures)
}

fn share(part: u64, all: u64) -> Json {
    if all == 0 { Json::Null } else { (part as f64 / all as f64).into() }
}

/// Writes the documents; how many bytes.
fn make(corpus: &Corpus, n: u64, path: &Path) -> Result<u64, Failure> {
    let mut file = BufWriter::new(File::create(path)?);
    for from in (0..n).step_by(TOGETHER as usize) {
        let line = |document: u64| {
            let (id, text) = (document.to_string(), corpus.text(document));
            format!("{}\n", json!({ "id": id, "text": text }))
        };
        let lines: Vec<String> = (from..n.min(from + TOGETHER)).into_par_iter().map(line).collect();
        lines.iter().try_for_each(|line| file.write_all(line.as_bytes()))?;
    }
    file.flush()?;
    Ok(path.metadata()?.len())
}

/// Runs it; what it says.
fn dedup(args: &Args, folder: &Path) -> Result<Json, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl", "--json"]);
    if let Some(threads) = args.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    if let Some(memory) = args.memory {
        command.args(["--memory", &memory.to_string()]);
    }
    let output = command.current_dir(folder).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let summary = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success());
    summary.ok_or_else(|| Failure::Input(format!("the run that is measured failed: {}", said.trim())))
}

/// Which copies were found.
struct Found {
    /// By what was done to them: how many there are, how many were found.
    of: BTreeMap<Edit, (u64, u64)>,
    wrong: u64,
}

impl Found {
    fn read(corpus: &Corpus, n: u64, why: &Path) -> Result<Self, Failure> {
        let mut of: BTreeMap<Edit, (u64, u64)> = BTreeMap::new();
        for document in 0..n {
            if let Kind::Copy(_, edit) = corpus.kind(document) {
                of.entry(edit).or_default().0 += 1;
            }
        }
        let mut wrong = 0;
        for line in BufReader::new(File::open(why)?).lines() {
            let line: Json = serde_json::from_str(&line?).unwrap_or_default();
            let number = |name: &str| line[name].as_str().and_then(|id| id.parse::<u64>().ok());
            let (Some(gone), Some(kept)) = (number("id"), number("kept")) else {
                return Err(Failure::Input("the run that is measured wrote no ids of its documents".into()));
            };
            // Where the original went, its longer copy stays: the copy was found all the same.
            match (corpus.kind(gone), corpus.kind(kept)) {
                _ if corpus.original(gone) != corpus.original(kept) => wrong += 1,
                (Kind::Copy(_, edit), _) | (_, Kind::Copy(_, edit)) => of.entry(edit).or_default().1 += 1,
                _ => wrong += 1,
            }
        }
        Ok(Self { of, wrong })
    }

    fn planted(&self) -> u64 {
        self.of.values().map(|(planted, _)| planted).sum()
    }

    fn right(&self) -> u64 {
        self.of.values().map(|(_, right)| right).sum()
    }
}
