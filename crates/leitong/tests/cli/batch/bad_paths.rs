//! Outputs that would take the place of something.

use super::*;

fn one(id: &str, number: u64) -> Value {
    json!({ "id": id, "text": text(number) })
}

#[test]
fn outputs_do_not_take_the_place_of_inputs_or_each_other() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[one("a", 1), one("b", 1), one("c", 2)]);
    let before = room.read("in.jsonl");
    let cases: [(&[&str], &str); 5] = [
        (&["-o", "in.jsonl"], "is an input"),
        (&["-o", "./in.jsonl"], "is an input"),
        (&["-o", "out.jsonl", "--removed", "out.jsonl"], "two outputs"),
        (&["-o", "out.jsonl", "--removed", "out.jsonl.journal"], "two outputs"),
        (&["-o", "work/out.jsonl", "--work", "work"], "--work folder"),
    ];
    std::fs::create_dir(room.path().join("work")).unwrap();
    for (flags, why) in cases {
        let run = room.run(&[&["dedup", "in.jsonl"], flags].concat());
        assert_eq!(run.code, 3, "{flags:?}: {}", run.err);
        assert!(run.err.contains(why), "{flags:?}: {}", run.err);
        assert_eq!(room.read("in.jsonl"), before);
    }
}

#[test]
fn nothing_read_writes_nothing() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[one("a", 1), one("b", 2)]);
    std::fs::write(room.path().join("out.jsonl"), "what was there\n").unwrap();
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl", "--text", "body"]);
    assert!(run.code == 3 && run.err.contains("nothing was written"), "{}", run.err);
    assert_eq!(room.read("out.jsonl"), "what was there\n");
}

#[test]
fn a_mark_of_the_encoding_is_no_error() {
    let room = Room::new();
    room.jsonl("plain.jsonl", &[one("a", 1), one("b", 2)]);
    let marked = format!("\u{feff}{}", room.read("plain.jsonl"));
    std::fs::write(room.path().join("in.jsonl"), &marked).unwrap();
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    assert_eq!(room.read("out.jsonl"), marked);
}
