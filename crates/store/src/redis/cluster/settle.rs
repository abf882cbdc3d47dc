//! An addition that has been announced, among others: it looks for what would have to be judged, waits for those that came
//! before it, and ends those that came after.

use super::{Cluster, Draft};
use crate::StoreError;
use crate::redis::command::Command;
use crate::redis::find::Search;
use crate::redis::layout::{self, Part};
use crate::redis::read::Parts;
use crate::seam::{Found, Query};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Between two looks at one that is waited for, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// How an addition stands.
pub(super) enum Settled {
    /// Nothing has to be judged, and none of those that were seen can be committed any more.
    Free,
    /// Something has to be judged.
    Unjudged(Found),
    /// The collection has been destroyed.
    Gone,
}

impl Cluster<'_> {
    pub(super) fn settle(
        &self,
        draft: &Draft<'_>,
        query: &Query,
        judged: &[u64],
    ) -> Result<Settled, StoreError> {
        let queries = std::slice::from_ref(query);
        let search = Search::new(self.layout, self.scoring, self.now, queries, judged);
        let mut waited: BTreeMap<u64, Instant> = BTreeMap::new();
        // Neither records nor pending any more, and never again.
        let mut dead = BTreeSet::from([draft.version]);
        loop {
            let (_, Some(sight)) = search.see(self.servers, None)? else { return Ok(Settled::Gone) };
            let Some(looks) = search.looks.first() else { return Ok(Settled::Free) };
            let no_records = self.without_records(looks.versions(&sight.strings, self.scoring))?;
            let (mut found, gone) =
                search.pages(self.servers, search.ranks(&sight, &(&no_records | &dead)))?;
            let found = found.pop().unwrap_or_default();
            if !found.candidates.is_empty() {
                return Ok(Settled::Unjudged(found));
            }
            let others = &(&no_records | &gone) - &dead;
            let hidden = sight.hidden(0, dead.iter().copied());
            let related = looks.related(&sight.strings, &others, &hidden, self.scoring);
            let (pending, ended) = self.pending(&related, &draft.addition.record.id)?;
            let (older, younger): (Vec<u64>, Vec<u64>) =
                pending.into_iter().partition(|version| *version < draft.version);
            if !older.is_empty() {
                self.wait_for(&older, &mut waited)?;
                continue;
            }
            if !ended.is_empty() {
                // In the place of one that was replaced there is another by now, and one may have become a record: only a new
                // look shows it.
                dead.extend(self.without_records(ended)?);
                continue;
            }
            if self.end(&younger)?.into_iter().all(|ended| ended) {
                return Ok(Settled::Free);
            }
        }
    }

    /// Those of the versions that have no record: they are pending, or dead.
    fn without_records(&self, versions: BTreeSet<u64>) -> Result<BTreeSet<u64>, StoreError> {
        let exists = |&version: &u64| self.exists_command(Part::Records, version);
        let answers = self.servers.ask(&versions.iter().map(exists).collect::<Vec<_>>())?;
        let mut without = BTreeSet::new();
        for (version, answer) in versions.into_iter().zip(answers) {
            if self.servers.reader().number(answer)? == 0 {
                without.insert(version);
            }
        }
        Ok(without)
    }

    fn exists_command(&self, part: Part, version: u64) -> Command {
        let key = self.layout.part(self.layout.partition_in(version), part);
        Command::read(&[b"HEXISTS", &key, &layout::pack(version)])
    }

    /// Those of the versions that are to be added by others, under other ids; and those that are not, or no longer.
    fn pending(&self, versions: &BTreeSet<u64>, id: &str) -> Result<(Vec<u64>, BTreeSet<u64>), StoreError> {
        let ticket = |&version: &u64| {
            let key = self.layout.part(self.layout.partition_in(version), Part::Tickets);
            Command::read(&[b"HGET", &key, &layout::pack(version)])
        };
        let answers = self.servers.ask(&versions.iter().map(ticket).collect::<Vec<_>>())?;
        let (mut pending, mut ended) = (Vec::new(), BTreeSet::new());
        for (&version, answer) in versions.iter().zip(answers) {
            let Some(record) = self.servers.reader().bytes(answer)? else {
                ended.insert(version);
                continue;
            };
            let record = Parts { record, ..Parts::default() }.parse(self.servers.reader())?;
            if record.id != id && record.expires.is_none_or(|expires| expires > self.now) {
                pending.push(version);
            }
        }
        Ok((pending, ended))
    }

    /// Waits until one of these is no longer pending. One that has been for a whole lease belongs to a client that is gone,
    /// or so slow that it has to begin again: it is ended.
    fn wait_for(&self, versions: &[u64], waited: &mut BTreeMap<u64, Instant>) -> Result<(), StoreError> {
        let mut pause = FIRST_PAUSE;
        let exists = |&version: &u64| self.exists_command(Part::Tickets, version);
        let commands: Vec<Command> = versions.iter().map(exists).collect();
        loop {
            let since = versions
                .iter()
                .map(|&version| (version, *waited.entry(version).or_insert_with(Instant::now)));
            let overdue = since.filter(|(_, since)| since.elapsed() >= self.servers.address.lease);
            let overdue: BTreeSet<u64> = overdue.map(|(version, _)| version).collect();
            if !overdue.is_empty() {
                return self.clean_up_after(&overdue);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            for answer in self.servers.ask(&commands)? {
                if self.servers.reader().number(answer)? == 0 {
                    return Ok(());
                }
            }
        }
    }
}
