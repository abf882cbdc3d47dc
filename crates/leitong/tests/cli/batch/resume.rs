use super::*;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ARGUMENTS: [&str; 7] = ["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl", "--json"];

fn start(room: &Room) -> Child {
    Command::new(env!("CARGO_BIN_EXE_leitong"))
        .args(ARGUMENTS)
        .current_dir(room.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts a run and kills it as soon as its notes say something; whether it was still at work.
fn killed_when(room: &Room, is_time: impl Fn(&Value) -> bool) -> bool {
    let mut child = start(room);
    let begun = Instant::now();
    loop {
        let state = std::fs::read(room.at("out.jsonl.work/state")).unwrap_or_default();
        if serde_json::from_slice(&state).is_ok_and(|state| is_time(&state)) {
            child.kill().unwrap();
        }
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().is_none();
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the run takes too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Small documents, so that a checkpoint comes soon.
fn corpus(room: &Room) {
    let short = |at: u64| text(at).chars().take(60).collect::<String>();
    let lines = (0..45_000_u64).map(|at| match at {
        30_001 => "{broken\n".to_owned(),
        _ if at % 9 == 4 => format!("{}\n", document(&at.to_string(), &short(at / 2))),
        _ => format!("{}\n", document(&at.to_string(), &short(at))),
    });
    room.write("in.jsonl", lines.collect::<String>());
}

#[test]
fn a_killed_run_goes_on() {
    if super::super::quick("a killed run goes on") {
        return;
    }
    let whole = Room::new();
    corpus(&whole);
    assert_eq!(whole.run(&ARGUMENTS).code, 3, "one line is broken");
    let room = Room::new();
    corpus(&room);
    let documents = |state: &Value| state["documents"].as_u64().unwrap_or(0);
    assert!(killed_when(&room, |state| documents(state) >= 20_000), "killed while reading");
    assert!(!room.at("out.jsonl").exists() && room.at("out.jsonl.work").is_dir());
    assert!(killed_when(&room, |state| state["complete"] == true), "killed while comparing");
    let run = room.run(&ARGUMENTS);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains("going on behind 44999 documents"), "{}", run.err);
    for name in ["out.jsonl", "why.jsonl", "out.jsonl.journal"] {
        assert!(room.bytes(name) == whole.bytes(name), "{name}");
    }
    assert_eq!(run.json()[0]["skipped"], 1);
    assert!(!room.at("out.jsonl.work").exists());
}

#[test]
fn other_inputs_or_flags_are_refused() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(60));
    let alarming = ["dedup", "in.jsonl", "-o", "out.jsonl", "--source", "source", "--alarm", "0"];
    assert_eq!(room.run(&alarming).code, 3, "stays in its folder");
    let run = room.run(&[&alarming[..], &["--keep", "longest"]].concat());
    assert!(run.code == 3 && run.err.contains("other flags") && run.err.contains("--work"), "{}", run.err);
    room.jsonl("in.jsonl", &many(61));
    let run = room.run(&alarming);
    assert!(run.code == 3 && run.err.contains("other inputs"), "{}", run.err);
    std::fs::remove_dir_all(room.at("out.jsonl.work")).unwrap();
    room.good(&[&alarming[..], &["--force"]].concat());
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    std::fs::create_dir(room.at("mine")).unwrap();
    room.write("mine/precious", "x");
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl", "--work", "mine"]);
    assert!(run.code == 3 && run.err.contains("other files"), "{}", run.err);
    assert_eq!(room.read("mine/precious"), "x");
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--work", "new"]);
    assert!(!room.at("new").exists());
}
