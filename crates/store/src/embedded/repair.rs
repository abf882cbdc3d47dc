//! Mending a store: what can be made again is made again, from the records.
//!
//! If making the indexes anew is not enough, every record that can be read is copied into a new store, each by itself, so that a
//! damaged block costs what stands in it and no more. The new one then takes the place of the old, which is kept aside.

use super::engine::{Engine, Moment, Read};
use super::layout::{self, Tree};
use super::{Embedded, Options, folder, inspect, opening};
use crate::StoreError;
use crate::codec::{self, Counters};
use crate::findings::Findings;
use crate::record::{Collection, Record};
use crate::seam::{Addition, Policy, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Records that are written at a time.
const AT_A_TIME: usize = 512;
/// The new store, while it is made.
const NEW: &str = "repaired";
/// Names the folder for the old files, while they are exchanged.
pub(super) const EXCHANGING: &str = "repairing";
/// What is exchanged.
const PARTS: [&str; 3] = ["documents", "index", "pulse"];

/// Mends a store and says what was wrong with it, and what is found in it now. Records and texts that cannot be read are
/// lost; how many is said. `progress` is called with the number of records looked at.
pub fn repair(
    path: &Path,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<(Vec<String>, Findings), StoreError> {
    let options = Options { create: false, ..options };
    let mut mended = Vec::new();
    if !is_exchanging(path) {
        match open_and_verify(path, &options, &mut mended, progress) {
            Ok(findings) if findings.problem_count == 0 => return Ok((mended, findings)),
            Ok(findings) => mended.extend(findings.problems),
            Err(error @ (StoreError::Damaged { .. } | StoreError::Index(_) | StoreError::Marks(_))) => {
                mended.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    make_anew(path, &options, &mut mended, progress)?;
    let findings = open_and_verify(path, &options, &mut mended, progress)?;
    Ok((mended, findings))
}

fn open_and_verify(
    path: &Path,
    options: &Options,
    mended: &mut Vec<String>,
    progress: &mut dyn FnMut(u64),
) -> Result<Findings, StoreError> {
    let store = opening::open(path, options.clone(), true)?;
    mended.extend(store.notices());
    let findings = store.verify(progress)?;
    if findings.problem_count == 0 {
        store.close()?;
    }
    Ok(findings)
}

fn make_anew(
    path: &Path,
    options: &Options,
    mended: &mut Vec<String>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    let _lock = folder::enter(path, options, true, mended)?;
    if !is_exchanging(path) {
        let lost = copy_readable(path, options, mended, progress)?;
        if lost.records + lost.texts > 0 {
            mended.push(format!(
                "{} records, and texts of {} others, cannot be read",
                lost.records, lost.texts
            ));
        }
        begin_exchange(path).map_err(|error| StoreError::io(path, error))?;
    }
    let old = exchange(path).map_err(|error| StoreError::io(path, error))?;
    mended.push(format!("made anew from its records; the old files are in {}", old.display()));
    Ok(())
}

/// What could not be read.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    records: u64,
    texts: u64,
}

/// Makes the new store.
fn copy_readable(
    path: &Path,
    options: &Options,
    mended: &mut Vec<String>,
    progress: &mut dyn FnMut(u64),
) -> Result<Lost, StoreError> {
    let target = path.join(NEW);
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|error| StoreError::io(&target, error))?;
    }
    inspect::inspect(path, true, mended)?;
    let engine = Engine::open(path, options.cache)?;
    let moment = engine.moment();
    opening::check_commits(path, &moment, true, mended)?;
    let new = Embedded::open(&target, Options { create: true, ..options.clone() })?;
    let mut lost = Lost::default();
    for (number, collection) in opening::catalogue(path, &moment)? {
        new.create(&collection)?;
        copy_collection(&moment, number, &collection, &new, &mut lost, progress)?;
    }
    new.close()?;
    Ok(lost)
}

fn copy_collection(
    moment: &Moment,
    number: u32,
    collection: &Collection,
    new: &Embedded,
    lost: &mut Lost,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    let mut batch = Vec::new();
    for version in 0..end(moment, number)? {
        match read(moment, number, version) {
            Ok(Some((record, whole))) => {
                lost.texts += u64::from(!whole);
                batch.push(Addition::new(record, Policy::Replace));
            }
            Ok(None) => {}
            Err(()) => lost.records += 1,
        }
        if batch.len() == AT_A_TIME {
            new.add(&collection.name, std::mem::take(&mut batch))?;
            progress(version + 1);
        }
    }
    new.add(&collection.name, batch).map(|_| ())
}

/// The version behind the last: as the counters say, or as the records do.
fn end(moment: &Moment, number: u32) -> Result<u64, StoreError> {
    let counted = moment.get(Tree::Keys, &layout::counters(number));
    let counted =
        counted.map(|bytes| bytes.and_then(|bytes| Counters::parse(&bytes)).unwrap_or_default().next);
    let last = moment.last_key(Tree::Records, &number.to_be_bytes());
    let last = last.map(|key| key.and_then(|key| layout::last_number(&key)).map_or(0, |version| version + 1));
    match (counted, last) {
        (Ok(counted), Ok(last)) => Ok(counted.max(last)),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
        (Err(error), Err(_)) => Err(error),
    }
}

/// A record with its text as far as it can be read, and whether that is all of it.
fn read(moment: &Moment, number: u32, version: u64) -> Result<Option<(Record, bool)>, ()> {
    let place = layout::version(number, version);
    let Some(bytes) = moment.get(Tree::Records, &place).map_err(|_| ())? else { return Ok(None) };
    let mut record = codec::parse_whole(&bytes).ok_or(())?;
    let text = moment.get(Tree::Texts, &place).ok().flatten();
    record.text = text.and_then(|bytes| codec::parse_text(&bytes));
    let whole = codec::text_length(&bytes) == record.text.as_ref().map(|text| text.len() as u64);
    Ok(Some((record, whole)))
}

/// Whether an exchange was begun and not ended. Such a folder is opened by nobody else.
pub(super) fn is_exchanging(path: &Path) -> bool {
    path.join(EXCHANGING).exists()
}

/// From here on the new store counts, whatever happens.
fn begin_exchange(path: &Path) -> std::io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (new, marker) = (path.join("repairing.new"), path.join(EXCHANGING));
    fs::write(&new, format!("damaged-{now}"))?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(new, marker)?;
    fs::File::open(path)?.sync_all()
}

/// Puts the new files in the place of the old ones, or goes on with that. Gives the folder of the old ones.
fn exchange(path: &Path) -> std::io::Result<PathBuf> {
    let old = path.join(fs::read_to_string(path.join(EXCHANGING))?);
    fs::create_dir_all(&old)?;
    for part in PARTS {
        // Whatever still is in the new folder has not taken its place yet.
        if path.join(NEW).join(part).exists() {
            if path.join(part).exists() {
                fs::rename(path.join(part), old.join(part))?;
            }
            fs::rename(path.join(NEW).join(part), path.join(part))?;
        }
    }
    fs::File::open(path)?.sync_all()?;
    fs::remove_file(path.join(EXCHANGING))?;
    fs::remove_dir_all(path.join(NEW))?;
    Ok(old)
}
