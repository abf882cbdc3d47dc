//! Scanning a dense column of 16-bit numbers for those that hardly differ from a given one.

/// What an entry must fulfil: no difference in the `exact` bits and at most one in the `near` bits. Other bits are free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) query: u16,
    pub(crate) exact: u16,
    pub(crate) near: u16,
}

impl Test {
    #[inline(always)]
    fn passes(self, entry: u16) -> bool {
        let differing = entry ^ self.query;
        let near = differing & self.near;
        // At most one bit is set exactly when taking away the lowest leaves nothing.
        (near & near.wrapping_sub(1)) | (differing & self.exact) == 0
    }
}

/// A column must have this many more items behind the last one scanned.
pub(crate) const PADDING: usize = 32;

/// One way of scanning; see [`super::Level`].
pub(crate) trait Scan {
    /// Calls `hit` with the place of every entry of `column[from..to]` that passes, in order. Needs [`PADDING`].
    fn scan(column: &[u16], from: usize, to: usize, test: Test, hit: impl FnMut(usize));

    /// Which of 16 entries pass, as bits.
    fn pass(entries: &[u16; 16], test: Test) -> u32;
}

pub(crate) struct Portable;

impl Scan for Portable {
    #[inline(always)]
    fn scan(column: &[u16], from: usize, to: usize, test: Test, mut hit: impl FnMut(usize)) {
        for (place, &entry) in column[from..to].iter().enumerate() {
            if test.passes(entry) {
                hit(from + place);
            }
        }
    }

    #[inline(always)]
    fn pass(entries: &[u16; 16], test: Test) -> u32 {
        (0..16).fold(0, |passed, i| passed | u32::from(test.passes(entries[i])) << i)
    }
}

/// Cuts `from..to` into steps of `STEP` entries, the last of which may read into the padding and is masked.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn steps<const STEP: usize>(
    column: &[u16],
    from: usize,
    to: usize,
    mask: impl Fn(&[u16; STEP]) -> u32,
    mut hit: impl FnMut(usize),
) {
    let mut place = from;
    while place < to {
        let Some(entries) = column[place..].first_chunk::<STEP>() else {
            debug_assert!(false, "the padding is missing");
            return;
        };
        let mut found = mask(entries);
        if to - place < STEP {
            found &= (1 << (to - place)) - 1;
        }
        while found != 0 {
            hit(place + found.trailing_zeros() as usize);
            found &= found - 1;
        }
        place += STEP;
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Scan, Test, steps};
    use std::arch::x86_64::*;

    /// Only to be used where [`super::super::Level::Avx2`] is available.
    pub(crate) struct Avx2;

    impl Scan for Avx2 {
        #[inline(always)]
        fn scan(column: &[u16], from: usize, to: usize, test: Test, hit: impl FnMut(usize)) {
            // SAFETY: the type is used by code compiled for, and run on, machines with AVX2 and BMI2 only.
            let mask = |entries: &[u16; 16]| unsafe { near_16(entries, test) };
            steps::<16>(column, from, to, mask, hit);
        }

        #[inline(always)]
        fn pass(entries: &[u16; 16], test: Test) -> u32 {
            // SAFETY: as above.
            unsafe { near_16(entries, test) }
        }
    }

    /// Only to be used where [`super::super::Level::Avx512`] is available.
    pub(crate) struct Avx512;

    impl Scan for Avx512 {
        #[inline(always)]
        fn scan(column: &[u16], from: usize, to: usize, test: Test, hit: impl FnMut(usize)) {
            // SAFETY: the type is used by code compiled for, and run on, machines with AVX-512 BW only.
            let mask = |entries: &[u16; 32]| unsafe { near_32(entries, test) };
            steps::<32>(column, from, to, mask, hit);
        }

        #[inline(always)]
        fn pass(entries: &[u16; 16], test: Test) -> u32 {
            // SAFETY: as above; what AVX2 needs is part of the level.
            unsafe { near_16(entries, test) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn near_16(entries: &[u16; 16], test: Test) -> u32 {
        // SAFETY: 32 bytes are there to be read.
        let entries = unsafe { _mm256_loadu_si256(entries.as_ptr().cast()) };
        let differing = _mm256_xor_si256(entries, _mm256_set1_epi16(test.query as i16));
        let near = _mm256_and_si256(differing, _mm256_set1_epi16(test.near as i16));
        let second = _mm256_and_si256(near, _mm256_sub_epi16(near, _mm256_set1_epi16(1)));
        let exact = _mm256_and_si256(differing, _mm256_set1_epi16(test.exact as i16));
        let passed = _mm256_cmpeq_epi16(_mm256_or_si256(second, exact), _mm256_setzero_si256());
        _pext_u32(_mm256_movemask_epi8(passed) as u32, 0x5555_5555)
    }

    #[inline]
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt"
    )]
    fn near_32(entries: &[u16; 32], test: Test) -> u32 {
        // SAFETY: 64 bytes are there to be read.
        let entries = unsafe { _mm512_loadu_si512(entries.as_ptr().cast()) };
        let differing = _mm512_xor_si512(entries, _mm512_set1_epi16(test.query as i16));
        let near = _mm512_and_si512(differing, _mm512_set1_epi16(test.near as i16));
        let second = _mm512_and_si512(near, _mm512_sub_epi16(near, _mm512_set1_epi16(1)));
        let exact = _mm512_and_si512(differing, _mm512_set1_epi16(test.exact as i16));
        let failed = _mm512_or_si512(second, exact);
        _mm512_testn_epi16_mask(failed, failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use proptest::prelude::*;

    /// By scanning, after making sure that passing sixteen at a time says the same.
    fn places<S: Scan>(column: &[u16], from: usize, to: usize, test: Test) -> Vec<usize> {
        let mut found = Vec::new();
        S::scan(column, from, to, test, |place| found.push(place));
        for (place, entries) in (from..to).filter_map(|place| Some((place, column[place..].first_chunk()?))) {
            let passed = S::pass(entries, test);
            for i in (0..16).filter(|i| place + i < to) {
                assert_eq!(passed >> i & 1 == 1, found.contains(&(place + i)));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn every_level_finds_the_same(
            mut column in prop::collection::vec(prop_oneof![Just(0_u16), Just(1), Just(0x8000), 0..8_u16, any::<u16>()], 0..100),
            query in 0..4_u16,
            exact: u16,
            near: u16,
            from in 0..100_usize,
        ) {
            let to = column.len();
            let from = from.min(to);
            let test = Test { query, exact, near };
            let slow: Vec<usize> = (from..to)
                .filter(|&i| {
                    let differing = column[i] ^ query;
                    differing & exact == 0 && (differing & near).count_ones() <= 1
                })
                .collect();
            column.resize(to + PADDING, query);
            prop_assert_eq!(&places::<Portable>(&column, from, to, test), &slow);
            #[cfg(target_arch = "x86_64")]
            for level in Level::available() {
                match level {
                    Level::Portable => {}
                    Level::Avx2 => prop_assert_eq!(&places::<Avx2>(&column, from, to, test), &slow),
                    Level::Avx512 => prop_assert_eq!(&places::<Avx512>(&column, from, to, test), &slow),
                }
            }
        }
    }
}
