//! What becomes of the members when a centre goes.

use super::answer::{Added, Outcome};
use super::cluster::{belongs, is_centre};
use super::signals::cluster_key;
use super::{Collection, DetectError};
use leitong_store::{Probe, Query, Record, Space, Want};
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
        let have = self.with_members(centres)?;
        let stored = self.store().get(self.name(), &have, Want::Record)?;
        let versions = stored.into_iter().map(|stored| stored.map_or(u64::MAX, |stored| stored.version));
        let leaving: Vec<(String, u64)> = have.iter().map(|id| (*id).to_owned()).zip(versions).collect();
        have.iter().try_for_each(|centre| self.release_if(centre, &leaving, &|_| true))
    }

    /// Assigns those members of these ids anew that no longer belong to them: because they are no longer centres, or have
    /// another fingerprint.
    pub(super) fn release_outdated(&self, mut ids: Vec<String>) -> Result<(), DetectError> {
        ids.sort_unstable();
        ids.dedup();
        let have = self.with_members(&ids)?;
        let stored = self.store().get(self.name(), &have, Want::Record)?;
        for (id, stored) in have.iter().zip(stored) {
            match stored.map(|stored| stored.record).filter(is_centre) {
                Some(centre) => self.release_if(id, &[], &|member| !fits(member, &centre))?,
                None => self.release_if(id, &[((*id).to_owned(), u64::MAX)], &|_| true)?,
            }
        }
        Ok(())
    }

    /// Those of the ids that some other document names as its centre.
    fn with_members<'a>(&self, ids: &'a [String]) -> Result<Vec<&'a str>, DetectError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let query = |id: &String| {
            let probes = vec![Probe::Key(cluster_key(id))];
            Query { probes, except: Some(id.clone()), after: None, limit: 1 }
        };
        let found = self.store().find(self.name(), &ids.iter().map(query).collect::<Vec<_>>())?;
        let have = ids.iter().zip(found).filter(|(_, found)| !found.candidates.is_empty());
        Ok(have.map(|(id, _)| id.as_str()).collect())
    }

    /// Assigns members of a centre anew, the oldest first.
    fn release_if(
        &self,
        centre: &str,
        leaving: &[(String, u64)],
        goes: &dyn Fn(&Record) -> bool,
    ) -> Result<(), DetectError> {
        let mut after = None;
        loop {
            let (page, more) = self.member_page(centre, after, PAGE)?;
            after = page.last().map(|last| last.rank).or(after);
            let ids = page.iter().map(|candidate| candidate.record.id.as_str()).filter(|id| *id != centre);
            let members = self.store().get(self.name(), &ids.collect::<Vec<_>>(), Want::Text)?;
            let own = members
                .into_iter()
                .flatten()
                .filter(|stored| belongs(&stored.record, centre) && goes(&stored.record));
            let own = own.map(|stored| (0, stored.record, Some(stored.version)));
            self.place(own.collect(), leaving, &mut Vec::new())?;
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
        self.release_outdated(replaced.map(|added| added.id.clone()).collect())
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
        let count = missing.len() as u64;
        self.release_outdated(missing.into_iter().collect())?;
        Ok(count)
    }
}

/// Whether a member is as far from its centre as it says.
fn fits(member: &Record, centre: &Record) -> bool {
    let simhash = |record: &Record| record.signals.near(Space::DOCUMENTS).cloned();
    let recorded = member.cluster.as_ref().map(|(_, distance)| *distance);
    match (simhash(member), simhash(centre)) {
        (Some(member), Some(centre)) => member.distance(&centre).ok() == recorded,
        (None, None) => member.signals.exact == centre.signals.exact,
        _ => false,
    }
}
