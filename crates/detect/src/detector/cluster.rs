//! Streaming Single-Pass: a document joins the nearest centre within the distance, or becomes one.
//!
//! Every document of a cluster carries the id of its centre, its distance from it, and a key by which the cluster is found;
//! the SimHash of a centre is also in a space of its own. A document first goes to the store as a centre, unless there is one
//! near: that step is atomic, so two near documents never both become centres. Where the store refuses, it hands back the
//! nearest centre, and the document is stored as its member. In the time between, the centre may go away: so members look
//! whether it is still there after they are stored, and whoever removes a centre looks for members after it is gone
//! (`release`). One of the two sees the other, whatever the order. Whoever stores a record again that is already there names
//! the version it has seen, so that what others have stored meanwhile is never undone.

use super::answer::{Assigned, Cluster, Member};
use super::document::Document;
use super::pace::Pace;
use super::release::fits;
use super::signals::{KEY_EXACT, cluster_key, set_cluster};
use super::{Collection, DetectError, DocumentError};
use leitong_store::{Added, Addition, Candidate, Policy, Probe, Query, Rank, Record, Space, Want};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Records fetched at a time, or at first.
const PAGE: usize = 1024;

/// A record on its way into a cluster.
struct Placing {
    record: Record,
    place: usize,
    judged: Vec<u64>,
    /// Centres that are gone or about to go.
    avoid: Vec<String>,
    limit: usize,
    /// The version it takes the place of, where that is known: if somebody else has replaced it, that stays.
    over: Option<u64>,
}

/// A record to be put into a cluster: its place in a batch, and the version it takes the place of.
pub(super) type Unplaced = (usize, Record, Option<u64>);

/// Records that are not in a cluster yet, and those that are.
struct Round {
    open: Vec<Placing>,
    done: Vec<(usize, Assigned)>,
}

/// The cluster a record is to join, found in one atomic look.
struct Joining {
    placing: Placing,
    centre: String,
    distance: u32,
}

impl Collection {
    /// Stores documents, each in the cluster of the nearest centre within the collection's distance (the oldest of several),
    /// or as a centre of its own if there is none, in order. A document of the same id is replaced; if it was a centre, its
    /// members are assigned anew before, as [`Collection::remove`] does it.
    ///
    /// A centre that expires goes without a word: its members are in no listed cluster until they are assigned anew, which
    /// happens when its id is stored or removed again, or by [`Collection::mend_clusters`] (`leitong compact`).
    ///
    /// A document without a SimHash joins the cluster of a stored one with the same letters, or becomes a centre that others
    /// join for being equal.
    pub fn assign(
        &self,
        documents: Vec<Document>,
    ) -> Result<Vec<Result<Assigned, DocumentError>>, DetectError> {
        let mut answers: Vec<Result<Option<Assigned>, DocumentError>> = Vec::with_capacity(documents.len());
        let mut good = Vec::new();
        for (place, ready) in self.ready(documents).into_iter().enumerate() {
            answers.push(ready.map(|ready| {
                good.push((place, ready));
                None
            }));
        }
        // Copies within the batch are not looked for: they count as sources of their own.
        self.find_origins(&mut good)?;
        let records: Vec<_> = good.into_iter().map(|(place, ready)| (place, ready.record)).collect();
        let ids: Vec<&str> = records.iter().map(|(_, record)| record.id.as_str()).collect();
        let centres = self.centres_among(&ids)?;
        for run in runs(records, &centres) {
            let ids: Vec<String> = run.iter().map(|(_, record)| record.id.clone()).collect();
            if let Some(first) = ids.first() {
                self.release(&self.centres_among(&[first])?)?;
            }
            let unplaced = run.into_iter().map(|(place, record)| (place, record, None)).collect();
            for (place, assigned) in self.place(unplaced, &[])? {
                answers[place] = Ok(Some(assigned));
            }
            // Whoever joined one of them between the last look and its replacement, or a centre of the same id that had
            // expired, of which the store says nothing.
            self.release_outdated(ids)?;
        }
        Ok(answers.into_iter().filter_map(Result::transpose).collect())
    }

