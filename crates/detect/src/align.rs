//! Alignment: which passages two texts share, with edits inside them.
//!
//! Input: two sequences of units. Output: passages, one to one: no unit is in two of them. Every run of
//! [`seed`] equal units can start a passage; it grows both ways over equal units and jumps over differences of up
//! to [`GAP`] units a side where [`AGREE`] units agree again behind them. Long seeds are taken first, so that a
//! common phrase does not tear a long copy apart.

use crate::units::Unit;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

/// Equal units that start a passage in texts of this many units: six, fewer where the shorter text has hardly more.
#[must_use]
pub fn seed(shorter: usize) -> usize {
    (shorter / 4).clamp(2, 6)
}

/// Longest difference inside a passage, in units a side.
pub const GAP: usize = 8;
/// Units that must agree behind a difference.
const AGREE: usize = 3;
/// Places of one repeated seed that are tried: more would make repetitive texts quadratic.
const PLACES: usize = 16;
/// Runs are measured up to this length, for the same reason.
const LONGEST: usize = 1024;

/// A shared passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where it stands in the first sequence.
    pub a: Range<usize>,
    /// Where it stands in the second.
    pub b: Range<usize>,
    /// Units that are equal.
    pub matched: usize,
    /// Units that differ, the longer side of each difference.
    pub differing: usize,
    /// Stretches of equal units: one more than differences inside.
    pub runs: usize,
}

/// What two sequences share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// The passages in the order of the first sequence.
    pub passages: Vec<Passage>,
    /// For every unit of the first sequence, its partner in the second.
    pub partners: Vec<Option<u32>>,
}

impl Alignment {
    /// Units of either sequence that are matched.
    #[must_use]
    pub fn matched(&self) -> usize {
        self.passages.iter().map(|passage| passage.matched).sum()
    }
}

/// Aligns two sequences.
#[must_use]
pub fn align(a: &[Unit], b: &[Unit]) -> Alignment {
    let seed = seed(a.len().min(b.len()));
    let mut work = Work { a, b, partner_a: vec![None; a.len()], partner_b: vec![None; b.len()] };
    let mut passages = Vec::new();
    for (at_a, at_b) in seeds(a, b, seed) {
        if (0..seed).all(|i| work.free(at_a + i, at_b + i)) {
            passages.push(work.grow(at_a, at_b));
        }
    }
    passages.sort_by_key(|passage| (passage.a.start, passage.b.start));
    Alignment { passages, partners: work.partner_a }
}

/// Starts of maximal equal runs of at least `seed` units, longest first, then in reading order.
fn seeds(a: &[Unit], b: &[Unit], seed: usize) -> Vec<(usize, usize)> {
    // Only looked up, never walked, so the order of the table cannot show; fixed seeds all the same.
    let mut places: HashMap<&[Unit], Vec<u32>, BuildHasherDefault<UnitHasher>> = HashMap::default();
    for (at, window) in b.windows(seed).enumerate() {
        let list = places.entry(window).or_default();
        if list.len() < PLACES {
            list.push(at as u32);
        }
    }
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (at_a, window) in a.windows(seed).enumerate() {
        for &at_b in places.get(window).map_or(&[][..], Vec::as_slice) {
            let at_b = at_b as usize;
            let inside_a_longer_run = at_a > 0 && at_b > 0 && a[at_a - 1] == b[at_b - 1];
            if !inside_a_longer_run {
                let pairs = a[at_a..].iter().zip(&b[at_b..]).take(LONGEST);
                let length = pairs.take_while(|(x, y)| x == y).count();
                found.push((length, at_a, at_b));
            }
        }
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then(x.1.cmp(&y.1)).then(x.2.cmp(&y.2)));
    // A long run that overlaps a taken passage still has free parts: offer its later seeds too, after all others.
    let later = found.iter().flat_map(|&(length, at_a, at_b)| {
        (seed..=length.saturating_sub(seed)).step_by(seed).map(move |skip| (at_a + skip, at_b + skip))
    });
    let first = found.iter().map(|&(_, at_a, at_b)| (at_a, at_b));
    first.chain(later).collect()
}

struct Work<'s> {
    a: &'s [Unit],
    b: &'s [Unit],
    partner_a: Vec<Option<u32>>,
    partner_b: Vec<Option<u32>>,
}

