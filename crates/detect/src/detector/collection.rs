//! A collection: the handle that has the operations, and the simple ones among them.

use super::answer::Checked;
use super::document::{CheckOptions, Question};
use super::judge::Asking;
use super::search::Search;
use super::signals::each;
use super::{CollectionSettings, DetectError, Detector, DocumentError};
use crate::{Fingerprinter, RecipeDigest, Scratch};
use leitong_fingerprint::Fingerprint;
use leitong_store::{Count, Signals, Space, Store, StoreError, Stored, Want, validate_id};
use std::sync::Arc;

/// A collection of documents. Cheap to clone, and shared between threads.
#[derive(Clone, Debug)]
pub struct Collection {
    detector: Detector,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stored: leitong_store::Collection,
    settings: CollectionSettings,
    fingerprinter: Arc<Fingerprinter>,
}

/// A question that can be answered.
struct Asked {
    id: Option<String>,
    text: Option<String>,
    signals: Signals,
    limit: usize,
}

impl Collection {
    pub(super) fn new(
        detector: Detector,
        stored: leitong_store::Collection,
        settings: CollectionSettings,
        fingerprinter: Arc<Fingerprinter>,
    ) -> Self {
        Self { detector, inner: Arc::new(Inner { stored, settings, fingerprinter }) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.stored.name
    }

    /// Digest of its recipe.
    #[must_use]
    pub fn recipe_digest(&self) -> RecipeDigest {
        RecipeDigest(self.inner.stored.recipe)
    }

    /// What it was made with.
    #[must_use]
    pub fn settings(&self) -> &CollectionSettings {
        &self.inner.settings
    }

    /// Its recipe, made ready.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.inner.fingerprinter
    }

    /// The detector it was opened with.
    #[must_use]
    pub fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Whether a record may have a fingerprint in this space.
    pub(super) fn check_near(&self, space: Space, fingerprint: &Fingerprint) -> Result<(), DocumentError> {
        let (expected, found) = (self.inner.stored.space(space)?.width, fingerprint.width());
        if found == expected { Ok(()) } else { Err(DocumentError::Width { expected, found }) }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &**self.detector.store()
    }

    /// How much it holds.
    pub fn count(&self) -> Result<Count, DetectError> {
        Ok(self.store().count(self.name())?)
    }

    /// What is stored that is near each of these, the nearest first.
    pub fn check(
        &self,
        questions: Vec<Question>,
        options: &CheckOptions,
    ) -> Result<Vec<Result<Checked, DocumentError>>, DetectError> {
        let within = self.within(options.distance)?;
        let asked = each(questions, |question, scratch| self.asked(question, scratch));
        let searches = asked.iter().flatten().map(|asked| Search {
            asking: Asking {
                id: asked.id.as_deref(),
                signals: &asked.signals,
                text: asked.text.as_deref(),
                origin: None,
            },
            probes: self.probes(&asked.signals, within),
            except: asked.id.as_deref(),
            limit: asked.limit,
        });
        let found = self.search(searches.collect(), &options.filter, options.evidence)?;
        let mut found = found.into_iter();
        let answer = |asked: Asked| {
            let (matches, more) = found.next().unwrap_or_default();
            let simhash = asked.signals.near(Space::DOCUMENTS).cloned();
            Checked { id: asked.id, simhash, matches, more }
        };
        let mut answer = answer;
        Ok(asked.into_iter().map(|asked| asked.map(&mut answer)).collect())
    }

    fn asked(&self, question: Question, scratch: &mut Scratch) -> Result<Asked, DocumentError> {
        let Question { id, text, fingerprint, limit } = question;
        id.as_deref().map_or(Ok(()), validate_id)?;
        let signals = self.signals(text.as_deref(), fingerprint.as_ref(), scratch)?;
        Ok(Asked { id, text, signals, limit: limit.max(1) })
    }

    /// The distance to search within: the collection's, or less where that is asked for.
    pub(super) fn within(&self, asked: Option<u32>) -> Result<u32, DetectError> {
        let built = self.settings().distance;
        match asked {
            Some(asked) if asked > built => Err(StoreError::TooFar { asked, built }.into()),
            asked => Ok(asked.unwrap_or(built)),
        }
    }

    /// The documents of these ids, where there are any.
    pub fn get(
        &self,
        ids: &[&str],
        want: Want,
    ) -> Result<Vec<Result<Option<Stored>, DocumentError>>, DetectError> {
        let good: Vec<&str> = ids.iter().copied().filter(|id| validate_id(id).is_ok()).collect();
        let mut stored = self.store().get(self.name(), &good, want)?.into_iter();
        Ok(ids.iter().map(|id| Ok(validate_id(id).map(|()| stored.next().flatten())?)).collect())
    }

    /// Removes documents; the version of each that was there.
    ///
    /// The members of a cluster whose centre is removed are assigned anew before the centre goes, in the order of their
    /// versions, as if it had never been there. A crash in between leaves some of them in their new clusters and the others
    /// with the old centre, which is still there: removing it again goes on from there.
    pub fn remove(&self, ids: &[&str]) -> Result<Vec<Result<Option<u64>, DocumentError>>, DetectError> {
        let good: Vec<&str> = ids.iter().copied().filter(|id| validate_id(id).is_ok()).collect();
        let centres = self.centres_among(&good)?;
        self.release(&centres)?;
        let mut removed = self.store().remove(self.name(), &good)?.into_iter();
        // Whoever joined one of them between the last look and the removal, and members of what had expired.
        self.release_outdated(good.iter().map(|id| (*id).to_owned()).collect())?;
        Ok(ids.iter().map(|id| Ok(validate_id(id).map(|()| removed.next().flatten())?)).collect())
    }
}
