//! `leitong check`.

use super::{Room, document, ids, matched, reprinted, text};
use crate::leitong_in;
use serde_json::json;

/// A text with a word changed, which moves a few bits of its SimHash.
fn edited(number: u64) -> String {
    text(number).replacen("。", "今天。", 1)
}

#[test]
fn duplicates_are_found_across_processes() {
    let room = Room::new();
    room.store(&(0..50).map(|i| document(&format!("d{i}"), i)).collect::<Vec<_>>());
    let copy = json!({ "id": "copy", "text": reprinted(7) });
    let near = json!({ "id": "near", "text": edited(9) });
    room.jsonl("new.jsonl", &[copy, near, document("other", 99), document("d3", 3)]);
    let run = room.good(&["check", "new.jsonl", "--json"]);
    assert_eq!(ids(&run), ["copy", "near", "other", "d3"]);
    let lines = run.json();
    let duplicates: Vec<bool> = lines.iter().map(|line| line["duplicate"].as_bool().unwrap()).collect();
    assert_eq!(duplicates, [true, true, false, false], "{}", run.out);
    assert_eq!((matched(&lines[0]), matched(&lines[1])), (vec!["d7"], vec!["d9"]));
    let near = &lines[1]["matches"][0];
    assert_eq!(near["verdict"], "near");
    assert!(near["distance"].as_u64().unwrap() <= 3);
    assert!((0.5..1.0).contains(&near["jaccard"].as_f64().unwrap()), "{near}");
    assert!(near["containment"].as_f64() >= near["jaccard"].as_f64());
    assert!(near["rule"].as_str().unwrap().contains("are shared"));
    assert!(near["a_in_b"].as_f64().unwrap() > 0.8 && near["numbers_differ"] == json!(0), "{near}");
    assert_eq!(lines[3]["matches"], json!([]), "a document is never its own duplicate");

    let plain = room.good(&["check", "new.jsonl"]);
    assert!(plain.lines()[0].starts_with("duplicate\tcopy\td7\texact\t0\t1.000\t1"), "{}", plain.out);
    assert_eq!(plain.lines()[2..], ["new\tother", "new\td3"]);
    assert!(!plain.out.contains('\u{1b}'));
    assert!(room.good(&["check", "new.jsonl", "--color", "always"]).out.contains("\u{1b}["));
}

#[test]
fn exit_codes() {
    let room = Room::new();
    room.store(&[document("a", 1)]);
    let code = |input: String, flags: &[&str]| room.run(&[&["check", "-"], flags].concat(), input).code;
    assert_eq!(code(reprinted(1), &["--fail-on-duplicate"]), 1);
    assert_eq!(code(reprinted(1), &[]), 0);
    assert_eq!(code(text(2), &["--fail-on-duplicate"]), 0);
    assert_eq!(code(format!("{}\n\n", reprinted(1)), &["--fail-on-duplicate"]), 3, "errors count more");
    assert_eq!(code(text(1), &["--limit", "0"]), 2);
    assert_eq!(code(text(1), &["--where", "=x"]), 2);
    assert_eq!(code(text(1), &["--distance", "4"]), 3);
    assert_eq!(code(reprinted(1), &["--distance", "0", "--fail-on-duplicate"]), 1);
}

#[test]
fn there_must_be_a_database() {
    let room = Room::new();
    for arguments in [
        &["check", "x.txt"][..],
        &["get", "a"],
        &["similar", "a"],
        &["remove", "a"],
        &["stats"],
        &["check-db"],
        &["check-db", "--repair"],
        &["backup", "target"],
        &["export"],
        &["compact"],
        &["clusters"],
    ] {
        let run = room.run(arguments, "");
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{arguments:?}");
        assert!(run.err.contains("db: there is no database here"), "{arguments:?}: {}", run.err);
        assert!(run.err.contains("leitong add FILES --db db"), "{arguments:?}: {}", run.err);
        assert!(!room.db().exists(), "{arguments:?} makes none");
    }
    // A folder of something else is not touched.
    std::fs::create_dir(room.db()).unwrap();
    std::fs::write(room.db().join("holiday.jpg"), "x").unwrap();
    for arguments in [&["stats"][..], &["add", "-"]] {
        let run = room.run(arguments, text(1));
        assert!(run.code == 3 && run.err.contains("no database"), "{arguments:?}: {}", run.err);
    }
    assert_eq!(std::fs::read_dir(room.db()).unwrap().count(), 1);
    room.write("a.txt", text(1));
    for (db, what) in [
        ("redis://127.0.0.1:1", "does not answer"),
        ("redis://a,b", "begin with redis-cluster://"),
        ("mysql://host", "no such store"),
        ("a.txt", "this is a file"),
        ("", "empty"),
    ] {
        for command in ["check", "add", "stats"] {
            let run = leitong_in(room.path(), &[command, "--db", db], text(1));
            assert!(run.code == 3 && run.err.contains(what), "{command} {db}: {}", run.err);
        }
    }
}

