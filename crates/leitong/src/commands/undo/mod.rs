//! `leitong undo`: puts back what `leitong dedup` has removed, each document in its place.

mod commit;
mod lines;
mod read;
mod rows;

use super::dedup::format::Format;
use super::dedup::journal::{Entry, Tail};
use super::dedup::kept::rows_beside;
use crate::commands::batch::size;
use crate::output::file::{Closed, Output, Seal, target};
use crate::output::paths::Paths;
use crate::output::{self, Exit, Failure, note};
use commit::Plan;
pub(crate) use commit::plan_beside;
use read::Journal;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong undo clean.jsonl.journal\n  \
    leitong undo clean.jsonl.journal --only news-17 --only news-23\n  \
    leitong undo clean.parquet.journal -o all.parquet\n\n\
    All documents stand then in the order in which they came, each on a line of its own that ends with a line break; blank lines, \
    and records that could not be used, were never in the output and do not come back. Without -o the output of `dedup` is \
    replaced, and what was put back leaves the journal. An output that has been changed since is refused: nobody could say where a \
    document belongs. An undo that was killed is finished by the next one.")]
pub(crate) struct Args {
    /// What `leitong dedup` wrote beside its output
    journal: PathBuf,
    /// Put back only the document with this id; may be given several times
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Write there, and leave the output and the journal as they are
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
}

/// What is to be done.
pub(super) struct Undoing<'u> {
    journal: Journal,
    /// What `dedup` wrote.
    from: PathBuf,
    to: &'u Path,
    only: BTreeSet<&'u str>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let asked: BTreeSet<String> = args.only.iter().cloned().collect();
    if let Some(earlier) = commit::finish(&args.journal)? {
        note(&format!("{}: an undo that was interrupted has been finished", args.journal.display()));
        if args.output.is_none() && earlier.only == asked {
            return tell(args, earlier.restored, &earlier.output);
        }
        if !args.journal.exists() {
            return Err(Failure::Input(format!(
                "{}: with that everything is back in {}, and nothing is left to put back",
                args.journal.display(),
                earlier.output
            )));
        }
    }
    let plan = undo(args, asked)?;
    if args.output.is_none() {
        plan.carry_out(&args.journal, &mut || Ok(()))?;
    }
    tell(args, plan.restored, &plan.output)
}

/// Writes everything anew and decides that it counts.
fn undo(args: &Args, asked: BTreeSet<String>) -> Result<Plan, Failure> {
    let journal = Journal::open(&args.journal)?;
    let from = journal.output()?;
    let to = args.output.as_deref().unwrap_or(&from).to_owned();
    if let Some(output) = &args.output {
        let inputs = [args.journal.clone(), rows_beside(&args.journal), from.clone()];
        Paths { outputs: &[output], inputs: &inputs, work: None }.check()?;
    }
    let mut only: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
    let undoing = Undoing { journal, from, to: &to, only: only.clone() };
    undoing.check_seal()?;
    undoing.journal.each(|entry| {
        only.remove(entry.id.as_str());
        Ok(())
    })?;
    if let Some(missing) = only.first() {
        return Err(Failure::Input(format!(
            "{}: no document with the id {missing:?} was removed; check it, or leave --only out",
            args.journal.display()
        )));
    }
    let out = match undoing.journal.head.format {
        Format::Parquet => rows::merge(&undoing)?,
        _ => lines::merge(&undoing)?,
    };
    let all = undoing.journal.tail.removed;
    let output = to.display().to_string();
    if args.output.is_some() {
        let restored = all - undoing.left()?;
        out.publish()?;
        return Ok(Plan::new(asked, restored, output));
    }
    // All of it is ready before the first file takes its place.
    let rest = undoing.rest(&out.seal)?;
    let mut plan = Plan::new(asked.clone(), all - rest.left, output);
    plan.publish(&out, Some(&undoing.journal.tail.seal))?;
    let mut files = vec![out];
    rest.plan(&args.journal, &mut plan, &mut files)?;
    plan.decide(&args.journal, files)?;
    Ok(plan)
}

fn tell(args: &Args, restored: u64, path: &str) -> Result<Exit, Failure> {
    let mut stdout = output::stdout();
    if args.json {
        writeln!(stdout, "{}", json!({ "restored": restored, "output": path }))?;
    } else {
        let documents = size::count(restored, "document", "documents");
        writeln!(stdout, "restored\t{documents}\t{}", output::in_line(path))?;
    }
    stdout.flush()?;
    Ok(Exit::Fine)
}

/// The journal of what has not been put back.
struct Rest {
    left: u64,
    journal: Closed,
    rows: Option<Closed>,
}

impl Undoing<'_> {
    fn wants(&self, entry: &Entry) -> bool {
        self.only.is_empty() || self.only.contains(entry.id.as_str())
    }

    fn check_seal(&self) -> Result<(), Failure> {
        let path = self.from.display();
        let now = Seal::of(&self.from).map_err(|error| {
            Failure::Input(format!("{path}: cannot be read: {error}; is it where it was?"))
        })?;
        let then = &self.journal.tail.seal;
        if now == *then {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{path} is not what `leitong dedup` wrote ({} bytes now, {} then), so places in it cannot be told; bring that file \
             back, or run `leitong dedup` again",
            now.bytes, then.bytes
        )))
    }

    /// How many are not put back.
    fn left(&self) -> Result<u64, Failure> {
        let mut left = 0;
        self.journal.each(|entry| {
            left += u64::from(!self.wants(&entry));
            Ok(())
        })?;
        Ok(left)
    }

    /// The journal without what was put back, for the output as it is now.
    fn rest(&self, seal: &Seal) -> Result<Rest, Failure> {
        let mut file = Output::create(&self.journal.path)?;
        file.put(&output::json_line(&self.journal.head)?)?;
        let (mut left, mut put_back) = (0, 0);
        self.journal.each(|mut entry| {
            if self.wants(&entry) {
                put_back += 1;
                return Ok(());
            }
            left += 1;
            entry.before += put_back;
            file.put(&output::json_line(&entry)?)
        })?;
        let output = self.to.display().to_string();
        file.put(&output::json_line(&Tail { output, seal: seal.clone(), removed: left })?)?;
        let rows = match self.journal.head.format {
            Format::Parquet => Some(rows::rest(self)?),
            _ => None,
        };
        Ok(Rest { left, journal: file.close()?, rows })
    }
}

impl Rest {
    /// It takes the place of the old one, or that goes where nothing is left.
    fn plan(self, journal: &Path, plan: &mut Plan, files: &mut Vec<Closed>) -> Result<(), Failure> {
        if self.left > 0 {
            for file in self.rows.into_iter().chain([self.journal]) {
                plan.publish(&file, None)?;
                files.push(file);
            }
            return Ok(());
        }
        let rows = self.rows.is_some().then(|| rows_beside(journal));
        for path in rows.into_iter().chain([journal.to_owned()]) {
            // Of a link both go: what it leads to, and itself.
            let behind = target(&path)?;
            if behind != path {
                plan.remove(&behind)?;
            }
            plan.remove(&path)?;
        }
        Ok(())
    }
}
