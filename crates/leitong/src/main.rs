//! Leitong: has this been said before?
//!
//! One binary; a file a subcommand in `commands/`. Data goes to standard output, everything else to standard error.
//! Exit codes: 0 fine, 1 duplicates found where asked, 2 usage, 3 bad input or a
//! database that cannot be used. A closed pipe is success.

mod commands;
mod input;
mod output;

use clap::{Parser, Subcommand};
use output::{Exit, Failure};
use std::process::ExitCode;

// Durable adds from many threads are a tenth faster than with the C library's allocator, and memory stays level
// (bench/results/2026-11-15-store.md).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Has this been said before? Finds near-duplicate text, Chinese first, every language.
#[derive(Parser)]
#[command(name = "leitong", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "Examples:\n  \
    leitong compare a.txt b.docx              what do two documents share?\n  \
    leitong fingerprint *.html --json         a fingerprint for each article\n  \
    echo 如有雷同 | leitong fingerprint -     a fingerprint for each line\n  \
    leitong add news.jsonl --db news          store documents, so that what is near them is found\n  \
    leitong check draft.docx --db news        has this been published before?\n  \
    leitong recipes                           the built-in ways to make one\n\n\
    Exit codes: 0 fine, 1 duplicates found (with --fail-on-duplicate), 2 usage, 3 bad input or a database that cannot be used.")]
struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: output::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make fingerprints of texts, files, images or vectors
    Fingerprint(commands::fingerprint::Args),
    /// Hash words, one a line
    Hash(commands::hash::Args),
    /// Count the bits in which two fingerprints differ
    Distance(commands::distance::Args),
    /// Compare two texts or files: every signal, a verdict, the shared passages
    Compare(commands::compare::Args),
    /// Remove near duplicates from files of documents
    Dedup(commands::dedup::Args),
    /// Forecast the time, the memory and the disk space of a `dedup`
    Plan(commands::plan::Args),
    /// Put back what `dedup` has removed
    Undo(commands::undo::Args),
    /// Group documents around the one that would stay
    Cluster(commands::cluster::Args),
    /// List every two documents of which one is a duplicate of the other, or quotes it
    Pairs(commands::pairs::Args),
    /// Measure signals and thresholds on documents whose duplicates are known
    Eval(commands::eval::Args),
    /// Store documents in a database, if wanted only those that nothing stored is near to
    Add(commands::add::Args),
    /// Ask a database whether documents, or near ones, are stored
    Check(commands::check::Args),
    /// Print stored documents by their ids
    Get(commands::get::Args),
    /// List what is stored near a stored document
    Similar(commands::similar::Args),
    /// Remove documents from a database
    Remove(commands::remove::Args),
    /// Say what a database holds
    Stats(commands::stats::Args),
    /// List clusters, their centres and their members
    Clusters(commands::clusters::Args),
    /// Copy a database, also while it is in use
    Backup(commands::backup::Args),
    /// Make a database from a backup, after checking it
    Restore(commands::backup::RestoreArgs),
    /// Write a collection as lines of JSON
    Export(commands::export::Args),
    /// Read what `export` has written
    Import(commands::export::ImportArgs),
    /// Give back the space of what was removed or has expired
    Compact(commands::compact::Args),
    /// Check whether everything in a database fits together, and mend it
    CheckDb(commands::check_db::Args),
    /// Keep fingerprints in an index of articles that others write, and search there
    Articles(commands::articles::Args),
    /// List the built-in recipes, or print one
    Recipes(commands::recipes::Args),
    /// Measure the parts of this program on this machine
    Bench(commands::bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    cli.color.apply();
    quiet_caught_panics();
    let outcome = match &cli.command {
        Command::Fingerprint(args) => commands::fingerprint::run(args),
        Command::Hash(args) => commands::hash::run(args),
        Command::Distance(args) => commands::distance::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Dedup(args) => commands::dedup::run(args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Undo(args) => commands::undo::run(args),
        Command::Cluster(args) => commands::cluster::run(args),
        Command::Pairs(args) => commands::pairs::run(args),
        Command::Eval(args) => commands::eval::run(args),
        Command::Add(args) => commands::add::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Get(args) => commands::get::run(args),
        Command::Similar(args) => commands::similar::run(args),
        Command::Remove(args) => commands::remove::run(args),
        Command::Stats(args) => commands::stats::run(args),
        Command::Clusters(args) => commands::clusters::run(args),
        Command::Backup(args) => commands::backup::run(args),
        Command::Restore(args) => commands::backup::restore(args),
        Command::Export(args) => commands::export::run(args),
        Command::Import(args) => commands::export::import(args),
        Command::Compact(args) => commands::compact::run(args),
        Command::CheckDb(args) => commands::check_db::run(args),
        Command::Articles(args) => commands::articles::run(args),
        Command::Recipes(args) => commands::recipes::run(args),
        Command::Bench(args) => commands::bench::run(args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(Failure::ClosedPipe) => Exit::Fine.into(),
        Err(failure) => {
            output::complain(&failure);
            let exit = if matches!(failure, Failure::Usage(_)) { Exit::Usage } else { Exit::BadInput };
            exit.into()
        }
    }
}

/// A panic of a third-party parser is caught and reported as an error of its document; it need not be said twice.
fn quiet_caught_panics() {
    let announce = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !leitong_text::extract::parsing() {
            announce(panic);
        }
    }));
}
