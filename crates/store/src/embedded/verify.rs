//! Whether everything fits together, and mending what can be made again from the records.

use super::codec::{self, Counters};
use super::engine::{Moment, Read};
use super::find::Open;
use super::group::{Group, distinct};
use super::layout::{self, Tree};
use super::postings::{self, Head};
use super::{Embedded, Options, opening};
use crate::StoreError;
use crate::record::Record;
use std::path::Path;
use std::sync::Arc;

/// Problems that are told one by one; the others are only counted.
const TOLD: usize = 20;
/// Records whose keys are made again at a time.
const AT_A_TIME: usize = 500;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Records that were looked at.
    pub records: u64,
    /// Texts that were read.
    pub texts: u64,
    /// What is wrong: the first ones.
    pub problems: Vec<String>,
    /// How many problems there are.
    pub problem_count: u64,
}

impl Findings {
    fn wrong(&mut self, what: String) {
        self.problem_count += 1;
        if self.problems.len() < TOLD {
            self.problems.push(what);
        }
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }
}

/// Opens a store whatever is missing, mends it, and says what was wrong. Records and texts cannot be made again; ids, keys,
/// expiries, counters and indexes can.
pub fn repair(
    path: &Path,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<(Vec<String>, Findings), StoreError> {
    let store = opening::open(path, Options { create: false, ..options.clone() }, true)?;
    let mut mended = store.notices();
    let findings = store.verify(progress)?;
    if findings.problem_count > 0 {
        mended.extend(findings.problems);
        store.make_keys_again()?;
        // Counters and deletions have changed under the indexes, so they are made again too.
        store.close()?;
        let store = opening::open(path, Options { create: false, ..options }, true)?;
        let findings = store.verify(progress)?;
        store.close()?;
        return Ok((mended, findings));
    }
    store.close()?;
    Ok((mended, findings))
}

impl Embedded {
    /// Reads everything once and compares what must agree. Nothing is written meanwhile. `progress` is called with the
    /// number of records looked at.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<Findings, StoreError> {
        self.shared.check()?;
        let view = self.shared.read();
        let mut findings = Findings::default();
        for open in view.collections.values() {
            Check { open, moment: &view.moment, findings: &mut findings, progress }.all()?;
        }
        Ok(findings)
    }

    fn make_keys_again(&self) -> Result<(), StoreError> {
        let collections: Vec<Arc<Open>> = self.shared.read().collections.values().cloned().collect();
        for open in collections {
            let number = open.number;
            let erase = move |group: &mut Group<'_>| {
                group.erase_some(layout::prefixes(number).map(|prefix| (Tree::Keys, prefix)).into_iter())
            };
            while self.change(Box::new(erase))? {}
            let mut from = 0;
            loop {
                let (own, next) = (Arc::clone(&open), Arc::new(std::sync::atomic::AtomicU64::new(from)));
                let reached = Arc::clone(&next);
                let more = self.change(Box::new(move |group| {
                    let (after, more) = group.make_keys(&own, from)?;
                    reached.store(after, std::sync::atomic::Ordering::Relaxed);
                    Ok(more)
                }))?;
                from = next.load(std::sync::atomic::Ordering::Relaxed);
                if !more {
                    break;
                }
            }
            loop {
                let own = Arc::clone(&open);
                if !self.change(Box::new(move |group| group.drop_texts(&own)))? {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Group<'_> {
    /// Makes the keys of some records again; the version to go on with, and whether there are more.
    fn make_keys(&mut self, open: &Open, from: u64) -> Result<(u64, bool), StoreError> {
        let mut records = Vec::new();
        let prefix = open.number.to_be_bytes();
        self.stage.scan(Tree::Records, &prefix, &layout::version(open.number, from), &mut |key, value| {
            records.extend(layout::last_number(key).zip(codec::parse_record(value)));
            Ok(records.len() < AT_A_TIME)
        })?;
        let more = records.len() == AT_A_TIME;
        let after = records.last().map_or(from, |(version, _)| version + 1);
        if from == 0 {
            self.counters.insert(open.number, Counters::default());
        }
        for (version, record) in records {
            self.make_keys_of(open, version, &record)?;
        }
        let counters = self.counters.entry(open.number).or_default();
        counters.next = counters.next.max(after);
        self.stage.put(Tree::Keys, layout::counters(open.number), counters.bytes());
        Ok((after, more))
    }

    /// Removes some texts that belong to no record; whether there were any.
    fn drop_texts(&mut self, open: &Open) -> Result<bool, StoreError> {
        let (mut stray, prefix) = (Vec::new(), open.number.to_be_bytes());
        let stage = &self.stage;
        stage.scan(Tree::Texts, &prefix, &prefix, &mut |key, _| {
            if stage.get(Tree::Records, key)?.is_none() {
                stray.push(key.to_vec());
            }
            Ok(stray.len() < AT_A_TIME)
        })?;
        let any = !stray.is_empty();
        stray.into_iter().for_each(|key| self.stage.delete(Tree::Texts, key));
        Ok(any)
    }

    fn make_keys_of(&mut self, open: &Open, version: u64, record: &Record) -> Result<(), StoreError> {
        // The younger of two records of one id has replaced the other.
        let counters = self.counters.entry(open.number).or_default();
        match open.version_of(&self.stage, &record.id)? {
            None => counters.documents += 1,
            Some(older) => {
                for key in open.record(&self.stage, older, i64::MIN)?.iter().flat_map(distinct) {
                    postings::remove(&mut self.stage, &layout::postings(open.number, key), older)?;
                }
                self.stage.delete(Tree::Records, layout::version(open.number, older));
                self.stage.delete(Tree::Texts, layout::version(open.number, older));
            }
        }
        self.stage.put(Tree::Keys, layout::id(open.number, &record.id), version.to_be_bytes());
        if let Some(expires) = record.expires {
            self.stage.put(Tree::Keys, layout::expiry(open.number, expires, version), []);
        }
        for key in distinct(record) {
            postings::insert(&mut self.stage, &layout::postings(open.number, key), version)?;
        }
        Ok(())
    }
}

/// The check of one collection.
struct Check<'c> {
    open: &'c Open,
    moment: &'c Moment,
    findings: &'c mut Findings,
    progress: &'c mut dyn FnMut(u64),
}

/// What the records lead to expect of everything else.
#[derive(Default)]
struct Expected {
    records: u64,
    keys: u64,
    expiries: u64,
    near: Vec<u64>,
    next: u64,
}

impl Check<'_> {
    fn all(mut self) -> Result<(), StoreError> {
        for (_, index) in &self.open.spaces {
            if let Err(error) = index.verify() {
                self.findings.wrong(format!("an index of {:?}: {error}", self.open.about.name));
                return Ok(());
            }
        }
        let mut expected = Expected { near: vec![0; self.open.spaces.len()], ..Expected::default() };
        let prefix = self.open.number.to_be_bytes();
        let moment = self.moment;
        moment.scan(Tree::Records, &prefix, &prefix, &mut |key, value| {
            let version = layout::last_number(key).unwrap_or(u64::MAX);
            match codec::parse_record(value) {
                Some(record) => self.record(version, &record, &mut expected)?,
                None => self.findings.wrong(format!("version {version} cannot be read")),
            }
            Ok(true)
        })?;
        moment.scan(Tree::Texts, &prefix, &prefix, &mut |key, value| {
            self.text(key, value)?;
            Ok(true)
        })?;
        self.counts(&expected)
    }

    fn record(&mut self, version: u64, record: &Record, expected: &mut Expected) -> Result<(), StoreError> {
        let (open, moment) = (self.open, self.moment);
        let at = || format!("{:?} (version {version} of {:?})", record.id, open.about.name);
        expected.records += 1;
        expected.next = version + 1;
        self.findings.records += 1;
        if self.findings.records.is_multiple_of(1024) {
            (self.progress)(self.findings.records);
        }
        let led = open.version_of(moment, &record.id)?;
        self.findings.expect(led == Some(version), || format!("the id of {} leads to {led:?}", at()));
        for key in distinct(record) {
            expected.keys += 1;
            let there = postings::contains(moment, &layout::postings(open.number, key), version)?;
            self.findings.expect(there, || format!("a key of {} does not lead to it", at()));
        }
        if let Some(expires) = record.expires {
            expected.expiries += 1;
            let there = moment.get(Tree::Keys, &layout::expiry(open.number, expires, version))?.is_some();
            self.findings.expect(there, || format!("{} would not expire", at()));
        }
        for ((settings, index), count) in open.spaces.iter().zip(&mut expected.near) {
            let Some(fingerprint) = record.signals.near(settings.space) else { continue };
            *count += 1;
            let mut found = false;
            index.search(&[(0, fingerprint, 0)], &mut |_, other, _| found |= other == version)?;
            self.findings.expect(found, || format!("an index does not find {}", at()));
        }
        Ok(())
    }

    fn text(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let version = layout::last_number(key).unwrap_or(u64::MAX);
        let name = &self.open.about.name;
        self.findings.texts += 1;
        let readable = codec::parse_text(value).is_some();
        self.findings
            .expect(readable, || format!("the text of version {version} of {name:?} cannot be read"));
        let owned = self.moment.get(Tree::Records, key)?.is_some();
        self.findings
            .expect(owned, || format!("the text of version {version} of {name:?} belongs to no record"));
        Ok(())
    }

    /// Nothing may lead to what is not there: the numbers must be equal.
    fn counts(self, expected: &Expected) -> Result<(), StoreError> {
        let Self { open, moment, findings, .. } = self;
        let name = &open.about.name;
        let count = |prefix: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> u64| {
            let mut sum = 0;
            moment.scan(Tree::Keys, prefix, prefix, &mut |key, value| {
                sum += each(key, value);
                Ok(true)
            })?;
            Ok::<u64, StoreError>(sum)
        };
        let ids = count(&layout::ids(open.number), &mut |_, _| 1)?;
        let expiries = count(&layout::expiries(open.number), &mut |_, _| 1)?;
        let keys = count(&layout::all_postings(open.number), &mut |key, value| {
            let versions = match layout::is_chunk(key) {
                true => postings::parse_versions(value),
                false => Head::parse(value).map(|head| head.versions),
            };
            versions.map_or(u64::MAX / 2, |versions| versions.len() as u64)
        })?;
        let counters = moment.get(Tree::Keys, &layout::counters(open.number))?;
        let counters = counters.and_then(|bytes| Counters::parse(&bytes)).unwrap_or_default();
        let pairs = [
            ("ids", ids, expected.records),
            ("expiries", expiries, expected.expiries),
            ("keys", keys, expected.keys),
            ("documents counted", counters.documents, expected.records),
        ];
        for (what, found, expected) in pairs {
            findings
                .expect(found == expected, || format!("{name:?} has {found} {what}, its records {expected}"));
        }
        findings.expect(counters.next >= expected.next, || format!("{name:?} would use versions again"));
        for ((settings, index), expected) in open.spaces.iter().zip(&expected.near) {
            let items = index.stats().items;
            let space = settings.space.0;
            findings.expect(items == *expected, || {
                format!("index {space} of {name:?} has {items} fingerprints, its records {expected}")
            });
        }
        Ok(())
    }
}
