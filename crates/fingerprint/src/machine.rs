//! What only `unsafe` can ask of the processor: its newer instructions. `leitong-text` has the like; neither crate may know the other.
#![expect(
    unsafe_code,
    reason = "the instructions that the processor has are known at run time only; see each note"
)]

/// Work that is compiled several times: for any processor of the kind, and for newer ones.
pub(crate) trait Work {
    /// Does it; has to be `#[inline(always)]`.
    fn run(self);
}

/// Does the work with the best instructions that this processor has: those of AVX-512 multiply and compare eight numbers of 64
/// bits at once, those of AVX2 compare four.
#[inline]
pub(crate) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
        fn widest(work: impl Work) {
            work.run();
        }
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn wide(work: impl Work) {
            work.run();
        }
        let is_wide = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2");
        if is_wide
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has each of the features that `widest` is compiled for.
            return unsafe { widest(work) };
        }
        if is_wide {
            // SAFETY: as above.
            return unsafe { wide(work) };
        }
    }
    work.run();
}
