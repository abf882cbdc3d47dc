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
        257..=512 => 8,
        _ => SPARSE,
    }
}

/// The window of long texts.
pub const SPARSE: usize = 16;

/// Working memory.
#[derive(Clone, Debug, Default)]
pub struct Room {
    now: Vec<u64>,
    next: Vec<u64>,
}

/// Chooses the marks of a text given by the values of its units, in reading order.
pub fn choose(units: impl ExactSizeIterator<Item = u32>, room: &mut Room, marks: &mut Vec<Mark>) {
    let window = window(units.len());
    choose_from(units, window, room, marks);
}

/// Chooses marks, one from every so many neighbouring runs.
pub fn choose_from(
    units: impl ExactSizeIterator<Item = u32>,
    window: usize,
    room: &mut Room,
    marks: &mut Vec<Mark>,
) {
    room.now.clear();
    // Counted from one, so that a run of the first unit is not one of nothing.
    room.now.extend(units.map(|unit| u64::from(unit) + 1));
    crate::machine::run(Choose { room, window, marks });
}

/// The work, in steps over all runs that have no branch and depend on nothing before them, so that the processor does many at
/// once. It is compiled for several kinds of processors.
struct Choose<'c> {
    room: &'c mut Room,
    window: usize,
    marks: &'c mut Vec<Mark>,
}

impl crate::machine::Work for Choose<'_> {
    #[inline(always)]
    fn run(self) {
        self.room.hash_runs();
        self.room.winnow(self.window);
        collect(&mut self.room.now, self.marks);
    }
}

/// Spreads a sum over all bits.
#[inline(always)]
fn mix(mut sum: u64) -> u32 {
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(FACTOR);
    sum ^= sum >> 32;
    sum = sum.wrapping_mul(FACTOR);
    (sum ^ sum >> 32) as u32
}

/// A hash and its place, counted downwards: of equal hashes the last is the smallest.
#[inline(always)]
fn placed(hash: u32, at: usize) -> u64 {
    u64::from(hash) << 32 | u64::from(!(at as u32))
}

impl Room {
    /// Makes of units the hashes of all runs, polynomials that are mixed, with their places. A text shorter than a run is one
    /// run.
    #[inline(always)]
    fn hash_runs(&mut self) {
        const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
        let count = self.now.len();
        if (1..RUN).contains(&count) {
            let sum = self.now.iter().fold(0_u64, |sum, &unit| sum.wrapping_mul(BASE).wrapping_add(unit));
            self.now.clear();
            self.now.push(placed(mix(sum ^ count as u64), 0));
            return;
        }
        // Polynomials of two units, of four, of eight.
        let (mut width, mut power) = (1, BASE);
        while width < RUN {
            self.join(width, |first, second| first.wrapping_mul(power).wrapping_add(second));
            (width, power) = (2 * width, power.wrapping_mul(power));
        }
        for (at, sum) in self.now.iter_mut().enumerate() {
            *sum = placed(mix(*sum), at);
        }
    }

    /// Leaves of every window the smallest, the rightmost among equals; fewer hashes than a window are one window.
    #[inline(always)]
    fn winnow(&mut self, window: usize) {
        let window = window.min(self.now.len());
        let mut width = 1;
        while width < window {
            let step = width.min(window - width);
            self.join(step, u64::min);
            width += step;
        }
    }

    /// Joins every number with the one `step` behind it; the last ones have none, and go.
    #[inline(always)]
    fn join(&mut self, step: usize, of: impl Fn(u64, u64) -> u64) {
        let behind = self.now.get(step..).unwrap_or_default();
        self.next.clear();
        self.next.extend(self.now.iter().zip(behind).map(|(&first, &second)| of(first, second)));
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// The different ones of smallest hashes, in order: equal ones are neighbours.
#[inline(always)]
fn collect(smallest: &mut [u64], marks: &mut Vec<Mark>) {
    let (mut count, mut last) = (0, smallest.first().map_or(0, |first| !first));
    for at in 0..smallest.len() {
        let number = smallest[at];
        // Written in any case, and counted if it is another: whether it is cannot be foreseen.
        smallest[count] = number;
        count += usize::from(last != number);
        last = number;
    }
    marks.clear();
    marks.extend(
        smallest[..count].iter().map(|&number| Mark { hash: (number >> 32) as u32, at: !(number as u32) }),
    );
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

    /// The plain way: every run by itself.
    fn hashes(units: &[u32]) -> Vec<u32> {
        let of = |run: &[u32]| {
            run.iter().fold(0_u64, |sum, &unit| {
                sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(unit) + 1)
            })
        };
        match units.len() {
            0 => Vec::new(),
            count @ 1..RUN => vec![mix(of(units) ^ count as u64)],
            _ => units.windows(RUN).map(|run| mix(of(run))).collect(),
        }
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
        fn marks_are_those_of_winnowing(units in prop::collection::vec(0u32..3, 0..800)) {
            let hashes: Vec<u64> = hashes(&units).iter().map(|&hash| u64::from(hash)).collect();
            let expected: Vec<Mark> = crate::winnow::choose(&hashes, window(units.len()))
                .iter()
                .map(|mark| Mark { hash: mark.hash as u32, at: mark.position })
                .collect();
            prop_assert_eq!(of(&units), expected);
        }

        #[test]
        fn equal_runs_have_equal_hashes(before in prop::collection::vec(any::<u32>(), 0..20), run in prop::collection::vec(any::<u32>(), RUN)) {
            let all: Vec<u32> = before.iter().chain(&run).copied().collect();
            prop_assert_eq!(hashes(&run)[0], hashes(&all)[before.len()]);
        }

        #[test]
        fn a_long_text_meets_a_short_one(text in prop::collection::vec(any::<u32>(), 300..800), from in 0usize..200) {
            let part = &text[from..from + RUN + SPARSE - 1];
            let of_part: Vec<u32> = of(part).iter().map(|mark| mark.hash).collect();
            prop_assert!(of(&text).iter().any(|mark| of_part.contains(&mark.hash)));
        }
    }
}
