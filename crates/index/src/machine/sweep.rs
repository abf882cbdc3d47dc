//! Comparing every value of a sorted list with those after it that sorting has brought next to it.

use super::Level;
use crate::Value;
use std::ops::ControlFlow;

/// A list must have this many values behind its end that may be read, whatever they are.
pub(crate) const PADDING: usize = 16;

/// Whether `value` has none of the bits of `mask`.
#[inline(always)]
pub(crate) fn clear<V: Value>(value: V, mask: V) -> bool {
    let (value, mask) = (bytemuck::bytes_of(&value), bytemuck::bytes_of(&mask));
    let size = if V::WIDTH == 32 { 4 } else { 8 };
    let words = value.chunks_exact(size).zip(mask.chunks_exact(size));
    words.fold(0, |any, (value, mask)| any | (word(value) & word(mask))) == 0
}

/// The number in four or eight bytes.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    if bytes.len() == 4 {
        u64::from(bytemuck::pod_read_unaligned::<u32>(bytes))
    } else {
        bytemuck::pod_read_unaligned(bytes)
    }
}

/// Calls `hit(i, j)`, `i < j < len`, for every two values within `k` bits that agree in the bits of `mask`. Values that
/// agree in them stand together in `values[..len]`. Some other pairs within `k` bits may come too: the caller looks
/// again. Pairs come by ascending `i`. Stops when `hit` says so. Returns about how many values were compared.
///
/// # Panics
/// If there are fewer than [`PADDING`] values behind `len`.
pub(crate) fn sweep<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
    level: Level,
    values: &[V],
    len: usize,
    mask: V,
    k: u32,
    mut hit: F,
) -> u64 {
    assert!(len + PADDING <= values.len(), "a list to sweep ends with padding");
    let level = level.min(Level::best());
    #[cfg(target_arch = "x86_64")]
    if level > Level::Portable {
        // SAFETY: the machine has what its best level stands for, and the padding was checked above.
        return unsafe { x86::sweep(level, values, len, mask, k, &mut hit) };
    }
    let _ = level;
    rows(values, len, mask, k, &mut hit)
}

