//! Which passages two texts share, with edits inside them.
//!
//! Shared marks are seeds. A seed grows both ways over equal units and jumps over differences of up to [`GAP`] units a side
//! where [`AGREE`] units agree again behind them. One to one: no unit is in two passages.

use super::reading::sort;
use leitong_fingerprint::marks::{self, Mark};
use leitong_text::units::Unit;
use std::cmp::Reverse;

/// Longest difference inside a passage, in units of either side.
pub(super) const GAP: usize = 8;
/// Units that have to agree behind a difference.
const AGREE: usize = 3;
/// A mark that repeats in both texts seeds all its combinations up to this many, and beyond that the n-th with the n-th.
const COMBINATIONS: usize = 9;
/// Units of a text that is aligned by runs shorter than marks, and of the longest text beside it.
const POST: usize = 64;
const LONGEST_BESIDE: usize = 512;
/// Marks of long texts are sparse. Where they align from one tenth to nine tenths of the shorter text, the rest is aligned by as many
/// marks as shorter texts have.
const DENSE: usize = 8;
const SOME_TENTHS: usize = 1;
const MOST_TENTHS: usize = 9;
/// No partner.
pub(super) const FREE: u32 = u32::MAX;

/// A passage that both texts have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// Its units in the first text, from and to.
    pub a: (u32, u32),
    /// Its units in the second.
    pub b: (u32, u32),
    /// Units that are equal.
    pub matched: u32,
    /// Units that differ, the longer side of each difference.
    pub differing: u32,
    /// Differences.
    pub gaps: u32,
    /// The sum of the weights of the equal units.
    pub rare: u64,
}

/// Where two texts begin to agree: a shared mark, or a run of units that was looked for because marks are few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed {
    pub(super) a: u32,
    pub(super) b: u32,
    /// The place of the mark among those of the text that asks; nothing for a run.
    pub(super) mark: Option<u32>,
}

/// Working memory, and the alignment that was made last.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) seeds: Vec<Seed>,
    /// The partner of every unit of the first text.
    pub(super) partner_a: Vec<u32>,
    partner_b: Vec<u32>,
    /// The passage of every unit of the first text.
    pub(super) passage_of: Vec<u32>,
    /// The last seed of every passage, when it is weighed.
    pub(super) last_seeds: Vec<u32>,
    pub(super) numbers: [Vec<super::numbers::Number>; 2],
    room: marks::Room,
    dense: [Vec<Mark>; 2],
    /// The passages found.
    pub passages: Vec<Passage>,
}

impl Scratch {
    /// The unit of the second text that a unit of the first is aligned with.
    #[must_use]
    pub fn partner(&self, unit: usize) -> Option<usize> {
        self.partner_a.get(unit).filter(|&&partner| partner != FREE).map(|&partner| partner as usize)
    }

    /// Aligns two texts. `mark` chooses from the places of a mark among those of the first and of the second.
    pub(super) fn align(
        &mut self,
        (a, b): (&[Unit], &[Unit]),
        (marks_a, marks_b): (&[Mark], &[Mark]),
        mark: impl Fn(usize, usize) -> usize,
    ) {
        self.passages.clear();
        self.seeds.clear();
        shared(marks_a, marks_b, |i, j| {
            let mark = Some(mark(i, j) as u32);
            self.seeds.push(Seed { a: marks_a[i].at, b: marks_b[j].at, mark });
        });
        for (list, length) in [(&mut self.partner_a, a.len()), (&mut self.partner_b, b.len())] {
            list.clear();
            list.resize(length, FREE);
        }
        self.passage_of.clear();
        self.passage_of.resize(a.len(), FREE);
        self.seeds.sort_unstable_by_key(|seed| (seed.a, seed.b));
        for at in 0..self.seeds.len() {
            let Seed { a: i, b: j, .. } = self.seeds[at];
            let (i, j) = (i as usize, j as usize);
            // Equal hashes of different runs are rare, but happen.
            if self.free(i, j) && a[i] == b[j] {
                self.grow(a, b, i, j);
            }
        }
        if a.len() <= POST && b.len() <= LONGEST_BESIDE {
            self.align_short(a, b);
        } else if marks::window(b.len()) > DENSE {
            self.align_rest(a, b);
        }
    }

