//! Which bits must agree: the passes of a join, and what they would cost.
//!
//! A *mask* is a set of bits; values that agree in all of them are compared. The masks of a plan together miss no pair
//! within `k` bits. Masks that begin with the same bits form a *pass*: the values are laid into parts by those bits
//! once, and then sorted inside each part by the rest of every mask.
//!
//! Two families of masks:
//! - **ring**: `k + 1` blocks in a circle. With at most `k` errors some block has none and the next at most one
//!   (the pigeonring principle for chains of length two), so one half of the next has none either.
//! - **choice**: `c` blocks, of which `c - k` must agree: all choices of that many.
//!
//! And the trivial one, a single mask without bits: compare everything. It wins for small batches.

use crate::machine::scatter::{Run, keys};
use crate::{Level, Value};

/// At most this many bits of a mask are sorted by inside a part: the counters fit the first-level cache.
pub(super) const SORT_BITS: u32 = 14;

/// Runs of bits longer than this are cut: parts and sorting together use no more.
const RUN_BITS: u32 = 32;

/// Plans with more masks than this are not considered: recognising the first mask of a pair would take too long.
const MOST_MASKS: usize = 700;

/// Some runs of bits of a value read as one number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    runs: Vec<Run>,
}

impl Key {
    /// The runs in this order, adjoining ones made one, nothing left of empty ones.
    fn new(runs: impl IntoIterator<Item = Run>, width: u32) -> Self {
        let mut key = Self::default();
        for run in runs.into_iter().filter(|run| run.bits > 0) {
            match key.runs.last_mut() {
                Some(last)
                    if (last.start + last.bits) % width == run.start && last.bits + run.bits <= RUN_BITS =>
                {
                    last.bits += run.bits;
                }
                _ => key.runs.push(run),
            }
        }
        key
    }

    /// How many bits.
    pub(super) fn bits(&self) -> u32 {
        self.runs.iter().map(|run| run.bits).sum()
    }

    /// Writes the keys of all values, each to its place.
    #[inline]
    pub(super) fn read<V: Value>(&self, level: Level, values: &[V], into: &mut [u32]) {
        keys(level, &self.runs, values, into);
    }

    /// The first `bits` bits of it, and the others.
    fn split(&self, mut bits: u32, width: u32) -> (Self, Self) {
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        for run in &self.runs {
            let taken = run.bits.min(bits);
            bits -= taken;
            head.push(Run { start: run.start, bits: taken });
            tail.push(Run { start: (run.start + taken) % width, bits: run.bits - taken });
        }
        (Self::new(head, width), Self::new(tail, width))
    }

    /// The bits set, all others not.
    fn mask<V: Value>(&self) -> V {
        self.runs.iter().fold(V::ZERO, |mask, run| {
            mask.xor(V::from_top(u64::MAX >> (64 - run.bits), run.bits).rotate_right(run.start))
        })
    }
}

/// One set of bits that must agree.
#[derive(Clone, Debug)]
pub(super) struct Mask<V> {
    /// All its bits.
    pub(super) bits: V,
    /// Those the parts of its pass do not settle.
    rest: Key,
}

impl<V: Value> Mask<V> {
    /// What to sort a part of `len` values by: about as many keys as values.
    pub(super) fn sort_key(&self, len: usize) -> Key {
        let bits = (usize::BITS - len.leading_zeros()).clamp(4, SORT_BITS);
        self.rest.split(bits, V::WIDTH).0
    }
}

/// Masks that begin with the same bits.
#[derive(Clone, Debug)]
pub(super) struct Pass<V> {
    /// The bits that name the part a value belongs to.
    pub(super) part: Key,
    /// They as a mask.
    pub(super) part_bits: V,
    pub(super) masks: Vec<Mask<V>>,
}

impl<V: Value> Pass<V> {
    /// How many parts.
    pub(super) fn parts(&self) -> usize {
        1 << self.part.bits()
    }

    /// What sorting by `key` inside a part brings together: values that agree in these bits.
    pub(super) fn together(&self, key: &Key) -> V {
        self.part_bits.xor(key.mask())
    }
}

/// The passes of a join.
#[derive(Clone, Debug)]
pub(super) struct Plan<V> {
    pub(super) passes: Vec<Pass<V>>,
}

/// What decides about a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// How many values.
    pub(super) len: usize,
    pub(super) k: u32,
    pub(super) threads: usize,
    /// The largest part that fits into memory, in values.
    pub(super) largest: usize,
}

/// Masks by the runs they are made of, those of a pass together: what a plan is before its parts are chosen.
type Family = Vec<Vec<Vec<Run>>>;

impl<V: Value> Plan<V> {
    /// The cheapest plan.
    pub(super) fn new(demand: Demand) -> Self {
        let mut best = (f64::INFINITY, Self { passes: Vec::new() });
        for family in families(V::WIDTH, demand.k) {
            let plan = Self::of(&family, demand.len);
            let cost = plan.cost(demand);
            // the first one stands in any case
            if cost < best.0 || best.1.passes.is_empty() {
                best = (cost, plan);
            }
        }
        best.1
    }

