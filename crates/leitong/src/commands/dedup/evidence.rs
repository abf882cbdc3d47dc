//! The line of the evidence file about a document that goes.

use crate::commands::batch::evidence;
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run};
use leitong_detect::verify::shared_passages;
use serde_json::{Value, json};

/// What it is to the one that stays, what decided, and where both agree.
pub(crate) fn line(
    run: &Run,
    pair: &Pair,
    ids: (&str, &str),
    source: Option<&str>,
) -> Result<Value, Failure> {
    let mut object = json!({ "id": ids.0, "kept": ids.1, "verdict": pair.ruling.verdict.name() });
    evidence::add(&mut object, pair);
    if !pair.evidence.equal {
        let (a, b) = (run.text(pair.a)?, run.text(pair.b)?);
        object["passages"] = evidence::passages(&shared_passages(&a, &b));
    }
    if let Some(source) = source {
        object["source"] = source.into();
    }
    Ok(object)
}