    /// Aligns what sparse marks have left over.
    fn align_rest(&mut self, a: &[Unit], b: &[Unit]) {
        let matched: usize = self.passages.iter().map(|passage| passage.matched as usize).sum();
        if !(SOME_TENTHS * a.len()..MOST_TENTHS * a.len()).contains(&(10 * matched)) {
            return;
        }
        let mut dense = std::mem::take(&mut self.dense);
        for (units, marks) in [a, b].into_iter().zip(&mut dense) {
            marks::choose_from(units.iter().map(|unit| unit.value()), DENSE, &mut self.room, marks);
            sort(marks);
        }
        let mut more = Vec::new();
        shared(&dense[0], &dense[1], |i, j| {
            more.push(Seed { a: dense[0][i].at, b: dense[1][j].at, mark: None });
        });
        self.dense = dense;
        more.sort_unstable_by_key(|seed| (seed.a, seed.b));
        for seed in more {
            let (i, j) = (seed.a as usize, seed.b as usize);
            if self.free(i, j) && a[i] == b[j] {
                self.grow(a, b, i, j);
                self.seeds.push(seed);
            }
        }
        self.seeds.sort_unstable_by_key(|seed| (seed.a, seed.b));
    }

    /// Short texts have few marks: what they leave is aligned by shorter runs too, the longest first.
    fn align_short(&mut self, a: &[Unit], b: &[Unit]) {
        let least = (a.len() / 4).clamp(2, 6);
        let mut runs: Vec<(Reverse<usize>, usize, usize)> = Vec::new();
        for i in 0..a.len() {
            for j in (0..b.len()).filter(|&j| a[i] == b[j] && self.free(i, j)) {
                let begins = i == 0 || j == 0 || a[i - 1] != b[j - 1] || !self.free(i - 1, j - 1);
                let length = a[i..].iter().zip(&b[j..]).take_while(|(x, y)| x == y).count();
                if begins && length >= least {
                    runs.push((Reverse(length), i, j));
                }
            }
        }
        runs.sort_unstable();
        for (_, i, j) in runs {
            if (0..least).all(|step| self.free(i + step, j + step)) {
                self.grow(a, b, i, j);
                self.seeds.push(Seed { a: i as u32, b: j as u32, mark: None });
            }
        }
        self.seeds.sort_unstable_by_key(|seed| (seed.a, seed.b));
    }

    fn grow(&mut self, a: &[Unit], b: &[Unit], i: usize, j: usize) {
        let (a_at, b_at) = ((i as u32, i as u32), (j as u32, j as u32));
        let mut passage = Passage { a: a_at, b: b_at, ..Passage::default() };
        self.grow_right(a, b, (i, j), &mut passage);
        self.grow_left(a, b, (i, j), &mut passage);
        self.passages.push(passage);
    }

    fn free(&self, i: usize, j: usize) -> bool {
        self.partner_a[i] == FREE && self.partner_b[j] == FREE
    }

    /// Makes units partners, from `i` and `j` on, so many.
    fn pair(&mut self, i: usize, j: usize, count: usize, passage: &mut Passage) {
        self.partner_a[i..i + count].iter_mut().zip(j as u32..).for_each(|(partner, j)| *partner = j);
        self.partner_b[j..j + count].iter_mut().zip(i as u32..).for_each(|(partner, i)| *partner = i);
        self.passage_of[i..i + count].fill(self.passages.len() as u32);
        passage.matched += count as u32;
    }

