//! Ids of any kind: kept apart, found again, removed.

use super::{Room, document, ids};
use serde_json::{Value, json};

fn odd_ids() -> Vec<String> {
    let mut all: Vec<String> = [
        "a-b",
        "a",
        "b",
        "-a",
        "--db",
        "a--b",
        "a/b",
        "/a",
        "a/",
        "../a",
        "a b",
        " a",
        "a ",
        "雷同",
        "雷 同",
        "🦀",
        "👨‍👩‍👧",
        "é",
        "e\u{301}",
        "A",
        "null",
        "0",
        "00",
        "{\"id\":1}",
        "a\tb",
        "a\nb",
        "\"",
        "'",
        "\\",
        "%2F",
        "*",
        "id",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push("长".repeat(341) + "!");
    all.push("长".repeat(341) + "?");
    assert!(all.iter().all(|id| id.len() <= 1024));
    assert!(all.last().is_some_and(|id| id.len() == 1024));
    all
}

#[test]
fn all_are_kept_apart() {
    let room = Room::new();
    let all = odd_ids();
    let documents: Vec<Value> = all.iter().enumerate().map(|(n, id)| document(id, n as u64)).collect();
    room.jsonl("a.jsonl", &documents);
    let run = room.good(&["add", "a.jsonl", "--unless-duplicate", "--json"]);
    assert_eq!(ids(&run), all);
    assert!(run.json().iter().all(|line| line["stored"] == true), "{}", run.out);
    assert_eq!(room.count(), all.len() as u64);

    let arguments: Vec<&str> =
        ["get", "--text", "--json", "--"].into_iter().chain(all.iter().map(String::as_str)).collect();
    let run = room.good(&arguments);
    for (line, document) in run.json().iter().zip(&documents) {
        assert_eq!((&line["id"], &line["text"]), (&document["id"], &document["text"]));
    }
    let similar: Vec<&str> =
        ["similar", "--json", "--"].into_iter().chain(all.iter().map(String::as_str)).collect();
    assert!(room.good(&similar).json().iter().all(|line| line["matches"] == json!([])));

    // One is removed, and only that one.
    for (gone, id) in all.iter().enumerate() {
        let run = room.good(&["remove", "--json", "--", id]);
        assert_eq!(run.json()[0], json!({ "id": id, "removed": true }));
        if gone % 8 == 0 {
            assert_eq!(room.count(), (all.len() - gone - 1) as u64, "{id:?}");
        }
    }
    assert_eq!(room.count(), 0);
}

#[test]
fn columns_stay_columns() {
    let room = Room::new();
    room.store(&[document("a\tb\nc", 1)]);
    let run = room.good(&["remove", "a\tb\nc"]);
    assert_eq!(run.out, "removed\ta\\tb\\nc\n");
}

#[test]
fn ids_through_standard_input() {
    let room = Room::new();
    room.store(&(0..1200).map(|n| document(&format!("id {n}"), n)).collect::<Vec<_>>());
    let lines: String = (0..1300).map(|n| format!("id {n}\n")).collect();
    let got = room.run(&["get", "-", "--json"], &lines);
    assert_eq!((got.code, got.json().len()), (3, 1300));
    assert_eq!(got.json().iter().filter(|line| line["found"] == true).count(), 1200);
    let run = room.run(&["remove", "-", "--json"], &lines);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "what is not there is no error");
    assert_eq!(ids(&run), (0..1300).map(|n| format!("id {n}")).collect::<Vec<_>>());
    assert_eq!(run.json().iter().filter(|line| line["removed"] == true).count(), 1200);
    assert_eq!(room.count(), 0);
    let mut bad = b"fine\n\n\xff\n".to_vec();
    bad.extend("x".repeat(1025).as_bytes());
    let run = room.run(&["remove", "-", "--json"], bad);
    assert_eq!((run.code, run.json().len()), (3, 4));
    for what in ["line 2: an id must not be empty", "line 3: byte 1", "line 4: the id has 1025 bytes"] {
        assert!(run.err.contains(what), "{what}: {}", run.err);
    }
    assert_eq!(room.run(&["remove"], "").code, 2);
}

#[test]
fn removed_and_replaced_documents_are_not_found() {
    let room = Room::new();
    room.store(&[document("a", 1), document("b", 2)]);
    let found =
        |number: u64| room.run(&["check", "-", "--fail-on-duplicate"], super::reprinted(number)).code == 1;
    assert!(found(1) && found(2) && !found(3));
    room.store(&[document("a", 3)]);
    assert!(!found(1) && found(2) && found(3));
    assert_eq!(room.good(&["remove", "b", "b", "nothing"]).out, "removed\tb\nabsent\tb\nabsent\tnothing\n");
    assert!(!found(2) && found(3));
}
