//! `leitong export`, `import`, `backup` and `restore`.

use super::{Room, document, matched, reprinted, text};
use crate::leitong_in;
use serde_json::json;
use std::path::{Path, PathBuf};

fn filled() -> Room {
    let room = Room::new();
    let mut documents: Vec<_> = (0..300).map(|i| document(&format!("d{i}"), i)).collect();
    documents.push(json!({
        "id": "雷 同/1", "text": reprinted(5), "title": "标题", "published": 1_714_521_600, "n": { "x": [1, 2.5] },
    }));
    room.jsonl("all.jsonl", &documents);
    room.good(&["add", "all.jsonl", "--cluster"]);
    room
}

fn answers(room: &Room, db: &str) -> String {
    let lines: String = (0..320).map(|n| format!("{}\n", reprinted(n))).collect();
    let run = leitong_in(room.path(), &["check", "--db", db, "--json"], lines);
    assert_eq!(run.code, 0, "{}", run.err);
    run.out
}

fn clusters(room: &Room, db: &str) -> String {
    leitong_in(room.path(), &["clusters", "--db", db, "--json"], "").out
}

#[test]
fn what_is_exported_and_imported_answers_the_same() {
    let room = filled();
    let expected = (answers(&room, "db"), clusters(&room, "db"));
    let plain = room.good(&["export"]).out;
    assert_eq!(plain.lines().count(), 301);
    for file in ["all.jsonl", "all.jsonl.zst", "all.jsonl.gz"] {
        let run = room.good(&["export", "-o", file, "--json"]);
        assert_eq!(run.json()[0], json!({ "collection": "default", "documents": 301, "file": file }));
        let db = format!("copy-{file}");
        let run = leitong_in(room.path(), &["import", file, "--db", &db], "");
        assert_eq!(
            (run.code, run.lines()[0]),
            (0, "imported\t301 documents\t301 with their fingerprints, 0 made anew")
        );
        assert_eq!((answers(&room, &db), clusters(&room, &db)), expected, "{file}");
        assert_eq!(leitong_in(room.path(), &["export", "--db", &db], "").out, plain);
    }
    assert!(!room.path().join("all.jsonl.partial").exists());
    // Through a pipe, into another recipe: the fingerprints are made anew.
    let arguments = ["import", "-", "--db", "other", "--recipe", "py-simhash", "--json"];
    let run = leitong_in(room.path(), &arguments, &plain);
    assert_eq!(run.json()[0], json!({ "imported": 301, "kept": 0, "made": 301, "bad": 0 }));
}

#[test]
fn bad_lines_of_an_import_are_told() {
    let room = Room::new();
    let lines = format!("{}\nbroken\n{}\n{}\n", document("a", 1), json!({ "id": "b" }), document("c", 2));
    room.write("a.jsonl", lines);
    let run = room.run(&["import", "a.jsonl", "none.jsonl", "--json"], "");
    assert_eq!(
        (run.code, run.json()[0]["imported"].as_u64(), run.json()[0]["bad"].as_u64()),
        (3, Some(2), Some(3))
    );
    for what in [
        "a.jsonl, line 2: not a record",
        "a.jsonl, line 3: neither a text",
        "none.jsonl: there is no such file",
    ] {
        assert!(run.err.contains(what), "{what}: {}", run.err);
    }
    assert_eq!(room.count(), 2);
    let run = room.run(&["import", "table.csv"], "");
    assert!(run.code == 3 && run.err.contains("use `leitong add`"), "{}", run.err);
    let whole = zstd::encode_all(document("d", 3).to_string().repeat(99).as_bytes(), 0).unwrap();
    room.write("cut.jsonl.zst", &whole[..whole.len() / 2]);
    let run = room.run(&["import", "cut.jsonl.zst"], "");
    assert!(run.code == 3 && run.err.contains("fetch the file again"), "{}", run.err);
}

