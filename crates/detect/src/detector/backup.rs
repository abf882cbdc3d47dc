//! A whole store as one stream: all collections with their recipes and settings, and every record as it is stored.
//!
//! ```text
//! {"backup":{"format":1,"collections":[{"name","recipe","about","spaces"}…]}}
//! {"collection":"news"}
//! {"record":{"id","text",…}}          as an export writes it, without "recipe"
//! …
//! {"end":{"records":12,"checksum":"…"}}    XXH3-64 of all bytes before this line
//! ```
//!
//! Records keep their signals, so nothing is made anew and no recipe is needed. Versions are new ones, in the order of ids.
//! Collections are read page by page, not in one moment: what is written meanwhile may be in it or not, each record whole.

use super::DetectError;
use super::exchange::{Line, Lines, each_record, write_line};
use leitong_store::{Addition, Collection, Policy, Space, SpaceSettings, Store};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use xxhash_rust::xxh3::Xxh3;

const FORMAT: u32 = 1;
/// Records stored at a time, and most bytes of them.
const BATCH: (usize, usize) = (1024, 16 << 20);

/// What a backup or a restoring has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Collections.
    pub collections: u64,
    /// Records.
    pub records: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    Backup(Header),
    Collection(String),
    Record(Box<Line>),
    End(Trailer),
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    collections: Vec<Kept>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    name: String,
    recipe: String,
    about: String,
    /// Number, width, largest distance.
    spaces: Vec<(u8, u32, u32)>,
}

#[derive(Serialize, Deserialize)]
struct Trailer {
    records: u64,
    checksum: String,
}

/// Writes a whole store. `progress` is told how many records have been written.
pub fn write(
    store: &dyn Store,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, DetectError> {
    let collections = store.collections()?;
    let mut out = Summing { out, sum: Xxh3::new() };
    let header = Header { format: FORMAT, collections: collections.iter().map(Kept::of).collect() };
    write_line(&mut out, &Entry::Backup(header))?;
    let mut totals = Totals { collections: collections.len() as u64, records: 0 };
    for collection in collections {
        write_line(&mut out, &Entry::Collection(collection.name.clone()))?;
        each_record(store, &collection.name, &mut |record| {
            write_line(&mut out, &Entry::Record(Box::new(Line::of(record))))?;
            totals.records += 1;
            progress(totals.records);
            Ok(())
        })?;
    }
    let checksum = format!("{:016x}", out.sum.digest());
    write_line(&mut out, &Entry::End(Trailer { records: totals.records, checksum }))?;
    out.flush().map_err(DetectError::Write)?;
    Ok(totals)
}

/// Restores a whole store into an empty one. A stream whose end is missing or wrong is only known when it has been read:
/// then the call fails with [`DetectError::Incomplete`], and the target must not be used. `progress` is told how many
/// records have been stored.
pub fn restore(
    store: &dyn Store,
    input: &mut dyn BufRead,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, DetectError> {
    if let Some(first) = store.collections()?.first() {
        return Err(DetectError::NotEmpty(first.name.clone()));
    }
    let mut restoring = Restoring {
        store,
        lines: Lines::new(input),
        sum: Xxh3::new(),
        totals: Totals::default(),
        current: None,
        batch: Vec::new(),
        bytes: 0,
    };
    restoring.header()?;
    while restoring.entry(progress)? {}
    Ok(restoring.totals)
}

struct Restoring<'a> {
    store: &'a dyn Store,
    lines: Lines<'a>,
    sum: Xxh3,
    totals: Totals,
    current: Option<String>,
    batch: Vec<Addition>,
    bytes: usize,
}

impl Restoring<'_> {
    fn header(&mut self) -> Result<(), DetectError> {
        let mut line = Vec::new();
        self.lines.next(&mut line)?;
        let Ok(Entry::Backup(header)) = serde_json::from_slice(&line) else {
            return Err(DetectError::NotABackup("its first line is not that of a backup".into()));
        };
        if header.format != FORMAT {
            let what =
                format!("its format is {}, this version reads {FORMAT}: use a later one", header.format);
            return Err(DetectError::NotABackup(what));
        }
        self.sum.update(&line);
        self.totals.collections = header.collections.len() as u64;
        for kept in header.collections {
            let name = kept.name.clone();
            let collection =
                kept.read().ok_or_else(|| self.damaged(format!("the recipe of {name:?} is no digest")))?;
            self.store.create(&collection)?;
        }
        Ok(())
    }

    /// Deals with a line; false after the last.
    fn entry(&mut self, progress: &mut dyn FnMut(u64)) -> Result<bool, DetectError> {
        let mut line = Vec::new();
        if !self.lines.next(&mut line)? {
            return Err(self.damaged("it ends before its last line"));
        }
        let entry = serde_json::from_slice(&line)
            .map_err(|error| self.damaged(format!("line {}: {error}", self.lines.line)))?;
        match entry {
            Entry::End(trailer) => return self.end(&trailer, progress).map(|()| false),
            Entry::Backup(_) => {
                return Err(self.damaged(format!("line {}: a second beginning", self.lines.line)));
            }
            Entry::Collection(name) => {
                self.store_batch(progress)?;
                self.current = Some(name);
            }
            Entry::Record(record) => {
                let record = record
                    .into_record()
                    .map_err(|error| self.damaged(format!("line {}: {error}", self.lines.line)))?;
                self.batch.push(Addition { record, policy: Policy::Replace });
                self.bytes += line.len();
                if self.batch.len() >= BATCH.0 || self.bytes >= BATCH.1 {
                    self.store_batch(progress)?;
                }
            }
        }
        self.sum.update(&line);
        Ok(true)
    }

    fn store_batch(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), DetectError> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let Some(name) = &self.current else { return Err(self.damaged("records before any collection")) };
        let count = batch.len() as u64;
        self.store.add(name, batch)?;
        self.totals.records += count;
        progress(self.totals.records);
        Ok(())
    }

    fn end(&mut self, trailer: &Trailer, progress: &mut dyn FnMut(u64)) -> Result<(), DetectError> {
        self.store_batch(progress)?;
        if trailer.checksum != format!("{:016x}", self.sum.digest()) {
            return Err(self.damaged("its checksum does not fit its content"));
        }
        if trailer.records != self.totals.records {
            return Err(self.damaged(format!("it should hold {} records", trailer.records)));
        }
        Ok(())
    }

    fn damaged(&self, what: impl Into<String>) -> DetectError {
        DetectError::Incomplete { what: what.into(), restored: self.totals.records }
    }
}

impl Kept {
    fn of(collection: &Collection) -> Self {
        let Collection { name, recipe, about, spaces } = collection;
        Self {
            name: name.clone(),
            recipe: crate::RecipeDigest(*recipe).to_string(),
            about: about.clone(),
            spaces: spaces.iter().map(|space| (space.space.0, space.width, space.within)).collect(),
        }
    }

    fn read(self) -> Option<Collection> {
        let recipe = u128::from_str_radix(&self.recipe, 16).ok().filter(|_| self.recipe.len() == 32)?;
        let space = |(space, width, within)| SpaceSettings { space: Space(space), width, within };
        Some(Collection {
            name: self.name,
            recipe: recipe.to_be_bytes(),
            about: self.about,
            spaces: self.spaces.into_iter().map(space).collect(),
        })
    }
}

/// Sums up what goes through.
struct Summing<'a> {
    out: &'a mut dyn Write,
    sum: Xxh3,
}

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
