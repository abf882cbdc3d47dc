//! Marks: few hashes of a text by which passages are found, in texts of any length.
//!
//! Winnowing ([`crate::winnow`]) over runs of [`RUN`] units, with hashes of 32 bits and a window that grows with the text:
//! a smaller window chooses everything that a larger one does and more, so marks of short and of long texts meet. Marks are
//! stored, so they are frozen (`tests::frozen`).

/// Units hashed together.
pub const RUN: usize = 8;

/// A chosen run of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The hash of the run.
    pub hash: u32,
    /// The number of its first unit.
    pub at: u32,
}

/// From how many neighbouring runs one is chosen, in a text of so many units.
#[must_use]
pub fn window(units: usize) -> usize {
    match units {
        ..=256 => 4,
        _ => 8,
    }
}

/// Working memory.
#[derive(Clone, Debug, Default)]
pub struct Room {
    hashes: Vec<u32>,
    minima: Vec<u64>,
}

/// Chooses the marks of a text given by the values of its units, in reading order.
pub fn choose(units: impl ExactSizeIterator<Item = u32>, room: &mut Room, marks: &mut Vec<Mark>) {
    marks.clear();
    let window = window(units.len());
    hash_runs(units, &mut room.hashes);
    winnow(&room.hashes, window, marks, &mut room.minima);
}

/// Spreads a sum over all bits.
#[inline]
fn mix(mut sum: u64) -> u32 {
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(FACTOR);
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(FACTOR);
    (sum ^ sum >> 32) as u32
}

/// The hashes of all runs: a polynomial that rolls, mixed. A text shorter than a run is one run.
fn hash_runs(units: impl ExactSizeIterator<Item = u32>, hashes: &mut Vec<u32>) {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    const OLDEST: u64 = {
        let (mut power, mut i) = (1_u64, 0);
        while i < RUN {
            power = power.wrapping_mul(BASE);
            i += 1;
        }
        power
    };
    hashes.clear();
    let (mut recent, mut sum, count) = ([0_u64; RUN], 0_u64, units.len());
    hashes.reserve(count);
    for (at, unit) in units.enumerate() {
        let unit = u64::from(unit) + 1;
        // The slot still holds the unit that leaves the run; nothing at first.
        let oldest = std::mem::replace(&mut recent[at % RUN], unit);
        sum = sum.wrapping_mul(BASE).wrapping_add(unit).wrapping_sub(OLDEST.wrapping_mul(oldest));
        if at + 1 >= RUN {
            hashes.push(mix(sum));
        }
    }
    if (1..RUN).contains(&count) {
        hashes.push(mix(sum ^ count as u64));
    }
}

/// From every window the smallest hash, the rightmost among equals; fewer hashes than a window are one window.
///
/// The window is a power of two, so the minima of all windows come from those of half the width, without a branch.
fn winnow(hashes: &[u32], window: usize, marks: &mut Vec<Mark>, minima: &mut Vec<u64>) {
    // The place counts downwards in the low half: of equal hashes the last is the smallest.
    minima.clear();
    minima
        .extend(hashes.iter().enumerate().map(|(at, &hash)| u64::from(hash) << 32 | u64::from(!(at as u32))));
    let window = window.min(hashes.len());
    let mut width = 1;
    while width < window {
        let step = width.min(window - width);
        let count = minima.len() - step;
        for at in 0..count {
            minima[at] = minima[at].min(minima[at + step]);
        }
        minima.truncate(count);
        width += step;
    }
    let mut last = None;
    for &smallest in &*minima {
        if last.replace(smallest) != Some(smallest) {
            marks.push(Mark { hash: (smallest >> 32) as u32, at: !(smallest as u32) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(units: &[u32]) -> Vec<Mark> {
        let mut marks = Vec::new();
        choose(units.iter().copied(), &mut Room::default(), &mut marks);
        marks
    }

    #[test]
    fn frozen() {
        let units: Vec<u32> = (0..40).map(|i| i * i % 23).collect();
        let found: Vec<(u32, u32)> = of(&units).iter().map(|mark| (mark.hash, mark.at)).collect();
        assert_eq!(found[..2], FROZEN, "stored marks are made of these");
        assert_eq!(of(&[1, 2, 3]), [Mark { hash: FROZEN_SHORT, at: 0 }]);
        assert_eq!(of(&[]), []);
    }

    const FROZEN: [(u32, u32); 2] = [(93_482_120, 0), (952_062_643, 1)];
    const FROZEN_SHORT: u32 = 1_389_781_701;

    proptest! {
        #[test]
        fn marks_are_those_of_winnowing(units in prop::collection::vec(0u32..3, 0..400)) {
            let mut hashes = Vec::new();
            hash_runs(units.iter().copied(), &mut hashes);
            let wide: Vec<u64> = hashes.iter().map(|&hash| u64::from(hash)).collect();
            let expected: Vec<Mark> = crate::winnow::choose(&wide, window(units.len()))
                .iter()
                .map(|mark| Mark { hash: mark.hash as u32, at: mark.position })
                .collect();
            prop_assert_eq!(of(&units), expected);
        }

        #[test]
        fn equal_runs_have_equal_hashes(before in prop::collection::vec(any::<u32>(), 0..20), run in prop::collection::vec(any::<u32>(), RUN)) {
            let (mut alone, mut after) = (Vec::new(), Vec::new());
            hash_runs(run.iter().copied(), &mut alone);
            let all: Vec<u32> = before.iter().chain(&run).copied().collect();
            hash_runs(all.iter().copied(), &mut after);
            prop_assert_eq!(alone[0], after[before.len()]);
        }

        #[test]
        fn a_long_text_meets_a_short_one(text in prop::collection::vec(any::<u32>(), 300..400), from in 0usize..200) {
            let part = &text[from..from + RUN + 7];
            let of_part: Vec<u32> = of(part).iter().map(|mark| mark.hash).collect();
            prop_assert!(of(&text).iter().any(|mark| of_part.contains(&mark.hash)));
        }
    }
}
