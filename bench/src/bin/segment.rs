//! Our Chinese segmenter beside jieba-rs, in one process on the same news, one thread: speed, start-up, memory; and word
//! SimHash from end to end.
//!
//! `cargo run --release -p leitong-bench --bin segment [--rounds N] [--megabytes N]`
//!
//! Instructions a character, by callgrind (profile `profiling`): `valgrind --tool=callgrind
//! --toggle-collect='*once*' target/profiling/segment --once ours|jieba plain|model|tags --megabytes 1`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use jieba_rs::Jieba;
use leitong_bench::data::{self, Result};
use leitong_bench::timing::{Stage, measure};
use leitong_detect::{Fingerprinter, Kind, Prepared, Recipe};
use leitong_text::segment::{Chinese, Mixed, Segment, UserDictionary};
use std::sync::Arc;
use std::time::Instant;

const MODES: [Mode; 3] = [
    Mode { name: "plain", hmm: false, tags: false },
    Mode { name: "model", hmm: true, tags: false },
    Mode { name: "tags", hmm: true, tags: true },
];

/// What is asked of both.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    hmm: bool,
    tags: bool,
}

fn main() -> Result<()> {
    let (mut rounds, mut bytes, mut once) = (7, usize::MAX, None);
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut next = || given.next().unwrap_or_default();
        match argument.as_str() {
            "--rounds" => rounds = next().parse()?,
            "--megabytes" => bytes = next().parse::<usize>()? * 1_000_000,
            "--once" => once = Some((next(), next())),
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    let mut left = bytes;
    let documents = data::documents("edits_background.jsonl.zst")?.into_iter().map(|document| document.text);
    let texts: Vec<String> = documents
        .take_while(|text| {
            let enough = left > 0;
            left = left.saturating_sub(text.len());
            enough
        })
        .collect();
    if let Some((who, mode)) = once {
        return count_once(&texts, &who, &mode);
    }
    let jieba = start_up();
    table(&texts, &jieba, rounds);
    end_to_end(&texts, rounds)
}

/// How long each takes to be ready for words and tags, and how much memory then stays.
fn start_up() -> Jieba {
    let text = "他来到了网易杭研大厦";
    let (before, start) = (resident(), Instant::now());
    let (mut offsets, mut tags) = (Vec::new(), Vec::new());
    let chinese = Chinese::new(UserDictionary::default(), true, true);
    chinese.tag_offsets(text, &mut offsets, &mut tags);
    println!("ready: ours {:.1} ms, {:.1} MB", start.elapsed().as_secs_f64() * 1e3, resident() - before);
    let (before, start) = (resident(), Instant::now());
    let jieba = Jieba::new();
    let count = jieba.tag(text, true).len();
    println!("ready: jieba-rs {:.1} ms, {:.1} MB", start.elapsed().as_secs_f64() * 1e3, resident() - before);
    assert_eq!(count, tags.len());
    jieba
}

/// Megabytes of memory in use.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * 4096.0 / 1e6
}

/// Our words as offsets, and jieba's as it gives them.
fn table(texts: &[String], jieba: &Jieba, rounds: usize) {
    let bytes = texts.iter().map(String::len).sum();
    let mut stages = Vec::new();
    for mode in MODES {
        let run = move || by_jieba(texts, jieba, mode);
        stages.push(Stage::new(format!("{}, jieba-rs", mode.name), bytes, run));
        let chinese = Chinese::new(UserDictionary::default(), mode.hmm, mode.tags);
        let run = move || by_us(texts, &chinese, mode);
        stages.push(Stage::new(format!("{}, ours", mode.name), bytes, run));
    }
    let mut words = Vec::new();
    let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, false));
    let run = move || {
        let count = |text: &String| {
            mixed.segment(text, &mut words);
            words.len() as u64
        };
        texts.iter().map(count).sum()
    };
    stages.push(Stage::new("model, ours as Mixed words", bytes, run));
    let speeds = measure(&mut stages, rounds);
    println!("{:.1} MB, {rounds} alternating rounds, MB/s: median (slowest to fastest)", bytes as f64 / 1e6);
    for speed in &speeds {
        let (slowest, fastest) = speed.range();
        println!("{:30} {:7.1} ({slowest:.1} to {fastest:.1})", speed.name, speed.median());
    }
    for pair in speeds.chunks_exact(2) {
        println!("{:30} {:7.2} times", pair[1].name, pair[1].median() / pair[0].median());
    }
}

/// Word SimHash: normalise, segment and filter, weigh and hash and fold; each line with all before it.
fn end_to_end(texts: &[String], rounds: usize) -> Result<()> {
    let bytes = texts.iter().map(String::len).sum();
    let mut stages = Vec::new();
    for name in ["leitong-words-1", "cms-redis"] {
        let fingerprinter = Arc::new(Fingerprinter::new(Recipe::built_in(name)?)?);
        let mut stage = |what: &str, run: fn(&Fingerprinter, &Prepared<'_>) -> usize| {
            let fingerprinter = Arc::clone(&fingerprinter);
            let count =
                move |text: &String| run(&fingerprinter, &fingerprinter.prepare(text.as_str())) as u64;
            stages.push(Stage::new(format!("{name}, {what}"), bytes, move || texts.iter().map(&count).sum()));
        };
        stage("normalised", |_, document| document.normalized().text.len());
        stage("tokens", |_, document| document.tokens().len());
        stage("SimHash", |fingerprinter, document| {
            let answer = fingerprinter.fingerprint(Kind::Simhash, document);
            usize::from(answer.is_ok_and(|answer| answer.value.is_some()))
        });
    }
    for speed in measure(&mut stages, rounds) {
        println!("{:30} {:7.1}", speed.name, speed.median());
    }
    Ok(())
}

fn by_jieba(texts: &[String], jieba: &Jieba, mode: Mode) -> u64 {
    let count = |text: &String| {
        if mode.tags { jieba.tag(text, mode.hmm).len() } else { jieba.cut(text, mode.hmm).len() }
    };
    texts.iter().map(|text| count(text) as u64).sum()
}

fn by_us(texts: &[String], chinese: &Chinese, mode: Mode) -> u64 {
    let (mut offsets, mut tags) = (Vec::new(), Vec::new());
    let mut count = |text: &String| {
        if mode.tags {
            chinese.tag_offsets(text, &mut offsets, &mut tags);
        } else {
            chinese.cut_offsets(text, &mut offsets);
        }
        offsets.len() as u64 - 1
    };
    texts.iter().map(&mut count).sum()
}

/// One pass for callgrind, after everything is loaded.
fn count_once(texts: &[String], who: &str, mode: &str) -> Result<()> {
    let mode = MODES.into_iter().find(|known| known.name == mode).ok_or("no such mode")?;
    let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
    let first = &texts[..1.min(texts.len())];
    let words = if who == "jieba" {
        let jieba = Jieba::new();
        by_jieba(first, &jieba, mode);
        once(|| by_jieba(texts, &jieba, mode))
    } else {
        let chinese = Chinese::new(UserDictionary::default(), mode.hmm, mode.tags);
        by_us(first, &chinese, mode);
        once(|| by_us(texts, &chinese, mode))
    };
    println!("{who}, {}: {words} words, {characters} characters", mode.name);
    Ok(())
}

#[inline(never)]
fn once(run: impl FnOnce() -> u64) -> u64 {
    std::hint::black_box(run())
}
