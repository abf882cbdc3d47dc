//! Storing documents: always, only new ones, or unless something stored is a duplicate.
//!
//! The last is optimistic: a document goes to the store at once, with nothing judged. The store refuses where a probe finds
//! something that has not been judged, and hands it back; if none of it is a duplicate, the document goes again with those
//! versions named, and so on. No lock is held while judging, and of two simultaneous duplicates the later is shown the earlier.

use super::answer::{Added, Match, Outcome};
use super::document::{Document, Evidence, When};
use super::evidence::Pair;
use super::judge::Asking;
use super::signals::{Ready, probes};
use super::{Collection, DetectError, DocumentError};
use crate::verdict::Judgement;
use leitong_store::{Addition, Candidate, Policy, Record};
use std::collections::BTreeMap;

/// Candidates the store hands back the first time; more with every further round.
const FIRST_LIMIT: usize = 16;
const MOST_LIMIT: usize = 4096;
/// Documents that are stored together where the order has to be kept by waiting: finding who waits is quadratic.
const TOGETHER: usize = 1024;

/// A document on its way into the store.
struct Attempt {
    ready: Ready,
    /// Where it stands in the batch.
    place: usize,
    judged: Vec<u64>,
    limit: usize,
    /// Attempts before it that must be settled first.
    waits_for: Vec<usize>,
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
            When::Replace => self.add_by(good, &Policy::Replace)?,
            When::New => self.add_by(good, &Policy::New)?,
            When::UnlessDuplicate => self.add_unless(good, evidence)?,
        };
        self.release_added(added.iter().map(|(_, added)| added))?;
        for (place, added) in added {
            answers[place] = Some(Ok(added));
        }
        Ok(answers.into_iter().flatten().collect())
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
                find_who_waits(attempts, self.settings().distance);
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
        let additions = open.iter().map(|attempt| attempt.addition(within)).collect();
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

impl Attempt {
    fn new(place: usize, ready: Ready) -> Self {
        Self { ready, place, judged: Vec::new(), limit: FIRST_LIMIT, waits_for: Vec::new(), outcome: None }
    }

    fn addition(&self, within: u32) -> Addition {
        let record: Record = self.ready.record.clone();
        let (probes, judged) = (probes(&record.signals, within), self.judged.clone());
        Addition::new(record, Policy::Unless { probes, judged, limit: self.limit })
    }

    /// Either it is a duplicate of something, or it will be tried again.
    fn weigh(&mut self, found: Vec<Candidate>, judged: Vec<Judgement>, collection: &str) {
        self.judged.extend(found.iter().map(|candidate| candidate.rank.version));
        self.limit = (self.limit * 4).min(MOST_LIMIT);
        let duplicates =
            found.into_iter().zip(judged).filter(|(_, judgement)| judgement.verdict.is_duplicate());
        let matches: Vec<Match> = duplicates.map(|(found, why)| Match::new(collection, found, why)).collect();
        if !matches.is_empty() {
            self.outcome = Some(Outcome::Duplicate { matches });
        }
    }

    fn finish(self) -> Option<(usize, Added)> {
        let simhash = self.ready.simhash().cloned();
        Some((self.place, Added { id: self.ready.record.id, simhash, outcome: self.outcome? }))
    }
}

/// A document that is near an earlier one of the batch, or has the same id, waits until that is settled: while the earlier is
/// being judged, the later must not be stored in its place.
fn find_who_waits(attempts: &mut [Attempt], within: u32) {
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for later in 0..attempts.len() {
        let near = |earlier: &usize| meet(&attempts[*earlier].ready, &attempts[later].ready, within);
        let mut waits_for: Vec<usize> = (0..later).filter(near).collect();
        waits_for.extend(by_id.insert(attempts[later].ready.record.id.clone(), later));
        attempts[later].waits_for = waits_for;
    }
}

/// Whether a probe of one would find the other.
fn meet(a: &Ready, b: &Ready, within: u32) -> bool {
    let distance = a.simhash().zip(b.simhash()).and_then(|(a, b)| a.distance(b).ok());
    let keys = &a.record.signals.keys;
    distance.is_some_and(|distance| distance <= within)
        || b.record.signals.keys.iter().any(|key| keys.contains(key))
}
