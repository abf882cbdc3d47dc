//! The one verifier: two texts are aligned, and what they share, how rare that is and what differs decides.
//!
//! ```text
//! text ─▶ Reading (units, marks) ─▶ seeds ─▶ passages ─▶ Evidence ─▶ rule ─▶ verdict
//!                         rarity of each shared mark ──▶─┘
//! ```
//! Batch and online use this and nothing else, so they cannot disagree about a pair.

mod align;
mod evidence;
mod numbers;
mod outline;
mod passages;
mod reading;
mod rules;
#[cfg(test)]
mod tests;
mod words;

pub use align::{Passage, Scratch};
pub use evidence::{Evidence, Kept, evidence};
pub use numbers::Numbers;
pub use outline::{Sketch, sketch_evidence};
pub use passages::{PlacedPair, PlacedText, shared_passages};
pub use reading::{Reader, Reading};
pub use rules::{BestCopy, COPIES, Rule, Ruling, rule};
pub use words::reason;

/// Weights are in parts of this.
pub const FULL: u32 = 1024;
/// A mark that so many tenths of independent sources have is as good as unique; beyond that it counts in proportion.
const SOURCES_TENTHS: u32 = 25;

/// What a mark weighs that so many independent sources have.
#[must_use]
pub fn weight(sources: u32) -> u32 {
    if sources * 10 <= SOURCES_TENTHS { FULL } else { FULL * SOURCES_TENTHS / (sources * 10) }
}
