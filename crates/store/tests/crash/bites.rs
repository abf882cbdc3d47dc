//! The oracle notices what it is there to notice: each way of losing something is done behind the store's back.

use crate::calls::{Answer, Call, Caller, Event, How, parse};
use crate::documents::{Doc, NAME, collection};
use crate::load::{self, Plan};
use crate::observe::observe;
use crate::oracle::Oracle;
use crate::{in_memory, open};
use leitong_store::embedded::Embedded;
use leitong_store::{Addition, Policy, Record, Store};
use std::sync::Mutex;

/// A load, something done behind its back, and what is then said.
fn violations(meddle: impl FnOnce(&Embedded, &Doc)) -> Vec<String> {
    let place = in_memory();
    let folder = place.path().join("db");
    let store = open(&folder, 1);
    store.create(&collection()).unwrap();
    let lines = Mutex::new(String::new());
    let write = |line: &str| lines.lock().unwrap().push_str(line);
    let plan = Plan { seed: 1, now: 1, calls: 50, heavy: false, tidy: false };
    load::run(&Caller::new(&store, &folder, &write), plan).unwrap();
    let (events, failed) = parse(lines.lock().unwrap().lines());
    assert_eq!(failed, Vec::<String>::new());
    let before = observe(&store, &events).unwrap();
    assert_eq!(before.1, Vec::<String>::new());
    assert_eq!(Oracle::default().violations(&events, &before.0, 1), Vec::<String>::new());
    let (id, &(_, seed)) = before.0.first_key_value().expect("something was stored");
    meddle(&store, &Doc { id: id.clone(), seed });
    let (found, mut wrong) = observe(&store, &events).unwrap();
    wrong.extend(Oracle::default().violations(&events, &found, 1));
    wrong
}

#[track_caller]
fn assert_says(wrong: &[String], what: &str) {
    assert!(wrong.iter().any(|wrong| wrong.contains(what)), "nothing says {what:?}: {wrong:#?}");
}

fn put(store: &Embedded, record: Record) {
    store.add(NAME, vec![Addition::new(record, Policy::Replace)]).unwrap();
}

#[test]
fn what_is_lost() {
    assert_says(&violations(|store, doc| _ = store.remove(NAME, &[&doc.id]).unwrap()), "is lost");
}

#[test]
fn what_is_changed() {
    let wrong = violations(|store, doc| put(store, Record { text: Some("other".into()), ..doc.record() }));
    assert_says(&wrong, "is not as it was made");
    let wrong = violations(|store, doc| put(store, Doc { seed: doc.seed ^ 1 << 40, ..doc.clone() }.record()));
    assert_says(&wrong, "there is version");
    let wrong = violations(|store, doc| put(store, Record { title: None, source: None, ..doc.record() }));
    assert_says(&wrong, "there is version");
}

#[test]
fn what_was_never_stored() {
    let wrong = violations(|store, doc| put(store, Doc { id: "stray".into(), seed: doc.seed }.record()));
    assert_says(&wrong, "stray: there is version");
    let wrong = violations(|store, _| put(store, Record { id: "unknown".into(), ..Record::default() }));
    assert_says(&wrong, "was never made");
}

fn doc(id: &str, seed: u64) -> Doc {
    Doc { id: id.into(), seed: seed << 32 }
}

fn state(docs: &[(&str, u64, u64)]) -> crate::oracle::State {
    docs.iter().map(|&(id, version, seed)| (id.to_owned(), (version, seed << 32))).collect()
}

fn added(docs: &[Doc], versions: Option<&[u64]>) -> Event {
    let stored = |&version: &u64| Answer::Stored { version, replaced: None };
    let answers = versions.map(|versions| versions.iter().map(stored).collect());
    Event { call: Call::Add(How::Replace, docs.to_vec()), answers }
}

fn removed(id: &str, answers: Option<Option<u64>>) -> Event {
    let answers = answers.map(|version| vec![Answer::Removed(version)]);
    Event { call: Call::Remove(vec![id.into()]), answers }
}

/// What was called, what is there (id, version, seed), and what must be said.
type Expected<'a> = (&'a [&'a Event], &'a [(&'a str, u64, u64)], &'a str);

/// One line each: what was called, what is there, and what must be said; nothing means that it is explained.
#[test]
fn cases() {
    let (a, b) = (doc("a", 1), doc("b", 2));
    let both = [a.clone(), b.clone()];
    let (one, open) = (added(&[a], Some(&[7])), added(&both, None));
    let new = Event { call: Call::Add(How::New, both.to_vec()), answers: None };
    let shared = added(&[doc("contested-1", 1)], Some(&[7]));
    let cases: [Expected<'_>; 17] = [
        (&[&one], &[("a", 7, 1)], ""),
        (&[&one], &[("a", 8, 1)], "there is version 8"),
        (&[&open], &[], ""),
        (&[&open], &[("a", 0, 1)], ""),
        (&[&open], &[("a", 0, 1), ("b", 1, 2)], ""),
        (&[&open], &[("b", 1, 2)], "neither in order"),
        (&[&one, &new], &[("a", 7, 1), ("b", 8, 2)], ""),
        (&[&one, &new], &[("b", 8, 2)], "is lost"),
        (&[&one, &removed("a", None)], &[], ""),
        (&[&one, &removed("a", None)], &[("a", 7, 1)], ""),
        (&[&one, &removed("a", Some(Some(7)))], &[], ""),
        (&[&one, &removed("a", Some(Some(7)))], &[("a", 7, 1)], "was removed and is there"),
        (&[&one, &removed("a", Some(None))], &[], "where version Some(7) was there"),
        (&[&one, &added(&[b], Some(&[7]))], &[("a", 7, 1), ("b", 7, 2)], "had been used"),
        (&[&shared], &[], "is lost"),
        (&[&shared, &removed("contested-1", Some(Some(9)))], &[], ""),
        (&[&shared, &removed("contested-1", Some(Some(6)))], &[], "is lost"),
    ];
    for (events, there, word) in cases {
        let events: Vec<Event> = events.iter().map(|&event| event.clone()).collect();
        let wrong = Oracle::default().violations(&events, &state(there), 0);
        let as_expected =
            if word.is_empty() { wrong.is_empty() } else { wrong.iter().any(|wrong| wrong.contains(word)) };
        assert!(as_expected, "{events:?} and {there:?} should say {word:?}, but {wrong:#?}");
    }
}
