//! The journal of a run: what was removed, whole and with its place, so that it can be put back.
//!
//! ```text
//! {"leitong_journal": 1, "format": "jsonl", "text": "text"}
//! {"id", "kept", "verdict", "before": kept documents that stand before it, "raw": as it came}     a line each, in order
//! {"output": path, "seal": {"bytes", "xxh3"} of the output, "removed": lines above}
//! ```

use super::format::Format;
use crate::output::file::Seal;
use serde::{Deserialize, Serialize};

/// The version of the layout above.
pub(crate) const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) leitong_journal: u32,
    pub(crate) format: Format,
    /// The field that holds the text, as tables are read by it.
    pub(crate) text: String,
}

/// A document that was removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) kept: String,
    pub(crate) verdict: String,
    pub(crate) before: u64,
    /// Not for Parquet, whose rows are in a file of their own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) raw: Option<String>,
}

/// The last line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tail {
    pub(crate) output: String,
    pub(crate) seal: Seal,
    pub(crate) removed: u64,
}
