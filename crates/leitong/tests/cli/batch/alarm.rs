use super::*;

/// Thirty documents of a source that repeats itself, and thirty of one that does not.
fn corpus(room: &Room) {
    let of = |at: u64, source: &str, text: String| {
        let mut document = document(&format!("{source}{at}"), &text);
        document["site"] = source.into();
        document
    };
    let copies = (0..30).map(|at| of(at, "copied", text(1)));
    let others = (0..30).map(|at| of(at, "own", text(100 + at)));
    room.jsonl("in.jsonl", &copies.chain(others).collect::<Vec<_>>());
}

#[test]
fn a_source_that_would_vanish_stops_the_run() {
    let room = Room::new();
    corpus(&room);
    let arguments = ["dedup", "in.jsonl", "-o", "out.jsonl", "--source", "site"];
    let run = room.run(&arguments);
    assert_eq!(run.code, 3);
    assert!(
        run.err.contains("1 source would lose more than 80 %") && run.err.contains("29\t30\tcopied"),
        "{}",
        run.err
    );
    assert_eq!(room.names(), ["in.jsonl", "out.jsonl.work"], "nothing is written");
    let run = room.good(&[&arguments[..], &["--force"]].concat());
    assert!(run.err.contains("going on behind 60 documents"), "{}", run.err);
    assert_eq!(room.ids("out.jsonl").len(), 31);
    assert!(!room.at("out.jsonl.work").exists());
}

#[test]
fn the_share_can_be_set() {
    let room = Room::new();
    corpus(&room);
    for flags in [&["--source", "site", "--alarm", "off"][..], &["--source", "site", "--alarm", "0.97"], &[]]
    {
        room.good(&[&["dedup", "in.jsonl", "-o", "out.jsonl"], flags].concat());
        assert_eq!(room.ids("out.jsonl").len(), 31, "{flags:?}");
    }
    let run = room.run(&["dedup", "in.jsonl", "-o", "other.jsonl", "--source", "site", "--alarm", "0.5"]);
    assert_eq!(run.code, 3);
}
