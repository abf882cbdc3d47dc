//! Collapse: different texts that get the same fingerprint, or nearly so.

use crate::data::Document;
use crate::near::{self, share};
use leitong_fingerprint::hash::own64;
use leitong_fingerprint::shingle::Shingles;

/// How well fingerprints of unrelated texts are spread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Mean distance of unrelated texts; 32 of 64 bits would be perfect.
    pub mean: f64,
    /// Standard deviation of that distance; 4 would be perfect.
    pub deviation: f64,
    /// Bits that nine texts of ten agree on.
    pub stuck_bits: usize,
}

/// Measures a sample of pairs. Texts that stand far apart in the set are taken to be unrelated.
#[must_use]
pub fn spread(fingerprints: &[Option<u64>]) -> Spread {
    let values: Vec<u64> = fingerprints.iter().flatten().copied().collect();
    if values.len() < 2 {
        return Spread::default();
    }
    let steps = [values.len() / 7 + 1, values.len() / 5 + 1, values.len() / 3 + 1, values.len() / 2 + 1];
    let distances: Vec<f64> = steps
        .iter()
        .flat_map(|step| (0..values.len()).map(move |at| (at, (at + step))))
        .map(|(a, b)| f64::from((values[a] ^ values[b % values.len()]).count_ones()))
        .collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    let variance =
        distances.iter().map(|distance| (distance - mean).powi(2)).sum::<f64>() / distances.len() as f64;
    let ones = |bit: u32| values.iter().filter(|value| **value >> bit & 1 == 1).count();
    let is_stuck = |bit: &u32| !(0.1..=0.9).contains(&share(ones(*bit), values.len()));
    Spread { mean, deviation: variance.sqrt(), stuck_bits: (0..64).filter(is_stuck).count() }
}

/// The largest number of documents that share one fingerprint though no two of them look alike.
#[must_use]
pub fn largest_group(fingerprints: &[Option<u64>], shingles: &[Shingles]) -> usize {
    let mut places: Vec<(u64, usize)> =
        fingerprints.iter().enumerate().filter_map(|(at, value)| Some(((*value)?, at))).collect();
    places.sort_unstable();
    let different = |group: &[(u64, usize)]| {
        let mut kept: Vec<usize> = Vec::new();
        for &(_, at) in group {
            if !kept.iter().any(|&earlier| near::look_alike(&shingles[earlier], &shingles[at])) {
                kept.push(at);
            }
        }
        kept.len()
    };
    places.chunk_by(|a, b| a.0 == b.0).map(different).max().unwrap_or(0)
}

/// Long texts: so many documents after another joined into one. Where features are few and short, sets of them
/// fill up, and all long texts grow alike.
#[must_use]
pub fn joined(documents: &[Document], count: usize) -> Vec<Document> {
    let join = |some: &[Document]| {
        let texts: Vec<&str> = some.iter().map(|document| document.text.as_str()).collect();
        Document { id: some[0].id.clone(), text: texts.join("\n") }
    };
    documents.chunks_exact(count).map(join).collect()
}

/// How fingerprints of the made-up tables fare.
#[derive(Clone, Copy, Debug)]
pub struct TableScore {
    /// The most tables with one fingerprint.
    pub largest_group: usize,
    /// The share of pairs of tables within 3 bits.
    pub pairs_near: f64,
}

/// Scores the fingerprints of one family of tables: no two tables say the same.
#[must_use]
pub fn score_tables(fingerprints: &[Option<u64>]) -> TableScore {
    let mut values: Vec<u64> = fingerprints.iter().flatten().copied().collect();
    values.sort_unstable();
    let largest_group = values.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
    let pairs = values.len() * values.len().saturating_sub(1) / 2;
    TableScore { largest_group, pairs_near: share(near::among(fingerprints, 3).len(), pairs) }
}

/// Made-up tables, a thousand a family: few cells say something, the others are padding.
#[must_use]
pub fn tables() -> Vec<(&'static str, Vec<Document>)> {
    let family = |name: &'static str, padding: &str, rows: u64, one_in: u64| {
        let document =
            |number| Document { id: format!("{name}-{number}"), text: table(number, padding, rows, one_in) };
        (name, (0..1000).map(document).collect())
    };
    vec![
        family("dashes", "---", 40, 10),
        family("zeros", "0.00", 40, 10),
        family("no data", "暂无数据", 40, 10),
        family("long zeros", "0.00", 400, 100),
        (
            "numbers",
            (0..1000)
                .map(|number| Document { id: format!("numbers-{number}"), text: numbers(number) })
                .collect(),
        ),
    ]
}

/// A table of sixty rows of five random numbers: of digits there are only ten, so short runs of them soon are all there.
fn numbers(number: u64) -> String {
    let mut text = "日期 开盘 收盘 最高 最低 成交量".to_owned();
    for row in 0..60 {
        text.push_str(&format!("\n2026-{:02}-{:02}", row / 28 + 1, row % 28 + 1));
        for column in 0..5 {
            let chance = random([number, row, column, 2]);
            text.push_str(&format!(" {}.{:02}", chance % 1000, (chance >> 32) % 100));
        }
    }
    text
}

/// So many rows of eight cells under a head that all tables share; one cell in so many says something.
fn table(number: u64, padding: &str, rows: u64, one_in: u64) -> String {
    let mut text = "| date | opened | closed | high | low | volume | turnover | remark |\n".to_owned();
    text.push_str(&"| --- ".repeat(8));
    for row in 0..rows {
        text.push_str(&format!("|\n| 2026-{:02}-{:02} ", row / 28 % 12 + 1, row % 28 + 1));
        for column in 0..7 {
            let chance = random([number, row, column, 0]);
            let cell = if chance.is_multiple_of(one_in) {
                cell([number, row, column, 1])
            } else {
                padding.to_owned()
            };
            text.push_str(&format!("| {cell:>12} "));
        }
    }
    text
}

/// A number of up to six digits, or a made-up word.
fn cell(seed: [u64; 4]) -> String {
    const SYLLABLES: [&str; 12] = ["ka", "lo", "mi", "nu", "re", "so", "ti", "va", "雷", "同", "检", "测"];
    let chance = random(seed);
    if chance.is_multiple_of(2) {
        return format!("{}.{:02}", chance >> 8 & 0x1fff, chance >> 32 & 0x3f);
    }
    (1..=4).map(|at| SYLLABLES[(chance >> (at * 8)) as usize % SYLLABLES.len()]).collect()
}

fn random(seed: [u64; 4]) -> u64 {
    own64(&seed.map(u64::to_le_bytes).concat())
}
