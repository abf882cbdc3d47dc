//! Getting records by id, going through all of them, counting them.

use super::OpenSearch;
use super::find::hits;
use super::http::{Body, Trouble};
use super::layout::{document_id, parse_document, wanted};
use super::query::there;
use super::rooms::Room;
use crate::StoreError;
use crate::record::Stored;
use crate::seam::{Count, Want};
use serde_json::{Value, json};
use ureq::http::Method;

/// Records that one request reads: fewer where each may have a long text.
fn at_once(want: Want) -> usize {
    match want {
        Want::Record => 1000,
        Want::Outline => 250,
        Want::Text => 25,
    }
}

impl OpenSearch {
    /// A record from its document.
    pub(crate) fn parse_stored(&self, source: &Value, want: Want) -> Result<Stored, StoreError> {
        let not_ours = || self.server.foreign("a document is not as Leitong writes it");
        parse_document(source, want).ok_or_else(not_ours)
    }

    pub(crate) fn get_all(
        &self,
        room: &Room,
        ids: &[&str],
        want: Want,
        now: i64,
    ) -> Result<Vec<Option<Stored>>, Trouble> {
        let mut all = Vec::with_capacity(ids.len());
        for part in ids.chunks(at_once(want)) {
            let documents: Vec<String> = part.iter().map(|id| document_id(id)).collect();
            for (id, got) in part.iter().zip(self.server.get(&room.index, &documents, wanted(want))?) {
                // What has no version is about to come into being.
                let there = got.filter(|got| !got.source["version"].is_null());
                let stored = there.map(|got| self.parse_stored(&got.source, want)).transpose()?;
                let alive = |stored: &Stored| stored.record.expires.is_none_or(|expires| expires > now);
                all.push(stored.filter(|stored| stored.record.id == *id && alive(stored)));
            }
        }
        Ok(all)
    }

    pub(crate) fn scan_from(
        &self,
        room: &Room,
        after: Option<&str>,
        limit: usize,
        want: Want,
        now: i64,
    ) -> Result<Vec<Stored>, Trouble> {
        self.server.refresh(&room.index)?;
        let mut all: Vec<Stored> = Vec::new();
        while all.len() < limit {
            let size = at_once(want).min(limit - all.len());
            let mut search = json!({
                "size": size, "sort": [{ "id": "asc" }], "_source": wanted(want), "track_total_hits": false,
                "query": there(now),
            });
            let behind = all.last().map(|stored| stored.record.id.as_str()).or(after);
            behind.iter().for_each(|behind| search["search_after"] = json!([behind]));
            let answer = self.server.search(&room.index, &[search])?.remove(0);
            for hit in hits(&answer) {
                all.push(self.parse_stored(&hit["_source"], want)?);
            }
            if hits(&answer).len() < size {
                break;
            }
        }
        Ok(all)
    }

    pub(crate) fn count_all(&self, room: &Room, now: i64) -> Result<Count, Trouble> {
        self.server.refresh(&room.index)?;
        let body = json!({ "query": there(now) });
        let reply = self.server.read(&Method::POST, &format!("/{}/_count", room.index), Body::Json(&body))?;
        let documents =
            reply["count"].as_u64().ok_or_else(|| self.server.foreign("a count without a number"))?;
        Ok(Count { documents, next_version: self.coming_version(room)? })
    }
}
