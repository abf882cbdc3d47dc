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

#[test]
fn a_field_that_no_record_has_is_an_error() {
    let room = Room::new();
    corpus(&room);
    room.write("in.csv", "id,text,site\na,文字文字文字,x\nb,其他其他其他,y\n");
    let dedup = |flags: &[&'static str]| [&["dedup", "in.jsonl", "-o", "out.jsonl"], flags].concat();
    for (arguments, flag, field) in [
        (dedup(&["--source", "sit"]), "--source sit", "\"sit\""),
        (dedup(&["--keep", "longets"]), "--keep longets", "\"longets\""),
        (dedup(&["--keep", "newest", "--date", "pubished"]), "--date pubished", "\"pubished\""),
        (vec!["dedup", "in.csv", "-o", "out.csv", "--source", "Site"], "--source Site", "\"Site\""),
        (vec!["cluster", "in.jsonl", "-o", "c.tsv", "--keep", "lenght"], "--keep lenght", "\"lenght\""),
        (vec!["cluster", "in.jsonl", "--keep", "lenght"], "--keep lenght", "\"lenght\""),
    ] {
        let run = room.run(&arguments);
        assert_eq!(run.code, 3, "{arguments:?}");
        assert!(run.err.contains(flag) && run.err.contains(field), "{arguments:?}: {}", run.err);
        assert!(run.err.contains("the fields are id, site, text"), "{arguments:?}: {}", run.err);
        assert!(run.out.is_empty());
        assert_eq!(room.names(), ["in.csv", "in.jsonl"], "{arguments:?}: nothing is written");
    }
    let arguments = ["dedup", "--stdin", "jsonl", "-o", "out.jsonl", "--source", "sit"];
    let run = room.run_with(&arguments, room.bytes("in.jsonl"));
    assert!(run.code == 3 && run.err.contains("the fields are id, site, text"), "{}", run.err);
    assert_eq!(room.names(), ["in.csv", "in.jsonl"], "nor from standard input");
}

#[test]
fn a_field_of_the_last_record_is_enough() {
    let room = Room::new();
    let mut documents: Vec<Value> = (0..30).map(|at| document(&at.to_string(), &text(at))).collect();
    documents[29]["rare"] = "x".into();
    room.jsonl("in.jsonl", &documents);
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--source", "rare"]);
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--keep", "rare"]);
    assert!(run.err.contains("no document has a number in the field of --keep"), "{}", run.err);
    let run = room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--keep", "newest"]);
    assert!(run.err.contains("no document has a date"), "{}", run.err);
}

#[test]
fn what_the_database_has_counts_as_lost() {
    let room = Room::new();
    let of = |at: u64, source: &str| {
        let mut document = document(&format!("{source}{at}"), &text(at));
        document["site"] = source.into();
        document
    };
    let stored: Vec<Value> = (0..28).map(|at| of(at, "stored")).collect();
    room.jsonl("old.jsonl", &stored);
    room.good(&["add", "old.jsonl", "--db", "db"]);
    let new: Vec<Value> =
        (0..30).map(|at| of(at, "copied")).chain((100..130).map(|at| of(at, "own"))).collect();
    room.jsonl("in.jsonl", &new);
    let arguments = ["dedup", "in.jsonl", "-o", "out.jsonl", "--against", "db", "--source", "site"];
    let run = room.run(&arguments);
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.err.contains("1 source would lose more than 80 % of its documents"), "{}", run.err);
    assert!(run.err.contains("28\t30\tcopied"), "{}", run.err);
    assert!(!room.at("out.jsonl").exists());
    let forced = ["--force", "--report", "r.html", "--removed", "why.jsonl"];
    room.good(&[&arguments[..], &forced].concat());
    assert_eq!(room.ids("out.jsonl").len(), 32);
    assert_eq!(room.json("why.jsonl")[0]["source"], "copied");
    assert!(room.read("r.html").contains("<th scope=\"row\">copied</th><td>28</td><td>30</td>"));
}
