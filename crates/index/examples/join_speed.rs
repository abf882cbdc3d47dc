//! Times the self-join: `join_speed N [K] [THREADS] [MEMORY] [ROUNDS]`, numbers as `1e6`. Values are nine tenths
//! uniform, one tenth copies of earlier ones with up to three bits turned over. `WIDTH` is 32, 64, 128 or 256;
//! `DATA=equal` makes a tenth equal to one value, `DATA=near` a twentieth within two bits of one,
//! `DATA=uneven` sets three bits in eight.
#![expect(clippy::print_stdout, reason = "a program to measure with")]

use leitong_index::Value;
use leitong_index::join::{Join, Pair, Repeat, Side, Sink};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn random(seed: u64, i: u64) -> u64 {
    mix(seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Up to three bits.
fn flips(r: u64) -> u64 {
    (0..r & 3).fold(0, |bits, i| bits ^ 1 << ((r >> (8 + 8 * i)) & 63))
}

/// Value number `i`, by itself.
fn value<V: Value>(mut i: u64) -> V {
    let mut flipped = 0;
    while i > 0 && (random(42, 2 * i) as u32) < 429_496_730 {
        flipped ^= flips(random(0x9999_0000_1111, i));
        i = ((u128::from(random(0x1234_5678, i)) * u128::from(i)) >> 64) as u64;
    }
    let mut words: [u64; 16] = std::array::from_fn(|word| random(42 + word as u64, 2 * i + 1));
    words[0] ^= flipped;
    V::from_words(&words)
}

/// Counts, and adds up pairs as the trial did, for comparison.
#[derive(Default)]
struct Count {
    pairs: AtomicU64,
    repeats: AtomicU64,
    sum: AtomicU64,
}

impl Sink for Count {
    fn pairs(&self, pairs: &[Pair]) -> ControlFlow<()> {
        let sum = pairs
            .iter()
            .fold(0, |sum: u64, pair| sum.wrapping_add(mix(u64::from(pair.a) << 32 | u64::from(pair.b))));
        self.sum.fetch_add(sum, Relaxed);
        self.pairs.fetch_add(pairs.len() as u64, Relaxed);
        ControlFlow::Continue(())
    }

    fn repeats(&self, _: Side, repeats: &[Repeat]) -> ControlFlow<()> {
        self.repeats.fetch_add(repeats.len() as u64, Relaxed);
        ControlFlow::Continue(())
    }
}

fn measure<V: Value>(len: u64, join: &Join, rounds: usize) {
    let pile = |flips| V::from_words(&[77 ^ flips]);
    let values: Vec<V> = match std::env::var("DATA").as_deref() {
        // a tenth equal to one value
        Ok("equal") => {
            (0..len).map(|i| if random(5, i).is_multiple_of(10) { pile(0) } else { value(i) }).collect()
        }
        // a twentieth within two bits of one value
        Ok("near") => (0..len)
            .map(|i| if random(5, i).is_multiple_of(20) { pile(flips(random(6, i) & !1)) } else { value(i) })
            .collect(),
        // uneven bits: three in eight are set
        Ok("uneven") => {
            let words = |i: u64| -> [u64; 16] {
                std::array::from_fn(|word| random(7 + word as u64, i) & (random(70, i) | random(71, i)))
            };
            (0..len).map(|i| V::from_words(&words(i))).collect()
        }
        _ => (0..len).map(value).collect(),
    };
    let mut times = Vec::new();
    for _ in 0..rounds {
        let count = Count::default();
        let start = Instant::now();
        match join.pairs(&values[..], &count) {
            Ok(stats) => {
                times.push(start.elapsed().as_secs_f64());
                println!("{:.4} s, {stats:?}, sum {:016x}", times[times.len() - 1], count.sum.load(Relaxed));
            }
            Err(error) => println!("{error}"),
        }
    }
    times.sort_by(f64::total_cmp);
    if let (Some(least), Some(median)) = (times.first(), times.get(times.len() / 2)) {
        println!("{len} values: {least:.4} s at least, {median:.4} s median");
    }
}

fn main() {
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|number| number.parse().ok()).collect();
    let number = |i: usize, or: f64| numbers.get(i).copied().unwrap_or(or);
    let (len, rounds) = (number(0, 1e6) as u64, number(4, 5.0) as usize);
    let (k, threads, memory) = (number(1, 3.0) as u32, number(2, 2.0) as usize, number(3, 8e9) as u64);
    let join = Join { k, threads, memory, ..Join::default() };
    match std::env::var("WIDTH").as_deref() {
        Ok("32") => measure::<u32>(len, &join, rounds),
        Ok("128") => measure::<u128>(len, &join, rounds),
        Ok("256") => measure::<[u64; 4]>(len, &join, rounds),
        _ => measure::<u64>(len, &join, rounds),
    }
}
