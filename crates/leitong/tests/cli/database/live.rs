//! A process that has the database while others come.

use super::{Room, reprinted, text};
use crate::leitong_in;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A command whose input stays open.
struct Live {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Live {
    fn start(room: &Room, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_leitong"))
            .args(arguments)
            .current_dir(room.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, lines }
    }

    /// Writes a line and waits for its answer, long before the input ends.
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn end(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

#[test]
fn every_line_is_answered_as_it_comes() {
    let room = Room::new();
    let mut live = Live::start(&room, &["add", "--db", "db", "--unless-duplicate"]);
    for number in 1..=5 {
        assert_eq!(live.ask(&text(number)), format!("stored\t{}", 2 * number - 1));
        let answer = live.ask(&reprinted(number));
        assert!(
            answer.starts_with(&format!("duplicate\t{}\t{}\texact", 2 * number, 2 * number - 1)),
            "{answer}"
        );
    }
    assert_eq!(live.end(), 0);
    assert_eq!(room.count(), 5);
}

#[test]
fn a_second_process_is_told_who_has_it() {
    let room = Room::new();
    let mut live = Live::start(&room, &["add", "--db", "db"]);
    live.ask(&text(1));
    for arguments in [&["stats"][..], &["add", "-"], &["check", "-"], &["check-db"], &["compact"]] {
        let run = room.run(arguments, text(2));
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{arguments:?}");
        assert!(run.err.contains("db is in use by leitong add (process "), "{arguments:?}: {}", run.err);
    }
    assert_eq!(live.ask(&text(3)), "stored\t2", "the first goes on");
    assert_eq!(live.end(), 0);
    assert_eq!(room.count(), 2);
}

#[test]
fn a_backup_is_made_while_another_writes() {
    let room = Room::new();
    let mut live = Live::start(&room, &["add", "--db", "db"]);
    (1..=20).for_each(|number| drop(live.ask(&text(number))));
    let run = room.good(&["backup", "saved"]);
    assert_eq!(run.out, "backup\tsaved\t20 documents\n");
    live.ask(&text(21));
    assert_eq!(live.end(), 0);
    assert_eq!(room.count(), 21);
    let saved = |command: &[&str], input: String| {
        leitong_in(room.path(), &[command, &["--db", "saved"]].concat(), input)
    };
    assert_eq!(saved(&["check-db"], String::new()).code, 0);
    let run = saved(&["check", "-"], format!("{}\n{}\n", text(20), text(21)));
    assert!(run.lines()[0].starts_with("duplicate") && run.lines()[1].starts_with("new"), "{}", run.out);
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let room = Room::new();
    let mut live = Live::start(&room, &["add", "--db", "db"]);
    (1..=30).for_each(|number| drop(live.ask(&text(number))));
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    assert_eq!(room.count(), 30);
    assert!(room.good(&["check-db"]).out.contains("30 records and 30 texts read, 0 problems"));
    let input: String = (1..=30).map(|number| format!("{}\n", reprinted(number))).collect();
    let run = room.run(&["check", "-", "--json"], input);
    assert!(run.json().iter().all(|line| line["duplicate"] == true));
}

#[test]
fn whatever_was_printed_before_a_kill_is_stored() {
    let room = Room::new();
    let documents: Vec<_> = (0..8_000).map(|n| super::document(&format!("d{n}"), n)).collect();
    room.jsonl("many.jsonl", &documents);
    let mut live = Live::start(&room, &["add", "many.jsonl", "--db", "db"]);
    let mut printed: Vec<String> = live.lines.iter().take(1000).collect();
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    printed.extend(live.lines.iter());
    // The last line may have been cut off.
    printed.pop();
    assert!(printed.len() < 8_000, "it was killed in the middle");
    let ids: String =
        printed.iter().map(|line| format!("{}\n", line.strip_prefix("stored\t").unwrap())).collect();
    let run = room.run(&["get", "-", "--json"], ids);
    assert_eq!((run.code, run.json().len()), (0, printed.len()), "{}", run.err);
    // And the run can be repeated.
    assert_eq!(room.good(&["add", "many.jsonl"]).lines().len(), 8_000);
    assert_eq!(room.count(), 8_000);
    room.good(&["check-db"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let room = Room::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_leitong"))
        .args(["add", "--db", "db"])
        .current_dir(room.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let mut number = 0;
    // Fails once the program has ended, which is what is waited for.
    while writeln!(input, "{}", text(number)).is_ok() {
        number += 1;
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(room.good(&["check-db"]).code, 0);
}
