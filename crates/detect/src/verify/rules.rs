//! The rules, in the order in which they are tried. docs/verdicts.md says the same in words.

use super::evidence::Evidence;
use crate::verdict::{Scores, Verdict};

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All letters and digits are the same.
    Equal,
    /// Enough runs of five units are shared; where the numbers are the same, however common the text is.
    Shared,
    /// Enough of the shorter text, weighed by how rare it is, is in the longer one.
    Covered,
    /// One long and rare passage.
    Passage,
    /// Several passages.
    Passages,
    /// None of them.
    None,
}

/// What a rule says, with the figures it went by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruling {
    /// As seen from the first of the two texts that were given.
    pub verdict: Verdict,
    /// The rule.
    pub rule: Rule,
}

impl Ruling {
    /// Whether it stays however common what is shared turns out to be.
    #[must_use]
    pub(crate) fn holds_for_any_weights(&self, found: &Evidence) -> bool {
        match self.rule {
            Rule::Equal => true,
            Rule::Shared => found.numbers.same() && found.jaccard() >= SHARED_FORM,
            Rule::Covered | Rule::Passage | Rule::Passages | Rule::None => false,
        }
    }
}

/// The share of all five-unit runs that makes two texts near, and what is added for common text whose numbers are not the same.
const SHARED: f64 = 0.43;
const SHARED_COMMON: f64 = 0.2;
/// The share where the numbers are the same and more than two thirds of what is shared is common: nearly all of a short report
/// in a set form is the form.
const SHARED_FORM: f64 = 0.47;
const FORM_COMMON: f64 = 2.0 / 3.0;
/// Where more than this of what is shared is common it is a template, and numbers that stand against each other part two pages of
/// it whatever their share.
const TEMPLATE: f64 = 0.5;
/// The part of a text that has to be covered, and what is added for a short one and for what else the longer one has: with
/// both at most so much.
const COVERED: f64 = 0.39;
const COVERED_SHORT: f64 = 0.35;
const SHORT: f64 = 150.0;
const COVERED_BESIDE: f64 = 0.35;
const COVERED_MOST: f64 = 0.82;
/// What is added to either where all numbers stand against others.
const NUMBERS: f64 = 0.65;
/// A text that is so far in another is wholly in it, and one that has less than this in common has much besides.
const WHOLLY: f64 = 0.9;
const MOSTLY: f64 = 2.0 / 3.0;
/// A quoted passage: its score, as a share of a short text but at least so much and at most so much; less where no more than this
/// share is in both, for what is quoted stands among something else.
const QUOTE: f64 = 80.0;
const QUOTE_AMONG: f64 = 72.0;
const QUOTE_SHARE: f64 = 0.3;
const QUOTE_LEAST: f64 = 24.0;
/// What a number that differs inside passages takes off a quote.
const QUOTE_CONFLICT: f64 = 20.0;
/// Two pages of a form share so much of the longer one. What is quoted is less, for around it stands something else; a text that
/// was edited here and there shares more.
const FORM_LEAST: f64 = 0.35;
const FORM_MOST: f64 = 0.8;
/// It is worded anew: for so much of what is shared, something in the passages differs. Careless copies differ in three per
/// cent.
const FORM_REWORDED: f64 = 0.05;
/// It is filled in: so much, of what is shared, stands between the passages in both texts. A short text that is passed on with
/// another sentence in its middle looks the same, so this is asked of long ones only.
const FORM_FILLED: f64 = 0.1;
/// With so many numbers in common it was not filled in anew but revised: two versions of a law.
const FORM_NUMBERS: u32 = 24;
/// Sentences that are taken over word for word, all together.
const VERBATIM: f64 = 90.0;
/// Texts so short that all their passages count together.
const POST: u32 = 256;

impl Evidence {
    /// The share of all runs of five units that both have, as far as passages tell.
    #[must_use]
    pub fn jaccard(&self) -> f64 {
        let shared = (f64::from(self.matched) - 4.0 * f64::from(self.runs)).max(0.0);
        shared / (f64::from(self.a) + f64::from(self.b) - 8.0 - shared).max(1.0)
    }

    /// The shares of the shorter and of the longer text that are covered, weighed by how rare that is.
    #[must_use]
    pub fn covered(&self) -> (f64, f64) {
        let of = |units: u32| self.rare / (f64::from(units - self.matched) + self.rare).max(1.0);
        (of(self.a), of(self.b))
    }
}

impl Evidence {
    /// How many of the runs of five units have to be shared. Where both have the same Arabic numbers it hardly matters how
    /// common they are: that is what tells two reports in one form apart, or finds them to be one.
    #[must_use]
    pub fn shared_bar(&self) -> f64 {
        let common = 1.0 - self.rare / f64::from(self.matched.max(1));
        if self.numbers.same() {
            return if common > FORM_COMMON { SHARED_FORM } else { SHARED };
        }
        if common > TEMPLATE && self.numbers.disagree() {
            return f64::INFINITY;
        }
        SHARED + SHARED_COMMON * common + NUMBERS * self.numbers.different(self.a)
    }

    /// How much of the shorter text has to be covered.
    #[must_use]
    pub fn bar(&self) -> f64 {
        let short = (SHORT / f64::from(self.a.max(1))).min(1.0);
        let beside = 1.0 - self.covered().1;
        let bar = COVERED + COVERED_SHORT * short + COVERED_BESIDE * beside;
        bar.min(COVERED_MOST) + NUMBERS * self.numbers.different(self.a)
    }

