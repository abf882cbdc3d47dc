//! Several processes at one server, while processes, servers and connections come to grief: of documents that are duplicates of
//! each other one is stored, and what was answered is there.
//!
//! Processes write down every call before it is made and every answer after it came ([`worker`]); the test does harm
//! ([`grief`]); in the end a checker ([`checker`]) says whether what was answered and what is left go together.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]
#![expect(
    clippy::print_stdout,
    reason = "how much was done and what was skipped is for whoever runs the tests"
)]

mod checker;
mod grief;
mod history;
mod redis;
mod search;
mod worker;

/// The usual amount of work, or the smaller one of an everyday run (`LEITONG_QUICK`).
pub(crate) fn amount(usual: u32, quick: u32) -> u32 {
    if std::env::var_os("LEITONG_QUICK").is_some() { quick } else { usual }
}

/// Numbers that look random, from a seed that every failure names.
pub(crate) fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The seed of a run: that of `LEITONG_SEED`, or another each time.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("LEITONG_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| history::now() % 1_000_000)
}
