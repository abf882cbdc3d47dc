//! Streaming Single-Pass: a document joins the nearest centre within the distance, or becomes one.
//!
//! Every document of a cluster carries the id of its centre, its distance from it, and a key by which the cluster is found;
//! the SimHash of a centre is also in a space of its own. A document first goes to the store as a centre, unless there is one
//! near: that step is atomic, so two near documents never both become centres. Where the store refuses, it hands back the
//! nearest centre, and the document is stored as its member. In the time between, the centre may go away: so members look
//! whether it is still there after they are stored, and whoever removes a centre looks for members after it is gone
//! (`release`). One of the two sees the other, whatever the order.

use super::answer::{Assigned, Cluster, Member};
use super::document::Document;
use super::signals::{KEY_EXACT, cluster_key, set_cluster};
use super::{Collection, DetectError, DocumentError};
use leitong_store::{Added, Addition, Candidate, Policy, Probe, Query, Rank, Record, Space, Want};
use std::cmp::Reverse;

/// Records fetched at a time.
const PAGE: usize = 1024;

/// A record on its way into a cluster.
struct Placing {
    record: Record,
    place: usize,
    judged: Vec<u64>,
    limit: usize,
}

/// The cluster a record is to join, found in one atomic look.
struct Joining {
    placing: Placing,
    centre: String,
    distance: u32,
    /// The centre's version, where it is known.
    version: Option<u64>,
}

impl Collection {
    /// Stores documents, each in the cluster of the nearest centre within the collection's distance (the oldest of several),
    /// or as a centre of its own if there is none, in order. A document of the same id is replaced; if it was a centre, its
    /// members are assigned anew before, as [`Collection::remove`] does it.
    ///
    /// A document without a SimHash joins the cluster of a stored one with the same letters, or becomes a centre that others
    /// join for being equal.
    pub fn assign(
        &self,
        documents: Vec<Document>,
    ) -> Result<Vec<Result<Assigned, DocumentError>>, DetectError> {
        let mut answers: Vec<Result<Option<Assigned>, DocumentError>> = Vec::with_capacity(documents.len());
        let mut records = Vec::new();
        for (place, ready) in self.ready(documents).into_iter().enumerate() {
            answers.push(ready.map(|ready| {
                records.push((place, ready.record));
                None
            }));
        }
        let ids: Vec<&str> = records.iter().map(|(_, record)| record.id.as_str()).collect();
        let centres = self.centres_among(&ids)?;
        self.release(&centres)?;
        for (place, assigned) in self.place(records, &[])? {
            answers[place] = Ok(Some(assigned));
        }
        // Whoever joined a centre between the last look and its replacement.
        self.release(&centres)?;
        Ok(answers.into_iter().filter_map(Result::transpose).collect())
    }

    /// Puts records into clusters other than those of these centres, which are about to go: id and version of each.
    pub(super) fn place(
        &self,
        records: Vec<(usize, Record)>,
        leaving: &[(String, u64)],
    ) -> Result<Vec<(usize, Assigned)>, DetectError> {
        let judged: Vec<u64> = leaving.iter().map(|(_, version)| *version).collect();
        let start = |(place, record)| Placing { record, place, judged: judged.clone(), limit: 1 };
        let mut open: Vec<Placing> = records.into_iter().map(start).collect();
        let mut done = Vec::new();
        while !open.is_empty() {
            let (joining, mut again) = self.try_as_centres(open, leaving, &mut done)?;
            again.extend(self.join(joining, &mut done)?);
            open = again;
        }
        Ok(done)
    }

    /// Stores records as centres where none is near. The others, with what is near; and those to be tried again.
    fn try_as_centres(
        &self,
        open: Vec<Placing>,
        leaving: &[(String, u64)],
        done: &mut Vec<(usize, Assigned)>,
    ) -> Result<(Vec<Joining>, Vec<Placing>), DetectError> {
        let additions = open.iter().map(|placing| self.as_centre(placing)).collect();
        let (mut joining, mut again) = (Vec::new(), Vec::new());
        for (mut placing, added) in open.into_iter().zip(self.store().add(self.name(), additions)?) {
            match added {
                Added::Stored { version, .. } | Added::Exists { version } => {
                    let id = placing.record.id;
                    done.push((placing.place, Assigned { centre: id.clone(), id, version, distance: 0 }));
                }
                Added::Unjudged(found) => {
                    let nearest =
                        found.candidates.iter().find_map(|one| cluster_of(one, &placing.record, leaving));
                    if let Some((centre, distance, version)) = nearest {
                        joining.push(Joining { placing, centre, distance, version });
                    } else {
                        placing.judged.extend(found.candidates.iter().map(|one| one.rank.version));
                        placing.limit = (placing.limit * 4).min(PAGE);
                        again.push(placing);
                    }
                }
            }
        }
        Ok((joining, again))
    }

    fn as_centre(&self, placing: &Placing) -> Addition {
        let mut record = placing.record.clone();
        let id = record.id.clone();
        set_cluster(&mut record, Some((id, 0)));
        let probes = self.cluster_probes(&record);
        let (judged, limit) = (placing.judged.clone(), placing.limit);
        Addition { record, policy: Policy::Unless { probes, judged, limit } }
    }

    /// What finds the clusters a record may join: centres near it, or equal texts where it has no SimHash.
    fn cluster_probes(&self, record: &Record) -> Vec<Probe> {
        match record.signals.near(Space::DOCUMENTS) {
            Some(simhash) => vec![Probe::Near {
                space: Space::CENTRES,
                fingerprint: simhash.clone(),
                within: self.settings().distance,
            }],
            None => {
                let exact = record.signals.keys.iter().filter(|key| key.kind == KEY_EXACT);
                exact.map(|&key| Probe::Key(key)).collect()
            }
        }
    }

