//! Calls and answers, and the lines they are written down in: `start` before a call is made, `ack` after its answer came.

use crate::documents::{Doc, NAME, PROBED};
use leitong_store::embedded::Embedded;
use leitong_store::{Added, Addition, Policy, Probe, Space, Store, StoreError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// When a document is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Replace,
    New,
    Unless,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Add(How, Vec<Doc>),
    Remove(Vec<String>),
    Compact,
    /// Into the folder of this name, beside the store.
    Backup(String),
}

/// What became of one document of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Stored {
        version: u64,
        replaced: Option<u64>,
    },
    Exists(u64),
    Unjudged,
    Removed(Option<u64>),
    /// How many documents a backup has.
    Copied(u64),
}

/// A call as it was written down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) call: Call,
    /// `None` if the answer had not come when the process ended.
    pub(crate) answers: Option<Vec<Answer>>,
}

/// The answers of a call, and the versions and distances of those that [`How::Unless`] minds.
pub(crate) type Answers = (Vec<Answer>, Vec<(u64, u32)>);

/// What every line starts with, so that whatever else a test binary prints is left out.
pub(crate) const MARK: &str = "@ ";

/// A store whose every call is written down.
pub(crate) struct Caller<'a> {
    pub(crate) store: &'a Embedded,
    /// The folder of the store; backups go beside it.
    pub(crate) folder: &'a Path,
    pub(crate) write: &'a (dyn Fn(&str) + Sync),
    pub(crate) next: AtomicU64,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(store: &'a Embedded, folder: &'a Path, write: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { store, folder, write, next: AtomicU64::new(0) }
    }

    /// Makes a call. `judged` are the versions that [`How::Unless`] does not mind; with the answers come those it minds.
    pub(crate) fn call(&self, call: &Call, judged: &[u64]) -> Result<Answers, StoreError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (self.write)(&format!("{MARK}start {number} {}\n", line_of(call)));
        let answers = self.make(call, judged);
        match &answers {
            Ok((answers, _)) => {
                let answers: Vec<String> = answers.iter().map(word_of).collect();
                (self.write)(&format!("{MARK}ack {number} {}\n", answers.join(" ")));
            }
            Err(error) => (self.write)(&format!("{MARK}fail {number} {error}\n")),
        }
        answers
    }

    fn make(&self, call: &Call, judged: &[u64]) -> Result<Answers, StoreError> {
        let mut minds = Vec::new();
        let answers = match call {
            Call::Add(how, docs) => {
                let additions = docs.iter().map(|doc| addition(*how, doc, judged)).collect();
                let added = self.store.add(NAME, additions)?;
                added.into_iter().map(|added| answer(added, &mut minds)).collect()
            }
            Call::Remove(ids) => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                self.store.remove(NAME, &ids)?.into_iter().map(Answer::Removed).collect()
            }
            Call::Compact => self.store.compact().map(|()| Vec::new())?,
            Call::Backup(name) => vec![Answer::Copied(self.store.backup(&self.folder.with_file_name(name))?)],
        };
        Ok((answers, minds))
    }
}

fn addition(how: How, doc: &Doc, judged: &[u64]) -> Addition {
    let policy = match how {
        How::Replace => Policy::Replace,
        How::New => Policy::New,
        How::Unless => {
            let near =
                Probe::Near { space: Space::DOCUMENTS, fingerprint: doc.print().into(), within: PROBED };
            let probes = vec![near, Probe::Marks(doc.marks())];
            Policy::Unless { probes, judged: judged.to_vec(), limit: 2 }
        }
    };
    Addition::new(doc.record(), policy)
}

fn answer(added: Added, minds: &mut Vec<(u64, u32)>) -> Answer {
    match added {
        Added::Stored { version, replaced } => Answer::Stored { version, replaced },
        Added::Exists { version } => Answer::Exists(version),
        Added::Changed { .. } => unreachable!("no addition names a version it must replace"),
        Added::Unjudged(found) => {
            minds.extend(found.candidates.iter().map(|other| (other.rank.version, other.rank.distance)));
            Answer::Unjudged
        }
    }
}

fn line_of(call: &Call) -> String {
    match call {
        Call::Add(how, docs) => {
            let docs: Vec<String> = docs.iter().map(|doc| format!("{}:{}", doc.id, doc.seed)).collect();
            format!("add {how:?} {}", docs.join(" "))
        }
        Call::Remove(ids) => format!("remove {}", ids.join(" ")),
        Call::Compact => "compact".into(),
        Call::Backup(name) => format!("backup {name}"),
    }
}

fn parse_call(line: &str) -> Call {
    let mut words = line.split(' ');
    let doc = |word: &str| {
        let (id, seed) = word.split_once(':').unwrap();
        Doc { id: id.to_owned(), seed: seed.parse().unwrap() }
    };
    match words.next().unwrap() {
        "add" => {
            let how = match words.next().unwrap() {
                "Replace" => How::Replace,
                "New" => How::New,
                _ => How::Unless,
            };
            Call::Add(how, words.map(doc).collect())
        }
        "remove" => Call::Remove(words.map(str::to_owned).collect()),
        "compact" => Call::Compact,
        _ => Call::Backup(words.next().unwrap().to_owned()),
    }
}

fn word_of(answer: &Answer) -> String {
    let or_none = |version: &Option<u64>| version.map_or("-".into(), |version| version.to_string());
    match answer {
        Answer::Stored { version, replaced } => format!("stored:{version}:{}", or_none(replaced)),
        Answer::Exists(version) => format!("exists:{version}"),
        Answer::Unjudged => "unjudged".into(),
        Answer::Removed(version) => format!("removed:{}", or_none(version)),
        Answer::Copied(documents) => format!("copied:{documents}"),
    }
}

fn parse_word(word: &str) -> Answer {
    let parts: Vec<&str> = word.split(':').collect();
    match parts[..] {
        ["stored", version, replaced] => {
            Answer::Stored { version: version.parse().unwrap(), replaced: replaced.parse().ok() }
        }
        ["exists", version] => Answer::Exists(version.parse().unwrap()),
        ["removed", version] => Answer::Removed(version.parse().ok()),
        ["copied", documents] => Answer::Copied(documents.parse().unwrap()),
        _ => Answer::Unjudged,
    }
}

/// What was written down, in the order of the starts, and the errors there were. A call that failed counts as one whose
/// answer never came.
pub(crate) fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> (Vec<Event>, Vec<String>) {
    let (mut events, mut failed) = (BTreeMap::new(), Vec::new());
    for line in lines.filter_map(|line| line.strip_prefix(MARK)) {
        let Some((what, rest)) = line.split_once(' ') else { continue };
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let Ok(number) = number.parse::<u64>() else { continue };
        match what {
            "start" => _ = events.insert(number, Event { call: parse_call(rest), answers: None }),
            "ack" => {
                let answers = rest.split(' ').filter(|word| !word.is_empty()).map(parse_word).collect();
                events.get_mut(&number).expect("an answer to a call that was made").answers = Some(answers);
            }
            _ => failed.push(format!("call {number} failed: {rest}")),
        }
    }
    (events.into_values().collect(), failed)
}
