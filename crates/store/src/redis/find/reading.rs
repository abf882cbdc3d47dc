//! Strings of the index that a search looks at: which are read, and from whom.

use crate::StoreError;
use crate::marks::Scoring;
use crate::redis::command::Command;
use crate::redis::cover;
use crate::redis::layout::{self, Layout, Lookup, MarkEntry};
use crate::redis::read;
use crate::redis::servers::{Map, Servers};
use crate::redis::slots::{self, ENDS};
use redis::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Strings of the index by their keys; what copies have in common, where there are several.
pub(crate) type Strings = BTreeMap<Vec<u8>, Vec<u8>>;

/// The string of a key, empty if there is none.
pub(super) fn of<'s>(strings: &'s Strings, key: &[u8]) -> &'s [u8] {
    strings.get(key).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn get_command(key: &[u8]) -> Command {
    Command::read(&[b"GET", key])
}

fn beginning_command(key: &[u8], bytes: usize) -> Command {
    Command::read(&[b"GETRANGE", key, b"0", (bytes - 1).to_string().as_bytes()])
}

/// Asks whether the collection is there, one of the masters that are asked for something else too.
pub(super) fn alive_command(layout: &Layout, map: &Map, mut others: impl Iterator<Item = u16>) -> Command {
    let expiries = read::alive_command(layout);
    let (Some(other), Some(first)) = (others.next(), layout.sign(0)) else { return expiries };
    let (master, slot) = (map.number(other), slots::of(&first));
    // Not always the same slot, if a master has several.
    let signs = (0..ENDS.len()).map(|number| (number + usize::from(other)) % ENDS.len());
    let near = |number: &usize| map.number(slots::with_end(slot, *number)) == master;
    let sign = signs.filter(near).find_map(|number| layout.sign(number));
    sign.map_or(expiries, |key| get_command(&key))
}

/// Whether the collection is there. A sign that is missing says nothing: only the expiries do.
pub(super) fn is_alive(servers: &Servers, layout: &Layout, answer: &Value) -> Result<bool, StoreError> {
    let seen = read::is_alive(answer);
    if seen || !layout.has_copies() {
        return Ok(seen);
    }
    Ok(read::is_alive(&servers.ask_one(read::alive_command(layout))?))
}

/// Strings of the index that are to be read, each once.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    layout: &'a Layout,
    /// Read whole: what is near can stand anywhere.
    whole: BTreeSet<Vec<u8>>,
    /// The same, of those that stand more than once, and how often: one copy is read.
    copied: BTreeMap<Vec<u8>, usize>,
    /// Read from the beginning, until there is enough of these marks.
    marks: BTreeMap<Vec<u8>, BTreeSet<u32>>,
    /// So many documents of a mark, and those that have expired, are all that can make a difference.
    enough: usize,
}

impl<'a> Reading<'a> {
    pub(super) fn new(layout: &'a Layout, scoring: Scoring) -> Self {
        // Those that went away while they were read are few.
        let enough = scoring.long + scoring.used;
        Self { layout, whole: BTreeSet::new(), copied: BTreeMap::new(), marks: BTreeMap::new(), enough }
    }

    pub(super) fn add(&mut self, lookup: &Lookup) {
        match lookup.copies {
            1 => _ = self.whole.insert(lookup.key.clone()),
            copies => _ = self.copied.insert(lookup.key.clone(), copies),
        }
    }

    pub(super) fn add_mark(&mut self, hash: u32, key: Vec<u8>) {
        self.marks.entry(key).or_default().insert(hash);
    }

    /// Bytes that are read of a mark at first.
    fn first(&self) -> usize {
        2 * self.enough * MarkEntry::SIZE
    }

    /// Whether one command reads all that are read whole: on one server.
    fn is_at_once(&self) -> bool {
        self.layout.partitions == 1 && !self.whole.is_empty()
    }

    /// What reads them, by a map of the cluster, if others are sent to some slots too. Where a copy is not where the map says, it is
    /// found all the same, later.
    pub(super) fn commands(&self, map: &Map, others: impl Iterator<Item = u16>) -> Vec<Command> {
        let mut commands: Vec<Command> = match self.is_at_once() {
            true => {
                let keys = self.whole.iter().map(Vec::as_slice);
                vec![Command::read(&[&b"MGET"[..]].into_iter().chain(keys).collect::<Vec<_>>())]
            }
            false => self.whole.iter().map(|key| get_command(key)).collect(),
        };
        let marks: Vec<Command> = self.marks.keys().map(|key| beginning_command(key, self.first())).collect();
        let own = commands.iter().chain(&marks).map(|command| command.slot);
        let copies = self.copies(map, others.chain(own).map(|slot| map.number(slot)));
        commands.extend(copies);
        commands.extend(marks);
        commands
    }

    /// Reads one copy of each string, so that few masters are asked besides others.
    fn copies(&self, map: &Map, others: impl Iterator<Item = u16>) -> Vec<Command> {
        let first = self.copied.keys().map(|key| slots::of(&layout::with_end(key, 0)));
        let first: Vec<u16> = first.collect();
        let ends = first.iter().zip(self.copied.values()).map(|(&slot, &copies)| slots::ends(slot, copies));
        let ends: Vec<Vec<usize>> = ends.map(Iterator::collect).collect();
        let masters = |(&slot, ends): (&u16, &Vec<usize>)| -> Vec<u16> {
            ends.iter().map(|&end| map.number(slots::with_end(slot, end))).collect()
        };
        let masters: Vec<Vec<u16>> = first.iter().zip(&ends).map(masters).collect();
        let choices = cover::choose(&masters, others, first.into_iter().map(usize::from).sum());
        let chosen = ends.iter().zip(choices).map(|(ends, choice)| ends[choice]);
        self.copied.keys().zip(chosen).map(|(key, end)| get_command(&layout::with_end(key, end))).collect()
    }

    /// What the commands have read. Long strings are read on, each time from the beginning: what is cut out in between would
    /// hide something behind the place where one stopped.
    pub(super) fn strings(
        &self,
        servers: &Servers,
        mut answers: impl Iterator<Item = Value>,
        expired: usize,
    ) -> Result<Strings, StoreError> {
        let (reader, mut strings) = (servers.reader(), Strings::new());
        let whole: Vec<Value> = match self.is_at_once() {
            true => reader.list(answers.next().unwrap_or_default())?,
            false => answers.by_ref().take(self.whole.len()).collect(),
        };
        let keys = self.whole.iter().chain(self.copied.keys()).chain(self.marks.keys());
        for (key, answer) in keys.zip(whole.into_iter().chain(answers)) {
            strings.extend(reader.bytes(answer)?.map(|string| (key.clone(), string)));
        }
        let mut bytes = self.first();
        loop {
            let is_short = |(key, hashes): &(&Vec<u8>, &BTreeSet<u32>)| {
                let string = of(&strings, key);
                let lacks = |hash: &u32| MarkEntry::postings(string, *hash).len() < self.enough + expired;
                string.len() >= bytes && hashes.iter().any(lacks)
            };
            let short: Vec<Vec<u8>> =
                self.marks.iter().filter(is_short).map(|(key, _)| key.clone()).collect();
            if short.is_empty() {
                return Ok(strings);
            }
            bytes *= 4;
            let commands: Vec<Command> = short.iter().map(|key| beginning_command(key, bytes)).collect();
            for (key, answer) in short.into_iter().zip(servers.ask(&commands)?) {
                strings.insert(key, reader.bytes(answer)?.unwrap_or_default());
            }
        }
    }
}
