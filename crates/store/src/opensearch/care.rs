//! Storing a record unless something like it is there: announce, number, look, settle, store.
//!
//! The document of an id is the only place where anything is decided, and every change of it names the state it was meant
//! for. Who wants to store a record writes an announcement into it, then takes a version, then looks who else is there or
//! has announced something, and then makes the announcement the record. Whoever takes its version later looks later still,
//! and so sees the announcement or the record. Two who have announced what would be found by the other do not both go on:
//! the younger waits for the older, or the older takes the younger's announcement away, which then has to begin anew.
//! Nobody is waited for longer than a lease. docs/opensearch.md has the argument.

use super::OpenSearch;
use super::add::{Item, State};
use super::changes::{Change, Over, What};
use super::find::{Local, Seen, compare, page};
use super::http::Trouble;
use super::layout::{Ticket, document_id, parse_pending, pending};
use super::query::Question;
use super::requests::Place;
use super::rooms::Room;
use crate::marks::{Scoring, probed};
use crate::record::{Record, Signals};
use crate::seam::{Added, Found, Policy, Probe};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long who waits sleeps before it looks again, at first and at most.
const NAP: Duration = Duration::from_millis(3);
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// Somebody else's announcement.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    document: String,
    state: State,
}

/// What is to become of an item.
enum Decision {
    /// It is stored.
    Store,
    /// It is not, and why.
    Refuse(Found),
}

/// What a look at the servers has shown of an item.
#[derive(Default)]
struct Sight {
    seen: Seen,
    /// Announcements of others that its probes would find.
    others: Vec<Other>,
}

impl OpenSearch {
    pub(crate) fn add_with_care(&self, room: &Room, items: &mut [Item], now: i64) -> Result<(), Trouble> {
        let ticket = self.ticket();
        while items.iter().any(|item| item.answer.is_none()) {
            self.round(room, items, &ticket, now)?;
        }
        Ok(())
    }

    /// Goes as far as it can without waiting, and then waits for whoever is in the way.
    fn round(&self, room: &Room, items: &mut [Item], ticket: &Ticket, now: i64) -> Result<(), Trouble> {
        let mut open: Vec<&mut Item> = items.iter_mut().filter(|item| item.answer.is_none()).collect();
        self.read_states(room, &mut open, now)?;
        self.withdraw(room, open.iter().filter(|item| item.answer.is_some()).map(|item| &**item), ticket)?;
        open.retain(|item| item.answer.is_none());
        self.reach("read")?;
        let older = open.iter().filter_map(|item| {
            let state = item
                .state
                .clone()
                .filter(|state| state.ticket.as_ref().is_some_and(|other| other < ticket))?;
            Some(Other { document: document_id(item.id()), state })
        });
        let older: Vec<Other> = older.collect();
        if !older.is_empty() {
            return self.wait(room, older, now);
        }
        if !self.announce(room, &mut open, ticket)? {
            return Ok(());
        }
        self.reach("announced")?;
        let first = self.next_version(room)?;
        self.reach("numbered")?;
        let sights = self.look_around(room, &open, ticket, now)?;
        self.reach("looked")?;
        let (decisions, in_the_way) = self.decide(room, &open, sights, (ticket, first, now))?;
        self.carry_out(room, &mut open, decisions, first)?;
        self.reach("stored")?;
        self.wait(room, in_the_way, now)
    }

    /// Writes announcements where there are none; false if somebody was faster and all is to be looked at again.
    fn announce(&self, room: &Room, open: &mut [&mut Item], ticket: &Ticket) -> Result<bool, Trouble> {
        let own =
            |item: &Item| item.state.as_ref().is_some_and(|state| state.ticket.as_ref() == Some(ticket));
        let mut new: Vec<&mut &mut Item> = open.iter_mut().filter(|item| !own(item)).collect();
        let change = |item: &&mut &mut Item| {
            let mut fields = json!({ "pending": pending(&room.collection, &item.addition.record, ticket) });
            let what = match &item.state {
                Some(_) => What::Merge(fields),
                None => {
                    fields["id"] = json!(item.id());
                    What::Put(fields)
                }
            };
            Change { id: document_id(item.id()), over: item.over(), what }
        };
        let changes: Vec<Change> = new.iter().map(change).collect();
        let mut all = true;
        for (item, outcome) in new.iter_mut().zip(self.server.change(&room.index, &changes)?) {
            match outcome {
                super::changes::Outcome::Done { place, .. } => {
                    let new = State { place, version: None, visible: None, ticket: None };
                    item.state = Some(State {
                        place,
                        ticket: Some(ticket.clone()),
                        ..item.state.take().unwrap_or(new)
                    });
                }
                super::changes::Outcome::Conflict { .. } => all = false,
            }
        }
        Ok(all)
    }

