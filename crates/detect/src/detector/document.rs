//! What comes in: documents to store and questions to answer.

use super::filter::Filter;
use leitong_fingerprint::Fingerprint;
use serde_json::{Map, Value};

/// A document to store.
///
/// Its content is a text, or a fingerprint made elsewhere with the collection's recipe. A document with both is refused
/// unless they agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its id: any string of 1 to [`leitong_store::MOST_ID`] bytes.
    pub id: String,
    /// Its text.
    pub text: Option<String>,
    /// Its SimHash, where the text is not at hand. Such a document is never `exact`.
    pub fingerprint: Option<Fingerprint>,
    /// Its title.
    pub title: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// When it was published, in seconds since 1970.
    pub published: Option<i64>,
    /// From when on it is no longer there, in seconds since 1970.
    pub expires: Option<i64>,
    /// Whatever else is to be known of it.
    pub metadata: Map<String, Value>,
}

impl Document {
    /// A document with a text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: Some(text.into()), ..Self::default() }
    }

    /// A document of which only the fingerprint is known.
    pub fn of_fingerprint(id: impl Into<String>, fingerprint: Fingerprint) -> Self {
        Self { id: id.into(), fingerprint: Some(fingerprint), ..Self::default() }
    }
}

/// A question: what is stored that is near this?
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The id it has or will have: a document is never its own duplicate.
    pub id: Option<String>,
    /// Its text.
    pub text: Option<String>,
    /// Its SimHash, where the text is not at hand.
    pub fingerprint: Option<Fingerprint>,
    /// Most matches to give, at least 1.
    pub limit: usize,
}

/// How many matches are given where nobody says.
pub const DEFAULT_LIMIT: usize = 10;

impl Default for Question {
    fn default() -> Self {
        Self { id: None, text: None, fingerprint: None, limit: DEFAULT_LIMIT }
    }
}

impl Question {
    /// A question about a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A question about a document that has an id.
    pub fn with_id(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::new(text) }
    }
}

/// How questions are answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckOptions {
    /// What each match carries beside its verdict.
    pub evidence: Evidence,
    /// Which stored documents count.
    pub filter: Filter,
    /// The largest distance, where it is to be less than the collection's.
    pub distance: Option<u32>,
}

/// How much a match says of the two texts. All of it needs both texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing.
    #[default]
    None,
    /// Jaccard and containment.
    Scores,
    /// The scores and the shared passages with their places.
    Passages,
}

/// When a document is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Always; one of the same id is replaced.
    #[default]
    Replace,
    /// Only if there is none of the same id.
    New,
    /// Only if nothing else that is stored is a duplicate of it; one of the same id is replaced.
    UnlessDuplicate,
}
