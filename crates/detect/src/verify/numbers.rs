//! Numbers: what an exchange rate, a case count or a visit differs in while everything else stays.

use super::align::FREE;
use leitong_text::units::{Numeral, Unit};

/// How the numbers of two texts compare. Digits and Chinese numerals alike, unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Numbers with Arabic digits in the first that the second lacks.
    pub arabic_only_a: u32,
    /// And the other way.
    pub arabic_only_b: u32,
    /// Numbers in the first text.
    pub in_a: u32,
    /// Of them, those the second lacks.
    pub only_a: u32,
    /// Numbers of the second that the first lacks.
    pub only_b: u32,
    /// Numbers that stand at the same place of a passage and differ.
    pub conflicts: u32,
}

/// A text is taken to have a number in so many units, up to so many numbers: one date that differs must not count as all
/// there is in a long text, but it does in a short one.
const UNITS_A_NUMBER: f64 = 75.0;
const FEW: f64 = 4.0;

impl Numbers {
    /// Whether either text has Arabic numbers that the other lacks.
    #[must_use]
    pub fn disagree(&self) -> bool {
        self.arabic_only_a.min(self.arabic_only_b) > 0
    }

    /// Whether both texts have the same Arabic numbers.
    #[must_use]
    pub fn same(&self) -> bool {
        self.arabic_only_a.max(self.arabic_only_b) == 0
    }

    /// Numbers of either that the other lacks: so many stand against each other.
    #[must_use]
    pub fn against(&self) -> u32 {
        self.only_a.min(self.only_b)
    }

    /// Numbers that both texts have.
    #[must_use]
    pub fn in_common(&self) -> u32 {
        self.in_a.saturating_sub(self.only_a)
    }

    /// Numbers that stand against numbers, as a share of those of the first, which has so many units.
    #[must_use]
    pub fn different(&self, units: u32) -> f64 {
        let expected = (f64::from(units) / UNITS_A_NUMBER).clamp(1.0, FEW);
        f64::from(self.against()) / f64::from(self.in_a).max(expected)
    }
}

/// How two texts lie side by side.
pub(super) struct Aligned<'a> {
    /// The partner of every unit of the first.
    pub(super) partners: &'a [u32],
    /// The passage of every unit of the first.
    pub(super) passage_of: &'a [u32],
}

/// A number in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    hash: u32,
    arabic: bool,
    start: u32,
    end: u32,
}

impl Number {
    /// What it is compared by: its hash, and in bit 32 whether it has Arabic digits.
    pub(super) fn key(&self) -> u64 {
        u64::from(self.arabic) << 32 | u64::from(self.hash)
    }
}

/// Finds the numbers of a text: runs of numerals that have a digit, two numerals, or one before a unit of time or order.
/// Those that number articles and chapters are structure, not content.
pub(super) fn find(units: &[Unit], numbers: &mut Vec<Number>) {
    numbers.clear();
    let mut at = 0;
    // There are few in most texts.
    while let Some(before) = units[at..].iter().position(|unit| unit.numeral().is_some()) {
        at += before;
        let run = units[at..].iter().take_while(|unit| unit.numeral().is_some()).count();
        let digits = &units[at..at + run];
        let after = units.get(at + run).and_then(|unit| unit.character());
        let arabic = digits.iter().any(|unit| unit.numeral() == Some(Numeral::Digit));
        let counts =
            arabic || run >= 2 || matches!(after, Some('月' | '日' | '号' | '届' | '期' | '时' | '次'));
        if counts && !matches!(after, Some('条' | '章' | '节' | '款' | '项')) {
            let hash =
                digits.iter().fold(0x811c_9dc5_u32, |h, unit| (h ^ unit.value()).wrapping_mul(0x0100_0193));
            numbers.push(Number { hash, arabic, start: at as u32, end: (at + run) as u32 });
        }
        at += run;
    }
}

/// How many of each list the other lacks; both in the order of hashes.
pub(super) fn only<T: Ord>(a: &[T], b: &[T]) -> (u32, u32) {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    ((a.len() - both) as u32, (b.len() - both) as u32)
}

/// The hashes of those numbers that `counts` says, ascending.
fn hashes(numbers: &[Number], counts: impl Fn(&Number) -> bool) -> Vec<u32> {
    let mut hashes: Vec<u32> =
        numbers.iter().filter(|number| counts(number)).map(|number| number.hash).collect();
    hashes.sort_unstable();
    hashes
}

/// Compares the numbers of two aligned texts.
pub(super) fn compare(
    (a, b): (&[Unit], &[Unit]),
    (in_a, in_b): (&[Number], &[Number]),
    aligned: &Aligned<'_>,
) -> Numbers {
    let (arabic_only_a, arabic_only_b) =
        only(&hashes(in_a, |number| number.arabic), &hashes(in_b, |number| number.arabic));
    let (only_a, only_b) = only(&hashes(in_a, |_| true), &hashes(in_b, |_| true));
    let conflicts = in_a.iter().filter(|number| conflicts(a, b, number, aligned)).count() as u32;
    Numbers { arabic_only_a, arabic_only_b, in_a: in_a.len() as u32, only_a, only_b, conflicts }
}

/// How far around a number the ends of the difference it stands in are looked for.
const AROUND: usize = 10;

/// Whether a number of the first text is aligned with another number of the second.
fn conflicts(a: &[Unit], b: &[Unit], number: &Number, aligned: &Aligned<'_>) -> bool {
    let Aligned { partners, passage_of } = aligned;
    let numeral = |at: usize| b.get(at).is_some_and(|unit| unit.numeral().is_some());
    let (start, end) = (number.start as usize, number.end as usize);
    let matched = partners[start..end].iter().filter(|&&partner| partner != FREE).count();
    if matched == end - start {
        let first = partners[start] as usize;
        let in_a_row = (start..end).all(|i| partners[i] as usize == first + (i - start));
        return in_a_row && ((first > 0 && numeral(first - 1)) || numeral(first + (end - start)));
    }
    if matched > 0 {
        return true;
    }
    // Inside a difference of a passage, with a number on the other side.
    let after = (end..a.len().min(end + AROUND)).find(|&i| partners[i] != FREE);
    let before = (start.saturating_sub(AROUND)..start).rev().find(|&i| partners[i] != FREE);
    let (Some(before), Some(after)) = (before, after) else { return false };
    let (from, to) = (partners[before] as usize + 1, partners[after] as usize);
    passage_of[before] == passage_of[after] && from < to && to - from < 2 * AROUND && (from..to).any(numeral)
}