    /// What is there, and what others have announced, for every item that asks.
    fn look_around(
        &self,
        room: &Room,
        open: &[&mut Item],
        ticket: &Ticket,
        now: i64,
    ) -> Result<Vec<Sight>, Trouble> {
        let mut sights: Vec<Sight> = open.iter().map(|_| Sight::default()).collect();
        let asking = |(place, item): (usize, &&mut Item)| match &item.addition.policy {
            Policy::Unless { probes, .. } if !probes.is_empty() => {
                Some((place, probes.clone(), item.id().to_owned()))
            }
            _ => None,
        };
        let asking: Vec<(usize, Vec<Probe>, String)> = open.iter().enumerate().filter_map(asking).collect();
        if asking.is_empty() {
            return Ok(sights);
        }
        self.server.refresh(&room.index)?;
        let questions: Vec<Question<'_>> =
            asking.iter().map(|(_, probes, id)| Question { probes, except: Some(id), now }).collect();
        let (mut searches, mut askers) = (Vec::new(), Vec::new());
        for ((place, ..), question) in asking.iter().zip(&questions) {
            if let Some(search) = question.announced(&room.collection, &ticket.owner)? {
                searches.push(search);
                askers.push((*place, question.probes));
            }
        }
        // Announcements first, and then, refreshed, what is there, in the same copies: every search sees a moment of its own, and who is
        // stored between two of them is no longer announced in the one and is there in the other, not the other way round.
        let copies = Some(ticket.owner.as_str());
        let answers = self.server.search_in(&room.index, copies, &searches)?;
        for (((place, probes), search), answer) in askers.into_iter().zip(searches).zip(answers) {
            let others = &mut sights[place].others;
            self.all_pages(room, copies, (search, answer), &mut |hit| {
                let (other, signals) = other(room, hit)?;
                if may_find(self.scoring, probes, &signals) {
                    others.push(other);
                }
                Some(())
            })?;
        }
        self.reach("seen who is coming")?;
        self.server.refresh(&room.index)?;
        for ((place, ..), seen) in asking.iter().zip(self.look(room, &questions, copies)?) {
            sights[*place].seen = seen;
        }
        Ok(sights)
    }

