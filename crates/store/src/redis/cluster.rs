//! Changes in a cluster, where no script reaches more than one slot: announce, look, settle, commit.
//!
//! docs/redis.md has the argument. In short: an addition takes a version, leaves a ticket where its record will be, and then puts
//! its entries into the index. Only after all of them are there it looks for others. Of two that would have to see each other,
//! the one whose entries were complete last sees the other, and then one of the two waits or is ended. Whether an addition is
//! committed or ended is decided in one slot.

mod clean;
mod settle;

pub(crate) use clean::Sightings;

use super::command::{Command, Effect};
use super::layout::{self, Entry, Layout, Part, VERSION};
use super::read::{self, ById, Parts, expired_command};
use super::scripts;
use super::servers::Servers;
use super::single::{question, together};
use crate::StoreError;
use crate::marks::Scoring;
use crate::record::Record;
use crate::seam::{Added, Addition, Policy, Want};
use clean::Remains;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// By how much a counter that has gone back is put forward: more than are given between two copies to a replica.
const JUMP: u64 = 1 << 20;

/// The highest count of versions that was seen of each collection.
#[derive(Debug, Default)]
pub(crate) struct Highest(Mutex<BTreeMap<u32, u64>>);

impl Highest {
    fn of(&self, number: u32) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&number).copied().unwrap_or_default()
    }

    fn raise(&self, number: u32, seen: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = all.entry(number).or_default();
        *highest = seen.max(*highest);
    }
}

/// A collection in a cluster, to be changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster<'a> {
    pub(crate) servers: &'a Servers,
    pub(crate) layout: &'a Layout,
    pub(crate) scoring: Scoring,
    pub(crate) now: i64,
    pub(crate) highest: &'a Highest,
}

/// An addition on its way.
#[derive(Debug)]
struct Draft<'a> {
    addition: &'a Addition,
    /// Its place among those of the call.
    at: usize,
    version: u64,
    partition: u32,
    entries: Vec<Entry>,
    /// What is there under its id: its version and the record.
    old: Option<(u64, Record)>,
    /// The same, if it has not expired.
    own: Option<u64>,
}

impl Draft<'_> {
    fn remains(&self) -> Remains {
        let strings = self.entries.iter().map(|entry| (entry.key.clone(), entry.payload.len() + VERSION));
        Remains { version: self.version, strings: strings.collect() }
    }
}

impl<'a> Cluster<'a> {
    /// Adds in order; nothing if the collection has been destroyed.
    pub(crate) fn add(&self, additions: &'a [Addition]) -> Result<Option<Vec<Added>>, StoreError> {
        let (mut added, mut rest) = (Vec::with_capacity(additions.len()), additions);
        let mut expired = false;
        while !rest.is_empty() || additions.is_empty() {
            let (part, later) = rest.split_at(together(rest).min(rest.len()));
            let Some(answers) = self.add_together(part, &mut expired)? else { return Ok(None) };
            added.extend(answers);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        if expired {
            // What was added is there; the next who adds sweeps again.
            _ = self.sweep_expired(0);
        }
        Ok(Some(added))
    }

    /// Adds what has different ids, all of it in the same few round trips; what was ended by others goes again.
    fn add_together(
        &self,
        additions: &'a [Addition],
        expired: &mut bool,
    ) -> Result<Option<Vec<Added>>, StoreError> {
        let mut outcome: Vec<Option<Added>> = vec![None; additions.len()];
        let mut left: Vec<usize> = (0..additions.len()).collect();
        loop {
            let Some(drafts) = self.drafts(additions, &left, &mut outcome, expired)? else { return Ok(None) };
            let drafts = self.announce(drafts)?;
            let mut ready = Vec::new();
            for draft in drafts {
                match question(draft.addition) {
                    Some((query, judged)) => match self.settle(&draft, &query, &judged)? {
                        settle::Settled::Free => ready.push(draft),
                        settle::Settled::Unjudged(found) => {
                            outcome[draft.at] = Some(Added::Unjudged(found));
                            self.withdraw(&[draft])?;
                        }
                        settle::Settled::Gone => return Ok(None),
                    },
                    None => ready.push(draft),
                }
            }
            self.commit(&ready, &mut outcome)?;
            left.retain(|&at| outcome[at].is_none());
            if left.is_empty() {
                return Ok(Some(outcome.into_iter().flatten().collect()));
            }
        }
    }

    /// Takes versions, and looks at what is there under the ids: what can be decided by that alone is.
    fn drafts(
        &self,
        additions: &'a [Addition],
        left: &[usize],
        outcome: &mut [Option<Added>],
        expired: &mut bool,
    ) -> Result<Option<Vec<Draft<'a>>>, StoreError> {
        let ids: Vec<&str> = left.iter().map(|&at| additions[at].record.id.as_str()).collect();
        let by_id = ById::new(self.layout, &ids, Want::Outline);
        let number = left.len().to_string();
        let mut commands = vec![
            Command::new(Effect::Again, &[b"INCRBY", &self.layout.versions(), number.as_bytes()]),
            expired_command(self.layout, self.now),
        ];
        commands.extend(by_id.commands.iter().cloned());
        let before = self.highest.of(self.layout.number);
        let (reader, mut answers) = (self.servers.reader(), self.servers.ask(&commands)?.into_iter());
        let mut next = || answers.next().unwrap_or_default();
        let last = self.forward(before, reader.number(next())? as u64, left.len() as u64)?;
        let Some(gone) = read::expired(reader, next())? else { return Ok(None) };
        *expired |= !gone.is_empty();
        let there = by_id.answer(reader, answers)?;
        let first = last - left.len() as u64;
        let mut drafts = Vec::with_capacity(left.len());
        for ((&at, there), count) in left.iter().zip(there).zip(first + 1..) {
            let addition = &additions[at];
            let old = there
                .map(|(version, parts)| Ok::<_, StoreError>((version, parts.parse(reader)?)))
                .transpose()?;
            if let Some((version, _)) = &old {
                // A counter that has gone back is put forward by the next try.
                self.highest.raise(self.layout.number, layout::count(*version));
            }
            let visible = |record: &Record| record.expires.is_none_or(|expires| expires > self.now);
            let own = old.as_ref().filter(|(_, record)| visible(record)).map(|(version, _)| *version);
            outcome[at] = decided(addition, own);
            if outcome[at].is_none() {
                let partition = self.layout.partition_of(&addition.record.id);
                let version = layout::version(count, partition);
                let entries = self.layout.entries(&addition.record);
                drafts.push(Draft { addition, at, version, partition, entries, old, own });
            }
        }
        Ok(Some(drafts))
    }

