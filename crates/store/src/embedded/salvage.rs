//! Saving what can still be read of a store that can no longer be mended.

use super::codec::{self, Counters};
use super::engine::{Engine, Moment, Read};
use super::layout::{self, Tree};
use super::{Embedded, Options, opening};
use crate::StoreError;
use crate::record::{Collection, Record};
use crate::seam::{Addition, Policy, Store};
use std::path::Path;

/// Records that are written at a time.
const AT_A_TIME: usize = 512;

/// What was saved and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Records saved.
    pub records: u64,
    /// Records that could not be read.
    pub lost_records: u64,
    /// Records saved without their text, which could not be read.
    pub lost_texts: u64,
}

/// Copies every record that can be read into a new store, each by itself: a damaged block costs what stands in it, no more.
/// The damaged store stays as it is. `progress` is called with the number of records looked at.
pub fn salvage(
    path: &Path,
    target: &Path,
    options: Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Salvaged, StoreError> {
    let options = Options { create: false, ..options };
    let mut ignored = Vec::new();
    let _lock = opening::enter(path, &options, false, &mut ignored)?;
    let engine = Engine::open(path, options.cache)?;
    let moment = engine.moment();
    let new = Embedded::open(target, Options { create: true, ..options })?;
    if !new.collections()?.is_empty() {
        let what = "the folder holds documents already: what is saved needs a new one".into();
        return Err(StoreError::NotAStore { path: target.to_owned(), what });
    }
    let mut salvaged = Salvaged::default();
    for (number, collection) in opening::catalogue(path, &moment)? {
        new.create(&collection)?;
        save(&moment, number, &collection, &new, &mut salvaged, progress)?;
    }
    new.close()?;
    Ok(salvaged)
}

fn save(
    moment: &Moment,
    number: u32,
    collection: &Collection,
    new: &Embedded,
    salvaged: &mut Salvaged,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    let counters = moment.get(Tree::Keys, &layout::counters(number))?;
    let next = counters.and_then(|bytes| Counters::parse(&bytes)).unwrap_or_default().next;
    let mut batch = Vec::new();
    for version in 0..next {
        match read(moment, number, version) {
            Ok(Some((record, whole))) => {
                salvaged.lost_texts += u64::from(!whole);
                batch.push(Addition::new(record, Policy::Replace));
            }
            Ok(None) => {}
            Err(()) => salvaged.lost_records += 1,
        }
        if batch.len() == AT_A_TIME || version + 1 == next {
            salvaged.records += batch.len() as u64;
            new.add(&collection.name, std::mem::take(&mut batch))?;
            progress(salvaged.records + salvaged.lost_records);
        }
    }
    Ok(())
}

/// A record with its text as far as it can be read, and whether that is all of it.
fn read(moment: &Moment, number: u32, version: u64) -> Result<Option<(Record, bool)>, ()> {
    let place = layout::version(number, version);
    let Some(bytes) = moment.get(Tree::Records, &place).map_err(|_| ())? else { return Ok(None) };
    let mut record = codec::parse_record(&bytes).ok_or(())?;
    let whole = match moment.get(Tree::Texts, &place) {
        Ok(None) => true,
        Ok(Some(bytes)) => {
            record.text = codec::parse_text(&bytes);
            record.text.is_some()
        }
        Err(_) => false,
    };
    Ok(Some((record, whole)))
}