impl Work<'_> {
    fn free(&self, at_a: usize, at_b: usize) -> bool {
        self.partner_a[at_a].is_none() && self.partner_b[at_b].is_none()
    }

    fn pair(&mut self, at_a: usize, at_b: usize) {
        self.partner_a[at_a] = Some(at_b as u32);
        self.partner_b[at_b] = Some(at_a as u32);
    }

    /// The passage around a seed.
    fn grow(&mut self, at_a: usize, at_b: usize) -> Passage {
        let mut passage = Passage { a: at_a..at_a, b: at_b..at_b, matched: 0, differing: 0, runs: 1 };
        loop {
            while passage.a.end < self.a.len()
                && passage.b.end < self.b.len()
                && self.a[passage.a.end] == self.b[passage.b.end]
                && self.free(passage.a.end, passage.b.end)
            {
                self.pair(passage.a.end, passage.b.end);
                passage.a.end += 1;
                passage.b.end += 1;
                passage.matched += 1;
            }
            let (rest_a, rest_b) = (
                self.free_run_after(&passage.a, &self.partner_a),
                self.free_run_after(&passage.b, &self.partner_b),
            );
            let (rest_a, rest_b) = (&self.a[passage.a.end..rest_a], &self.b[passage.b.end..rest_b]);
            let Some((skip_a, skip_b)) = jump(rest_a.len(), rest_b.len(), |i, j| rest_a[i] == rest_b[j])
            else {
                break;
            };
            passage.a.end += skip_a;
            passage.b.end += skip_b;
            passage.differing += skip_a.max(skip_b);
            passage.runs += 1;
        }
        loop {
            while passage.a.start > 0
                && passage.b.start > 0
                && self.a[passage.a.start - 1] == self.b[passage.b.start - 1]
                && self.free(passage.a.start - 1, passage.b.start - 1)
            {
                passage.a.start -= 1;
                passage.b.start -= 1;
                self.pair(passage.a.start, passage.b.start);
                passage.matched += 1;
            }
            let (from_a, from_b) = (
                self.free_run_before(&passage.a, &self.partner_a),
                self.free_run_before(&passage.b, &self.partner_b),
            );
            let (rest_a, rest_b) = (&self.a[from_a..passage.a.start], &self.b[from_b..passage.b.start]);
            let (last_a, last_b) = (rest_a.len(), rest_b.len());
            let Some((skip_a, skip_b)) =
                jump(last_a, last_b, |i, j| rest_a[last_a - 1 - i] == rest_b[last_b - 1 - j])
            else {
                break;
            };
            passage.a.start -= skip_a;
            passage.b.start -= skip_b;
            passage.differing += skip_a.max(skip_b);
            passage.runs += 1;
        }
        passage
    }

    /// The end of the unmatched units behind a passage, as far as a jump can reach.
    fn free_run_after(&self, range: &Range<usize>, partners: &[Option<u32>]) -> usize {
        let reach = (range.end + GAP + AGREE).min(partners.len());
        (range.end..reach).find(|&i| partners[i].is_some()).unwrap_or(reach)
    }

    /// The start of the unmatched units before a passage, as far as a jump can reach.
    fn free_run_before(&self, range: &Range<usize>, partners: &[Option<u32>]) -> usize {
        let reach = range.start.saturating_sub(GAP + AGREE);
        (reach..range.start).rev().find(|&i| partners[i].is_some()).map_or(reach, |i| i + 1)
    }
}

/// The smallest difference to jump over, balanced ones first: how many units to skip on either side so that
/// [`AGREE`] units agree behind them.
fn jump(len_a: usize, len_b: usize, equal: impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
    (1..=2 * GAP).find_map(|total| {
        let skips = total.saturating_sub(GAP)..=total.min(GAP);
        let fits = skips.filter(|&skip_a| {
            let skip_b = total - skip_a;
            skip_a + AGREE <= len_a
                && skip_b + AGREE <= len_b
                && (0..AGREE).all(|i| equal(skip_a + i, skip_b + i))
        });
        fits.min_by_key(|&skip_a| skip_a.abs_diff(total - skip_a)).map(|skip_a| (skip_a, total - skip_a))
    })
}

/// A small multiplicative hash with a fixed start.
#[derive(Default)]
struct UnitHasher(u64);

impl std::hash::Hasher for UnitHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::units;
    use proptest::prelude::*;

    fn aligned(a: &str, b: &str) -> Alignment {
        align(&units(a).units, &units(b).units)
    }

    #[test]
    fn one_edit_does_not_cut_a_passage() {
        let found = aligned("如有雷同纯属巧合请勿对号入座", "如有雷同纯属虚构请勿对号入座");
        assert_eq!(found.passages.len(), 1);
        let passage = &found.passages[0];
        assert_eq!((passage.a.clone(), passage.b.clone()), (0..14, 0..14));
        assert_eq!((passage.matched, passage.differing, passage.runs), (12, 2, 2));
    }

    #[test]
    fn moved_paragraphs_are_two_passages() {
        let (first, second) = ("春眠不觉晓处处闻啼鸟夜来风雨声", "白日依山尽黄河入海流欲穷千里目");
        let found = aligned(&format!("{first}。{second}"), &format!("{second}。{first}"));
        let places: Vec<_> = found.passages.iter().map(|p| (p.a.clone(), p.b.clone())).collect();
        assert_eq!(places, [(0..15, 15..30), (15..30, 0..15)]);
    }

    #[test]
    fn unrelated_texts_share_nothing() {
        assert!(aligned("春眠不觉晓处处闻啼鸟", "白日依山尽黄河入海流").passages.is_empty());
        assert!(aligned("", "白日依山尽").passages.is_empty());
    }

    #[test]
    fn repetitive_texts_end_soon() {
        let a = "哈".repeat(20_000);
        let found = aligned(&a, &"哈".repeat(10_000));
        assert_eq!(found.matched(), 10_000);
    }

    proptest! {
        #[test]
        fn passages_are_one_to_one_and_true(a in "[ab雷同]{0,60}", b in "[ab雷同]{0,60}") {
            let (ua, ub) = (units(&a).units, units(&b).units);
            let found = align(&ua, &ub);
            let mut taken = vec![false; ub.len()];
            for (i, partner) in found.partners.iter().enumerate() {
                if let Some(j) = partner {
                    let j = *j as usize;
                    prop_assert_eq!(ua[i], ub[j]);
                    prop_assert!(!std::mem::replace(&mut taken[j], true));
                }
            }
            prop_assert_eq!(found.matched(), taken.iter().filter(|t| **t).count());
            for passage in &found.passages {
                prop_assert!(passage.matched >= 2 && passage.a.len() >= passage.matched);
            }
        }

        #[test]
        fn a_text_is_wholly_its_own(a in "[ab雷同]{6,60}") {
            let units = units(&a).units;
            if units.len() >= 2 {
                prop_assert_eq!(align(&units, &units).matched(), units.len());
            }
        }
    }
}