    /// Stores records as members. Those whose centre has gone away meanwhile, to be tried again.
    fn join(
        &self,
        joining: Vec<Joining>,
        done: &mut Vec<(usize, Assigned)>,
    ) -> Result<Vec<Placing>, DetectError> {
        if joining.is_empty() {
            return Ok(Vec::new());
        }
        let as_member = |one: &Joining| {
            let mut record = one.placing.record.clone();
            set_cluster(&mut record, Some((one.centre.clone(), one.distance)));
            Addition { record, policy: Policy::Replace }
        };
        let added = self.store().add(self.name(), joining.iter().map(as_member).collect())?;
        let centres: Vec<&str> = joining.iter().map(|one| one.centre.as_str()).collect();
        let centres = self.store().get(self.name(), &centres, Want::Record)?;
        let mut again = Vec::new();
        for ((one, added), centre) in joining.into_iter().zip(added).zip(centres) {
            let still = centre.is_some_and(|centre| {
                is_centre(&centre.record) && one.version.is_none_or(|version| version == centre.version)
            });
            match added {
                Added::Stored { version, .. } | Added::Exists { version } if still => {
                    let Joining { placing, centre, distance, .. } = one;
                    done.push((placing.place, Assigned { id: placing.record.id, version, centre, distance }));
                }
                _ => again.push(one.placing),
            }
        }
        Ok(again)
    }

    /// The clusters in the order of their centres' ids, from the first behind `after`. The centres are the deduplicated set.
    pub fn clusters(&self, after: Option<&str>, limit: usize) -> Result<Vec<Cluster>, DetectError> {
        let mut found: Vec<Cluster> = Vec::new();
        let mut after = after.map(str::to_owned);
        while found.len() < limit {
            let page = self.store().scan(self.name(), after.as_deref(), PAGE, Want::Record)?;
            let Some(last) = page.last() else { break };
            after = Some(last.record.id.clone());
            let centres = page.into_iter().map(|stored| stored.record).filter(is_centre);
            for record in centres.take(limit - found.len()) {
                let Record { id, title, source, published, .. } = record;
                let members = self.count_members(&id)?;
                found.push(Cluster { centre: id, title, source, published, members });
            }
        }
        Ok(found)
    }

    fn count_members(&self, centre: &str) -> Result<u64, DetectError> {
        let (mut count, mut after) = (0, None);
        loop {
            let (page, more) = self.member_page(centre, after, PAGE)?;
            after = page.last().map(|last| last.rank).or(after);
            count += page.iter().filter(|one| belongs(&one.record, centre)).count() as u64;
            if !more {
                return Ok(count);
            }
        }
    }

    /// The documents of a cluster, its centre included, the oldest first, from the first behind the version `after`.
    pub fn members(
        &self,
        centre: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Member>, DetectError> {
        let mut after = after.map(|version| Rank { distance: Rank::FAR, keys: Reverse(1), version });
        let mut members = Vec::new();
        loop {
            let (page, more) = self.member_page(centre, after, PAGE.min(limit))?;
            after = page.last().map(|last| last.rank).or(after);
            let own = page.into_iter().filter(|one| belongs(&one.record, centre));
            members.extend(own.take(limit - members.len()).map(member));
            if !more || members.len() >= limit {
                return Ok(members);
            }
        }
    }

    /// Documents that have the key of a cluster, the oldest first, and whether there are more. Another cluster may have the
    /// same key by chance.
    pub(super) fn member_page(
        &self,
        centre: &str,
        after: Option<Rank>,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), DetectError> {
        let probes = vec![Probe::Key(cluster_key(centre))];
        let found = self.store().find(self.name(), &[Query { probes, except: None, after, limit }])?;
        let found = found.into_iter().next().unwrap_or_default();
        let more = found.more && !found.candidates.is_empty();
        Ok((found.candidates, more))
    }
}

fn member(candidate: Candidate) -> Member {
    let Candidate { rank, record } = candidate;
    let Record { id, title, source, published, cluster, .. } = record;
    let distance = cluster.map_or(0, |(_, distance)| distance);
    Member { id, distance, title, source, published, version: rank.version }
}

/// Whether a record is the centre of a cluster.
pub(super) fn is_centre(record: &Record) -> bool {
    belongs(record, &record.id)
}

/// Whether a record belongs to the cluster of a centre.
pub(super) fn belongs(record: &Record, centre: &str) -> bool {
    record.cluster.as_ref().is_some_and(|(own, _)| own == centre)
}

/// The cluster that a record joins because of a candidate: centre, distance, and the centre's version where it is known.
fn cluster_of(
    candidate: &Candidate,
    record: &Record,
    leaving: &[(String, u64)],
) -> Option<(String, u32, Option<u64>)> {
    let Candidate { rank, record: found } = candidate;
    if rank.distance != Rank::FAR {
        return Some((found.id.clone(), rank.distance, Some(rank.version)));
    }
    // Found by the key alone: the whole digest must be equal.
    let (centre, distance) =
        found.cluster.as_ref().filter(|_| found.signals.exact == record.signals.exact)?;
    let stays = !leaving.iter().any(|(id, _)| id == centre) && *centre != record.id;
    stays.then(|| (centre.clone(), *distance, None))
}
