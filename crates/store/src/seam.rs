//! The seam: what every store can do, in batches only, so that one across a network needs one round trip.
//!
//! A store knows records and probes, never verdicts. Who wants to add a document unless it is a duplicate finds candidates,
//! judges them, and adds with [`Policy::Unless`], naming the versions judged. In one atomic step the store probes again and
//! either stores the record or hands back the candidates the caller has not seen; those are judged, and so on. So any way of
//! judging is atomic on any store, and no lock is held while judging.

use crate::StoreError;
use crate::record::{Collection, Key, Record, Space, Stored};
use leitong_fingerprint::Fingerprint;
use std::cmp::Reverse;

/// One way to find records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Every record whose fingerprint in the space differs in at most `within` bits.
    Near {
        /// Where to search.
        space: Space,
        /// What to search for.
        fingerprint: Fingerprint,
        /// The largest distance, at most that of the space.
        within: u32,
    },
    /// Every record that has the key.
    Key(Key),
    /// Every record that has enough of these marks in common, by their hashes, in any order; one given twice counts once.
    /// What is enough says [`Scoring`](crate::Scoring).
    Marks(Vec<u32>),
}

impl Probe {
    /// Puts marks in order, each once.
    pub(crate) fn tidy(&mut self) {
        if let Self::Marks(marks) = self {
            marks.sort_unstable();
            marks.dedup();
        }
    }
}

/// A question: every record that one of the probes finds, once, in the order of [`Rank`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// What to look for.
    pub probes: Vec<Probe>,
    /// The id of the document that asks: it is never its own candidate.
    pub except: Option<String>,
    /// Only candidates behind this one, for paging. Whatever stays unchanged meanwhile is shown exactly once.
    pub after: Option<Rank>,
    /// Most candidates to give. With 0, [`Found::more`] says whether there are any.
    pub limit: usize,
}

impl Query {
    /// Whether one of the probes is for marks.
    pub(crate) fn asks_for_marks(&self) -> bool {
        self.probes.iter().any(|probe| matches!(probe, Probe::Marks(_)))
    }
}

/// The order of candidates: the nearest first, then those with more keys in common, then the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The least distance by any probe; [`Rank::FAR`] for a record found by keys alone.
    pub distance: u32,
    /// How many probed keys it has, and how many marks in common with each probe that found it by marks.
    pub keys: Reverse<u32>,
    /// Its version.
    pub version: u64,
}

impl Rank {
    /// The distance of a record that was found by keys alone.
    pub const FAR: u32 = u32::MAX;
}

/// A record that a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its place among the candidates.
    pub rank: Rank,
    /// The record, without its outline and its text.
    pub record: Record,
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The candidates, in order.
    pub candidates: Vec<Candidate>,
    /// Whether there are more behind the last.
    pub more: bool,
}

/// When a record is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Always; a record of the same id is replaced.
    Replace,
    /// Only if there is none of the same id.
    New,
    /// Unless a probe finds a record of another id whose version is not among those judged. A record of the same id is
    /// replaced.
    Unless {
        /// What would have to be judged.
        probes: Vec<Probe>,
        /// Versions the caller has judged and does not mind.
        judged: Vec<u64>,
        /// Most candidates to hand back; at least one is.
        limit: usize,
    },
}

/// A record and when to store it.
#[derive(Clone, Debug, PartialEq)]
pub struct Addition {
    /// The record.
    pub record: Record,
    /// When.
    pub policy: Policy,
    /// Only in the place of this version: nothing is stored unless the record of the same id still has it. For whoever
    /// reads a record, changes it and writes it back.
    pub over: Option<u64>,
}

impl Addition {
    /// A record to be stored by a policy.
    #[must_use]
    pub fn new(record: Record, policy: Policy) -> Self {
        Self { record, policy, over: None }
    }
}

/// What became of an [`Addition`].
#[derive(Clone, Debug, PartialEq)]
pub enum Added {
    /// It is stored, for good.
    Stored {
        /// Its version.
        version: u64,
        /// The version it replaced.
        replaced: Option<u64>,
    },
    /// There is one of the same id ([`Policy::New`]).
    Exists {
        /// Its version.
        version: u64,
    },
    /// The record of the same id is not the version it should be ([`Addition::over`]).
    Changed {
        /// What there is now.
        version: Option<u64>,
    },
    /// There are candidates that have not been judged ([`Policy::Unless`]): never empty.
    Unjudged(Found),
}

/// How much a collection holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Records that have not expired.
    pub documents: u64,
    /// The version the next record will have, or a lower bound of it.
    pub next_version: u64,
}

/// How many sources do these marks come from? For whoever judges: wording that many have is nobody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The marks by their hashes.
    pub marks: Vec<u32>,
    /// The origin of the document that asks; none if it is a source of its own.
    pub origin: Option<u64>,
    /// The id of the document that asks: what is stored of it does not count.
    pub except: Option<String>,
}

/// What is wanted of a record: texts are the larger part, and outlines most of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// Everything but the outline and the text.
    #[default]
    Record,
    /// The outline too.
    Outline,
    /// The outline, and the text where it is kept.
    Text,
}

/// Where records live.
///
/// Every call is about one collection and fails with [`StoreError::NoCollection`] if there is none of that name. A call
/// that changes something returns when the change is as safe as the store can make it (on disk and synchronised, for the
/// embedded one), and what a call saw is as safe as that too. Records that have expired are treated as if they were not there.
///
/// Additions of one call are made in order; each sees those before it. After an error any number of them may have been made.
pub trait Store: Send + Sync {
    /// All collections, by name.
    fn collections(&self) -> Result<Vec<Collection>, StoreError>;

    /// Makes a collection. Nothing happens if there is one that is the same but for `about`; another recipe or other
    /// spaces are refused with [`StoreError::OtherCollection`].
    fn create(&self, collection: &Collection) -> Result<(), StoreError>;

    /// Removes a collection and all its records; false if there is none.
    fn destroy(&self, collection: &str) -> Result<bool, StoreError>;

    /// Answers each query.
    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError>;

    /// For each question and each of its marks, in order: how many origins are among the first
    /// [`Scoring::long`](crate::Scoring::long) records that have the mark, that of the document that asks included. A record
    /// without an origin is its own.
    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError>;

    /// Stores records, each by its policy.
    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError>;

    /// Removes records; the version of each that was there.
    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError>;

    /// The records of these ids, where there are any.
    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError>;

    /// Up to `limit` records in the order of their ids (as bytes), from the first behind `after`. An empty answer is the end.
    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError>;

    /// How much a collection holds.
    fn count(&self, collection: &str) -> Result<Count, StoreError>;
}
