//! The online operations: documents in, matches out, on any store.
//!
//! The principal type is [`Detector`], a store and what is needed to use it; its [`Collection`]s have the operations. All
//! of them work on batches and answer one item a document; what is wrong with one document is an error of its own.
//!
//! | module | does |
//! |---|---|
//! | `settings` | what a collection is made with, and how it is written down |
//! | `signals` | what a document can be found by |
//! | `search`, `judge`, `verify`, `evidence` | from a question to matches |
//! | `pace` | how much to ask a store for at a time |
//! | `add`, `order` | storing, unless duplicate; who in a batch waits for whom |
//! | `similar`, `cursor`, [`filter`], [`time`] | lists of stored documents, page by page |
//! | `cluster`, `release` | streaming Single-Pass |
//! | [`exchange`] | lines of JSON out and in |

mod add;
mod answer;
mod cluster;
mod collection;
mod cursor;
mod document;
mod error;
mod evidence;
pub mod exchange;
pub mod filter;
mod judge;
mod order;
mod pace;
mod release;
mod search;
mod settings;
mod signals;
mod similar;
#[cfg(test)]
mod tests;
pub mod time;
mod verify;

pub use answer::{Added, Assigned, Checked, Cluster, Match, Member, NoEvidence, Outcome};
pub use collection::Collection;
pub use cursor::{Cursor, CursorError};
pub use document::{CheckOptions, DEFAULT_LIMIT, Document, Evidence, Question, When};
pub use error::{DetectError, DocumentError};
pub use filter::{Filter, FilterError};
pub use judge::Judge;
pub use settings::CollectionSettings;
pub use signals::{KEY_CLUSTER, KEY_EXACT};
pub use similar::{SimilarOptions, SimilarPage, Sort};

use crate::{Fingerprinter, Recipe, RecipeDigest};
use leitong_store::{Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError};

/// The collection that is used where none is named.
pub const DEFAULT_COLLECTION: &str = "default";

/// A store, and what is needed to answer questions from it.
///
/// ```
/// use leitong_detect::detector::{
///     CheckOptions, CollectionSettings, Detector, Document, Evidence, Question, When,
/// };
/// use leitong_store::Memory;
/// use std::sync::Arc;
///
/// let detector = Detector::new(Arc::new(Memory::default()));
/// let news = detector.create("news", &CollectionSettings::default())?;
/// let text = "如有雷同，纯属巧合；请勿对号入座。本故事中的人物、地点和情节都是虚构的。";
/// news.add(vec![Document::new("1", text)], When::Replace, Evidence::None)?;
///
/// let question = Question::new(text.replace('，', ","));
/// let answers = news.check(vec![question], &CheckOptions::default())?;
/// let checked = answers[0].as_ref().unwrap();
/// assert!(checked.duplicate());
/// assert_eq!(checked.matches[0].id, "1");
///
/// // Of any number of simultaneous near-identical documents exactly one is stored.
/// let added = news.add(vec![Document::new("2", text)], When::UnlessDuplicate, Evidence::None)?;
/// assert!(!added[0].as_ref().unwrap().outcome.is_stored());
/// # Ok::<(), leitong_detect::detector::DetectError>(())
/// ```
#[derive(Clone)]
pub struct Detector {
    store: Arc<dyn Store>,
    /// Recipes made ready, so that collections of the same recipe share one.
    ready: Arc<Mutex<Vec<Arc<Fingerprinter>>>>,
}

/// A collection, as a list of collections shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionInfo {
    /// Its name.
    pub name: String,
    /// Digest of its recipe.
    pub recipe: RecipeDigest,
    /// What it was made with; none where that cannot be read (see [`Detector::open`] for why).
    pub settings: Option<CollectionSettings>,
    /// How much it holds.
    pub count: leitong_store::Count,
}

impl Detector {
    /// The operations on a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, ready: Arc::default() }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// All collections, by name.
    pub fn collections(&self) -> Result<Vec<CollectionInfo>, DetectError> {
        let describe = |stored: leitong_store::Collection| {
            Ok(CollectionInfo {
                count: self.store.count(&stored.name)?,
                recipe: RecipeDigest(stored.recipe),
                settings: CollectionSettings::read(&stored).ok(),
                name: stored.name,
            })
        };
        self.store.collections()?.into_iter().map(describe).collect()
    }

    /// Makes a collection, or opens the one there is. One that was made with another recipe or distance is refused; where
    /// it differs in nothing but whether texts are kept and how is judged, it stays as it is
    /// ([`Collection::settings`] says how that is).
    pub fn create(&self, name: &str, settings: &CollectionSettings) -> Result<Collection, DetectError> {
        // First, for a bad recipe must not leave a collection behind that nobody can open.
        self.ready(&settings.recipe)?;
        self.store.create(&settings.write(name))?;
        self.open(name)
    }

    /// Opens a collection with the recipe it was made with. Fails with [`DetectError::RecipeChanged`] where the built-in
    /// data has changed since.
    pub fn open(&self, name: &str) -> Result<Collection, DetectError> {
        let stored = self.stored(name)?;
        let settings = CollectionSettings::read(&stored)?;
        let fingerprinter = self.ready(&settings.recipe)?;
        Ok(Collection::new(self.clone(), stored, settings, fingerprinter))
    }

    /// Removes a collection and all its documents; false if there is none.
    pub fn destroy(&self, name: &str) -> Result<bool, DetectError> {
        Ok(self.store.destroy(name)?)
    }

    /// A collection as the store has it.
    pub(crate) fn stored(&self, name: &str) -> Result<leitong_store::Collection, DetectError> {
        let mut all = self.store.collections()?;
        match all.iter().position(|collection| collection.name == name) {
            Some(at) => Ok(all.swap_remove(at)),
            None => Err(StoreError::NoCollection { name: name.to_owned() }.into()),
        }
    }

    fn ready(&self, recipe: &Recipe) -> Result<Arc<Fingerprinter>, DetectError> {
        // Whoever panicked while holding the lock left a whole list behind.
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = ready.iter().find(|known| known.recipe() == recipe) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Fingerprinter::new(recipe.clone())?);
        ready.push(Arc::clone(&made));
        Ok(made)
    }
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector").finish_non_exhaustive()
    }
}