/// One value after the other, in plain Rust.
#[inline(always)]
fn rows<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
    values: &[V],
    len: usize,
    mask: V,
    k: u32,
    hit: &mut F,
) -> u64 {
    let mut compared = 0;
    for (i, &value) in values[..len].iter().enumerate() {
        for (j, &other) in values[..len].iter().enumerate().skip(i + 1) {
            let bits = value.xor(other);
            if !clear(bits, mask) {
                break;
            }
            compared += 1;
            if bits.ones() <= k && hit(i, j).is_break() {
                return compared;
            }
        }
    }
    compared
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Level, Value, clear, rows, word};
    use std::arch::x86_64::*;
    use std::ops::ControlFlow;

    /// As [`super::sweep`].
    ///
    /// # Safety
    /// The machine has the features of `level`, which is not Portable, and there is padding behind `len`.
    pub(super) unsafe fn sweep<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        level: Level,
        values: &[V],
        len: usize,
        mask: V,
        k: u32,
        hit: &mut F,
    ) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe {
            let plain = size_of::<V>() * 8 == V::WIDTH as usize;
            match (level, V::WIDTH) {
                (Level::Avx512, 32 | 64 | 128) if plain => vectors_512(values, len, mask, k, hit),
                (_, 32 | 64 | 128) if plain => vectors_256(values, len, mask, k, hit),
                (Level::Avx512, _) => rows_512(values, len, mask, k, hit),
                _ => rows_256(values, len, mask, k, hit),
            }
        }
    }

    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
    fn rows_512<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        values: &[V],
        len: usize,
        mask: V,
        k: u32,
        hit: &mut F,
    ) -> u64 {
        rows(values, len, mask, k, hit)
    }

    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2")]
    fn rows_256<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        values: &[V],
        len: usize,
        mask: V,
        k: u32,
        hit: &mut F,
    ) -> u64 {
        rows(values, len, mask, k, hit)
    }

    /// How far a sweep has come: the value at `i` is to be compared with those from `from` on.
    struct Place {
        i: usize,
        from: usize,
        compared: u64,
    }

    impl Place {
        /// To the next `lanes` values if the first of them agrees with the one at `i`, else to the next `i`.
        #[inline(always)]
        fn step<V: Value>(&mut self, values: &[V], mask: V, lanes: usize) {
            self.compared += lanes as u64;
            self.from += lanes;
            if self.from >= values.len() || !clear(values[self.i].xor(values[self.from]), mask) {
                self.i += 1;
                self.from = self.i + 1;
            }
        }
    }

    /// Calls `hit` for what `seek` finds. That is a function of its own so that the registers of its loop are not
    /// saved and restored around every `hit`.
    #[inline(always)]
    fn vectors<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        values: &[V],
        mask: V,
        lanes: usize,
        seek: impl Fn(&mut Place) -> u32,
        hit: &mut F,
    ) -> u64 {
        let mut place = Place { i: 0, from: 1, compared: 0 };
        loop {
            let mut found = seek(&mut place);
            if found == 0 {
                return place.compared;
            }
            while found != 0 {
                let j = place.from + found.trailing_zeros() as usize;
                found &= found - 1;
                if j < values.len() && hit(place.i, j).is_break() {
                    return place.compared;
                }
            }
            place.step(values, mask, lanes);
        }
    }

    /// Goes on until a value is near another one: a bit for each such value from `place.from` on; 0 at the end.
    /// `near` gives those bits for one group of values. A first group is compared unseen, for few lists of agreeing
    /// values are longer than it.
    #[inline(always)]
    fn seek<V: Value>(
        values: &[V],
        mask: V,
        lanes: usize,
        place: &mut Place,
        near: impl Fn(V, usize) -> u32,
    ) -> u32 {
        let Place { mut i, mut from, mut compared } = *place;
        let mut found = 0;
        while i < values.len() {
            let value = values[i];
            found = near(value, from);
            if found != 0 {
                break;
            }
            compared += lanes as u64;
            from += lanes;
            if from >= values.len() || !clear(value.xor(values[from]), mask) {
                i += 1;
                from = i + 1;
            }
        }
        *place = Place { i, from, compared };
        found
    }

    /// Eight words of 64 bits at a time.
    ///
    /// # Safety
    /// `values` has padding behind `len`.
    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
    unsafe fn vectors_512<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        values: &[V],
        len: usize,
        mask: V,
        k: u32,
        hit: &mut F,
    ) -> u64 {
        let list = &values[..len];
        // SAFETY: as promised by the caller.
        let seek = |place: &mut Place| unsafe { seek_512(values, len, mask, k, place) };
        vectors(list, mask, 64 / size_of::<V>(), seek, hit)
    }

    /// # Safety
    /// `values` has [`super::PADDING`] behind `len`.
    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
    #[inline(never)]
    unsafe fn seek_512<V: Value>(values: &[V], len: usize, mask: V, k: u32, place: &mut Place) -> u32 {
        let radius_32 = _mm512_set1_epi32(k as i32);
        let radius_64 = _mm512_set1_epi64(i64::from(k));
        let near = |value: V, from: usize| {
            let all = match V::WIDTH {
                32 => _mm512_set1_epi32(low_word(value) as i32),
                64 => _mm512_set1_epi64(low_word(value) as i64),
                _ => _mm512_broadcast_i64x2(_mm_set_epi64x(high_word(value) as i64, low_word(value) as i64)),
            };
            // SAFETY: `from` is at most the number of values, and 64 bytes are at most PADDING values.
            let bits = unsafe { _mm512_xor_si512(all, _mm512_loadu_si512(values.as_ptr().add(from).cast())) };
            match V::WIDTH {
                32 => u32::from(_mm512_cmple_epu32_mask(_mm512_popcnt_epi32(bits), radius_32)),
                64 => u32::from(_mm512_cmple_epu64_mask(_mm512_popcnt_epi64(bits), radius_64)),
                _ => {
                    let ones = _mm512_popcnt_epi64(bits);
                    let both = _mm512_add_epi64(ones, _mm512_shuffle_epi32::<0b01_00_11_10>(ones));
                    _pext_u32(u32::from(_mm512_cmple_epu64_mask(both, radius_64)), 0x55)
                }
            }
        };
        seek(&values[..len], mask, 64 / size_of::<V>(), place, near)
    }

    /// Four words of 64 bits at a time, their bits counted by looking up half bytes.
    ///
    /// # Safety
    /// `values` has padding behind `len`.
    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2")]
    unsafe fn vectors_256<V: Value, F: FnMut(usize, usize) -> ControlFlow<()>>(
        values: &[V],
        len: usize,
        mask: V,
        k: u32,
        hit: &mut F,
    ) -> u64 {
        let list = &values[..len];
        // SAFETY: as promised by the caller.
        let seek = |place: &mut Place| unsafe { seek_256(values, len, mask, k, place) };
        vectors(list, mask, 32 / size_of::<V>(), seek, hit)
    }

    /// # Safety
    /// `values` has [`super::PADDING`] behind `len`.
    #[target_feature(enable = "popcnt,bmi1,bmi2,avx2")]
    #[inline(never)]
    unsafe fn seek_256<V: Value>(values: &[V], len: usize, mask: V, k: u32, place: &mut Place) -> u32 {
        let (radius_32, radius_64) = (_mm256_set1_epi32(k as i32), _mm256_set1_epi64x(i64::from(k)));
        let low = _mm256_set1_epi8(15);
        let table =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        let near = |value: V, from: usize| {
            let all = match V::WIDTH {
                32 => _mm256_set1_epi32(low_word(value) as i32),
                64 => _mm256_set1_epi64x(low_word(value) as i64),
                _ => _mm256_broadcastsi128_si256(_mm_set_epi64x(
                    high_word(value) as i64,
                    low_word(value) as i64,
                )),
            };
            // SAFETY: `from` is at most the number of values, and 32 bytes are at most PADDING values.
            let bits = unsafe { _mm256_xor_si256(all, _mm256_loadu_si256(values.as_ptr().add(from).cast())) };
            let bytes = _mm256_add_epi8(
                _mm256_shuffle_epi8(table, _mm256_and_si256(bits, low)),
                _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi64::<4>(bits), low)),
            );
            if V::WIDTH == 32 {
                let pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1));
                let ones = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
                let far = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(ones, radius_32)));
                return !far as u32 & 0xff;
            }
            let ones = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
            let ones = if V::WIDTH == 64 {
                ones
            } else {
                _mm256_add_epi64(ones, _mm256_shuffle_epi32::<0b01_00_11_10>(ones))
            };
            let far = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(ones, radius_64)));
            let near = !far as u32 & 0xf;
            if V::WIDTH == 64 { near } else { _pext_u32(near, 0x5) }
        };
        seek(&values[..len], mask, 32 / size_of::<V>(), place, near)
    }

    /// The lower 64 bits of a value of at most 128.
    #[inline(always)]
    fn low_word<V: Value>(value: V) -> u64 {
        word(&bytemuck::bytes_of(&value)[..size_of::<V>().min(8)])
    }

    /// The upper 64 bits of a value of 128.
    #[inline(always)]
    fn high_word<V: Value>(value: V) -> u64 {
        if V::WIDTH == 128 { word(&bytemuck::bytes_of(&value)[8..]) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees<V: Value>(words: &[[u64; 16]], k: u32, top: u32) -> Result<(), TestCaseError> {
        let mut values: Vec<V> = words.iter().map(|words| V::from_words(words)).collect();
        values.sort_by_key(|value| value.top(top));
        let mask = V::from_top(u64::MAX >> (64 - top), top);
        let len = values.len();
        let mut expected = Vec::new();
        for i in 0..len {
            for j in i + 1..len {
                if clear(values[i].xor(values[j]), mask) && values[i].distance(values[j]) <= k {
                    expected.push((i, j));
                }
            }
        }
        values.resize(len + PADDING, V::ZERO);
        for &level in Level::available() {
            let mut found = Vec::new();
            sweep(level, &values, len, mask, k, |i, j| {
                if clear(values[i].xor(values[j]), mask) {
                    found.push((i, j));
                }
                ControlFlow::Continue(())
            });
            prop_assert_eq!(&found, &expected, "{:?}, {} bits", level, V::WIDTH);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_level_and_width_finds_the_same(
            words in proptest::collection::vec(proptest::array::uniform16(0_u64..6), 0..60),
            high in 0_u64..4,
            k in 0_u32..8,
            top in 1_u32..32,
        ) {
            let words: Vec<_> = words.iter().map(|w| w.map(|w| w | (w & high) << 30 | (w & high) << 62)).collect();
            agrees::<u32>(&words, k, top)?;
            agrees::<u64>(&words, k, top)?;
            agrees::<u128>(&words, k, top)?;
            agrees::<[u64; 4]>(&words, k, top)?;
            agrees::<[u64; 16]>(&words, k, top)?;
        }
    }
}