    /// The last of so many counts that were taken. After a failover a counter may have gone back; whoever has seen higher
    /// numbers before it asked puts it forward again.
    fn forward(&self, before: u64, taken: u64, number: u64) -> Result<u64, StoreError> {
        if taken >= before + number {
            self.highest.raise(self.layout.number, taken);
            return Ok(taken);
        }
        let jump = (before + number + JUMP - taken).to_string();
        let forward = Command::new(Effect::Again, &[b"INCRBY", &self.layout.versions(), jump.as_bytes()]);
        let taken = self.servers.reader().number(self.servers.ask_one(forward)?)? as u64;
        self.highest.raise(self.layout.number, taken);
        Ok(taken)
    }

    /// Leaves tickets, and then puts all entries into the index. Gives back what has got a ticket.
    fn announce(&self, drafts: Vec<Draft<'a>>) -> Result<Vec<Draft<'a>>, StoreError> {
        let parts = [Part::Tickets, Part::Records, Part::Graves, Part::Outlines, Part::Texts];
        let ticket = |draft: &Draft<'_>| {
            let keys = parts.map(|part| self.layout.part(draft.partition, part));
            let Parts { record, outline, text } = Parts::of(&draft.addition.record);
            let arguments: [&[u8]; 4] = [&layout::pack(draft.version), &record, &outline, &text];
            Command::script(
                Effect::Again,
                &scripts::ANNOUNCE,
                &keys.each_ref().map(Vec::as_slice),
                &arguments,
            )
        };
        let answers = self.servers.ask(&drafts.iter().map(ticket).collect::<Vec<_>>())?;
        let mut announced = Vec::with_capacity(drafts.len());
        for (draft, answer) in drafts.into_iter().zip(answers) {
            if self.servers.reader().number(answer)? == 1 {
                announced.push(draft);
            }
        }
        let mut commands = Vec::new();
        for draft in &announced {
            let version = layout::pack(draft.version);
            for Entry { key, payload } in &draft.entries {
                let entry = [&**payload, &version].concat();
                commands.push(Command::new(Effect::Again, &[b"APPEND", key, &entry]));
            }
            if let Some(expires) = draft.addition.record.expires {
                let (key, expires) = (self.layout.expiries(), expires.to_string());
                commands.push(Command::new(Effect::Again, &[b"ZADD", &key, expires.as_bytes(), &version]));
            }
        }
        self.servers.ask(&commands)?;
        Ok(announced)
    }

