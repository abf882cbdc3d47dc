//! Who says what a candidate is. The one place where a verdict on a stored document is made.

use super::signals::Ready;
use super::{Collection, DetectError};
use crate::verdict::{Judgement, Verdict};
use leitong_store::{Candidate, Rank, Signals};
use serde::{Deserialize, Serialize};

/// Who says what a candidate is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Judge {
    /// The verifier ([`crate::verify`]): documents are found by their marks and aligned; what is shared, how rare that is in
    /// the collection and what differs decides. Where texts are not kept, the marks and their places stand for them.
    #[default]
    Evidence,
    /// The fingerprints alone, as the classic systems do: `exact` when the digests of the letters are equal, `near` when the
    /// distance is within the collection's.
    Distance,
    /// Declines whatever shares a word with what asks, to test that judges may.
    #[cfg(test)]
    NoSharedMark,
}

/// A document that asks.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    /// Its id, where it has one: what is stored under it is no other document.
    pub(super) id: Option<&'a str>,
    pub(super) signals: &'a Signals,
    pub(super) text: Option<&'a str>,
    /// The version of the first of its group of copies, where that is known: it is stored.
    pub(super) origin: Option<u64>,
}

impl<'a> From<&'a Ready> for Asking<'a> {
    fn from(ready: &'a Ready) -> Self {
        let record = &ready.record;
        Self { id: Some(&record.id), signals: &record.signals, text: ready.text(), origin: record.origin }
    }
}

/// What is said of the candidates of one document.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// One a candidate.
    pub(super) judgements: Vec<Judgement>,
    /// The version of the first of the group of copies that the document belongs to, if there is a copy of it.
    pub(super) origin: Option<u64>,
}

impl Judge {
    /// Whether whatever is within the distance is a duplicate to it (but for a chance of 2^-64). If not, the order of a
    /// batch has to be kept by waiting: see `add`.
    pub(super) fn takes_all(&self) -> bool {
        *self == Self::Distance
    }

    /// Whether documents are found by marks.
    pub(super) fn uses_marks(&self) -> bool {
        *self == Self::Evidence
    }
}

/// The verdict of the fingerprints.
pub(super) fn by_distance(asking: Asking<'_>, candidate: &Candidate, within: u32) -> Judgement {
    let (own, other) = (asking.signals.exact, candidate.record.signals.exact);
    if own.is_some() && own == other {
        let reason = "all letters and digits are the same, in the same order";
        return Judgement::new(Verdict::Exact, reason.into());
    }
    let distance = candidate.rank.distance;
    if distance != Rank::FAR && distance <= within {
        let reason = format!("the SimHashes differ in {distance} bits; up to {within} count as near");
        return Judgement::new(Verdict::Near, reason);
    }
    Judgement::new(Verdict::Different, "the keys are equal by chance".into())
}

impl Collection {
    /// Judges the candidates of several documents.
    pub(super) fn judge<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
    ) -> Result<Vec<Judged>, DetectError> {
        let within = self.settings().distance;
        match &self.settings().judge {
            Judge::Evidence => self.verify(cases),
            Judge::Distance => {
                let all = |(asking, found): &(Asking<'a>, &'a [Candidate])| Judged {
                    judgements: found.iter().map(|one| by_distance(*asking, one, within)).collect(),
                    origin: None,
                };
                Ok(cases.iter().map(all).collect())
            }
            #[cfg(test)]
            Judge::NoSharedMark => self.judge_by_shared_mark(cases),
        }
    }
}
