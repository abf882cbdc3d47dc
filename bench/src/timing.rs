//! Timing: every stage once a round, round after round, so that a busy neighbour hits all of them alike; the median
//! counts.

use std::hint::black_box;
use std::time::Instant;

/// One thing to time.
pub struct Stage<'a> {
    /// Its name in the table.
    pub name: String,
    /// Bytes of the text it works on.
    pub bytes: usize,
    /// Does it once over all the text; the result is a checksum that keeps the compiler honest.
    pub run: Box<dyn FnMut() -> u64 + 'a>,
}

impl<'a> Stage<'a> {
    /// A stage.
    pub fn new(name: impl Into<String>, bytes: usize, run: impl FnMut() -> u64 + 'a) -> Self {
        Self { name: name.into(), bytes, run: Box::new(run) }
    }
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("name", &self.name).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// How fast a stage is.
#[derive(Clone, Debug)]
pub struct Speed {
    /// The stage.
    pub name: String,
    /// Bytes of the text it worked on.
    pub bytes: usize,
    /// Megabytes (10^6 bytes) of text a second, one value a round, ascending.
    pub rounds: Vec<f64>,
}

impl Speed {
    /// The middle round.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.rounds.get(self.rounds.len() / 2).copied().unwrap_or(0.0)
    }

    /// The slowest and the fastest round.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.rounds.first().copied().unwrap_or(0.0), self.rounds.last().copied().unwrap_or(0.0))
    }
}

/// Runs all stages `rounds` times, alternating.
pub fn measure(stages: &mut [Stage<'_>], rounds: usize) -> Vec<Speed> {
    let mut speeds: Vec<Speed> = stages
        .iter()
        .map(|stage| Speed { name: stage.name.clone(), bytes: stage.bytes, rounds: Vec::new() })
        .collect();
    for _ in 0..rounds {
        for (stage, speed) in stages.iter_mut().zip(&mut speeds) {
            let start = Instant::now();
            black_box((stage.run)());
            speed.rounds.push(stage.bytes as f64 / 1e6 / start.elapsed().as_secs_f64());
        }
    }
    for speed in &mut speeds {
        speed.rounds.sort_by(f64::total_cmp);
    }
    speeds
}
