//! Who in a batch has to wait for whom.

use super::Collection;
use super::DetectError;
use super::add::Attempt;
use super::judge::Asking;
use super::pace::MOST_CANDIDATES;
use super::signals::Ready;
use leitong_fingerprint::Fingerprint;
use leitong_store::{Probe, Query, Scoring, Signals};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Candidates among which a copy is looked for: those with the most marks in common come first.
const COPIES: usize = 64;

/// Marks that documents of a batch have in common.
#[derive(Default)]
struct Mates {
    /// Who has a mark.
    holders: HashMap<u32, Vec<usize>>,
    marks: Vec<u32>,
}

impl Mates {
    /// Adds a document; the earlier ones that share marks with it, how many, and the fewer of the marks of both.
    fn add(&mut self, signals: &Signals) -> BTreeMap<usize, (u32, u32)> {
        let (place, hashes) = (self.marks.len(), signals.outline.hashes());
        let own = hashes.len() as u32;
        let mut shared: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
        for hash in hashes {
            let holders = self.holders.entry(hash).or_default();
            for &holder in &*holders {
                shared.entry(holder).or_insert((0, own.min(self.marks[holder]))).0 += 1;
            }
            holders.push(place);
        }
        self.marks.push(own);
        shared
    }
}

/// Parts of a batch that can be stored together: whoever may be a copy of an earlier one comes in a later part.
pub(super) fn waves(good: Vec<(usize, Ready)>) -> Vec<Vec<(usize, Ready)>> {
    let mut mates = Mates::default();
    let (mut by_id, mut numbers): (BTreeMap<String, usize>, Vec<usize>) = Default::default();
    let mut waves: Vec<Vec<(usize, Ready)>> = Vec::new();
    for (place, ready) in good {
        let shared = mates.add(&ready.record.signals);
        // The one with the most in common, and of equals the first: a copy has more in common than a page of the same form.
        let close =
            shared.iter().filter(|(_, (count, fewer))| Scoring::DEFAULT.may_be_spared(*count, *fewer));
        let closest = close.max_by_key(|(mate, (count, _))| (*count, Reverse(**mate)));
        let behind_mate = closest.map_or(0, |(mate, _)| numbers[*mate] + 1);
        // Of the same id the later replaces the earlier.
        let behind_id = by_id.get(&ready.record.id).map_or(0, |wave| wave + 1);
        let number = behind_mate.max(behind_id);
        by_id.insert(ready.record.id.clone(), number);
        numbers.push(number);
        if waves.len() <= number {
            waves.resize_with(number + 1, Vec::new);
        }
        waves[number].push((place, ready));
    }
    waves
}

impl Collection {
    /// A document that may be a duplicate of an earlier one of the batch, or has the same id, waits until that is settled:
    /// while the earlier is being judged, the later must not be stored in its place.
    pub(super) fn find_who_waits(&self, attempts: &mut [Attempt]) {
        let (within, by_marks) = (self.settings().distance, self.settings().judge.uses_marks());
        let mut mates = Mates::default();
        let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
        for later in 0..attempts.len() {
            let own = &attempts[later].ready.record;
            let mut waits_for: Vec<usize> = if by_marks {
                let meets = |(count, fewer): (u32, u32)| {
                    count * 1024 >= Scoring::DEFAULT.need(fewer)
                        || Scoring::DEFAULT.may_be_spared(count, fewer)
                };
                let shared = mates.add(&own.signals);
                shared.into_iter().filter(|(_, shared)| meets(*shared)).map(|(mate, _)| mate).collect()
            } else {
                Vec::new()
            };
            let near = |earlier: &usize| meet(&attempts[*earlier].ready, &attempts[later].ready, within);
            waits_for.extend((0..later).filter(near));
            waits_for.extend(by_id.insert(own.id.clone(), later));
            attempts[later].waits_for = waits_for;
        }
    }

    /// Finds out which documents are copies of something stored.
    pub(super) fn find_origins(&self, documents: &mut [(usize, Ready)]) -> Result<(), DetectError> {
        if !self.settings().judge.uses_marks() {
            return Ok(());
        }
        let mut marked: Vec<&mut Ready> = documents
            .iter_mut()
            .map(|(_, ready)| ready)
            .filter(|ready| !ready.record.signals.outline.marks.is_empty())
            .collect();
        marked.chunks_mut(MOST_CANDIDATES / COPIES).try_for_each(|part| self.find_origins_of(part))
    }

    fn find_origins_of(&self, documents: &mut [&mut Ready]) -> Result<(), DetectError> {
        let query = |ready: &&mut Ready| Query {
            probes: vec![Probe::Marks(ready.record.signals.outline.hashes())],
            except: Some(ready.record.id.clone()),
            after: None,
            limit: COPIES,
        };
        let found = self.store().find(self.name(), &documents.iter().map(query).collect::<Vec<_>>())?;
        let cases = documents.iter().zip(&found);
        let cases: Vec<_> =
            cases.map(|(ready, found)| (Asking::from(&**ready), &found.candidates[..])).collect();
        let origins: Vec<Option<u64>> = self.copies(&cases)?;
        for (ready, origin) in documents.iter_mut().zip(origins) {
            ready.record.origin = origin;
        }
        Ok(())
    }
}

/// Whether the fingerprints or keys of one would find the other.
fn meet(a: &Ready, b: &Ready, within: u32) -> bool {
    let distance = a.simhash().zip(b.simhash()).and_then(|(a, b): (&Fingerprint, _)| a.distance(b).ok());
    let keys = &a.record.signals.keys;
    distance.is_some_and(|distance| distance <= within)
        || b.record.signals.keys.iter().any(|key| keys.contains(key))
}
