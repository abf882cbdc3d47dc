//! Shared passages as places in the texts as they came.

use super::{Evidence, Reader, Reading, Scratch, evidence};
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

/// A text that was read with the places of its units; its memory is used again for the next.
#[derive(Debug, Default)]
pub struct PlacedText {
    text: String,
    /// Its units and marks.
    pub reading: Reading,
    spans: Vec<Span>,
}

impl PlacedText {
    /// Reads a text in the place of another.
    pub fn read(&mut self, text: &str, reader: &mut Reader) {
        self.text.clear();
        self.text.push_str(text);
        UnitReader::shared().read_placed_into(text, &mut self.reading.units, &mut self.spans);
        reader.mark(&mut self.reading);
    }

    fn places(&self) -> Places<'_> {
        Places { spans: &self.spans, points: PointIndex::new(&self.text) }
    }
}

/// Two texts that were aligned, and what was found.
#[derive(Debug)]
pub struct PlacedPair<'p> {
    /// The texts.
    pub placed: Both<&'p PlacedText>,
    /// What was found.
    pub found: &'p Evidence,
    /// How they were aligned.
    pub scratch: &'p Scratch,
}

impl PlacedPair<'_> {
    /// The passages that both share, in the order of the first.
    #[must_use]
    pub fn passages(&self) -> Vec<SharedPassage> {
        let (in_a, in_b) = self.places();
        let mut passages = self.each_passage(equal_runs, |all| vec![all]);
        passages.iter_mut().flatten().for_each(|run| self.turn(run));
        passages.retain(|runs| !runs.is_empty());
        passages.sort_by_key(|runs| (runs[0].a.start, runs[0].b.start));
        passages.iter().map(|runs| placed(runs, &in_a, &in_b)).collect()
    }

    /// Where these passages begin and end, in the same order.
    #[must_use]
    pub fn extents(&self) -> Vec<Both<Range<usize>>> {
        let (in_a, in_b) = self.places();
        let extents = self.each_passage(extent, Some);
        let mut extents: Vec<Run> = extents.into_iter().flatten().collect();
        extents.iter_mut().for_each(|run| self.turn(run));
        extents.sort_by_key(|run| (run.a.start, run.b.start));
        extents.into_iter().map(|run| Both { a: in_a.of(run.a), b: in_b.of(run.b) }).collect()
    }

    /// What every passage is; of equal texts, what all of it is.
    fn each_passage<T>(&self, of: impl Fn(&Scratch, usize) -> T, whole: impl Fn(Run) -> T) -> Vec<T> {
        if self.found.equal {
            let all = 0..self.placed.a.reading.units.len();
            return vec![whole(Both { a: all.clone(), b: all })];
        }
        (0..self.scratch.passages.len()).map(|passage| of(self.scratch, passage)).collect()
    }

    /// As seen from the first text, which is the second where they were aligned the other way.
    fn turn(&self, run: &mut Run) {
        if self.found.swapped {
            std::mem::swap(&mut run.a, &mut run.b);
        }
    }

    fn places(&self) -> (Places<'_>, Places<'_>) {
        (self.placed.a.places(), self.placed.b.places())
    }
}

/// The passages that two texts share, in the order of the first.
#[must_use]
pub fn shared_passages(x: &str, y: &str) -> Vec<SharedPassage> {
    let (mut a, mut b) = (PlacedText::default(), PlacedText::default());
    let mut reader = Reader::default();
    a.read(x, &mut reader);
    b.read(y, &mut reader);
    let mut scratch = Scratch::default();
    let found = evidence(&a.reading, &b.reading, &[], &mut scratch);
    PlacedPair { placed: Both { a: &a, b: &b }, found: &found, scratch: &scratch }.passages()
}

/// The units of a passage that have partners in it, and these, in order.
fn partners(scratch: &Scratch, passage: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
    let (from, to) = scratch.passages[passage].a;
    // Another passage may lie inside one of its differences: its units are not taken.
    let own = (from as usize..to as usize).filter(move |&i| scratch.passage_of[i] == passage as u32);
    own.filter_map(|i| Some((i, scratch.partner(i)?)))
}

/// From the first unit of a passage that has a partner to the last.
fn extent(scratch: &Scratch, passage: usize) -> Option<Run> {
    let mut partners = partners(scratch, passage);
    let first = partners.next()?;
    let last = partners.next_back().unwrap_or(first);
    Some(Both { a: first.0..last.0 + 1, b: first.1..last.1 + 1 })
}

/// The runs of units in a passage that are partners one after another.
fn equal_runs(scratch: &Scratch, passage: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (i, j) in partners(scratch, passage) {
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