    /// What becomes of the items, in order, up to the first that has to wait; and for whom it waits.
    fn decide(
        &self,
        room: &Room,
        open: &[&mut Item],
        sights: Vec<Sight>,
        (ticket, first, now): (&Ticket, u64, i64),
    ) -> Result<(Vec<Decision>, Vec<Other>), Trouble> {
        let (mut decisions, mut local): (Vec<Decision>, Vec<Local<'_>>) = (Vec::new(), Vec::new());
        let mut replaced = false;
        for ((version, item), Sight { seen, others }) in (first..).zip(open).zip(sights) {
            let record = &item.addition.record;
            if let Policy::Unless { probes, judged, limit } = &item.addition.policy {
                // The look has shown what an earlier one of this call has replaced since.
                if replaced {
                    break;
                }
                let mut ranks = self.ranks(seen, probes, &local);
                ranks.retain(|rank| !judged.contains(&rank.version));
                if !ranks.is_empty() {
                    let limit = (*limit).max(1);
                    let wanted: BTreeSet<u64> = ranks.iter().take(limit).map(|rank| rank.version).collect();
                    let records = self.candidates(room, &wanted, &local)?;
                    if records.len() < wanted.len() {
                        break;
                    }
                    decisions.push(Decision::Refuse(page(ranks, limit, &records, &wanted)));
                    continue;
                }
                let in_the_way = self.settle(room, others, ticket)?;
                if !in_the_way.is_empty() {
                    return Ok((decisions, in_the_way));
                }
            }
            replaced |= item.state.as_ref().is_some_and(|state| state.version.is_some());
            if record.expires.is_none_or(|expires| expires > now) {
                local.push(Local { version, record, hashes: record.signals.outline.hashes() });
            }
            decisions.push(Decision::Store);
        }
        Ok((decisions, Vec::new()))
    }

    /// The records of candidates: some are on the servers, some are ours and not there yet.
    fn candidates(
        &self,
        room: &Room,
        wanted: &BTreeSet<u64>,
        local: &[Local<'_>],
    ) -> Result<BTreeMap<u64, Record>, Trouble> {
        let plain = |record: &Record| {
            let mut record = Record { text: None, ..record.clone() };
            record.signals.outline = crate::record::Outline::default();
            record
        };
        let own = local.iter().filter(|local| wanted.contains(&local.version));
        let mut records: BTreeMap<u64, Record> =
            own.map(|local| (local.version, plain(local.record))).collect();
        let elsewhere = wanted.iter().copied().filter(|version| !records.contains_key(version)).collect();
        records.extend(self.records(room, &elsewhere)?);
        Ok(records)
    }

    /// Takes the announcements of younger ones away; gives the others, who have to be waited for.
    fn settle(&self, room: &Room, others: Vec<Other>, ticket: &Ticket) -> Result<Vec<Other>, Trouble> {
        let (older, younger): (Vec<Other>, Vec<Other>) = others
            .into_iter()
            .partition(|other| other.state.ticket.as_ref().is_some_and(|other| other < ticket));
        let mut in_the_way = older;
        for (other, wounded) in younger.iter().zip(self.wound(room, &younger)?) {
            if !wounded {
                // It has gone on or given up meanwhile: we look again.
                in_the_way.push(other.clone());
            }
        }
        Ok(in_the_way)
    }

    /// Takes announcements away, each if it is still as it was seen.
    fn wound(&self, room: &Room, others: &[Other]) -> Result<Vec<bool>, Trouble> {
        let change = |Other { document, state }: &Other| Change {
            id: document.clone(),
            over: Over::This(state.place),
            what: state.without_announcement(),
        };
        let changes: Vec<Change> = others.iter().map(change).collect();
        Ok(self.server.change(&room.index, &changes)?.into_iter().map(|outcome| outcome.is_done()).collect())
    }

    /// Takes our own announcements back, where there are any.
    fn withdraw<'a>(
        &self,
        room: &Room,
        items: impl Iterator<Item = &'a Item>,
        ticket: &Ticket,
    ) -> Result<(), Trouble> {
        let own = items.filter_map(|item| {
            let state = item.state.clone().filter(|state| state.ticket.as_ref() == Some(ticket))?;
            Some(Other { document: document_id(item.id()), state })
        });
        self.wound(room, &own.collect::<Vec<_>>()).map(|_| ())
    }

    fn carry_out(
        &self,
        room: &Room,
        open: &mut [&mut Item],
        decisions: Vec<Decision>,
        first: u64,
    ) -> Result<(), Trouble> {
        let change =
            |((version, item), decision): ((u64, &&mut Item), &Decision)| match (decision, &item.state) {
                (Decision::Refuse(_), Some(state)) => Change {
                    id: document_id(item.id()),
                    over: item.over(),
                    what: state.without_announcement(),
                },
                _ => self.storing(&room.collection, item, version),
            };
        let changes: Vec<Change> = (first..).zip(&*open).zip(&decisions).map(change).collect();
        let outcomes = self.server.change(&room.index, &changes)?;
        let mut failed = BTreeSet::new();
        for (((version, item), decision), outcome) in (first..).zip(open).zip(decisions).zip(outcomes) {
            match decision {
                Decision::Store => {
                    item.conclude(version, outcome);
                    failed.extend(item.answer.is_none().then_some(version));
                }
                // What it was refused for must have been stored.
                Decision::Refuse(found) => {
                    let stands =
                        found.candidates.iter().all(|candidate| !failed.contains(&candidate.rank.version));
                    item.answer = stands.then_some(Added::Unjudged(found));
                }
            }
        }
        Ok(())
    }

    /// Waits until none of these announcements is there any more; one that stays as it is for a lease is taken away.
    fn wait(&self, room: &Room, mut others: Vec<Other>, now: i64) -> Result<(), Trouble> {
        let mut since: BTreeMap<String, (Place, Instant)> = BTreeMap::new();
        let mut nap = NAP;
        while !others.is_empty() {
            let ids: Vec<String> = others.iter().map(|other| other.document.clone()).collect();
            let got = self.server.get(&room.index, &ids, &super::add::STATE)?;
            let mut still = Vec::new();
            for (other, got) in others.into_iter().zip(got) {
                let state = got.map(|got| State::of(&got, now));
                let Some(state) = state.filter(|state| state.ticket == other.state.ticket) else { continue };
                let (place, seen) =
                    since.entry(other.document.clone()).or_insert((state.place, Instant::now()));
                if *place != state.place {
                    (*place, *seen) = (state.place, Instant::now());
                }
                let other = Other { state, ..other };
                match seen.elapsed() >= self.lease {
                    true => _ = self.wound(room, std::slice::from_ref(&other))?,
                    false => still.push(other),
                }
            }
            others = still;
            if !others.is_empty() {
                std::thread::sleep(nap);
                nap = (nap * 2).min(LONGEST_NAP);
            }
        }
        Ok(())
    }
}

/// An announcement, and what would be found by it.
fn other(room: &Room, hit: &Value) -> Option<(Other, Signals)> {
    let source = &hit["_source"];
    let (ticket, signals) = parse_pending(&room.collection, &source["pending"])?;
    let state = State {
        place: Place::of(hit)?,
        version: source["version"].as_u64(),
        visible: None,
        ticket: Some(ticket),
    };
    Some((Other { document: hit["_id"].as_str()?.to_owned(), state }, signals))
}

/// Whether probes may find what has these signals, once it is there. With marks it depends on how many have each of them by
/// then, so the most they can weigh is taken.
fn may_find(scoring: Scoring, probes: &[Probe], signals: &Signals) -> bool {
    let (distance, keys) = compare(probes, signals);
    let own = signals.outline.hashes();
    let by_marks = |asked: Vec<u32>| {
        let shared = asked.iter().filter(|hash| own.binary_search(hash).is_ok()).count() as u32;
        let marks = asked.len().min(own.len()) as u32;
        shared > 0
            && (shared * scoring.weight(0) >= scoring.need(marks) || scoring.may_be_spared(shared, marks))
    };
    distance.is_some() || keys > 0 || probed(probes).any(by_marks)
}
