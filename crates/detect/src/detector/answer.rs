//! What goes out: matches, and what became of documents.

use crate::compare::SharedPassage;
use crate::verdict::{Scores, Verdict};
use leitong_fingerprint::Fingerprint;

/// A stored document that a question or a document matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Its collection.
    pub collection: String,
    /// Its id.
    pub id: String,
    /// What the document that asks is to it.
    pub verdict: Verdict,
    /// In how many bits the SimHashes differ; none where one of them has none.
    pub distance: Option<u32>,
    /// The share of all runs of five units of both that are shared. Where texts are compared, or asked for and there.
    pub jaccard: Option<f64>,
    /// The larger share of one text that the other has. Like `jaccard`.
    pub containment: Option<f64>,
    /// All figures the verdict went by, unless only fingerprints were compared.
    pub scores: Option<Scores>,
    /// Its title.
    pub title: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// When it was published.
    pub published: Option<i64>,
    /// Its version.
    pub version: u64,
    /// What decided, in words.
    pub rule: String,
    /// What both texts have, the asking one first. Like `jaccard`.
    pub passages: Option<Vec<SharedPassage>>,
    /// Why there are no scores although they were asked for.
    pub no_evidence: Option<NoEvidence>,
}

/// Why there are no scores although they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoEvidence {
    /// The document that asks came as a fingerprint, or its text is not kept.
    AskedWithoutText,
    /// The text of the match is not kept, or the match has been replaced or removed meanwhile.
    MatchWithoutText,
}

impl NoEvidence {
    /// The reason in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::AskedWithoutText => "the text of the document that asks is not there",
            Self::MatchWithoutText => "the text of the match is not there",
        }
    }
}

/// The answer to a [`super::Question`].
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The id the question came with.
    pub id: Option<String>,
    /// Its SimHash; none where there is too little evidence.
    pub simhash: Option<Fingerprint>,
    /// The matches: the nearest first, then the oldest.
    pub matches: Vec<Match>,
    /// Whether there may be more matches than the limit allowed.
    pub more: bool,
}

impl Checked {
    /// Whether something stored is a duplicate.
    #[must_use]
    pub fn duplicate(&self) -> bool {
        self.matches.iter().any(|found| found.verdict.is_duplicate())
    }
}

/// What became of a document that was to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Its id.
    pub id: String,
    /// Its SimHash; none where there is too little evidence.
    pub simhash: Option<Fingerprint>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a document that was to be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is stored, for good.
    Stored {
        /// Its version.
        version: u64,
        /// The version it replaced.
        replaced: Option<u64>,
    },
    /// There is one of the same id ([`super::When::New`]).
    Exists {
        /// Its version.
        version: u64,
    },
    /// It is a duplicate of these ([`super::When::UnlessDuplicate`]); never empty.
    Duplicate {
        /// Of what, the nearest first; not necessarily all.
        matches: Vec<Match>,
    },
}

impl Outcome {
    /// Whether it is stored.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }
}

/// The cluster a document has been assigned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The id of the centre; its own where it is one.
    pub centre: String,
    /// The distance from the centre.
    pub distance: u32,
}

impl Assigned {
    /// Whether it is a centre.
    #[must_use]
    pub fn is_centre(&self) -> bool {
        self.id == self.centre
    }
}

/// A cluster, as a list of clusters shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The id of its centre.
    pub centre: String,
    /// The centre's title.
    pub title: Option<String>,
    /// The centre's source.
    pub source: Option<String>,
    /// When the centre was published.
    pub published: Option<i64>,
    /// How many documents it has, the centre included.
    pub members: u64,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// The distance from the centre.
    pub distance: u32,
    /// Its title.
    pub title: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// When it was published.
    pub published: Option<i64>,
    /// Its version.
    pub version: u64,
}
