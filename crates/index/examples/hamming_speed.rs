//! Speed of one segment: `hamming_speed N K [layout] [file]`.
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use leitong_index::Level;
use leitong_index::hamming::{Build, HammingError, Layout, Searcher, Segment, Source};
use std::ops::Range;
use std::time::Instant;

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn draw(seed: u64, i: u64) -> u64 {
    mix(seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn flips(r: u64) -> u64 {
    (0..r & 3).fold(0, |flips, i| flips ^ 1 << (r >> (8 + 8 * i) & 63))
}

struct Made(u64);

impl Made {
    fn value(mut i: u64) -> u64 {
        let mut flipped = 0;
        while i > 0 && draw(42, 2 * i) % 10 == 0 {
            flipped ^= flips(draw(43, i));
            i = (u128::from(draw(44, i)) * u128::from(i) >> 64) as u64;
        }
        draw(42, 2 * i + 1) ^ flipped
    }
}

impl Source<u64> for Made {
    fn rows(&self) -> usize {
        self.0 as usize
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, u64)>) -> Result<(), HammingError> {
        items.extend(range.map(|i| (i as u32, Self::value(i as u64))));
        Ok(())
    }
}

fn main() -> Result<(), HammingError> {
    let arguments: Vec<String> = std::env::args().collect();
    let n = arguments[1].parse::<f64>().map_or(0, |n| n as u64);
    let k: u32 = arguments[2].parse().unwrap_or(3);
    let layout = match arguments.get(3).map(String::as_str) {
        Some("columns") => Some(Layout::Columns),
        Some("ring") => Some(Layout::Ring),
        Some("cells") => Some(Layout::Cells),
        _ => None,
    };
    let build = Build { layout, ..Build::new(k) };
    let time = Instant::now();
    let held: Vec<u64> = if n <= 200_000_000 { (0..n).map(Made::value).collect() } else { Vec::new() };
    println!("generated in {:.1?}", time.elapsed());
    let time = Instant::now();
    let mut segment = match (arguments.get(4), held.is_empty()) {
        (Some(path), false) => build.to_file(&held[..], path.as_ref())?,
        (Some(path), true) => build.to_file(&Made(n), path.as_ref())?,
        (None, false) => build.in_memory(&held[..])?,
        (None, true) => build.in_memory(&Made(n))?,
    };
    println!(
        "built {:?} in {:.2?}, {:.2} bytes each",
        segment.layout(),
        time.elapsed(),
        segment.bytes() as f64 / n as f64
    );
    drop(held);
    if let Some(path) = arguments.get(4) {
        let time = Instant::now();
        segment = Segment::open(path.as_ref())?;
        println!("opened in {:.2?}", time.elapsed());
        let time = Instant::now();
        segment.verify()?;
        println!("verified in {:.2?}", time.elapsed());
    }
    let queries: Vec<u64> = (0..100_000_u64)
        .map(|i| if i % 2 == 0 { Made::value(draw(7, i) % n) ^ flips(draw(8, i)) } else { draw(9, i) })
        .collect();
    for &level in Level::available() {
        let mut searcher = Searcher::at(level);
        let mut rates = Vec::new();
        let mut count = 0_u64;
        for _ in 0..5 {
            count = 0;
            let time = Instant::now();
            segment
                .search(&mut searcher, &queries, k, |_, ordinal, _| count += 1 + u64::from(ordinal & 0))?;
            rates.push(queries.len() as f64 / time.elapsed().as_secs_f64() / 1e3);
        }
        rates.sort_by(f64::total_cmp);
        let mut times: Vec<f64> = Vec::new();
        for query in &queries[..50_000.min(queries.len())] {
            let time = Instant::now();
            segment.search(&mut searcher, std::slice::from_ref(query), k, |_, _, _| {})?;
            times.push(time.elapsed().as_nanos() as f64 / 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{level:?}: {:.0} k/s (best {:.0}), single p50 {:.2} p99 {:.2} µs, {count} found",
            rates[2],
            rates[4],
            times[times.len() / 2],
            times[times.len() * 99 / 100]
        );
    }
    Ok(())
}
