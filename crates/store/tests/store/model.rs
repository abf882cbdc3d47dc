//! The slow twin of every store: a plain map, and a look at every record for every question.

use leitong_store::{
    Added, Addition, Candidate, Clock, Collection, Count, Found, Outline, Policy, Probe, Query, Rank, Record,
    Scoring, Sources, Store, StoreError, Stored, Want, validate_id,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

pub(crate) struct Model {
    clock: Clock,
    scoring: Scoring,
    pub(crate) met: Arc<Met>,
    rooms: Mutex<BTreeMap<String, Room>>,
}

/// What has come up in looking for marks, and how often.
#[derive(Default)]
pub(crate) struct Met(Mutex<BTreeMap<&'static str, u32>>);

impl Met {
    fn note(&self, what: &'static str, happened: bool) {
        *self.0.lock().unwrap().entry(what).or_default() += u32::from(happened);
    }

    pub(crate) fn drain(&self) -> impl Iterator<Item = (&'static str, u32)> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter()
    }
}

struct Room {
    collection: Collection,
    next: u64,
    scoring: Scoring,
    met: Arc<Met>,
    /// By id, which is also the order of a scan.
    records: BTreeMap<String, Stored>,
}

impl Model {
    pub(crate) fn new(clock: Clock, scoring: Scoring) -> Self {
        Self { clock, scoring, met: Arc::default(), rooms: Mutex::default() }
    }

    /// Does something with a collection in which nothing has expired.
    fn with<T>(&self, name: &str, work: impl FnOnce(&mut Room, i64) -> T) -> Result<T, StoreError> {
        let mut rooms = self.rooms.lock().unwrap();
        let room = rooms.get_mut(name).ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })?;
        let now = self.clock.now();
        room.records.retain(|_, stored| stored.record.expires.is_none_or(|expires| expires > now));
        Ok(work(room, now))
    }
}

impl Store for Model {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        Ok(self.rooms.lock().unwrap().values().map(|room| room.collection.clone()).collect())
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        collection.validate()?;
        let mut rooms = self.rooms.lock().unwrap();
        let new = || Room {
            collection: collection.clone(),
            next: 0,
            scoring: self.scoring,
            met: Arc::clone(&self.met),
            records: BTreeMap::new(),
        };
        let own = &rooms.entry(collection.name.clone()).or_insert_with(new).collection;
        if own.recipe == collection.recipe && own.spaces == collection.spaces {
            return Ok(());
        }
        let [stored, asked] = [own.recipe, collection.recipe].map(|recipe| format!("{recipe:?}"));
        Err(StoreError::OtherCollection { name: collection.name.clone(), stored, asked })
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        Ok(self.rooms.lock().unwrap().remove(collection).is_some())
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.with(collection, |room, _| queries.iter().map(|query| room.find(query, &[])).collect())
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.with(collection, |room, _| questions.iter().map(|question| room.sources(question)).collect())
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        self.with(collection, |room, now| {
            additions.into_iter().map(|addition| room.add(addition, now)).collect()
        })?
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        self.with(collection, |room, _| {
            ids.iter().map(|id| room.records.remove(*id).map(|stored| stored.version)).collect()
        })
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        self.with(collection, |room, _| {
            ids.iter().map(|id| room.records.get(*id).map(|stored| wanted(stored, want))).collect()
        })
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        self.with(collection, |room, _| {
            let behind = |stored: &&Stored| after.is_none_or(|after| stored.record.id.as_str() > after);
            room.records.values().filter(behind).take(limit).map(|stored| wanted(stored, want)).collect()
        })
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        self.with(collection, |room, _| Count {
            documents: room.records.len() as u64,
            next_version: room.next,
        })
    }
}

impl Room {
    fn find(&self, query: &Query, judged: &[u64]) -> Found {
        let mut all: Vec<Candidate> = (self.records.values())
            .filter(|stored| {
                query.except.as_ref() != Some(&stored.record.id) && !judged.contains(&stored.version)
            })
            .filter_map(|stored| {
                let rank = self.rank(stored, query)?;
                Some(Candidate { rank, record: wanted(stored, Want::Record).record })
            })
            .filter(|candidate| query.after.is_none_or(|after| candidate.rank > after))
            .collect();
        all.sort_by_key(|candidate| candidate.rank);
        let more = all.len() > query.limit;
        all.truncate(query.limit);
        Found { candidates: all, more }
    }

