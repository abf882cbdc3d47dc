//! Many documents at once: every pair that is near, and what can go.
//!
//! ```text
//! documents ─▶ Corpus: texts, marks, digests in files
//!                 │ finish
//!                 ▼
//! equal texts are one · marks that several have (sorted by mark) · candidates · copies are one source
//!                 │ Run
//!                 ▼
//! each candidate aligned and judged: pairs ─▶ Selection: what stays, and what goes because of what
//! ```
//! Candidates and verdicts are those of the online operations: the same arithmetic proposes ([`leitong_store::Scoring`])
//! and the same verifier ([`crate::verify`]) decides. Results are the same for any number of threads, and memory is bounded:
//! what does not fit goes to files. A text that can be read again where it came from ([`Originals`]) is not copied.

mod copies;
mod error;
mod lists;
mod originals;
mod pairs;
mod propose;
mod ranges;
mod run;
mod select;
mod spill;
mod spool;
#[cfg(test)]
mod tests;

pub use error::BatchError;
pub use originals::{Incoming, Originals, Spot};
pub use pairs::{Explained, Explainer, Extent, Pair};
pub use run::Run;
pub use select::{Fate, Selection};

use spool::Spool;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of memory that a run takes in any case: the program with what is just being read, and what is known of each document.
#[must_use]
pub fn least_memory(documents: u64) -> u64 {
    const BASE: u64 = 40 << 20;
    const OF_DOCUMENT: u64 = 140;
    // Where the lists are of some of them, those that are just worked on.
    const OF_LISTS: u64 = 150;
    BASE + OF_DOCUMENT * documents + OF_LISTS * documents.min(ranges::AT_ONCE)
}

/// What is left of so much memory for that many documents: what goes to files if it does not fit, shares it. With less than an
/// eighth these would be files of few bytes each.
#[must_use]
pub fn memory_left(memory: u64, documents: u64) -> u64 {
    memory.saturating_sub(least_memory(documents)).max(memory / 8)
}

/// How a run works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its files are; what an earlier run left there is gone on with.
    pub folder: PathBuf,
    /// Bytes of memory it may take, if [`least_memory`] is not more.
    pub memory: u64,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finding marks that several documents have.
    Sharing,
    /// Looking for copies.
    Copies,
    /// Judging candidates.
    Judging,
    /// Choosing what stays.
    Choosing,
}

/// Told how far a run is: the stage, how much of it is done, and how much there is.
pub type Progress<'p> = &'p (dyn Fn(Stage, u64, u64) + Sync);

/// Documents being taken in.
pub struct Corpus {
    spool: Spool,
    memory: u64,
}

impl Corpus {
    /// Begins, or goes on from the last checkpoint of an earlier run in the same folder.
    pub fn open(options: &Options) -> Result<Self, BatchError> {
        Ok(Self { spool: Spool::open(&options.folder)?, memory: options.memory })
    }

    /// How many documents are there.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spool.state.documents
    }

    /// Whether all documents had been taken in before.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.spool.state.complete
    }

    /// What was noted at the last checkpoint.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.spool.state.note
    }

    /// Takes documents in.
    pub fn push(&mut self, documents: &[Incoming]) -> Result<(), BatchError> {
        if self.count() + documents.len() as u64 > u64::from(u32::MAX - 1) {
            return Err(BatchError::TooMany);
        }
        self.spool.push(documents)
    }

    /// Notes how far it has come, for a run that goes on after a crash.
    pub fn checkpoint(&mut self, note: &str) -> Result<(), BatchError> {
        self.spool.checkpoint(note, false)
    }

    /// All documents are there: finds the candidates. Texts that have not been copied are read from `originals`.
    pub fn finish(
        self,
        originals: Option<Arc<dyn Originals>>,
        progress: Progress<'_>,
    ) -> Result<Run, BatchError> {
        let memory = memory_left(self.memory, self.count());
        Run::new(self.spool.finish(originals)?, memory, progress)
    }
}
