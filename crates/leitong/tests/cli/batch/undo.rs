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
