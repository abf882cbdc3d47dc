//! Our Chinese segmenter beside jieba-rs, in one process on the same news, one thread: speed, start-up, memory; and word
//! SimHash from end to end.
//!
//! `cargo run --release -p leitong-bench --bin segment [--rounds N] [--megabytes N]`
//!
//! Instructions a character, by callgrind (profile `profiling`): `valgrind --tool=callgrind
//! --toggle-collect='*once*' target/profiling/segment --once ours|jieba plain|model|tags --megabytes 1`; of word SimHash
//! with `--once ours simhash`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use jieba_rs::Jieba;
use leitong_bench::data::{self, Result};
use leitong_bench::timing::{Stage, measure};
use leitong_detect::{Fingerprinter, Kind, Prepared, Recipe, Scratch};
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
    end_to_end(&texts, rounds.min(5))
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

/// Turns a round. So many that a busy neighbour slows both alike, and so few that caches the other one filled do not count:
/// a turn is some 5 MB of text.
const TURNS: usize = 10;

/// Our words as offsets, and jieba's as it gives them. Both take turns; a round is the whole text, and
/// its ratio is that of the two times.
fn table(texts: &[String], jieba: &Jieba, rounds: usize) {
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    println!("{megabytes:.1} MB, {rounds} rounds in turns, MB/s and ratio: median (smallest to largest)");
    for mode in MODES {
        let chinese = Chinese::new(UserDictionary::default(), mode.hmm, mode.tags);
        let (mut theirs, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (mut their_time, mut our_time) = (0.0, 0.0);
            for batch in texts.chunks(texts.len().div_ceil(TURNS).max(1)) {
                let start = Instant::now();
                let their_words = by_jieba(batch, jieba, mode);
                their_time += start.elapsed().as_secs_f64();
                let start = Instant::now();
                let our_words = by_us(batch, &chinese, mode);
                our_time += start.elapsed().as_secs_f64();
                assert_eq!(our_words, their_words);
            }
            theirs.push(megabytes / their_time);
            ours.push(megabytes / our_time);
            ratios.push(their_time / our_time);
        }
        let name = mode.name;
        println!("{name:6} jieba-rs {}   ours {}   ratio {}", spread(theirs), spread(ours), spread(ratios));
    }
}

/// The median, and the range around it.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |number: usize| values.get(number).copied().unwrap_or(0.0);
    let last = values.len().saturating_sub(1);
    format!("{:.2} ({:.2} to {:.2})", at(values.len() / 2), at(0), at(last))
}

/// Word SimHash: normalise, segment and filter, weigh and hash and fold; each line with all before it.
fn end_to_end(texts: &[String], rounds: usize) -> Result<()> {
    let bytes = texts.iter().map(String::len).sum();
    let mut stages = Vec::new();
    let mut words = Vec::new();
    let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, false));
    let mut count = move |text: &String| {
        mixed.segment(text, &mut words);
        words.len() as u64
    };
    stages.push(Stage::new("Mixed, words", bytes, move || texts.iter().map(&mut count).sum()));
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
        let (many, mut scratch) = (Arc::clone(&fingerprinter), Scratch::default());
        if texts.iter().all(|text| many.simhash64(text, &mut scratch).is_none()) {
            continue; // There is no such way for this recipe.
        }
        stages.push(Stage::new(format!("{name}, SimHash of many"), bytes, move || {
            texts.iter().filter(|text| many.simhash64(text, &mut scratch).is_some()).count() as u64
        }));
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
    let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
    let first = &texts[..1.min(texts.len())];
    if mode == "simhash" {
        let fingerprinter = Fingerprinter::new(Recipe::built_in("leitong-words-1")?)?;
        let mut scratch = Scratch::default();
        let mut count = |texts: &[String]| {
            texts.iter().filter(|text| fingerprinter.simhash64(text, &mut scratch).is_some()).count() as u64
        };
        count(first);
        let start = Instant::now();
        let number = once(|| count(texts));
        println!("SimHash: {number} texts, {characters} characters, {}", speed(texts, start));
        return Ok(());
    }
    let mode = MODES.into_iter().find(|known| known.name == mode).ok_or("no such mode")?;
    let (words, start) = if who == "jieba" {
        let jieba = Jieba::new();
        by_jieba(first, &jieba, mode);
        let start = Instant::now();
        (once(|| by_jieba(texts, &jieba, mode)), start)
    } else {
        let chinese = Chinese::new(UserDictionary::default(), mode.hmm, mode.tags);
        by_us(first, &chinese, mode);
        let start = Instant::now();
        (once(|| by_us(texts, &chinese, mode)), start)
    };
    println!("{who}, {}: {words} words, {characters} characters, {}", mode.name, speed(texts, start));
    Ok(())
}

fn speed(texts: &[String], start: Instant) -> String {
    let bytes: usize = texts.iter().map(String::len).sum();
    format!("{:.1} MB/s", bytes as f64 / 1e6 / start.elapsed().as_secs_f64())
}

#[inline(never)]
fn once(run: impl FnOnce() -> u64) -> u64 {
    std::hint::black_box(run())
}
