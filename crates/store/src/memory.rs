//! A store that lives as long as the process: for `--db memory:`, for tests, and as the plainest example of the seam.

use crate::marks::{self, Origins, Scoring, Tally};
use crate::near::{self, Near, Search};
use crate::rank::{self, Hits};
use crate::record::{Collection, Key, Outline, Record, Space, SpaceSettings, Stored};
use crate::seam::{Added, Addition, Count, Found, Policy, Probe, Query, Sources, Store, Want};
use crate::{Clock, StoreError};
use leitong_fingerprint::Fingerprint;
use leitong_index::marks::MarkIndex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(test)]
mod tests;

/// Questions that are answered together.
const ASKED: usize = 16;

/// A store in memory. Each collection has a lock of its own; searches go on side by side.
#[derive(Debug, Default)]
pub struct Memory {
    clock: Clock,
    scoring: Scoring,
    rooms: RwLock<BTreeMap<String, Arc<RwLock<Room>>>>,
}

/// A collection and its records.
struct Room {
    collection: Collection,
    /// The version of the next record. Versions are the ordinals of all indexes.
    next: u64,
    ids: BTreeMap<String, u64>,
    entries: BTreeMap<u64, Entry>,
    keys: BTreeSet<(Key, u64)>,
    spaces: Vec<(SpaceSettings, Box<dyn Near>)>,
    marks: MarkIndex,
    scoring: Scoring,
    /// When which version expires, the earliest first.
    expiries: BTreeSet<(i64, u64)>,
}

/// A record. Text and outline stand apart: they are seldom wanted, and copying them is what would cost.
struct Entry {
    record: Record,
    outline: Outline,
    text: Option<String>,
}

impl Memory {
    /// An empty store whose records expire by a clock; [`Memory::default`] takes the system's.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, scoring: Scoring::DEFAULT, rooms: RwLock::default() }
    }

    /// The same, with another way to find documents by marks: for tests, which cannot add thousands.
    #[must_use]
    pub fn with_scoring(self, scoring: Scoring) -> Self {
        Self { scoring, ..self }
    }

    fn room(&self, name: &str) -> Result<Arc<RwLock<Room>>, StoreError> {
        let room = read(&self.rooms).get(name).map(Arc::clone);
        room.ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })
    }

    /// Reads a collection at a certain time.
    fn reading<T>(&self, name: &str, work: impl FnOnce(&Room, i64) -> T) -> Result<T, StoreError> {
        let room = self.room(name)?;
        let room = read(&room);
        Ok(work(&room, self.clock.now()))
    }

    /// Changes a collection that has nothing expired in it.
    fn writing<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Room, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let room = self.room(name)?;
        let mut room = write(&room);
        let now = self.clock.now();
        room.sweep(now)?;
        work(&mut room, now)
    }
}

impl Store for Memory {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        Ok(read(&self.rooms).values().map(|room| read(room).collection.clone()).collect())
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        collection.validate()?;
        let mut rooms = write(&self.rooms);
        match rooms.get(&collection.name) {
            Some(room) => read(room).collection.same(collection),
            None => {
                let room = Room::new(collection.clone(), self.scoring)?;
                rooms.insert(collection.name.clone(), Arc::new(RwLock::new(room)));
                Ok(())
            }
        }
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        let room = write(&self.rooms).remove(collection);
        Ok(room.is_some())
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.reading(collection, |room, now| {
            queries.iter().try_for_each(|query| room.collection.check_probes(&query.probes))?;
            // In parts: what all of many questions find would fill the memory.
            let parts = queries.chunks(ASKED).map(|part| room.find(part, &[], now));
            Ok(parts.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().collect())
        })?
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.reading(collection, |room, now| {
            questions.iter().map(|question| room.sources(question, now)).collect()
        })?
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        // Before the lock is taken: it reads all metadata.
        additions.iter().try_for_each(|addition| addition.record.validate())?;
        self.writing(collection, |room, now| {
            additions.iter().try_for_each(|addition| room.collection.check_addition(addition))?;
            additions.into_iter().map(|addition| room.add(addition, now)).collect()
        })
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        self.writing(collection, |room, _| ids.iter().map(|id| room.remove(id)).collect())
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        self.reading(collection, |room, now| {
            ids.iter()
                .map(|id| room.ids.get(*id).and_then(|version| room.stored(*version, want, now)))
                .collect()
        })
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        self.reading(collection, |room, now| {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            let ids = room.ids.range::<str, _>((from, Bound::Unbounded));
            ids.filter_map(|(_, version)| room.stored(*version, want, now)).take(limit).collect()
        })
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        self.reading(collection, |room, now| {
            let expired = room.expiries.range(..=(now, u64::MAX)).count();
            Count { documents: (room.entries.len() - expired) as u64, next_version: room.next }
        })
    }
}

