//! What the machine can do beyond plain Rust: wide comparisons and prefetching, chosen when the program runs.
//!
//! The only module with `unsafe` besides [`crate::memory`]. Every function here has a portable twin that gives the
//! same answers; [`Level::Portable`] runs it anywhere.
#![expect(
    unsafe_code,
    reason = "CPU instructions the compiler does not choose by itself; each use says why it is sound"
)]

pub(crate) mod columns;
pub(crate) mod scatter;
pub(crate) mod sweep;

use columns::Scan;
use std::sync::OnceLock;

/// The instruction sets the hot loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust, any processor.
    Portable,
    /// x86-64 with AVX2, BMI2 and POPCNT.
    Avx2,
    /// As [`Level::Avx2`], with the AVX-512 sets of 2019 and later.
    Avx512,
}

impl Level {
    /// The best this machine has.
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Portable))
    }

    /// All levels this machine can run, the slowest first.
    #[must_use]
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vpopcntdq");
            if avx512 {
                return &[Self::Portable, Self::Avx2, Self::Avx512];
            }
            if avx2 {
                return &[Self::Portable, Self::Avx2];
            }
        }
        &[Self::Portable]
    }
}

/// Asks for the cache line of `slice[index]`, to be read soon. An index out of bounds is passed over.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        // SAFETY: a prefetch reads nothing and cannot fault; the address is that of a live item besides.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                std::ptr::from_ref(item).cast(),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Work compiled once for each level.
pub(crate) trait Task {
    type Output;

    /// Must be `#[inline(always)]`, as everything hot it calls: only then is it compiled for the level it runs at.
    fn run<S: Scan>(self) -> Self::Output;
}

/// Runs a task at a level, or at the best below it that this machine has.
pub(crate) fn run<T: Task>(level: Level, task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    match level.min(Level::best()) {
        // SAFETY: the level is one this machine has.
        Level::Avx512 => return unsafe { run_avx512(task) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { run_avx2(task) },
        Level::Portable => {}
    }
    let _ = level;
    task.run::<columns::Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt"
)]
fn run_avx512<T: Task>(task: T) -> T::Output {
    task.run::<columns::Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_avx2<T: Task>(task: T) -> T::Output {
    task.run::<columns::Avx2>()
}
