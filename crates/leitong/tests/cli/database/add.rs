//! `leitong add`.

use super::{Room, document, ids, matched, reprinted, text};
use crate::leitong_in;
use serde_json::json;

#[test]
fn a_line_for_every_document_in_order() {
    let room = Room::new();
    let documents: Vec<_> = (0..1500).map(|i| document(&format!("d{i}"), i)).collect();
    room.jsonl("many.jsonl", &documents);
    let run = room.good(&["add", "many.jsonl", "--json"]);
    assert_eq!(ids(&run), (0..1500).map(|i| format!("d{i}")).collect::<Vec<_>>());
    assert!(run.json().iter().all(|line| line["stored"] == true && line["matches"] == json!([])));
    assert_eq!(room.count(), 1500);
    let again = room.good(&["add", "many.jsonl", "--json"]);
    assert!(again.json().iter().all(|line| line["stored"] == true && line["replaced"] == true));
    assert_eq!(room.count(), 1500);
}

#[test]
fn of_duplicates_the_first_is_stored_within_a_run_and_across_runs() {
    let room = Room::new();
    let copy = json!({ "id": "copy", "text": reprinted(1) });
    room.jsonl("a.jsonl", &[document("first", 1), copy.clone(), document("other", 2)]);
    let run = room.good(&["add", "a.jsonl", "--unless-duplicate", "--json"]);
    let lines = run.json();
    let stored: Vec<bool> = lines.iter().map(|line| line["stored"].as_bool().unwrap()).collect();
    assert_eq!(stored, [true, false, true]);
    let found = &lines[1]["matches"][0];
    assert_eq!((found["id"].as_str(), found["verdict"].as_str()), (Some("first"), Some("exact")));
    assert_eq!((found["distance"].as_u64(), found["jaccard"].as_f64()), (Some(0), Some(1.0)));
    assert_eq!(found["containment"].as_f64(), Some(1.0));

    room.jsonl("b.jsonl", &[copy, document("new", 3)]);
    let run = room.good(&["add", "b.jsonl", "--unless-duplicate"]);
    let (mut lines, expected) = (run.lines(), "duplicate\tcopy\tfirst\texact\t0\t1.000\t1");
    assert_eq!((lines.remove(0), lines.remove(0)), (expected, "stored\tnew"));
    let told = room.run(&["add", "b.jsonl", "--unless-duplicate", "--fail-on-duplicate"], "");
    assert_eq!(told.code, 1, "{}", told.err);
    assert_eq!(room.count(), 3);
}

#[test]
fn a_document_is_not_its_own_duplicate() {
    let room = Room::new();
    room.store(&[document("a", 1)]);
    room.jsonl("again.jsonl", &[json!({ "id": "a", "text": reprinted(1) })]);
    let run = room.good(&["add", "again.jsonl", "--unless-duplicate"]);
    assert_eq!(run.out, "replaced\ta\n");
    let run = room.good(&["add", "again.jsonl", "--new", "--json"]);
    assert_eq!(
        (run.json()[0]["stored"].as_bool(), run.json()[0]["exists"].as_bool()),
        (Some(false), Some(true))
    );
}

#[test]
fn bad_documents_are_told_and_the_others_stored() {
    let room = Room::new();
    let (longest, too_long) = ("i".repeat(1024), "i".repeat(1025));
    let late = json!({ "id": "late", "text": text(4), "published": "someday" });
    room.jsonl(
        "a.jsonl",
        &[
            document("good", 1),
            document(&too_long, 2),
            document(&longest, 3),
            late,
            json!({ "id": "empty", "text": "" }),
        ],
    );
    let run = room.run(&["add", "a.jsonl", "--json"], "");
    assert_eq!(run.code, 3);
    let lines = run.json();
    let errors: Vec<bool> = lines.iter().map(|line| line["error"].is_string()).collect();
    assert_eq!(errors, [false, true, false, true, true]);
    assert!(lines.iter().all(|line| line["stored"] == !line["error"].is_string()));
    for (line, what) in [(2, "the id has 1025 bytes; at most 1024"), (4, "\"someday\""), (5, "is empty")] {
        let told =
            run.err.lines().any(|err| err.contains(&format!("a.jsonl, line {line}: ")) && err.contains(what));
        assert!(told, "line {line}, {what}: {}", run.err);
    }
    assert!(run.err.contains("3 of 5 inputs could not be used; 2 were"), "{}", run.err);
    assert_eq!(room.count(), 2);
    // Errors count more than duplicates.
    let run = room.run(&["add", "a.jsonl", "--unless-duplicate", "--fail-on-duplicate"], "");
    assert_eq!(run.code, 3);
    assert!(run.out.contains("error\tlate"), "{}", run.out);
}

