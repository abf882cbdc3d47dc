//! All pairs within `k` bits of a batch of values, or of two batches.
//!
//! **Input**: values of one width, by position, and a radius `k`. **Output**: every pair of positions whose values
//! differ in at most `k` bits, once, to a [`Sink`]; positions of equal values as repeats of the first of them. Exact:
//! [`crate::scan::pairs`] and [`crate::scan::pairs_between`] are the slow twins.
//!
//! **Paper**: Jianbin Qin and Chuan Xiao, "Pigeonring: A Principle for Faster Thresholded Similarity Search", VLDB
//! 2018. Cut the bits into `k + 1` blocks that lie in a ring: of a pair within `k` bits some block agrees and the next
//! one differs in one bit at most, so that one of its halves agrees as well.
//!
//! For every block the values are laid into parts by its bits, a part small enough for the second-level cache; inside
//! a part they are sorted by the rest of the block and one half of the next, and those that agree are compared. A pair
//! that agrees in several sets of bits counts in the first of them, which the differing bits alone tell; no set of
//! pairs seen is kept. Where blocks would be too short other sets of bits are cheaper; `plan` weighs them.
//!
//! Equal values are taken out first, so that many of them make nothing quadratic: those that a sample shows to be
//! frequent while reading, the others where the first pass compares them. What remains quadratic is what has to be
//! said: many *different* values near each other are that many pairs.
//!
//! ```
//! use leitong_index::join::{Collect, Join, Pair, Side};
//!
//! let values = [0b0000_u64, 0b0111, u64::MAX, 0b0001, 0b0000];
//! let found = Collect::default();
//! Join { k: 2, ..Join::default() }.pairs(&values[..], &found)?;
//! assert_eq!(found.representatives(), [Pair { a: 0, b: 3, distance: 1 }, Pair { a: 1, b: 3, distance: 2 }]);
//! assert_eq!(found.repeated(Side::Left)[0].other, 4);
//! # Ok::<(), leitong_index::join::JoinError>(())
//! ```

mod batch;
mod equal;
mod local;
mod output;
mod parts;
mod plan;
mod run;
mod sink;
#[cfg(test)]
mod tests;
mod threads;

pub use batch::Batch;
pub use sink::{Collect, Pair, Repeat, Side, Sink};

use crate::{Level, Value};
use batch::{Copy, Input};
use std::path::PathBuf;

/// How to join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Pairs differ in at most this many bits.
    pub k: u32,
    /// How many threads work; 0 for as many as the machine has.
    pub threads: usize,
    /// How many bytes the join may take, besides the batches themselves and the sink. With less memory than the values
    /// and four bytes for each, they are read several times.
    pub memory: u64,
    /// The folder for a copy of a batch that must not be read twice and has no room in memory; none for the system's
    /// folder of temporary files.
    pub spill: Option<PathBuf>,
    /// The instructions to use, as far as the machine has them.
    pub level: Level,
}

impl Default for Join {
    /// Three bits, all cores, 8 GiB.
    fn default() -> Self {
        Self { k: 3, threads: 0, memory: 8 << 30, spill: None, level: Level::best() }
    }
}

/// What a join did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pairs handed to the sink.
    pub pairs: u64,
    /// Repeats handed to the sink.
    pub repeats: u64,
    /// How many comparisons of two values it took, about: wide instructions compare some more than they need.
    pub compared: u64,
    /// How many times the values were laid out, and for that read.
    pub rounds: u32,
    /// Whether the sink ended it.
    pub stopped: bool,
}

/// Why a join could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Positions are numbers of 32 bits.
    #[error(
        "{len} values are too many for one join; cut them into batches of less than 2^32 together and join those with each other"
    )]
    TooMany {
        /// How many values there are.
        len: usize,
    },
    /// Some part of the work does not fit.
    #[error(
        "a memory ceiling of {memory} bytes is too low for these values; allow at least {needed} or use fewer threads"
    )]
    Ceiling {
        /// The ceiling given.
        memory: u64,
        /// The lowest that could do.
        needed: u64,
    },
    /// The system has no memory left below the ceiling.
    #[error("cannot get the memory for a join: {0}; lower its ceiling")]
    Allocate(#[source] std::io::Error),
    /// A batch failed.
    #[error("cannot read the values to join: {0}; see to their source and start again")]
    Read(#[source] std::io::Error),
    /// The copy of a batch could not be written.
    #[error("cannot write to {}: {source}; choose another spill folder or raise the memory ceiling", folder.display())]
    Spill {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl Join {
    /// All pairs of a batch within `k` bits, each once; see [`Sink`] for what becomes of equal values.
    pub fn pairs<V: Value>(
        &self,
        values: &(impl Batch<V> + ?Sized),
        sink: &(impl Sink + ?Sized),
    ) -> Result<Stats, JoinError> {
        self.check(values.len())?;
        let copy = self.copy(&values, 0)?;
        let taken = copy.as_ref().map_or(0, Copy::memory);
        let left = copy.as_ref().map_or(&values as &dyn Batch<V>, |copy| copy);
        run::run(&self.sensible::<V>(), taken, &Input { left, right: None }, sink)
    }

    /// All pairs of a value of one batch and one of another within `k` bits, each once; see [`Sink`] for what becomes
    /// of values that are equal within one batch.
    pub fn between<V: Value>(
        &self,
        left: &(impl Batch<V> + ?Sized),
        right: &(impl Batch<V> + ?Sized),
        sink: &(impl Sink + ?Sized),
    ) -> Result<Stats, JoinError> {
        self.check(left.len().saturating_add(right.len()))?;
        let left_copy = self.copy(&left, 0)?;
        let taken = left_copy.as_ref().map_or(0, Copy::memory);
        let right_copy = self.copy(&right, taken)?;
        let taken = taken + right_copy.as_ref().map_or(0, Copy::memory);
        let left = left_copy.as_ref().map_or(&left as &dyn Batch<V>, |copy| copy);
        let right = right_copy.as_ref().map_or(&right as &dyn Batch<V>, |copy| copy);
        run::run(&self.sensible::<V>(), taken, &Input { left, right: Some(right) }, sink)
    }

    /// With a radius no larger than the width, beyond which nothing lies.
    fn sensible<V: Value>(&self) -> Self {
        Self { k: self.k.min(V::WIDTH), ..self.clone() }
    }

    fn check(&self, len: usize) -> Result<(), JoinError> {
        if len as u64 > u64::from(u32::MAX) { Err(JoinError::TooMany { len }) } else { Ok(()) }
    }

    /// A copy of a batch that must not be read twice: in memory if that leaves most of the ceiling to the join itself.
    fn copy<V: Value>(&self, batch: &dyn Batch<V>, taken: u64) -> Result<Option<Copy<V>>, JoinError> {
        if batch.reads_again() {
            return Ok(None);
        }
        let room = self.memory.saturating_sub(taken) / 3;
        Copy::of(batch, room, self.spill.as_deref()).map(Some)
    }

    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}
