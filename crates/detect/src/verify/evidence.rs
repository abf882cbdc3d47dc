//! What is known of a pair when it is judged.

use super::FULL;
use super::align::{FREE, Passage, Scratch};
use super::numbers::{self, Aligned, Numbers};
use super::reading::Reading;
use leitong_fingerprint::marks::Mark;

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
    scratch.align((&a.units, &b.units), (&a.marks, &b.marks), |i, j| if swapped { j } else { i });
    let mut reach = Reach::default();
    for passage in &scratch.passages {
        found.matched += passage.matched;
        found.runs += 1 + passage.gaps;
        found.gaps += passage.gaps;
        reach.add(passage.a, passage.b);
    }
    found.between = reach.between(found.matched);
    if found.matched > 0 {
        let Scratch { numbers: [numbers_a, numbers_b], partner_a, passage_of, .. } = scratch;
        numbers::find(&a.units, numbers_a);
        numbers::find(&b.units, numbers_b);
        let aligned = Aligned { partners: partner_a, passage_of };
        found.numbers = numbers::compare((&a.units, &b.units), (numbers_a, numbers_b), &aligned);
    }
    found.weighed(weights, scratch)
}

/// The least score of a passage that is worth adding to others.
const SCATTERED: f64 = 8.0;
/// Units of a passage that counts as taken over word for word, and the share of it that has to be rare.
const VERBATIM: u32 = 16;
const VERBATIM_RARE: f64 = 0.95;

impl Evidence {
    /// The same two texts with marks of other weights, right after they were aligned.
    #[must_use]
    pub fn weighed(self, weights: &[u32], scratch: &mut Scratch) -> Self {
        weigh(scratch, weights);
        let passages = scratch.passages.iter();
        self.with(passages.map(|passage| (passage.rare, passage.matched, passage.differing)))
    }

    /// The same, from what was kept of the alignment. `weight` tells what a mark weighs by its hash.
    #[must_use]
    pub fn weighed_again(self, kept: &Kept, weight: impl Fn(u32) -> u32) -> Self {
        let full = |&(matched, _): &(u32, u32)| u64::from(matched) * u64::from(FULL);
        let mut rare: Vec<u64> = kept.passages.iter().map(full).collect();
        for light in &kept.light {
            rare[light.passage as usize] -= u64::from(light.units) * u64::from(FULL - weight(light.mark));
        }
        let passages = rare.into_iter().zip(&kept.passages);
        self.with(passages.map(|(rare, &(matched, differing))| (rare, matched, differing)))
    }

    /// The same with passages of which so much is rare, so much is equal and so much differs.
    fn with(self, passages: impl Iterator<Item = (u64, u32, u32)>) -> Self {
        if self.equal {
            return self;
        }
        let (rare, best, scattered, verbatim, differing) = (0.0, 0.0, 0.0, 0.0, 0);
        let mut found = Self { rare, best, scattered, verbatim, differing, ..self };
        for (rare, matched, differing) in passages {
            let rare = rare as f64 / f64::from(FULL);
            found.rare += rare;
            found.add_passage(matched, rare, differing);
        }
        found
    }

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
pub(super) struct Reach(Option<[(u32, u32); 2]>);

impl Reach {
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

/// Gives every passage the sum of what its units weigh.
fn weigh(scratch: &mut Scratch, marks: &[u32]) {
    if marks.is_empty() {
        let all = |passage: &mut Passage| passage.rare = u64::from(FULL) * u64::from(passage.matched);
        return scratch.passages.iter_mut().for_each(all);
    }
    let of_mark = |mark: u32| marks.get(mark as usize).copied().unwrap_or(FULL);
    let known = scratch.seeds.iter().filter_map(|seed| seed.mark);
    let (sum, count) =
        known.fold((0_u64, 0), |(sum, count), mark| (sum + u64::from(of_mark(mark)), count + 1));
    // What is no mark weighs what the marks do, on average.
    let mean = sum.checked_div(count).map_or(FULL, |mean| mean as u32);
    let mut passages = std::mem::take(&mut scratch.passages);
    passages.iter_mut().for_each(|passage| passage.rare = 0);
    each_stretch(scratch, passages.len(), |mark, passage, units| {
        passages[passage].rare += u64::from(units) * u64::from(mark.map_or(mean, of_mark));
    });
    scratch.passages = passages;
}

/// Calls `each` with a mark, a passage and how many of its units weigh what the mark weighs: a matched unit weighs what the last
/// seed before it in its passage weighs, or else the first.
fn each_stretch(scratch: &mut Scratch, passages: usize, mut each: impl FnMut(Option<u32>, usize, u32)) {
    let Scratch { seeds, partner_a, passage_of, last_seeds, .. } = scratch;
    const NONE: u32 = u32::MAX;
    last_seeds.clear();
    last_seeds.resize(passages, NONE);
    for (nth, seed) in (0..).zip(&*seeds) {
        let passage = passage_of[seed.a as usize];
        if passage != FREE && last_seeds[passage as usize] == NONE {
            last_seeds[passage as usize] = nth;
        }
    }
    let mut next = (0..).zip(&*seeds).peekable();
    let mut at = 0;
    while at < passage_of.len() {
        while let Some((nth, seed)) = next.next_if(|(_, seed)| seed.a as usize <= at) {
            let own = passage_of[seed.a as usize];
            if own != FREE && partner_a[seed.a as usize] == seed.b {
                last_seeds[own as usize] = nth;
            }
        }
        // Up to the next seed nothing changes what a passage weighs.
        let end = next.peek().map_or(passage_of.len(), |(_, seed)| passage_of.len().min(seed.a as usize));
        for units in passage_of[at..end].chunk_by(|one, other| one == other) {
            if let Some(&seed) = last_seeds.get(units[0] as usize).filter(|&&seed| seed != NONE) {
                each(seeds[seed as usize].mark, units[0] as usize, units.len() as u32);
            }
        }
        at = end;
    }
}

/// What is kept of an alignment so that it can be weighed without the texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// Equal and differing units of every passage.
    passages: Box<[(u32, u32)]>,
    light: Box<[Light]>,
}

/// Units of a passage that weigh what a mark weighs that may not weigh fully.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Light {
    mark: u32,
    passage: u32,
    units: u32,
}

impl Kept {
    /// What is kept of the alignment made last, in which a text with these marks asked and no mark will weigh less than `least` says;
    /// nothing where the text was aligned by more than its marks.
    pub fn of(scratch: &mut Scratch, marks: &[Mark], least: &[u32]) -> Option<Self> {
        let passages = scratch.passages.iter().map(|passage| (passage.matched, passage.differing)).collect();
        if least.is_empty() {
            return Some(Self { passages, light: Box::default() });
        }
        let mut light: Vec<Light> = Vec::new();
        let mut only_marks = true;
        each_stretch(scratch, scratch.passages.len(), |mark, passage, units| match mark {
            None => only_marks = false,
            Some(mark) if least[mark as usize] < FULL => {
                light.push(Light { mark: marks[mark as usize].hash, passage: passage as u32, units });
            }
            Some(_) => {}
        });
        only_marks.then(|| Self { passages, light: light.into() })
    }

    /// Bytes of memory.
    pub fn size(&self) -> usize {
        size_of_val(&*self.passages) + size_of_val(&*self.light)
    }
}
