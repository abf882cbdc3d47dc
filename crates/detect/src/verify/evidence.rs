//! What is known of a pair when it is judged.

use super::FULL;
use super::align::{FREE, Scratch};
use super::numbers::{self, Aligned, Numbers};
use super::reading::Reading;

/// What two texts share and what differs. `a` is the shorter one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Whether the first of the two that were given is `b`.
    pub swapped: bool,
    /// Whether all units are the same, in the same order.
    pub equal: bool,
    /// Units of the shorter text.
    pub a: u32,
    /// Units of the longer.
    pub b: u32,
    /// Units that are equal, one to one, in passages.
    pub matched: u32,
    /// The same, weighed by how rare they are.
    pub rare: f64,
    /// Runs of equal units.
    pub runs: u32,
    /// The best passage: what is rare of it less what differs in it.
    pub best: f64,
    /// All passages together that are not tiny, counted the same way.
    pub scattered: f64,
    /// What is rare in passages that are word for word the same and nowhere else: sentences taken over.
    pub verbatim: f64,
    /// Differences inside passages.
    pub gaps: u32,
    /// Units in these differences, the longer side of each.
    pub differing: u32,
    /// Units from the first passage to the last that are not shared, of the text that has fewer of them: what both have filled
    /// in between.
    pub between: u32,
    /// Numbers.
    pub numbers: Numbers,
}

/// Order in which a pair is looked at, so that it does not matter who asks.
fn is_before(x: &Reading, y: &Reading) -> bool {
    (x.units.len(), &x.units) <= (y.units.len(), &y.units)
}

/// Aligns two readings. `weights` belongs to the marks of `x`, the one that asks.
#[must_use]
pub fn evidence(x: &Reading, y: &Reading, weights: &[u32], scratch: &mut Scratch) -> Evidence {
    let swapped = !is_before(x, y);
    let (a, b) = if swapped { (y, x) } else { (x, y) };
    let (in_a, in_b) = (a.units.len() as u32, b.units.len() as u32);
    let mut found = Evidence { swapped, a: in_a, b: in_b, ..Evidence::default() };
    if a.units == b.units && !a.units.is_empty() {
        found.equal = true;
        (found.matched, found.rare, found.runs) = (in_a, f64::from(in_a), 1);
        scratch.passages.clear();
        return found;
    }
    let weight = |i: usize, j: usize| weights.get(if swapped { j } else { i }).copied().unwrap_or(FULL);
    scratch.align((&a.units, &b.units), (&a.marks, &b.marks), weight);
    weigh(scratch);
    let mut extent = Extent::default();
    for passage in &scratch.passages {
        found.matched += passage.matched;
        found.runs += 1 + passage.gaps;
        let rare = passage.rare as f64 / f64::from(FULL);
        found.rare += rare;
        found.gaps += passage.gaps;
        found.add_passage(passage.matched, rare, passage.differing);
        extent.add(passage.a, passage.b);
    }
    found.between = extent.between(found.matched);
    if found.matched > 0 {
        let Scratch { numbers: [numbers_a, numbers_b], partner_a, passage_of, .. } = scratch;
        numbers::find(&a.units, numbers_a);
        numbers::find(&b.units, numbers_b);
        let aligned = Aligned { partners: partner_a, passage_of };
        found.numbers = numbers::compare((&a.units, &b.units), (numbers_a, numbers_b), &aligned);
    }
    found
}

/// The least score of a passage that is worth adding to others.
const SCATTERED: f64 = 8.0;
/// Units of a passage that counts as taken over word for word, and the share of it that has to be rare.
const VERBATIM: u32 = 16;
const VERBATIM_RARE: f64 = 0.95;

impl Evidence {
    /// Counts a passage.
    pub(super) fn add_passage(&mut self, matched: u32, rare: f64, differing: u32) {
        let score = rare - f64::from(differing);
        self.differing += differing;
        self.best = self.best.max(score);
        if score >= SCATTERED {
            self.scattered += score;
        }
        if differing == 0 && matched >= VERBATIM && rare >= VERBATIM_RARE * f64::from(matched) {
            self.verbatim += rare;
        }
    }
}

/// Where passages lie in both texts: from where the first begins to where the last ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent(Option<[(u32, u32); 2]>);

impl Extent {
    pub(super) fn add(&mut self, a: (u32, u32), b: (u32, u32)) {
        let [old_a, old_b] = self.0.unwrap_or([a, b]);
        let both = |old: (u32, u32), new: (u32, u32)| (old.0.min(new.0), old.1.max(new.1));
        self.0 = Some([both(old_a, a), both(old_b, b)]);
    }

    /// What is not shared in it, of the text that has less.
    pub(super) fn between(self, matched: u32) -> u32 {
        let shorter = self.0.map(|places| places.map(|(from, to)| to - from)).into_iter().flatten().min();
        shorter.unwrap_or(0).saturating_sub(matched)
    }
}

/// A matched unit weighs what the last shared mark before it in its passage weighs, or else the first.
fn weigh(scratch: &mut Scratch) {
    let Scratch { seeds, partner_a, passage_of, weights, passages, .. } = scratch;
    const NONE: u32 = u32::MAX;
    weights.clear();
    weights.resize(passages.len(), NONE);
    for seed in &*seeds {
        let passage = passage_of[seed.a as usize];
        if passage != FREE && weights[passage as usize] == NONE {
            weights[passage as usize] = seed.weight;
        }
    }
    let mut next = seeds.iter().peekable();
    let mut at = 0;
    while at < passage_of.len() {
        while let Some(seed) = next.next_if(|seed| seed.a as usize <= at) {
            let own = passage_of[seed.a as usize];
            if own != FREE && partner_a[seed.a as usize] == seed.b {
                weights[own as usize] = seed.weight;
            }
        }
        // Up to the next seed nothing changes what a passage weighs.
        let end = next.peek().map_or(passage_of.len(), |seed| passage_of.len().min(seed.a as usize));
        for units in passage_of[at..end].chunk_by(|one, other| one == other) {
            if let Some(&weight) = weights.get(units[0] as usize).filter(|&&weight| weight != NONE) {
                passages[units[0] as usize].rare += u64::from(weight) * units.len() as u64;
            }
        }
        at = end;
    }
}
