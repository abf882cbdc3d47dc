//! Storing documents: always, only new ones, or unless something stored is a duplicate.
//!
//! The last is optimistic: a document goes to the store at once, with nothing judged. The store refuses where a probe finds
//! something that has not been judged, and hands it back; if none of it is a duplicate, the document goes again with those
//! versions named, and so on. No lock is held while judging, and of two simultaneous duplicates the later is shown the earlier.

use super::answer::{Added, Match, Outcome};
use super::document::{Document, Evidence, When};
use super::evidence::Pair;
use super::judge::{Asking, Judged};
use super::order::Wave;
use super::signals::Ready;
use super::{Collection, DetectError, DocumentError};
use leitong_store::{Addition, Candidate, Policy, Probe};
use std::collections::BTreeMap;

/// Candidates the store hands back the first time; more with every further round.
const FIRST_LIMIT: usize = 16;
const MOST_LIMIT: usize = 4096;
/// Documents that are stored together where the order has to be kept by waiting: finding who waits is quadratic.
const TOGETHER: usize = 1024;

/// A document on its way into the store.
pub(super) struct Attempt {
    pub(super) ready: Ready,
    /// Where it stands in the batch.
    place: usize,
    judged: Vec<u64>,
    limit: usize,
    /// Attempts before it that must be settled first.
    pub(super) waits_for: Vec<usize>,
    outcome: Option<Outcome>,
}

