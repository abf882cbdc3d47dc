//! The few requests that everything is made of: get documents by id, search, refresh. Changes are in `changes`.

use super::http::{Body, Server, Trouble, is_busy, is_passing, reason};
use crate::StoreError;
use serde_json::{Value, json};
use ureq::http::Method;

/// Most documents got, and most searches made, by one request.
const GOT: usize = 500;
const SEARCHES: usize = 256;

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
            for document in self.got_by_now(&path, &body, part.len())? {
                all.push(self.got(&document)?);
            }
        }
        Ok(all)
    }

    /// The documents of one request, as soon as there is an answer for each of them.
    fn got_by_now(&self, path: &str, body: &Value, count: usize) -> Result<Vec<Value>, Trouble> {
        let mut patience = self.patience();
        loop {
            let turns = self.turns();
            let documents = self.list(self.read(&Method::POST, path, Body::Json(body))?, "docs")?;
            if documents.len() != count {
                return Err(self.foreign("documents are missing in an answer").into());
            }
            match documents.iter().find(|document| is_passing(document)) {
                Some(document) if !self.try_next(turns, &mut patience) => {
                    return Err(self.unreachable(&reason(document)).into());
                }
                Some(_) => {}
                None => return Ok(documents),
            }
        }
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

    /// The list that an answer has to have; whoever answers may be somebody else.
    fn list(&self, mut reply: Value, name: &str) -> Result<Vec<Value>, StoreError> {
        match reply.get_mut(name).map(Value::take) {
            Some(Value::Array(list)) => Ok(list),
            _ => Err(self.foreign(format!("an answer without {name}"))),
        }
    }

    /// Makes every change so far visible to searches.
    pub(crate) fn refresh(&self, index: &str) -> Result<(), Trouble> {
        let mut patience = self.patience();
        loop {
            let turns = self.turns();
            let reply = self.read(&Method::POST, &format!("/{index}/_refresh"), Body::None)?;
            match reply["_shards"]["failed"].as_u64() {
                Some(0) => return Ok(()),
                Some(_) if self.try_next(turns, &mut patience) => {}
                Some(_) => return Err(self.unreachable("a part of the index does not answer").into()),
                None => return Err(self.foreign("an answer that does not say what it refreshed").into()),
            }
        }
    }

    /// Makes searches, each of what was there at some moment of its own; an answer for each.
    pub(crate) fn search(&self, index: &str, searches: &[Value]) -> Result<Vec<Value>, Trouble> {
        self.search_in(index, None, searches)
    }

    /// The same in certain copies of the index, the same ones for the same name as long as no copy is lost, added or too busy:
    /// whatever one search shows, none that is made after its answer has come shows an earlier state.
    pub(crate) fn search_in(
        &self,
        index: &str,
        copies: Option<&str>,
        searches: &[Value],
    ) -> Result<Vec<Value>, Trouble> {
        let mut head = json!({ "allow_partial_search_results": false });
        copies.iter().for_each(|name| head["preference"] = json!(name));
        let head = head.to_string();
        let mut all = Vec::with_capacity(searches.len());
        for part in searches.chunks(SEARCHES) {
            let mut lines = Vec::new();
            for search in part {
                lines.extend_from_slice(head.as_bytes());
                lines.push(b'\n');
                lines.extend_from_slice(search.to_string().as_bytes());
                lines.push(b'\n');
            }
            all.extend(self.search_part(index, &lines, part.len())?);
        }
        Ok(all)
    }

    fn search_part(&self, index: &str, lines: &[u8], count: usize) -> Result<Vec<Value>, Trouble> {
        let mut patience = self.patience();
        loop {
            let turns = self.turns();
            let reply = self.read(&Method::POST, &format!("/{index}/_msearch"), Body::Lines(lines))?;
            let answers = self.list(reply, "responses")?;
            let Some(failed) = answers.iter().find(|answer| !answer["error"].is_null()) else {
                return match answers.len() == count {
                    true => Ok(answers),
                    false => Err(self.foreign("answers to searches are missing").into()),
                };
            };
            let status = failed["status"].as_u64().unwrap_or_default() as u16;
            if !is_busy(status, failed) && !is_passing(failed) {
                return Err(self.refusal(status, failed));
            }
            if !self.try_next(turns, &mut patience) {
                return Err(self.unreachable(&reason(failed)).into());
            }
        }
    }

    pub(crate) fn unreachable(&self, why: &str) -> StoreError {
        StoreError::Unreachable { server: self.name(), why: why.to_owned() }
    }
}
