//! Storing records: which way each goes, and the plain way for many at once.

use super::OpenSearch;
use super::changes::{Change, Outcome, Over, What};
use super::find::hits;
use super::http::Trouble;
use super::layout::{Ticket, check_text, document, document_id, parse_ticket};
use super::query::expired;
use super::requests::{Got, Place};
use super::rooms::Room;
use crate::StoreError;
use crate::record::Collection;
use crate::seam::{Added, Addition, Policy};
use serde_json::json;
use std::collections::HashSet;

/// From so many on, records that are stored in any case go the plain way. Fewer are announced first like all others, so that
/// their versions fit into the order of what others store at the same time.
const MANY: usize = 64;
/// Most records of one step of the plain way …
const MOST_PLAIN: usize = 10_000;
/// … and about how many bytes of them.
const MOST_BYTES: usize = 64 << 20;
/// Expired records taken out at once.
const SWEPT: usize = 1000;

/// What there is of an id.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) place: Place,
    /// The version of the record, expired or not; none if there is only an announcement.
    pub(crate) version: Option<u64>,
    /// The same, if it has not expired.
    pub(crate) visible: Option<u64>,
    /// Who has announced something for the id.
    pub(crate) ticket: Option<Ticket>,
}

/// Fields that tell the state of an id.
pub(crate) const STATE: [&str; 5] = ["id", "version", "expires", "pending.owner", "pending.time"];

impl State {
    pub(crate) fn of(got: &Got, now: i64) -> Self {
        let source = &got.source;
        let version = source["version"].as_u64();
        let visible = version.filter(|_| source["expires"].as_i64().is_none_or(|expires| expires > now));
        Self { place: got.place, version, visible, ticket: parse_ticket(&source["pending"]) }
    }

    /// What takes an announcement back.
    pub(crate) fn without_announcement(&self) -> What {
        match self.version {
            Some(_) => What::Merge(json!({ "pending": null })),
            None => What::Delete,
        }
    }
}

/// An addition on its way.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) addition: Addition,
    pub(crate) state: Option<State>,
    /// It may have been stored although something else seemed to be there.
    pub(crate) maybe: Option<Maybe>,
    pub(crate) answer: Option<Added>,
}

/// A record that may have been stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maybe {
    version: u64,
    /// The visible version before it was tried.
    replaces: Option<u64>,
    /// Whether an answer was lost.
    repeated: bool,
}

impl Item {
    pub(crate) fn new(addition: Addition) -> Self {
        Self { addition, state: None, maybe: None, answer: None }
    }

    pub(crate) fn id(&self) -> &str {
        &self.addition.record.id
    }

    /// The version that would be replaced.
    pub(crate) fn own(&self) -> Option<u64> {
        self.state.as_ref().and_then(|state| state.visible)
    }

    /// What must be there for a change.
    pub(crate) fn over(&self) -> Over {
        self.state.as_ref().map_or(Over::Nothing, |state| Over::This(state.place))
    }

    /// The answer if it is not to be stored, whatever else is there.
    pub(crate) fn refusal(&self) -> Option<Added> {
        let (Addition { policy, over, .. }, own) = (&self.addition, self.own());
        if over.is_some() && *over != own {
            return Some(Added::Changed { version: own });
        }
        own.filter(|_| *policy == Policy::New).map(|version| Added::Exists { version })
    }

    /// Whether it is, or perhaps will turn out to have been, stored.
    fn may_be(&self, stored: impl Fn(&Added) -> bool) -> bool {
        self.maybe.is_some() || self.answer.as_ref().is_some_and(stored)
    }

    /// Takes note of what became of storing it.
    pub(crate) fn conclude(&mut self, version: u64, outcome: Outcome) {
        match outcome {
            Outcome::Done { .. } => self.answer = Some(Added::Stored { version, replaced: self.own() }),
            Outcome::Conflict { repeated } => {
                self.maybe = Some(Maybe { version, replaces: self.own(), repeated });
            }
        }
    }
}

impl OpenSearch {
    pub(crate) fn add_all(
        &self,
        room: &Room,
        additions: &[Addition],
        now: i64,
    ) -> Result<Vec<Added>, Trouble> {
        additions.iter().try_for_each(|addition| room.collection.check_addition(addition))?;
        additions.iter().try_for_each(|addition| check_text(&addition.record))?;
        self.sweep(room, now)?;
        let mut answers = Vec::with_capacity(additions.len());
        let mut rest = additions;
        while !rest.is_empty() {
            let plain = apart(rest, MOST_PLAIN, |addition| !matches!(addition.policy, Policy::Unless { .. }));
            let (items, many) = match plain >= MANY {
                true => (plain, true),
                false => (apart(rest, MANY, |_| true), false),
            };
            let (now_added, later) = rest.split_at(items);
            let mut items: Vec<Item> = now_added.iter().cloned().map(Item::new).collect();
            let added = match many {
                true => self.add_plainly(room, &mut items, now),
                false => self.add_with_care(room, &mut items, now),
            };
            let stored = |answer: &Added| matches!(answer, Added::Stored { .. });
            let changed = answers.iter().any(stored) || items.iter().any(|item| item.may_be(stored));
            added.map_err(|trouble| if changed { trouble.after_a_change() } else { trouble })?;
            let missing = || self.server.foreign("an addition without an answer");
            for item in items {
                answers.push(item.answer.ok_or_else(missing)?);
            }
            rest = later;
        }
        Ok(answers)
    }

