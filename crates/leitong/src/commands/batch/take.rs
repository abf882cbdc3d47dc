//! The loop that takes documents in.

use super::intake::{CODE_AGAINST, CODE_BAD, CODE_TAKEN, Job, Noted};
use super::readers::read_sources;
use super::work::{Columns, Work};
use super::{Inputs, OnError, Skipped};
use crate::input::InputError;
use crate::input::raw::{Doc, Read, Source, Wanted};
use crate::output::{Failure, Progress};
use leitong_detect::batch::Corpus;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufRead, Read as _};
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use xxhash_rust::xxh3::xxh3_128;

/// Documents between two checkpoints.
const CHECKPOINT: u64 = 20_000;
/// Different values of the field that tells the source.
const MOST_SOURCES: usize = 1 << 20;

/// Columns: what became of each record; how many records each source has; what stands for each id; ranks; sources by number, and their names, a line each; why
/// documents go that the database has, a line each.
const COLUMNS: [&str; 7] = ["records", "counts", "ids", "ranks", "sources", "names", "against"];

/// Bytes that stand for an id: so many that two different ones are never taken for one.
const SHORT: usize = 12;

fn shortened(id: &str) -> [u8; SHORT] {
    let mut short = [0; SHORT];
    short.copy_from_slice(&xxh3_128(id.as_bytes()).to_le_bytes()[..SHORT]);
    short
}

/// What stands for an id is a hash already.
#[derive(Clone, Copy, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    // How many bytes come is the same for all.
    fn write_usize(&mut self, _: usize) {}
}

pub(super) struct Intake<'i> {
    job: &'i Job<'i>,
    corpus: Corpus,
    inputs: &'i Inputs,
    columns: Columns,
    noted: Noted,
    ids: HashSet<[u8; SHORT], BuildHasherDefault<AsItIs>>,
    names: HashMap<String, u32>,
    skipped: Skipped,
    checkpoint: u64,
}

impl<'i> Intake<'i> {
    pub(super) fn new(
        job: &'i Job<'i>,
        work: &Work,
        (mut corpus, inputs): (Corpus, &'i Inputs),
        noted: Noted,
        skipped: Skipped,
    ) -> Result<Self, Failure> {
        let columns = Columns::open(&work.folder, &COLUMNS, &noted.lengths)?;
        let (mut ids, mut names) = (HashSet::default(), HashMap::new());
        if corpus.count() == 0 {
            // From here on the folder tells what it is for.
            corpus.checkpoint(&noted.text()?)?;
        } else {
            let mut file = work.read("ids")?;
            let mut short = [0; SHORT];
            while file.read_exact(&mut short).is_ok() {
                ids.insert(short);
            }
            for name in work.read("names")?.lines() {
                let next = names.len() as u32;
                names.insert(serde_json::from_str(&name?).unwrap_or_default(), next);
            }
        }
        let checkpoint = corpus.count();
        Ok(Self { job, corpus, inputs, columns, noted, ids, names, skipped, checkpoint })
    }

    /// Whether there is nothing left to read.
    pub(super) fn is_complete(&self) -> bool {
        self.corpus.is_complete()
    }

    pub(super) fn done(self) -> (Corpus, Noted, Skipped) {
        (self.corpus, self.noted, self.skipped)
    }

    /// Reads all sources behind what was noted.
    pub(super) fn read_all(
        &mut self,
        sources: &[Source],
        wanted: &Wanted,
        bytes: u64,
    ) -> Result<(), Failure> {
        let progress = Progress::bytes("reading", bytes, self.job.quiet_out);
        let (first, skip) = (self.noted.source, self.noted.record);
        std::thread::scope(|scope| {
            // One batch waits while one is worked on and one is read: no more are in memory.
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || read_sources(sources, wanted, first, skip, &sender));
            for (at, batch) in receiver {
                self.batch(at, &sources[at], batch)?;
                if let Some(read) = &wanted.read {
                    progress.reached(read.load(Ordering::Relaxed));
                }
            }
            Ok::<(), Failure>(())
        })?;
        self.begin_source(sources.len())?;
        self.checkpoint()
    }

