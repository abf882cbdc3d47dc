//! Records as lines of JSON: for other programs, and for moving a collection to another recipe.
//!
//! A line is `{"id", "text", "title", "source", "published", "expires", "recipe", "simhash", "exact", "cluster", "outline",
//! "metadata"}`; what a record does not have is left out, and `outline` where there is a text to make it from. `simhash` and `exact` are hexadecimal and belong to the recipe whose digest is
//! `recipe`. For an import `id` and `text` are enough; where a line has no `recipe`, so that no export has written it, all its
//! other fields are stored as metadata.

use super::pace::{TEXTS, TextPace, text_length};
use super::signals::{Ready, set_cluster, signals_of};
use super::verify::outline;
use super::{Collection, DetectError, Detector, Document, DocumentError, time};
use crate::RecipeDigest;
use crate::verify::Reading;
use leitong_fingerprint::Fingerprint;
use leitong_store::{Key, Mark, Outline, Policy, Record, Signals, Space, Store, Want};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::{BufRead, Read, Write};

/// What an import has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Records stored with the fingerprints they came with.
    pub kept: u64,
    /// Records whose fingerprints were made anew from their texts; they are in no cluster.
    pub made: u64,
    /// Lines that could not be used.
    pub bad: u64,
}

/// Lines a batch of an import.
const PAGE: usize = 1024;
/// Bytes a batch of an import, so that long texts do not pile up.
const BATCH_BYTES: usize = 16 << 20;
/// Most bytes of a line: a text of the largest size with every other character escaped.
const MOST_LINE: u64 = 2 << 30;

impl Detector {
    /// Writes every document of a collection as a line of JSON, in the order of ids. Needs no recipe, so it works where the
    /// collection can no longer be opened. `progress` is told how many have been written.
    pub fn export(
        &self,
        name: &str,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, DetectError> {
        let recipe = RecipeDigest(self.stored(name)?.recipe).to_string();
        let mut written = 0;
        each_record(&**self.store(), name, &mut |record| {
            let line = Line { recipe: Some(recipe.clone()), ..Line::of(record) };
            write_line(out, &line)?;
            written += 1;
            progress(written);
            Ok(())
        })?;
        out.flush().map_err(DetectError::Write)?;
        Ok(written)
    }
}

impl Collection {
    /// Stores what the lines say; documents of the same id are replaced. Fingerprints that were made with the collection's
    /// recipe are kept, others are made anew from the texts. Fields of other names than an export writes become metadata,
    /// unless the line has a `recipe`. `bad` is told the number of each line that cannot be used and why, in the order of the
    /// lines, `progress` how many lines have been dealt with.
    pub fn import(
        &self,
        lines: &mut dyn BufRead,
        bad: &mut dyn FnMut(u64, DocumentError),
        progress: &mut dyn FnMut(u64),
    ) -> Result<Imported, DetectError> {
        let mut done = Imported::default();
        let mut reader = Lines::new(lines);
        loop {
            let batch = reader.batch()?;
            if batch.is_empty() {
                return Ok(done);
            }
            self.import_batch(batch, bad, &mut done)?;
            progress(reader.line);
        }
    }

    fn import_batch(
        &self,
        batch: Vec<(u64, Vec<u8>)>,
        bad: &mut dyn FnMut(u64, DocumentError),
        done: &mut Imported,
    ) -> Result<(), DetectError> {
        let own = self.recipe_digest().to_string();
        let read = super::signals::each(batch, |(number, bytes), _| (number, self.read(&bytes, &own)));
        let (mut numbers, mut documents, mut additions) = (Vec::new(), Vec::new(), Vec::new());
        let mut refused = Vec::new();
        for (number, read) in read {
            match read {
                Ok(Entry::Whole(ready)) => additions.push((number, *ready)),
                Ok(Entry::Content(document)) => {
                    numbers.push(number);
                    documents.push(*document);
                }
                Err(error) => refused.push((number, error)),
            }
        }
        done.kept += additions.len() as u64;
        for (number, ready) in numbers.into_iter().zip(self.ready(documents)) {
            match ready {
                Ok(ready) => {
                    done.made += 1;
                    additions.push((number, ready));
                }
                Err(error) => refused.push((number, error)),
            }
        }
        done.bad += refused.len() as u64;
        refused.sort_by_key(|(number, _)| *number);
        refused.into_iter().for_each(|(number, error)| bad(number, error));
        self.store_lines(additions)
    }

    fn store_lines(&self, mut additions: Vec<(u64, Ready)>) -> Result<(), DetectError> {
        // Of several lines with the same id the last wins.
        additions.sort_by_key(|(number, _)| *number);
        let ids: Vec<String> = additions.iter().map(|(_, ready)| ready.record.id.clone()).collect();
        let additions = additions.into_iter().map(|(number, ready)| (number as usize, ready)).collect();
        self.add_all(additions, &Policy::Replace)?;
        self.release_outdated(ids)
    }

