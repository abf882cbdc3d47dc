//! Whether everything fits together.

use super::Embedded;
use super::engine::{Moment, Read};
use super::find::Open;
use super::group::distinct;
use super::layout::{self, Tree};
use super::postings::{self, Head};
use crate::StoreError;
use crate::codec::{self, Counters};
use crate::findings::Findings;
use crate::near::Contents;
use crate::record::Record;
use leitong_index::marks::{MarkIndex, Snapshot};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Documents of a mark that are looked at.
const FOLLOWED: usize = 64;

impl Embedded {
    /// Reads everything once, as it is at one moment, and compares what must agree. Others may write meanwhile. `progress` is
    /// called with the number of records looked at.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<Findings, StoreError> {
        self.shared.check()?;
        let mut checks = Vec::new();
        let moment = {
            let view = self.shared.read();
            for open in view.collections.values() {
                let contents = open.spaces.iter().map(|(_, index)| index.contents());
                let contents = contents.collect::<Result<Vec<_>, _>>()?;
                checks.push((Arc::clone(open), contents, open.marks.get().map(MarkIndex::snapshot)));
            }
            view.moment.clone()
        };
        let mut findings = Findings::default();
        for (open, contents, marks) in &checks {
            Check {
                open,
                contents,
                marks: marks.as_ref(),
                moment: &moment,
                findings: &mut findings,
                progress,
            }
            .all()?;
        }
        Ok(findings)
    }
}

/// The check of one collection.
struct Check<'c> {
    open: &'c Open,
    contents: &'c [Box<dyn Contents>],
    marks: Option<&'c Snapshot>,
    moment: &'c Moment,
    findings: &'c mut Findings,
    progress: &'c mut dyn FnMut(u64),
}

/// What the records lead to expect of everything else.
#[derive(Default)]
struct Expected {
    records: u64,
    texts: u64,
    keys: u64,
    expiries: u64,
    near: Vec<Sum>,
    outlines: Sum,
    next: u64,
}

/// Fingerprints or outlines under their numbers, in any order: two lists that differ have different sums, but for a chance
/// of 2^-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hashes: u64,
}

impl Sum {
    fn add(&mut self, version: u64, words: &[u64]) {
        let words = std::iter::once(&version).chain(words);
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(xxh3_64(&bytes));
    }
}

impl Check<'_> {
    fn all(mut self) -> Result<(), StoreError> {
        let spaces = self.open.spaces.iter().map(|(_, index)| index.verify().map_err(StoreError::from));
        let marks = self.open.marks.get().map(|index| index.verify().map_err(StoreError::from));
        if let Some(error) = spaces.chain(marks).find_map(Result::err) {
            self.findings.wrong(format!("an index of {:?}: {error}", self.open.about.name));
            return Ok(());
        }
        let mut expected =
            Expected { near: vec![Sum::default(); self.open.spaces.len()], ..Expected::default() };
        let prefix = self.open.number.to_be_bytes();
        let moment = self.moment;
        moment.scan(Tree::Records, &prefix, &prefix, &mut |key, value| {
            let version = layout::last_number(key).unwrap_or(u64::MAX);
            // Also alone, as readers ask: that goes through filters which a walk over all does not touch.
            if moment.get(Tree::Records, key)?.is_none() {
                self.findings.wrong(format!("version {version} is there and cannot be found"));
            }
            match codec::parse_whole(value) {
                Some(record) => {
                    self.record(version, &record, &mut expected)?;
                    self.text(version, codec::text_length(value), &mut expected)?;
                }
                None => self.findings.wrong(format!("version {version} cannot be read")),
            }
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
        for ((settings, _), sum) in open.spaces.iter().zip(&mut expected.near) {
            if let Some(fingerprint) = record.signals.near(settings.space) {
                sum.add(version, fingerprint.words());
            }
        }
        let marks = record.signals.outline.hashes();
        if !marks.is_empty() {
            expected.outlines.add(version, &[record.origin.unwrap_or(version), marks.len() as u64]);
            let there = self.leads_to(version, &marks)?;
            self.findings.expect(there, || format!("a mark of {} does not lead to it", at()));
        }
        Ok(())
    }

    /// Whether these marks lead to a version, those at least that not many have.
    fn leads_to(&self, version: u64, marks: &[u32]) -> Result<bool, StoreError> {
        let mut seen = vec![(0, false); marks.len()];
        if let Some(snapshot) = self.marks {
            snapshot.look_up(marks, FOLLOWED, &mut |mark, posting| {
                let (count, there) = &mut seen[mark];
                *count += 1;
                *there |= posting.ordinal == version;
            })?;
        }
        Ok(seen.iter().all(|&(count, there)| there || count == FOLLOWED))
    }

    /// The text of a record must be there, readable, and as long as the record says.
    fn text(&mut self, version: u64, length: Option<u64>, expected: &mut Expected) -> Result<(), StoreError> {
        let Some(length) = length else { return Ok(()) };
        expected.texts += 1;
        let name = &self.open.about.name;
        let bytes = self.moment.get(Tree::Texts, &layout::version(self.open.number, version))?;
        self.findings.texts += u64::from(bytes.is_some());
        let found = bytes.and_then(|bytes| codec::parse_text(&bytes)).map(|text| text.len() as u64);
        self.findings.expect(found == Some(length), || {
            format!("the text of version {version} of {name:?} is missing or not as it was written")
        });
        Ok(())
    }

    /// Nothing may lead to what is not there: the numbers must be equal.
    fn counts(self, expected: &Expected) -> Result<(), StoreError> {
        let Self { open, contents, marks, moment, findings, .. } = self;
        let name = &open.about.name;
        let mut texts = 0;
        let own = open.number.to_be_bytes();
        moment.scan(Tree::Texts, &own, &own, &mut |_, _| {
            texts += 1;
            Ok(true)
        })?;
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
            ("texts", texts, expected.texts),
            ("expiries", expiries, expected.expiries),
            ("keys", keys, expected.keys),
            ("documents counted", counters.documents, expected.records),
        ];
        for (what, found, expected) in pairs {
            findings
                .expect(found == expected, || format!("{name:?} has {found} {what}, its records {expected}"));
        }
        let mut outlines = Sum::default();
        if let Some(snapshot) = marks {
            snapshot
                .for_each(&mut |version, origin, marks| outlines.add(version, &[origin, marks.into()]))?;
        }
        findings.expect(outlines == expected.outlines, || {
            let (count, expected) = (outlines.count, expected.outlines.count);
            format!(
                "the mark index of {name:?} has {count} documents, its records {expected}, and they differ"
            )
        });
        findings.expect(counters.next >= expected.next, || format!("{name:?} would use versions again"));
        for (((settings, _), contents), expected) in open.spaces.iter().zip(contents).zip(&expected.near) {
            let mut sum = Sum::default();
            contents.for_each(&mut |version, fingerprint| sum.add(version, fingerprint.words()))?;
            let (space, count, expected_count) = (settings.space.0, sum.count, expected.count);
            findings.expect(sum == *expected, || {
                format!("index {space} of {name:?} has {count} fingerprints, its records {expected_count}, and they differ")
            });
        }
        Ok(())
    }
}
