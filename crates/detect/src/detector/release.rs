//! What becomes of the members when a centre goes.

use super::answer::{Added, Outcome};
use super::cluster::{belongs, is_centre};
use super::signals::cluster_key;
use super::{Collection, DetectError};
use leitong_store::{Probe, Query, Record, Want};
use std::collections::BTreeSet;

/// Members assigned anew at a time.
const PAGE: usize = 1024;

impl Collection {
    /// Those of the ids that are centres.
    pub(super) fn centres_among(&self, ids: &[&str]) -> Result<Vec<String>, DetectError> {
        let stored = self.store().get(self.name(), ids, Want::Record)?;
        let centres = stored.into_iter().flatten().map(|stored| stored.record).filter(is_centre);
        Ok(centres.map(|record| record.id).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Assigns the members of these centres anew, as if the centres were not there; the centres themselves stay as they are.
    pub(super) fn release(&self, centres: &[String]) -> Result<(), DetectError> {
        if centres.is_empty() {
            return Ok(());
        }
        // Most have no member but themselves: one round trip tells.
        let query = |centre: &String| {
            let probes = vec![Probe::Key(cluster_key(centre))];
            Query { probes, except: Some(centre.clone()), after: None, limit: 1 }
        };
        let found = self.store().find(self.name(), &centres.iter().map(query).collect::<Vec<_>>())?;
        let have = centres.iter().zip(found).filter(|(_, found)| !found.candidates.is_empty());
        let have: Vec<&str> = have.map(|(centre, _)| centre.as_str()).collect();
        let versions = self.store().get(self.name(), &have, Want::Record)?;
        let leaving: Vec<(String, u64)> = have
            .iter()
            .zip(versions)
            .map(|(id, stored)| ((*id).to_owned(), stored.map_or(u64::MAX, |stored| stored.version)))
            .collect();
        have.iter().try_for_each(|centre| self.release_one(centre, &leaving))
    }

    fn release_one(&self, centre: &str, leaving: &[(String, u64)]) -> Result<(), DetectError> {
        let mut after = None;
        loop {
            let (page, more) = self.member_page(centre, after, PAGE)?;
            after = page.last().map(|last| last.rank).or(after);
            let ids = page.iter().map(|candidate| candidate.record.id.as_str()).filter(|id| *id != centre);
            let members = self.store().get(self.name(), &ids.collect::<Vec<_>>(), Want::Text)?;
            let members = members.into_iter().flatten().map(|stored| stored.record);
            let own: Vec<(usize, Record)> =
                members.filter(|record| belongs(record, centre)).enumerate().collect();
            self.place(own, leaving)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// After documents have been stored without clusters: those that replaced centres have left their members alone.
    pub(super) fn release_replaced<'a>(
        &self,
        added: impl Iterator<Item = &'a Added>,
    ) -> Result<(), DetectError> {
        let replaced =
            added.filter(|added| matches!(added.outcome, Outcome::Stored { replaced: Some(_), .. }));
        let ids: BTreeSet<String> = replaced.map(|added| added.id.clone()).collect();
        self.release(&ids.into_iter().collect::<Vec<_>>())
    }

    /// Assigns all documents anew whose centre is no longer there or is no longer one: it has expired, or a program that
    /// was replacing it ended in between. How many centres were missing. Reads the whole collection.
    pub fn mend_clusters(&self) -> Result<u64, DetectError> {
        let mut missing = BTreeSet::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store().scan(self.name(), after.as_deref(), PAGE, Want::Record)?;
            let Some(last) = page.last() else { break };
            after = Some(last.record.id.clone());
            let centres = page.into_iter().filter_map(|stored| stored.record.cluster);
            let centres: BTreeSet<String> = centres.map(|(centre, _)| centre).collect();
            let there = self.centres_among(&centres.iter().map(String::as_str).collect::<Vec<_>>())?;
            missing.extend(centres.into_iter().filter(|centre| there.binary_search(centre).is_err()));
        }
        self.release(&missing.iter().cloned().collect::<Vec<_>>())?;
        Ok(missing.len() as u64)
    }
}
