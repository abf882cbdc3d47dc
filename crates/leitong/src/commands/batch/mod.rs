//! What the commands over many documents share: reading everything in, the work folder, and going on after a kill.
//!
//! ```text
//! Args ─▶ Job::take_in ─▶ Taken { run, columns in the work folder, sources to read again }
//! ```

mod against;
pub(crate) mod evidence;
pub(crate) mod fingerprints;
mod found;
mod intake;
mod originals;
mod rank;
mod readers;
pub(crate) mod size;
mod stages;
mod stamps;
mod take;
mod work;

pub(crate) use against::AgainstArgs;
pub(crate) use found::Found;
pub(crate) use intake::{CODE_AGAINST, CODE_TAKEN, Job, Taken};
pub(crate) use originals::Inputs;
pub(crate) use rank::{Extras, Ranking};
pub(crate) use stages::Stages;
pub(crate) use stamps::changed;
pub(crate) use work::Work;

use crate::input::InputArgs;
use crate::output::{Exit, Failure, complain, note};
use std::path::{Path, PathBuf};

/// What becomes of a record that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnError {
    /// Leave it out and go on; the exit code is 0
    Skip,
    /// End the run; nothing is written
    Stop,
}

/// The flags of all of them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BatchArgs {
    /// Memory to use: 256M, 4G. A run takes 40 MB and 150 to 300 bytes a document at least, and beside it about 100 bytes for each letter
    /// of the texts that a thread compares [default: half of what is free, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = size::ceiling, help_heading = "Run")]
    memory: Option<u64>,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Run")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder to work in; a run that was killed goes on from there [default: OUT.work, removed at the end]
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    work: Option<PathBuf>,
    /// What becomes of bad records [default: they are left out, and the exit code is 3]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Run")]
    on_error: Option<OnError>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl BatchArgs {
    pub(crate) fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(size::default_memory)
    }

    /// Makes `--threads` so for everything that follows.
    pub(crate) fn use_threads(&self) {
        if let Some(threads) = self.threads {
            // Fails only where something has run before, and nothing has.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        }
    }

    pub(crate) fn work(&self, output: Option<&Path>) -> Result<Work, Failure> {
        Work::open(self.work.as_deref(), output)
    }

    /// Where a run with this output would work.
    pub(crate) fn work_folder(&self, output: Option<&Path>) -> PathBuf {
        let beside = || output.and_then(Path::parent).unwrap_or(Path::new(".")).to_owned();
        self.work.clone().unwrap_or_else(beside)
    }

    /// The folder that --work names.
    pub(crate) fn named_work(&self) -> Option<&Path> {
        self.work.as_deref()
    }

    pub(crate) fn on_error(&self) -> Option<OnError> {
        self.on_error
    }

    /// Whether a bad record ends the run.
    pub(crate) fn stops(&self) -> bool {
        self.on_error == Some(OnError::Stop)
    }

    /// Bytes read at a time: blocks are in memory a few times, raw and parsed.
    pub(crate) fn block(&self) -> usize {
        (self.memory() / 128).clamp(1 << 20, 4 << 20) as usize
    }
}

/// Records that could not be used, told as they come.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) count: u64,
    said: u64,
}

/// Bad records that are named; further ones are counted.
const NAMED: u64 = 1000;

impl Skipped {
    /// Of a run that goes on.
    pub(crate) fn from(count: u64) -> Self {
        Self { count, said: 0 }
    }

    /// Names one, and ends the run if that is wanted.
    pub(crate) fn report(
        &mut self,
        error: &dyn std::fmt::Display,
        on_error: Option<OnError>,
    ) -> Result<(), Failure> {
        if on_error == Some(OnError::Stop) {
            return Err(Failure::Input(format!("{error}\nnothing was written, because of --on-error stop")));
        }
        self.count += 1;
        self.said += 1;
        if self.said <= NAMED {
            complain(error);
        }
        if self.said == NAMED {
            note(&"further bad records are only counted");
        }
        Ok(())
    }

    /// How the run ends.
    pub(crate) fn exit(&self, on_error: Option<OnError>) -> Exit {
        if self.count > 0 && on_error != Some(OnError::Skip) { Exit::BadInput } else { Exit::Fine }
    }
}
