//! Taking documents in: read, parsed and fingerprinted while the next are read; noted, so that a killed run goes on.

use super::against::Against;
use super::stamps::Stamps;
use super::take::Intake;
use super::work::Work;
use super::{BatchArgs, Extras, Inputs, Ranking, Skipped, Stages, size};
use crate::input::raw::{self, Source, Wanted};
use crate::output::{self, Failure, note};
use leitong_detect::batch::{Corpus, Run, least_memory};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What became of a record, a byte each in the column `records`.
pub(crate) const CODE_TAKEN: u8 = 0;
pub(crate) const CODE_BAD: u8 = 1;
pub(crate) const CODE_AGAINST: u8 = 2;

/// What to do.
pub(crate) struct Job<'j> {
    pub(crate) args: &'j BatchArgs,
    pub(crate) inputs: &'j [PathBuf],
    pub(crate) extras: Extras,
    pub(crate) ranking: Ranking,
    /// Where the source stands among the extras.
    pub(crate) source: Option<usize>,
    pub(crate) against: Option<&'j Against>,
    pub(crate) quiet_out: bool,
}

/// Everything that was read.
pub(crate) struct Taken {
    pub(crate) run: Run,
    pub(crate) work: Work,
    pub(crate) sources: Vec<Source>,
    /// What they were when reading began.
    pub(crate) stamps: Stamps,
    pub(crate) wanted: Wanted,
    pub(crate) skipped: Skipped,
    /// Documents that the database has.
    pub(crate) against: u64,
    /// Bytes of all inputs.
    pub(crate) bytes: u64,
}

/// What a checkpoint says.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Noted {
    /// The inputs and the flags: what must be the same for the run to go on.
    key: Value,
    /// How many sources are done, and how many records of the next.
    pub(super) source: usize,
    pub(super) record: u64,
    /// How much counts of every column.
    pub(super) lengths: BTreeMap<String, u64>,
    pub(super) skipped: u64,
    pub(super) against: u64,
}

impl Noted {
    pub(super) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string(self)
            .map_err(|error| Failure::Input(format!("the run cannot be noted: {error}")))
    }
}

impl Job<'_> {
    /// Reads everything, or goes on where a killed run was.
    pub(crate) fn take_in(&self, work: Work) -> Result<Taken, Failure> {
        let options = self.args.input.options();
        let (mut sources, bad) = raw::expand(self.inputs, &options);
        let wanted = Wanted {
            options,
            extras: self.extras.0.clone(),
            block: self.args.block(),
            read: Some(Arc::new(AtomicU64::new(0))),
        };
        let stamps = Stamps::of(&sources);
        let mut skipped = Skipped::default();
        let key = self.key(&sources)?;
        let (corpus, noted) = self.open(&work, &sources, key)?;
        // Of a run that goes on these were told and counted before.
        if noted.source == 0 && noted.record == 0 {
            bad.iter().try_for_each(|error| skipped.report(error, self.args.on_error()))?;
        } else {
            skipped = Skipped::from(noted.skipped);
        }
        self.copy_streams(&mut sources, &work)?;
        let bytes =
            sources.iter().filter_map(|source| source.path.metadata().ok()).map(|file| file.len()).sum();
        let inputs = Arc::new(Inputs::open(&sources, &wanted));
        let mut intake = Intake::new(self, &work, (corpus, &inputs), noted, skipped)?;
        if !intake.is_complete() {
            intake.read_all(&sources, &wanted, bytes)?;
        }
        let (corpus, noted, skipped) = intake.done();
        let (least, memory) = (least_memory(corpus.count()), self.args.memory());
        if least > memory {
            output::warn(&format!(
                "{} take about {} of memory, more than the {} of --memory",
                size::count(corpus.count(), "document", "documents"),
                size::words(least),
                size::words(memory)
            ));
        }
        let stages = Stages::new(self.quiet_out);
        let run = corpus.finish(Some(inputs), &|stage, done, total| stages.reached(stage, done, total));
        if let Err(changed) = stamps.check() {
            // What was taken in is of no use any more.
            work.remove();
            return Err(changed);
        }
        let run = run?;
        Ok(Taken { run, work, sources, stamps, wanted, skipped, against: noted.against, bytes })
    }

    /// The inputs and the flags that decide what is taken in.
    fn key(&self, sources: &[Source]) -> Result<Value, Failure> {
        let files: Vec<Value> = sources
            .iter()
            .map(|source| {
                let file = source.path.metadata().ok();
                let changed = file.as_ref().and_then(|file| file.modified().ok());
                let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
                json!([
                    source.name,
                    file.map(|file| file.len()),
                    changed.map(|time| time.as_nanos().to_string())
                ])
            })
            .collect();
        let against = self.against.map(Against::state).transpose()?;
        Ok(json!({
            "inputs": files,
            "flags": format!("{:?} {:?} {:?} {:?}", self.args.input, self.extras, self.ranking, self.source),
            "against": against,
        }))
    }

    /// Opens the work folder, which may hold an earlier run.
    fn open(&self, work: &Work, sources: &[Source], key: Value) -> Result<(Corpus, Noted), Failure> {
        let options = work.options(self.args.memory());
        let folder = work.folder.display();
        let corpus = Corpus::open(&options)?;
        let noted = serde_json::from_str::<Noted>(corpus.note()).ok();
        let Some(noted) = noted.filter(|_| !sources.iter().any(Source::is_stdin)) else {
            if corpus.count() > 0 {
                note(&format!(
                    "{folder}: an earlier run was stopped here; this one starts anew, for what comes through \
                    standard input cannot be compared"
                ));
            }
            drop(corpus);
            work.clear()?;
            return Ok((Corpus::open(&options)?, Noted { key, ..Noted::default() }));
        };
        if noted.key != key {
            let what = if noted.key["inputs"] == key["inputs"] { "flags" } else { "inputs" };
            return Err(Failure::Input(format!(
                "{folder}: an earlier run was stopped here that had other {what}; go on with the same, remove the folder to \
                 start anew, or name another with --work"
            )));
        }
        let done = super::size::count(corpus.count(), "document", "documents");
        note(&format!("{folder}: going on behind {done} of an earlier run"));
        Ok((corpus, noted))
    }

    fn copy_streams(&self, sources: &mut [Source], work: &Work) -> Result<(), Failure> {
        for (at, source) in sources.iter_mut().enumerate().filter(|(_, source)| source.needs_copy()) {
            let copy = work.folder.join(format!("input-{at}"));
            match source.copy_to(&copy) {
                Err(error) if source.is_stdin() => return Err(Failure::Input(error.to_string())),
                // Reading it will fail and say so.
                Err(_) | Ok(()) => {}
            }
        }
        Ok(())
    }
}
