//! Who in a batch is a copy of whom, and who has to wait for whom.

use super::Collection;
use super::DetectError;
use super::add::Attempt;
use super::judge::Asking;
use super::pace::MOST_CANDIDATES;
use super::signals::Ready;
use super::verify::{Newcomer, Original};
use crate::verify::COPIES;
use leitong_fingerprint::Fingerprint;
use leitong_store::{Candidate, Probe, Query, Scoring, Signals};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// An earlier document of a batch that has marks in common with one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mate {
    /// Where it stands in the batch.
    pub(super) place: usize,
    /// How many marks both have.
    pub(super) shared: u32,
    /// How many the one has that has fewer.
    fewer: u32,
}

impl Mate {
    /// Whether a store would propose it, if all that is shared is rare.
    fn is_close(&self) -> bool {
        let scoring = Scoring::DEFAULT;
        self.shared.saturating_mul(scoring.weight(1)) >= scoring.need(self.fewer)
            || scoring.may_be_spared(self.shared, self.fewer)
    }
}

/// Marks that documents of a batch have in common.
#[derive(Default)]
struct Mates {
    /// Who has a mark.
    holders: HashMap<u32, Vec<usize>>,
    marks: Vec<u32>,
    /// How many marks each has in common with the one looked at.
    shared: Vec<u32>,
}

impl Mates {
    /// Adds a document; the earlier ones that are close to it, in order.
    fn add(&mut self, signals: &Signals) -> Vec<Mate> {
        let (place, hashes) = (self.marks.len(), signals.outline.hashes());
        let own = hashes.len() as u32;
        let mut met: Vec<usize> = Vec::new();
        for hash in hashes {
            let holders = self.holders.entry(hash).or_default();
            for &holder in &*holders {
                if self.shared[holder] == 0 {
                    met.push(holder);
                }
                self.shared[holder] += 1;
            }
            holders.push(place);
        }
        met.sort_unstable();
        let mates = met.into_iter().map(|place| Mate {
            place,
            shared: std::mem::take(&mut self.shared[place]),
            fewer: own.min(self.marks[place]),
        });
        let close = mates.filter(Mate::is_close).collect();
        self.marks.push(own);
        self.shared.push(0);
        close
    }
}

/// A part of a batch that is stored together: documents, and for each the place of the one it is a copy of.
pub(super) type Wave = Vec<(usize, Ready, Option<usize>)>;

