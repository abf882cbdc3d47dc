//! Changes on one server: every one is a script, so nobody sees half of it, and no lock is held.

use super::command::{Command, Effect};
use super::find::{self, Search};
use super::layout::{self, Entry, Layout, Lookup, PARTITION_BITS, Part, VERSION, VERSIONS};
use super::read::{self, Parts};
use super::scripts;
use super::servers::Servers;
use crate::StoreError;
use crate::marks::Scoring;
use crate::record::Record;
use crate::seam::{Added, Addition, Policy, Query, Want};
use redis::Value;
use std::collections::BTreeSet;

/// Additions that go together, at most.
const TOGETHER: usize = 256;

/// A collection on one server, to be changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single<'a> {
    pub(crate) servers: &'a Servers,
    pub(crate) layout: &'a Layout,
    pub(crate) scoring: Scoring,
    pub(crate) now: i64,
}

/// What the server says to an addition.
enum Answer {
    Done(Added),
    /// There is something to be judged.
    Unjudged,
    /// What was looked through has changed.
    Again,
    /// There is another record of the same id than was expected.
    Old(u64, Parts),
    /// The collection has been destroyed.
    Gone,
}

/// What an addition takes for granted.
#[derive(Default)]
struct Basis {
    /// The record that is there under its id.
    old: Option<(u64, Parts)>,
    /// The highest version that there can be in strings that were looked through, and these.
    seen: Option<(u64, Vec<Vec<u8>>)>,
}

