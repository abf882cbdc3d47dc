//! `leitong check-db`: whether everything in a database fits together, and mending what can be mended.

use super::batch::size;
use super::db::{self, DbArgs};
use crate::output::{self, Exit, Failure, Progress, coloured};
use anstyle::AnsiColor;
use leitong_store::embedded::{self, Embedded};
use leitong_store::redis::Redis;
use leitong_store::{Findings, StoreError};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong check-db --db news\n  leitong check-db --db news --repair\n\n\
    Reads everything once: records, texts, ids, keys, expiries, counters and indexes must agree, and nothing that was \
    acknowledged may be missing. --repair makes again what follows from the records. Where blocks cannot be read, it makes the \
    whole database anew from every record that can, says how many are lost, and keeps the old files in a folder beside. Exit \
    code 3 when there are problems, with --repair when some remain. Of a Redis server or cluster the index is compared with the \
    records, for which nobody should change anything meanwhile; with --repair nobody may.")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArgs,
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Default)]
struct Report {
    /// What has been mended: by opening, or because it was asked for.
    mended: Vec<String>,
    findings: Findings,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let report = match args.db.redis()? {
        Some(store) => check_redis(&store, args.repair)?,
        None => {
            let folder = args.db.existing_folder()?;
            let progress = Progress::new("records");
            if args.repair { repair(&folder, &progress)? } else { verify(&folder, &progress)? }
        }
    };
    let mut out = output::stdout();
    write(&mut out, args, &report)?;
    out.flush()?;
    Ok(if report.findings.problem_count == 0 { Exit::Fine } else { Exit::BadInput })
}

fn check_redis(store: &Redis, repair: bool) -> Result<Report, Failure> {
    let _progress = Progress::waiting("comparing");
    if repair {
        let (mended, findings) = store.repair()?;
        return Ok(Report { mended, findings });
    }
    Ok(Report { findings: store.verify()?, ..Report::default() })
}

fn verify(folder: &Path, progress: &Progress) -> Result<Report, Failure> {
    let look = || {
        let store = Embedded::open(folder, db::options("check-db", false))?;
        let mended = store.notices();
        let findings = store.verify(&mut |count| progress.reached(count))?;
        store.close()?;
        Ok(Report { mended, findings })
    };
    found(look())
}

fn repair(folder: &Path, progress: &Progress) -> Result<Report, Failure> {
    let options = db::options("check-db --repair", false);
    let mended = embedded::repair(folder, options, &mut |count| progress.reached(count));
    found(mended.map(|(mended, findings)| Report { mended, findings }))
}

/// Damage that keeps the check from going on is a finding too; a folder that is in use, or is none, is not.
fn found(report: Result<Report, StoreError>) -> Result<Report, Failure> {
    let problem = match report {
        // Without the hint that this command says more.
        Err(StoreError::Damaged { path, what }) => format!("{}: {what}", path.display()),
        Err(error) if is_damage(&error) => error.to_string(),
        other => return Ok(other?),
    };
    let findings = Findings { problem_count: 1, problems: vec![problem], ..Findings::default() };
    Ok(Report { findings, ..Report::default() })
}

/// Whether an error says that files of the database are not as they were written.
pub(super) fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } | StoreError::Index(_) => true,
        // A file that is missing or cut short, in a folder that is there.
        StoreError::Io { source, .. } => matches!(
            source.kind(),
            ErrorKind::NotFound
                | ErrorKind::AlreadyExists
                | ErrorKind::UnexpectedEof
                | ErrorKind::InvalidData
                | ErrorKind::InvalidInput
        ),
        _ => false,
    }
}

fn write(out: &mut impl Write, args: &Args, report: &Report) -> Result<(), Failure> {
    let Report { mended, findings } = report;
    let Findings { records, texts, problems, problem_count } = findings;
    let db = args.db.name();
    if args.json {
        let object = json!({
            "db": db, "ok": *problem_count == 0, "records": records, "texts": texts,
            "problems": problems, "problem_count": problem_count, "mended": mended,
        });
        writeln!(out, "{object}")?;
        return Ok(());
    }
    for what in mended {
        writeln!(out, "{}\t{}", coloured("mended", AnsiColor::Yellow), output::in_line(what))?;
    }
    for what in problems {
        writeln!(out, "{}\t{}", coloured("problem", AnsiColor::Red), output::in_line(what))?;
    }
    let untold = problem_count.saturating_sub(problems.len() as u64);
    if untold > 0 {
        writeln!(out, "{}\tand {untold} more", coloured("problem", AnsiColor::Red))?;
    }
    let (word, remedy) = match (*problem_count, args.repair) {
        (0, _) => (coloured("fine", AnsiColor::Green), ""),
        (_, false) => (coloured("damaged", AnsiColor::Red), "; mend it with --repair, or restore a backup"),
        (_, true) => (coloured("still damaged", AnsiColor::Red), "; restore a backup"),
    };
    let db = output::in_line(&db);
    let (records, texts) = (size::count(*records, "record", "records"), size::count(*texts, "text", "texts"));
    let problem_count = size::count(*problem_count, "problem", "problems");
    writeln!(out, "{word}\t{db}: {records} and {texts} read, {problem_count}{remedy}")?;
    Ok(())
}
