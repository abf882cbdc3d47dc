//! The line of the evidence file about a document that goes.

use crate::commands::batch::evidence;
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run};
use serde_json::{Value, json};

/// What it is to the one that stays, what decided, and where both agree.
pub(crate) fn line(
    run: &Run,
    pair: &Pair,
    ids: (&str, &str),
    source: Option<&str>,
) -> Result<Value, Failure> {
    let mut object = json!({ "id": ids.0, "kept": ids.1, "verdict": pair.ruling.verdict.name() });
    if pair.evidence.equal {
        evidence::add(&mut object, pair);
    } else {
        // Aligned once more: this time with the places of everything.
        let explained = run.explain(pair.a, pair.b)?;
        evidence::add(&mut object, &explained.pair);
        object["passages"] = evidence::passages(&explained.passages);
    }
    if let Some(source) = source {
        object["source"] = source.into();
    }
    Ok(object)
}
