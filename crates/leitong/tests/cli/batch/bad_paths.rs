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

#[test]
fn outputs_do_not_lie_in_folders_that_are_read() {
    let room = Room::new();
    std::fs::create_dir_all(room.at("corpus/deep")).unwrap();
    room.jsonl("corpus/in.jsonl", &[one("a", 1), one("b", 1), one("c", 2)]);
    std::os::unix::fs::symlink(room.at("corpus"), room.at("link")).unwrap();
    for arguments in [
        &["dedup", "corpus", "-o", "corpus/out.jsonl"][..],
        &["dedup", "corpus", "-o", "corpus/deep/out.jsonl"],
        &["dedup", "corpus", "-o", "link/out.jsonl"],
        &["dedup", "link", "-o", "corpus/out.jsonl"],
        &["dedup", ".", "-o", "out.jsonl"],
        &["dedup", "corpus", "-o", "out.jsonl", "--removed", "corpus/why.jsonl"],
        &["dedup", "corpus", "-o", "out.jsonl", "--journal", "corpus/journal"],
        &["dedup", "corpus", "-o", "out.jsonl", "--report", "corpus/r.html"],
        &["pairs", "corpus", "-o", "corpus/pairs.tsv"],
        &["cluster", "corpus", "-o", "corpus/clusters.tsv"],
    ] {
        let run = room.run(arguments);
        assert!(
            run.code == 3 && run.err.contains("name a place outside of it"),
            "{arguments:?}: {}",
            run.err
        );
    }
    let run = room.run(&["dedup", "corpus", "-o", "out.jsonl", "--work", "corpus/work"]);
    assert!(run.code == 3 && run.err.contains("name another with --work"), "{}", run.err);
    assert_eq!(room.names(), ["corpus", "link"]);
    assert_eq!(std::fs::read_dir(room.at("corpus")).unwrap().count(), 2);
    // Beside it all is well, as often as one likes.
    for _ in 0..2 {
        room.good(&["dedup", "corpus", "-o", "out.jsonl"]);
        assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    }
}

#[test]
fn an_input_in_the_work_folder_is_not_removed_with_it() {
    let room = Room::new();
    std::fs::create_dir(room.at("work")).unwrap();
    room.write("work/leitong-work", "");
    room.jsonl("work/in.jsonl", &[one("a", 1), one("b", 2)]);
    let run = room.run(&["dedup", "work/in.jsonl", "-o", "out.jsonl", "--work", "work"]);
    assert!(run.code == 3 && run.err.contains("--work"), "{}", run.err);
    assert!(room.at("work/in.jsonl").exists());
}

#[test]
fn pairs_and_clusters_take_no_place_either() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[one("a", 1), one("b", 1), one("c", 2)]);
    let before = room.read("in.jsonl");
    for command in ["pairs", "cluster"] {
        let cases: [(&[&str], &str); 4] = [
            (&["-o", "in.jsonl"], "is an input"),
            (&["-o", "nowhere/deep/out.tsv"], "there is no folder nowhere/deep"),
            (&["-o", "work/out.tsv", "--work", "work"], "--work folder"),
            (&["-o", "."], "not a plain file"),
        ];
        for (flags, why) in cases {
            let run = room.run(&[&[command, "in.jsonl"], flags].concat());
            assert!(run.code == 3 && run.err.contains(why), "{command} {flags:?}: {}", run.err);
            assert_eq!(room.names(), ["in.jsonl"], "{command} {flags:?}");
        }
    }
    room.write("pairs.tsv", "a\tb\n");
    room.write("curves.svg", "");
    let eval = ["eval", "--corpus", "in.jsonl", "--truth", "curves.svg", "--plot", "curves.svg"];
    let run = room.run(&eval);
    assert!(run.code == 3 && run.err.contains("is an input"), "{}", run.err);
    let run = room.run(&["eval", "--corpus", "in.jsonl", "--truth", "pairs.tsv", "--plot", "nowhere/c.svg"]);
    assert!(
        run.code == 3 && run.out.is_empty() && run.err.contains("nowhere"),
        "before the work: {}",
        run.err
    );
    assert_eq!(room.read("in.jsonl"), before);
}

#[test]
fn undo_takes_no_place_of_what_it_reads() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[one("a", 1), one("b", 1), one("c", 2)]);
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl"]);
    let (output, journal) = (room.read("out.jsonl"), room.read("out.jsonl.journal"));
    for to in ["out.jsonl", "out.jsonl.journal", "./out.jsonl"] {
        let run = room.run(&["undo", "out.jsonl.journal", "-o", to]);
        assert!(run.code == 3 && run.err.contains("is an input"), "{to}: {}", run.err);
    }
    assert_eq!((room.read("out.jsonl"), room.read("out.jsonl.journal")), (output, journal));
}

#[test]
fn links_stay_and_what_they_lead_to_is_written() {
    let room = Room::new();
    room.jsonl("in.jsonl", &[one("a", 1), one("b", 1), one("c", 2)]);
    std::fs::create_dir(room.at("disk")).unwrap();
    room.write("disk/there.jsonl", "what was there");
    // To a file, to what is not there yet, and to a link.
    for (name, to) in [
        ("out.jsonl", "disk/there.jsonl"),
        ("why.jsonl", "disk/new.jsonl"),
        ("more.tsv", "pairs.tsv"),
        ("pairs.tsv", "disk/p"),
    ] {
        std::os::unix::fs::symlink(to, room.at(name)).unwrap();
    }
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl"]);
    room.good(&["pairs", "in.jsonl", "-o", "more.tsv"]);
    let is_link = |name: &str| room.at(name).symlink_metadata().unwrap().is_symlink();
    for name in ["out.jsonl", "why.jsonl", "more.tsv", "pairs.tsv"] {
        assert!(is_link(name), "{name}");
    }
    assert_eq!(room.ids("disk/there.jsonl"), ["a", "c"]);
    assert_eq!(room.ids("disk/new.jsonl"), ["b"]);
    assert!(room.read("disk/p").starts_with("b\ta\texact"));
    room.good(&["undo", "out.jsonl.journal"]);
    assert!(is_link("out.jsonl") && room.bytes("disk/there.jsonl") == room.bytes("in.jsonl"));
    assert_eq!(std::fs::read_dir(room.at("disk")).unwrap().count(), 3, "nothing else");
    // A link to the input is the input.
    std::os::unix::fs::symlink("in.jsonl", room.at("same.jsonl")).unwrap();
    let run = room.run(&["dedup", "in.jsonl", "-o", "same.jsonl"]);
    assert!(run.code == 3 && run.err.contains("is an input"), "{}", run.err);
    std::os::unix::fs::symlink("nowhere/x.jsonl", room.at("lost.jsonl")).unwrap();
    let run = room.run(&["dedup", "in.jsonl", "-o", "lost.jsonl"]);
    assert!(run.code == 3 && run.err.contains("there is no folder nowhere"), "{}", run.err);
    std::os::unix::fs::symlink("loop.jsonl", room.at("loop.jsonl")).unwrap();
    let run = room.run(&["dedup", "in.jsonl", "-o", "loop.jsonl"]);
    assert!(run.code == 3 && run.err.contains("loop.jsonl"), "{}", run.err);
}
