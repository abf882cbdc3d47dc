//! `leitong backup` and `leitong restore`: a database as it is at one moment, in another folder.

use super::batch::size;
use super::check_db::is_damage;
use super::db::{self, DbArgs};
use crate::output::{self, Exit, Failure, Progress};
use leitong_store::StoreError;
use leitong_store::embedded::{self, Embedded};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Flags of `backup`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong backup --db news backups/2024-05-01\n\n\
    The database may be in use: whoever has it open goes on writing, and copies one moment of it. A backup is a database \
    like any other; every command can read it.")]
pub(crate) struct Args {
    /// A new or empty folder
    target: PathBuf,
    #[command(flatten)]
    db: DbArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Flags of `restore`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong restore --db news backups/2024-05-01\n\n\
    The backup is checked before anything is copied; a damaged one is refused. The database must be new.")]
pub(crate) struct RestoreArgs {
    /// The backup
    backup: PathBuf,
    #[command(flatten)]
    db: DbArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let folder = args.db.existing_folder()?;
    must_be_new(&args.target, "a backup")?;
    let progress = Progress::waiting("copying");
    let documents = embedded::backup(&folder, &args.target, "leitong backup")?;
    drop(progress);
    say(args.json, "backup", &folder, &args.target, documents)
}

pub(crate) fn restore(args: &RestoreArgs) -> Result<Exit, Failure> {
    let folder = args.db.folder()?;
    let backup = args.backup.display();
    if !args.backup.is_dir() {
        return Err(Failure::Input(format!("{backup}: there is no backup here; check the path")));
    }
    must_be_new(&folder, "a restored database")?;
    let progress = Progress::new("records");
    let store = Embedded::open(&args.backup, db::options("restore", false)).map_err(refused)?;
    for notice in store.notices() {
        output::warn(&format!("{backup}: {notice}"));
    }
    let findings = store.verify(&mut |count| progress.reached(count)).map_err(refused)?;
    if findings.problem_count > 0 {
        for problem in &findings.problems {
            output::complain(&format!("{backup}: {problem}"));
        }
        let count = findings.problem_count;
        return Err(Failure::Input(format!(
            "{backup} has {count} problems, so nothing was restored; take another backup, or mend a copy of this one with \
             `leitong check-db --repair`"
        )));
    }
    let documents = store.backup(&folder)?;
    store.close()?;
    drop(progress);
    say(args.json, "restored", &args.backup, &folder, documents)
}

/// Damage of the backup, with what that means here.
fn refused(error: StoreError) -> Failure {
    match is_damage(&error) {
        true => Failure::Input(format!("{error}; nothing was restored, take another backup")),
        false => error.into(),
    }
}

/// Before the long work, so that nothing is done in vain.
fn must_be_new(folder: &Path, what: &str) -> Result<(), Failure> {
    let empty = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let path = folder.display();
    let refuse = || format!("{path}: {what} needs a new or empty folder, and this is none; name another");
    if empty { Ok(()) } else { Err(Failure::Input(refuse())) }
}

fn say(as_json: bool, what: &str, from: &Path, to: &Path, documents: u64) -> Result<Exit, Failure> {
    let mut out = output::stdout();
    let (from, to) = (from.display().to_string(), to.display().to_string());
    if as_json {
        writeln!(out, "{}", json!({ "from": from, "to": to, "documents": documents }))?;
    } else {
        let documents = size::count(documents, "document", "documents");
        writeln!(out, "{what}\t{}\t{documents}", output::in_line(&to))?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
