//! Equal values, which are taken out before they could make anything quadratic.

use super::batch::Input;
use super::output::Output;
use super::sink::{Side, Sink};
use super::threads::on_threads;
use crate::Value;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many values are looked at to find the frequent ones.
const SAMPLE: usize = 4096;

/// So many of the sample are equal: a frequent value.
const FREQUENT: usize = 8;

/// Below this number of values nothing is frequent enough to matter.
const SMALL: usize = 8 * SAMPLE;

/// The positions whose value stands at a smaller position of the same batch too.
pub(super) struct Seen {
    words: Vec<AtomicU64>,
}

impl Seen {
    pub(super) fn new(len: usize) -> Self {
        Self { words: (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The bytes such a set takes.
    pub(super) fn memory(len: usize) -> u64 {
        len.div_ceil(64) as u64 * 8
    }

    // Relaxed: threads that read what others set start after those have ended.
    pub(super) fn set(&self, position: usize) {
        self.words[position / 64].fetch_or(1 << (position % 64), Relaxed);
    }

    #[inline(always)]
    pub(super) fn has(&self, position: usize) -> bool {
        self.words[position / 64].load(Relaxed) >> (position % 64) & 1 != 0
    }
}

/// Values so frequent that a sample shows it, each side for itself, with their smallest positions. They are reported
/// while reading, for they might not fit into memory as one part.
pub(super) struct Frequent<V> {
    /// Sorted by side and value.
    values: Vec<(Side, V, u32)>,
    /// Which hashes occur: passes by nearly all values that are not frequent.
    hashes: Vec<bool>,
}

impl<V: Value> Frequent<V> {
    /// Looks at a sample, and reads until it has the first positions of what it found there.
    pub(super) fn find(input: &Input<'_, V>, border: usize) -> io::Result<Self> {
        let mut found = Self { values: Vec::new(), hashes: vec![false; 1 << 12] };
        let len = input.len();
        if len < SMALL {
            return Ok(found);
        }
        let at = |i: usize| (i as u64 * len as u64 / SAMPLE as u64) as usize;
        let sample = (0..SAMPLE).map(|i| Ok((side(at(i), border), input.at(at(i))?)));
        let mut sample = sample.collect::<io::Result<Vec<(Side, V)>>>()?;
        sample.sort_unstable();
        for equal in sample.chunk_by(|a, b| a == b).filter(|equal| equal.len() >= FREQUENT) {
            found.values.push((equal[0].0, equal[0].1, u32::MAX));
            found.hashes[hash(equal[0].1)] = true;
        }
        let mut missing = found.values.len();
        for from in (0..len).step_by(1 << 16) {
            if missing == 0 {
                break;
            }
            input.visit(from..(from + (1 << 16)).min(len), |from, values| {
                for (position, &value) in (from..).zip(values) {
                    if let Some(i) = found.index(side(position, border), value)
                        && found.values[i].2 == u32::MAX
                    {
                        found.values[i].2 = position as u32;
                        missing -= 1;
                    }
                }
            })?;
        }
        Ok(found)
    }

    #[inline(always)]
    fn index(&self, side: Side, value: V) -> Option<usize> {
        if !self.hashes[hash(value)] {
            return None;
        }
        self.values.binary_search_by(|entry| (entry.0, entry.1).cmp(&(side, value))).ok()
    }

    /// Reports all frequent values but the first of each and marks them as seen. Returns whether there are any.
    pub(super) fn report<S: Sink + ?Sized>(
        &self,
        input: &Input<'_, V>,
        ranges: &[Range<usize>],
        seen: &Seen,
        output: &Output<'_, S>,
    ) -> io::Result<bool> {
        if self.values.is_empty() {
            return Ok(false);
        }
        let results = on_threads(ranges.iter().collect(), |range: &Range<usize>| {
            let mut writer = output.writer();
            input.visit(range.clone(), |from, values| {
                for (position, &value) in (from..).zip(values) {
                    if let Some(i) = self.index(output.side(position as u32), value) {
                        let first = self.values[i].2;
                        if first != position as u32 {
                            seen.set(position);
                            writer.repeat(first, position as u32);
                        }
                    }
                }
            })
        });
        results.into_iter().collect::<io::Result<()>>().map(|()| true)
    }
}

/// The side of a position in two batches laid end to end.
fn side(position: usize, border: usize) -> Side {
    if position < border { Side::Left } else { Side::Right }
}

/// Twelve bits that depend on all of the value.
#[inline(always)]
fn hash<V: Value>(value: V) -> usize {
    let words = bytemuck::bytes_of(&value).chunks_exact(4);
    let mixed = words.fold(0_u64, |hash, word| {
        let word: u32 = bytemuck::pod_read_unaligned(word);
        (hash.rotate_left(32) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> 52) as usize
}
