//! `leitong stats`, `check-db` and `compact`, and folders that are damaged or cannot be written.

use super::exchange::{damage, files};
use super::{Room, document, reprinted, text};
use crate::leitong;
use serde_json::json;
use std::process::Command;

fn filled(count: u64) -> Room {
    let room = Room::new();
    room.store(&(0..count).map(|n| document(&format!("d{n}"), n)).collect::<Vec<_>>());
    room
}

fn answers(room: &Room, count: u64) -> String {
    let lines: String = (0..count).map(|n| format!("{}\n", reprinted(n))).collect();
    let run = room.run(&["check", "-"], lines);
    assert_eq!(run.code, 0, "{}", run.err);
    run.out
}

#[test]
fn stats_say_what_there_is() {
    let room = filled(25);
    room.good(&["remove", "d3"]);
    let stats = room.good(&["stats", "--json"]).json().remove(0);
    assert_eq!((stats["db"].as_str(), stats["documents"].as_u64()), (Some("db"), Some(24)));
    let own = &stats["collections"][0];
    assert_eq!((own["name"].as_str(), own["versions"].as_u64()), (Some("default"), Some(25)));
    assert_eq!((own["recipe"].as_str(), own["distance"].as_u64()), (Some("leitong-1"), Some(3)));
    assert_eq!(
        (own["texts_kept"].as_bool(), own["indexes"][0]["fingerprints"].as_u64()),
        (Some(true), Some(24))
    );
    let bytes = &stats["bytes"];
    assert!(bytes["total"].as_u64() > bytes["documents"].as_u64() && bytes["indexes"].is_u64(), "{bytes}");
    let plain = room.good(&["stats"]).out;
    for line in [
        "collection default",
        "documents   24",
        "recipe      leitong-1 (",
        "distance    3",
        "texts       kept",
        "in all",
    ] {
        assert!(plain.contains(line), "{line}: {plain}");
    }
    let memory = leitong(&["stats", "--db", "memory:", "--json"], "");
    assert_eq!(memory.json()[0]["documents"], json!(0));
}

#[test]
fn a_good_database_is_fine() {
    let room = filled(40);
    let run = room.good(&["check-db"]);
    assert_eq!(run.out, "fine\tdb: 40 records and 40 texts read, 0 problems\n");
    let report = room.good(&["check-db", "--json"]).json().remove(0);
    assert_eq!(report["ok"], json!(true));
    assert_eq!((report["records"].as_u64(), report["problem_count"].as_u64()), (Some(40), Some(0)));
    let expected = answers(&room, 40);
    assert!(room.good(&["check-db", "--repair"]).out.ends_with("40 records and 40 texts read, 0 problems\n"));
    assert_eq!(answers(&room, 40), expected, "a repair of what is whole changes nothing");
}

#[test]
fn damaged_indexes_are_found_and_made_anew() {
    let room = filled(300);
    let expected = answers(&room, 300);
    let mut damaged = 0;
    for file in files(&room.db().join("index")) {
        // Merges and repairs take files away.
        if file.metadata().map_or(0, |about| about.len()) == 0 {
            continue;
        }
        damaged += 1;
        damage(&file);
        let run = room.run(&["check-db", "--json"], "");
        let report = run.json().remove(0);
        let (found, mended) =
            (report["problem_count"].as_u64().unwrap(), report["mended"].as_array().unwrap());
        assert!(found > 0 || !mended.is_empty() || harmless(&file), "{}: {report}", file.display());
        assert_eq!(run.code, if found > 0 { 3 } else { 0 }, "{report}");
        if found > 0 {
            let run = room.run(&["check-db"], "");
            assert!(
                run.code == 3 && run.out.contains("problem\t") && run.out.contains("damaged\tdb"),
                "{}",
                run.out
            );
            let run = room.good(&["check-db", "--repair"]);
            assert!(run.out.contains("mended\t") && run.out.contains("fine\tdb"), "{}", run.out);
        }
        assert!(!run.err.contains("panicked"), "{}", run.err);
        room.good(&["check-db"]);
        assert_eq!(answers(&room, 300), expected, "{}", file.display());
    }
    assert!(damaged > 0);
}

/// The name of whoever has the folder: nothing depends on what it says.
fn harmless(file: &std::path::Path) -> bool {
    file.file_name().is_some_and(|name| name == "lock")
}

