//! Who says what a candidate is. The one place where a verdict on a stored document is made.

use super::signals::Ready;
use super::{Collection, DetectError};
use crate::Fingerprinter;
use crate::verdict::{Judgement, Verdict};
use leitong_store::{Candidate, Rank, Signals, Want};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who says what a candidate is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Judge {
    /// The fingerprints alone: `exact` when the digests of the letters are equal, `near` when the distance is within the
    /// collection's.
    #[default]
    Distance,
    /// Declines whatever shares a word with what asks, to test that judges may.
    #[cfg(test)]
    NoSharedMark,
}

/// A document that asks.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) signals: &'a Signals,
    pub(super) text: Option<&'a str>,
}

impl<'a> From<&'a Ready> for Asking<'a> {
    fn from(ready: &'a Ready) -> Self {
        Self { signals: &ready.record.signals, text: ready.text() }
    }
}

/// A candidate before its judge.
struct Case<'a> {
    #[expect(dead_code, reason = "for judges that read the texts")]
    fingerprinter: &'a Fingerprinter,
    asking: Asking<'a>,
    candidate: &'a Candidate,
    /// The candidate's text, where the judge needs it and it is there.
    #[cfg_attr(not(test), expect(dead_code, reason = "for judges that read the texts"))]
    text: Option<&'a str>,
    /// The collection's distance.
    within: u32,
}

impl Judge {
    /// Whether it reads the candidates' texts.
    fn reads(&self) -> bool {
        match self {
            Self::Distance => false,
            #[cfg(test)]
            Self::NoSharedMark => true,
        }
    }

    /// Whether whatever is within the distance is a duplicate to it (but for a chance of 2^-64). If not, the order of a
    /// batch has to be kept by waiting: see `add`.
    pub(super) fn takes_all(&self) -> bool {
        match self {
            Self::Distance => true,
            #[cfg(test)]
            Self::NoSharedMark => false,
        }
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        match self {
            Self::Distance => by_distance(case),
            #[cfg(test)]
            Self::NoSharedMark => super::tests::no_shared_mark(case.asking.text, case.text),
        }
    }
}

fn by_distance(case: &Case<'_>) -> Judgement {
    let say = |verdict, reason: String| Judgement { verdict, reason };
    let (own, other) = (case.asking.signals.exact, case.candidate.record.signals.exact);
    if own.is_some() && own == other {
        return say(Verdict::Exact, "all letters and digits are the same, in the same order".into());
    }
    let distance = case.candidate.rank.distance;
    if distance != Rank::FAR && distance <= case.within {
        let within = case.within;
        return say(
            Verdict::Near,
            format!("the SimHashes differ in {distance} bits; up to {within} count as near"),
        );
    }
    say(Verdict::Different, "the keys are equal by chance".into())
}

impl Collection {
    /// Judges the candidates of several documents. Texts are fetched in one batch, if the judge reads them.
    pub(super) fn judge<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
    ) -> Result<Vec<Vec<Judgement>>, DetectError> {
        let judge = &self.settings().judge;
        let texts = if judge.reads() {
            self.texts(cases.iter().flat_map(|(_, found)| *found))?
        } else {
            Texts::default()
        };
        let one = |asking: Asking<'a>, candidate: &'a Candidate| {
            let text = texts.get(&candidate.rank.version).map(String::as_str);
            let (fingerprinter, within) = (self.fingerprinter(), self.settings().distance);
            judge.judge(&Case { fingerprinter, asking, candidate, text, within })
        };
        let all = |(asking, found): &(Asking<'a>, &'a [Candidate])| {
            found.iter().map(|candidate| one(*asking, candidate)).collect()
        };
        Ok(cases.iter().map(all).collect())
    }

    /// The texts of candidates by their versions, as far as they are kept and have not been replaced meanwhile.
    fn texts<'a>(&self, candidates: impl Iterator<Item = &'a Candidate>) -> Result<Texts, DetectError> {
        let mut ids: Vec<&str> = candidates.map(|candidate| candidate.record.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let stored = self.store().get(self.name(), &ids, Want::Text)?;
        Ok(stored.into_iter().flatten().filter_map(|one| Some((one.version, one.record.text?))).collect())
    }
}

/// Texts by versions.
type Texts = BTreeMap<u64, String>;
