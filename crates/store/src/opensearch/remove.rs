//! Removing records, each exactly as it was seen.

use super::OpenSearch;
use super::add::{STATE, State};
use super::changes::{Change, Outcome, Over, What};
use super::http::{Body, Trouble};
use super::layout::document_id;
use super::requests::Place;
use super::rooms::{Room, index_of};
use crate::StoreError;
use serde_json::Value;
use std::collections::HashSet;
use ureq::http::Method;

/// A removal on its way.
#[derive(Clone, Debug, Default)]
struct Removal {
    /// What was there when it was last tried, and whether an answer was lost then.
    tried: Option<(Place, u64, bool)>,
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
        let mut removals = vec![Removal::default(); ids.len()];
        while removals.iter().any(|removal| removal.answer.is_none()) {
            let changed = |removal: &Removal| {
                matches!(removal.tried, Some((_, _, true))) || matches!(removal.answer, Some(Some(_)))
            };
            self.remove_round(room, ids, &mut removals, now).map_err(|trouble| {
                if removals.iter().any(changed) { trouble.after_a_change() } else { trouble }
            })?;
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
        let mut seen = HashSet::new();
        let mut open: Vec<(&str, &mut Removal)> = (ids.iter().copied().zip(removals))
            .filter(|(id, removal)| removal.answer.is_none() && seen.insert(*id))
            .collect();
        let documents: Vec<String> = open.iter().map(|(id, _)| document_id(id)).collect();
        let got = self.server.get(&room.index, &documents, &STATE)?;
        for ((id, removal), got) in open.iter_mut().zip(got) {
            let state = got.filter(|got| got.source["id"] == *id).map(|got| State::of(&got, now));
            // What has expired, and what is only announced, is not there.
            let there = state.and_then(|state| Some((state.place, state.visible?)));
            self.look_again(room, removal, there)?;
        }
        open.retain(|(_, removal)| removal.answer.is_none());
        let change = |(id, removal): &(&str, &mut Removal)| {
            let (place, ..) = removal.tried?;
            Some(Change { id: document_id(id), over: Over::This(place), what: What::Delete })
        };
        let changes: Vec<Change> = open.iter().filter_map(change).collect();
        for ((_, removal), outcome) in open.into_iter().zip(self.server.change(&room.index, &changes)?) {
            let Some((_, version, lost)) = &mut removal.tried else { continue };
            match outcome {
                Outcome::Done { .. } => removal.answer = Some(Some(*version)),
                Outcome::Conflict { repeated } => *lost = repeated,
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
        match (removal.tried, there) {
            // Somebody may have stored it anew behind our removal. To remove that too would be to remove twice.
            (Some((_, before, true)), Some((_, version))) if version != before => {
                let (server, why) = (self.server.name(), "an answer was lost".to_owned());
                return Err(StoreError::Uncertain { server, why }.into());
            }
            // Perhaps it was not removed but announced to be replaced; it is the same record still.
            (_, Some((place, version))) => removal.tried = Some((place, version, false)),
            (Some((place, before, lost)), None) => {
                // It was there and is gone: by us, or by somebody who removed it at the same time.
                let by_us = lost || self.may_have_been_repeated(room, place)?;
                removal.answer = Some(by_us.then_some(before));
            }
            (None, None) => removal.answer = Some(None),
        }
        Ok(())
    }

    /// Whether the servers have lost one of them since a document was seen. They send changes again to the one that takes
    /// its place, and a change that had reached that one before is a conflict with itself then.
    fn may_have_been_repeated(&self, room: &Room, seen: Place) -> Result<bool, Trouble> {
        let path = format!(
            "/_cluster/state/metadata/{}?filter_path=metadata.indices.*.primary_terms",
            index_of(&room.index)
        );
        match self.server.read(&Method::GET, &path, Body::None) {
            Ok(state) => {
                let indices = state["metadata"]["indices"].as_object().into_iter().flatten();
                let terms = indices.filter_map(|(_, index)| index["primary_terms"].as_object()).flatten();
                Ok(terms.filter_map(|(_, term)| Value::as_u64(term)).any(|term| term > seen.primary_term))
            }
            // Not everybody may ask.
            Err(Trouble::Store(StoreError::Refused { .. })) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}