    fn read(&self, bytes: &[u8], own: &str) -> Result<Entry, DocumentError> {
        let line: Line =
            serde_json::from_slice(bytes).map_err(|error| DocumentError::Line(error.to_string()))?;
        if line.recipe.as_deref() == Some(own) {
            let mut record = line.into_record()?;
            let mut near = record.signals.near.iter();
            near.try_for_each(|(space, fingerprint)| self.check_near(*space, fingerprint))?;
            record.validate()?;
            let keeps = self.settings().keep_texts;
            if let Some(text) = record.text.as_deref().filter(|_| self.settings().judge.uses_marks()) {
                record.signals.outline = outline(&Reading::of(text), keeps);
            }
            // What stands for the text until it is known where the record belongs.
            let text = record.text.take();
            let (kept, text) = if keeps { (text, None) } else { (None, text) };
            record.text = kept;
            return Ok(Entry::Whole(Box::new(Ready { record, text })));
        }
        if line.text.is_none() {
            let foreign = line.simhash.is_some() || line.exact.is_some();
            return Err(if foreign { DocumentError::OtherRecipe } else { DocumentError::NoText });
        }
        Ok(Entry::Content(Box::new(line.into_document()?)))
    }
}

/// What a line is good for.
enum Entry {
    /// A record as it is.
    Whole(Box<Ready>),
    /// A document whose fingerprints are to be made.
    Content(Box<Document>),
}

/// A record in its written form.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Line {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    published: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Seconds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recipe: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    simhash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<InCluster>,
    /// Signals that do not follow from the fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signals: Option<RawSignals>,
    /// What stands for a text that is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outline: Option<WrittenOutline>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    /// Fields of other names.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct InCluster {
    centre: String,
    distance: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct RawSignals {
    near: Vec<(u8, String)>,
    keys: Vec<(u8, String)>,
}

/// An outline in its written form: hashes and places of marks by turns.
#[derive(Debug, Serialize, Deserialize)]
struct WrittenOutline {
    units: u32,
    marks: Vec<(u32, u32)>,
    numbers: Vec<u64>,
}

impl WrittenOutline {
    fn of(outline: &Outline) -> Self {
        let marks = outline.marks.iter().map(|mark| (mark.hash, mark.at)).collect();
        Self { units: outline.units, marks, numbers: outline.numbers.clone() }
    }

    fn into_outline(self) -> Outline {
        let mut marks: Vec<Mark> = self.marks.into_iter().map(|(hash, at)| Mark { hash, at }).collect();
        marks.sort_unstable_by_key(|mark| (mark.at, mark.hash));
        Outline { units: self.units, marks, numbers: self.numbers }
    }
}

/// A time, written as seconds or in words.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(i64),
    Text(String),
}

impl Line {
    /// A record in its written form.
    pub(super) fn of(record: Record) -> Self {
        let signals = record.signals;
        let derived = derive(&record.id, &signals, record.cluster.as_ref());
        let hex = |(space, fingerprint): &(Space, Fingerprint)| (space.0, fingerprint.to_string());
        let follow = (&derived.near, &derived.keys) == (&signals.near, &signals.keys);
        let raw = (!follow).then(|| RawSignals {
            near: signals.near.iter().map(hex).collect(),
            keys: signals.keys.iter().map(|key| (key.kind, format!("{:016x}", key.value))).collect(),
        });
        // Made again from the text where that is there.
        let outline = (record.text.is_none() && !signals.outline.is_empty())
            .then(|| WrittenOutline::of(&signals.outline));
        Self {
            id: record.id,
            text: record.text,
            title: record.title,
            source: record.source,
            published: record.published.map(Seconds::Number),
            expires: record.expires.map(Seconds::Number),
            recipe: None,
            simhash: signals.near(Space::DOCUMENTS).map(Fingerprint::to_string),
            exact: signals.exact.map(|digest| format!("{digest:032x}")),
            cluster: record.cluster.map(|(centre, distance)| InCluster { centre, distance }),
            signals: raw,
            outline,
            metadata: record.metadata,
            rest: Map::new(),
        }
    }