    /// What a quoted passage has to score.
    #[must_use]
    pub fn quote_bar(&self) -> f64 {
        let share = QUOTE_SHARE * f64::from(self.a);
        let is_among = f64::from(self.matched) < share;
        share.clamp(QUOTE_LEAST, if is_among { QUOTE_AMONG } else { QUOTE })
    }

    /// Whether it is one form, filled in twice: numbers stand against each other, about half of both is shared, and that is
    /// common, reworded, in pieces, or has no number of its own. Pieces of it are no quotes. The less is rare the more is a
    /// form, so that weights only take away.
    #[must_use]
    pub fn is_form(&self) -> bool {
        let matched = f64::from(self.matched);
        let shared = matched / f64::from(self.b.max(1));
        let alike = (FORM_LEAST..FORM_MOST).contains(&shared);
        let anew = self.numbers.against() > 0 && self.numbers.in_common() < FORM_NUMBERS;
        let common = self.rare < (1.0 - TEMPLATE) * matched;
        let reworded = f64::from(self.differing) > FORM_REWORDED * matched;
        let filled = self.a > POST && f64::from(self.between) >= FORM_FILLED * matched;
        let all_other = self.numbers.different(self.a) >= 1.0;
        alike && anew && (common || reworded || filled || all_other)
    }
}

impl Evidence {
    /// The figures, as seen from the first of the two texts that were given.
    #[must_use]
    pub fn scores(&self) -> Scores {
        let of = |units: u32| f64::from(self.matched) / f64::from(units.max(1));
        let (a_in_b, b_in_a) = if self.swapped { (of(self.b), of(self.a)) } else { (of(self.a), of(self.b)) };
        Scores {
            jaccard: if self.equal { 1.0 } else { self.jaccard() },
            a_in_b,
            b_in_a,
            rare: self.rare / f64::from(self.matched.max(1)),
            numbers_differ: self.numbers.against(),
        }
    }
}

impl Evidence {
    /// Near, or one inside the other: where the longer text is mostly something else, or has much besides a shorter one that
    /// is wholly in it, it must not go for the shorter. `covered` is the share of the longer that counts as covered.
    fn whole(&self, covered: f64) -> Verdict {
        let of = |units: u32| f64::from(self.matched) / f64::from(units.max(1));
        let inside = of(self.a) >= WHOLLY && of(self.b) < MOSTLY;
        match (covered >= 0.5 && !inside, self.swapped) {
            (true, _) => Verdict::Near,
            (false, false) => Verdict::Contained,
            (false, true) => Verdict::Contains,
        }
    }
}

/// Judges a pair.
#[must_use]
pub fn rule(found: &Evidence) -> Ruling {
    let say = |verdict, rule| Ruling { verdict, rule };
    if found.equal {
        return say(Verdict::Exact, Rule::Equal);
    }
    if found.matched == 0 {
        return say(Verdict::Different, Rule::None);
    }
    if found.jaccard() >= found.shared_bar() {
        return say(found.whole(1.0), Rule::Shared);
    }
    let (covered, covered_longer) = found.covered();
    if covered >= found.bar() {
        return say(found.whole(covered_longer), Rule::Covered);
    }
    if found.is_form() {
        return say(Verdict::Different, Rule::None);
    }
    let needed = found.quote_bar();
    let conflicts = QUOTE_CONFLICT * f64::from(found.numbers.conflicts);
    if found.best - conflicts >= needed {
        return say(Verdict::Quotes, Rule::Passage);
    }
    let together = if found.a <= POST { found.scattered } else { 0.0 };
    if together - conflicts >= needed || found.verbatim - conflicts >= VERBATIM.max(needed) {
        return say(Verdict::Quotes, Rule::Passages);
    }
    say(Verdict::Different, Rule::None)
}

/// A copy as good as this is not worth looking for a better one.
const CERTAIN: f64 = 1.9;
/// Documents that are compared with one to find out what it is a copy of.
pub const COPIES: usize = 256;

/// The best copy of a text among others, which are shown with those first that have the most marks in common: the surest,
/// and of equals the first. Batch and online look in this way, so that they find the same.
#[derive(Debug)]
pub struct BestCopy<T> {
    best: Option<(f64, T)>,
    looked_at: usize,
}

impl<T> Default for BestCopy<T> {
    fn default() -> Self {
        Self { best: None, looked_at: 0 }
    }
}

impl<T> BestCopy<T> {
    /// Looks at the next; false if no further one is to be looked at.
    pub fn look(&mut self, found: &Evidence, other: T) -> bool {
        let strength = is_copy(found);
        if let Some(strength) = strength.filter(|new| self.best.as_ref().is_none_or(|(old, _)| new > old)) {
            self.best = Some((strength, other));
        }
        self.looked_at += 1;
        self.looked_at < COPIES && self.best.as_ref().is_none_or(|(strength, _)| *strength < CERTAIN)
    }

    /// The best of those looked at.
    #[must_use]
    pub fn found(self) -> Option<T> {
        self.best.map(|(_, other)| other)
    }
}

/// How surely two texts are copies of one another, so that they are one source; nothing if they are not. It does not ask
/// how rare anything is: that is counted afterwards.
fn is_copy(found: &Evidence) -> Option<f64> {
    if found.equal {
        return Some(2.0);
    }
    if found.matched == 0 || found.numbers.disagree() {
        return None;
    }
    let jaccard = found.jaccard();
    let inside = f64::from(found.matched) / f64::from(found.a);
    if jaccard >= SHARED {
        Some(1.0 + jaccard)
    } else if inside >= 0.9 && found.a >= 24 {
        Some(inside)
    } else {
        None
    }
}
