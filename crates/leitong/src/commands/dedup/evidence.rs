//! Why each document goes: from what the run found, or judged once more.

use crate::commands::batch::evidence;
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run};
use leitong_detect::verdict::Verdict;
use leitong_detect::verify::{Evidence, Rule, Ruling, shared_passages};
use serde_json::{Value, json};

/// Pairs that the run found, as far as there is room for them.
pub(crate) struct Found {
    pairs: Vec<Pair>,
    most: usize,
    pub(crate) quotes: u64,
}

impl Found {
    /// In at most so many bytes.
    pub(crate) fn new(memory: u64) -> Self {
        Self { pairs: Vec::new(), most: memory as usize / size_of::<Pair>(), quotes: 0 }
    }

    pub(crate) fn push(&mut self, pair: Pair) {
        if !pair.ruling.verdict.is_duplicate() {
            self.quotes += 1;
        } else if self.pairs.len() < self.most {
            self.pairs.push(pair);
        }
    }

    /// Makes it ready to be asked.
    pub(crate) fn ready(&mut self) {
        self.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    }

    /// What a document that goes is to the one that stays.
    pub(crate) fn pair(&self, run: &Run, gone: u32, kept: u32) -> Result<Pair, Failure> {
        let (a, b) = (run.first(gone), run.first(kept));
        if a == b {
            let ruling = Ruling { verdict: Verdict::Exact, rule: Rule::Equal };
            return Ok(Pair {
                a: gone,
                b: kept,
                ruling,
                evidence: Evidence { equal: true, ..Evidence::default() },
            });
        }
        // Found from the later one; from the earlier one everything is the other way round.
        let key = (a.max(b), a.min(b));
        match self.pairs.binary_search_by_key(&key, |pair| (pair.a, pair.b)) {
            Ok(at) if a > b => Ok(Pair { a: gone, b: kept, ..self.pairs[at] }),
            Ok(at) => Ok(evidence::turned(&self.pairs[at], gone, kept)),
            Err(_) => Ok(Pair { a: gone, b: kept, ..run.judge(a, b)? }),
        }
    }
}

/// The line of the evidence file about a document.
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