    /// Looks what there is of the ids of items, and settles what is clear from that.
    pub(crate) fn read_states(&self, room: &Room, items: &mut [&mut Item], now: i64) -> Result<(), Trouble> {
        let ids: Vec<String> = items.iter().map(|item| document_id(item.id())).collect();
        for (item, got) in items.iter_mut().zip(self.server.get(&room.index, &ids, &STATE)?) {
            if let Some(other) =
                got.as_ref().and_then(|got| got.source["id"].as_str()).filter(|id| *id != item.id())
            {
                let what =
                    format!("the ids {other:?} and {:?} have the same digest: change one of them", item.id());
                return Err(self.server.foreign(what).into());
            }
            let before = item.state.take();
            item.state = got.map(|got| State::of(&got, now));
            if let Some(maybe) = item.maybe.take() {
                let there = item.state.as_ref().and_then(|state| state.version);
                let place = |state: &Option<State>| state.as_ref().map(|state| state.place);
                if there == Some(maybe.version) {
                    item.answer = Some(Added::Stored { version: maybe.version, replaced: maybe.replaces });
                } else if maybe.repeated && place(&before) != place(&item.state) {
                    // It was stored and replaced since, or something else was: who knows.
                    let (server, why) = (self.server.name(), "an answer was lost".to_owned());
                    return Err(StoreError::Uncertain { server, why }.into());
                }
            }
            item.answer = item.answer.take().or_else(|| item.refusal());
        }
        Ok(())
    }

    /// Stores records one after the other where each is, without asking who else is at it.
    fn add_plainly(&self, room: &Room, items: &mut [Item], now: i64) -> Result<(), Trouble> {
        loop {
            let mut open: Vec<&mut Item> = items.iter_mut().filter(|item| item.answer.is_none()).collect();
            if open.is_empty() {
                return Ok(());
            }
            self.read_states(room, &mut open, now)?;
            open.retain(|item| item.answer.is_none());
            // Behind the look: whatever is there has a lower version.
            let first = self.next_version(room)?;
            let changes: Vec<Change> = (first..)
                .zip(&open)
                .map(|(version, item)| self.storing(&room.collection, item, version))
                .collect();
            let outcomes = self.server.change(&room.index, &changes)?;
            for ((version, item), outcome) in (first..).zip(open).zip(outcomes) {
                item.conclude(version, outcome);
            }
        }
    }

    /// The change that makes a record be there.
    pub(crate) fn storing(&self, collection: &Collection, item: &Item, version: u64) -> Change {
        let document = document(collection, self.release, &item.addition.record, version);
        Change { id: document_id(item.id()), over: item.over(), what: What::Put(document) }
    }

    /// Takes out what has expired, now and then: nobody sees it, but it takes room.
    fn sweep(&self, room: &Room, now: i64) -> Result<(), Trouble> {
        if !self.is_time_to_sweep(room) {
            return Ok(());
        }
        let search = json!({
            "size": SWEPT, "_source": ["pending.owner"], "seq_no_primary_term": true, "query": expired(now),
        });
        let answer = self.server.search(&room.index, &[search])?.remove(0);
        let gone = |hit: &serde_json::Value| {
            let place = Place::of(hit).filter(|_| hit["_source"]["pending"]["owner"].is_null())?;
            Some(Change { id: hit["_id"].as_str()?.to_owned(), over: Over::This(place), what: What::Delete })
        };
        let changes: Vec<Change> = hits(&answer).iter().filter_map(gone).collect();
        self.server.change(&room.index, &changes).map(|_| ())
    }
}

/// How many of the first additions have different ids, are of a kind, and are not too long to be written down at once.
fn apart(additions: &[Addition], most: usize, kind: impl Fn(&Addition) -> bool) -> usize {
    let (mut seen, mut bytes): (HashSet<&str>, usize) = (HashSet::new(), 0);
    let other = additions.iter().take(most).position(|addition| {
        let Addition { record, .. } = addition;
        bytes += record.text.as_ref().map_or(0, String::len) + 16 * record.signals.outline.marks.len();
        let too_long = bytes > MOST_BYTES && !seen.is_empty();
        too_long || !kind(addition) || !seen.insert(&record.id)
    });
    other.unwrap_or(additions.len().min(most))
}