    /// Puts records into clusters other than those of these centres, which are about to go: id and version of each.
    pub(super) fn place(
        &self,
        records: Vec<Unplaced>,
        leaving: &[(String, u64)],
    ) -> Result<Vec<(usize, Assigned)>, DetectError> {
        let judged: Vec<u64> = leaving.iter().map(|(_, version)| *version).collect();
        let avoid: Vec<String> = leaving.iter().map(|(id, _)| id.clone()).collect();
        let start = |(place, record, over)| {
            let (judged, avoid) = (judged.clone(), avoid.clone());
            Placing { record, place, judged, avoid, limit: 1, over }
        };
        let mut round = Round { open: records.into_iter().map(start).collect(), done: Vec::new() };
        while !round.open.is_empty() {
            let joining = self.try_as_centres(&mut round)?;
            self.join(joining, &mut round)?;
        }
        Ok(round.done)
    }

    /// Stores records as centres where none is near. The others, with what is near; those to be tried again stay open.
    fn try_as_centres(&self, round: &mut Round) -> Result<Vec<Joining>, DetectError> {
        let open = std::mem::take(&mut round.open);
        let additions = open.iter().map(|placing| self.as_centre(placing)).collect();
        let mut joining = Vec::new();
        for (mut placing, added) in open.into_iter().zip(self.store().add(self.name(), additions)?) {
            match added {
                Added::Stored { version, .. } => {
                    let id = placing.record.id;
                    let assigned = Assigned { centre: id.clone(), id, version, distance: 0 };
                    round.done.push((placing.place, assigned));
                }
                // Somebody else has replaced or removed it: that stays.
                Added::Changed { .. } => {}
                // Not an answer to this policy; once more costs nothing.
                Added::Exists { .. } => round.open.push(placing),
                Added::Unjudged(found) => {
                    let nearest = found.candidates.iter().find_map(|one| placing.cluster_of(one));
                    if let Some((centre, distance)) = nearest {
                        joining.push(Joining { placing, centre, distance });
                    } else {
                        placing.judged.extend(found.candidates.iter().map(|one| one.rank.version));
                        placing.limit = (placing.limit * 4).min(PAGE);
                        round.open.push(placing);
                    }
                }
            }
        }
        Ok(joining)
    }

    fn as_centre(&self, placing: &Placing) -> Addition {
        let mut record = placing.record.clone();
        let id = record.id.clone();
        set_cluster(&mut record, Some((id, 0)));
        let probes = self.cluster_probes(&record);
        let (judged, limit) = (placing.judged.clone(), placing.limit);
        Addition { over: placing.over, ..Addition::new(record, Policy::Unless { probes, judged, limit }) }
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

    /// Stores records as members. Those whose centre has gone away meanwhile are tried again.
    fn join(&self, joining: Vec<Joining>, round: &mut Round) -> Result<(), DetectError> {
        if joining.is_empty() {
            return Ok(());
        }
        let added = self.store().add(self.name(), joining.iter().map(Joining::addition).collect())?;
        let centres: Vec<&str> = joining.iter().map(|one| one.centre.as_str()).collect();
        let centres = self.store().get(self.name(), &centres, Want::Record)?;
        for ((mut one, added), centre) in joining.into_iter().zip(added).zip(centres) {
            // A centre that has been replaced by an equal one may keep its members.
            let still = centre.is_some_and(|centre| {
                is_centre(&centre.record) && fits(&one.placing.record, one.distance, &centre.record)
            });
            let Added::Stored { version, .. } = added else { continue };
            let id = one.placing.record.id.clone();
            let assigned = Assigned { id, version, centre: one.centre.clone(), distance: one.distance };
            round.done.push((one.placing.place, assigned));
            if !still {
                // It goes again, and what it is assigned to then counts. Others with the same letters may still name the centre.
                one.placing.avoid.push(one.centre);
                one.placing.over = Some(version);
                round.open.push(one.placing);
            }
        }
        Ok(())
    }

    /// The clusters in the order of their centres' ids, from the first behind `after`. The centres are the deduplicated set.
    /// Members of a centre that has expired are in none of them until they are assigned anew
    /// ([`Collection::mend_clusters`], `leitong compact`).
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
        let mut count = 0;
        self.each_member_page(centre, None, PAGE, &mut |page| {
            count += page.len() as u64;
            Ok(true)
        })?;
        Ok(count)
    }

