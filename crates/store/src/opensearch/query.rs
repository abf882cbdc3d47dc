//! What the servers are asked, as JSON.

use super::layout::{block_field, block_value, is_number, key_value, mark_value, near_field};
use crate::StoreError;
use crate::blocks::Blocks;
use crate::rank::distinct_keys;
use crate::record::{Collection, Space, SpaceSettings};
use crate::seam::Probe;
use leitong_fingerprint::Fingerprint;
use serde_json::{Value, json};

/// Documents given by one search; servers give at most 10,000.
pub(crate) const PAGE: usize = 1000;
/// Terms of one clause; servers take at most 65,536.
const TERMS: usize = 50_000;

/// Counts the bits in which a stored fingerprint differs from the one asked for.
const SCRIPT: &str = "Long.bitCount(doc[params.field].value ^ params.asked) <= params.within";

/// What is searched for, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) probes: &'a [Probe],
    /// The id of the document that asks.
    pub(crate) except: Option<&'a str>,
    /// The time, for what has expired.
    pub(crate) now: i64,
}

/// The fields that are asked: of records that are there, or of announcements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Live { scripts: bool },
    Pending,
}

impl Part {
    fn field(self, name: &str) -> String {
        match self {
            Self::Live { .. } => name.to_owned(),
            Self::Pending => format!("pending.{name}"),
        }
    }
}

impl Question<'_> {
    /// The search for fingerprints and keys, by version; none if there is nothing to search for.
    pub(crate) fn near_and_keys(
        &self,
        collection: &Collection,
        scripts: bool,
    ) -> Result<Option<Value>, StoreError> {
        let part = Part::Live { scripts };
        let mut clauses = near_clauses(collection, self.probes, part)?;
        let keys = key_clauses(self.probes, part);
        let mut shown: Vec<String> =
            collection.spaces.iter().map(|settings| near_field(settings.space)).collect();
        if !keys.is_empty() {
            shown.push("keys".into());
        }
        clauses.extend(keys);
        Ok((!clauses.is_empty()).then(|| {
            json!({
                "size": PAGE, "sort": [{ "version": "asc" }], "_source": false, "docvalue_fields": shown,
                "track_total_hits": false,
                "query": { "bool": { "filter": [any_of(&clauses)], "must_not": self.hidden() } },
            })
        }))
    }

    /// The search for the oldest records that have a mark, and how many there are up to a limit.
    pub(crate) fn mark(&self, hash: u32, most: usize, counted: usize) -> Value {
        json!({
            "size": most, "sort": [{ "version": "asc" }], "_source": false,
            "docvalue_fields": ["marks_count", "origin"], "track_total_hits": counted,
            "query": { "bool": { "filter": [{ "term": { "marks": mark_value(hash) } }], "must_not": self.hidden() } },
        })
    }

    /// The search for what others have announced, behind an id; none if there is nothing to search for.
    pub(crate) fn announced(
        &self,
        collection: &Collection,
        owner: &str,
    ) -> Result<Option<Value>, StoreError> {
        let mut clauses = near_clauses(collection, self.probes, Part::Pending)?;
        clauses.extend(key_clauses(self.probes, Part::Pending));
        let marks: Vec<u32> = crate::marks::probed(self.probes).flatten().collect();
        clauses.extend(marks.chunks(TERMS).map(|marks| {
            let marks: Vec<String> = marks.iter().map(|mark| mark_value(*mark)).collect();
            json!({ "terms": { "pending.marks": marks } })
        }));
        let mut not = vec![json!({ "term": { "pending.owner": owner } })];
        not.extend(self.except.map(|id| json!({ "term": { "id": id } })));
        Ok((!clauses.is_empty()).then(|| {
            json!({
                "size": PAGE, "sort": [{ "id": "asc" }], "_source": ["id", "version", "pending"], "seq_no_primary_term": true,
                "track_total_hits": false,
                "query": { "bool": { "filter": [any_of(&clauses)], "must_not": not } },
            })
        }))
    }

    /// What is not there for who asks: itself, and what has expired.
    fn hidden(&self) -> Vec<Value> {
        let itself = self.except.map(|id| json!({ "term": { "id": id } }));
        itself.into_iter().chain([expired(self.now)]).collect()
    }
}

/// Records that have expired.
pub(crate) fn expired(now: i64) -> Value {
    json!({ "range": { "expires": { "lte": now } } })
}

/// Records that are there.
pub(crate) fn there(now: i64) -> Value {
    json!({ "bool": { "filter": [{ "exists": { "field": "version" } }], "must_not": [expired(now)] } })
}

fn any_of(clauses: &[Value]) -> Value {
    json!({ "bool": { "should": clauses, "minimum_should_match": 1 } })
}

fn key_clauses(probes: &[Probe], part: Part) -> Vec<Value> {
    let keys: Vec<String> = distinct_keys(probes).into_iter().map(key_value).collect();
    keys.chunks(TERMS).map(|keys| json!({ "terms": { part.field("keys"): keys } })).collect()
}

fn near_clauses(collection: &Collection, probes: &[Probe], part: Part) -> Result<Vec<Value>, StoreError> {
    let mut clauses = Vec::new();
    for probe in probes {
        if let Probe::Near { space, fingerprint, within } = probe {
            clauses.push(near_clause(collection.space(*space)?, fingerprint, *within, part));
        }
    }
    Ok(clauses)
}

/// Everything that shares a block with a fingerprint, and a little more, or exactly what is near it.
fn near_clause(settings: &SpaceSettings, fingerprint: &Fingerprint, within: u32, part: Part) -> Value {
    let by_blocks = any_of(&block_clauses(settings, fingerprint, part));
    match part {
        Part::Live { scripts: true } if is_number(settings.width) => {
            let params = json!({
                "field": near_field(settings.space), "asked": fingerprint.low64() as i64, "within": within,
            });
            let script = json!({ "script": { "script": { "source": SCRIPT, "params": params } } });
            json!({ "bool": { "filter": [by_blocks, script] } })
        }
        _ => by_blocks,
    }
}

fn block_clauses(settings: &SpaceSettings, fingerprint: &Fingerprint, part: Part) -> Vec<Value> {
    let probes = Blocks::of(settings).probes(fingerprint);
    let clause = |blocks: &[crate::blocks::Block]| {
        let field = part.field(&block_field(settings.space, blocks[0].place.into()));
        let values: Vec<String> = blocks.iter().map(|block| block_value(*block)).collect();
        json!({ "terms": { field: values } })
    };
    probes.chunk_by(|a, b| a.place == b.place).map(clause).collect()
}

/// A search that tells whether scripts may be used: it fails if not.
pub(crate) fn with_script(space: Space) -> Value {
    let params = json!({ "field": near_field(space), "asked": 0, "within": 0 });
    json!({ "size": 0, "query": { "script": { "script": { "source": SCRIPT, "params": params } } } })
}
