//! The commands that use a database, through the real binary: every step is a process of its own.

mod add;
mod care;
mod check;
mod exchange;
mod fields;
mod ids;
mod live;
mod servers;
mod similar;

use super::{Run, leitong_in};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A folder for a test; the database is `db` in it.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn db(&self) -> PathBuf {
        self.path().join("db")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    /// Writes documents as a file of JSON lines.
    fn jsonl(&self, name: &str, documents: &[Value]) {
        let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
        self.write(name, lines);
    }

    /// Runs a command on the database `db`.
    fn run(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        leitong_in(self.path(), &[&[arguments[0], "--db", "db"], &arguments[1..]].concat(), input)
    }

    /// Runs a command that must succeed.
    fn good(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments, "");
        assert_eq!(run.code, 0, "{arguments:?}: {}\n{}", run.err, run.out);
        run
    }

    /// Stores documents.
    fn store(&self, documents: &[Value]) {
        self.jsonl("stored.jsonl", documents);
        self.good(&["add", "stored.jsonl"]);
    }

    /// How many documents the default collection has.
    fn count(&self) -> u64 {
        self.good(&["stats", "--json"]).json()[0]["documents"].as_u64().unwrap()
    }
}

/// Words that a text is made of.
const WORDS: [&str; 40] = [
    "图书馆",
    "开馆",
    "市民",
    "借阅",
    "天气",
    "降温",
    "冷空气",
    "提醒",
    "出行",
    "安全",
    "经济",
    "增长",
    "企业",
    "投资",
    "市场",
    "股票",
    "医院",
    "医生",
    "疫苗",
    "健康",
    "学校",
    "老师",
    "学生",
    "考试",
    "地铁",
    "线路",
    "通车",
    "乘客",
    "球队",
    "比赛",
    "冠军",
    "教练",
    "电影",
    "导演",
    "票房",
    "观众",
    "农田",
    "丰收",
    "小麦",
    "机器",
];

/// A text of its own: texts of different numbers are not near each other.
pub(crate) fn text(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    let mut text = String::new();
    for sentence in 0..10 {
        (0..8).for_each(|_| text.push_str(word()));
        text.push_str(if sentence % 2 == 0 { "，" } else { "。" });
    }
    text
}

/// The same letters with other punctuation and width.
pub(crate) fn reprinted(number: u64) -> String {
    format!("　{}", text(number).replace('，', ",").replace('。', "！"))
}

/// A document of its own.
fn document(id: &str, number: u64) -> Value {
    json!({ "id": id, "text": text(number) })
}

/// The ids of a run's JSON lines.
fn ids(run: &Run) -> Vec<String> {
    run.json().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

/// The ids of the matches of a line.
fn matched(line: &Value) -> Vec<&str> {
    line["matches"].as_array().unwrap().iter().map(|found| found["id"].as_str().unwrap()).collect()
}
