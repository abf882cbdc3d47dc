//! Databases written by every released version are opened by this one.
//!
//! `formats/` holds one of each version. To make one for a new version: `LEITONG_WRITE_FORMATS=folder cargo test -p
//! leitong-store --test store format`.

use crate::embedded::{assert_sound, folder, open};
use leitong_fingerprint::Fingerprint;
use leitong_store::{
    Added, Addition, Collection, Key, Mark, Outline, Policy, Probe, Query, Record, Signals, Sources, Space,
    SpaceSettings, Store, Want,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const NAMES: [(&str, u32); 2] = [("新闻", 64), ("wide", 128)];
const RECORDS: u64 = 300;
/// What this version writes. The first had no outlines.
const FORMAT: u64 = 2;
/// A mark that all outlines have.
const COMMON: u32 = 7;

fn collection((name, width): (&str, u32)) -> Collection {
    let space = |space| SpaceSettings { space, width, within: 3 };
    let spaces = vec![space(Space::DOCUMENTS), space(Space::CENTRES)];
    Collection { name: name.into(), recipe: [7; 16], about: format!("made for {name}"), spaces }
}

fn fingerprint(number: u64, width: u32) -> Fingerprint {
    let word = (number / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number % 2) << (number % 60);
    Fingerprint::from_words(width, &[word, !word])
}

/// Two of a pair have all marks in common, and all of them one. Only the first collection has outlines.
fn outline(number: u64, width: u32, format: u64) -> Outline {
    if format < 2 || width != 64 || number.is_multiple_of(13) {
        return Outline::default();
    }
    let own = (0..20).map(|mark| ((number / 2 * 20 + mark).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32);
    let marks = (0..).step_by(50).zip(own.chain([COMMON])).map(|(at, hash)| Mark { hash, at });
    Outline { marks: marks.collect(), units: 1050 + number as u32, numbers: vec![number, u64::MAX] }
}

/// One of everything: long and short texts, a key that all share, fields that are there and that are not.
fn record(number: u64, width: u32, format: u64) -> Record {
    let print = fingerprint(number, width);
    let centre = (number.is_multiple_of(3)).then(|| (Space::CENTRES, print.clone()));
    let text = format!("第{number}篇。如有雷同，绝非巧合。");
    Record {
        id: format!("文-{number}/é 🐼"),
        signals: Signals {
            near: (!number.is_multiple_of(10))
                .then_some((Space::DOCUMENTS, print))
                .into_iter()
                .chain(centre)
                .collect(),
            keys: vec![Key { kind: 1, value: number }, Key { kind: 2, value: 5 }],
            exact: (!number.is_multiple_of(4)).then_some(u128::from(number) << 90),
            outline: outline(number, width, format),
        },
        title: (number.is_multiple_of(2)).then(|| format!("题目{number}")),
        source: (number.is_multiple_of(5)).then(|| "新华社".into()),
        published: Some(number as i64 - 100),
        expires: (number.is_multiple_of(7)).then_some(100_000_000_000 + number as i64),
        origin: (format >= 2 && !number.is_multiple_of(2)).then(|| number - 1),
        cluster: (number.is_multiple_of(3)).then(|| (format!("文-{number}/é 🐼"), 0)),
        metadata: [("n".to_owned(), json!({ "of": [number, null, "两"] }))].into_iter().collect(),
        text: (!number.is_multiple_of(6)).then(|| text.repeat(1 + number as usize % 5)),
    }
}

/// What is left of the records after some were removed and one was written anew.
fn is_there(number: u64) -> bool {
    !number.is_multiple_of(11)
}

fn write(folder: &Path) {
    for session in 0..2 {
        let store = open(folder);
        for named in NAMES {
            store.create(&collection(named)).unwrap();
            let numbers = session * RECORDS / 2..(session + 1) * RECORDS / 2;
            let addition = |number| Addition::new(record(number, named.1, FORMAT), Policy::Replace);
            store.add(named.0, numbers.map(addition).collect()).unwrap();
        }
        // Part of it is in files, part in the journal.
        if session == 0 {
            store.compact().unwrap();
        }
        store.close().unwrap();
    }
    let store = open(folder);
    for (name, width) in NAMES {
        let gone =
            (0..RECORDS).filter(|&number| !is_there(number)).map(|number| record(number, width, FORMAT).id);
        let gone: Vec<String> = gone.collect();
        store.remove(name, &gone.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        let again = Addition::new(record(8, width, FORMAT), Policy::Replace);
        assert!(matches!(store.add(name, vec![again]).unwrap()[0], Added::Stored { replaced: Some(8), .. }));
    }
    store.close().unwrap();
}

fn check(sample: &Path, format: u64) {
    let copy = folder();
    copy_all(sample, copy.path());
    let store = open(copy.path());
    assert_sound(&store);
    assert_eq!(store.collections().unwrap(), {
        let mut all = NAMES.map(collection);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    });
    for (name, width) in NAMES {
        let there: Vec<u64> = (0..RECORDS).filter(|&number| is_there(number)).collect();
        assert_eq!(store.count(name).unwrap().documents, there.len() as u64);
        for number in 0..RECORDS {
            let expected = record(number, width, format);
            let stored = store.get(name, &[&expected.id], Want::Text).unwrap().remove(0);
            let expected = is_there(number).then_some(expected);
            assert_eq!(stored.map(|stored| stored.record), expected, "record {number} of {name}");
        }
        let all =
            Query { probes: vec![Probe::Key(Key { kind: 2, value: 5 })], limit: 1000, ..Query::default() };
        let near = Probe::Near { space: Space::DOCUMENTS, fingerprint: fingerprint(9, width), within: 3 };
        let near = Query { probes: vec![near], limit: 1000, ..Query::default() };
        let found = store.find(name, &[all, near]).unwrap();
        assert_eq!(found[0].candidates.len(), there.len(), "all share a key");
        let ids: Vec<&str> = found[1].candidates.iter().map(|found| found.record.id.as_str()).collect();
        let pair = [9, 8].map(|number| record(number, width, format).id);
        assert_eq!(ids, [&*pair[0], &*pair[1]], "and two are near");
    }
    check_marks(&store, format);
    // A folder of an older version is one like any other.
    let new = Record { id: "new".into(), ..record(9, 64, FORMAT) };
    store.add(NAMES[0].0, vec![Addition::new(new, Policy::Replace)]).unwrap();
    assert_eq!(find_marks(&store, 9).len(), if format < 2 { 1 } else { 3 });
    store.close().unwrap();
    let store = open(copy.path());
    assert_sound(&store);
    assert_eq!(find_marks(&store, 9).len(), if format < 2 { 1 } else { 3 });
}

/// What is found by the marks of a record.
fn find_marks(store: &dyn Store, number: u64) -> Vec<(String, u32)> {
    let marks = Probe::Marks(outline(number, 64, FORMAT).hashes());
    let query = Query { probes: vec![marks], limit: 1000, ..Query::default() };
    let found = store.find(NAMES[0].0, &[query]).unwrap().remove(0);
    found.candidates.into_iter().map(|found| (found.record.id, found.rank.keys.0)).collect()
}

fn check_marks(store: &dyn Store, format: u64) {
    let there = (0..RECORDS).filter(|&number| is_there(number) && !outline(number, 64, format).is_empty());
    // The mark that all have speaks for the oldest only, and the eighth has been written anew.
    let pair = [(9, 21), (8, 20)].map(|(number, shared)| (record(number, 64, format).id, shared));
    assert_eq!(find_marks(store, 9), if format < 2 { [].into() } else { Vec::from(pair) });
    let marks = vec![COMMON, outline(9, 64, FORMAT).marks[0].hash, 1];
    let question = Sources { marks, origin: Some(8), except: None };
    let sources = store.sources(NAMES[0].0, &[question]).unwrap().remove(0);
    // The ninth comes from the eighth as it first was, which has been written anew since.
    let origins: BTreeSet<u64> =
        there.map(|number| if number == 8 { RECORDS } else { number & !1 }).collect();
    let expected = if format < 2 { [1, 1, 1] } else { [origins.len() as u32, 2, 1] };
    assert_eq!(sources, expected);
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn every_released_format_is_read() {
    let own = std::env::var_os("LEITONG_WRITE_FORMATS").map(PathBuf::from);
    let new = folder();
    let own = own.as_deref().unwrap_or(new.path());
    write(own);
    check(own, FORMAT);
    let formats = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../formats");
    let mut versions = 0;
    for entry in std::fs::read_dir(&formats).unwrap() {
        let entry = entry.unwrap();
        let sample = entry.path().join("store");
        if sample.is_dir() {
            check(&sample, entry.file_name().to_string_lossy().parse().unwrap());
            versions += 1;
        }
    }
    assert!(versions > 0, "{} holds no sample", formats.display());
}
