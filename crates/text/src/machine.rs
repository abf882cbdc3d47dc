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
}

/// Any processor of the kind.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Machine for Portable {
    #[inline(always)]
    fn four_of_three(self, _: &[u8; 16]) -> Option<[u32; 4]> {
        None // One by one is as fast.
    }
}

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

/// Asks for memory that will be read soon. A hint without effect on what is computed.
#[inline(always)]
pub(crate) fn prefetch<T>(entry: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE, which x86-64 always has; the address comes from a reference, and a prefetch may not even fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}