impl Room {
    fn new(collection: Collection, scoring: Scoring) -> Result<Self, StoreError> {
        let open = |settings: &SpaceSettings| Ok((*settings, near::open(settings, None)?));
        let spaces = collection.spaces.iter().map(open).collect::<Result<_, StoreError>>()?;
        Ok(Self {
            collection,
            next: 0,
            ids: BTreeMap::new(),
            entries: BTreeMap::new(),
            keys: BTreeSet::new(),
            spaces,
            marks: MarkIndex::in_memory(),
            scoring,
            expiries: BTreeSet::new(),
        })
    }

    /// Answers queries whose probes have been checked. `judged` is in order.
    fn find(&self, queries: &[Query], judged: &[u64], now: i64) -> Result<Vec<Found>, StoreError> {
        let mut hits: Vec<Hits> = Vec::new();
        hits.resize_with(queries.len(), Hits::default);
        for (settings, index) in &self.spaces {
            let searches = searches(queries, settings.space);
            index.search(&searches, &mut |query, version, distance| hits[query].near(version, distance))?;
        }
        let answer = |(query, mut hits): (&Query, Hits)| {
            for key in rank::distinct_keys(&query.probes) {
                self.keys.range((key, 0)..=(key, u64::MAX)).for_each(|(_, version)| hits.key(*version));
            }
            self.find_marks(query, now, &mut hits)?;
            rank::page(hits.ranks(), query.after, query.limit, |version| {
                let asks = |entry: &Entry| query.except.as_ref() == Some(&entry.record.id);
                let entry = self.visible(version, now).filter(|entry| !asks(entry));
                Ok(entry
                    .filter(|_| judged.binary_search(&version).is_err())
                    .map(|entry| entry.record.clone()))
            })
        };
        queries.iter().zip(hits).map(answer).collect()
    }

    fn find_marks(&self, query: &Query, now: i64, hits: &mut Hits) -> Result<(), StoreError> {
        for marks in marks::probed(&query.probes) {
            let hidden = self.hidden(query.except.as_deref(), now);
            let mut tally = Tally::new(self.scoring, marks.len(), &hidden);
            self.marks.look_up(&marks, tally.most(), &mut |mark, posting| tally.see(mark, posting))?;
            tally.proposed().into_iter().for_each(|(version, count)| hits.marks(version, count));
        }
        Ok(())
    }

    fn sources(&self, question: &Sources, now: i64) -> Result<Vec<u32>, StoreError> {
        let hidden = self.hidden(question.except.as_deref(), now);
        let mut origins = Origins::new(self.scoring, question, &hidden);
        let (marks, most) = (origins.marks.clone(), origins.most());
        self.marks.look_up(&marks, most, &mut |mark, posting| origins.see(mark, posting))?;
        Ok(origins.answer(question))
    }

    /// Versions that are in the indexes and not there for the document that asks, in order.
    fn hidden(&self, except: Option<&str>, now: i64) -> Vec<u64> {
        let expired = self.expiries.range(..=(now, u64::MAX)).map(|(_, version)| *version);
        let mut hidden: Vec<u64> = expired.chain(except.and_then(|id| self.ids.get(id)).copied()).collect();
        hidden.sort_unstable();
        hidden
    }

