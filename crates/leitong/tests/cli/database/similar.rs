//! `leitong similar`.

use super::{Room, document, matched, reprinted, text};
use crate::Run;
use serde_json::json;

fn room_with_copies(count: u64) -> Room {
    let room = Room::new();
    let mut documents = vec![document("origin", 1), document("other", 2)];
    documents.extend((0..count).map(|i| {
        let day = 1 + i * 7 % count;
        json!({ "id": format!("c{i:03}"), "text": reprinted(1), "title": format!("第{i}版"), "published": day * 86_400 })
    }));
    room.store(&documents);
    room
}

#[test]
fn pages_hold_everything_once() {
    let room = room_with_copies(57);
    for sort in ["distance", "newest"] {
        let mut found = Vec::new();
        let mut after: Option<String> = None;
        let mut pages = 0;
        loop {
            let mut arguments = vec!["similar", "origin", "--json", "--limit", "10", "--sort", sort];
            arguments.extend(after.iter().flat_map(|token| ["--after", token.as_str()]));
            let run = room.good(&arguments);
            let page = run.json().remove(0);
            found.extend(page["matches"].as_array().unwrap().clone());
            pages += 1;
            match page["next"].as_str() {
                Some(token) => after = Some(token.to_owned()),
                None => break,
            }
        }
        assert_eq!((found.len(), pages), (57, 6), "{sort}");
        let mut names: Vec<_> = found.iter().map(|one| one["id"].as_str().unwrap()).collect();
        let times: Vec<_> = found.iter().map(|one| one["published"].as_i64().unwrap()).collect();
        if sort == "newest" {
            assert!(times.is_sorted_by(|a, b| a > b), "{times:?}");
        } else {
            assert!(names.is_sorted(), "equally near, so in the order they were stored");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 57);
    }
}

#[test]
fn filters_columns_and_errors() {
    let room = room_with_copies(5);
    let run = room.good(&["similar", "origin", "--where", "published<=1970-01-03", "--sort", "newest"]);
    let ids: Vec<_> = run.lines().iter().map(|line| line.split('\t').nth(2).unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2, "{}", run.out);
    let line = run.lines()[0].to_owned();
    assert!(
        line.starts_with("exact\torigin\tc0") && line.contains("\t0\t1.000\t1970-01-03T00:00:00Z\t第"),
        "{line}"
    );
    let run = room.good(&["similar", "origin", "--limit", "2"]);
    assert!(run.lines().len() == 2 && run.err.contains("--after "), "{}{}", run.out, run.err);
    assert_eq!(room.good(&["similar", "other"]).out, "none\tother\n");

    let run = room.run(&["similar", "origin", "gone", "other", "--json"], "");
    let told = |run: &Run, what: &str| assert!(run.code == 3 && run.err.contains(what), "{}", run.err);
    told(&run, "there is no document \"gone\"");
    let lines = run.json();
    assert_eq!((lines.len(), matched(&lines[0]).len(), lines[1]["error"].is_string()), (3, 5, true));
    assert_eq!(lines[2], json!({ "id": "other", "matches": [], "next": null }));

    let token = room.good(&["similar", "origin", "--json", "--limit", "1"]).json()[0]["next"].clone();
    let token = token.as_str().unwrap();
    told(&room.run(&["similar", "other", "--after", token], ""), "another document");
    told(&room.run(&["similar", "origin", "--sort", "newest", "--after", token], ""), "another order");
    assert_eq!(room.run(&["similar", "origin", "--after", "rubbish"], "").code, 2);
    told(&room.run(&["similar", "origin", "--distance", "9"], ""), "distances up to 3");
    assert_eq!(room.run(&["similar", "origin", "--sort", "oldest"], "").code, 2);
    assert_eq!(room.run(&["similar"], "").code, 2);
}

#[test]
fn several_collections() {
    let room = Room::new();
    for (collection, id) in [("news", "n"), ("blogs", "b"), ("wiki", "w")] {
        room.jsonl(
            "a.jsonl",
            &[json!({ "id": id, "text": text(1) }), json!({ "id": "same", "text": text(1) })],
        );
        room.good(&["add", "a.jsonl", "--collection", collection]);
    }
    let similar = |flags: &[&str]| {
        let run = room.good(&[&["similar", "--json"], flags].concat());
        let found = run.json()[0]["matches"].as_array().unwrap().clone();
        let name = |one: &serde_json::Value| {
            format!("{}/{}", one["collection"].as_str().unwrap(), one["id"].as_str().unwrap())
        };
        let mut names: Vec<String> = found.iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(similar(&["n", "--collection", "news"]), ["news/same"]);
    let both = similar(&["n", "--collection", "news", "--collection", "blogs"]);
    assert_eq!(both, ["blogs/b", "blogs/same", "news/same"]);
    let elsewhere = similar(&["n", "--from", "news", "--collection", "wiki"]);
    assert_eq!(elsewhere, ["wiki/same", "wiki/w"]);
    room.good(&["add", "a.jsonl", "--collection", "old", "--recipe", "py-simhash"]);
    let run = room.run(&["similar", "n", "--collection", "news", "--collection", "old"], "");
    assert!(run.code == 3 && run.err.contains("different recipes"), "{}", run.err);
}
