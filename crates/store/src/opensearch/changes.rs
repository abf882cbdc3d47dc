//! Changes of documents. Each names the state it is meant for, so that of several who change one only one can.

use super::http::{Body, Purpose, Server, Trouble, is_busy, kind, reason};
use super::requests::Place;
use serde_json::{Value, json};
use ureq::http::Method;

/// Bytes of a request, about.
const MOST_BYTES: usize = 8 << 20;

/// A change of one document.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Its `_id`.
    pub(crate) id: String,
    pub(crate) over: Over,
    pub(crate) what: What,
}

/// What must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Nothing,
    This(Place),
    /// Whatever is there: for counters, where making a change twice does no harm.
    Anything,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// It becomes this.
    Put(Value),
    /// These fields become this.
    Merge(Value),
    Delete,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done {
        place: Place,
        /// How often the document has been changed.
        times: u64,
    },
    /// Something else is there. It may be the change itself: servers that lose one of them repeat what it was doing.
    Conflict {
        /// Whether we have sent it again ourselves, because an answer was lost.
        repeated: bool,
    },
}

/// What is known of changes on their way.
struct Sent {
    /// Of each change that has an answer.
    outcomes: Vec<Option<Outcome>>,
    /// Whether others may have been made already, without an answer.
    repeated: bool,
}

impl Sent {
    /// Whether anything may have been changed: a conflict may be one with itself.
    fn has_changed(&self) -> bool {
        self.repeated || self.outcomes.iter().any(Option::is_some)
    }
}

impl Outcome {
    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Done { .. })
    }
}

impl Change {
    /// As two lines, or one.
    fn write(&self, lines: &mut Vec<u8>) {
        let mut head = json!({ "_id": self.id });
        if let Over::This(place) = self.over {
            head["if_seq_no"] = json!(place.seq_no);
            head["if_primary_term"] = json!(place.primary_term);
        }
        let (action, body) = match &self.what {
            What::Put(document) if self.over == Over::Nothing => ("create", Some(document.to_string())),
            What::Put(document) => ("index", Some(document.to_string())),
            What::Merge(fields) => ("update", Some(json!({ "doc": fields }).to_string())),
            What::Delete => ("delete", None),
        };
        lines.extend_from_slice(json!({ action: head }).to_string().as_bytes());
        lines.push(b'\n');
        if let Some(body) = body {
            lines.extend_from_slice(body.as_bytes());
            lines.push(b'\n');
        }
    }
}

impl Server {
    /// Makes changes of different documents of one of our own indices, which is named by its alias.
    pub(crate) fn change(&self, alias: &str, changes: &[Change]) -> Result<Vec<Outcome>, Trouble> {
        self.change_in(alias, true, changes)
    }

    /// Makes changes of different documents, in requests of bearable size; for an alias only, or for any index.
    pub(crate) fn change_in(
        &self,
        index: &str,
        is_alias: bool,
        changes: &[Change],
    ) -> Result<Vec<Outcome>, Trouble> {
        let path = format!(
            "/{index}/_bulk?require_alias={is_alias}&filter_path=items.*.status,items.*._version,items.*._seq_no,\
             items.*._primary_term,items.*.error"
        );
        let mut sent = Sent { outcomes: vec![None; changes.len()], repeated: false };
        let (mut lines, mut from) = (Vec::new(), 0);
        for (number, change) in changes.iter().enumerate() {
            change.write(&mut lines);
            if lines.len() >= MOST_BYTES || number + 1 == changes.len() {
                let part = (from..=number).collect();
                let done = self.change_part(&path, changes, part, std::mem::take(&mut lines), &mut sent);
                done.map_err(|trouble| if sent.has_changed() { trouble.after_a_change() } else { trouble })?;
                from = number + 1;
            }
        }
        let missing = || self.foreign("answers to changes are missing").into();
        sent.outcomes.into_iter().map(|outcome| outcome.ok_or_else(missing)).collect()
    }

    /// Sends some of the changes, and those again that a busy server refuses.
    fn change_part(
        &self,
        path: &str,
        changes: &[Change],
        mut open: Vec<usize>,
        mut lines: Vec<u8>,
        sent: &mut Sent,
    ) -> Result<(), Trouble> {
        let mut patience = self.patience();
        // Once an answer is lost, any of the rest may have been made.
        sent.repeated = false;
        loop {
            let turns = self.turns();
            let reply = self.ask(&Method::POST, path, Body::Lines(&lines), Purpose::Changing)?;
            sent.repeated |= reply.repeated;
            if reply.status >= 300 {
                return Err(self.refusal(reply.status, &reply.body));
            }
            let items = reply.body["items"].as_array().filter(|items| items.len() == open.len());
            let items = items.ok_or_else(|| self.foreign("answers to changes are missing"))?;
            let (mut again, mut why, mut begun, mut refused) = (Vec::new(), String::new(), false, Ok(()));
            for (&place, item) in open.iter().zip(items) {
                let item = item.as_object().and_then(|item| item.values().next()).unwrap_or(&Value::Null);
                match self.outcome(item, sent.repeated) {
                    Ok(Some(outcome)) => sent.outcomes[place] = Some(outcome),
                    Ok(None) => {
                        again.push(place);
                        why = reason(item);
                        // Whoever was busy may have begun, as in `ask`.
                        begun |= item["status"] != 429;
                    }
                    Err(trouble) => refused = refused.and(Err(trouble)),
                }
            }
            refused?;
            if again.is_empty() {
                return Ok(());
            }
            sent.repeated |= begun;
            if !self.try_next(turns, &mut patience) {
                return Err(self.unreachable(&why).into());
            }
            lines.clear();
            again.iter().for_each(|&place| changes[place].write(&mut lines));
            open = again;
        }
    }

    /// What became of a change; none if it is to be sent again.
    fn outcome(&self, item: &Value, repeated: bool) -> Result<Option<Outcome>, Trouble> {
        let status = item["status"].as_u64().unwrap_or_default() as u16;
        match (status, kind(item)) {
            (200..300, _) => {
                let done = Place::of(item).zip(item["_version"].as_u64());
                let (place, times) =
                    done.ok_or_else(|| self.foreign("a change without a sequence number"))?;
                Ok(Some(Outcome::Done { place, times }))
            }
            (409, _) | (404, "" | "document_missing_exception") => Ok(Some(Outcome::Conflict { repeated })),
            _ if is_busy(status, item) => Ok(None),
            _ => Err(self.refusal(status, item)),
        }
    }
}