#[test]
fn lost_documents_are_never_passed_over() {
    let room = filled(60);
    let journal = files(&room.db().join("documents"))
        .into_iter()
        .find(|file| file.extension().is_some_and(|e| e == "jnl"));
    let journal = journal.unwrap();
    // It is longer than what has been written to it.
    let written = std::fs::read(&journal).unwrap().iter().rposition(|&byte| byte != 0).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&journal).unwrap();
    file.set_len(written as u64 / 2).unwrap();
    for arguments in [&["stats"][..], &["check", "-"], &["add", "-"]] {
        let run = room.run(arguments, text(1));
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{arguments:?}");
        assert!(run.err.contains("damaged") && run.err.contains("check-db --db db"), "{}", run.err);
        assert!(!run.err.contains("panicked"), "{}", run.err);
    }
    let run = room.run(&["check-db"], "");
    assert!(
        run.code == 3 && run.out.contains("problem\t") && run.out.contains("missing"),
        "{}{}",
        run.out,
        run.err
    );
    let run = room.good(&["check-db", "--repair"]);
    assert!(
        run.out.contains("mended\t") && run.out.contains("missing") && run.out.contains("fine\tdb"),
        "{}",
        run.out
    );
    assert_eq!(room.run(&["add", "-"], text(1)).code, 0, "and it can be used again");
}

#[test]
fn compact_changes_no_answer() {
    let room = filled(200);
    let removed: Vec<String> = (100..200).map(|n| format!("d{n}")).collect();
    room.good(&[&["remove"], &removed.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat());
    let expected = answers(&room, 200);
    let run = room.good(&["compact", "--json"]);
    assert!(run.json()[0]["bytes"].is_u64() && run.json()[0]["clusters_mended"] == 0, "{}", run.out);
    assert!(room.good(&["compact"]).out.starts_with("compacted\tdb\t"));
    assert_eq!(answers(&room, 200), expected);
    room.good(&["check-db"]);
}

/// Root may write anywhere, so another user tries.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written() {
    let room = filled(3);
    let binary = env!("CARGO_BIN_EXE_leitong");
    let as_nobody = |program: &str, arguments: &[&str]| {
        Command::new("runuser")
            .args(["-u", "nobody", "--", program])
            .args(arguments)
            .current_dir("/")
            .output()
    };
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let reachable = as_nobody("test", &["-x", binary]).is_ok_and(|output| output.status.success());
    let db = room.db().display().to_string();
    let readable = as_nobody("test", &["-r", &format!("{db}/leitong.json"), "-a", "!", "-w", &db]);
    if !reachable || !readable.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: a_folder_that_cannot_be_written (needs root, runuser, and a build that nobody can read)"
        );
        return;
    }
    for arguments in [&["stats"][..], &["check", "-"], &["remove", "d1"], &["check-db"]] {
        let output = as_nobody(binary, &[arguments, &["--db", &db]].concat()).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {err}");
        assert!(err.contains("ermission") && !err.contains("panicked"), "{arguments:?}: {err}");
    }
    assert_eq!(room.count(), 3);
    let new = room.path().join("new").display().to_string();
    let output = as_nobody(binary, &["add", "--db", &new, "/etc/hostname"]).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && err.contains("ermission"), "{err}");
}

/// A damaged block of records or texts cannot be mended, but costs only what stands in it.
#[test]
fn what_can_be_read_is_saved() {
    // Without marks the records are small.
    let room = Room::new();
    room.jsonl("all.jsonl", &(0..400).map(|i| document(&format!("d{i}"), i)).collect::<Vec<_>>());
    room.good(&["add", "all.jsonl", "--judge", "distance"]);
    room.good(&["compact"]);
    let tables = files(&room.db().join("documents/keyspaces"));
    let tables = tables.iter().filter(|path| path.to_string_lossy().contains("tables"));
    // The texts: the largest by far.
    let largest = tables.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(largest).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    std::fs::write(largest, bytes).unwrap();
    let run = room.run(&["check-db"], "");
    assert!(run.code == 3 && run.out.contains("checksum"), "{}", run.out);
    let run = room.good(&["check-db", "--repair"]);
    assert!(run.out.contains("texts of") && run.out.contains("the old files are in"), "{}", run.out);
    let report = room.good(&["check-db", "--json"]).json().remove(0);
    assert_eq!((report["ok"].as_bool(), report["records"].as_u64()), (Some(true), Some(400)));
    let texts = report["texts"].as_u64().unwrap();
    assert!((300..400).contains(&texts), "a block holds a few texts: {texts} of 400 were saved");
}
