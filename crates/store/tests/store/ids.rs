//! Any string of 1 to 1,024 bytes is an id, and no two are taken for one another.

use leitong_store::{
    Added, Addition, Collection, Key, MOST_ID, Policy, Probe, Query, Record, Store, StoreError, Want,
};

const NAME: &str = "ids";

/// Ids that stores mix up which join, split, trim, fold, escape, truncate or normalise.
fn ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "a",
        "A",
        "a-",
        "-a",
        "a-b",
        "a--b",
        "a/b",
        "a//b",
        "/",
        "//",
        "..",
        "a\\b",
        "a\\",
        "\\\\",
        " ",
        "  ",
        "a ",
        " a",
        "\n",
        "a\n",
        "a\r\n",
        "\t",
        "\0",
        "a\0",
        "a\0b",
        "\0\0",
        "ab",
        "abc",
        "0",
        "00",
        "1",
        "10",
        "-1",
        "文",
        "文档",
        "文档一",
        "档",
        "文-档",
        "😀",
        "😀😀",
        "👩\u{200d}👩",
        "👩",
        "\u{e9}",
        "e\u{301}",
        "e",
        "ﬁ",
        "fi",
        "\u{feff}a",
        "\u{ffff}",
        "\u{10ffff}",
        "\u{7f}",
        "\u{80}",
        "%00",
        "null",
        "\"",
        "'",
        ":",
        "a:b",
        "*",
        "ids",
    ]
    .map(String::from)
    .into();
    let long = "x".repeat(MOST_ID);
    ids.extend([255, 256, 257, MOST_ID - 1].map(|bytes| long[..bytes].to_owned()));
    ids.push(format!("{}y", &long[1..]));
    ids.push(format!("y{}", &long[1..]));
    ids.push(long);
    ids.push(format!("{}-", "文".repeat(MOST_ID / 3)));
    ids.sort_unstable();
    ids
}

fn open(store: &dyn Store) {
    let collection =
        Collection { name: NAME.into(), recipe: [7; 16], about: String::new(), spaces: Vec::new() };
    store.create(&collection).expect("a collection without spaces");
}

fn key(number: usize) -> Key {
    Key { kind: 1, value: number as u64 }
}

/// A record that can be told from all others, and found by its key.
fn record(id: &str, number: usize) -> Record {
    let mut record = Record { id: id.to_owned(), title: Some(number.to_string()), ..Record::default() };
    record.signals.keys.push(key(number));
    record
}

/// What is there, by scanning in pages of `limit`.
fn scanned(store: &dyn Store, limit: usize) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    loop {
        let after = all.last().map(|record| record.id.clone());
        let page = store.scan(NAME, after.as_deref(), limit, Want::Text).unwrap();
        assert!(page.len() <= limit, "a page of {limit} behind {after:?} has {} records", page.len());
        if page.is_empty() {
            return all;
        }
        let behind = page.iter().all(|stored| after.as_ref().is_none_or(|after| stored.record.id > *after));
        assert!(behind, "a scan behind {after:?} goes back: {page:?}");
        all.extend(page.into_iter().map(|stored| stored.record));
    }
}

/// All ids at once are added, got, found, scanned and removed, and none is taken for another.
pub(crate) fn kept_apart(store: &dyn Store) {
    open(store);
    let ids = ids();
    let records: Vec<Record> = ids.iter().enumerate().map(|(number, id)| record(id, number)).collect();
    let addition = |record: &Record| Addition::new(record.clone(), Policy::New);
    for (number, added) in store.add(NAME, records.iter().map(addition).collect()).unwrap().iter().enumerate()
    {
        assert!(
            matches!(added, Added::Stored { replaced: None, .. }),
            "{:?} met another: {added:?}",
            ids[number]
        );
    }
    for limit in [1, 7, 1000] {
        assert_eq!(scanned(store, limit), records, "a scan in pages of {limit}");
    }
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let got = store.get(NAME, &names, Want::Text).unwrap();
    assert_eq!(got.into_iter().map(|got| got.unwrap().record).collect::<Vec<_>>(), records, "all by id");
    each_excludes_itself(store, &ids);
    // Every second one goes; the others stay.
    let (gone, left): (Vec<_>, Vec<_>) =
        records.into_iter().enumerate().partition(|(number, _)| number % 2 == 0);
    let names: Vec<&str> = gone.iter().map(|(_, record)| record.id.as_str()).collect();
    for (id, removed) in names.iter().zip(store.remove(NAME, &names).unwrap()) {
        assert!(removed.is_some(), "{id:?} was not there");
    }
    assert!(
        store.get(NAME, &names, Want::Record).unwrap().iter().all(Option::is_none),
        "removed ones are gone"
    );
    let left: Vec<Record> = left.into_iter().map(|(_, record)| record).collect();
    assert_eq!(scanned(store, 5), left, "what was not removed");
}

/// A document that asks is not its own candidate, and hides no other.
fn each_excludes_itself(store: &dyn Store, ids: &[String]) {
    for (number, id) in ids.iter().enumerate() {
        let neighbour = (number + 1) % ids.len();
        let probes = vec![Probe::Key(key(number)), Probe::Key(key(neighbour))];
        let query = Query { probes, except: Some(id.clone()), after: None, limit: 10 };
        let found = &store.find(NAME, &[query]).unwrap()[0];
        let found: Vec<&str> =
            found.candidates.iter().map(|candidate| candidate.record.id.as_str()).collect();
        assert_eq!(
            found,
            [&ids[neighbour]],
            "all that share a key with {id:?} or its neighbour, but for itself"
        );
    }
}

/// What is no id is refused with the reason, and asking for it finds nothing.
pub(crate) fn refused(store: &dyn Store) {
    open(store);
    let long = "x".repeat(MOST_ID + 1);
    let add = |id: &str| store.add(NAME, vec![Addition::new(record(id, 0), Policy::Replace)]);
    match add("") {
        Err(error @ StoreError::EmptyId) => assert!(error.to_string().contains("empty"), "unclear: {error}"),
        other => panic!("an empty id: {other:?}"),
    }
    match add(&long) {
        Err(error @ StoreError::TooLong { what: "id", bytes: 1025, most: 1024 }) => {
            assert!(error.to_string().contains("1025"), "unclear: {error}");
        }
        other => panic!("an id of 1,025 bytes: {other:?}"),
    }
    assert!(add(&"x".repeat(MOST_ID)).is_ok(), "an id of 1,024 bytes is one");
    assert_eq!(store.get(NAME, &["", &long], Want::Record).unwrap(), [None, None], "nothing has such an id");
    assert_eq!(store.remove(NAME, &["", &long]).unwrap(), [None, None], "nothing has such an id");
    assert_eq!(store.count(NAME).unwrap().documents, 1, "only the good one is stored");
}
