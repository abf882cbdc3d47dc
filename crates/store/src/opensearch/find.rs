//! Finding: fingerprints by their blocks, keys and marks as they are, and from all hits the candidates in order.

use super::OpenSearch;
use super::http::Trouble;
use super::layout::{key_value, near_field, parse_near};
use super::query::{PAGE, Question, with_script};
use super::rooms::Room;
use crate::marks::{self, Origins, Tally};
use crate::rank::{self, Hits, distinct_keys};
use crate::record::{Record, Signals, SpaceSettings};
use crate::seam::{Found, Probe, Query, Rank, Sources, Want};
use leitong_index::marks::Posting;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Questions answered together: what all of many find would fill the memory.
const ASKED: usize = 64;
/// How often a question is asked anew because a candidate went away before it was read.
const TRIES: u32 = 50;

/// What the probes of a question have found.
#[derive(Default)]
pub(crate) struct Seen {
    /// The least distance and the number of keys of each version.
    near_and_keys: BTreeMap<u64, (u32, u32)>,
    /// For each probe of marks and each of its marks, in order.
    marks: Vec<Vec<Having>>,
}

/// The records that have a mark.
#[derive(Default)]
struct Having {
    count: usize,
    /// The oldest.
    first: Vec<Posting>,
}

/// A record that is as good as stored, though the servers do not know it yet.
pub(crate) struct Local<'a> {
    pub(crate) version: u64,
    pub(crate) record: &'a Record,
    /// Of its marks, each once, in order.
    pub(crate) hashes: Vec<u32>,
}

impl OpenSearch {
    pub(crate) fn find_all(&self, room: &Room, queries: &[Query], now: i64) -> Result<Vec<Found>, Trouble> {
        queries.iter().try_for_each(|query| room.collection.check_probes(&query.probes))?;
        self.server.refresh(&room.index)?;
        let mut found = Vec::with_capacity(queries.len());
        for part in queries.chunks(ASKED) {
            found.extend(self.find_part(room, part, now)?);
        }
        Ok(found)
    }

    fn find_part(&self, room: &Room, queries: &[Query], now: i64) -> Result<Vec<Found>, Trouble> {
        let questions: Vec<Question<'_>> = queries
            .iter()
            .map(|query| Question { probes: &query.probes, except: query.except.as_deref(), now })
            .collect();
        for attempt in 1.. {
            let seen = self.look(room, &questions, None)?;
            let ranks: Vec<Vec<Rank>> = (seen.into_iter().zip(queries))
                .map(|(seen, query)| {
                    let mut ranks = self.ranks(seen, &query.probes, &[]);
                    ranks.retain(|rank| query.after.is_none_or(|after| *rank > after));
                    ranks
                })
                .collect();
            let wanted: BTreeSet<u64> = (ranks.iter().zip(queries))
                .flat_map(|(ranks, query)| ranks.iter().take(query.limit).map(|rank| rank.version))
                .collect();
            let records = self.records(room, &wanted)?;
            if records.len() < wanted.len() && attempt < TRIES {
                // A candidate has been replaced or removed meanwhile.
                self.server.refresh(&room.index)?;
                continue;
            }
            let pages = ranks
                .into_iter()
                .zip(queries)
                .map(|(ranks, query)| page(ranks, query.limit, &records, &wanted));
            return Ok(pages.collect());
        }
        Ok(Vec::new())
    }

    /// The records of versions, without outlines and texts; those that are gone are missing.
    pub(crate) fn records(
        &self,
        room: &Room,
        versions: &BTreeSet<u64>,
    ) -> Result<BTreeMap<u64, Record>, Trouble> {
        let versions: Vec<u64> = versions.iter().copied().collect();
        let search = |versions: &[u64]| {
            json!({
                "size": versions.len(), "_source": ["version", "record"], "track_total_hits": false,
                "query": { "bool": { "filter": [{ "terms": { "version": versions } }] } },
            })
        };
        let searches: Vec<Value> = versions.chunks(PAGE).map(search).collect();
        let mut records = BTreeMap::new();
        for answer in self.server.search(&room.index, &searches)? {
            for hit in hits(&answer) {
                let stored = self.parse_stored(&hit["_source"], Want::Record)?;
                records.insert(stored.version, stored.record);
            }
        }
        Ok(records)
    }

