//! Verdicts: what one text is to another. The verifier ([`crate::verify`]) decides; docs/verdicts.md says how.

use serde::{Deserialize, Serialize};

/// What one text is to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The same letters and digits in the same order.
    Exact,
    /// The same text with edits.
    Near,
    /// The first text holds nearly all of the second, and more.
    Contains,
    /// The second text holds nearly all of the first, and more.
    Contained,
    /// A passage is shared, the rest is not.
    Quotes,
    /// Nothing that counts is shared.
    Different,
}

impl Verdict {
    /// Whether one of the two is a duplicate.
    #[must_use]
    pub fn is_duplicate(self) -> bool {
        matches!(self, Self::Exact | Self::Near | Self::Contains | Self::Contained)
    }

    /// The verdict as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Near => "near",
            Self::Contains => "contains",
            Self::Contained => "contained",
            Self::Quotes => "quotes",
            Self::Different => "different",
        }
    }
}

/// The figures a verdict went by, all of them shares from 0 to 1 but the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Of all runs of five units that either text has, those that both have, as they are aligned.
    pub jaccard: f64,
    /// Of the first text's units, those that are in the second.
    pub a_in_b: f64,
    /// Of the second text's units, those that are in the first.
    pub b_in_a: f64,
    /// Of what is shared, how much is rare in the collection.
    pub rare: f64,
    /// Numbers of one text that stand against others of the other.
    pub numbers_differ: u32,
}

impl Scores {
    /// The larger of the two shares: how much of one text the other holds.
    #[must_use]
    pub fn containment(&self) -> f64 {
        self.a_in_b.max(self.b_in_a)
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided, in words and figures.
    pub reason: String,
    /// What it went by, unless only fingerprints were compared.
    pub scores: Option<Scores>,
}

impl Judgement {
    /// A verdict without scores.
    pub(crate) fn new(verdict: Verdict, reason: String) -> Self {
        Self { verdict, reason, scores: None }
    }
}
