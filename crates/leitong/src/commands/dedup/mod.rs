//! `leitong dedup`: writes the documents that stay, in order, and says why the others go.

pub(crate) mod alarm;
mod evidence;
pub(crate) mod format;
pub(crate) mod journal;
pub(crate) mod kept;
mod summary;
mod write;

use super::audit::Audit;
use super::batch::{AgainstArgs, BatchArgs, Extras, Job, Ranking, Taken, Work};
use super::{fields, undo};
use crate::input::raw::{self, Source, Wanted};
use crate::output::paths::{self, Paths};
use crate::output::report::{self, Sample};
use crate::output::{Exit, Failure, note};
use alarm::Sources;
use format::Layout;
use std::path::{Path, PathBuf};
use std::time::Instant;
use summary::Summary;
use write::{Decided, Files};

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong dedup news.jsonl -o clean.jsonl\n  \
    leitong dedup *.parquet -o clean.parquet --removed why.jsonl --memory 2G\n  \
    leitong dedup new.jsonl.zst -o clean.jsonl.zst --against news --keep newest\n  \
    leitong dedup crawl.jsonl -o clean.jsonl --keep source --prefer 新华社,人民日报 --source source\n\n\
    Records are copied byte for byte, in their order. The name of OUT says how it is written: .jsonl (from any input; tables \
    become objects, files an object with id and text), .csv, .tsv and .parquet (from the same), anything else for lines of standard \
    input; with .gz or .zst behind it compressed. What was removed is in OUT.journal, from which `leitong undo` puts it back.\n\n\
    Exact, near and contained documents are removed, quotes never. Of a contained document and its container the container stays. \
    A document goes only for one that stays and that it was compared with.\n\n\
    Inputs are read more than once and must not change meanwhile; outputs cannot lie in a folder that is an input. A link is written through.\n\n\
    Bad records (broken JSON, no text, an id for the second time) are named, counted and left out; the exit code is then 3, with \
    --on-error skip 0, and with --on-error stop nothing is written. A run that was killed goes on when it is started again.")]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    /// Where to
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    against: AgainstArgs,
    /// Which of several duplicates stays: first, longest, newest, or a field: the largest number, or as --prefer says
    #[arg(long, value_name = "first|longest|newest|FIELD", default_value = "first")]
    keep: String,
    /// The values of the field of --keep that are preferred, the best first
    #[arg(long, value_name = "VALUE,VALUE...", value_delimiter = ',', requires = "keep")]
    prefer: Vec<String>,
    /// The field that holds the date, for --keep newest [default: published, or date]
    #[arg(long, value_name = "FIELD", requires = "keep")]
    date: Option<String>,
    /// Write why each document was removed: JSON lines with the kept one, scores, the rule and the passages
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
    /// Write a page with the totals, the pairs by their scores, and what goes beside what stays
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Compare N removals and N kept documents exactly, and say how many were right
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    audit: Option<u32>,
    /// Another sample for --audit
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "audit")]
    audit_seed: u64,
    /// What `leitong undo` needs [default: OUT.journal]
    #[arg(long, value_name = "FILE", conflicts_with = "no_journal")]
    journal: Option<PathBuf>,
    /// Write no journal: what is removed cannot be put back
    #[arg(long)]
    no_journal: bool,
    /// The field that tells where a document is from, for the alarm
    #[arg(long, value_name = "FIELD")]
    source: Option<String>,
    /// Write nothing if a source of 20 documents or more would lose more than this share; or off
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = alarm::parse, requires = "source")]
    alarm: alarm::Share,
    /// Write also if there is an alarm
    #[arg(long)]
    force: bool,
    /// Print what was done as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    batch: BatchArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let begun = Instant::now();
    args.fit_together()?;
    args.batch.use_threads();
    let taken = args.against.with(|against| {
        let mut extras = Extras::default();
        let ranking = Ranking::new(&args.keep, args.date.as_deref(), &args.prefer, &mut extras);
        let source = args.source.as_deref().map(|field| extras.slot(field));
        let job = Job {
            args: &args.batch,
            inputs: &args.inputs,
            extras,
            ranking,
            source,
            against,
            quiet_out: true,
        };
        let sources = fits(args)?;
        args.report.as_deref().map_or(Ok(()), report::check)?;
        let work = args.batch.work(Some(&args.output))?;
        let taken = take_in(&job, work, args)?;
        let taken = if fields::need_copies(&sources) { checked(taken, args)? } else { taken };
        fields::warn_if_idle(&job.ranking, &taken)?;
        Ok(taken)
    })?;
    if taken.run.count() == 0 && taken.skipped.count > 0 && taken.against == 0 {
        give_up(taken);
        let message =
            "no document could be read; nothing was written (do --id and --text name fields of the input?)";
        return Err(Failure::Input(message.into()));
    }
    let layout = Layout::new(&args.output, &taken.sources, &taken.wanted)?;
    let mut sample = Sample::default();
    let selected = taken.select_watched(args.batch.memory() / 16, &mut |pair| sample.push(pair));
    let (selection, found) = match selected {
        Ok(selected) => selected,
        Err(failure) => return Err(ended(taken, failure)),
    };
    let sources = args.source.as_ref().map(|_| Sources::read(&taken)).transpose()?;
    if sources.as_ref().is_some_and(|sources| !args.force && sources.alarm(args.alarm, &selection.fates)) {
        note(&format!(
            "look at them with `leitong pairs`; then the same with --force, which goes on from {}, or with another --alarm",
            taken.work.folder.display()
        ));
        return Ok(Exit::BadInput);
    }
    let journal = args.journal_path();
    let files = Files { output: &args.output, removed: args.removed.as_deref(), journal: journal.as_deref() };
    let decided =
        Decided { taken: &taken, fates: &selection.fates, found: &found, sources: sources.as_ref() };
    let written = match write::write(&decided, &layout, &files) {
        Ok(written) => written,
        Err(failure) => return Err(ended(taken, failure)),
    };
    if let Some(path) = &args.report {
        report::write(path, &decided.facts(&written, &sample))?;
    }
    let auditing = Instant::now();
    let audit = |count| Audit::new(&taken.run, &selection.fates, &found, count, args.audit_seed);
    let audit = args.audit.map(audit).transpose()?;
    Summary {
        taken: &taken,
        written: &written,
        quotes: found.quotes,
        // The rate is that of the run.
        begun: begun + auditing.elapsed(),
        files: &files,
        audit: audit.as_ref(),
    }
    .print(args.json)?;
    let exit = taken.skipped.exit(args.batch.on_error());
    give_up(taken);
    Ok(exit)
}

