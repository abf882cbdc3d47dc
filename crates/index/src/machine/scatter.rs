//! Reading keys out of many values at once, and writing past the caches.

use super::Level;
use crate::Value;
use bytemuck::Pod;

/// Neighbouring bits, counted from the most significant one; a run may go round the end. At least one bit and at most
/// 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) bits: u32,
}

/// Writes for every value the number its runs of bits make up, the first run on top.
///
/// # Panics
/// If there is not exactly one place for each value.
#[inline]
pub(crate) fn keys<V: Value>(level: Level, runs: &[Run], values: &[V], into: &mut [u32]) {
    assert_eq!(values.len(), into.len(), "a place for each key");
    #[cfg(target_arch = "x86_64")]
    match level.min(Level::best()) {
        // SAFETY: the machine has what its best level stands for.
        Level::Avx512 => return unsafe { keys_512(runs, values, into) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { keys_256(runs, values, into) },
        Level::Portable => {}
    }
    let _ = level;
    plain_keys(runs, values, into);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn keys_512<V: Value>(runs: &[Run], values: &[V], into: &mut [u32]) {
    plain_keys(runs, values, into);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx2")]
fn keys_256<V: Value>(runs: &[Run], values: &[V], into: &mut [u32]) {
    plain_keys(runs, values, into);
}

#[inline(always)]
fn plain_keys<V: Value>(runs: &[Run], values: &[V], into: &mut [u32]) {
    match *runs {
        [] => into.fill(0),
        [one] => {
            for (key, value) in into.iter_mut().zip(values) {
                *key = value.rotate_left(one.start).top(one.bits) as u32;
            }
        }
        [one, two] => {
            for (key, value) in into.iter_mut().zip(values) {
                let high = value.rotate_left(one.start).top(one.bits) as u32;
                *key = high << two.bits | value.rotate_left(two.start).top(two.bits) as u32;
            }
        }
        _ => {
            for (key, value) in into.iter_mut().zip(values) {
                *key = runs
                    .iter()
                    .fold(0, |key, run| key << run.bits | value.rotate_left(run.start).top(run.bits) as u32);
            }
        }
    }
}

/// Copies `source` to `target`, of the same length, without bringing the target into the caches where that can be:
/// what is laid out in hundreds of megabytes is read again much later. Call [`finish`] before another thread reads it.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub(crate) fn stream<T: Pod>(level: Level, source: &[T], target: &mut [T]) {
    assert_eq!(source.len(), target.len(), "as many places as values");
    #[cfg(target_arch = "x86_64")]
    if level > Level::Portable {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let bytes = size_of_val(source);
        let (from, to) = (source.as_ptr().cast::<__m128i>(), target.as_mut_ptr().cast::<__m128i>());
        if bytes.is_multiple_of(16) && to.is_aligned() {
            for i in 0..bytes / 16 {
                // SAFETY: both slices hold `bytes` bytes, the target is aligned, and every x86-64 machine has SSE2.
                unsafe { _mm_stream_si128(to.add(i), _mm_loadu_si128(from.add(i))) };
            }
            return;
        }
    }
    let _ = level;
    target.copy_from_slice(source);
}

/// Makes what [`stream`] wrote on this thread visible to others.
pub(crate) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence touches no memory, and every x86-64 machine has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_runs_of_bits() {
        let values: Vec<u64> = (0..50).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let (one, two, three) =
            (Run { start: 60, bits: 7 }, Run { start: 3, bits: 5 }, Run { start: 20, bits: 1 });
        let bit = |value: u64, i: u32| (value >> (63 - i % 64) & 1) as u32;
        for &level in Level::available() {
            for runs in [&[][..], &[one], &[one, two], &[two, one, three]] {
                let mut found = vec![1; values.len()];
                keys(level, runs, &values, &mut found);
                for (&value, &key) in values.iter().zip(&found) {
                    let bits = runs.iter().flat_map(|run| run.start..run.start + run.bits);
                    assert_eq!(key, bits.fold(0, |key, i| key << 1 | bit(value, i)));
                }
            }
        }
    }

    #[test]
    fn streaming_copies_whatever_the_alignment() {
        let source: Vec<u32> = (0..40).collect();
        for &level in Level::available() {
            for from in 0..8 {
                for len in [0, 1, 4, 16, 24] {
                    let mut target = [0_u32; 40];
                    stream(level, &source[..len], &mut target[from..from + len]);
                    finish();
                    assert_eq!(target[from..from + len], source[..len]);
                    assert_eq!(target.iter().filter(|&&item| item != 0).count(), len.saturating_sub(1));
                }
            }
        }
    }
}
