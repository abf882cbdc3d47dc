//! Collections: which there are, and in which index each lives.
//!
//! A collection is a document of the index `PREFIX-collections`, which names the number of its own index. Numbers are never
//! used again, so whoever still knows a collection that has been removed finds no index and asks anew. Indices are written
//! to by an alias: a change that comes too late must not make an index of that name again.

use super::OpenSearch;
use super::changes::{Change, Outcome, Over, What};
use super::http::{Body, Purpose, Trouble, kind};
use super::layout::{LAYOUT, PLACES, mapping};
use crate::StoreError;
use crate::codec;
use crate::record::Collection;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};
use ureq::http::Method;

/// Collections listed by one search.
const LISTED: usize = 1000;

/// A collection and where it lives.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) number: u32,
    pub(crate) collection: Collection,
    /// The alias of its index.
    pub(crate) index: String,
    /// Whether the servers let scripts count bits; asked once.
    pub(crate) scripts: OnceLock<bool>,
    /// When what has expired was last taken out, in seconds since this client began.
    pub(crate) swept: AtomicU64,
    /// The terms of its shards when they were last asked for; 0 if they never were.
    pub(crate) terms: AtomicU64,
}

impl OpenSearch {
    /// The alias of the index of collections.
    fn catalogue(&self) -> String {
        format!("{}-collections", self.prefix)
    }

    /// Does something with a collection; once more from the start if its index is gone, for it may have been made anew.
    pub(crate) fn with_room<T>(
        &self,
        name: &str,
        mut work: impl FnMut(&Room) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        for _ in 0..2 {
            let room = self.room(name)?;
            match work(&room) {
                Ok(done) => return Ok(done),
                // What does not fit may not fit what was there before.
                Err(Trouble::Store(error)) if is_misfit(&error) && self.is_outdated(&room)? => {
                    self.forget(name);
                }
                Err(Trouble::Store(error)) => return Err(error),
                Err(Trouble::Gone) => self.forget(name),
            }
        }
        let index = self.room(name)?.index.clone();
        let what = format!(
            "the index {index} of the collection {name:?} is missing: restore it, or remove the collection"
        );
        Err(self.server.foreign(what))
    }