/// Why a run failed. Where an input has changed, that is why, and what was taken in is of no use any more.
fn ended(taken: Taken, failure: Failure) -> Failure {
    match taken.stamps.check() {
        Ok(()) => failure,
        Err(changed) => {
            give_up(taken);
            changed
        }
    }
}

/// Removes what was worked with.
fn give_up(taken: Taken) {
    let Taken { run, work, .. } = taken;
    drop(run);
    work.remove();
}

impl Args {
    fn journal_path(&self) -> Option<PathBuf> {
        let default = || PathBuf::from(format!("{}.journal", self.output.display()));
        (!self.no_journal).then(|| self.journal.clone().unwrap_or_else(default))
    }

    /// What clap cannot say: flags that need a certain value of another.
    fn fit_together(&self) -> Result<(), Failure> {
        let keep = &self.keep;
        if self.date.is_some() && keep != "newest" {
            return Err(Failure::Usage(format!("--date goes with --keep newest, not with --keep {keep}")));
        }
        if !self.prefer.is_empty() && fields::of_keep(keep).is_none() {
            return Err(Failure::Usage(format!(
                "--prefer lists values of a field, which --keep has to name; --keep {keep} is none"
            )));
        }
        Ok(())
    }

    /// The fields that flags name.
    fn fields(&self) -> Vec<fields::Flag<'_>> {
        let date = self.date.as_deref().map(|field| ("--date", field));
        let source = self.source.as_deref().map(|field| ("--source", field));
        [fields::of_keep(&self.keep), date, source].into_iter().flatten().collect()
    }

    fn wanted(&self) -> Wanted {
        let options = self.batch.input.options();
        Wanted { options, extras: Vec::new(), block: self.batch.block(), read: None }
    }
}

/// Whether the inputs can be written as the output says, and have the fields that flags name, before anything is read in; the inputs.
fn fits(args: &Args) -> Result<Vec<Source>, Failure> {
    let wanted = args.wanted();
    let journal = args.journal_path();
    let outputs = [Some(&args.output), args.removed.as_ref(), journal.as_ref(), args.report.as_ref()];
    let outputs: Vec<&Path> = outputs.into_iter().flatten().map(PathBuf::as_path).collect();
    let work = paths::work_folder(args.batch.named_work(), &args.output);
    Paths { outputs: &outputs, inputs: &args.inputs, work: Some(&work) }.check()?;
    if let Some(journal) = journal.filter(|journal| undo::plan_beside(journal).exists()) {
        return Err(Failure::Input(format!(
            "{}: an undo was interrupted here; finish it first, with `leitong undo {}`",
            args.output.display(),
            journal.display()
        )));
    }
    let (sources, _) = raw::expand(&args.inputs, &wanted.options);
    Layout::new(&args.output, &sources, &wanted)?;
    if !fields::need_copies(&sources) {
        fields::check(&args.fields(), &sources, &wanted)?;
    }
    Ok(sources)
}

/// Whether inputs that can be read only once have the fields that flags name.
fn checked(taken: Taken, args: &Args) -> Result<Taken, Failure> {
    match fields::check(&args.fields(), &taken.sources, &taken.wanted) {
        Ok(()) => Ok(taken),
        Err(failure) => {
            give_up(taken);
            Err(failure)
        }
    }
}

/// Takes everything in. Where the input is to blame nothing is left behind: it will be another the next time.
fn take_in(job: &Job<'_>, work: Work, args: &Args) -> Result<Taken, Failure> {
    let folder = work.folder.clone();
    job.take_in(work).inspect_err(|failure| {
        if args.batch.stops() && matches!(failure, Failure::Input(_)) {
            let _ = std::fs::remove_dir_all(&folder);
        }
    })
}
