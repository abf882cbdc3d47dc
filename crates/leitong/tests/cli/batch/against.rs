use super::*;

#[test]
fn what_the_database_has_goes() {
    let room = Room::new();
    room.jsonl("old.jsonl", &[document("stored", &text(1)), document("other", &text(50))]);
    room.good(&["add", "old.jsonl", "--db", "db"]);
    let mut new = five();
    new.push(document("stored", &text(50)));
    room.jsonl("new.jsonl", &new);
    let arguments =
        ["dedup", "new.jsonl", "-o", "out.jsonl", "--against", "db", "--removed", "why.jsonl", "--json"];
    let run = room.good(&arguments);
    // Copies that only differ in edits are for the judge of the database; equal ones are found by any.
    assert!(
        !room.ids("out.jsonl").contains(&"a".to_owned()) && room.ids("out.jsonl").contains(&"c".to_owned())
    );
    let why = room.json("why.jsonl");
    let of = |id: &str| why.iter().find(|line| line["id"] == id).unwrap();
    assert_eq!((&of("a")["kept"], &of("a")["against"]), (&json!("stored"), &json!(true)));
    assert_eq!(of("b")["kept"], "stored");
    assert_eq!(of("stored")["kept"], "other", "its own id does not protect it");
    assert!(run.json()[0]["against"].as_u64().unwrap() >= 3);
    room.good(&["undo", "out.jsonl.journal"]);
    assert_eq!(room.bytes("out.jsonl"), room.bytes("new.jsonl"));
}

#[test]
fn a_database_that_is_not_there() {
    let room = Room::new();
    room.jsonl("new.jsonl", &five());
    let run = room.run(&["dedup", "new.jsonl", "-o", "out.jsonl", "--against", "nodb"]);
    assert!(run.code == 3 && run.err.contains("nodb"), "{}", run.err);
    room.good(&["add", "new.jsonl", "--db", "db"]);
    let run = room.run(&["dedup", "new.jsonl", "-o", "out.jsonl", "--against", "db", "--collection", "none"]);
    assert!(run.code == 3 && run.err.contains("none"), "{}", run.err);
    assert_eq!(room.names(), ["db", "new.jsonl"]);
}