    /// How many units from here on are equal and have no partners.
    fn equal_from(&self, a: &[Unit], b: &[Unit], i: usize, j: usize) -> usize {
        let units = a[i..].iter().zip(&b[j..]);
        let partners = self.partner_a[i..].iter().zip(&self.partner_b[j..]);
        // Free is all bits set: one comparison tells it of both.
        units.zip(partners).take_while(|((x, y), (p, q))| x == y && **p & **q == FREE).count()
    }

    /// How many units before these are equal and have no partners.
    fn equal_before(&self, a: &[Unit], b: &[Unit], i: usize, j: usize) -> usize {
        let units = a[..i].iter().rev().zip(b[..j].iter().rev());
        let partners = self.partner_a[..i].iter().rev().zip(self.partner_b[..j].iter().rev());
        units.zip(partners).take_while(|((x, y), (p, q))| x == y && **p & **q == FREE).count()
    }

    fn grow_right(&mut self, a: &[Unit], b: &[Unit], from: (usize, usize), passage: &mut Passage) {
        let (mut i, mut j) = from;
        loop {
            let count = self.equal_from(a, b, i, j);
            self.pair(i, j, count, passage);
            (i, j) = (i + count, j + count);
            (passage.a.1, passage.b.1) = (i as u32, j as u32);
            if i >= a.len() || j >= b.len() || !self.free(i, j) {
                return;
            }
            let (rest_a, rest_b) = (&a[i..], &b[j..]);
            let equal = |x: usize, y: usize| rest_a[x] == rest_b[y];
            let Some((x, y)) = jump(rest_a.len(), rest_b.len(), equal) else { return };
            passage.bridge(x, y);
            (i, j) = (i + x, j + y);
        }
    }

    fn grow_left(&mut self, a: &[Unit], b: &[Unit], from: (usize, usize), passage: &mut Passage) {
        let (mut i, mut j) = from;
        loop {
            let count = self.equal_before(a, b, i, j);
            (i, j) = (i - count, j - count);
            self.pair(i, j, count, passage);
            (passage.a.0, passage.b.0) = (i as u32, j as u32);
            if i == 0 || j == 0 || !self.free(i - 1, j - 1) {
                return;
            }
            let equal = |x: usize, y: usize| a[i - 1 - x] == b[j - 1 - y];
            let Some((x, y)) = jump(i, j, equal) else { return };
            passage.bridge(x, y);
            (i, j) = (i - x, j - y);
        }
    }
}

impl Passage {
    fn bridge(&mut self, x: usize, y: usize) {
        self.differing += x.max(y) as u32;
        self.gaps += 1;
    }
}

/// Calls `each` with the places of marks that both have.
pub(super) fn shared(a: &[Mark], b: &[Mark], mut each: impl FnMut(usize, usize)) {
    let end = |marks: &[Mark], from: usize| {
        from + marks[from..].iter().take_while(|mark| mark.hash == marks[from].hash).count()
    };
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].hash.cmp(&b[j].hash) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                let (end_i, end_j) = (end(a, i), end(b, j));
                if (end_i - i) * (end_j - j) <= COMBINATIONS {
                    (i..end_i).for_each(|i| (j..end_j).for_each(|j| each(i, j)));
                } else {
                    (i..end_i).zip(j..end_j).for_each(|(i, j)| each(i, j));
                }
                (i, j) = (end_i, end_j);
            }
        }
    }
}

/// The smallest difference to jump over, balanced ones first: how many units to skip on either side.
#[inline]
fn jump(len_a: usize, len_b: usize, equal: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
    for total in 1..=2 * GAP {
        let (least, most) = (total.saturating_sub(GAP), total.min(GAP));
        for step in 0..=total {
            // From the middle outwards.
            let half = step.div_ceil(2);
            let x = if step % 2 == 0 { total / 2 + half } else { (total / 2).wrapping_sub(half) };
            if x < least || x > most {
                continue;
            }
            let y = total - x;
            if x + AGREE <= len_a && y + AGREE <= len_b && (0..AGREE).all(|i| equal(x + i, y + i)) {
                return Some((x, y));
            }
        }
    }
    None
}
