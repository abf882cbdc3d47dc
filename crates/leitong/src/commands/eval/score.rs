//! The scores of pairs, by every signal.

use super::truth::Known;
use crate::commands::batch::Stages;
use crate::commands::batch::evidence::{Scores, rounded};
use crate::commands::batch::fingerprints::{Fingerprints, Known as Hashes};
use crate::output::Failure;
use leitong_detect::batch::{Pair, Run};
use leitong_detect::verdict::Verdict;
use leitong_detect::verify::Reading;
use leitong_fingerprint::distance::Overlap;
use rayon::prelude::*;
use std::collections::HashSet;

/// Bits of the SimHash of the recipe that is used.
pub(super) const BITS: f64 = 64.0;
/// Equal texts that are all paired with everything.
const PAIRED: usize = 1000;
/// Pairs that are worked on together.
const TOGETHER: usize = 4096;

/// What tells duplicates from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Verdict,
    Jaccard,
    Containment,
    Distance,
    Marks,
}

impl Signal {
    pub(super) const ALL: [Self; 5] =
        [Self::Verdict, Self::Jaccard, Self::Containment, Self::Distance, Self::Marks];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Jaccard => "jaccard",
            Self::Containment => "containment",
            Self::Distance => "distance",
            Self::Marks => "marks",
        }
    }

    /// A threshold as people write it.
    pub(super) fn threshold(self, score: f64) -> String {
        match self {
            Self::Verdict if score > 0.9 => "exact".into(),
            Self::Verdict if score > 0.6 => "near".into(),
            Self::Verdict if score > 0.4 => "contained".into(),
            Self::Verdict => "quotes".into(),
            Self::Distance => format!("<= {:.0}", bits(score)),
            _ => format!(">= {score:.3}"),
        }
    }
}

/// The distance that a score stands for.
pub(super) fn bits(score: f64) -> f64 {
    ((1.0 - score) * BITS).round()
}

/// A pair and its scores, the higher the more alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) same: bool,
    scores: [f32; 5],
}

/// All pairs that count.
pub(super) struct Scored {
    pub(super) rows: Vec<Row>,
    /// True pairs that the run found, and others that the verifier would have called duplicates.
    pub(super) found: u64,
    pub(super) overlooked: u64,
}

impl Scored {
    pub(super) fn of(&self, signal: Signal) -> Vec<(f64, bool)> {
        let score = |row: &Row| (f64::from(row.scores[signal as usize]), row.same);
        self.rows.iter().map(score).collect()
    }
}

/// A pair before the signals that need the texts.
#[derive(Clone, Copy)]
struct Waiting {
    a: u32,
    b: u32,
    same: bool,
    verdict: f32,
    jaccard: f32,
    containment: f32,
}

/// The stricter the verdict, the higher.
fn strictness(verdict: Verdict) -> f32 {
    match verdict {
        Verdict::Exact => 1.0,
        Verdict::Near => 0.75,
        Verdict::Contains | Verdict::Contained => 0.5,
        Verdict::Quotes => 0.25,
        Verdict::Different => 0.0,
    }
}

impl Waiting {
    fn of(pair: &Pair, a: u32, b: u32, same: bool) -> Self {
        let scores = Scores::of(&pair.evidence);
        let verdict = strictness(pair.ruling.verdict);
        let (jaccard, containment) = (scores.jaccard as f32, scores.containment() as f32);
        Self { a, b, same, verdict, jaccard, containment }
    }
}

/// The scores of all pairs that the run finds and, where only labelled pairs count, of all that are labelled.
pub(super) fn all(run: &Run, known: &Known) -> Result<Scored, Failure> {
    let mut waiting = found(run, known)?;
    let there: HashSet<(u32, u32)> = waiting.iter().map(|pair| (pair.a, pair.b)).collect();
    let found = waiting.iter().filter(|pair| pair.same).count() as u64;
    let missing: Vec<(u32, u32, bool)> =
        known.pairs().filter(|&(a, b, _)| !there.contains(&(a, b))).collect();
    drop(there);
    let judged: Vec<Waiting> = missing
        .into_par_iter()
        .map(|(a, b, same)| Ok(Waiting::of(&run.judge(a, b)?, a, b, same)))
        .collect::<Result<_, Failure>>()?;
    let overlooked = judged.iter().filter(|pair| pair.same && pair.verdict >= 0.5).count() as u64;
    // Where only labelled pairs count all of them have scores, but the run gave no verdict. Where all others are taken for none,
    // what the run does not find has no score by any signal: others that it does not find are not counted either.
    if known.negatives().is_some() {
        waiting.extend(judged.into_iter().map(|pair| Waiting { verdict: 0.0, ..pair }));
    }
    let fingerprints = Fingerprints::new(leitong_detect::recipe::DEFAULT)?;
    let mut rows = Vec::with_capacity(waiting.len());
    for some in waiting.chunks(TOGETHER) {
        let hashes = fingerprints.of(run, some.iter().flat_map(|pair| [pair.a, pair.b]))?;
        let groups: Vec<&[Waiting]> = some.chunk_by(|x, y| x.a == y.a).collect();
        let made: Vec<Vec<Row>> = groups
            .into_par_iter()
            .map(|group| complete(run, group, &hashes))
            .collect::<Result<_, Failure>>()?;
        rows.extend(made.into_iter().flatten());
    }
    Ok(Scored { rows, found, overlooked })
}

/// What the run finds, with the pairs of equal texts.
fn found(run: &Run, known: &Known) -> Result<Vec<Waiting>, Failure> {
    let mut waiting = Vec::new();
    let mut push = |pair: &Pair, x: u32, y: u32| {
        let (a, b) = (x.max(y), x.min(y));
        if let Some(same) = known.of(a, b) {
            waiting.push(Waiting::of(pair, a, b, same));
        }
    };
    for first in (0..run.count()).filter(|&first| run.first(first) == first) {
        let class = run.equals(&first);
        if class.len() < 2 {
            continue;
        }
        let pair = run.judge(class[1], class[0])?;
        for (at, &a) in class.iter().enumerate().skip(1) {
            let earlier = if at < PAIRED { &class[..at] } else { &class[..1] };
            earlier.iter().for_each(|&b| push(&pair, a, b));
        }
    }
    let stages = Stages::new(false);
    run.pairs(&|stage, done, total| stages.reached(stage, done, total), &mut |pair| {
        for &a in run.equals(&pair.a).iter().take(PAIRED) {
            run.equals(&pair.b).iter().take(PAIRED).for_each(|&b| push(&pair, a, b));
        }
        Ok(())
    })?;
    Ok(waiting)
}

/// The signals that need the texts, for pairs of one document.
fn complete(run: &Run, group: &[Waiting], hashes: &Hashes) -> Result<Vec<Row>, Failure> {
    let marks = |document: u32| -> Result<Vec<u32>, Failure> {
        Ok(Reading::of(&run.text(document)?).hashes().collect())
    };
    let Some(first) = group.first() else { return Ok(Vec::new()) };
    let own = marks(first.a)?;
    let row = |pair: &Waiting| {
        let other = marks(pair.b)?;
        let overlap = Overlap::of_sorted(&own, &other);
        let shared = overlap.shared as f64 / (overlap.a.min(overlap.b)).max(1) as f64;
        let distance = hashes.distance(pair.a, pair.b).map_or(0.0, |bits| 1.0 - f64::from(bits) / BITS);
        let scores = [pair.verdict, pair.jaccard, pair.containment, distance as f32, rounded(shared) as f32];
        Ok(Row { same: pair.same, scores })
    };
    group.iter().map(row).collect()
}