    fn room(&self, name: &str) -> Result<Arc<Room>, StoreError> {
        let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(name) {
            return Ok(Arc::clone(room));
        }
        drop(rooms);
        let stored = self.stored_collection(name)?;
        let (number, collection) =
            stored.ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })?;
        let room = Arc::new(self.new_room(number, collection));
        self.check_mapping(&room)?;
        let mut rooms = self.rooms.write().unwrap_or_else(PoisonError::into_inner);
        rooms.insert(name.to_owned(), Arc::clone(&room));
        Ok(room)
    }

    fn new_room(&self, number: u32, collection: Collection) -> Room {
        let index = format!("{}-{number}", self.prefix);
        Room {
            number,
            collection,
            index,
            scripts: OnceLock::new(),
            swept: AtomicU64::new(0),
            terms: AtomicU64::new(0),
        }
    }

    /// Whether the collection has been removed, or made anew, since it was first used.
    fn is_outdated(&self, room: &Room) -> Result<bool, StoreError> {
        Ok(self.stored_collection(&room.collection.name)?.is_none_or(|(number, _)| number != room.number))
    }

    /// Forgets where a collection is: for calls that would otherwise ask the servers nothing.
    pub(crate) fn forget(&self, name: &str) {
        self.rooms.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// The collection of a name as it is stored.
    fn stored_collection(&self, name: &str) -> Result<Option<(u32, Collection)>, StoreError> {
        match self.server.get(&self.catalogue(), &[collection_id(name)], &["collection"]) {
            Ok(mut got) => got.pop().flatten().map(|got| self.parse_collection(&got.source)).transpose(),
            Err(Trouble::Gone) => Ok(None),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    fn parse_collection(&self, source: &Value) -> Result<(u32, Collection), StoreError> {
        let parsed = source["collection"].as_str().and_then(|json| codec::parse_collection(json.as_bytes()));
        parsed.ok_or_else(|| self.server.foreign(format!("{} holds what is no collection", self.catalogue())))
    }

    /// Whether an index is one of ours.
    fn check_mapping(&self, room: &Room) -> Result<(), StoreError> {
        let expected = mapping(&room.collection, self.release);
        let missing = |own: &Value| {
            let fields = expected["properties"].as_object().into_iter().flatten();
            let other = |(name, field): &(&String, &Value)| {
                name.as_str() != "metadata" && own["properties"][name.as_str()]["type"] != field["type"]
            };
            fields.filter(|(name, _)| *name != "pending").find(other).map(|(name, _)| name.clone())
        };
        self.check_index(&room.index, missing)
    }

    /// Whether an index has our mark, and no field is another than it should be.
    fn check_index(&self, alias: &str, other: impl Fn(&Value) -> Option<String>) -> Result<(), StoreError> {
        let reply = match self.server.read(&Method::GET, &format!("/{alias}/_mapping"), Body::None) {
            Ok(reply) => reply,
            // Whoever uses it will notice.
            Err(Trouble::Gone) => return Ok(()),
            Err(Trouble::Store(error)) => return Err(error),
        };
        for (index, about) in reply.as_object().into_iter().flatten() {
            let mappings = &about["mappings"];
            let why = match mappings["_meta"]["leitong"].as_u64() {
                Some(LAYOUT) => {
                    other(mappings).map(|field| format!("its field {field} is not as Leitong makes it"))
                }
                Some(layout) if layout > LAYOUT => {
                    Some("a later version of Leitong made it: use that one".to_owned())
                }
                _ => Some(
                    "Leitong did not make it: choose another prefix in the address, …:PORT/PREFIX".to_owned(),
                ),
            };
            if let Some(why) = why {
                return Err(self.server.foreign(format!("the index {index} has another mapping; {why}")));
            }
        }
        Ok(())
    }

    pub(crate) fn list_collections(&self) -> Result<Vec<Collection>, StoreError> {
        let mut all: Vec<Collection> = Vec::new();
        let (index, mut after) = (self.catalogue(), None::<String>);
        let pages = self.server.refresh(&index).and_then(|()| {
            loop {
                let mut search = json!({
                    "size": LISTED, "sort": [{ "name": "asc" }], "_source": ["collection"],
                    "query": { "exists": { "field": "name" } },
                });
                after.iter().for_each(|after| search["search_after"] = json!([after]));
                let answers = self.server.search(&index, &[search])?;
                let hits = answers[0]["hits"]["hits"].as_array().cloned().unwrap_or_default();
                for hit in &hits {
                    all.push(self.parse_collection(&hit["_source"])?.1);
                }
                if hits.len() < LISTED {
                    return Ok(());
                }
                after = all.last().map(|collection| collection.name.clone());
            }
        });
        match pages {
            Ok(()) => all.sort_by(|a, b| a.name.cmp(&b.name)),
            Err(Trouble::Gone) => {}
            Err(Trouble::Store(error)) => return Err(error),
        }
        Ok(all)
    }

    pub(crate) fn create_collection(&self, collection: &Collection) -> Result<(), StoreError> {
        collection.validate()?;
        if let Some((_, stored)) = self.stored_collection(&collection.name)? {
            return stored.same(collection);
        }
        self.make_catalogue()?;
        let number = self.next(&self.catalogue(), "numbers")? as u32;
        let room = self.new_room(number, collection.clone());
        self.make_index(&room.index, &mapping(collection, self.release), self.shards)?;
        let json = String::from_utf8_lossy(&codec::collection(number, collection)).into_owned();
        let change = Change {
            id: collection_id(&collection.name),
            over: Over::Nothing,
            what: What::Put(json!({ "name": collection.name, "collection": json })),
        };
        let made =
            self.server.change(&self.catalogue(), &[change]).map_err(|trouble| self.no_catalogue(trouble))?;
        if made[0].is_done() {
            return Ok(());
        }
        // Somebody else was faster, or it was ourselves and the answer was lost.
        match self.stored_collection(&collection.name)? {
            Some((own, _)) if own == number => Ok(()),
            Some((_, stored)) => {
                self.drop_index(&room.index)?;
                stored.same(collection)
            }
            None => self.create_collection(collection),
        }
    }

    pub(crate) fn destroy_collection(&self, name: &str) -> Result<bool, StoreError> {
        self.forget(name);
        let (catalogue, id) = (self.catalogue(), collection_id(name));
        let got = match self.server.get(&catalogue, std::slice::from_ref(&id), &["collection"]) {
            Ok(mut got) => got.pop().flatten(),
            Err(Trouble::Gone) => None,
            Err(Trouble::Store(error)) => return Err(error),
        };
        let Some(got) = got else { return Ok(false) };
        let (number, collection) = self.parse_collection(&got.source)?;
        let change = Change { id, over: Over::This(got.place), what: What::Delete };
        let outcome =
            self.server.change(&catalogue, &[change]).map_err(|trouble| self.no_catalogue(trouble))?;
        // Without it, somebody else has just removed the collection, and perhaps was stopped then. Or it was ourselves.
        let removed = outcome[0] != (Outcome::Conflict { repeated: false });
        let room = self.new_room(number, collection);
        if removed || self.is_outdated(&room)? {
            self.drop_documents(&room).map_err(StoreError::after_a_change)?;
        }
        Ok(removed)
    }

    /// Removes what a collection had, whose number is never used again.
    fn drop_documents(&self, room: &Room) -> Result<(), StoreError> {
        self.drop_index(&room.index)?;
        let counter = Change { id: counter_id(room.number), over: Over::Anything, what: What::Delete };
        let dropped = self.server.change(&self.catalogue(), &[counter]);
        dropped.map(|_| ()).map_err(|trouble| self.no_catalogue(trouble))
    }

    fn make_catalogue(&self) -> Result<(), StoreError> {
        let mapping = json!({
            "dynamic": false, "_meta": { "leitong": LAYOUT }, "properties": { "name": { "type": "keyword" } },
        });
        self.make_template()?;
        self.make_index(&self.catalogue(), &mapping, 1)?;
        self.check_index(&self.catalogue(), |_| None)
    }

    /// Should an index of the prefix come into being in any other way, the servers must not guess what its fields are.
    fn make_template(&self) -> Result<(), StoreError> {
        let template = json!({
            "index_patterns": [format!("{}-*", self.prefix)],
            "priority": 500,
            "template": { "mappings": { "dynamic": false } },
            "_meta": { "leitong": LAYOUT },
        });
        let path = format!("/_index_template/{}", self.prefix);
        let reply = self.server.ask(&Method::PUT, &path, Body::Json(&template), Purpose::Changing)?;
        match reply.status {
            // It is a precaution only: users who may write to indices may not be allowed to make templates.
            200 | 403 => Ok(()),
            _ => Err(self.plain(self.server.refusal(reply.status, &reply.body))),
        }
    }

    /// Makes an index, unless it is there.
    fn make_index(&self, alias: &str, mapping: &Value, shards: u32) -> Result<(), StoreError> {
        // Searches ask for a refresh when they need one; without asking it is for those who look in from outside.
        let mut settings = json!({ "number_of_shards": shards, "refresh_interval": "30s" });
        match self.replicas {
            Some(replicas) => settings["number_of_replicas"] = json!(replicas),
            None => settings["auto_expand_replicas"] = json!("0-1"),
        }
        let body = json!({ "settings": settings, "mappings": mapping, "aliases": { alias: {} } });
        let path = format!("/{}", index_of(alias));
        let reply = self.server.ask(&Method::PUT, &path, Body::Json(&body), Purpose::Changing)?;
        match (reply.status, kind(&reply.body)) {
            (200, _) | (400, "resource_already_exists_exception") => Ok(()),
            (400, "invalid_alias_name_exception") => {
                let why = "Leitong did not make it: choose another prefix in the address, …:PORT/PREFIX";
                Err(self.server.foreign(format!("there is an index {alias} where an alias should be; {why}")))
            }
            _ => Err(self.plain(self.server.refusal(reply.status, &reply.body))),
        }
    }

    fn drop_index(&self, alias: &str) -> Result<(), StoreError> {
        let path = format!("/{}", index_of(alias));
        match self.server.succeed(&Method::DELETE, &path, Body::None, Purpose::Changing) {
            Ok(_) | Err(Trouble::Gone) => Ok(()),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    /// The next number of a counter: how often its document has been written. Nobody else has the same.
    fn next(&self, index: &str, counter: &str) -> Result<u64, StoreError> {
        let change = Change { id: counter.to_owned(), over: Over::Anything, what: What::Put(json!({})) };
        match self.server.change(index, &[change]).map_err(|trouble| self.no_catalogue(trouble))?[0] {
            Outcome::Done { times, .. } => Ok(times),
            Outcome::Conflict { .. } => Err(self.server.foreign("a counter could not be written")),
        }
    }

    /// The version of the first record of a call; the others follow.
    pub(crate) fn next_version(&self, room: &Room) -> Result<u64, StoreError> {
        Ok(self.next(&self.catalogue(), &counter_id(room.number))? << PLACES)
    }

    /// A lower bound of what [`OpenSearch::next_version`] will say next.
    pub(crate) fn coming_version(&self, room: &Room) -> Result<u64, StoreError> {
        let path = format!("/{}/_doc/{}?_source=false", self.catalogue(), counter_id(room.number));
        let reply = self.server.ask(&Method::GET, &path, Body::None, Purpose::Reading)?;
        Ok((reply.body["_version"].as_u64().unwrap_or_default() + 1) << PLACES)
    }

    fn no_catalogue(&self, trouble: Trouble) -> StoreError {
        match trouble {
            Trouble::Store(error) => error,
            Trouble::Gone => {
                self.server.foreign(format!("the index {} is missing: restore it", self.catalogue()))
            }
        }
    }

    fn plain(&self, trouble: Trouble) -> StoreError {
        self.no_catalogue(trouble)
    }

    /// Whether it is time to take out what has expired; says so once a minute.
    pub(crate) fn is_time_to_sweep(&self, room: &Room) -> bool {
        let (now, last) = (self.start.elapsed().as_secs() + 60, room.swept.load(Ordering::Relaxed));
        now >= last + 60
            && room.swept.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Whether it was a question of what the collection is like.
fn is_misfit(error: &StoreError) -> bool {
    matches!(error, StoreError::NoSpace { .. } | StoreError::Width { .. } | StoreError::TooFar { .. })
}

/// The index behind an alias.
pub(crate) fn index_of(alias: &str) -> String {
    format!("{alias}-documents")
}

fn collection_id(name: &str) -> String {
    format!("collection:{name}")
}

fn counter_id(number: u32) -> String {
    format!("counter:{number}")
}
