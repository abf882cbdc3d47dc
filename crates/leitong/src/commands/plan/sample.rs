//! A run with a part of the documents, and how long each step took.

use crate::commands::batch::{Inputs, Work};
use crate::input::InputError;
use crate::input::raw::{self, Read, Source, Wanted};
use crate::output::file::Output;
use crate::output::{Failure, Progress};
use leitong_detect::batch::{Corpus, Explainer, Incoming, Run};
use parquet::file::reader::FileReader;
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bytes of text in a sample, and places they are taken from.
const SAMPLE: u64 = 24 << 20;
const PLACES: u64 = 8;
/// Reads that are timed, and the bytes of a list that are read at once.
const READS: u64 = 10_000;
const LISTED: usize = 128;
/// Records that cannot be used of which each is told, at most.
const SHOWN: u64 = 10;
/// Pairs whose evidence is timed.
const TIMED: usize = 256;

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) documents: u64,
    /// Bytes of the files that the documents took, and of all files.
    pub(super) read: u64,
    pub(super) all: u64,
    /// Bytes of text.
    pub(super) texts: u64,
    /// Seconds for taking in, finding and judging, and copying.
    pub(super) taking: f64,
    pub(super) finding: f64,
    pub(super) copying: f64,
    /// Duplicates within one place, and between places.
    pub(super) near_by: u64,
    pub(super) apart: u64,
    /// Seconds for the evidence of one.
    pub(super) evidence: f64,
    /// Bytes of the work folder, and of the marks in it.
    pub(super) folder: u64,
    pub(super) marks: u64,
    /// Marks that are noted because an earlier document has them too.
    pub(super) shared: u64,
    /// Those of them that stand in lists, the bytes of these, and the seconds for reading one from a file.
    pub(super) listed: u64,
    pub(super) lists: u64,
    pub(super) reading: f64,
    /// Records of the sample that cannot be used: those that are told, and others.
    shown: u64,
    pub(super) untold: u64,
    /// Why the rest of a file cannot be read, or a record that is told.
    pub(super) broken: Vec<InputError>,
}

/// A source and a place of its file.
struct Piece<'s> {
    source: &'s Source,
    /// Which of the sources it is.
    number: usize,
    place: u64,
    most: u64,
}

fn length(source: &Source) -> u64 {
    source.path.metadata().map_or(0, |file| file.len())
}

/// Places spread over all files.
fn pieces(sources: &[Source]) -> Vec<Piece<'_>> {
    let all: u64 = sources.iter().map(length).sum();
    if all <= SAMPLE {
        let whole = |(number, source)| Piece { source, number, place: 0, most: u64::MAX };
        return sources.iter().enumerate().map(whole).collect();
    }
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for step in 0..PLACES {
        let (mut place, mut left) = (all / PLACES * step, sources.iter().enumerate());
        let Some((number, source)) = left.find(|(_, source)| {
            let inside = place < length(source);
            place -= if inside { 0 } else { length(source) };
            inside
        }) else {
            break;
        };
        // Only lines can be read from the middle; other files from their beginning, and once.
        let place = if source.has_places() { place } else { 0 };
        match pieces.iter_mut().find(|piece| piece.number == number && piece.place == place) {
            Some(piece) => piece.most += SAMPLE / PLACES,
            None => pieces.push(Piece { source, number, place, most: SAMPLE / PLACES }),
        }
    }
    pieces
}

impl Sample {
    pub(super) fn take(
        sources: &[Source],
        mut wanted: Wanted,
        work: &Work,
        memory: u64,
    ) -> Result<Self, Failure> {
        let _progress = Progress::waiting("measuring");
        let mut sample = Self { all: sources.iter().map(length).sum(), ..Self::default() };
        let mut corpus = Corpus::open(&work.options(memory))?;
        let (mut ends, mut taking) = (Vec::new(), Vec::new());
        let inputs = Arc::new(Inputs::open(sources, &wanted));
        for piece in pieces(sources) {
            let (begun, before) = (Instant::now(), sample.read);
            wanted.read = Some(Arc::new(AtomicU64::new(0)));
            sample.piece(&piece, &wanted, &inputs, &mut corpus)?;
            taking.push((begun.elapsed().as_secs_f64(), sample.read - before));
            ends.push(corpus.count() as u32);
        }
        sample.taking = seconds_of(&taking);
        sample.documents = corpus.count();
        let begun = Instant::now();
        let run = corpus.finish(Some(inputs), &|_, _, _| ())?;
        let mut pairs = Vec::new();
        let mut counts = (0, 0);
        run.select(None, &|_, _, _| (), &mut |pair| {
            if pair.ruling.verdict.is_duplicate() {
                let place = |document: u32| ends.partition_point(|&end| end <= document);
                if place(pair.a) == place(pair.b) {
                    counts.0 += 1;
                } else {
                    counts.1 += 1;
                }
                pairs.push((pair.a, pair.b));
                pairs.truncate(TIMED);
            }
            Ok(())
        })?;
        (sample.near_by, sample.apart) = counts;
        sample.finding = begun.elapsed().as_secs_f64();
        sample.shared = run.shared_marks();
        (sample.listed, sample.lists) = run.lists();
        sample.evidence = time_evidence(&run, &pairs)?;
        sample.weigh(work)?;
        Ok(sample)
    }

