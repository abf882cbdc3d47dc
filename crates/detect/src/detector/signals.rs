//! What a document can be found by.

use super::document::Document;
use super::verify::outline;
use super::{Collection, DocumentError};
use crate::Scratch;
use crate::verify::Reading;
use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::hash::own64;
use leitong_store::{Key, MOST_TEXT, Probe, Record, Signals, Space, StoreError};
use rayon::prelude::*;
use std::cell::RefCell;

/// Kind of the key that equal texts share: the low half of the digest of their letters. It finds equal texts that are too
/// short for a SimHash. Kinds from 3 on are free: bands, marks, keywords.
pub const KEY_EXACT: u8 = 1;
/// Kind of the key that the documents of a cluster share: the frozen hash of the centre's id.
pub const KEY_CLUSTER: u8 = 2;

/// Batches up to this size are not worth the threads.
const FEW: usize = 4;

/// The key of a cluster.
pub(super) fn cluster_key(centre: &str) -> Key {
    Key { kind: KEY_CLUSTER, value: own64(centre.as_bytes()) }
}

/// The signals of a document in no cluster.
pub(super) fn signals_of(simhash: Option<Fingerprint>, exact: Option<u128>) -> Signals {
    Signals {
        near: simhash.into_iter().map(|simhash| (Space::DOCUMENTS, simhash)).collect(),
        keys: exact.iter().map(|&digest| Key { kind: KEY_EXACT, value: digest as u64 }).collect(),
        exact,
        ..Signals::default()
    }
}

/// Adds what a document has that is in a cluster, or takes it away: a document is in one cluster at most.
pub(super) fn set_cluster(record: &mut Record, cluster: Option<(String, u32)>) {
    let Signals { near, keys, .. } = &mut record.signals;
    near.retain(|(space, _)| *space != Space::CENTRES);
    keys.retain(|key| key.kind != KEY_CLUSTER);
    if let Some((centre, _)) = &cluster {
        keys.push(cluster_key(centre));
        let own =
            near.iter().find(|(space, _)| *space == Space::DOCUMENTS).map(|(_, simhash)| simhash.clone());
        if let Some(simhash) = own.filter(|_| *centre == record.id) {
            near.push((Space::CENTRES, simhash));
        }
    }
    record.cluster = cluster;
}

/// The probes that find whatever may be a duplicate of these signals.
fn probes(signals: &Signals, within: u32, by_marks: bool) -> Vec<Probe> {
    let marks =
        (by_marks && !signals.outline.marks.is_empty()).then(|| Probe::Marks(signals.outline.hashes()));
    let near = signals.near(Space::DOCUMENTS).map(|fingerprint| Probe::Near {
        space: Space::DOCUMENTS,
        fingerprint: fingerprint.clone(),
        within,
    });
    let exact = signals.keys.iter().filter(|key| key.kind == KEY_EXACT).map(|&key| Probe::Key(key));
    near.into_iter().chain(exact).chain(marks).collect()
}

/// A document that can be stored, with its text for whoever judges.
pub(super) struct Ready {
    pub(super) record: Record,
    /// The text, where the record does not keep it.
    pub(super) text: Option<String>,
}

impl Ready {
    pub(super) fn text(&self) -> Option<&str> {
        self.record.text.as_deref().or(self.text.as_deref())
    }

    pub(super) fn simhash(&self) -> Option<&Fingerprint> {
        self.record.signals.near(Space::DOCUMENTS)
    }
}

impl Collection {
    /// The signals of a text, or of a ready fingerprint.
    pub(super) fn signals(
        &self,
        text: Option<&str>,
        given: Option<&Fingerprint>,
        scratch: &mut Scratch,
    ) -> Result<Signals, DocumentError> {
        let expected = self.settings().recipe.settings().simhash.bits;
        if let Some(found) = given.map(Fingerprint::width).filter(|&found| found != expected) {
            return Err(DocumentError::Width { expected, found });
        }
        let Some(text) = text else {
            let given = given.ok_or(DocumentError::NoText)?;
            return Ok(signals_of(Some(given.clone()), None));
        };
        if text.len() > MOST_TEXT {
            let too_long = StoreError::TooLong { what: "text", bytes: text.len(), most: MOST_TEXT };
            return Err(too_long.into());
        }
        let (made, exact) = self.fingerprinter().simhash_and_digest(text, scratch);
        if let Some(given) = given.filter(|given| made.as_ref() != Some(*given)) {
            return Err(DocumentError::OtherFingerprint { given: given.clone(), made });
        }
        let mut signals = signals_of(made, exact);
        if self.settings().judge.uses_marks() {
            signals.outline = outline(&Reading::of(text), self.settings().keep_texts);
        }
        Ok(signals)
    }

    /// The probes that find whatever may be a duplicate of these signals, within the distance or less.
    pub(super) fn probes(&self, signals: &Signals, within: u32) -> Vec<Probe> {
        probes(signals, within, self.settings().judge.uses_marks())
    }

    /// Makes documents ready to be stored, in parallel.
    pub(super) fn ready(&self, documents: Vec<Document>) -> Vec<Result<Ready, DocumentError>> {
        each(documents, |document, scratch| self.ready_one(document, scratch))
    }

    fn ready_one(&self, document: Document, scratch: &mut Scratch) -> Result<Ready, DocumentError> {
        let Document { id, text, fingerprint, title, source, published, expires, metadata } = document;
        leitong_store::validate_id(&id)?;
        let signals = self.signals(text.as_deref(), fingerprint.as_ref(), scratch)?;
        let (kept, text) = if self.settings().keep_texts { (text, None) } else { (None, text) };
        let record = Record {
            id,
            signals,
            title,
            source,
            published,
            expires,
            cluster: None,
            origin: None,
            metadata,
            text: kept,
        };
        record.validate()?;
        Ok(Ready { record, text })
    }
}

thread_local! {
    /// Kept from call to call: making it anew costs a question alone as much as storing does.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Does something with every item, on all cores if there are more than a few.
pub(super) fn each<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T, &mut Scratch) -> R + Sync) -> Vec<R> {
    let one = |item| {
        // Taken out, not borrowed: whatever the work does meanwhile on this thread finds an empty one.
        let mut scratch = SCRATCH.take();
        let result = work(item, &mut scratch);
        scratch.forget_long_texts();
        SCRATCH.set(scratch);
        result
    };
    match items.len() <= FEW {
        true => items.into_iter().map(one).collect(),
        false => items.into_par_iter().map(one).collect(),
    }
}