    fn add(&mut self, Addition { record, policy, over }: Addition, now: i64) -> Result<Added, StoreError> {
        validate_id(&record.id)?;
        let own = self.records.get(&record.id).map(|stored| stored.version);
        if over.is_some_and(|over| own != Some(over)) {
            return Ok(Added::Changed { version: own });
        }
        match (policy, own) {
            (Policy::New, Some(version)) => return Ok(Added::Exists { version }),
            (Policy::Unless { probes, judged, limit }, _) => {
                let limit = limit.max(1);
                let query = Query { probes, except: Some(record.id.clone()), after: None, limit };
                let found = self.find(&query, &judged);
                if !found.candidates.is_empty() {
                    return Ok(Added::Unjudged(found));
                }
            }
            _ => {}
        }
        let version = self.next;
        self.next += 1;
        self.records.remove(&record.id);
        // What has expired before it comes has a version all the same.
        if record.expires.is_none_or(|expires| expires > now) {
            self.records.insert(record.id.clone(), Stored { version, record });
        }
        Ok(Added::Stored { version, replaced: own })
    }
}

impl Room {
    /// The documents that have a mark, but for the one that asks, the oldest first.
    fn documents(&self, mark: u32, except: Option<&str>) -> Vec<&Stored> {
        let has = |stored: &&Stored| stored.record.signals.outline.marks.iter().any(|own| own.hash == mark);
        let all = self.records.values().filter(|stored| except != Some(&stored.record.id));
        let mut all: Vec<&Stored> = all.filter(has).collect();
        all.sort_by_key(|stored| stored.version);
        all
    }

    /// The documents that are proposed for these marks, and how many they have in common.
    fn proposed(&self, marks: &[u32], except: Option<&str>) -> BTreeMap<u64, u32> {
        let scoring = self.scoring;
        let asked: BTreeSet<u32> = marks.iter().copied().collect();
        let (mut proposed, mut others) = (BTreeMap::new(), Vec::new());
        for Stored { version, record } in self.records.values() {
            let (mut weight, mut count) = (0, 0);
            for &mark in &asked {
                let documents = self.documents(mark, except);
                self.met.note("beyond those used", documents.len() > scoring.used);
                self.met.note("beyond those counted", documents.len() > scoring.long);
                if !documents.iter().take(scoring.used).any(|other| other.version == *version) {
                    continue;
                }
                let sharing = documents.len().min(scoring.long) as u32 + 1;
                weight += if sharing <= scoring.rare { 1024 } else { 1024 * scoring.rare / sharing };
                count += 1;
            }
            let own: BTreeSet<u32> = record.signals.outline.marks.iter().map(|mark| mark.hash).collect();
            let n = own.len().min(asked.len()) as u32;
            let need = (1024 * scoring.percent * n / 100).clamp(scoring.least, scoring.most);
            if count > 0 && weight >= need {
                proposed.insert(*version, count);
            } else if count > 0 && count * 10 >= scoring.tenths * n {
                others.push((Reverse(count), *version));
            }
        }
        self.met.note("proposed by weight", !proposed.is_empty());
        self.met.note("proposed without", !others.is_empty());
        others.sort_unstable();
        others.truncate(scoring.spare);
        proposed.extend(others.into_iter().map(|(count, version)| (version, count.0)));
        proposed
    }

    fn sources(&self, Sources { marks, origin, except }: &Sources) -> Vec<u32> {
        let of_mark = |mark: &u32| {
            let documents = self.documents(*mark, except.as_deref());
            let origins = documents.iter().take(self.scoring.long);
            let mut origins: BTreeSet<Option<u64>> =
                origins.map(|stored| Some(stored.record.origin.unwrap_or(stored.version))).collect();
            origins.insert(*origin);
            origins.len() as u32
        };
        marks.iter().map(of_mark).collect()
    }

    /// How a record answers a query, if it does.
    fn rank(&self, stored: &Stored, query: &Query) -> Option<Rank> {
        let signals = &stored.record.signals;
        let mut distance = None;
        let mut keys = BTreeSet::new();
        let mut shared = Vec::new();
        for probe in &query.probes {
            match probe {
                Probe::Near { space, fingerprint, within } => {
                    let own =
                        signals.near(*space).map(|own| own.distance(fingerprint).expect("widths are equal"));
                    distance = own.filter(|own| own <= within).into_iter().chain(distance).min();
                }
                Probe::Key(key) if signals.keys.contains(key) => _ = keys.insert(*key),
                Probe::Key(_) => {}
                Probe::Marks(marks) => {
                    shared.extend(self.proposed(marks, query.except.as_deref()).get(&stored.version));
                }
            }
        }
        let found = distance.is_some() || !keys.is_empty() || !shared.is_empty();
        found.then(|| Rank {
            distance: distance.unwrap_or(Rank::FAR),
            keys: Reverse(keys.len() as u32 + shared.iter().sum::<u32>()),
            version: stored.version,
        })
    }
}

fn wanted(stored: &Stored, want: Want) -> Stored {
    let Stored { version, mut record } = stored.clone();
    if want == Want::Record {
        record.signals.outline = Outline::default();
    }
    let text = record.text.take().filter(|_| want == Want::Text);
    Stored { version, record: Record { text, ..record } }
}