    /// All plans that are weighed against each other, as for `len` values.
    #[cfg(test)]
    pub(super) fn all(k: u32, len: usize) -> impl Iterator<Item = Self> {
        families(V::WIDTH, k).into_iter().map(move |family| Self::of(&family, len))
    }

    fn of(family: &Family, len: usize) -> Self {
        let passes = family.iter().map(|masks| {
            let common = masks[0]
                .iter()
                .enumerate()
                .take_while(|(i, run)| masks.iter().all(|mask| mask.get(*i) == Some(*run)));
            let shared: u32 = common.map(|(_, run)| run.bits).sum();
            let part_bits = part_bits(len).min(shared);
            let keys: Vec<_> = masks.iter().map(|runs| Key::new(runs.iter().copied(), V::WIDTH)).collect();
            let part = keys[0].split(part_bits, V::WIDTH).0;
            let masks =
                keys.iter().map(|key| Mask { bits: key.mask(), rest: key.split(part_bits, V::WIDTH).1 });
            Pass { part_bits: part.mask(), part, masks: masks.collect() }
        });
        Self { passes: passes.collect() }
    }

    /// About the nanoseconds per value: laying into parts, sorting, comparing. Only the order of plans matters.
    fn cost(&self, demand: Demand) -> f64 {
        let len = demand.len as f64;
        // comparisons a nanosecond
        let rate = (512.0 / f64::from(V::WIDTH)).max(0.5);
        let mut cost = 0.0;
        for pass in &self.passes {
            let parts = pass.parts() as f64;
            let workers = parts.min(demand.threads as f64);
            if len / parts > demand.largest as f64 {
                return f64::INFINITY;
            }
            // inside the second-level cache, or far outside
            let sorting = if len / parts * (size_of::<V>() as f64) < 1e6 { 5.0 } else { 12.0 };
            let masks: f64 = pass
                .masks
                .iter()
                .map(|mask| {
                    let bits = pass.part.bits() + mask.rest.bits().min(SORT_BITS);
                    sorting + 1.0 + len / 2.0 / f64::from(bits).exp2() / rate
                })
                .sum();
            cost += 5.0 / demand.threads as f64 + masks / workers;
        }
        cost
    }
}

/// By how many bits to lay `len` values into parts: a part and its sorted copy fit the second-level cache.
fn part_bits(len: usize) -> u32 {
    let small = len.checked_ilog2().unwrap_or(0).saturating_sub(10).min(8);
    (len / 30_000).checked_ilog2().unwrap_or(0).clamp(small, 13)
}

fn families(width: u32, k: u32) -> Vec<Family> {
    let everything = vec![vec![Vec::new()]];
    if k >= width {
        return vec![everything];
    }
    let mut families = vec![ring(width, k, 0), ring(width, k, 1), ring(width, k, 2), everything];
    for blocks in k + 2..=(k + 8).min(width) {
        for shared in 1..=2.min(blocks - k) {
            families.extend(choice(width, k, blocks, shared));
        }
    }
    families
}

/// The borders of `count` blocks of about equal size.
fn block(width: u32, count: u32, index: u32) -> Run {
    let (start, end) = (width * index / count, width * (index + 1) / count);
    Run { start, bits: (end - start).min(RUN_BITS) }
}

/// One pass for each of `k + 1` blocks; with `share` 1 or 2, the first 4 bits or all of either half of the next block
/// come in too.
fn ring(width: u32, k: u32, share: u32) -> Family {
    let count = k + 1;
    (0..count)
        .map(|i| {
            let (exact, next) = (block(width, count, i), block(width, count, (i + 1) % count));
            if share == 0 || count == 1 || next.bits < 2 {
                return vec![vec![exact]];
            }
            let half = next.bits / 2;
            let most = if share == 1 { 4 } else { RUN_BITS };
            let halves = [(0, half), (half, next.bits - half)];
            halves
                .map(|(from, bits)| vec![exact, Run { start: next.start + from, bits: bits.min(most) }])
                .to_vec()
        })
        .collect()
}

/// All choices of `blocks - k` of the blocks; those that begin with the same `shared` blocks form a pass.
fn choice(width: u32, k: u32, blocks: u32, shared: u32) -> Option<Family> {
    let take = blocks.checked_sub(k).filter(|&take| take >= shared)?;
    let count = (1..=u64::from(k)).fold(1_u64, |count, i| count * (u64::from(take) + i) / i);
    if count > MOST_MASKS as u64 {
        return None;
    }
    let mut chosen: Vec<u32> = (0..take).collect();
    let mut family: Family = Vec::new();
    let mut before = None;
    loop {
        let runs = chosen.iter().map(|&i| block(width, blocks, i)).collect();
        let head = chosen[..shared as usize].to_vec();
        match family.last_mut() {
            Some(masks) if before.as_ref() == Some(&head) => masks.push(runs),
            _ => family.push(vec![runs]),
        }
        before = Some(head);
        // the next choice in lexical order
        let Some(i) = (0..take).rev().find(|&i| chosen[i as usize] < blocks - take + i) else {
            return Some(family);
        };
        chosen[i as usize] += 1;
        for j in i + 1..take {
            chosen[j as usize] = chosen[j as usize - 1] + 1;
        }
    }
}
