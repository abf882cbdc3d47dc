//! Shared passages as places in the texts as they came.

use super::{Evidence, Reading, Scratch, evidence};
use crate::compare::{Both, SharedPassage};
use leitong_text::span::{PointIndex, Span};
use leitong_text::units::UnitReader;
use std::ops::Range;

/// Where the units of a text stand, in code points.
struct Places<'t> {
    spans: &'t [Span],
    points: PointIndex<'t>,
}

impl Places<'_> {
    fn of(&self, units: Range<usize>) -> Range<usize> {
        let (start, end) = (self.spans[units.start].start, self.spans[units.end - 1].end);
        self.points.at(start as usize)..self.points.at(end as usize)
    }
}

/// A run of equal units of both texts.
type Run = Both<Range<usize>>;

/// A text that was read with the places of its units.
#[derive(Debug)]
pub struct PlacedText {
    text: String,
    /// Its units and marks.
    pub reading: Reading,
    spans: Vec<Span>,
}

impl PlacedText {
    /// Reads a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        let (units, spans) = UnitReader::shared().read_placed(&text);
        Self { text, reading: Reading::of_units(units), spans }
    }

    /// The passages that it shares with another, in its own order, from the evidence found last.
    #[must_use]
    pub fn passages(&self, other: &Self, found: &Evidence, scratch: &Scratch) -> Vec<SharedPassage> {
        let (in_x, in_y) = (self.places(), other.places());
        let mut passages: Vec<Vec<Run>> = if found.equal {
            let all = 0..self.reading.units.len();
            vec![vec![Both { a: all.clone(), b: all }]]
        } else {
            (0..scratch.passages.len()).map(|passage| equal_runs(scratch, passage)).collect()
        };
        if found.swapped {
            passages.iter_mut().flatten().for_each(|run| std::mem::swap(&mut run.a, &mut run.b));
        }
        passages.retain(|runs| !runs.is_empty());
        passages.sort_by_key(|runs| (runs[0].a.start, runs[0].b.start));
        passages.iter().map(|runs| placed(runs, &in_x, &in_y)).collect()
    }

    fn places(&self) -> Places<'_> {
        Places { spans: &self.spans, points: PointIndex::new(&self.text) }
    }
}

/// The passages that two texts share, in the order of the first.
#[must_use]
pub fn shared_passages(x: &str, y: &str) -> Vec<SharedPassage> {
    let (x, y) = (PlacedText::new(x.to_owned()), PlacedText::new(y.to_owned()));
    let mut scratch = Scratch::default();
    let found = evidence(&x.reading, &y.reading, &[], &mut scratch);
    x.passages(&y, &found, &scratch)
}

/// The runs of units in a passage that are partners one after another.
///
/// Another passage may lie inside one of its differences: its units are not taken.
fn equal_runs(scratch: &Scratch, passage: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (from, to) = scratch.passages[passage].a;
    for i in (from as usize..to as usize).filter(|&i| scratch.passage_of[i] == passage as u32) {
        let Some(j) = scratch.partner(i) else { continue };
        match runs.last_mut() {
            Some(run) if run.a.end == i && run.b.end == j => (run.a.end, run.b.end) = (i + 1, j + 1),
            _ => runs.push(Both { a: i..i + 1, b: j..j + 1 }),
        }
    }
    runs
}

fn placed(runs: &[Run], in_x: &Places<'_>, in_y: &Places<'_>) -> SharedPassage {
    let differences = runs.windows(2).map(|pair| {
        let between = |before: &Range<usize>, after: &Range<usize>| after.start - before.end;
        between(&pair[0].a, &pair[1].a).max(between(&pair[0].b, &pair[1].b))
    });
    let equal: Vec<Run> =
        runs.iter().map(|run| Both { a: in_x.of(run.a.clone()), b: in_y.of(run.b.clone()) }).collect();
    let (first, last) = (&equal[0], &equal[equal.len() - 1]);
    SharedPassage {
        a: first.a.start..last.a.end,
        b: first.b.start..last.b.end,
        matched: runs.iter().map(|run| run.a.len()).sum(),
        differing: differences.sum(),
        equal,
    }
}
