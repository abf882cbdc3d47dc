//! Made fingerprints. bench/rivals/README.md spells out the definition; the rivals are measured on the same numbers.

use crate::output::Failure;
use leitong_index::Value;
use leitong_index::hamming::{HammingError, Source};
use leitong_index::join::Batch;
use std::io;
use std::ops::Range;

/// The generator of Steele, Lea and Flood, as published.
pub(super) struct SplitMix64(pub(super) u64);

pub(super) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl SplitMix64 {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn value<V: Value>(&mut self) -> V {
        let words: [u64; 16] =
            std::array::from_fn(|i| if (i as u32) < V::WIDTH.div_ceil(64) { self.next() } else { 0 });
        V::from_words(&words)
    }

    /// `value` with `count` different bits flipped.
    fn flip<V: Value>(&mut self, value: V, count: u64) -> V {
        let mut flipped = value;
        while u64::from(flipped.distance(value)) < count {
            let next = flipped.flip(self.below(V::WIDTH.into()) as u32);
            if next.distance(value) > flipped.distance(value) {
                flipped = next;
            }
        }
        flipped
    }
}

/// How made values are distributed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Uniform,
    Skew,
    Pileup,
}

fn made<V: Value>(kind: Kind, n: usize) -> Vec<V> {
    let mut random = SplitMix64(42);
    let mut prefixes = SplitMix64(43);
    let prefixes: Vec<u64> = (0..1000).map(|_| prefixes.next() & 0xFFFF).collect();
    let pile: V = SplitMix64(44).value();
    let mut values: Vec<V> = Vec::with_capacity(n);
    for i in 0..n {
        let piled = if kind == Kind::Pileup { random.below(20) } else { 2 };
        values.push(match piled {
            0 => pile,
            1 => {
                let count = random.below(3);
                random.flip(pile, count)
            }
            _ if random.next().is_multiple_of(10) && i > 0 => {
                let original = values[random.below(i as u64) as usize];
                let count = random.below(4);
                random.flip(original, count)
            }
            _ => {
                let drawn: V = random.value();
                if kind == Kind::Skew && random.below(5) == 0 {
                    let prefix = V::from_top(prefixes[random.below(1000) as usize], 16);
                    drawn.and(V::low_mask(V::WIDTH - 16)).xor(prefix)
                } else {
                    drawn
                }
            }
        });
    }
    for i in (1..n).rev() {
        values.swap(i, random.below(i as u64 + 1) as usize);
    }
    values
}

/// Fingerprints to measure with: held in memory, or made whenever they are read.
pub(super) enum Data<V> {
    Held(Vec<V>),
    Streamed(u64),
}

impl<V: Value> Data<V> {
    pub(super) fn open(name: &str, n: u64) -> Result<Self, Failure> {
        let kind = match name {
            "uniform" => Kind::Uniform,
            "skew" => Kind::Skew,
            "pileup" => Kind::Pileup,
            "streamed" => return Ok(Self::Streamed(n)),
            path => return Self::read_file(path),
        };
        Ok(Self::Held(made(kind, n as usize)))
    }

    fn read_file(path: &str) -> Result<Self, Failure> {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::Input(format!("{path}: {error}: --data takes uniform, skew, pileup, streamed or a file"))
        })?;
        let size = size_of::<V>();
        if bytes.is_empty() || bytes.len() % size != 0 {
            let length = bytes.len();
            return Err(Failure::Input(format!(
                "{path}: {length} bytes are no whole number of fingerprints of {size} bytes: check --bits"
            )));
        }
        let value = |bytes: &[u8]| {
            let words: Vec<u64> = bytes
                .chunks(8)
                .map(|word| word.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
                .collect();
            V::from_words(&words)
        };
        Ok(Self::Held(bytes.chunks_exact(size).map(value).collect()))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Held(values) => values.len(),
            Self::Streamed(n) => *n as usize,
        }
    }

    pub(super) fn get(&self, i: usize) -> V {
        match self {
            Self::Held(values) => values[i],
            Self::Streamed(_) => streamed(i as u64),
        }
    }

    /// Half of them a stored value with 0 to 3 bits flipped, half drawn anew.
    pub(super) fn queries(&self, count: usize) -> Vec<V> {
        let mut random = SplitMix64(45);
        let query = |i: usize| {
            if i.is_multiple_of(2) {
                let value = self.get(random.below(self.len() as u64) as usize);
                let flips = random.below(4);
                random.flip(value, flips)
            } else {
                random.value()
            }
        };
        (0..count).map(query).collect()
    }
}

/// Value `i` of the streamed kind: as `uniform`, but a copy's original is found by its number instead of looked up.
fn streamed<V: Value>(mut i: u64) -> V {
    let draw = |stream: u64, i: u64| SplitMix64(mix(stream ^ i.wrapping_mul(GOLDEN)));
    let mut flips = V::ZERO;
    while i > 0 && draw(1, i).below(10) == 0 {
        let mut random = draw(2, i);
        let count = random.below(4);
        flips = flips.xor(random.flip(V::ZERO, count));
        i = random.below(i);
    }
    draw(3, i).value::<V>().xor(flips)
}

impl<V: Value> Source<V> for Data<V> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        match self {
            Self::Held(values) => Source::read(&values[..], range, items)?,
            Self::Streamed(_) => items.extend(range.map(|i| (i as u32, streamed(i as u64)))),
        }
        Ok(())
    }
}

impl<V: Value> Batch<V> for Data<V> {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn read(&self, from: usize, into: &mut [V]) -> io::Result<()> {
        match self {
            Self::Held(values) => Batch::read(&values[..], from, into)?,
            Self::Streamed(_) => {
                into.iter_mut().zip(from as u64..).for_each(|(value, i)| *value = streamed(i));
            }
        }
        Ok(())
    }

    fn whole(&self) -> Option<&[V]> {
        match self {
            Self::Held(values) => Some(values),
            Self::Streamed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rivals' generator is a second implementation; its numbers are in bench/rivals/README.md.
    #[test]
    fn the_numbers_of_the_rivals() {
        for (kind, first, query) in [
            ("uniform", 0x127b_7774_6290_1ad4, 0xf086_4393_2bf9_ad83),
            ("skew", 0x144c_9569_6b45_6a81, 0x336d_d6dc_b758_0f7c),
            ("pileup", 0xfb45_2912_299a_5453, 0x9eb6_c22b_b6a9_64ef),
        ] {
            let data = Data::<u64>::open(kind, 1_000_000).unwrap();
            assert_eq!((data.get(0), data.queries(1)[0]), (first, query), "{kind}");
        }
    }

    #[test]
    fn streamed_values_are_the_same_however_they_are_read() {
        let data = Data::<u128>::open("streamed", 1000).unwrap();
        let mut items = Vec::new();
        Source::read(&data, 10..1000, &mut items).unwrap();
        let mut values = [0; 990];
        Batch::read(&data, 10, &mut values).unwrap();
        assert!(items.iter().zip(10..).all(|(item, i)| *item == (i, data.get(i as usize))));
        assert!(items.iter().zip(values).all(|(item, value)| item.1 == value));
        let near = leitong_index::scan::pairs(&values, 6).count();
        assert!((60..140).contains(&near), "a tenth are copies: {near} near pairs");
    }
}
