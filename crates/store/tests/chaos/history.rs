//! What processes have done: calls and answers as lines of JSON, with moments of one clock.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A document: an id and a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) print: u64,
}

/// A record that an answer shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sight {
    pub(crate) doc: Doc,
    pub(crate) version: u64,
}

/// What is asked of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Unless something near has not been judged.
    Add {
        doc: Doc,
        judged: Vec<u64>,
    },
    Remove {
        id: String,
    },
    Find {
        print: u64,
    },
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Stored {
        version: u64,
        replaced: Option<u64>,
    },
    Unjudged(Vec<Sight>),
    Removed(Option<u64>),
    Found(Vec<Sight>),
    /// An error that says that nothing was changed.
    Nothing(String),
    /// An error that does not.
    Perhaps(String),
}

/// One line: a call that is going to be made, or its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Nanoseconds of the system's steady clock.
    pub(crate) moment: u64,
    /// Which call of the process.
    pub(crate) number: u64,
    pub(crate) what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum What {
    Call(Call),
    Answer(Answer),
}

/// A call, and its answer if one came.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) start: u64,
    /// The end of time for a call without an answer, or with one that leaves open what was done.
    pub(crate) end: u64,
    pub(crate) call: Call,
    pub(crate) answer: Option<Answer>,
}

impl Event {
    /// Whether it may have changed something, as far as its answer says.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.answer, None | Some(Answer::Perhaps(_)))
    }
}

/// The system's steady clock, which all processes share.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What one process has written. The last line of one that was killed may be cut short.
pub(crate) fn read(file: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut events: BTreeMap<u64, Event> = BTreeMap::new();
    for line in text.lines() {
        let Ok(Line { moment, number, what }) = serde_json::from_str(line) else { continue };
        match what {
            What::Call(call) => {
                events.insert(number, Event { start: moment, end: u64::MAX, call, answer: None });
            }
            What::Answer(answer) => {
                let event = events.get_mut(&number).expect("an answer to a call that was written down");
                if !matches!(answer, Answer::Perhaps(_)) {
                    event.end = moment;
                }
                event.answer = Some(answer);
            }
        }
    }
    events.into_values().collect()
}