#[test]
fn the_database_may_be_named_by_the_environment() {
    let room = Room::new();
    room.store(&[document("a", 1)]);
    let stats = |with: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_leitong"));
        command.args(["stats", "--json"]).current_dir(room.path()).env_remove("LEITONG_DB");
        command.envs(with.map(|db| ("LEITONG_DB", db))).output().unwrap()
    };
    assert_eq!(stats(None).status.code(), Some(2));
    let output = stats(Some("db"));
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("\"documents\":1"));
}

#[test]
fn by_fingerprint() {
    let room = Room::new();
    room.store(&[document("a", 1), document("b", 2)]);
    room.write("a.txt", text(1));
    let made = leitong_in(room.path(), &["fingerprint", "a.txt", "--ids"], "").out;
    let run = room.run(&["check", "--fingerprint", "--json"], &made);
    let line = &run.json()[0];
    assert_eq!((line["id"].as_str(), line["duplicate"].as_bool()), (Some("a.txt"), Some(true)));
    let found = &line["matches"][0];
    assert_eq!((found["id"].as_str(), found["verdict"].as_str()), (Some("a"), Some("near")));
    assert!(found["jaccard"].is_null() && found["containment"].is_null() && found["no_evidence"].is_string());
    let hex = made.split('\t').next().unwrap();
    let own = room.run(&["check", "--fingerprint"], format!("{hex}\ta\n{hex}\n"));
    assert_eq!(own.lines(), ["new\ta", "duplicate\t2\ta\tnear\t0\t-\t1"], "its own id does not count");
    let bad = room.run(&["check", "--fingerprint", "--json"], format!("xyz\n-\nffff\n{hex}\n"));
    assert_eq!((bad.code, bad.json().len()), (3, 4));
    for what in [
        "line 1: \"xyz\" is no fingerprint",
        "line 2: there is no fingerprint",
        "line 3: the fingerprint has 16 bits",
    ] {
        assert!(bad.err.contains(what), "{what}: {}", bad.err);
    }
    assert_eq!(bad.json()[0]["duplicate"], json!(null));
    assert_eq!(bad.json()[3]["duplicate"], json!(true));
}

#[test]
fn limits_filters_and_evidence() {
    let room = Room::new();
    let copies: Vec<_> = (0..20)
        .map(|i| json!({ "id": format!("c{i:02}"), "text": text(1), "source": if i % 2 == 0 { "甲" } else { "乙" }, "n": i }))
        .collect();
    room.store(&copies);
    let check = |flags: &[&str]| {
        room.run(&[&["check", "-", "--json"], flags].concat(), reprinted(1)).json().remove(0)
    };
    let ten = check(&[]);
    assert_eq!((matched(&ten).len(), ten["more"].as_bool()), (10, Some(true)));
    let all = check(&["--limit", "100"]);
    assert_eq!((matched(&all).len(), all["more"].as_bool()), (20, None));
    assert_eq!(matched(&check(&["--where", "source=乙", "--where", "n>=15"])), ["c15", "c17", "c19"]);
    assert_eq!(matched(&check(&["--where", "id=c03"])), ["c03"]);
    let none = check(&["--where", "source=丙"]);
    assert_eq!((none["duplicate"].as_bool(), matched(&none).len()), (Some(false), 0));
    let passages = &check(&["--evidence", "--limit", "1"])["matches"][0]["passages"];
    let length = text(1).chars().count() as u64;
    assert!(passages[0]["a"][1].as_u64().unwrap() >= length - 1 && passages[0]["a"][0] == 1, "{passages}");
    let plain = room.run(&["check", "-", "--evidence", "--limit", "2"], reprinted(1));
    assert!(
        plain.lines()[0].ends_with("\t2+") && plain.lines().len() == 3 && plain.out.contains("of c00"),
        "{}",
        plain.out
    );
}

#[test]
fn without_texts_marks_are_judged() {
    let room = Room::new();
    room.jsonl("a.jsonl", &[document("a", 1)]);
    room.good(&["add", "a.jsonl", "--no-text"]);
    let run = room.run(&["check", "-", "--json"], reprinted(1));
    let found = &run.json()[0]["matches"][0];
    assert_eq!((found["verdict"].as_str(), found["distance"].as_u64()), (Some("exact"), Some(0)));
    assert!(found["rule"].as_str().unwrap().contains("judged by marks"), "{found}");
    let run = room.run(&["check", "-", "--json"], edited(1));
    let found = &run.json()[0]["matches"][0];
    assert_eq!(found["verdict"].as_str(), Some("near"), "{found}");
    assert!((0.3..1.0).contains(&found["jaccard"].as_f64().unwrap()), "{found}");
    let run = room.good(&["get", "a", "--text", "--json"]);
    assert!(run.json()[0]["text"].is_null());
}
