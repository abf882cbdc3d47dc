//! What only `unsafe` can ask of the processor: its newer instructions, and memory ahead of time.
#![expect(
    unsafe_code,
    reason = "the instructions that the processor has are known at run time only; see each note"
)]

/// Work that is compiled twice: for any processor of the kind, and for newer ones.
pub(super) trait Work {
    /// Does it; has to be `#[inline(always)]`.
    fn run(self);
}

/// Does the work with the best instructions that this processor has: those of x86-64-v3 count bits, and shift and mask
/// without detours.
#[inline]
pub(super) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
        fn newer(work: impl Work) {
            work.run();
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
    work.run();
}

/// Asks for memory that will be read soon. A hint without effect on what is computed.
#[inline(always)]
pub(super) fn prefetch<T>(entry: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE, which x86-64 always has; the address comes from a reference, and a prefetch may not even fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}