    /// The documents of a cluster, its centre included, the oldest first, from the first behind the version `after`.
    pub fn members(
        &self,
        centre: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Member>, DetectError> {
        let after = after.map(|version| Rank { distance: Rank::FAR, keys: Reverse(1), version });
        let mut members = Vec::new();
        self.each_member_page(centre, after, PAGE.min(limit), &mut |page| {
            members.extend(page.into_iter().take(limit - members.len()).map(member));
            Ok(members.len() < limit)
        })?;
        Ok(members)
    }

    /// Hands out the documents of a cluster, the oldest first, in pages that grow, until `page` has enough.
    pub(super) fn each_member_page(
        &self,
        centre: &str,
        mut after: Option<Rank>,
        first: usize,
        page: &mut dyn FnMut(Vec<Candidate>) -> Result<bool, DetectError>,
    ) -> Result<(), DetectError> {
        let mut pace = Pace::new(first);
        loop {
            let probes = vec![Probe::Key(cluster_key(centre))];
            let query = Query { probes, except: None, after, limit: pace.limit() };
            let found = self.store().find(self.name(), &[query])?.pop().unwrap_or_default();
            let Some(last) = found.candidates.last() else { return Ok(()) };
            after = Some(last.rank);
            pace.grow(&found.candidates);
            // Another cluster may have the same key by chance.
            let own = found.candidates.into_iter().filter(|one| belongs(&one.record, centre));
            if !page(own.collect())? || !found.more {
                return Ok(());
            }
        }
    }
}

impl Placing {
    /// The cluster it joins because of a candidate, and the distance from its centre.
    fn cluster_of(&self, candidate: &Candidate) -> Option<(String, u32)> {
        let Candidate { rank, record: found } = candidate;
        if rank.distance != Rank::FAR {
            // What is imported may be found as a centre and be none: it would never be joined, and tried for ever.
            let joins = is_centre(found) && fits(&self.record, rank.distance, found);
            return joins.then(|| (found.id.clone(), rank.distance));
        }
        // Found by the key alone: the whole digest must be equal, and that of its centre too.
        let own = &self.record;
        let equal = found.signals.exact == own.signals.exact;
        let alike = is_centre(found) || found.signals.near(Space::DOCUMENTS).is_none();
        let (centre, distance) = found.cluster.as_ref().filter(|_| equal && alike)?;
        let stays = !self.avoid.contains(centre) && *centre != own.id;
        stays.then(|| (centre.clone(), *distance))
    }
}

impl Joining {
    fn addition(&self) -> Addition {
        let mut record = self.placing.record.clone();
        set_cluster(&mut record, Some((self.centre.clone(), self.distance)));
        Addition { over: self.placing.over, ..Addition::new(record, Policy::Replace) }
    }
}

/// Cuts a batch before every centre, whose members have to be assigned first, and before every id that the piece has already:
/// members are stored after centres, and the last of an id must win.
fn runs(records: Vec<(usize, Record)>, centres: &[String]) -> Vec<Vec<(usize, Record)>> {
    let mut runs = vec![Vec::new()];
    let mut ids = BTreeSet::new();
    for (place, record) in records {
        if !ids.insert(record.id.clone()) || centres.binary_search(&record.id).is_ok() {
            runs.push(Vec::new());
            ids = BTreeSet::from([record.id.clone()]);
        }
        if let Some(run) = runs.last_mut() {
            run.push((place, record));
        }
    }
    runs
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