    fn piece(
        &mut self,
        piece: &Piece<'_>,
        wanted: &Wanted,
        inputs: &Inputs,
        corpus: &mut Corpus,
    ) -> Result<(), Failure> {
        let (mut texts, mut failed, before) = (0, None, corpus.count());
        let read = || wanted.read.as_ref().map_or(0, |read| read.load(Ordering::Relaxed));
        raw::documents_from(piece.source, wanted, piece.place, &mut |batch| {
            let mut documents: Vec<Incoming> = Vec::with_capacity(batch.len());
            for read in batch {
                match read {
                    Read::Document(doc) => documents.push(inputs.incoming(piece.number, doc)),
                    Read::Broken(error) => self.broken.push(error),
                    // In the middle of a file nobody knows the number of a line.
                    Read::Bad(error) if piece.place == 0 && self.shown < SHOWN => {
                        self.shown += 1;
                        self.broken.push(error);
                    }
                    Read::Bad(_) => self.untold += 1,
                }
            }
            texts += documents.iter().map(|document| document.text.len() as u64).sum::<u64>();
            if let Err(error) = corpus.push(&documents) {
                failed = Some(error);
            }
            texts.max(read()) < piece.most && failed.is_none()
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.texts += texts;
        self.read += match read() {
            // No stream: the share of its rows, or all of it.
            0 => {
                let rows = raw::open_parquet(piece.source)
                    .map_or(0, |file| file.metadata().file_metadata().num_rows());
                let share = (corpus.count() - before) as f64 / rows.max(1) as f64;
                (length(piece.source) as f64 * if rows > 0 { share.min(1.0) } else { 1.0 }) as u64
            }
            counted => counted,
        };
        Ok(())
    }

    /// The size of the work folder, and how long it takes to write as much as was read, as an output is written.
    fn weigh(&mut self, work: &Work) -> Result<(), Failure> {
        let path = work.folder.join("copy");
        let (begun, block) = (Instant::now(), vec![b' '; 1 << 16]);
        let mut copy = Output::create(&path)?;
        for _ in 0..self.read.max(self.texts) / block.len() as u64 {
            copy.put(&block)?;
        }
        drop(copy.close()?);
        self.copying = begun.elapsed().as_secs_f64();
        for name in ["texts", "marks", "documents"] {
            self.folder += work.folder.join(name).metadata()?.len();
        }
        let marks = File::open(work.folder.join("marks"))?;
        self.marks = marks.metadata()?.len();
        self.reading = time_reading(&marks, self.marks)?;
        Ok(())
    }
}

/// Seconds that pieces of so many bytes took. The first also finds room for what the others use again: it counts as they do, if they
/// are enough to tell. Half of its time is left to it in any case: it may be of another kind.
fn seconds_of(pieces: &[(f64, u64)]) -> f64 {
    let sum =
        |pieces: &[(f64, u64)]| pieces.iter().fold((0.0, 0), |sum, piece| (sum.0 + piece.0, sum.1 + piece.1));
    let (seconds, bytes) = sum(pieces);
    match pieces.get(1..).map(sum) {
        Some((others, rest)) if 2 * rest >= bytes && rest > 0 => {
            (others * bytes as f64 / rest as f64).max(seconds / 2.0)
        }
        _ => seconds,
    }
}

/// Seconds that it takes to read a few bytes somewhere in a file, which has so many.
fn time_reading(file: &File, length: u64) -> Result<f64, Failure> {
    let mut bytes = [0; LISTED];
    let Some(most) = length.checked_sub(LISTED as u64) else { return Ok(0.0) };
    let begun = Instant::now();
    for read in 0..READS {
        // All over the file.
        let place = (read.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) % (most + 1);
        file.read_exact_at(&mut bytes, place)?;
    }
    Ok(begun.elapsed().as_secs_f64() / READS as f64)
}

/// Seconds that it takes to judge a pair and to find its passages, on all cores together.
fn time_evidence(run: &Run, pairs: &[(u32, u32)]) -> Result<f64, Failure> {
    if pairs.is_empty() {
        return Ok(0.0);
    }
    let begun = Instant::now();
    pairs.par_iter().try_for_each_init(Explainer::default, |explainer, &(a, b)| {
        std::hint::black_box(run.explain(explainer, a, b)?);
        Ok::<(), Failure>(())
    })?;
    Ok(begun.elapsed().as_secs_f64() / pairs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::seconds_of;

    #[test]
    fn the_first_piece_counts_as_the_others_do() {
        assert_eq!(seconds_of(&[]), 0.0);
        assert_eq!(seconds_of(&[(3.0, 100)]), 3.0);
        assert_eq!(seconds_of(&[(3.0, 100), (1.0, 100), (2.0, 200)]), 4.0);
        assert_eq!(seconds_of(&[(3.0, 100_000), (0.5, 10)]), 3.5, "a file of one line tells nothing");
        assert_eq!(seconds_of(&[(3.0, 0), (0.5, 0)]), 3.5);
        assert_eq!(
            seconds_of(&[(5.0, 100), (0.5, 200)]),
            2.75,
            "a slow file before quick ones takes its time"
        );
    }
}