/// Parts of a batch, one to be stored after the other: whoever is a copy of another comes after the first of their group,
/// whose version becomes its origin.
fn waves(documents: Vec<(usize, Ready)>, originals: Vec<Option<Original>>) -> Vec<Wave> {
    let (mut by_id, mut numbers): (BTreeMap<String, usize>, Vec<usize>) = Default::default();
    // Of each, the first of its group if that is in the batch.
    let mut firsts: Vec<Option<usize>> = Vec::with_capacity(documents.len());
    let mut origins: Vec<Option<u64>> = Vec::with_capacity(documents.len());
    let places: Vec<usize> = documents.iter().map(|(place, _)| *place).collect();
    let mut waves: Vec<Wave> = Vec::new();
    for ((place, mut ready), original) in documents.into_iter().zip(originals) {
        let (first, origin) = match original {
            Some(Original::Stored(origin)) => (None, Some(origin)),
            Some(Original::Mate(mate)) if origins[mate].is_some() => (None, origins[mate]),
            Some(Original::Mate(mate)) => (Some(firsts[mate].unwrap_or(mate)), None),
            None => (None, None),
        };
        let behind_first = first.map_or(0, |first: usize| numbers[first] + 1);
        // Of the same id the later replaces the earlier.
        let behind_id = by_id.get(&ready.record.id).map_or(0, |wave| wave + 1);
        let number = behind_first.max(behind_id);
        by_id.insert(ready.record.id.clone(), number);
        numbers.push(number);
        firsts.push(first);
        origins.push(origin);
        ready.record.origin = origin;
        if waves.len() <= number {
            waves.resize_with(number + 1, Vec::new);
        }
        waves[number].push((place, ready, first.map(|first| places[first])));
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
            let mut waits_for: Vec<usize> = match by_marks {
                true => mates.add(&own.signals).into_iter().map(|mate| mate.place).collect(),
                false => Vec::new(),
            };
            let near = |earlier: &usize| meet(&attempts[*earlier].ready, &attempts[later].ready, within);
            waits_for.extend((0..later).filter(near));
            waits_for.extend(by_id.insert(own.id.clone(), later));
            attempts[later].waits_for = waits_for;
        }
    }

    /// Finds out which documents are copies of something stored, or of one another, and in which parts to store them.
    pub(super) fn find_copies(&self, documents: Vec<(usize, Ready)>) -> Result<Vec<Wave>, DetectError> {
        let mut all = Mates::default();
        let mates = |(_, ready): &(usize, Ready)| {
            let mut mates = all.add(&ready.record.signals);
            // What is to be replaced will not be there.
            mates.retain(|mate| documents[mate.place].1.record.id != ready.record.id);
            mates.sort_by_key(|mate| Reverse(mate.shared));
            mates.truncate(COPIES);
            mates
        };
        let mates: Vec<Vec<Mate>> = documents.iter().map(mates).collect();
        let ready: Vec<&Ready> = documents.iter().map(|(_, ready)| ready).collect();
        let found = self.alike(&ready)?;
        let newcomers = ready.iter().zip(&found).zip(mates);
        let newcomers: Vec<Newcomer<'_>> =
            newcomers.map(|((ready, found), mates)| newcomer(ready, found, mates)).collect();
        let originals = self.originals(&newcomers)?;
        Ok(waves(documents, originals))
    }

    /// Finds out which documents are copies of something stored.
    pub(super) fn find_origins(&self, documents: &mut [(usize, Ready)]) -> Result<(), DetectError> {
        let ready: Vec<&Ready> = documents.iter().map(|(_, ready)| ready).collect();
        let found = self.alike(&ready)?;
        let newcomers = ready.iter().zip(&found);
        let newcomers: Vec<Newcomer<'_>> =
            newcomers.map(|(ready, found)| newcomer(ready, found, Vec::new())).collect();
        let originals = self.originals(&newcomers)?;
        for ((_, ready), original) in documents.iter_mut().zip(originals) {
            ready.record.origin = match original {
                Some(Original::Stored(origin)) => Some(origin),
                Some(Original::Mate(_)) | None => None,
            };
        }
        Ok(())
    }

    /// What is stored that each of these documents may be a copy of, if documents are found by marks.
    fn alike(&self, documents: &[&Ready]) -> Result<Vec<Vec<Candidate>>, DetectError> {
        let mut all = vec![Vec::new(); documents.len()];
        if !self.settings().judge.uses_marks() {
            return Ok(all);
        }
        let marked: Vec<usize> =
            (0..all.len()).filter(|&at| !documents[at].record.signals.outline.marks.is_empty()).collect();
        for part in marked.chunks(MOST_CANDIDATES / COPIES) {
            let query = |&at: &usize| {
                let record = &documents[at].record;
                let probes = vec![Probe::Marks(record.signals.outline.hashes())];
                Query { probes, except: Some(record.id.clone()), after: None, limit: COPIES }
            };
            let found = self.store().find(self.name(), &part.iter().map(query).collect::<Vec<_>>())?;
            part.iter().zip(found).for_each(|(&at, found)| all[at] = found.candidates);
        }
        Ok(all)
    }
}

fn newcomer<'a>(ready: &'a Ready, found: &'a [Candidate], mates: Vec<Mate>) -> Newcomer<'a> {
    // What is stored under its id is replaced: it is nothing to it.
    Newcomer { asking: Asking { id: None, ..Asking::from(ready) }, found, mates }
}

/// Whether the fingerprints or keys of one would find the other.
fn meet(a: &Ready, b: &Ready, within: u32) -> bool {
    let distance = a.simhash().zip(b.simhash()).and_then(|(a, b): (&Fingerprint, _)| a.distance(b).ok());
    let keys = &a.record.signals.keys;
    distance.is_some_and(|distance| distance <= within)
        || b.record.signals.keys.iter().any(|key| keys.contains(key))
}
