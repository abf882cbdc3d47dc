//! Evidence without texts: from marks and their places alone.
//!
//! Marks that both have are chained where they keep their distance, up to [`GAP`] units; what lies between two marks of a
//! chain that keep it exactly counts as equal. It sees less than an alignment, and the answer says that it did.

use super::align::GAP;
use super::evidence::{Evidence, Reach};
use super::numbers::Numbers;
use super::reading::Reading;
use super::{FULL, numbers};
use leitong_fingerprint::marks::{Mark, RUN, SPARSE};

/// Units between two marks of a chain at most: a unit that is edited takes the runs around it away, and with a window on either
/// side the next marks are so far apart.
const APART: u32 = (2 * SPARSE + RUN) as u32;

/// What is known of a text that is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// The marks, by hash and then by place.
    pub marks: Vec<Mark>,
    /// How many units the text has.
    pub units: u32,
    /// Its numbers, by hash: bit 32 says that it has Arabic digits.
    pub numbers: Vec<u64>,
}

impl Sketch {
    /// Of a text that is there.
    #[must_use]
    pub fn of(reading: &Reading) -> Self {
        let mut found = Vec::new();
        numbers::find(&reading.units, &mut found);
        let mut numbers: Vec<u64> = found.iter().map(numbers::Number::key).collect();
        numbers.sort_unstable();
        Self { marks: reading.marks.clone(), units: reading.units.len() as u32, numbers }
    }
}

/// A chain of marks that both texts have.
#[derive(Clone, Copy, Default)]
struct Chain {
    /// The place of its first mark in either text.
    first: (u32, u32),
    /// The place of its last.
    last: (u32, u32),
    matched: u32,
    rare: u64,
    differing: u32,
    runs: u32,
}

/// Compares two sketches. `weights` belongs to the marks of `x`.
#[must_use]
pub fn sketch_evidence(x: &Sketch, y: &Sketch, weights: &[u32]) -> Evidence {
    // The same pair in the same order, whoever asks.
    let swapped = (x.units, &x.marks) > (y.units, &y.marks);
    let (a, b) = if swapped { (y, x) } else { (x, y) };
    let mut seeds: Vec<(u32, u32, u32)> = Vec::new();
    super::align::shared(&a.marks, &b.marks, |i, j| {
        let weight = weights.get(if swapped { j } else { i }).copied().unwrap_or(FULL);
        seeds.push((a.marks[i].at, b.marks[j].at, weight));
    });
    seeds.sort_unstable();
    let chains = chain(&seeds);
    let mut found = Evidence { swapped, a: a.units, b: b.units, ..Evidence::default() };
    let mut reach = Reach::default();
    for chain in chains {
        found.matched += chain.matched;
        found.runs += chain.runs;
        let rare = chain.rare as f64 / f64::from(FULL);
        found.rare += rare;
        found.gaps += chain.runs - 1;
        found.add_passage(chain.matched, rare, chain.differing);
        let run = RUN as u32;
        reach.add((chain.first.0, chain.last.0 + run), (chain.first.1, chain.last.1 + run));
    }
    // Overlapping chains may count a unit twice.
    let most = a.units;
    if found.matched > most {
        found.rare *= f64::from(most) / f64::from(found.matched);
        found.matched = most;
    }
    found.between = reach.between(found.matched);
    found.numbers = compare(&a.numbers, &b.numbers);
    found
}

fn chain(seeds: &[(u32, u32, u32)]) -> Vec<Chain> {
    let run = RUN as u32;
    let mut chains: Vec<Chain> = Vec::new();
    for &(i, j, weight) in seeds {
        let weight = u64::from(weight);
        let near = chains.iter_mut().rev().take(8).find(|chain| {
            let (x, y) = chain.last;
            i > x && j > y && i - x <= APART && j - y <= APART && (i - x).abs_diff(j - y) <= GAP as u32
        });
        match near {
            Some(chain) => {
                let (step_i, step_j) = (i - chain.last.0, j - chain.last.1);
                let (new, differing) = if step_i == step_j {
                    (step_i, 0)
                } else {
                    let new = step_i.min(step_j).min(run);
                    (new, step_i.max(step_j) - new)
                };
                chain.matched += new;
                chain.rare += u64::from(new) * weight;
                chain.differing += differing;
                chain.runs += u32::from(differing > 0);
                chain.last = (i, j);
            }
            None => chains.push(Chain {
                first: (i, j),
                last: (i, j),
                matched: run,
                rare: u64::from(run) * weight,
                differing: 0,
                runs: 1,
            }),
        }
    }
    chains
}

fn compare(a: &[u64], b: &[u64]) -> Numbers {
    let arabic = |numbers: &[u64]| -> Vec<u64> {
        numbers.iter().copied().filter(|number| number >> 32 != 0).collect()
    };
    let (arabic_only_a, arabic_only_b) = numbers::only(&arabic(a), &arabic(b));
    let (only_a, only_b) = numbers::only(a, b);
    // Where the numbers stand is not kept: none is known to stand inside a passage.
    Numbers { arabic_only_a, arabic_only_b, in_a: a.len() as u32, only_a, only_b, conflicts: 0 }
}