    /// Commits what nobody has ended; what was ended, or met another record of its id, is taken back.
    fn commit(&self, drafts: &[Draft<'a>], outcome: &mut [Option<Added>]) -> Result<(), StoreError> {
        let parts = [Part::Ids, Part::Records, Part::Tickets, Part::Graves, Part::Texts];
        let commit = |draft: &Draft<'_>| {
            let keys = parts.map(|part| self.layout.part(draft.partition, part));
            let id = &draft.addition.record.id;
            let [_, range_end] = layout::range_of(id);
            let old =
                draft.old.as_ref().map(|(version, _)| layout::pack(*version).to_vec()).unwrap_or_default();
            let arguments: [&[u8]; 4] =
                [&layout::pack(draft.version), &layout::escaped(id), &range_end, &old];
            Command::script(Effect::Again, &scripts::COMMIT, &keys.each_ref().map(Vec::as_slice), &arguments)
        };
        let answers = self.servers.ask_noting(&drafts.iter().map(commit).collect::<Vec<_>>())?;
        let mut remains = Vec::new();
        for (draft, (answer, doubtful)) in drafts.iter().zip(answers) {
            match self.servers.reader().bytes(answer)?.as_deref() {
                Some(b"stored") => {
                    let Draft { version, own, .. } = *draft;
                    outcome[draft.at] = Some(Added::Stored { version, replaced: own });
                    remains.extend(
                        draft.old.as_ref().map(|(old, record)| Remains::of(self.layout, *old, record)),
                    );
                }
                // Committed and already removed by somebody, or ended: who knows.
                Some(b"ended") if doubtful => return Err(self.uncertain()),
                Some(b"ended" | b"other") => remains.push(draft.remains()),
                _ => {
                    return Err(self
                        .servers
                        .reader()
                        .foreign("the answer of a script that is not Leitong's"));
                }
            }
        }
        // What is committed is committed, and what could not be cleaned has a grave, which a sweep finds.
        _ = self.clean(&remains);
        Ok(())
    }

    /// Takes back what has been announced.
    fn withdraw(&self, drafts: &[Draft<'_>]) -> Result<(), StoreError> {
        self.clean(&drafts.iter().map(Draft::remains).collect::<Vec<_>>())
    }

    fn uncertain(&self) -> StoreError {
        let (server, why) = (self.servers.address.shown.clone(), "an answer was lost".to_owned());
        StoreError::Uncertain { server, why }
    }

    /// Removes records; nothing if the collection has been destroyed.
    pub(crate) fn remove(&self, ids: &[&str]) -> Result<Option<Vec<Option<u64>>>, StoreError> {
        let mut removed = vec![None; ids.len()];
        // A second time it is no longer there.
        let mut seen = BTreeSet::new();
        let mut left: Vec<usize> = (0..ids.len()).filter(|&at| seen.insert(ids[at])).collect();
        let alive = self.servers.ask_one(expired_command(self.layout, self.now))?;
        if read::expired(self.servers.reader(), alive)?.is_none() {
            return Ok(None);
        }
        while !left.is_empty() {
            let asked: Vec<&str> = left.iter().map(|&at| ids[at]).collect();
            let there = read::by_id(self.servers, self.layout, &asked, Want::Outline)?;
            let mut found = Vec::new();
            for (at, there) in left.drain(..).zip(there) {
                if let Some((version, parts)) = there {
                    found.push((at, version, parts.parse(self.servers.reader())?));
                }
            }
            let buried = self.bury(found.iter().map(|(_, version, record)| (*version, record)))?;
            for ((at, version, record), buried) in found.iter().zip(buried) {
                let visible = record.expires.is_none_or(|expires| expires > self.now);
                match buried {
                    true => removed[*at] = visible.then_some(*version),
                    // Somebody else was faster.
                    false => left.push(*at),
                }
            }
        }
        Ok(Some(removed))
    }

    /// Takes records away and their entries out of the index; whether each was still there.
    fn bury<'r>(&self, records: impl Iterator<Item = (u64, &'r Record)>) -> Result<Vec<bool>, StoreError> {
        let (mut commands, mut remains) = (Vec::new(), Vec::new());
        for (version, record) in records {
            let partition = self.layout.partition_in(version);
            let parts = [Part::Ids, Part::Records, Part::Graves, Part::Texts];
            let keys = parts.map(|part| self.layout.part(partition, part));
            let arguments: [&[u8]; 2] = [&layout::escaped(&record.id), &layout::pack(version)];
            let keys = keys.each_ref().map(Vec::as_slice);
            commands.push(Command::script(Effect::Again, &scripts::BURY, &keys, &arguments));
            remains.push(Remains::of(self.layout, version, record));
        }
        let mut buried = Vec::with_capacity(commands.len());
        for (answer, doubtful) in self.servers.ask_noting(&commands)? {
            let done = self.servers.reader().number(answer)? == 1;
            if !done && doubtful {
                return Err(self.uncertain());
            }
            buried.push(done);
        }
        let gone = remains.into_iter().zip(&buried).filter(|(_, buried)| **buried);
        // They are gone; what could not be cleaned has a grave, which a sweep finds.
        _ = self.clean(&gone.map(|(remains, _)| remains).collect::<Vec<_>>());
        Ok(buried)
    }
}

/// What follows from the version that is there under an id.
fn decided(addition: &Addition, own: Option<u64>) -> Option<Added> {
    if addition.over.is_some() && addition.over != own {
        return Some(Added::Changed { version: own });
    }
    let exists = own.filter(|_| addition.policy == Policy::New);
    exists.map(|version| Added::Exists { version })
}
