//! What additions and removals leave behind, taken out of the index: by whoever left it, or by others if that one is gone.

use super::Cluster;
use crate::StoreError;
use crate::record::Record;
use crate::redis::command::{Command, Effect};
use crate::redis::layout::{self, Layout, Part, VERSION};
use crate::redis::read::{self, Parts};
use crate::redis::scripts;
use crate::seam::Want;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A version that is no longer wanted, and the strings of the index it is in, with the size of their entries.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) version: u64,
    pub(super) strings: BTreeSet<(Vec<u8>, usize)>,
}

impl Remains {
    pub(super) fn of(layout: &Layout, version: u64, record: &Record) -> Self {
        let strings =
            layout.entries(record).into_iter().map(|entry| (entry.key, entry.payload.len() + VERSION));
        Self { version, strings: strings.collect() }
    }
}

/// Since when tickets and graves have been seen, by their collection and version: nobody's clock but our own.
#[derive(Debug, Default)]
pub(crate) struct Sightings(Mutex<BTreeMap<(u32, u64), Instant>>);

impl Sightings {
    /// Those of a collection that have been there for a whole lease. What is not among those that are there now is forgotten.
    fn overdue(&self, number: u32, there: &BTreeSet<u64>, lease: Duration) -> BTreeSet<u64> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|(own, version), _| *own != number || there.contains(version));
        let since = there
            .iter()
            .map(|&version| (version, *seen.entry((number, version)).or_insert_with(Instant::now)));
        since.filter(|(_, since)| since.elapsed() >= lease).map(|(version, _)| version).collect()
    }
}

impl Cluster<'_> {
    /// Ends additions that are still pending; whether each was.
    pub(super) fn end(&self, versions: &[u64]) -> Result<Vec<bool>, StoreError> {
        let commands: Vec<Command> = versions.iter().map(|&version| self.end_command(version)).collect();
        let answers = self.servers.ask(&commands)?;
        answers.into_iter().map(|answer| Ok(self.servers.reader().number(answer)? == 1)).collect()
    }

    fn end_command(&self, version: u64) -> Command {
        let partition = self.layout.partition_in(version);
        let keys = [Part::Tickets, Part::Graves].map(|part| self.layout.part(partition, part));
        let keys = keys.each_ref().map(Vec::as_slice);
        Command::script(Effect::Again, &scripts::END, &keys, &[&layout::pack(version)])
    }

    /// Takes versions out of the index and then their graves away. A ticket that is still there is ended.
    pub(super) fn clean(&self, remains: &[Remains]) -> Result<(), StoreError> {
        let mut commands = Vec::new();
        for Remains { version, strings } in remains {
            commands.push(self.end_command(*version));
            let packed = layout::pack(*version);
            for (key, size) in strings {
                let size = size.to_string();
                commands.push(Command::script(
                    Effect::Again,
                    &scripts::CUT,
                    &[key],
                    &[size.as_bytes(), &packed],
                ));
            }
            commands.push(Command::new(Effect::Again, &[b"ZREM", &self.layout.expiries(), &packed]));
        }
        self.servers.ask(&commands)?;
        // Only now: a grave is what tells others that something is left to do. It goes last.
        let mut commands = Vec::new();
        for Remains { version, .. } in remains {
            let partition = self.layout.partition_in(*version);
            for part in [Part::Outlines, Part::Texts, Part::Graves] {
                let key = self.layout.part(partition, part);
                commands.push(Command::new(Effect::Again, &[b"HDEL", &key, &layout::pack(*version)]));
            }
        }
        self.servers.ask(&commands).map(|_| ())
    }

    /// Ends and cleans additions of clients that seem to be gone, by their versions.
    pub(super) fn clean_up_after(&self, versions: &BTreeSet<u64>) -> Result<(), StoreError> {
        self.end(&versions.iter().copied().collect::<Vec<_>>())?;
        let commands = versions.iter().flat_map(|&version| {
            let partition = self.layout.partition_in(version);
            [Part::Graves, Part::Outlines].map(|part| {
                Command::read(&[b"HGET", &self.layout.part(partition, part), &layout::pack(version)])
            })
        });
        let (reader, answers) = (self.servers.reader(), self.servers.ask(&commands.collect::<Vec<_>>())?);
        let mut answers = answers.into_iter();
        let mut remains = Vec::new();
        for &version in versions {
            let mut next = || reader.bytes(answers.next().unwrap_or_default());
            let (record, outline) = (next()?, next()?.unwrap_or_default());
            // Otherwise its owner has cleaned up meanwhile, or has committed it.
            if let Some(record) = record {
                let record = Parts { record, outline, text: Vec::new() }.parse(reader)?;
                remains.push(Remains::of(self.layout, version, &record));
            }
        }
        self.clean(&remains)
    }

    /// Finishes what others have left unfinished for a whole lease. The first time it only takes note. Whether something is
    /// unfinished still.
    pub(crate) fn sweep(&self, sightings: &Sightings) -> Result<bool, StoreError> {
        let keys = (0..self.layout.partitions).flat_map(|partition| {
            [Part::Tickets, Part::Graves].map(|part| self.layout.part(partition, part))
        });
        let commands: Vec<Command> = keys.map(|key| Command::read(&[b"HKEYS", &key])).collect();
        let mut there = BTreeSet::new();
        for answer in self.servers.ask(&commands)? {
            let versions = self.servers.reader().strings(answer)?;
            there.extend(versions.iter().flatten().filter_map(|version| layout::unpack(version)));
        }
        let overdue = sightings.overdue(self.layout.number, &there, self.servers.address.lease);
        if !overdue.is_empty() {
            self.clean_up_after(&overdue)?;
        }
        Ok(overdue.len() < there.len())
    }

    /// Takes out some of what has expired; how many there are behind which nobody has looked, if there may be more.
    pub(crate) fn sweep_expired(&self, behind: usize) -> Result<Option<usize>, StoreError> {
        let expired = read::some_expired(self.servers, self.layout, self.now, behind)?;
        let versions = expired.iter().copied().collect();
        let mut records = Vec::new();
        for (version, parts) in read::by_version(self.servers, self.layout, &versions, Want::Outline)? {
            records.push((version, parts.parse(self.servers.reader())?));
        }
        let buried = self.bury(records.iter().map(|(version, record)| (*version, record)))?;
        // The others are pending, or their cleaning is.
        let left = expired.len() - buried.into_iter().filter(|buried| *buried).count();
        Ok((expired.len() == read::SWEPT).then_some(behind + left))
    }
}
