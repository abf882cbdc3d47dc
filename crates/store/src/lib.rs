//! Where records live, and how they are found again.
//!
//! The principal type is the trait [`Store`]. [`Memory`] lives as long as the process; [`Embedded`] is a folder on disk
//! that survives crashes: what it has answered is there after the next opening.
//!
//! A store knows records and probes, never verdicts: judging is the caller's.

mod blocks;
mod certificate;
mod clock;
mod codec;
pub mod embedded;
mod error;
mod findings;
mod marks;
mod memory;
mod near;
pub mod opensearch;
mod rank;
mod record;
pub mod redis;
mod seam;

pub use clock::Clock;
pub use embedded::Embedded;
pub use error::StoreError;
pub use findings::Findings;
pub use marks::Scoring;
pub use memory::Memory;
pub use record::{
    Collection, Key, MOST_DEPTH, MOST_FIELD, MOST_ID, MOST_OUTLINE, MOST_TEXT, Mark, Outline, Record,
    Signals, Space, SpaceSettings, Stored, validate_id,
};
pub use seam::{Added, Addition, Candidate, Count, Found, Policy, Probe, Query, Rank, Sources, Store, Want};
