//! The few requests that everything is made of: get documents by id, search, refresh. Changes are in `changes`.

use super::http::{Body, Server, Trouble, kind, reason};
use crate::StoreError;
use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::Method;

/// Most documents got, and most searches made, by one request.
const GOT: usize = 500;
const SEARCHES: usize = 256;
/// How often searches that a busy server has given up are made again, and after what time.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// Which state of a document: changes name the one they are meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq_no: u64,
    pub(crate) primary_term: u64,
}

impl Place {
    /// From a document or an answer that says it.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let (seq_no, primary_term) = (value["_seq_no"].as_u64()?, value["_primary_term"].as_u64()?);
        Some(Self { seq_no, primary_term })
    }
}

/// A document as it is now.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) place: Place,
    pub(crate) source: Value,
}

impl Server {
    /// The present state of documents, whether searches see it yet or not; of each only some fields (`["*"]` for all).
    pub(crate) fn get(
        &self,
        index: &str,
        ids: &[String],
        fields: &[&str],
    ) -> Result<Vec<Option<Got>>, Trouble> {
        let mut all = Vec::with_capacity(ids.len());
        for part in ids.chunks(GOT) {
            let body = json!({ "ids": part });
            let path = format!("/{index}/_mget?_source_includes={}", fields.join(","));
            let reply = self.read(&Method::POST, &path, Body::Json(&body))?;
            let documents = reply["docs"].as_array().filter(|documents| documents.len() == part.len());
            let documents = documents.ok_or_else(|| self.foreign("documents are missing in an answer"))?;
            for document in documents {
                all.push(self.got(document)?);
            }
        }
        Ok(all)
    }

    fn got(&self, document: &Value) -> Result<Option<Got>, Trouble> {
        if !document["error"].is_null() {
            return Err(self.refusal(500, document));
        }
        if document["found"] != json!(true) {
            return Ok(None);
        }
        let place =
            Place::of(document).ok_or_else(|| self.foreign("a document without a sequence number"))?;
        Ok(Some(Got { place, source: document["_source"].clone() }))
    }

    /// Makes every change so far visible to searches.
    pub(crate) fn refresh(&self, index: &str) -> Result<(), Trouble> {
        for _ in 0..TRIES {
            let reply = self.read(&Method::POST, &format!("/{index}/_refresh"), Body::None)?;
            if reply["_shards"]["failed"].as_u64() == Some(0) {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.unreachable("a part of the index does not answer").into())
    }

    /// Makes searches; an answer for each.
    pub(crate) fn search(&self, index: &str, searches: &[Value]) -> Result<Vec<Value>, Trouble> {
        let mut all = Vec::with_capacity(searches.len());
        for part in searches.chunks(SEARCHES) {
            let mut lines = Vec::new();
            for search in part {
                lines.extend_from_slice(b"{\"allow_partial_search_results\":false}\n");
                lines.extend_from_slice(search.to_string().as_bytes());
                lines.push(b'\n');
            }
            all.extend(self.search_part(index, &lines, part.len())?);
        }
        Ok(all)
    }

    fn search_part(&self, index: &str, lines: &[u8], count: usize) -> Result<Vec<Value>, Trouble> {
        let mut why = String::new();
        for attempt in 0..TRIES {
            std::thread::sleep(PAUSE * attempt);
            let mut reply = self.read(&Method::POST, &format!("/{index}/_msearch"), Body::Lines(lines))?;
            let Value::Array(answers) = reply["responses"].take() else {
                return Err(self.foreign("an answer to searches without answers").into());
            };
            match answers.iter().find(|answer| !answer["error"].is_null()) {
                None if answers.len() == count => return Ok(answers),
                None => return Err(self.foreign("answers to searches are missing").into()),
                Some(failed) => {
                    let status = failed["status"].as_u64().unwrap_or_default() as u16;
                    if !matches!(status, 429 | 502 | 503 | 504)
                        && kind(failed) != "no_shard_available_action_exception"
                    {
                        return Err(self.refusal(status, failed));
                    }
                    why = reason(failed);
                }
            }
        }
        Err(self.unreachable(&why).into())
    }

    pub(crate) fn unreachable(&self, why: &str) -> StoreError {
        StoreError::Unreachable { server: self.name(), why: why.to_owned() }
    }
}
