//! What must be in a store after some calls, some of them unanswered.
//!
//! Versions grow with every record stored, so of all that was stored under an id the highest is there, unless it was removed
//! or has expired. A call without an answer may have been made, entirely or, if it is about several documents, for the first
//! ones. Ids that belong to one thread are followed call by call; what others contend for is judged by the versions alone.

use crate::calls::{Answer, Call, Event, How};
use crate::documents::{Doc, expires, is_contested};
use std::collections::{BTreeMap, BTreeSet};

/// The documents of a store: the version and the seed of each id.
pub(crate) type State = BTreeMap<String, (u64, u64)>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    /// What was there when last looked.
    pub(crate) known: State,
    /// The highest version ever seen.
    highest: Option<u64>,
}

/// What is known of an id.
#[derive(Clone, Debug, Default)]
struct Case {
    /// The highest version acknowledged, and its seed.
    top: Option<(u64, u64)>,
    /// The highest version that is known to be gone.
    gone: Option<u64>,
    /// Seeds that may have been stored, and whether it may have been removed.
    maybe_stored: Vec<u64>,
    maybe_removed: bool,
}

impl Case {
    fn stored(&mut self, version: u64, seed: u64) {
        self.top = self.top.max(Some((version, seed)));
    }

    /// Why this cannot be what is there.
    fn contradicts(&self, found: Option<(u64, u64)>, now: i64) -> Option<String> {
        let top = self.top.map(|(version, _)| version);
        match found {
            Some(found) if Some(found) == self.top => {
                (self.gone >= top).then(|| format!("version {} was removed and is there", found.0))
            }
            Some((version, seed)) => {
                let possible = self.maybe_stored.contains(&seed) && Some(version) > top.max(self.gone);
                (!possible).then(|| format!("there is version {version} made of {seed}, not {:?}", self.top))
            }
            None => {
                let (version, seed) = self.top?;
                let expired = expires(seed).is_some_and(|time| time <= now);
                let explained = expired || self.maybe_removed || self.gone >= Some(version);
                (!explained).then(|| format!("version {version} made of {seed} is lost"))
            }
        }
    }
}

impl Oracle {
    /// Everything that these calls do not explain in what is there after them.
    pub(crate) fn violations(&self, events: &[Event], found: &State, now: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        let cases = self.cases(events);
        let none = Case::default();
        let ids: BTreeSet<&String> = cases.keys().chain(found.keys()).collect();
        for id in ids {
            let case = cases.get(id).unwrap_or(&none);
            let why = case.contradicts(found.get(id).copied(), now);
            wrong.extend(why.map(|why| format!("{id}: {why}; what is known: {case:?}")));
        }
        self.versions(events, &mut wrong);
        self.sequences(events, found, now, &mut wrong);
        wrong
    }

    /// Takes what is there for known.
    pub(crate) fn accept(&mut self, events: &[Event], found: State) {
        let stored = events.iter().flat_map(stored).map(|(version, ..)| version);
        let seen = found.values().map(|(version, _)| *version);
        self.highest = stored.chain(seen).max().max(self.highest);
        self.known = found;
    }

    fn cases(&self, events: &[Event]) -> BTreeMap<String, Case> {
        let known =
            |(id, &top): (&String, &(u64, u64))| (id.clone(), Case { top: Some(top), ..Case::default() });
        let mut cases: BTreeMap<String, Case> = self.known.iter().map(known).collect();
        for event in events {
            match (&event.call, &event.answers) {
                (Call::Add(_, docs), None) => {
                    for Doc { id, seed } in docs {
                        cases.entry(id.clone()).or_default().maybe_stored.push(*seed);
                    }
                }
                (Call::Remove(ids), None) => {
                    ids.iter().for_each(|id| cases.entry(id.clone()).or_default().maybe_removed = true);
                }
                (Call::Remove(ids), Some(answers)) => {
                    for (id, answer) in ids.iter().zip(answers) {
                        let Answer::Removed(version) = answer else { continue };
                        let case = cases.entry(id.clone()).or_default();
                        case.gone = case.gone.max(*version);
                    }
                }
                _ => {}
            }
            for (version, replaced, doc) in stored(event) {
                let case = cases.entry(doc.id.clone()).or_default();
                case.stored(version, doc.seed);
                case.gone = case.gone.max(replaced);
            }
        }
        cases
    }