impl Collection {
    /// Stores documents, in order; each sees those before it. A document that replaces another leaves its cluster; if it was
    /// a centre, its members are assigned anew (after that; [`Collection::mend_clusters`] goes on after a crash in between).
    ///
    /// With [`When::UnlessDuplicate`] this is atomic: of any number of near-identical documents that are added at the same
    /// time exactly one is stored, and of those in one batch the first.
    pub fn add(
        &self,
        documents: Vec<Document>,
        when: When,
        evidence: Evidence,
    ) -> Result<Vec<Result<Added, DocumentError>>, DetectError> {
        let mut answers: Vec<Option<Result<Added, DocumentError>>> = Vec::new();
        answers.resize_with(documents.len(), || None);
        let mut good = Vec::new();
        for (place, ready) in self.ready(documents).into_iter().enumerate() {
            match ready {
                Ok(ready) => good.push((place, ready)),
                Err(error) => answers[place] = Some(Err(error)),
            }
        }
        let added = match when {
            When::Replace => self.add_all(good, &Policy::Replace)?,
            When::New => self.add_all(good, &Policy::New)?,
            When::UnlessDuplicate => self.add_unless(good, evidence)?,
        };
        self.release_added(added.iter().map(|(_, added)| added))?;
        for (place, added) in added {
            answers[place] = Some(Ok(added));
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Stores documents whatever is there. Copies of one another within the batch are stored after the first of their group,
    /// so that they can name it.
    pub(super) fn add_all(
        &self,
        good: Vec<(usize, Ready)>,
        policy: &Policy,
    ) -> Result<Vec<(usize, Added)>, DetectError> {
        if !self.settings().judge.uses_marks() {
            return self.add_by(good, policy);
        }
        let mut added: Vec<(usize, Added)> = Vec::with_capacity(good.len());
        let mut versions: BTreeMap<usize, u64> = BTreeMap::new();
        for wave in self.find_copies(good)? {
            let stored = self.add_by(with_origins(wave, &versions), policy)?;
            let version = |(place, added): &(usize, Added)| match added.outcome {
                Outcome::Stored { version, .. } => Some((*place, version)),
                // What is there instead is another text.
                Outcome::Exists { .. } | Outcome::Duplicate { .. } => None,
            };
            versions.extend(stored.iter().filter_map(version));
            added.extend(stored);
        }
        Ok(added)
    }

    fn add_by(&self, good: Vec<(usize, Ready)>, policy: &Policy) -> Result<Vec<(usize, Added)>, DetectError> {
        let known: Vec<_> = good
            .iter()
            .map(|(place, ready)| (*place, ready.record.id.clone(), ready.simhash().cloned()))
            .collect();
        let additions =
            good.into_iter().map(|(_, ready)| Addition::new(ready.record, policy.clone())).collect();
        let outcomes = self.store().add(self.name(), additions)?.into_iter();
        let added = known.into_iter().zip(outcomes).filter_map(|((place, id, simhash), added)| {
            let outcome = match added {
                leitong_store::Added::Stored { version, replaced } => Outcome::Stored { version, replaced },
                leitong_store::Added::Exists { version } => Outcome::Exists { version },
                // Only an addition that names probes or a version is answered so.
                leitong_store::Added::Unjudged(_) | leitong_store::Added::Changed { .. } => return None,
            };
            Some((place, Added { id, simhash, outcome }))
        });
        Ok(added.collect())
    }

    fn add_unless(
        &self,
        good: Vec<(usize, Ready)>,
        evidence: Evidence,
    ) -> Result<Vec<(usize, Added)>, DetectError> {
        let mut attempts: Vec<Attempt> =
            good.into_iter().map(|(place, ready)| Attempt::new(place, ready)).collect();
        if self.settings().judge.takes_all() {
            self.settle(&mut attempts)?;
        } else {
            for attempts in attempts.chunks_mut(TOGETHER) {
                self.find_who_waits(attempts);
                self.settle(attempts)?;
            }
        }
        let pairs = attempts.iter_mut().flat_map(|attempt| {
            let text = attempt.ready.text();
            let matches = match &mut attempt.outcome {
                Some(Outcome::Duplicate { matches }) => &mut matches[..],
                _ => &mut [],
            };
            matches.iter_mut().map(move |found| Pair { text, found })
        });
        self.add_evidence(pairs.collect(), evidence)?;
        Ok(attempts.into_iter().filter_map(Attempt::finish).collect())
    }

    /// Rounds of storing and judging until every attempt has its outcome.
    fn settle(&self, attempts: &mut [Attempt]) -> Result<(), DetectError> {
        loop {
            let settled: Vec<bool> = attempts.iter().map(|attempt| attempt.outcome.is_some()).collect();
            let mut open: Vec<&mut Attempt> = attempts
                .iter_mut()
                .filter(|attempt| {
                    attempt.outcome.is_none() && attempt.waits_for.iter().all(|&at| settled[at])
                })
                .collect();
            if open.is_empty() {
                return Ok(());
            }
            self.attempt(&mut open)?;
        }
    }

    fn attempt(&self, open: &mut [&mut Attempt]) -> Result<(), DetectError> {
        let within = self.settings().distance;
        let probes = |attempt: &Attempt| self.probes(&attempt.ready.record.signals, within);
        let additions = open.iter().map(|attempt| attempt.addition(probes(attempt))).collect();
        let mut refused: Vec<Option<Vec<Candidate>>> = Vec::with_capacity(open.len());
        for (attempt, added) in open.iter_mut().zip(self.store().add(self.name(), additions)?) {
            refused.push(match added {
                leitong_store::Added::Stored { version, replaced } => {
                    attempt.outcome = Some(Outcome::Stored { version, replaced });
                    None
                }
                leitong_store::Added::Exists { version } => {
                    attempt.outcome = Some(Outcome::Exists { version });
                    None
                }
                // No version was named; once more costs nothing.
                leitong_store::Added::Changed { .. } => None,
                leitong_store::Added::Unjudged(found) => Some(found.candidates),
            });
        }
        let cases = open
            .iter()
            .zip(&refused)
            .filter_map(|(attempt, refused)| Some((Asking::from(&attempt.ready), refused.as_deref()?)));
        let judged = self.judge(&cases.collect::<Vec<_>>())?;
        let refused = open.iter_mut().zip(refused).filter_map(|(attempt, found)| Some((attempt, found?)));
        for ((attempt, found), judged) in refused.zip(judged) {
            attempt.weigh(found, judged, self.name());
        }
        Ok(())
    }
}

/// Documents that are copies of others of their batch get the versions of those as their origins.
fn with_origins(wave: Wave, versions: &BTreeMap<usize, u64>) -> Vec<(usize, Ready)> {
    let with_origin = |(place, mut ready, first): (usize, Ready, Option<usize>)| {
        let first = first.and_then(|first| versions.get(&first));
        ready.record.origin = ready.record.origin.or(first.copied());
        (place, ready)
    };
    wave.into_iter().map(with_origin).collect()
}

impl Attempt {
    fn new(place: usize, ready: Ready) -> Self {
        Self { ready, place, judged: Vec::new(), limit: FIRST_LIMIT, waits_for: Vec::new(), outcome: None }
    }

    fn addition(&self, probes: Vec<Probe>) -> Addition {
        let (record, judged) = (self.ready.record.clone(), self.judged.clone());
        Addition::new(record, Policy::Unless { probes, judged, limit: self.limit })
    }

    /// Either it is a duplicate of something, or it will be tried again.
    fn weigh(&mut self, found: Vec<Candidate>, judged: Judged, collection: &str) {
        self.judged.extend(found.iter().map(|candidate| candidate.rank.version));
        self.limit = (self.limit * 4).min(MOST_LIMIT);
        self.ready.record.origin = self.ready.record.origin.or(judged.origin);
        let duplicates = found
            .into_iter()
            .zip(judged.judgements)
            .filter(|(_, judgement)| judgement.verdict.is_duplicate());
        let asking = &self.ready.record.signals;
        let matches: Vec<Match> =
            duplicates.map(|(found, why)| Match::new(collection, asking, found, why)).collect();
        if !matches.is_empty() {
            self.outcome = Some(Outcome::Duplicate { matches });
        }
    }

    fn finish(self) -> Option<(usize, Added)> {
        let simhash = self.ready.simhash().cloned();
        Some((self.place, Added { id: self.ready.record.id, simhash, outcome: self.outcome? }))
    }
}
