//! The Rust side of the rivals: makes the data and the truth, and measures one rival a run. `run.py` calls it.

mod data;
mod files;
mod measure;
mod truth;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use all_pairs_hamming::ChunkedJoiner;
use all_pairs_hamming::sketch::Sketch;
use gaoya::simhash::SimHashIndex;
use measure::Task;
use truth::{Score, Truth};

const USAGE: &str = "usage: leitong-rivals data KIND N VALUES QUERIES | truth VALUES QUERIES K TRUTH \
                     | (gaoya | mih) VALUES QUERIES TRUTH K SECONDS | (join-u32 | join-u64) VALUES K; run.py calls it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<String, String> {
    match *arguments {
        ["data", kind, n, values_path, queries_path] => {
            let kind =
                data::Kind::parse(kind).ok_or_else(|| format!("{kind}: give uniform, skew or pileup"))?;
            let values = data::values(kind, number(n)?.max(1));
            let queries = data::queries(&values, 10_000);
            files::write(Path::new(queries_path), queries.iter().map(|value| value.to_le_bytes()))?;
            files::write(Path::new(values_path), values.iter().map(|value| value.to_le_bytes()))?;
            Ok(String::new())
        }
        ["truth", values, queries, k, prefix] => {
            let values = files::read(Path::new(values))?;
            let queries = files::read(Path::new(queries))?;
            Truth::write(prefix, &truth::scan(&values, &queries, number(k)? as u32))?;
            Ok(String::new())
        }
        [rival @ ("gaoya" | "mih"), values, queries, truth, k, budget] => {
            let task = Task {
                values: values.into(),
                queries: queries.into(),
                truth: truth.into(),
                k: number(k)?,
                budget: number(budget)? as f64,
            };
            if rival == "gaoya" { gaoya(&task) } else { mih(&task) }
        }
        ["join-u32", values, k] => {
            let mut joiner = ChunkedJoiner::<u32>::new(2);
            join(values, number(k)?, "2 chunks of u32", |value| {
                joiner.add([value as u32, (value >> 32) as u32])
            })
            .and_then(|input| pairs(&joiner, input))
        }
        ["join-u64", values, k] => {
            let mut joiner = ChunkedJoiner::<u64>::new(1);
            join(values, number(k)?, "1 chunk of u64", |value| joiner.add([value]))
                .and_then(|input| pairs(&joiner, input))
        }
        _ => Err(USAGE.into()),
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text}: give a whole number; {USAGE}"))
}

/// gaoya compares with "less than" and uses the same number for its tables, so that `k` bits need `k + 1` there.
/// Two more blocks than that leave two blocks equal: 21 bits each table for `k` = 3, 15 tables.
fn gaoya(task: &Task) -> Result<String, String> {
    let (blocks, distance) = (task.k + 3, task.k + 1);
    measure::index(
        task,
        |values| {
            let mut index = SimHashIndex::<u64, u32>::new(blocks, distance);
            for (ordinal, value) in values.into_iter().enumerate() {
                index.insert(ordinal as u32, value);
            }
            Ok(index)
        },
        |_| format!("SimHashIndex::new({blocks}, {distance})"),
        |index| Box::new(|query, answers| answers.extend(index.query(&query).into_iter().copied())),
    )
}

/// mih-rs picks the number of blocks itself, from the number of values.
fn mih(task: &Task) -> Result<String, String> {
    let k = task.k;
    measure::index(
        task,
        |values| mih_rs::Index::new(values).map_err(|error| error.to_string()),
        |index| format!("{} blocks (its choice)", index.num_blocks()),
        move |index| {
            let mut searcher = index.range_searcher();
            Box::new(move |query, answers| answers.extend_from_slice(searcher.run(query, k)))
        },
    )
}

/// What a join goes on with once the values are in the joiner.
struct Input {
    path: String,
    k: usize,
    settings: &'static str,
    before: u64,
    start: Instant,
    cpu: f64,
}

fn join<E: std::fmt::Display>(
    path: &str,
    k: usize,
    settings: &'static str,
    mut add: impl FnMut(u64) -> Result<(), E>,
) -> Result<Input, String> {
    let before = files::memory("VmRSS");
    let values = files::read(Path::new(path))?;
    let (start, cpu) = (Instant::now(), files::cpu_seconds());
    for &value in &values {
        add(value).map_err(|error| error.to_string())?;
    }
    Ok(Input { path: path.into(), k, settings, before, start, cpu })
}

/// The pairs, timed, and those of 1,000 values compared with a scan.
fn pairs<S: Sketch>(joiner: &ChunkedJoiner<S>, input: Input) -> Result<String, String> {
    let Input { path, k, settings, before, start, cpu } = input;
    let pairs = joiner.similar_pairs(k as f64 / 64.0); // exact in binary, no bit is lost
    let (wall_s, cpu_s) = (start.elapsed().as_secs_f64(), files::cpu_seconds() - cpu);
    let peak = files::memory("VmHWM");

    let values = files::read(Path::new(&path))?;
    let step = (values.len() / 1000).max(1);
    let sample: Vec<u64> = values.iter().copied().step_by(step).collect();
    let mut found = vec![Vec::new(); sample.len()];
    for &(left, right, _) in &pairs {
        for (one, other) in [(left, right), (right, left)] {
            if one % step == 0 {
                found[one / step].push(other as u32);
            }
        }
    }
    let mut score = Score::default();
    for (number, mut truth) in truth::scan(&values, &sample, k as u32).into_iter().enumerate() {
        truth.retain(|&ordinal| ordinal as usize != number * step); // nothing is its own pair
        score.add(&truth, &mut found[number]);
    }
    Ok(format!(
        "{{\"settings\":\"{settings}\",\"n\":{},\"wall_s\":{wall_s:.3},\"cpu_s\":{cpu_s:.2},\"pairs\":{},\"peak_bytes\":{peak},\
         \"bytes_per_item\":{:.1},{}}}",
        values.len(),
        pairs.len(),
        peak.saturating_sub(before) as f64 / values.len() as f64,
        score.json(),
    ))
}