    /// No version is given twice, nor one below those of earlier runs.
    fn versions(&self, events: &[Event], wrong: &mut Vec<String>) {
        let mut given = BTreeSet::new();
        for (version, _, doc) in events.iter().flat_map(stored) {
            if !given.insert(version) || Some(version) <= self.highest {
                wrong.push(format!("{doc:?} was given version {version}, which had been used"));
            }
        }
    }

    /// Ids of one thread: every answer follows from those before it, and an unanswered call was made for its first ones.
    fn sequences(&self, events: &[Event], found: &State, now: i64, wrong: &mut Vec<String>) {
        let live = |(_, (_, seed)): &(&String, &(u64, u64))| expires(*seed).is_none_or(|time| time > now);
        let known = self.known.iter().filter(live).filter(|(id, _)| !is_contested(id));
        let mut state: State = known.map(|(id, top)| (id.clone(), *top)).collect();
        for event in events {
            let parts = parts(&event.call);
            if parts.iter().any(|(id, _)| is_contested(id)) {
                continue;
            }
            match &event.answers {
                Some(answers) if matches!(event.call, Call::Add(..) | Call::Remove(_)) => {
                    if answers.len() != parts.len() {
                        wrong.push(format!("{} answers to {event:?}", answers.len()));
                    }
                    for ((id, seed), answer) in parts.iter().zip(answers) {
                        follow(&mut state, id, *seed, *answer, wrong);
                    }
                }
                Some(_) => {}
                None => in_order(&state, &parts, found, event, wrong),
            }
        }
    }
}

/// What was stored by a call, for certain: version, what it replaced, and the document.
fn stored(event: &Event) -> impl Iterator<Item = (u64, Option<u64>, &Doc)> {
    let docs: &[Doc] = if let Call::Add(_, docs) = &event.call { docs } else { &[] };
    docs.iter().zip(event.answers.iter().flatten()).filter_map(|(doc, answer)| match answer {
        Answer::Stored { version, replaced } => Some((*version, *replaced, doc)),
        _ => None,
    })
}

/// The ids a call is about, and the seeds they get.
fn parts(call: &Call) -> Vec<(&str, Option<u64>)> {
    match call {
        Call::Add(_, docs) => docs.iter().map(|doc| (doc.id.as_str(), Some(doc.seed))).collect(),
        Call::Remove(ids) => ids.iter().map(|id| (id.as_str(), None)).collect(),
        Call::Compact | Call::Backup(_) => Vec::new(),
    }
}

/// One answer about an id that nobody else touches.
fn follow(state: &mut State, id: &str, seed: Option<u64>, answer: Answer, wrong: &mut Vec<String>) {
    let before = state.get(id).map(|(version, _)| *version);
    let told = match answer {
        Answer::Stored { replaced, .. } => replaced,
        Answer::Exists(version) => Some(version),
        Answer::Removed(version) => version,
        Answer::Unjudged | Answer::Copied(_) => before,
    };
    if told != before {
        wrong.push(format!("{id}: {answer:?} where version {before:?} was there"));
    }
    match (answer, seed) {
        (Answer::Stored { version, .. }, Some(seed)) => _ = state.insert(id.to_owned(), (version, seed)),
        (Answer::Removed(_), _) => _ = state.remove(id),
        _ => {}
    }
}

/// An unanswered call was made for none, some or all of its documents, the first ones first.
fn in_order(
    state: &State,
    parts: &[(&str, Option<u64>)],
    found: &State,
    event: &Event,
    wrong: &mut Vec<String>,
) {
    let only_new = matches!(event.call, Call::Add(How::New, _));
    let seed = |state: &State, id: &str| state.get(id).map(|(_, seed)| *seed);
    let done = |count: usize| {
        let mut after: BTreeMap<&str, Option<u64>> =
            parts.iter().map(|(id, _)| (*id, seed(state, id))).collect();
        for (id, made) in &parts[..count] {
            if !only_new || after[id].is_none() {
                after.insert(id, *made);
            }
        }
        after.into_iter().all(|(id, after)| seed(found, id) == after)
    };
    if !parts.is_empty() && !(0..=parts.len()).any(done) {
        let there: Vec<_> = parts.iter().map(|(id, _)| found.get(*id)).collect();
        wrong.push(format!("done neither in order nor at all: {event:?}; there is {there:?}"));
    }
}
