//! Alignment: which passages two texts share, with edits inside them.
//!
//! Input: two sequences of units. Output: passages, one to one: no unit is in two of them. Every run of
//! [`seed`] equal units can start a passage; it grows both ways over equal units and jumps over differences of up
//! to [`GAP`] units a side where three units agree again behind them. Long seeds are taken first, so that a
//! common phrase does not tear a long copy apart.

use crate::units::Unit;
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
    let mut places: Vec<(u64, u32)> =
        b.windows(seed).enumerate().map(|(at, window)| (hash(window), at as u32)).collect();
    places.sort_unstable();
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (at_a, window) in a.windows(seed).enumerate() {
        let wanted = hash(window);
        let first = places.partition_point(|&(hash, _)| hash < wanted);
        let same = places[first..].iter().take_while(|&&(hash, _)| hash == wanted).take(PLACES);
        for at_b in same.map(|&(_, at)| at as usize).filter(|&at| &b[at..at + seed] == window) {
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
        let right = self.extend(at_a, at_b, |start, i| start + i, (self.a.len() - at_a, self.b.len() - at_b));
        let left = self.extend(at_a, at_b, |start, i| start - 1 - i, (at_a, at_b));
        Passage {
            a: at_a - left.a..at_a + right.a,
            b: at_b - left.b..at_b + right.b,
            matched: left.matched + right.matched,
            differing: left.differing + right.differing,
            runs: 1 + left.differences + right.differences,
        }
    }

    /// How far a passage goes one way from `(from_a, from_b)`. `index` gives the unit that is so many steps away,
    /// `room` how many steps there are on either side.
    fn extend(
        &mut self,
        from_a: usize,
        from_b: usize,
        index: impl Fn(usize, usize) -> usize,
        room: (usize, usize),
    ) -> Reach {
        let mut reach = Reach::default();
        loop {
            while reach.a < room.0 && reach.b < room.1 {
                let (i, j) = (index(from_a, reach.a), index(from_b, reach.b));
                if self.a[i] != self.b[j] || !self.free(i, j) {
                    break;
                }
                self.pair(i, j);
                (reach.a, reach.b, reach.matched) = (reach.a + 1, reach.b + 1, reach.matched + 1);
            }
            // A jump stays within units that nobody has taken.
            let free = |partners: &[Option<u32>], from: usize, at: usize, room: usize| {
                (at..room.min(at + GAP + AGREE)).take_while(|&i| partners[index(from, i)].is_none()).count()
            };
            let free_a = free(&self.partner_a, from_a, reach.a, room.0);
            let free_b = free(&self.partner_b, from_b, reach.b, room.1);
            let equal =
                |i: usize, j: usize| self.a[index(from_a, reach.a + i)] == self.b[index(from_b, reach.b + j)];
            let Some((skip_a, skip_b)) = jump(free_a, free_b, equal) else { return reach };
            (reach.a, reach.b) = (reach.a + skip_a, reach.b + skip_b);
            reach.differing += skip_a.max(skip_b);
            reach.differences += 1;
        }
    }
}

/// How far a passage goes one way.
#[derive(Default)]
struct Reach {
    a: usize,
    b: usize,
    matched: usize,
    differing: usize,
    differences: usize,
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

/// A small multiplicative hash; equal hashes are compared unit by unit afterwards.
fn hash(units: &[Unit]) -> u64 {
    units
        .iter()
        .fold(0, |hash: u64, unit| (hash.rotate_left(5) ^ unit.value()).wrapping_mul(0x9e37_79b9_7f4a_7c15))
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