    /// What the probes of questions find in what has been refreshed, in certain copies or any.
    pub(crate) fn look(
        &self,
        room: &Room,
        questions: &[Question<'_>],
        copies: Option<&str>,
    ) -> Result<Vec<Seen>, Trouble> {
        let scripts = self.may_use_scripts(room)?;
        let scoring = self.scoring;
        let (mut searches, mut plans) = (Vec::new(), Vec::new());
        for question in questions {
            let near_and_keys = question.near_and_keys(&room.collection, scripts)?;
            let marks: Vec<Vec<u32>> = marks::probed(question.probes).collect();
            plans.push((near_and_keys.is_some(), marks.iter().map(Vec::len).collect::<Vec<_>>()));
            searches.extend(near_and_keys);
            let mark = |hash: &u32| question.mark(*hash, scoring.used, scoring.long);
            searches.extend(marks.iter().flatten().map(mark));
        }
        let mut answers = self.server.search_in(&room.index, copies, &searches)?.into_iter();
        let mut asked = searches.into_iter();
        let mut next = || (asked.next().unwrap_or_default(), answers.next().unwrap_or_default());
        let mut all = Vec::with_capacity(questions.len());
        for (question, (near_and_keys, marks)) in questions.iter().zip(plans) {
            let mut seen = Seen::default();
            if near_and_keys {
                let (search, answer) = next();
                let note = &mut |hit: &Value| seen.note(room, question.probes, hit);
                self.all_pages(room, copies, (search, answer), note)?;
            }
            for count in marks {
                seen.marks.push((0..count).map(|_| Having::of(&next().1, scoring.long)).collect());
            }
            all.push(seen);
        }
        Ok(all)
    }

    /// Goes through the hits of a search, page by page from the first answer on.
    pub(crate) fn all_pages(
        &self,
        room: &Room,
        copies: Option<&str>,
        (mut search, mut answer): (Value, Value),
        each: &mut dyn FnMut(&Value) -> Option<()>,
    ) -> Result<(), Trouble> {
        loop {
            let page = hits(&answer);
            for hit in page {
                each(hit).ok_or_else(|| {
                    self.server.foreign(format!("a document of {} is not ours", room.index))
                })?;
            }
            if page.len() < PAGE {
                return Ok(());
            }
            search["search_after"] = page.last().map(|hit| hit["sort"].clone()).unwrap_or_default();
            answer = self.server.search_in(&room.index, copies, std::slice::from_ref(&search))?.remove(0);
        }
    }

    /// The candidates of a question, with those that only we know yet.
    pub(crate) fn ranks(&self, seen: Seen, probes: &[Probe], local: &[Local<'_>]) -> Vec<Rank> {
        let mut hits = Hits::default();
        for (version, (distance, keys)) in seen.near_and_keys {
            if distance < Rank::FAR {
                hits.near(version, distance);
            }
            (0..keys).for_each(|_| hits.key(version));
        }
        for Local { version, record, .. } in local {
            let (distance, keys) = compare(probes, &record.signals);
            distance.into_iter().for_each(|distance| hits.near(*version, distance));
            (0..keys).for_each(|_| hits.key(*version));
        }
        for (asked, having) in marks::probed(probes).zip(seen.marks) {
            let mut tally = Tally::new(self.scoring, asked.len(), &[]);
            for (place, Having { count, first }) in having.iter().enumerate() {
                first.iter().for_each(|posting| tally.see(place, *posting));
                // The others are counted only.
                let other = Posting { ordinal: u64::MAX, origin: 0, marks: 0 };
                (first.len()..*count).for_each(|_| tally.see(place, other));
                let local = local.iter().filter_map(|local| local.posting(asked[place]));
                local.for_each(|posting| tally.see(place, posting));
            }
            tally.proposed().into_iter().for_each(|(version, count)| hits.marks(version, count));
        }
        hits.ranks()
    }

    pub(crate) fn count_sources(
        &self,
        room: &Room,
        questions: &[Sources],
        now: i64,
    ) -> Result<Vec<Vec<u32>>, Trouble> {
        self.server.refresh(&room.index)?;
        let mut all = Vec::with_capacity(questions.len());
        for Sources { marks, origin, except } in questions {
            let sources = Sources { marks: marks.clone(), origin: *origin, except: None };
            let mut origins = Origins::new(self.scoring, &sources, &[]);
            let question = Question { probes: &[], except: except.as_deref(), now };
            let most = origins.most();
            // Servers give no more than a page at once, and nobody wants to count so far.
            let search = |hash: &u32| question.mark(*hash, most.min(10_000), most);
            let searches: Vec<Value> = origins.marks.iter().map(search).collect();
            for (place, answer) in self.server.search(&room.index, &searches)?.iter().enumerate() {
                let having = Having::of(answer, most);
                having.first.into_iter().for_each(|posting| origins.see(place, posting));
            }
            all.push(origins.answer(&sources));
        }
        Ok(all)
    }

    /// Whether the servers let scripts count bits.
    fn may_use_scripts(&self, room: &Room) -> Result<bool, Trouble> {
        if let Some(known) = room.scripts.get() {
            return Ok(*known);
        }
        let space = room.collection.spaces.iter().find(|settings| settings.width <= 64);
        let may = match space {
            None => false,
            Some(SpaceSettings { space, .. }) => {
                match self.server.search(&room.index, &[with_script(*space)]) {
                    Ok(_) => true,
                    Err(Trouble::Store(crate::StoreError::Refused { .. })) => false,
                    Err(trouble) => return Err(trouble),
                }
            }
        };
        Ok(*room.scripts.get_or_init(|| may))
    }
}

impl Seen {
    /// A hit by blocks or keys: how near it really is, and how many keys it has.
    fn note(&mut self, room: &Room, probes: &[Probe], hit: &Value) -> Option<()> {
        let version = hit["sort"][0].as_u64()?;
        let (fields, mut least) = (&hit["fields"], Rank::FAR);
        for probe in probes {
            let Probe::Near { space, fingerprint, within } = probe else { continue };
            let width = room.collection.space(*space).ok()?.width;
            let own = &fields[near_field(*space)][0];
            if own.is_null() {
                continue;
            }
            let distance = parse_near(own, width)?.distance(fingerprint).ok()?;
            if distance <= *within {
                least = least.min(distance);
            }
        }
        let own = fields["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has = |key: &crate::record::Key| own.iter().any(|own| *own == json!(key_value(*key)));
        let keys = distinct_keys(probes).iter().filter(|key| has(key)).count() as u32;
        if least < Rank::FAR || keys > 0 {
            self.near_and_keys.insert(version, (least, keys));
        }
        Some(())
    }
}

impl Having {
    fn of(answer: &Value, most: usize) -> Self {
        let posting = |hit: &Value| {
            let number = |field: &str| hit["fields"][field][0].as_i64().unwrap_or_default();
            let ordinal = hit["sort"][0].as_u64().unwrap_or_default();
            Posting { ordinal, origin: number("origin") as u64, marks: number("marks_count") as u32 }
        };
        let first: Vec<Posting> = hits(answer).iter().map(posting).collect();
        let total = answer["hits"]["total"]["value"].as_u64().unwrap_or_default() as usize;
        Self { count: total.min(most).max(first.len()), first }
    }
}

impl Local<'_> {
    fn posting(&self, hash: u32) -> Option<Posting> {
        self.hashes.binary_search(&hash).ok()?;
        let origin = self.record.origin.unwrap_or(self.version);
        Some(Posting { ordinal: self.version, origin, marks: self.hashes.len() as u32 })
    }
}

/// The least distance of a record by any probe, and how many probed keys it has.
pub(crate) fn compare(probes: &[Probe], signals: &Signals) -> (Option<u32>, u32) {
    let distance = |probe: &Probe| match probe {
        Probe::Near { space, fingerprint, within } => {
            let distance = signals.near(*space)?.distance(fingerprint).ok()?;
            (distance <= *within).then_some(distance)
        }
        Probe::Key(_) | Probe::Marks(_) => None,
    };
    let keys = distinct_keys(probes).iter().filter(|key| signals.keys.contains(key)).count();
    (probes.iter().filter_map(distance).min(), keys as u32)
}

/// The hits of an answer.
pub(crate) fn hits(answer: &Value) -> &[Value] {
    answer["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The first candidates, with their records. Those behind the page are not read: that they are there is enough.
pub(crate) fn page(
    ranks: Vec<Rank>,
    limit: usize,
    records: &BTreeMap<u64, Record>,
    read: &BTreeSet<u64>,
) -> Found {
    let record = |version: u64| match records.get(&version) {
        Some(record) => Ok::<_, std::convert::Infallible>(Some(record.clone())),
        None => Ok((!read.contains(&version)).then(Record::default)),
    };
    rank::page(ranks, None, limit, record).unwrap_or_default()
}