    /// The record as it was.
    pub(super) fn into_record(self) -> Result<Record, DocumentError> {
        let simhash = self.simhash.as_deref().map(fingerprint).transpose()?;
        let exact = self.exact.as_deref().map(|hex| number(hex, 32)).transpose()?;
        let outline = self.outline.map(WrittenOutline::into_outline).unwrap_or_default();
        let mut record = Record {
            id: self.id,
            signals: Signals { outline, ..signals_of(simhash, exact) },
            title: self.title,
            source: self.source,
            published: self.published.map(Seconds::get).transpose()?,
            expires: self.expires.map(Seconds::get).transpose()?,
            cluster: None,
            origin: None,
            metadata: self.metadata,
            text: self.text,
        };
        set_cluster(&mut record, self.cluster.map(|cluster| (cluster.centre, cluster.distance)));
        if let Some(raw) = self.signals {
            let near = |(space, hex): &(u8, String)| Ok((Space(*space), fingerprint(hex)?));
            let key = |(kind, hex): &(u8, String)| Ok(Key { kind: *kind, value: number(hex, 16)? as u64 });
            record.signals.near = raw.near.iter().map(near).collect::<Result<_, DocumentError>>()?;
            record.signals.keys = raw.keys.iter().map(key).collect::<Result<_, DocumentError>>()?;
        }
        Ok(record)
    }

    fn into_document(self) -> Result<Document, DocumentError> {
        let mut metadata = self.metadata;
        // An export has no other fields; what a later version may write there is not the owner's.
        for (name, value) in self.rest.into_iter().filter(|_| self.recipe.is_none()) {
            if metadata.contains_key(&name) {
                let twice = format!("the field {name:?} stands beside \"metadata\" and in it");
                return Err(DocumentError::Line(twice));
            }
            metadata.insert(name, value);
        }
        Ok(Document {
            id: self.id,
            text: self.text,
            fingerprint: None,
            title: self.title,
            source: self.source,
            published: self.published.map(Seconds::get).transpose()?,
            expires: self.expires.map(Seconds::get).transpose()?,
            metadata,
        })
    }
}

/// The signals that follow from SimHash, digest and cluster.
fn derive(id: &str, signals: &Signals, cluster: Option<&(String, u32)>) -> Signals {
    let signals = signals_of(signals.near(Space::DOCUMENTS).cloned(), signals.exact);
    let mut record = Record { id: id.to_owned(), signals, ..Record::default() };
    set_cluster(&mut record, cluster.cloned());
    record.signals
}

impl Seconds {
    fn get(self) -> Result<i64, DocumentError> {
        match self {
            Self::Number(seconds) => Ok(seconds),
            Self::Text(text) => time::seconds(&text)
                .ok_or_else(|| DocumentError::Line(format!("{text:?} is no time like 2024-05-01"))),
        }
    }
}

fn fingerprint(hex: &str) -> Result<Fingerprint, DocumentError> {
    hex.parse().map_err(|error: leitong_fingerprint::BitsError| DocumentError::Line(error.to_string()))
}

fn number(hex: &str, digits: usize) -> Result<u128, DocumentError> {
    let plain = hex.len() == digits && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u128::from_str_radix(hex, 16).ok().filter(|_| plain);
    value.ok_or_else(|| DocumentError::Line(format!("{hex:?} does not have {digits} hexadecimal digits")))
}

/// Hands out every record of a collection with its text, in the order of ids.
pub(super) fn each_record(
    store: &dyn Store,
    name: &str,
    record: &mut dyn FnMut(Record) -> Result<(), DetectError>,
) -> Result<(), DetectError> {
    let mut after: Option<String> = None;
    let mut pace = TextPace::new(TEXTS);
    loop {
        let page = store.scan(name, after.as_deref(), pace.limit(usize::MAX), Want::Text)?;
        let Some(last) = page.last() else { return Ok(()) };
        pace.read(page.iter().map(|stored| text_length(&stored.record)));
        after = Some(last.record.id.clone());
        page.into_iter().try_for_each(|stored| record(stored.record))?;
    }
}

pub(super) fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<(), DetectError> {
    let mut bytes = serde_json::to_vec(line).map_err(|error| DetectError::Write(error.into()))?;
    bytes.push(b'\n');
    out.write_all(&bytes).map_err(DetectError::Write)
}

/// Lines, counted, of bounded length; blank ones are left out.
pub(super) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    pub(super) line: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead) -> Self {
        Self { reader, line: 0 }
    }

    /// The next line with its end, into `line`; false at the end of everything.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<bool, DetectError> {
        line.clear();
        let failed = |source| DetectError::Read { line: self.line, source };
        let read = (&mut self.reader).take(MOST_LINE).read_until(b'\n', line).map_err(failed)?;
        if read as u64 == MOST_LINE {
            return Err(failed(std::io::Error::other(
                "the next line is longer than 2 GiB: this is not an export",
            )));
        }
        self.line += u64::from(read > 0);
        Ok(read > 0)
    }

    fn batch(&mut self) -> Result<Vec<(u64, Vec<u8>)>, DetectError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut line = Vec::new();
        while batch.len() < PAGE && bytes < BATCH_BYTES && self.next(&mut line)? {
            if !line.trim_ascii().is_empty() {
                bytes += line.len();
                batch.push((self.line, std::mem::take(&mut line)));
            }
        }
        Ok(batch)
    }
}
