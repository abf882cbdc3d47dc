//! The Hamming index of one space, whatever its width.

use crate::StoreError;
use crate::record::SpaceSettings;
use leitong_fingerprint::Fingerprint;
use leitong_index::Value;
use leitong_index::hamming::{HammingError, Index, Options, Snapshot, Stats};
use std::path::Path;

/// A search: which question it belongs to, for what, and how far.
pub(crate) type Search<'a> = (usize, &'a Fingerprint, u32);

/// Fingerprints of one width, numbered by their owner in ascending order.
pub(crate) trait Near: Send + Sync {
    /// Adds a fingerprint under an ordinal behind all others.
    fn insert_at(&self, ordinal: u64, fingerprint: &Fingerprint) -> Result<(), HammingError>;
    /// Says that there is nothing under the ordinals below this one that is not there now.
    fn skip_to(&self, ordinal: u64) -> Result<(), HammingError>;
    /// Deletes an ordinal; nothing happens if it is not there.
    fn delete(&self, ordinal: u64) -> Result<(), HammingError>;
    /// Calls `found(question, ordinal, distance)` for everything the searches find.
    fn search(
        &self,
        searches: &[Search<'_>],
        found: &mut dyn FnMut(usize, u64, u32),
    ) -> Result<(), HammingError>;
    /// Everything in it now, to be read later.
    fn contents(&self) -> Result<Box<dyn Contents>, HammingError>;
    /// Writes down everything added and deleted so far.
    fn flush(&self) -> Result<(), HammingError>;
    /// Makes one segment of everything.
    fn merge(&self) -> Result<(), HammingError>;
    /// Compares all checksums.
    fn verify(&self) -> Result<(), HammingError>;
    /// What it consists of.
    fn stats(&self) -> Stats;
}

/// What an index held at one moment.
pub(crate) trait Contents: Send {
    /// Calls `item` with every ordinal and its fingerprint, in no certain order.
    fn for_each(&self, item: &mut dyn FnMut(u64, Fingerprint)) -> Result<(), HammingError>;
}

impl<V: Value> Contents for Snapshot<V> {
    fn for_each(&self, item: &mut dyn FnMut(u64, Fingerprint)) -> Result<(), HammingError> {
        Snapshot::for_each(self, |ordinal, value| item(ordinal, value.to_fingerprint()))
    }
}

impl<V: Value> Near for Index<V> {
    fn insert_at(&self, ordinal: u64, fingerprint: &Fingerprint) -> Result<(), HammingError> {
        self.skip_to(ordinal)?;
        match self.insert(V::from_words(fingerprint.words()))? {
            own if own == ordinal => Ok(()),
            // It would be found under somebody else's number from now on.
            own => Err(HammingError::Merge { what: format!("{ordinal} was to be added, {own} was next") }),
        }
    }

    fn skip_to(&self, ordinal: u64) -> Result<(), HammingError> {
        Index::skip_to(self, ordinal)
    }

    fn delete(&self, ordinal: u64) -> Result<(), HammingError> {
        Index::delete(self, ordinal).map(|_| ())
    }

    fn search(
        &self,
        searches: &[Search<'_>],
        found: &mut dyn FnMut(usize, u64, u32),
    ) -> Result<(), HammingError> {
        // Searches of one distance go together: a group is faster than one after the other.
        for same in searches.chunk_by(|a, b| a.2 == b.2) {
            let queries: Vec<V> = same.iter().map(|search| V::from_words(search.1.words())).collect();
            Index::search(self, &queries, same[0].2, |m| {
                found(same[m.query as usize].0, m.ordinal, m.distance);
            })?;
        }
        Ok(())
    }

    fn contents(&self) -> Result<Box<dyn Contents>, HammingError> {
        Ok(Box::new(self.snapshot()?))
    }

    fn flush(&self) -> Result<(), HammingError> {
        Index::flush(self)
    }

    fn merge(&self) -> Result<(), HammingError> {
        Index::merge(self)
    }

    fn verify(&self) -> Result<(), HammingError> {
        Index::verify(self)
    }

    fn stats(&self) -> Stats {
        Index::stats(self)
    }
}

/// Bytes that building a segment may take.
const BUILDING: u64 = 1 << 30;

/// The index of a space: in a folder, or in memory only.
pub(crate) fn open(settings: &SpaceSettings, folder: Option<&Path>) -> Result<Box<dyn Near>, StoreError> {
    fn typed<V: Value>(within: u32, folder: Option<&Path>) -> Result<Box<dyn Near>, HammingError> {
        let mut options = Options::new(within);
        // Finding takes a small part of the time of a question, so the index may be the smaller and slower kind.
        options.build.bytes_per_item = Some(f64::from(V::WIDTH) / 8.0 * 2.5);
        options.build.memory = BUILDING;
        Ok(match folder {
            Some(folder) => Box::new(Index::<V>::open(folder, options)?),
            None => Box::new(Index::<V>::in_memory(options)?),
        })
    }
    let within = settings.within;
    Ok(match settings.width {
        32 => typed::<u32>(within, folder)?,
        64 => typed::<u64>(within, folder)?,
        128 => typed::<u128>(within, folder)?,
        256 => typed::<[u64; 4]>(within, folder)?,
        512 => typed::<[u64; 8]>(within, folder)?,
        1024 => typed::<[u64; 16]>(within, folder)?,
        found => return Err(StoreError::Width { space: settings.space, expected: 64, found }),
    })
}

/// Whether a fingerprint fits a space.
pub(crate) fn check_width(settings: &SpaceSettings, fingerprint: &Fingerprint) -> Result<(), StoreError> {
    let SpaceSettings { space, width, .. } = *settings;
    match fingerprint.width() == width {
        true => Ok(()),
        false => Err(StoreError::Width { space, expected: width, found: fingerprint.width() }),
    }
}

/// Whether a search fits a space.
pub(crate) fn check_search(
    settings: &SpaceSettings,
    fingerprint: &Fingerprint,
    within: u32,
) -> Result<(), StoreError> {
    check_width(settings, fingerprint)?;
    match within <= settings.within {
        true => Ok(()),
        false => Err(StoreError::TooFar { asked: within, built: settings.within }),
    }
}
