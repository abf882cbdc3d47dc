//! What only `unsafe` can ask of the processor: its newer instructions, and memory ahead of time.
#![expect(
    unsafe_code,
    reason = "the instructions that the processor has are known at run time only; see each note"
)]

/// Work that is compiled twice: for any processor of the kind, and for newer ones.
pub(crate) trait Work {
    /// Does it; has to be `#[inline(always)]`.
    fn run(self, machine: impl Machine);
}

/// A kind of processor: what is done in another way on each.
pub(crate) trait Machine: Copy {
    /// The code points of the first four characters, if each of them has three bytes.
    fn four_of_three(self, text: &[u8; 16]) -> Option<[u32; 4]>;

    /// One bit of each byte: bit `BIT` of byte `n` is bit `n` of the result.
    fn bits<const BIT: i32>(self, bytes: &[u8; 64]) -> u64;

    /// Moves those of eight numbers to the front whose bits are set; what is behind them is anything.
    fn keep(self, mask: u8, numbers: &[u32; 8], kept: &mut [u32; 8]);

    /// The same for eight bytes.
    fn keep_bytes(self, mask: u8, bytes: [u8; 8]) -> [u8; 8];
}

/// Any processor of the kind.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Machine for Portable {
    #[inline(always)]
    fn four_of_three(self, _: &[u8; 16]) -> Option<[u32; 4]> {
        None // One by one is as fast.
    }

    #[inline(always)]
    fn bits<const BIT: i32>(self, bytes: &[u8; 64]) -> u64 {
        bytes.as_chunks().0.iter().rev().fold(0, |bits, &eight| {
            let each = u64::from_le_bytes(eight) >> BIT & 0x0101_0101_0101_0101;
            // The sum has the bits of all eight bytes in its highest.
            bits << 8 | each.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    }

    #[inline(always)]
    fn keep(self, mask: u8, numbers: &[u32; 8], kept: &mut [u32; 8]) {
        let mut count = 0;
        for (at, &number) in numbers.iter().enumerate() {
            kept[count % 8] = number; // One that is not kept is overwritten by the next one.
            count += usize::from(mask >> at & 1);
        }
    }

    #[inline(always)]
    fn keep_bytes(self, mask: u8, bytes: [u8; 8]) -> [u8; 8] {
        let (mut kept, mut count) = ([0; 8], 0);
        for (at, byte) in bytes.into_iter().enumerate() {
            kept[count % 8] = byte;
            count += usize::from(mask >> at & 1);
        }
        kept
    }
}

/// For each mask of eight bits which of eight numbers come first.
#[cfg(target_arch = "x86_64")]
static KEPT: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut at, mut count) = (0, 0);
        while at < 8 {
            if mask >> at & 1 != 0 {
                all[mask][count] = at as u8;
                count += 1;
            }
            at += 1;
        }
        mask += 1;
    }
    all
};

/// A processor that has the instructions of x86-64-v3. Made in [`run`] alone, where that is known.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Newer(());

#[cfg(target_arch = "x86_64")]
impl Machine for Newer {
    #[inline(always)]
    fn four_of_three(self, text: &[u8; 16]) -> Option<[u32; 4]> {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn four(text: &[u8; 16]) -> Option<[u32; 4]> {
            use std::arch::x86_64::*;
            // SAFETY: sixteen bytes are read from a reference to sixteen, and written to one; neither needs alignment.
            let text = unsafe { _mm_loadu_si128(text.as_ptr().cast()) };
            let high = _mm_and_si128(text, _mm_set1_epi8(0xF0_u8 as i8));
            let leads = _mm_movemask_epi8(_mm_cmpeq_epi8(high, _mm_set1_epi8(0xE0_u8 as i8)));
            if leads & 0b10_0100_1001 != 0b10_0100_1001 {
                return None;
            }
            // A number of 32 bits for each: its three bytes backwards, without the bits that mark them.
            let order = _mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1);
            let bits = _mm_and_si128(_mm_shuffle_epi8(text, order), _mm_set1_epi32(0x000F_3F3F));
            // Third + second * 64, then + first * 4096.
            let pairs = _mm_maddubs_epi16(bits, _mm_set1_epi32(0x0001_4001));
            let points = _mm_madd_epi16(pairs, _mm_set1_epi32(0x1000_0001));
            let mut numbers = [0; 4];
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(numbers.as_mut_ptr().cast(), points) };
            Some(numbers)
        }
        // SAFETY: there is a `Newer` only where the processor has these features.
        unsafe { four(text) }
    }

    #[inline(always)]
    fn bits<const BIT: i32>(self, bytes: &[u8; 64]) -> u64 {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn bits<const BIT: i32>(bytes: &[u8; 64]) -> u64 {
            use std::arch::x86_64::*;
            let half = |from: usize| {
                // SAFETY: 32 bytes of 64, from the first or from the middle on.
                let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().add(from).cast()) };
                // To the highest bit of each byte; what comes from the byte below stays below it.
                let shift = _mm_cvtsi32_si128(7 - BIT);
                u64::from(_mm256_movemask_epi8(_mm256_sll_epi16(bytes, shift)) as u32)
            };
            half(0) | half(32) << 32
        }
        // SAFETY: as above.
        unsafe { bits::<BIT>(bytes) }
    }

    #[inline(always)]
    fn keep(self, mask: u8, numbers: &[u32; 8], kept: &mut [u32; 8]) {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn keep(mask: u8, numbers: &[u32; 8], kept: &mut [u32; 8]) {
            use std::arch::x86_64::*;
            // SAFETY: eight numbers are read and written, and eight bytes of the table read; none needs alignment.
            unsafe {
                let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(KEPT[usize::from(mask)].as_ptr().cast()));
                let numbers = _mm256_loadu_si256(numbers.as_ptr().cast());
                _mm256_storeu_si256(kept.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(numbers, order));
            }
        }
        // SAFETY: as above.
        unsafe { keep(mask, numbers, kept) };
    }

    #[inline(always)]
    fn keep_bytes(self, mask: u8, bytes: [u8; 8]) -> [u8; 8] {
        #[target_feature(enable = "bmi2")]
        #[inline]
        fn keep(mask: u8, bytes: u64) -> u64 {
            use std::arch::x86_64::*;
            let whole = _pdep_u64(u64::from(mask), 0x0101_0101_0101_0101) * 0xFF;
            _pext_u64(bytes, whole)
        }
        // SAFETY: as above.
        unsafe { keep(mask, u64::from_le_bytes(bytes)) }.to_le_bytes()
    }
}

/// Does the work with the best instructions that this processor has: those of x86-64-v3 count bits, and shift and mask
/// without detours. Without `NEWER`, as a processor does it that has none of them.
#[inline]
pub(crate) fn run<const NEWER: bool>(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if NEWER {
        #[target_feature(enable = "avx,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
        fn newer(work: impl Work) {
            work.run(Newer(()));
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
            && is_x86_feature_detected!("popcnt")
        {
            // SAFETY: the processor has each of the features that `newer` is compiled for.
            unsafe { newer(work) };
            return;
        }
    }
    work.run(Portable);
}

/// Asks for an entry of a table that will be read soon. A hint without effect on what is computed.
#[inline(always)]
pub(crate) fn prefetch_in<T>(table: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE, which x86-64 always has; a prefetch reads nothing and may not even fault, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}
