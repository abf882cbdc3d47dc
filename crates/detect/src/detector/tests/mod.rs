//! The operations on the store in memory.

use crate::verdict::{Judgement, Verdict};

/// A judge that reads: texts that have a mark in common are different.
pub(super) fn no_shared_mark(asked: Option<&str>, found: Option<&str>) -> Judgement {
    let marked = |text: Option<&str>| text.is_some_and(|text| text.contains('※'));
    let verdict = if marked(asked) && marked(found) { Verdict::Different } else { Verdict::Near };
    Judgement { verdict, reason: "marks".into() }
}
