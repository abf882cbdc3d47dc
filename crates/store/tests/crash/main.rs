//! What is left of a store when the process is killed, when its files are damaged, and when the disk is full.
//!
//! All tests work alike: a load ([`load`]) writes down every call before it is made and every answer after it came
//! ([`calls`]), something happens, and an oracle ([`oracle`]) that knows only what was written down says whether what is in
//! the store now can be explained.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]
#![expect(
    clippy::print_stdout,
    reason = "how much was done and what was skipped is for whoever runs the tests"
)]

mod bites;
mod calls;
mod damage;
mod disk;
mod documents;
mod kill;
mod load;
mod observe;
mod oracle;
mod process;
mod refuse;
mod verdict;

use leitong_store::Clock;
use leitong_store::embedded::{Embedded, Options};
use std::path::Path;
use tempfile::TempDir;

/// The usual amount of work, or the smaller one of an everyday run (`LEITONG_QUICK`).
pub(crate) fn amount(usual: u32, quick: u32) -> u32 {
    if std::env::var_os("LEITONG_QUICK").is_some() { quick } else { usual }
}

/// Numbers that look random, from a seed that every failure names. `LEITONG_SEED` sets it.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Whether one of `n` has come up.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The seed of a run: that of `LEITONG_SEED`, or another each time.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("LEITONG_SEED").ok().and_then(|seed| seed.parse().ok());
    let time =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    given.unwrap_or_else(|| time() % 1_000_000_000)
}

/// A folder on a real disk.
pub(crate) fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A folder in memory where there is one: synchronising costs nothing, so that more happens before the kill.
pub(crate) fn in_memory() -> TempDir {
    let fast = Path::new("/dev/shm");
    if fast.is_dir() { tempfile::tempdir_in(fast).unwrap() } else { on_disk() }
}

/// How the tests open a store. Time is given, and goes on between openings only.
pub(crate) fn options(now: i64) -> Options {
    Options {
        clock: Clock::new(move || now),
        holder: "a crash test".into(),
        cache: 8 << 20,
        ..Options::default()
    }
}

#[track_caller]
pub(crate) fn open(folder: &Path, now: i64) -> Embedded {
    Embedded::open(folder, options(now)).unwrap_or_else(|error| panic!("cannot be opened: {error}"))
}

/// A folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