#[test]
fn lines_without_ids_never_replace_each_other() {
    let room = Room::new();
    let lines = |numbers: &[u64]| numbers.iter().map(|&n| format!("{}\n", text(n))).collect::<String>();
    let first = room.run(&["add", "-", "--json"], lines(&[1, 2, 3]));
    assert_eq!(ids(&first), ["1", "2", "3"]);
    let second = room.run(&["add", "-", "--unless-duplicate", "--json"], lines(&[2, 4, 5]));
    let stored: Vec<bool> = second.json().iter().map(|line| line["stored"].as_bool().unwrap()).collect();
    assert_eq!(stored, [false, true, true], "{}", second.out);
    assert_eq!(matched(&second.json()[0]), ["2"]);
    assert_eq!(room.count(), 5);
    // Numbers that someone else uses are left alone.
    let taken: Vec<_> = (1..40).map(|n| document(&n.to_string(), 100 + n)).collect();
    room.store(&taken);
    let before = room.count();
    let third = room.run(&["add", "--stdin", "jsonl", "--json"], format!("{}\n", json!({ "text": text(6) })));
    assert_eq!(
        (third.json()[0]["replaced"].as_bool(), room.count()),
        (Some(false), before + 1),
        "{}",
        third.out
    );
}

#[test]
fn too_little_evidence_is_found_by_being_equal() {
    let room = Room::new();
    let run = room.run(&["add", "--unless-duplicate", "--json"], "好\n短\n好！\n");
    let lines = run.json();
    assert!(lines[0]["fingerprint"].is_null() && lines[0]["stored"] == true, "{}", run.out);
    assert_eq!((matched(&lines[1]).len(), matched(&lines[2])), (0, vec!["1"]), "{}", run.out);
    let found = &lines[2]["matches"][0];
    assert_eq!((found["verdict"].as_str(), found["distance"].is_null()), (Some("exact"), true));
}

#[test]
fn every_kind_of_input() {
    let room = Room::new();
    std::fs::create_dir(room.path().join("folder")).unwrap();
    room.write("folder/a.txt", text(1));
    room.write(
        "folder/b.html",
        format!("<html><title>标题</title><body><article><p>{}</p></article>", text(2)),
    );
    room.write("c.csv", format!("id,text,source\nc1,{},新华社\n", text(3)));
    room.write("d.tsv", format!("id\ttext\nd1\t{}\n", text(4)));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gz, format!("{}\n", document("e1", 5)).as_bytes()).unwrap();
    room.write("e.jsonl.gz", gz.finish().unwrap());
    room.write("f.ndjson.zst", zstd::encode_all(format!("{}\n", document("f1", 6)).as_bytes(), 0).unwrap());
    let inputs = ["folder", "c.csv", "d.tsv", "e.jsonl.gz", "f.ndjson.zst", "-"];
    let run = room.run(&[&["add", "--json"], &inputs[..]].concat(), format!("{}\n", text(7)));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(ids(&run), ["folder/a.txt", "folder/b.html", "c1", "d1", "e1", "f1", "1"]);
    let checked =
        room.run(&["check", "--json"], (1..8).map(|n| format!("{}\n", reprinted(n))).collect::<String>());
    let found: Vec<_> = checked.json().iter().map(|line| matched(line).join(" ")).collect();
    assert_eq!(found, ids(&run));
}

