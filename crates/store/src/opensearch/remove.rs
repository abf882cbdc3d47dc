//! Removing records, each exactly as it was seen.

use super::OpenSearch;
use super::add::{STATE, State};
use super::changes::{Change, Outcome, Over, What};
use super::http::{Body, Trouble};
use super::layout::document_id;
use super::requests::Place;
use super::rooms::{Room, index_of};
use crate::StoreError;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use ureq::http::Method;

/// A removal on its way.
#[derive(Clone, Debug, Default)]
struct Removal {
    /// The terms of the index's shards before anything was tried.
    terms: u64,
    /// The record as it was last seen, with its version.
    seen: Option<(Place, u64)>,
    /// It was tried, and something else seemed to be there: whether an answer had been lost.
    conflict: Option<bool>,
    /// The version that was removed, or none if there was nothing.
    answer: Option<Option<u64>>,
}

impl OpenSearch {
    /// Removes records by id; the version of each that was there.
    pub(crate) fn remove_all(
        &self,
        room: &Room,
        ids: &[&str],
        now: i64,
    ) -> Result<Vec<Option<u64>>, Trouble> {
        let terms = self.known_terms(room)?;
        let mut removals = vec![Removal { terms, ..Removal::default() }; ids.len()];
        while removals.iter().any(|removal| removal.answer.is_none()) {
            let done = self.remove_round(room, ids, &mut removals, now);
            let changed =
                |removal: &Removal| removal.conflict.is_some() || removal.answer.flatten().is_some();
            let changed = removals.iter().any(changed);
            done.map_err(|trouble| if changed { trouble.after_a_change() } else { trouble })?;
        }
        Ok(removals.into_iter().filter_map(|removal| removal.answer).collect())
    }

    /// Looks at what is not removed yet, and removes it if it stays as it was seen.
    fn remove_round(
        &self,
        room: &Room,
        ids: &[&str],
        removals: &mut [Removal],
        now: i64,
    ) -> Result<(), Trouble> {
        // The same id twice waits for the next round.
        let mut ids_seen = HashSet::new();
        let mut open: Vec<(&str, &mut Removal)> = (ids.iter().copied().zip(removals))
            .filter(|(id, removal)| removal.answer.is_none() && ids_seen.insert(*id))
            .collect();
        let documents: Vec<String> = open.iter().map(|(id, _)| document_id(id)).collect();
        let got = self.server.get(&room.index, &documents, &STATE)?;
        for ((id, removal), got) in open.iter_mut().zip(got) {
            let state = got.filter(|got| got.source["id"] == *id).map(|got| State::of(&got, now));
            // What has expired, and what is only announced, is not there.
            self.look_again(room, removal, state.and_then(|state| Some((state.place, state.visible?))))?;
        }
        open.retain(|(_, removal)| removal.answer.is_none());
        let change = |(id, removal): &(&str, &mut Removal)| {
            let (place, _) = removal.seen?;
            Some(Change { id: document_id(id), over: Over::This(place), what: What::Delete })
        };
        let changes: Vec<Change> = open.iter().filter_map(change).collect();
        for ((_, removal), outcome) in open.into_iter().zip(self.server.change(&room.index, &changes)?) {
            match outcome {
                Outcome::Done { .. } => removal.answer = Some(removal.seen.map(|(_, version)| version)),
                Outcome::Conflict { repeated } => {
                    removal.conflict = Some(repeated || removal.conflict == Some(true));
                }
            }
        }
        Ok(())
    }

    /// What follows for a removal from what is there now: an answer, or another try.
    fn look_again(
        &self,
        room: &Room,
        removal: &mut Removal,
        there: Option<(Place, u64)>,
    ) -> Result<(), Trouble> {
        let before = removal.seen.map(|(_, version)| version);
        if removal.conflict.is_none() || there.map(|(_, version)| version) == before {
            // Nothing was tried, or what was tried has not been done: another may have announced something meanwhile.
            (removal.seen, removal.answer) = (there, there.is_none().then_some(None));
            return Ok(());
        }
        let perhaps = removal.conflict == Some(true) || self.may_have_been_repeated(room, removal.terms)?;
        match there {
            // Somebody may have stored it anew behind our removal. To remove that too would be to remove twice.
            Some(_) if perhaps => {
                let (server, why) = (self.server.name(), "an answer was lost".to_owned());
                return Err(StoreError::Uncertain { server, why }.into());
            }
            Some(_) => (removal.seen, removal.conflict) = (there, None),
            // It was there and is gone: by us, or by somebody who removed it at the same time.
            None => removal.answer = Some(before.filter(|_| perhaps)),
        }
        Ok(())
    }

    /// The terms of an index as they were when somebody last asked.
    fn known_terms(&self, room: &Room) -> Result<u64, Trouble> {
        match room.terms.load(Ordering::Relaxed) {
            0 => self.terms(room),
            known => Ok(known),
        }
    }

    /// Whether the servers have lost one of them since the index had these terms. They send changes again to the one that takes
    /// its place, and a change that had reached that one before is a conflict with itself then.
    fn may_have_been_repeated(&self, room: &Room, terms: u64) -> Result<bool, Trouble> {
        Ok(self.terms(room)? > terms)
    }

    /// The terms of an index's shards, all together: they grow whenever a shard changes hands. None where that may not be asked.
    fn terms(&self, room: &Room) -> Result<u64, Trouble> {
        let path = format!(
            "/_cluster/state/metadata/{}?filter_path=metadata.indices.*.primary_terms",
            index_of(&room.index)
        );
        match self.server.read(&Method::GET, &path, Body::None) {
            Ok(state) => {
                let indices = state["metadata"]["indices"].as_object().into_iter().flatten();
                let terms = indices.filter_map(|(_, index)| index["primary_terms"].as_object()).flatten();
                let terms = terms.filter_map(|(_, term)| term.as_u64()).sum();
                room.terms.fetch_max(terms, Ordering::Relaxed);
                Ok(terms)
            }
            Err(Trouble::Store(StoreError::Refused { .. })) => Ok(0),
            Err(trouble) => Err(trouble),
        }
    }
}