impl Single<'_> {
    /// Adds in order; nothing if the collection has been destroyed.
    pub(crate) fn add(&self, additions: &[Addition]) -> Result<Option<Vec<Added>>, StoreError> {
        let (mut added, mut rest) = (Vec::with_capacity(additions.len()), additions);
        let mut expired = false;
        while !rest.is_empty() {
            let (together, later) = rest.split_at(together(rest));
            let Some(answers) = self.add_together(together, &mut expired)? else { return Ok(None) };
            added.extend(answers);
            rest = later;
        }
        if additions.is_empty() && self.answers_find(&[])?.is_none() {
            return Ok(None);
        }
        if expired {
            // What was added is there; the next who adds sweeps again.
            _ = self.sweep();
        }
        Ok(Some(added))
    }

    /// Adds what has different ids, with one question before for what is there under these, and one script each.
    fn add_together(
        &self,
        additions: &[Addition],
        expired: &mut bool,
    ) -> Result<Option<Vec<Added>>, StoreError> {
        if let [addition] = additions {
            return Ok(self.add_one(addition, Basis::default(), expired)?.map(|added| vec![added]));
        }
        let ids: Vec<&str> = additions.iter().map(|addition| addition.record.id.as_str()).collect();
        let there = read::by_id(self.servers, self.layout, &ids, Want::Outline)?;
        let bases: Vec<Basis> = there.into_iter().map(|old| Basis { old, seen: None }).collect();
        let commands = additions.iter().zip(&bases).map(|(addition, basis)| self.command(addition, basis));
        let answers = self.servers.ask(&commands.collect::<Result<Vec<_>, _>>()?)?;
        let mut added = Vec::with_capacity(additions.len());
        for (addition, answer) in additions.iter().zip(answers) {
            let answer = match self.answer(answer, expired)? {
                Answer::Done(answer) => Some(answer),
                // Somebody else has removed or changed it in between.
                Answer::Old(0, _) => self.add_one(addition, Basis::default(), expired)?,
                Answer::Old(version, parts) => {
                    let basis = Basis { old: Some((version, parts)), seen: None };
                    self.add_one(addition, basis, expired)?
                }
                Answer::Unjudged | Answer::Again => self.add_one(addition, Basis::default(), expired)?,
                Answer::Gone => None,
            };
            let Some(answer) = answer else { return Ok(None) };
            added.push(answer);
        }
        Ok(Some(added))
    }

    fn add_one(
        &self,
        addition: &Addition,
        mut basis: Basis,
        expired: &mut bool,
    ) -> Result<Option<Added>, StoreError> {
        loop {
            if let Some((query, judged)) = question(addition).filter(|(query, _)| query.asks_for_marks()) {
                match self.look(addition, &query, &judged)? {
                    Look::Fine(seen) => basis.seen = Some(seen),
                    Look::Decided(added) => return Ok(Some(added)),
                    Look::Gone => return Ok(None),
                }
            }
            let command = self.command(addition, &basis)?;
            match self.answer(self.servers.ask_one(command)?, expired)? {
                Answer::Done(added) => return Ok(Some(added)),
                Answer::Gone => return Ok(None),
                Answer::Old(0, _) => basis.old = None,
                Answer::Old(version, parts) => basis.old = Some((version, parts)),
                Answer::Again => {}
                Answer::Unjudged => {
                    let Some((query, judged)) = question(addition) else { continue };
                    let found =
                        find::find(self.servers, self.layout, self.scoring, self.now, &[query], &judged)?;
                    let Some(found) = found.and_then(|mut found| found.pop()) else { return Ok(None) };
                    // They may be gone again.
                    if !found.candidates.is_empty() {
                        return Ok(Some(Added::Unjudged(found)));
                    }
                }
            }
        }
    }

    /// Looks for candidates here: what marks propose is not reckoned by the server.
    fn look(&self, addition: &Addition, query: &Query, judged: &[u64]) -> Result<Look, StoreError> {
        let queries = std::slice::from_ref(query);
        let search = Search::new(self.layout, self.scoring, self.now, queries, judged);
        // First: whatever is added later has a higher version.
        let given = find::get_command(&self.layout.versions());
        let (given, Some(sight)) = search.see(self.servers, Some(given))? else { return Ok(Look::Gone) };
        let given = self.servers.reader().number(given)? as u64;
        let own = sight.own(0);
        if addition.over.is_some() && addition.over != own {
            return Ok(Look::Decided(Added::Changed { version: own }));
        }
        let (mut found, _) = search.pages(self.servers, search.ranks(&sight, &BTreeSet::new()))?;
        let found = found.pop().unwrap_or_default();
        if !found.candidates.is_empty() {
            return Ok(Look::Decided(Added::Unjudged(found)));
        }
        let strings: BTreeSet<&Vec<u8>> = search.looks.iter().flat_map(|looks| looks.keys()).collect();
        let seen = layout::version(given, (1 << PARTITION_BITS) - 1);
        Ok(Look::Fine((seen, strings.into_iter().cloned().collect())))
    }

    fn keys(&self) -> [Vec<u8>; 6] {
        let [ids, records, outlines, texts] =
            [Part::Ids, Part::Records, Part::Outlines, Part::Texts].map(|part| self.layout.part(0, part));
        [self.layout.versions(), self.layout.expiries(), ids, records, outlines, texts]
    }

    fn command(&self, addition: &Addition, basis: &Basis) -> Result<Command, StoreError> {
        let Addition { record, policy, over } = addition;
        let Parts { record: bytes, outline, text } = Parts::of(record);
        let [_, range_end] = layout::range_of(&record.id);
        let rule: &[u8] = if *policy == Policy::New { b"new" } else { b"" };
        let over = over.map_or_else(Vec::new, |over| match over < VERSIONS {
            true => layout::pack(over).to_vec(),
            // No record can have such a version, and no version looks like this.
            false => b"none".to_vec(),
        });
        let (expected, cuts) = match &basis.old {
            Some((version, parts)) => {
                let old = parts.parse(self.servers.reader())?;
                (layout::pack(*version).to_vec(), cuts(&self.layout.entries(&old)))
            }
            None => Default::default(),
        };
        let expires = record.expires.map(|expires| expires.to_string()).unwrap_or_default();
        let appends = appends(&self.layout.entries(record));
        let (lookups, judged) = match (question(addition), &basis.seen) {
            (Some((query, judged)), None) => {
                (lookups(&Lookup::of(self.layout, &query.probes)), packed(&judged))
            }
            _ => Default::default(),
        };
        let (seen, watched) = match &basis.seen {
            Some((seen, strings)) => (layout::pack(*seen).to_vec(), keys_blob(strings)),
            None => Default::default(),
        };
        let now = self.now.to_string();
        let arguments: [&[u8]; 16] = [
            &layout::escaped(&record.id),
            &range_end,
            rule,
            &over,
            &expected,
            &bytes,
            &outline,
            &text,
            expires.as_bytes(),
            now.as_bytes(),
            &appends,
            &cuts,
            &lookups,
            &judged,
            &seen,
            &watched,
        ];
        let keys = self.keys();
        Ok(Command::script(Effect::Once, &scripts::ADD, &keys.each_ref().map(Vec::as_slice), &arguments))
    }

    fn answer(&self, answer: Value, expired: &mut bool) -> Result<Answer, StoreError> {
        let reader = self.servers.reader();
        let mut parts = reader.strings(answer)?.into_iter().map(Option::unwrap_or_default);
        let mut next = || parts.next().unwrap_or_default();
        let what = next();
        let version = |bytes: &[u8]| layout::unpack(bytes);
        let given = |bytes: &[u8]| version(bytes).ok_or_else(|| reader.foreign("a version that is none"));
        Ok(match what.as_slice() {
            b"stored" => {
                let (version, replaced) = (given(&next())?, version(&next()));
                *expired |= next() != b"0";
                Answer::Done(Added::Stored { version, replaced })
            }
            b"exists" => Answer::Done(Added::Exists { version: given(&next())? }),
            b"changed" => Answer::Done(Added::Changed { version: version(&next()) }),
            b"unjudged" => Answer::Unjudged,
            b"again" => Answer::Again,
            b"gone" => Answer::Gone,
            b"old" => {
                let version = version(&next()).unwrap_or_default();
                Answer::Old(version, Parts { record: next(), outline: next(), text: Vec::new() })
            }
            _ => return Err(reader.foreign("the answer of a script that is not Leitong's")),
        })
    }

    /// Removes records; nothing if the collection has been destroyed.
    pub(crate) fn remove(&self, ids: &[&str]) -> Result<Option<Vec<Option<u64>>>, StoreError> {
        let mut removed = vec![None; ids.len()];
        // A second time it is no longer there.
        let mut seen = BTreeSet::new();
        let mut left: Vec<usize> = (0..ids.len()).filter(|&at| seen.insert(ids[at])).collect();
        if self.answers_find(&[])?.is_none() {
            return Ok(None);
        }
        while !left.is_empty() {
            let asked: Vec<&str> = left.iter().map(|&at| ids[at]).collect();
            let there = read::by_id(self.servers, self.layout, &asked, Want::Outline)?;
            let there: Vec<(usize, u64, Record)> = self.parsed(left.iter().copied().zip(there))?;
            let outcome =
                self.remove_versions(there.iter().map(|(_, version, record)| (*version, record)))?;
            left.clear();
            for ((at, version, record), done) in there.iter().zip(outcome) {
                let visible = record.expires.is_none_or(|expires| expires > self.now);
                match done {
                    true => removed[*at] = visible.then_some(*version),
                    // Somebody else was faster.
                    false => left.push(*at),
                }
            }
        }
        Ok(Some(removed))
    }

    fn parsed<T>(
        &self,
        parts: impl Iterator<Item = (T, Option<(u64, Parts)>)>,
    ) -> Result<Vec<(T, u64, Record)>, StoreError> {
        let there = parts.filter_map(|(at, found)| found.map(|(version, parts)| (at, version, parts)));
        let parse =
            |(at, version, parts): (T, u64, Parts)| Ok((at, version, parts.parse(self.servers.reader())?));
        there.map(parse).collect()
    }

    /// Removes versions; whether each was still there.
    fn remove_versions<'r>(
        &self,
        records: impl Iterator<Item = (u64, &'r Record)>,
    ) -> Result<Vec<bool>, StoreError> {
        let keys = self.keys();
        let keys = keys.each_ref().map(Vec::as_slice);
        let command = |(version, record): (u64, &Record)| {
            let (id, version) = (layout::escaped(&record.id), layout::pack(version));
            let cuts = cuts(&self.layout.entries(record));
            Command::script(Effect::Once, &scripts::REMOVE, &keys, &[&id, &version, &cuts])
        };
        let answers = self.servers.ask(&records.map(command).collect::<Vec<_>>())?;
        answers.into_iter().map(|answer| Ok(self.servers.reader().number(answer)? == 1)).collect()
    }

    /// Takes out some of what has expired; whether there may be more.
    pub(crate) fn sweep(&self) -> Result<bool, StoreError> {
        let expired = read::some_expired(self.servers, self.layout, self.now, 0)?;
        let versions: BTreeSet<u64> = expired.iter().copied().collect();
        let records = read::by_version(self.servers, self.layout, &versions, Want::Outline)?;
        // A record and its expiry come and go in one step, so these are left over from something else.
        let key = self.layout.expiries();
        let orphans = versions.iter().filter(|version| !records.contains_key(version));
        let forget = |version: &u64| Command::new(Effect::Again, &[b"ZREM", &key, &layout::pack(*version)]);
        self.servers.ask(&orphans.map(forget).collect::<Vec<_>>())?;
        let records =
            self.parsed(records.into_iter().map(|(version, parts)| ((), Some((version, parts)))))?;
        self.remove_versions(records.iter().map(|((), version, record)| (*version, record)))?;
        Ok(expired.len() == read::SWEPT)
    }

    fn answers_find(&self, queries: &[Query]) -> Result<Option<()>, StoreError> {
        let found = find::find(self.servers, self.layout, self.scoring, self.now, queries, &[])?;
        Ok(found.map(|_| ()))
    }
}

