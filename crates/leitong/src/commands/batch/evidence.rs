//! Evidence as JSON: what two documents share, and what decided.

use leitong_detect::batch::Pair;
use leitong_detect::compare::SharedPassage;
use leitong_detect::verdict::Verdict;
use leitong_detect::verify::{Evidence, reason};
use serde_json::{Value, json};

/// The figures of a pair, as seen from its first document.
pub(crate) struct Scores {
    pub(crate) jaccard: f64,
    pub(crate) a_in_b: f64,
    pub(crate) b_in_a: f64,
    pub(crate) rare: f64,
}

/// Four digits are all that means anything.
pub(crate) fn rounded(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0
}

impl Scores {
    pub(crate) fn of(found: &Evidence) -> Self {
        if found.equal {
            return Self { jaccard: 1.0, a_in_b: 1.0, b_in_a: 1.0, rare: 1.0 };
        }
        let share = |units: u32| rounded(f64::from(found.matched) / f64::from(units.max(1)));
        let (shorter, longer) = (share(found.a), share(found.b));
        let (a_in_b, b_in_a) = if found.swapped { (longer, shorter) } else { (shorter, longer) };
        let rare = rounded(found.rare / f64::from(found.matched.max(1)));
        Self { jaccard: rounded(found.jaccard()), a_in_b, b_in_a, rare }
    }

    /// The larger share of one text that is in the other.
    pub(crate) fn containment(&self) -> f64 {
        self.a_in_b.max(self.b_in_a)
    }
}

/// Adds everything but the ids and the verdict to an object.
pub(crate) fn add(object: &mut Value, pair: &Pair) {
    let Scores { jaccard, a_in_b, b_in_a, rare } = Scores::of(&pair.evidence);
    let numbers = &pair.evidence.numbers;
    object["jaccard"] = jaccard.into();
    object["containment"] = a_in_b.max(b_in_a).into();
    object["a_in_b"] = a_in_b.into();
    object["b_in_a"] = b_in_a.into();
    object["rare"] = rare.into();
    object["numbers_differ"] = numbers.only_a.max(numbers.only_b).into();
    object["rule"] = reason(&pair.evidence, pair.ruling).into();
}

/// Passages as they are written: where they stand in both, in code points.
pub(crate) fn passages(passages: &[SharedPassage]) -> Value {
    let range = |range: &std::ops::Range<usize>| json!([range.start, range.end]);
    passages.iter().map(|passage| json!({ "a": range(&passage.a), "b": range(&passage.b) })).collect()
}

/// The same pair, seen from its other side.
pub(crate) fn turned(pair: &Pair, a: u32, b: u32) -> Pair {
    let mut other = Pair { a, b, ..*pair };
    other.evidence.swapped = !pair.evidence.swapped;
    other.ruling.verdict = match pair.ruling.verdict {
        Verdict::Contains => Verdict::Contained,
        Verdict::Contained => Verdict::Contains,
        same => same,
    };
    other
}
