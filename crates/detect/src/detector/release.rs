//! What becomes of the members when a centre goes.

use super::answer::Added;
use super::cluster::{Unplaced, belongs, is_centre};
use super::pace::{TEXT_BYTES, TEXTS, TextPace, text_length};
use super::signals::cluster_key;
use super::{Collection, DetectError};
use leitong_store::{Candidate, Probe, Query, Record, Space, Stored, Want};
use std::collections::{BTreeMap, BTreeSet};

/// Members assigned anew at a time, and records fetched.
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
    /// another fingerprint. For all ids that have been stored or removed, not only for what was replaced: a centre that has
    /// expired is as good as never stored, but its members still name it. Where there are none this is one question.
    pub(super) fn release_outdated(&self, mut ids: Vec<String>) -> Result<(), DetectError> {
        ids.sort_unstable();
        ids.dedup();
        let have = self.with_members(&ids)?;
        let stored = self.store().get(self.name(), &have, Want::Record)?;
        for (id, stored) in have.iter().zip(stored) {
            match stored.map(|stored| stored.record).filter(is_centre) {
                Some(centre) => self.release_if(id, &[], &|member| !belongs_to(member, &centre))?,
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
            Query { probes, except: Some(id.clone()), after: None, limit: 0 }
        };
        let found = self.store().find(self.name(), &ids.iter().map(query).collect::<Vec<_>>())?;
        let have = ids.iter().zip(found).filter(|(_, found)| found.more);
        Ok(have.map(|(id, _)| id.as_str()).collect())
    }

    /// Assigns members of a centre anew, the oldest first.
    fn release_if(
        &self,
        centre: &str,
        leaving: &[(String, u64)],
        goes: &dyn Fn(&Record) -> bool,
    ) -> Result<(), DetectError> {
        let goes = |record: &Record| record.id != centre && belongs(record, centre) && goes(record);
        self.each_member_page(centre, None, PAGE, &mut |page| {
            let page: Vec<Candidate> = page.into_iter().filter(|one| goes(&one.record)).collect();
            let ids: Vec<&str> = page.iter().map(|one| one.record.id.as_str()).collect();
            self.place_again(&ids, leaving, &goes)?;
            Ok(true)
        })
    }

    /// Puts stored documents into other clusters, with their texts: few are read at a time, for they may be long, and many
    /// stored, for that costs a commit.
    fn place_again(
        &self,
        ids: &[&str],
        leaving: &[(String, u64)],
        goes: &dyn Fn(&Record) -> bool,
    ) -> Result<(), DetectError> {
        let (mut ready, mut bytes): (Vec<Unplaced>, usize) = (Vec::new(), 0);
        let (mut pace, mut rest) = (TextPace::new(TEXTS), ids);
        while !rest.is_empty() {
            let (ids, others) = rest.split_at(pace.limit(rest.len()));
            rest = others;
            let stored = self.store().get(self.name(), ids, Want::Text)?.into_iter().flatten();
            // They may have changed since they were found.
            let own: Vec<Stored> = stored.filter(|stored| goes(&stored.record)).collect();
            let lengths = own.iter().map(|stored| text_length(&stored.record));
            bytes += lengths.clone().sum::<usize>();
            pace.read(lengths);
            ready.extend(own.into_iter().map(|stored| (0, stored.record, Some(stored.version))));
            if bytes >= TEXT_BYTES || ready.len() >= PAGE {
                self.place(std::mem::take(&mut ready), leaving)?;
                bytes = 0;
            }
        }
        self.place(ready, leaving).map(drop)
    }

    /// After documents have been stored without clusters: what was a centre before has left its members alone.
    pub(super) fn release_added<'a>(
        &self,
        added: impl Iterator<Item = &'a Added>,
    ) -> Result<(), DetectError> {
        let stored = added.filter(|added| added.outcome.is_stored());
        self.release_outdated(stored.map(|added| added.id.clone()).collect())
    }

    /// Assigns all documents anew that no longer belong to the centre they name: it is not there or no centre any more, or
    /// is not as far away as they say. It has expired, or a program that was replacing it ended in between. How many centres
    /// have lost members in this way. Reads the whole collection.
    pub fn mend_clusters(&self) -> Result<u64, DetectError> {
        let mut outdated = BTreeSet::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store().scan(self.name(), after.as_deref(), PAGE, Want::Record)?;
            let Some(last) = page.last() else { break };
            after = Some(last.record.id.clone());
            let members = page.iter().map(|stored| &stored.record).filter(|record| !is_centre(record));
            outdated.extend(self.outdated(members)?);
        }
        let count = outdated.len() as u64;
        self.release_outdated(outdated.into_iter().collect())?;
        Ok(count)
    }

    /// The centres that these documents name and do not belong to.
    fn outdated<'a>(
        &self,
        members: impl Iterator<Item = &'a Record>,
    ) -> Result<BTreeSet<String>, DetectError> {
        let mut by_centre: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        for member in members {
            if let Some((centre, _)) = &member.cluster {
                by_centre.entry(centre).or_default().push(member);
            }
        }
        let ids: Vec<&str> = by_centre.keys().copied().collect();
        let stored = self.store().get(self.name(), &ids, Want::Record)?;
        let lost = by_centre.into_iter().zip(stored).filter(|((_, members), stored)| {
            let centre = stored.as_ref().map(|stored| &stored.record).filter(|record| is_centre(record));
            centre.is_none_or(|centre| members.iter().any(|member| !belongs_to(member, centre)))
        });
        Ok(lost.map(|((centre, _), _)| centre.to_owned()).collect())
    }
}

/// Whether a member is as far from its centre as it says.
fn belongs_to(member: &Record, centre: &Record) -> bool {
    member.cluster.as_ref().is_some_and(|(_, distance)| fits(member, *distance, centre))
}

/// Whether a document is this far from a centre; without a SimHash, whether it has the same letters.
pub(super) fn fits(member: &Record, distance: u32, centre: &Record) -> bool {
    match (member.signals.near(Space::DOCUMENTS), centre.signals.near(Space::DOCUMENTS)) {
        (Some(member), Some(centre)) => member.distance(centre) == Ok(distance),
        (Some(_), None) => false,
        (None, _) => member.signals.exact.is_some() && member.signals.exact == centre.signals.exact,
    }
}