/// What looking for candidates led to.
enum Look {
    /// There are none; see [`Basis::seen`].
    Fine((u64, Vec<Vec<u8>>)),
    Decided(Added),
    Gone,
}

/// How many of the next additions can go together: different ids, and none that has to see those before it.
pub(crate) fn together(additions: &[Addition]) -> usize {
    let mut ids = BTreeSet::new();
    let plain = |addition: &Addition| !matches!(addition.policy, Policy::Unless { .. });
    let places = (0..additions.len().min(TOGETHER)).take_while(|&at| {
        let addition = &additions[at];
        plain(addition) && ids.insert(addition.record.id.as_str())
    });
    places.count().max(1)
}

/// What an addition has to ask before it is made, and the versions judged, in order.
pub(crate) fn question(addition: &Addition) -> Option<(Query, Vec<u64>)> {
    let Policy::Unless { probes, judged, limit } = &addition.policy else { return None };
    let mut judged = judged.clone();
    judged.sort_unstable();
    // One at least, whatever the caller wants: an answer without a candidate would tell nothing.
    let (limit, except) = ((*limit).max(1), Some(addition.record.id.clone()));
    Some((Query { probes: probes.clone(), except, after: None, limit }, judged))
}

/// With its length before it, in one byte: keys and entries are short.
fn put(blob: &mut Vec<u8>, bytes: &[u8]) {
    blob.push(bytes.len() as u8);
    blob.extend_from_slice(bytes);
}

