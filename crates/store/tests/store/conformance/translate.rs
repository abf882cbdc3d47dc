//! From the versions a store gives to those of the model.

use super::{Known, NO_VERSION, Outcome, Run};
use leitong_store::{Added, Found, Record, Stored};

impl Run {
    pub(super) fn translate(&self, name: usize, version: u64) -> Outcome<u64> {
        let model = self.known.get(&name).and_then(|known| known.versions.get(&version));
        model.copied().ok_or_else(|| format!("version {version} was never given to a record"))
    }

    pub(super) fn translate_some(&self, name: usize, version: Option<u64>) -> Outcome<Option<u64>> {
        version.map(|version| self.translate(name, version)).transpose()
    }

    pub(super) fn translate_stored(&self, name: usize, stored: Stored) -> Outcome<Stored> {
        let record = self.translate_record(name, stored.record)?;
        Ok(Stored { version: self.translate(name, stored.version)?, record })
    }

    pub(super) fn translate_record(&self, name: usize, record: Record) -> Outcome<Record> {
        let origin = match record.origin {
            Some(version) if version < NO_VERSION => Some(self.translate(name, version)?),
            origin => origin,
        };
        Ok(Record { origin, ..record })
    }

    pub(super) fn translate_found(&self, name: usize, mut found: Found) -> Outcome<Found> {
        for candidate in &mut found.candidates {
            candidate.rank.version = self.translate(name, candidate.rank.version)?;
            candidate.record = self.translate_record(name, std::mem::take(&mut candidate.record))?;
        }
        Ok(found)
    }

    pub(super) fn translate_added(&self, name: usize, added: Added) -> Outcome<Added> {
        Ok(match added {
            Added::Stored { version, replaced } => Added::Stored {
                version: self.translate(name, version)?,
                replaced: self.translate_some(name, replaced)?,
            },
            Added::Exists { version } => Added::Exists { version: self.translate(name, version)? },
            Added::Changed { version } => Added::Changed { version: self.translate_some(name, version)? },
            Added::Unjudged(found) => Added::Unjudged(self.translate_found(name, found)?),
        })
    }
}

impl Known {
    pub(super) fn untranslate(&self, model: u64) -> Option<u64> {
        self.versions.iter().find(|(_, other)| **other == model).map(|(own, _)| *own)
    }
}
