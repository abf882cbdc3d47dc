//! A join from start to end: count, cut into rounds, lay out, compare.

use super::batch::Input;
use super::equal::{Frequent, Seen};
use super::local::{Job, WORKER, Worker, bytes_per_value};
use super::output::{Output, WRITER};
use super::parts::{self, Counts, GROUP, Parts, Round, Source};
use super::plan::{Demand, Plan};
use super::sink::Sink;
use super::threads::on_threads;
use super::{Join, JoinError, Stats};
use crate::Value;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Joins. `taken` bytes of the ceiling are in use already.
pub(super) fn run<V: Value, S: Sink + ?Sized>(
    join: &Join,
    taken: u64,
    input: &Input<'_, V>,
    sink: &S,
) -> Result<Stats, JoinError> {
    let len = input.len();
    // a thread for less than this is not worth its start
    let threads = join.threads().clamp(1, len.div_ceil(10_000).max(1));
    let largest = join.memory / (bytes_per_value::<V>() + item::<V>()) / threads as u64;
    let plan = Plan::new(Demand { len, k: join.k, threads, largest: largest as usize });
    with_plan(join, &plan, taken, threads, input, sink)
}

/// Joins by a given plan.
pub(super) fn with_plan<V: Value, S: Sink + ?Sized>(
    join: &Join,
    plan: &Plan<V>,
    taken: u64,
    threads: usize,
    input: &Input<'_, V>,
    sink: &S,
) -> Result<Stats, JoinError> {
    let (len, border) = (input.len(), input.left.len());
    if len < 2 {
        return Ok(Stats::default());
    }
    let output = Output::new(sink, border, input.right.is_some());
    let ranges = parts::ranges(len, threads);
    let ceiling = |needed| JoinError::Ceiling { memory: join.memory, needed };
    let fixed = taken + fixed_memory(plan, len, threads);
    let room = join.memory.checked_sub(fixed).ok_or_else(|| ceiling(fixed))?;

    let seen = Seen::new(len);
    let any = Frequent::find(input, border)
        .and_then(|frequent| frequent.report(input, &ranges, &seen, &output))
        .map_err(JoinError::Read)?;
    let source = Source { input, ranges: &ranges, seen: &seen, level: join.level };
    let counts = parts::count(&source, plan, any).map_err(JoinError::Read)?;
    let rounds = (0..plan.passes.len())
        .map(|pass| parts::rounds(&counts, pass, room, |round| round_memory::<V>(round, threads)))
        .collect::<Result<Vec<_>, u64>>()
        .map_err(|needed| ceiling(fixed + needed))?;

    let course = Course { k: join.k, source, plan, counts: &counts, output: &output };
    let (compared, done) = course.passes(&rounds)?;
    let (pairs, repeats) = output.reported();
    Ok(Stats { pairs, repeats, compared, rounds: done, stopped: output.stopped() })
}

/// The bytes of a value laid out.
fn item<V: Value>() -> u64 {
    (size_of::<V>() + size_of::<u32>()) as u64
}

/// The bytes a join takes whatever its rounds.
fn fixed_memory<V: Value>(plan: &Plan<V>, len: usize, threads: usize) -> u64 {
    let counters: usize = plan.passes.iter().map(|pass| pass.parts() * size_of::<u32>()).sum();
    // what a thread reads at a time, and what it reports
    let per_thread = counters as u64 + 4096 * size_of::<V>() as u64 + WRITER;
    Seen::memory(len) + threads as u64 * per_thread
}

/// The bytes a round takes: the values laid out, and either the groups under way while they are, or the workers.
fn round_memory<V: Value>(round: &Round, threads: usize) -> u64 {
    let parts = round.parts.len();
    // slices, groups and counters of each part in each range
    let filling = (threads * parts) as u64 * (GROUP as u64 * item::<V>() + 32 + 16 + 8);
    let workers = threads.min(parts) as u64;
    let working = workers * (WORKER + round.largest as u64 * bytes_per_value::<V>());
    round.places as u64 * item::<V>() + filling.max(working)
}

/// Everything a pass needs.
struct Course<'a, V: Value, S: ?Sized> {
    k: u32,
    source: Source<'a, V>,
    plan: &'a Plan<V>,
    counts: &'a Counts,
    output: &'a Output<'a, S>,
}

impl<V: Value, S: Sink + ?Sized> Course<'_, V, S> {
    /// All passes, with their rounds. Returns how many comparisons and how many rounds it took.
    fn passes(&self, rounds: &[Vec<Round>]) -> Result<(u64, u32), JoinError> {
        let places = rounds.iter().flatten().map(|round| round.places).max().unwrap_or(0);
        let mut parts = Parts::new(places).map_err(JoinError::Allocate)?;
        let mut earlier = Vec::new();
        let (mut compared, mut done) = (0, 0);
        for (index, (pass, rounds)) in self.plan.passes.iter().zip(rounds).enumerate() {
            let job = Job {
                pass,
                earlier: &earlier,
                first: index == 0,
                k: self.k,
                seen: self.source.seen,
                output: self.output,
                level: self.source.level,
            };
            for round in rounds {
                if self.output.stopped() {
                    return Ok((compared, done));
                }
                let sizes = |range: usize, part: usize| self.counts[range][index][part] as usize;
                parts.fill(&self.source, pass, round, sizes).map_err(JoinError::Read)?;
                compared += self.compare(&job, &parts, round);
                done += 1;
            }
            earlier.extend(pass.masks.iter().map(|mask| mask.bits));
        }
        Ok((compared, done))
    }

    /// The pairs of a round; its parts are taken one after the other by whichever thread is free.
    fn compare(&self, job: &Job<'_, V, S>, parts: &Parts<V>, round: &Round) -> u64 {
        let next = AtomicUsize::new(0);
        let workers = self.source.ranges.len().min(round.parts.len());
        let compared = on_threads(vec![(); workers], |()| {
            let mut worker = Worker::new(job, round.largest);
            loop {
                let part = next.fetch_add(1, Relaxed);
                if part >= round.parts.len() || self.output.stopped() {
                    break;
                }
                if let ControlFlow::Break(()) = worker.part(parts.part(part)) {
                    break;
                }
            }
            worker.compared
        });
        compared.into_iter().sum()
    }
}
