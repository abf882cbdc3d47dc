//! The line of the evidence file about a document that goes.

use crate::commands::batch::evidence::Scores;
use crate::output::{Failure, json_line};
use leitong_detect::batch::{Explainer, Pair, Run};
use leitong_detect::verify::reason;
use serde::Serialize;

/// Where a passage stands in both, from and to, in code points.
#[derive(Serialize)]
struct Passage {
    a: [usize; 2],
    b: [usize; 2],
}

/// What it is to the one that stays, what decided, and where both agree.
#[derive(Serialize)]
struct Line<'l> {
    id: &'l str,
    kept: &'l str,
    verdict: &'static str,
    jaccard: f64,
    containment: f64,
    a_in_b: f64,
    b_in_a: f64,
    rare: f64,
    numbers_differ: u32,
    rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<Vec<Passage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'l str>,
}

/// A line, and the ids in it.
pub(super) struct Written {
    pub(super) id: String,
    pub(super) kept: String,
    pub(super) line: Vec<u8>,
}

pub(super) fn line(
    run: &Run,
    explainer: &mut Explainer,
    pair: &Pair,
    source: Option<&str>,
) -> Result<Written, Failure> {
    if pair.evidence.equal {
        let (id, kept) = (run.id(pair.a)?, run.id(pair.b)?);
        let line = json_line(&Line::new(pair, (&id, &kept), None, source))?;
        return Ok(Written { id, kept, line });
    }
    // With the places of everything: as they were seen when copies were looked for, or aligned once more.
    let explained = run.explain(explainer, pair.a, pair.b)?;
    let passages = explained
        .passages
        .iter()
        .map(|passage| Passage { a: [passage.a.start, passage.a.end], b: [passage.b.start, passage.b.end] });
    let (id, kept) = (explained.ids.a, explained.ids.b);
    let line = Line::new(&explained.pair, (&id, &kept), Some(passages.collect()), source);
    // Of the two verdicts that of the run is the one by which it goes.
    let line = json_line(&Line { verdict: pair.ruling.verdict.name(), ..line })?;
    Ok(Written { id, kept, line })
}

impl<'l> Line<'l> {
    fn new(
        pair: &Pair,
        (id, kept): (&'l str, &'l str),
        passages: Option<Vec<Passage>>,
        source: Option<&'l str>,
    ) -> Self {
        let scores = Scores::of(&pair.evidence);
        let numbers = &pair.evidence.numbers;
        Self {
            id,
            kept,
            verdict: pair.ruling.verdict.name(),
            jaccard: scores.jaccard,
            containment: scores.containment(),
            a_in_b: scores.a_in_b,
            b_in_a: scores.b_in_a,
            rare: scores.rare,
            numbers_differ: numbers.only_a.max(numbers.only_b),
            rule: reason(&pair.evidence, pair.ruling),
            passages,
            source,
        }
    }
}