#[test]
fn collections_keep_their_settings() {
    let room = Room::new();
    room.jsonl("a.jsonl", &[document("a", 1)]);
    room.good(&[
        "add",
        "a.jsonl",
        "--collection",
        "own",
        "--recipe",
        "py-simhash",
        "--distance",
        "5",
        "--no-text",
    ]);
    room.good(&["add", "a.jsonl", "--collection", "own"]);
    room.good(&[
        "add",
        "a.jsonl",
        "--collection",
        "own",
        "--recipe",
        "py-simhash",
        "--distance",
        "5",
        "--no-text",
    ]);
    let stats = room.good(&["stats", "--json"]).json();
    let own = &stats[0]["collections"][0];
    assert_eq!((own["name"].as_str(), own["recipe"].as_str()), (Some("own"), Some("py-simhash")));
    assert_eq!((own["distance"].as_u64(), own["texts_kept"].as_bool()), (Some(5), Some(false)));
    for (flags, what) in [
        (&["--recipe", "leitong-1"][..], "was made with the recipe py-simhash, not leitong-1"),
        (&["--distance", "3"], "distances up to 5, not 3"),
        (&["--recipe", "nothing"], "nothing"),
    ] {
        let run = room.run(&[&["add", "a.jsonl", "--collection", "own"], flags].concat(), "");
        assert!(run.code == 3 && run.err.contains(what) && run.out.is_empty(), "{}", run.err);
    }
    room.good(&["add", "a.jsonl"]);
    let run = room.run(&["add", "a.jsonl", "--no-text"], "");
    assert!(run.code == 3 && run.err.contains("keeps texts"), "{}", run.err);
    let run = room.run(&["add", "a.jsonl", "--collection", "far", "--distance", "64"], "");
    assert!(run.code == 3 && run.err.contains("64 bits"), "{}", run.err);
    let run = room.run(&["check", "a.jsonl", "--collection", "none"], "");
    assert!(run.code == 3 && run.err.contains("there is no collection \"none\""), "{}", run.err);
}

#[test]
fn what_expires_is_gone() {
    let room = Room::new();
    let own = json!({ "id": "own", "text": text(2), "expires": "2099-01-01" });
    room.jsonl("a.jsonl", &[document("a", 1), own]);
    room.good(&["add", "a.jsonl", "--ttl", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(room.count(), 1);
    let run = room.run(&["get", "a", "own", "--json"], "");
    assert_eq!(
        (run.code, run.json()[0]["found"].as_bool(), run.json()[1]["found"].as_bool()),
        (3, Some(false), Some(true))
    );
    let run = room.run(&["check", "-"], reprinted(1));
    assert_eq!(run.out, "new\t1\n");
    let wrong = room.run(&["add", "a.jsonl", "--ttl", "soon"], "");
    assert!(wrong.code == 2 && wrong.err.contains("30d"), "{}", wrong.err);
}

#[test]
fn clusters() {
    let room = Room::new();
    let copy = |id: &str, number| json!({ "id": id, "text": reprinted(number), "title": "再版" });
    room.jsonl("a.jsonl", &[document("a", 1), document("b", 2), copy("a2", 1), copy("a3", 1)]);
    let run = room.good(&["add", "a.jsonl", "--cluster", "--json"]);
    let centres: Vec<_> =
        run.json().iter().map(|line| line["cluster"]["centre"].as_str().unwrap().to_owned()).collect();
    assert_eq!(centres, ["a", "b", "a", "a"]);
    assert_eq!(room.good(&["clusters"]).out, "3\ta\t-\n1\tb\t-\n");
    assert_eq!(room.good(&["clusters", "--limit", "1"]).out, "3\ta\t-\n");
    assert_eq!(room.good(&["clusters", "--after", "a"]).out, "1\tb\t-\n");
    assert_eq!(room.good(&["clusters", "--members", "a"]).out, "0\ta\t-\n0\ta2\t再版\n0\ta3\t再版\n");
    let members = room.good(&["clusters", "--members", "a", "--json", "--limit", "2"]);
    assert_eq!(ids(&members), ["a", "a2"]);
    room.good(&["remove", "a"]);
    assert_eq!(room.good(&["clusters"]).out, "2\ta2\t再版\n1\tb\t-\n");
    let run = room.run(&["clusters", "--members", "a"], "");
    assert!(run.code == 3 && run.err.contains("no cluster around \"a\""), "{}", run.err);
}

#[test]
fn in_memory_a_stream_can_be_filtered() {
    let room = Room::new();
    let lines = format!("{}\n{}\n{}\n", text(1), reprinted(1), text(2));
    let run = leitong_in(room.path(), &["add", "--db", "memory:", "--unless-duplicate"], &lines);
    assert_eq!(run.out, "stored\t1\nduplicate\t2\t1\texact\t0\t1.000\t1\nstored\t3\n");
    let run = leitong_in(room.path(), &["check", "--db", "memory:"], &lines);
    assert_eq!((run.code, run.out.as_str()), (0, "new\t1\nnew\t2\nnew\t3\n"));
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    let run = leitong_in(room.path(), &["backup", "--db", "memory:", "target"], "");
    assert!(run.code == 3 && run.err.contains("name a folder"), "{}", run.err);
}