fn appends(entries: &[Entry]) -> Vec<u8> {
    let mut blob = Vec::new();
    for Entry { key, payload } in entries {
        put(&mut blob, key);
        put(&mut blob, payload);
    }
    blob
}

fn cuts(entries: &[Entry]) -> Vec<u8> {
    let strings: BTreeSet<(&Vec<u8>, usize)> =
        entries.iter().map(|entry| (&entry.key, entry.payload.len() + VERSION)).collect();
    let mut blob = Vec::new();
    for (key, size) in strings {
        put(&mut blob, key);
        blob.push(size as u8);
    }
    blob
}

fn lookups(lookups: &[Lookup]) -> Vec<u8> {
    let mut blob = Vec::new();
    for Lookup { key, payload, base, within, .. } in lookups {
        put(&mut blob, key);
        blob.extend((*base as u16).to_be_bytes());
        blob.extend((*within as u16).to_be_bytes());
        put(&mut blob, payload);
    }
    blob
}

fn keys_blob(keys: &[Vec<u8>]) -> Vec<u8> {
    let mut blob = Vec::new();
    keys.iter().for_each(|key| put(&mut blob, key));
    blob
}

fn packed(versions: &[u64]) -> Vec<u8> {
    // Others are versions of nothing.
    versions
        .iter()
        .filter(|version| **version < VERSIONS)
        .flat_map(|version| layout::pack(*version))
        .collect()
}
