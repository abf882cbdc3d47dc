//! What can go wrong: with a whole call, and with one document of a batch.

use super::{CursorError, FilterError};
use crate::RecipeError;
use leitong_fingerprint::Fingerprint;
use leitong_store::StoreError;

/// What ends a whole call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A recipe that cannot be used.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The recipe of a collection gives other fingerprints than when it was made.
    #[error(
        "the collection {collection:?} was made with recipe {stored}, which this version of the program reads as {now}: its \
         built-in data has changed since; use the version that made it, or export the collection and import it into a new \
         one, which makes the fingerprints anew from the texts"
    )]
    RecipeChanged {
        /// The collection.
        collection: String,
        /// The digest it was made with.
        stored: String,
        /// The digest of the same recipe now.
        now: String,
    },
    /// The settings of a collection cannot be read.
    #[error(
        "the settings of the collection {collection:?} cannot be read ({message}): it was made by another program or a later \
         version; use that, or another collection"
    )]
    Settings {
        /// The collection.
        collection: String,
        /// What is wrong.
        message: String,
    },
    /// A document that was to be there.
    #[error(
        "there is no document {id:?} in the collection {collection:?}: check the id, or add the document first"
    )]
    NoDocument {
        /// The collection.
        collection: String,
        /// The id.
        id: String,
    },
    /// Collections whose fingerprints mean different things.
    #[error(
        "the collections {collection:?} and {other:?} have different recipes, so their documents cannot be compared: ask for \
         one at a time, or make both with the same recipe"
    )]
    OtherRecipe {
        /// The document's collection.
        collection: String,
        /// The other.
        other: String,
    },
    /// A page that cannot be continued.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// A filter that cannot be read.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Something could not be read from where an import comes from.
    #[error("reading failed after line {line}: {source}")]
    Read {
        /// The last line that was read whole.
        line: u64,
        /// Why.
        source: std::io::Error,
    },
    /// Something could not be written where an export goes to.
    #[error("writing failed: {0}; what was written so far is incomplete")]
    Write(#[source] std::io::Error),
}

/// What is wrong with one document of a batch; the rest goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// An id, a title, a source, metadata or a text that no store can take.
    #[error(transparent)]
    Field(#[from] StoreError),
    /// Nothing to make a fingerprint from.
    #[error("neither a text nor a fingerprint: give one of them")]
    NoText,
    /// A fingerprint of another width than the collection's.
    #[error(
        "the fingerprint has {found} bits, the collection's have {expected}: make it with the collection's recipe"
    )]
    Width {
        /// The collection's.
        expected: u32,
        /// The document's.
        found: u32,
    },
    /// A text with a fingerprint that is not its own.
    #[error("the fingerprint {given} is not that of the text ({made}): leave it out, or use the recipe it was made with", made = shown(made.as_ref()))]
    OtherFingerprint {
        /// What came with the text.
        given: Fingerprint,
        /// What the collection's recipe makes of the text.
        made: Option<Fingerprint>,
    },
    /// A line that is no record.
    #[error("not a record: {0}; each line is one JSON object with \"id\" and \"text\"")]
    Line(String),
    /// A record made with another recipe, without the text to make it anew.
    #[error(
        "made with another recipe than the collection's and without its text: export it with texts, or leave it out"
    )]
    OtherRecipe,
}

fn shown(fingerprint: Option<&Fingerprint>) -> String {
    fingerprint.map_or("none: too little evidence".into(), Fingerprint::to_string)
}
