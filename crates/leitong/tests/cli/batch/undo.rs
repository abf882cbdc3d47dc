use super::*;

#[test]
fn everything_comes_back_in_its_place() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(500));
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    let (clean, whole) = (room.bytes("out.jsonl"), room.bytes("in.jsonl"));
    assert_ne!(clean, whole);
    let run = room.good(&["undo", "out.jsonl.journal", "-o", "all.jsonl", "--json"]);
    assert_eq!(room.bytes("all.jsonl"), whole);
    assert_eq!(room.bytes("out.jsonl"), clean, "the output is as it was");
    let removed = 500 - clean.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(run.json()[0]["restored"], removed);
    room.good(&["undo", "out.jsonl.journal"]);
    assert_eq!(room.bytes("out.jsonl"), whole);
    assert_eq!(room.names(), ["all.jsonl", "in.jsonl", "out.jsonl"], "nothing is left to put back");
}

#[test]
fn one_after_the_other() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    room.good(&["undo", "out.jsonl.journal", "--only", "d"]);
    assert_eq!(room.ids("out.jsonl"), ["a", "c", "d"]);
    let run = room.run(&["undo", "out.jsonl.journal", "--only", "d"]);
    assert!(run.code == 3 && run.err.contains("\"d\""), "{}", run.err);
    room.good(&["undo", "out.jsonl.journal", "--only", "b", "--only", "e"]);
    assert_eq!(room.bytes("out.jsonl"), room.bytes("in.jsonl"));
    assert!(!room.at("out.jsonl.journal").exists());
}

#[test]
fn a_changed_output_is_refused() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    let clean = room.read("out.jsonl");
    room.write("out.jsonl", clean.replace('a', "A"));
    let run = room.run(&["undo", "out.jsonl.journal"]);
    assert!(run.code == 3 && run.err.contains("is not what `leitong dedup` wrote"), "{}", run.err);
    std::fs::remove_file(room.at("out.jsonl")).unwrap();
    let run = room.run(&["undo", "out.jsonl.journal"]);
    assert!(run.code == 3 && run.err.contains("no longer there"), "{}", run.err);
    room.write("out.jsonl", clean);
    let journal = room.read("out.jsonl.journal");
    room.write("out.jsonl.journal", &journal[..journal.len() / 2]);
    let run = room.run(&["undo", "out.jsonl.journal"]);
    assert!(run.code == 3 && run.err.contains("cut short"), "{}", run.err);
    let run = room.run(&["undo", "in.jsonl"]);
    assert!(run.code == 3 && run.err.contains("no journal"), "{}", run.err);
}

#[test]
fn without_a_journal() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--no-journal"]);
    assert_eq!(room.names(), ["in.jsonl", "out.jsonl"]);
}

/// Calls that change names, for strace, which counts each of them by itself.
pub(super) const CALLS: [&str; 2] = ["rename,renameat,renameat2", "unlink,unlinkat"];

/// Runs the program and kills it at its n-th such call; whether it came so far. Nothing where there is no strace.
pub(super) fn killed_at(room: &Room, calls: &str, number: usize, arguments: &[&str]) -> Option<bool> {
    let (trace, inject) = (format!("--trace={calls}"), format!("--inject={calls}:signal=KILL:when={number}"));
    let traced = std::process::Command::new("strace")
        .args(["-f", "-o", "/dev/null", &trace, &inject, env!("CARGO_BIN_EXE_leitong")])
        .args(arguments)
        .current_dir(room.path())
        .output()
        .ok()?;
    let is_killed = std::os::unix::process::ExitStatusExt::signal(&traced.status) == Some(9);
    (is_killed || traced.status.success()).then_some(is_killed)
}

#[test]
fn killed_at_any_step_it_is_finished_by_the_next() {
    let some: String = five()
        .iter()
        .filter(|one| one["id"] != "b" && one["id"] != "e")
        .map(|one| format!("{one}\n"))
        .collect();
    let all: String = five().iter().map(|one| format!("{one}\n")).collect();
    for (only, after) in [(&["--only", "d"][..], some), (&[], all)] {
        let undo = [&["undo", "out.jsonl.journal"], only].concat();
        let mut steps = 0;
        for (calls, number) in CALLS.iter().flat_map(|calls| (1..8).map(move |number| (calls, number))) {
            let room = Room::new();
            room.jsonl("in.jsonl", &five());
            room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
            let before = room.read("out.jsonl");
            match killed_at(&room, calls, number, &undo) {
                None => return println!("skipped: a killed undo (needs strace)"),
                Some(false) => continue,
                Some(true) => steps += 1,
            }
            let step = format!("{only:?}, {calls} {number}");
            assert!([&before, &after].contains(&&room.read("out.jsonl")), "{step}: neither old nor new");
            let run = room.good(&undo);
            assert!(run.out.starts_with("restored\t"), "{step}: {}", run.out);
            assert_eq!(room.read("out.jsonl"), after, "{step}");
            let left = ["in.jsonl", "out.jsonl", "out.jsonl.journal"];
            assert_eq!(room.names(), left[..if only.is_empty() { 2 } else { 3 }], "{step}");
            if !only.is_empty() {
                room.good(&["undo", "out.jsonl.journal"]);
                assert_eq!(room.bytes("out.jsonl"), room.bytes("in.jsonl"), "{step}: the journal fits");
            }
        }
        assert!(steps >= 4, "{only:?}: only {steps} steps");
    }
}

#[test]
fn what_changes_after_a_kill_is_not_replaced() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    let clean = room.read("out.jsonl");
    let seal = room.json("out.jsonl.journal").pop().unwrap()["seal"].clone();
    // As a kill leaves it: the plan is there, and what it tells of has not yet taken its place.
    room.good(&["undo", "out.jsonl.journal", "-o", "out.jsonl.partial"]);
    let file = json!({
        "from": room.at("out.jsonl.partial"), "to": room.at("out.jsonl"), "seal": { "bytes": 1, "xxh3": "" }, "was": seal,
    });
    let plan = json!({
        "leitong_undo": 1, "only": [], "restored": 3, "output": "out.jsonl", "moves": [file],
        "removes": [room.at("out.jsonl.journal")],
    });
    room.jsonl("out.jsonl.journal.undo", &[plan]);
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    assert!(run.code == 3 && run.err.contains("`leitong undo out.jsonl.journal`"), "{}", run.err);
    let run = room.run(&["undo", "out.jsonl.journal"]);
    assert!(
        run.code == 3 && run.err.contains("has been changed") && run.err.contains("to give it up"),
        "{}",
        run.err
    );
    room.write("out.jsonl.journal.undo", "{");
    let run = room.run(&["undo", "out.jsonl.journal"]);
    assert!(run.code == 3 && run.err.contains("out.jsonl.journal.undo"), "{}", run.err);
    assert_eq!(room.read("out.jsonl"), clean);
    std::fs::remove_file(room.at("out.jsonl.journal.undo")).unwrap();
    room.good(&["undo", "out.jsonl.journal"]);
    assert_eq!(room.bytes("out.jsonl"), room.bytes("in.jsonl"));
}