#[test]
fn exports_that_cannot_be_written() {
    let room = filled();
    let run = room.run(&["export", "-o", "no/such/folder.jsonl"], "");
    assert!(run.code == 3 && run.err.contains("cannot write no/such/folder.jsonl"), "{}", run.err);
    room.write("kept.jsonl", "before");
    let run = room.run(&["export", "-o", "kept.jsonl", "--collection", "none"], "");
    assert!(run.code == 3 && run.err.contains("no collection"), "{}", run.err);
    assert_eq!(std::fs::read_to_string(room.path().join("kept.jsonl")).unwrap(), "before");
}

#[test]
fn backup_and_restore() {
    let room = filled();
    let expected = answers(&room, "db");
    let run = room.good(&["backup", "saved", "--json"]);
    assert_eq!(run.json()[0], json!({ "from": "db", "to": "saved", "documents": 301 }));
    room.good(&["remove", "d1", "d2"]);
    assert_eq!(answers(&room, "saved"), expected, "a backup is a database");
    let restore = |db: &str, backup: &str| leitong_in(room.path(), &["restore", "--db", db, backup], "");
    let run = restore("again", "saved");
    assert_eq!((run.code, run.out.as_str()), (0, "restored\tagain\t301 documents\n"), "{}", run.err);
    assert_eq!(answers(&room, "again"), expected);
    assert_eq!(leitong_in(room.path(), &["check-db", "--db", "again"], "").code, 0);
    for (db, backup, what) in [
        ("again", "saved", "needs a new or empty folder"),
        ("new", "none", "there is no backup here"),
        ("new", ".", "no database"),
        ("memory:", "saved", "name a folder"),
    ] {
        let run = restore(db, backup);
        assert!(run.code == 3 && run.err.contains(what), "{db} {backup}: {}", run.err);
    }
    let run = room.run(&["backup", "saved"], "");
    assert!(run.code == 3 && run.err.contains("needs a new or empty folder"), "{}", run.err);
    assert!(!room.path().join("new").exists());
}

/// All files below a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Turns over some bits in the middle of a file.
pub(super) fn damage(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes.iter_mut().skip(middle).take(8).for_each(|byte| *byte ^= 0x5a);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_backup_is_refused() {
    let room = filled();
    room.good(&["backup", "saved"]);
    let largest = files(&room.path().join("saved/documents"))
        .into_iter()
        .max_by_key(|file| file.metadata().unwrap().len())
        .unwrap();
    damage(&largest);
    let run = leitong_in(room.path(), &["restore", "--db", "new", "saved"], "");
    assert_eq!((run.code, run.out.as_str()), (3, ""), "{}", run.err);
    assert!(run.err.contains("saved") && !run.err.contains("panicked"), "{}", run.err);
    assert!(!room.path().join("new").exists(), "nothing is restored");
}

#[test]
fn a_closed_pipe_is_success() {
    let room = filled();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_leitong"))
        .args(["export", "--db", "db"])
        .current_dir(room.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    let run = room.run(&["check", "-", "--json"], text(7));
    assert_eq!(matched(&run.json()[0]), ["d7"]);
}

/// A mistake leaves no database behind, whose recipe would then be that of the mistake.
#[test]
fn a_failed_import_leaves_nothing() {
    let room = Room::new();
    let closed = "redis://:secret@127.0.0.1:1";
    room.write("in.jsonl", "");
    for (arguments, why) in [
        (&["import", "missing.jsonl", "--db", "new"][..], "no such file"),
        (&["import", "--from", "cms-redis", closed, "--db", "new"], "does not answer"),
        (&["import", "--from", "cms-redis", "in.jsonl", "--db", "new"], "in.jsonl"),
        (&["import", closed, "--db", "new"], "give --from cms-redis too"),
    ] {
        let run = leitong_in(room.path(), arguments, "");
        assert_eq!(run.code, 3, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(why) && !run.err.contains("secret"), "{arguments:?}: {}", run.err);
        assert!(!room.path().join("new").exists(), "{arguments:?}");
    }
    room.jsonl("one.jsonl", &[document("a", 1)]);
    room.good(&["add", "one.jsonl"]);
    let run = leitong_in(room.path(), &["export", "--db", "db", "-o", closed], "");
    assert!(run.code == 3 && run.err.contains("give --to cms-redis too"), "{}", run.err);
    assert!(!run.err.contains("secret"), "{}", run.err);
}
