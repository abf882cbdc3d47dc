//! The commands over many documents, through the real binary.

mod against;
mod alarm;
mod audit;
mod bad;
mod bad_paths;
mod columns;
mod dedup;
mod eval;
mod formats;
mod keep;
mod pairs;
mod plan;
mod report;
mod resume;
mod undo;

use super::database::{reprinted, text};
use super::{Run, leitong_in};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A folder for a test.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.at(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.at(name)).unwrap()
    }

    /// The names of everything in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn jsonl(&self, name: &str, documents: &[Value]) {
        let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
        self.write(name, lines);
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "")
    }

    fn run_with(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        leitong_in(self.path(), arguments, input)
    }

    /// Runs a command that must succeed.
    fn good(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}\n{}", run.err, run.out);
        run
    }

    /// The lines of a file of JSON.
    fn json(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The ids of a file of JSON lines.
    fn ids(&self, name: &str) -> Vec<String> {
        self.json(name).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// The same text with a sentence changed.
fn edited(number: u64) -> String {
    let own = text(number);
    let at = own.char_indices().nth(40).unwrap().0;
    let end = own.char_indices().nth(46).unwrap().0;
    format!("{}另外还有消息{}", &own[..at], &own[end..])
}

fn document(id: &str, text: &str) -> Value {
    json!({ "id": id, "text": text })
}

/// Five documents: the second and the fourth are copies of the first, the fifth is one of the third.
fn five() -> Vec<Value> {
    vec![
        document("a", &text(1)),
        document("b", &reprinted(1)),
        document("c", &text(2)),
        document("d", &edited(1)),
        document("e", &edited(2)),
    ]
}

/// A generated corpus with copies all over it.
fn many(count: u64) -> Vec<Value> {
    (0..count)
        .map(|at| {
            let text = match at % 7 {
                3 => edited(at / 2),
                5 => reprinted(at / 3),
                _ => text(at),
            };
            json!({ "id": format!("n{at}"), "text": text, "source": format!("s{}", at % 3) })
        })
        .collect()
}