    /// Adds what has been checked.
    fn add(&mut self, addition: Addition, now: i64) -> Result<Added, StoreError> {
        let Addition { record, policy, over } = addition;
        // One that has expired is still there if this very call has stored it.
        let own = self.ids.get(&record.id).copied().filter(|own| self.visible(*own, now).is_some());
        if over.is_some() && over != own {
            return Ok(Added::Changed { version: own });
        }
        match policy {
            Policy::New => {
                if let Some(version) = own {
                    return Ok(Added::Exists { version });
                }
            }
            Policy::Unless { probes, mut judged, limit } => {
                judged.sort_unstable();
                // One at least, whatever the caller wants: an answer without a candidate would tell nothing.
                let limit = limit.max(1);
                let query = Query { probes, except: Some(record.id.clone()), after: None, limit };
                let found = self.find(&[query], &judged, now)?.pop().unwrap_or_default();
                if !found.candidates.is_empty() {
                    return Ok(Added::Unjudged(found));
                }
            }
            Policy::Replace => {}
        }
        Ok(Added::Stored { version: self.put(record)?, replaced: own })
    }

    /// Stores a record in place of the one that had its id.
    fn put(&mut self, mut record: Record) -> Result<u64, StoreError> {
        let version = self.next;
        // Also used up if an index refuses: it may already have taken the ordinal.
        self.next += 1;
        for (settings, index) in &self.spaces {
            if let Some(fingerprint) = record.signals.near(settings.space) {
                index.insert_at(version, fingerprint)?;
            }
        }
        let outline = std::mem::take(&mut record.signals.outline);
        if !outline.marks.is_empty() {
            self.marks.insert_at(version, record.origin.unwrap_or(version), &outline.hashes())?;
        }
        self.remove(&record.id)?;
        self.ids.insert(record.id.clone(), version);
        self.keys.extend(record.signals.keys.iter().map(|key| (*key, version)));
        self.expiries.extend(record.expires.map(|expires| (expires, version)));
        let text = record.text.take();
        self.entries.insert(version, Entry { record, outline, text });
        Ok(version)
    }

    /// Takes an id out of everything, and gives its version.
    fn remove(&mut self, id: &str) -> Result<Option<u64>, StoreError> {
        let Some(version) = self.ids.remove(id) else { return Ok(None) };
        if let Some(Entry { record, .. }) = self.entries.remove(&version) {
            for key in record.signals.keys {
                self.keys.remove(&(key, version));
            }
            if let Some(expires) = record.expires {
                self.expiries.remove(&(expires, version));
            }
        }
        // Last, for they can fail: an ordinal without an entry is no candidate.
        self.marks.delete(version)?;
        self.spaces.iter().try_for_each(|(_, index)| index.delete(version))?;
        Ok(Some(version))
    }

    /// Takes out what has expired.
    fn sweep(&mut self, now: i64) -> Result<(), StoreError> {
        while let Some((_, version)) = self.expiries.first().copied().filter(|(expires, _)| *expires <= now) {
            let id = self.entries.get(&version).map(|entry| entry.record.id.clone());
            match id {
                Some(id) => self.remove(&id).map(|_| ())?,
                None => _ = self.expiries.pop_first(),
            }
        }
        Ok(())
    }

    /// The entry of a version that is there and has not expired.
    fn visible(&self, version: u64, now: i64) -> Option<&Entry> {
        let entry = self.entries.get(&version)?;
        entry.record.expires.is_none_or(|expires| expires > now).then_some(entry)
    }

    fn stored(&self, version: u64, want: Want, now: i64) -> Option<Stored> {
        let Entry { record, outline, text } = self.visible(version, now)?;
        let mut record = record.clone();
        if want != Want::Record {
            record.signals.outline.clone_from(outline);
        }
        if want == Want::Text {
            record.text.clone_from(text);
        }
        Some(Stored { version, record })
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { collection, next, entries, .. } = self;
        write!(f, "{:?}: {} records, next version {next}", collection.name, entries.len())
    }
}

/// What the queries search for in a space, each with the number of its query; those of one distance together.
fn searches(queries: &[Query], space: Space) -> Vec<Search<'_>> {
    let mut searches = Vec::new();
    for (query, Query { probes, .. }) in queries.iter().enumerate() {
        searches.extend(probes.iter().filter_map(|probe| match probe {
            Probe::Near { space: own, fingerprint, within } if *own == space => {
                Some((query, fingerprint, *within))
            }
            _ => None,
        }));
    }
    searches.sort_by_key(|search: &(usize, &Fingerprint, u32)| search.2);
    searches
}

// A lock is poisoned by a panic elsewhere. No change here is left half done by one: maps do not panic, and an ordinal
// without an entry is no candidate.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