    /// Notes how many records the sources before this one have.
    fn begin_source(&mut self, at: usize) -> Result<(), Failure> {
        while self.noted.source < at {
            self.columns.push("counts", &self.noted.record.to_le_bytes())?;
            self.noted.source += 1;
            self.noted.record = 0;
        }
        Ok(())
    }

    fn batch(&mut self, at: usize, source: &Source, batch: Vec<Read>) -> Result<(), Failure> {
        self.begin_source(at)?;
        let mut codes = Vec::with_capacity(batch.len());
        let mut good = Vec::with_capacity(batch.len());
        for read in batch {
            match read {
                Read::Document(doc) if self.ids.insert(shortened(&doc.id)) => {
                    self.columns.push("ids", &shortened(&doc.id))?;
                    codes.push(CODE_TAKEN);
                    good.push(doc);
                }
                Read::Document(doc) => {
                    codes.push(CODE_BAD);
                    self.report(&twice(source, &doc))?;
                }
                Read::Bad(error) => {
                    codes.push(CODE_BAD);
                    self.report(&error)?;
                }
                Read::Broken(error) => self.report(&error)?,
            }
        }
        let good = self.without_known(good, &mut codes)?;
        self.columns.push("records", &codes)?;
        self.noted.record += codes.len() as u64;
        let mut documents = Vec::with_capacity(good.len());
        for doc in good {
            self.aside(&doc)?;
            documents.push(self.inputs.incoming(at, doc));
        }
        self.corpus.push(&documents)?;
        if self.corpus.count() - self.checkpoint >= CHECKPOINT { self.checkpoint() } else { Ok(()) }
    }

    fn report(&mut self, error: &InputError) -> Result<(), Failure> {
        let on_error: Option<OnError> = self.job.args.on_error();
        self.skipped.report(error, on_error)
    }

    /// Those that the database does not have.
    fn without_known(&mut self, good: Vec<Doc>, codes: &mut [u8]) -> Result<Vec<Doc>, Failure> {
        let Some(against) = self.job.against else { return Ok(good) };
        let answers = against.check(&good)?;
        let places: Vec<usize> = (0..codes.len()).filter(|&at| codes[at] == CODE_TAKEN).collect();
        let mut left = Vec::with_capacity(good.len());
        for ((doc, answer), at) in good.into_iter().zip(answers).zip(places) {
            match answer {
                None => left.push(doc),
                Some(mut line) => {
                    if let Some(slot) = self.job.source {
                        line["source"] = doc.extras.get(slot).cloned().flatten().unwrap_or_default().into();
                    }
                    codes[at] = CODE_AGAINST;
                    self.noted.against += 1;
                    self.columns.push("against", format!("{line}\n").as_bytes())?;
                }
            }
        }
        Ok(left)
    }

    /// What is kept of a document beside its text.
    fn aside(&mut self, doc: &Doc) -> Result<(), Failure> {
        if !self.job.ranking.is_first() {
            self.columns.push("ranks", &self.job.ranking.of(doc).to_le_bytes())?;
        }
        let Some(at) = self.job.source else { return Ok(()) };
        let name = doc.extras.get(at).and_then(Option::as_deref).unwrap_or_default();
        let number = match self.names.get(name) {
            Some(&number) => number,
            None if self.names.len() >= MOST_SOURCES => {
                return Err(Failure::Input(format!(
                    "the field of --source has more than {MOST_SOURCES} different values; name one that tells the source"
                )));
            }
            None => {
                let number = self.names.len() as u32;
                self.names.insert(name.to_owned(), number);
                self.columns.push("names", format!("{}\n", serde_json::Value::from(name)).as_bytes())?;
                number
            }
        };
        self.columns.push("sources", &number.to_le_bytes())
    }

    fn checkpoint(&mut self) -> Result<(), Failure> {
        self.noted.lengths = self.columns.flush()?;
        self.noted.skipped = self.skipped.count;
        self.corpus.checkpoint(&self.noted.text()?)?;
        self.checkpoint = self.corpus.count();
        Ok(())
    }
}

fn twice(source: &Source, doc: &Doc) -> InputError {
    let message = format!(
        "the id {:?} was there before; ids must be unique, name the field that holds them with --id",
        doc.id
    );
    InputError { place: source.place(doc.number), id: doc.id.clone(), message }
}
