//! `leitong plan`: what a `dedup` will take, from doing it with a sample on this machine.

mod forecast;
mod sample;

use super::batch::{BatchArgs, Work, size};
use crate::input::{self, InputError, raw};
use crate::output::{self, Exit, Failure};
use forecast::Forecast;
use sample::Sample;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Flags.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  leitong plan news.jsonl\n  leitong plan crawl/*.jsonl.zst --memory 2G --threads 8 --json\n\n\
    A sample from several places of the input is read, compared and judged as `leitong dedup --removed` would; the rest is \
    reckoned from that. It takes a few seconds and holds within a factor of two, if the machine is as busy then as now."
)]
pub(crate) struct Args {
    /// Files or folders
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Where the output would be, for the room on that disk [default: here]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    batch: BatchArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    args.batch.use_threads();
    let options = args.batch.input.options();
    let (mut sources, mut bad) = raw::expand(&args.inputs, &options);
    if sources.iter().any(raw::Source::is_stdin) {
        return Err(Failure::Input("standard input cannot be sampled; name files".into()));
    }
    sources.retain(|source| match input::open_stream(&source.path) {
        Ok(_) => true,
        Err(message) => {
            bad.push(InputError::new(source.whole(), message));
            false
        }
    });
    bad.iter().for_each(|error| output::complain(error));
    let wanted = raw::Wanted { options, extras: Vec::new(), block: 1 << 20, read: None };
    let folder = args.batch.work_folder(args.output.as_deref());
    let disk = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let work = Work::temporary(disk)?;
    let sample = Sample::take(&sources, wanted, &work, args.batch.memory())?;
    let forecast = Forecast::of(&sample, args.batch.memory());
    work.remove();
    sample.broken.iter().for_each(|error| output::complain(error));
    if sample.untold > 0 {
        let records = size::count(sample.untold, "record", "records");
        output::complain(&format!("{records} more in the sample cannot be used"));
    }
    if sample.documents == 0 && (!bad.is_empty() || !sample.broken.is_empty()) {
        return Err(Failure::Input("no document could be read, so there is nothing to reckon from".into()));
    }
    let room = room(disk);
    print(args, &forecast, room)?;
    let is_short = room.is_some_and(|room| room < forecast.work + forecast.output);
    if is_short {
        output::warn(&"there is less room than that; name a folder on another disk with --work");
    }
    let is_whole = bad.is_empty() && sample.broken.is_empty() && sample.untold == 0;
    Ok(if is_whole { Exit::Fine } else { Exit::BadInput })
}

/// Free bytes on the disk of a folder.
fn room(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn print(args: &Args, forecast: &Forecast, room: Option<u64>) -> Result<(), Failure> {
    let mut out = output::stdout();
    let Forecast { documents, bytes, seconds, memory, work, output, sampled } = *forecast;
    if args.json {
        let object = json!({
            "documents": documents, "bytes": bytes, "seconds": seconds,
            "documents_per_second": (documents as f64 / seconds).round(),
            "memory_bytes": memory, "work_bytes": work, "output_bytes": output, "free_bytes": room,
            "sampled": sampled, "threads": rayon::current_num_threads(),
        });
        writeln!(out, "{object}")?;
    } else {
        let rate = documents as f64 / seconds;
        writeln!(out, "documents\tabout {documents}, from a sample of {sampled}")?;
        writeln!(
            out,
            "time\t{} with {}, {rate:.0} documents a second",
            words(seconds),
            size::count(rayon::current_num_threads() as u64, "thread", "threads")
        )?;
        writeln!(out, "memory\t{}", size::words(memory))?;
        writeln!(out, "work folder\t{}, removed at the end", size::words(work))?;
        writeln!(out, "output\tat most {}", size::words(output))?;
        writeln!(out, "free\t{}", room.map_or("unknown".into(), size::words))?;
    }
    out.flush()?;
    Ok(())
}

/// A time as people say it.
fn words(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.1} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}
