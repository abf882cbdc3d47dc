//! Everything that is in a store, looked at in every way there is.

use crate::calls::{Answer, Call, Event};
use crate::documents::{COMMON, DUPLICATE, Doc, NAME, is_contested, of_record};
use crate::oracle::State;
use leitong_store::embedded::Embedded;
use leitong_store::{Probe, Query, Rank, Store, StoreError, Stored, Want};
use std::collections::BTreeSet;

/// What is there, and what does not fit together.
pub(crate) fn observe(store: &Embedded, events: &[Event]) -> Result<(State, Vec<String>), StoreError> {
    let mut wrong: Vec<String> =
        store.notices().into_iter().map(|notice| format!("notice: {notice}")).collect();
    if store.collections()?.is_empty() {
        return Ok((State::new(), wrong));
    }
    wrong.extend(store.verify(&mut |_| {})?.problems.into_iter().map(|problem| format!("verify: {problem}")));
    let all = store.scan(NAME, None, usize::MAX, Want::Text)?;
    let state = contents(&all, &mut wrong);
    let count = store.count(NAME)?.documents;
    if count != state.len() as u64 {
        wrong.push(format!("{count} documents are counted, {} are there", state.len()));
    }
    let query = Query { probes: vec![Probe::Key(COMMON)], limit: usize::MAX, ..Query::default() };
    let common = store.find(NAME, &[query])?.remove(0).candidates.into_iter();
    let common: BTreeSet<(String, u64)> = common.map(|other| (other.record.id, other.rank.version)).collect();
    if common != state.iter().map(|(id, &(version, _))| (id.clone(), version)).collect() {
        wrong.push(format!("the key of all documents finds {common:?}, there are {state:?}"));
    }
    let mut docs: BTreeSet<Doc> = state.iter().map(|(id, &(_, seed))| Doc { id: id.clone(), seed }).collect();
    docs.extend(events.iter().filter_map(touched).flatten().cloned());
    for doc in &docs {
        found(store, doc, &state, &mut wrong)?;
    }
    duplicates(&state, &mut wrong);
    Ok((state, wrong))
}

fn touched(event: &Event) -> Option<&Vec<Doc>> {
    if let Call::Add(_, docs) = &event.call { Some(docs) } else { None }
}

/// Every record is as it was made.
fn contents(all: &[Stored], wrong: &mut Vec<String>) -> State {
    let mut state = State::new();
    for Stored { version, record } in all {
        let Some(doc) = of_record(record) else {
            wrong.push(format!("{record:?} was never made"));
            continue;
        };
        if doc.record() != *record {
            wrong.push(format!("{doc:?} is not as it was made: {record:?}"));
        }
        if state.insert(doc.id, (*version, doc.seed)).is_some() {
            wrong.push(format!("{:?} is there twice", record.id));
        }
    }
    state
}

/// A document that is there is found by all it can be found by; one that is not is found by nothing.
fn found(store: &Embedded, doc: &Doc, state: &State, wrong: &mut Vec<String>) -> Result<(), StoreError> {
    let there = state.get(&doc.id);
    let [got] = &store.get(NAME, &[&doc.id], Want::Record)?[..] else { panic!("one answer to one question") };
    if got.as_ref().map(|got| got.version) != there.map(|there| there.0) {
        wrong.push(format!("asked for, {doc:?} is {got:?}; listed is {there:?}"));
    }
    let current = there.filter(|there| there.1 == doc.seed);
    for probe in doc.probes() {
        let near = matches!(probe, Probe::Near { .. });
        let query = Query { probes: vec![probe.clone()], limit: usize::MAX, ..Query::default() };
        let answer = store.find(NAME, &[query])?.remove(0);
        let ranks: Vec<Rank> = answer
            .candidates
            .iter()
            .filter(|other| other.record.id == doc.id)
            .map(|other| other.rank)
            .collect();
        if ranks.iter().any(|rank| Some(rank.version) != there.map(|there| there.0)) {
            wrong.push(format!("{probe:?} of {doc:?} finds {ranks:?}, there is {there:?}"));
        }
        if current.is_some() && (ranks.len() != 1 || near && ranks[0].distance != 0) {
            wrong.push(format!("{probe:?} of {doc:?} finds {ranks:?}, not {current:?}"));
        }
    }
    Ok(())
}

/// Contested documents are stored unless they are duplicates: no two of them may be.
fn duplicates(state: &State, wrong: &mut Vec<String>) {
    let contested = state.iter().filter(|(id, _)| is_contested(id));
    let docs: Vec<Doc> = contested.map(|(id, &(_, seed))| Doc { id: id.clone(), seed }).collect();
    for (place, doc) in docs.iter().enumerate() {
        for other in &docs[..place] {
            if (doc.print() ^ other.print()).count_ones() <= DUPLICATE {
                wrong.push(format!("{doc:?} and its duplicate {other:?} are both there"));
            }
        }
    }
}

/// The backups that were begun: the name of each, and how many documents it has if it was finished.
pub(crate) fn backups(events: &[Event]) -> impl Iterator<Item = (&str, Option<u64>)> {
    events.iter().filter_map(|event| match (&event.call, event.answers.as_deref()) {
        (Call::Backup(name), Some([Answer::Copied(documents)])) => Some((name.as_str(), Some(*documents))),
        (Call::Backup(name), _) => Some((name.as_str(), None)),
        _ => None,
    })
}
