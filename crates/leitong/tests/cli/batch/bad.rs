use super::*;
use std::io::Write;

/// A file with something wrong in it, and what must be said.
fn broken(room: &Room) {
    let [a, b, c, d, _] = <[Value; 5]>::try_from(five()).unwrap();
    let lines = [
        a.to_string(),
        "{\"id\": \"x\", \"text\"".into(),
        b.to_string(),
        "{\"id\":\"no text\"}".into(),
        c.to_string(),
        d.to_string().replace("\"d\"", "\"a\""),
        "[1]".into(),
        "{\"id\":\"empty\",\"text\":\" \"}".into(),
    ];
    room.write("in.jsonl", lines.join("\n"));
}

#[test]
fn bad_records_are_named_and_left_out() {
    let room = Room::new();
    broken(&room);
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl", "--json"]);
    assert_eq!(run.code, 3);
    for said in [
        "in.jsonl, line 2: the line is not JSON",
        "in.jsonl, line 4: there is no text",
        "in.jsonl, line 6: the id \"a\" was there before",
        "in.jsonl, line 7: the line is JSON but no object",
        "in.jsonl, line 8: the field \"text\" is empty",
    ] {
        assert!(run.err.contains(said), "{said}: {}", run.err);
    }
    assert_eq!(room.ids("out.jsonl"), ["a", "c"]);
    assert_eq!((&run.json()[0]["skipped"], &run.json()[0]["documents"]), (&json!(5), &json!(3)));
    let run = room.run(&["dedup", "in.jsonl", "-o", "again.jsonl", "--on-error", "skip"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("5 records could not be used"), "{}", run.err);
    assert_eq!(room.bytes("again.jsonl"), room.bytes("out.jsonl"));
    assert_eq!(room.run(&["pairs", "in.jsonl"]).code, 3);
    assert_eq!(room.run(&["pairs", "in.jsonl", "--on-error", "skip"]).code, 0);
}

#[test]
fn stop_leaves_nothing_behind() {
    let room = Room::new();
    broken(&room);
    let arguments = ["dedup", "in.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl", "--on-error", "stop"];
    let run = room.run(&arguments);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("line 2") && run.err.contains("nothing was written"), "{}", run.err);
    assert_eq!(room.names(), ["in.jsonl"]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_truncated_gzip_file() {
    let room = Room::new();
    let lines: String = (0..400).map(|at| format!("{}\n", document(&at.to_string(), &text(at)))).collect();
    let whole = gzip(lines.as_bytes());
    room.write("in.jsonl.gz", &whole[..whole.len() / 2]);
    let run = room.run(&["dedup", "in.jsonl.gz", "-o", "out.jsonl"]);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("in.jsonl.gz, line ") && run.err.contains("cut short"), "{}", run.err);
    let kept = room.read("out.jsonl");
    assert!(!kept.is_empty() && lines.starts_with(&kept), "what was whole is there");
    let run = room.run(&["dedup", "in.jsonl.gz", "-o", "none.jsonl", "--on-error", "stop"]);
    assert!(run.code == 3 && !room.at("none.jsonl").exists());
}

#[test]
fn files_that_are_no_such_thing() {
    let room = Room::new();
    room.jsonl("good.jsonl", &five());
    room.write("bad.parquet", "PAR1 but not really");
    room.write("bad.csv", "name,body\n1,2\n");
    for (name, said) in [
        ("bad.parquet", "not a readable Parquet file"),
        ("bad.csv", "there is no column \"text\""),
        ("missing.jsonl", "no such file"),
        ("missing.txt", "no such file"),
    ] {
        let run = room.run(&["dedup", name, "good.jsonl", "-o", "out.jsonl"]);
        assert_eq!(run.code, 3, "{name}");
        assert!(run.err.contains(name) && run.err.contains(said), "{name}: {}", run.err);
        assert_eq!(room.ids("out.jsonl"), ["a", "c"], "{name}: the others are done");
    }
}

#[test]
fn texts_too_long_and_bytes_that_are_no_text() {
    let room = Room::new();
    let mut bytes = format!("{}\n", document("a", &text(1))).into_bytes();
    bytes.extend(b"{\"id\":\"x\",\"text\":\"\xff\"}\n");
    bytes.extend(format!("{}\n", document("long", &"长".repeat(4 << 20))).into_bytes());
    bytes.extend(format!("{}\n", document("b", &text(2))).into_bytes());
    room.write("in.jsonl", bytes);
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl", "--max-text", "1"]);
    assert_eq!(run.code, 3);
    assert!(
        run.err.contains("line 2: byte 19 ") && run.err.contains("line 3: the line is longer"),
        "{}",
        run.err
    );
    assert_eq!(room.ids("out.jsonl"), ["a", "b"]);
}

#[test]
fn wrong_flags() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    for wrong in [
        &["dedup", "in.jsonl"][..],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--memory", "1M"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--threads", "0"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--source", "s", "--alarm", "2"],
        &["pairs", "in.jsonl", "--on-error", "maybe"],
        &["pairs", "in.jsonl", "--distance", "3"],
        &["pairs", "in.jsonl", "--judge", "evidence", "--distance", "3"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--prefer", "a,b"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--keep", "longest", "--prefer", "a,b"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--keep", "newest", "--prefer", "a,b"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--date", "day"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--keep", "longest", "--date", "day"],
        &["dedup", "in.jsonl", "-o", "o.jsonl", "--keep", "text", "--date", "day"],
    ] {
        assert_eq!(room.run(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(room.names(), ["in.jsonl"]);
}

#[test]
fn an_input_that_is_rewritten_while_it_is_read() {
    let lines = |from: u64| {
        (from..from + 3)
            .map(|at| format!("{}\n", document(&format!("{at:04}"), &text(at))))
            .collect::<String>()
    };
    let read_twice = |second: &str, replaced: bool| {
        let room = Room::new();
        room.write("in.jsonl", lines(10));
        // A pipe is read behind it, so that the run waits in between for as long as it takes.
        assert!(std::process::Command::new("mkfifo").arg(room.at("pipe.jsonl")).status().unwrap().success());
        // One is a copy of what the first file had, which has to be read there again.
        let own = lines(20) + &format!("{}\n", document("copy", &format!("编辑部转载：{}", text(10))));
        let (folder, second) = (room.path().to_owned(), second.to_owned());
        std::thread::spawn(move || {
            let feed = || std::fs::OpenOptions::new().write(true).open(folder.join("pipe.jsonl")).unwrap();
            let mut first = feed();
            let to = folder.join(if replaced { "new.jsonl" } else { "in.jsonl" });
            if !second.is_empty() {
                std::fs::write(&to, second).unwrap();
                std::fs::rename(to, folder.join("in.jsonl")).unwrap();
            }
            first.write_all(own.as_bytes()).unwrap();
            drop(first);
            // When all is taken in, the pipe is opened for the second time.
            while !std::fs::read_to_string(folder.join("out.jsonl.work/state"))
                .is_ok_and(|state| state.contains("\"complete\":true"))
            {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            feed().write_all(own.as_bytes()).unwrap();
        });
        let run = room.run(&["dedup", "in.jsonl", "pipe.jsonl", "-o", "out.jsonl", "--removed", "why.jsonl"]);
        (room, run)
    };
    // The same number of records, and of bytes; or nothing that was there before.
    for (second, replaced) in [(lines(30), false), (lines(30), true), ("{}\n".to_owned(), false)] {
        let (room, run) = read_twice(&second, replaced);
        assert_eq!(run.code, 3, "{}", run.err);
        assert!(
            run.err.contains("in.jsonl: this input has changed while it was read; no file was written"),
            "{}",
            run.err
        );
        assert_eq!(room.names(), ["in.jsonl", "pipe.jsonl"]);
    }
    let (room, run) = read_twice("", false);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(room.ids("out.jsonl").len(), 6);
}

/// What follows a quote that is never closed would be a part of one text, and gone.
#[test]
fn a_quote_that_is_never_closed() {
    let room = Room::new();
    let (one, two, three) = (text(1), text(2), text(3));
    for (name, lines) in [
        ("in.csv", format!("id,text\na,{one}\nb,\"{two}\nc,{three}\n")),
        ("in.tsv", format!("id\ttext\na\t{one}\nb\t\"{two}\nc\t{three}")),
    ] {
        room.write(name, &lines);
        let output = format!("out-{name}");
        let run = room.run(&["dedup", name, "-o", &output, "--json"]);
        assert!(run.err.contains(&format!("{name}, line 3: a quote is opened here")), "{}", run.err);
        assert_eq!((run.code, run.json()[0]["documents"].as_u64()), (3, Some(1)), "{}", run.out);
        assert_eq!(
            room.read(&output),
            lines.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()
        );
        let run = room.run(&["add", name, "--db", &format!("db-{name}"), "--json"]);
        assert!(run.err.contains(&format!("{name}, line 3: a quote is opened here")), "{}", run.err);
        assert_eq!((run.code, run.json().len()), (3, 2), "{}", run.out);
    }
    room.write("empty.csv", "");
    let run = room.run(&["dedup", "empty.csv", "-o", "out.csv"]);
    assert!(run.code == 3 && run.err.contains("empty.csv, line 1: the file is empty"), "{}", run.err);
    room.write("header.csv", "id,\"text\na,b\n");
    let run = room.run(&["dedup", "header.csv", "-o", "out.csv"]);
    assert!(run.code == 3 && run.err.contains("header.csv, line 1: a quote is opened here"), "{}", run.err);
}

#[test]
fn a_pipe_is_an_input() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(20));
    let pipe = room.at("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let lines = room.read("in.jsonl");
    let writing = std::thread::spawn(move || std::fs::write(pipe, lines).unwrap());
    let run = room.good(&["dedup", "pipe.jsonl", "-o", "out.jsonl"]);
    writing.join().unwrap();
    assert!(run.err.contains("20 documents"), "{}", run.err);
    room.good(&["dedup", "in.jsonl", "-o", "plain.jsonl"]);
    assert_eq!(room.read("out.jsonl"), room.read("plain.jsonl"));
}
