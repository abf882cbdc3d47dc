//! The second time through the inputs: what stays is copied, what goes is written down.

use super::alarm::Sources;
use super::evidence;
use super::format::{Format, Layout};
use super::journal::{Entry, Head, Tail, VERSION};
use super::kept::Kept;
use crate::commands::batch::{CODE_AGAINST, CODE_TAKEN, Found, Taken, changed};
use crate::input::raw::{self, Record};
use crate::output::file::{Closed, Output};
use crate::output::report::{Facts, Sample};
use crate::output::{Failure, json_line};
use leitong_detect::batch::{Explainer, Fate};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Documents, and bytes of them, whose evidence is gathered together.
const TOGETHER: (usize, usize) = (1024, 8 << 20);

/// What is written where.
pub(super) struct Files<'f> {
    pub(super) output: &'f Path,
    pub(super) removed: Option<&'f Path>,
    pub(super) journal: Option<&'f Path>,
}

/// What is known when the second reading begins.
pub(super) struct Decided<'d> {
    pub(super) taken: &'d Taken,
    pub(super) fates: &'d [Fate],
    pub(super) found: &'d Found,
    pub(super) sources: Option<&'d Sources>,
}

impl Decided<'_> {
    /// What there is to report when all is written.
    pub(super) fn facts<'f>(&'f self, written: &'f Written, sample: &'f Sample) -> Facts<'f> {
        let taken = self.taken;
        Facts {
            run: &taken.run,
            fates: self.fates,
            found: self.found,
            sources: self.sources,
            removed: &written.removed,
            kept: written.kept,
            against: taken.against,
            quotes: self.found.quotes,
            skipped: taken.skipped.count,
            inputs: taken.sources.iter().map(|source| source.name.clone()).collect(),
            sample,
        }
    }
}

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) kept: u64,
    pub(super) removed: BTreeMap<String, u64>,
}

/// A document that goes.
struct Gone {
    /// Itself and the one that stays; nothing if the database has it.
    pair: Option<(u32, u32)>,
    /// What is known of one that the database has.
    against: Value,
    before: u64,
    raw: Option<String>,
}

struct Writer<'w> {
    decided: &'w Decided<'w>,
    layout: &'w Layout,
    out: Kept<'w>,
    removed: Option<Output>,
    journal: Option<Output>,
    codes: BufReader<File>,
    against: BufReader<File>,
    next: u32,
    waiting: Vec<Gone>,
    bytes: usize,
    written: Written,
}

/// Writes everything; the files are there when this is done, or none of them.
pub(super) fn write(decided: &Decided<'_>, layout: &Layout, files: &Files<'_>) -> Result<Written, Failure> {
    let work = &decided.taken.work;
    let mut writer = Writer {
        decided,
        layout,
        out: Kept::create(layout, files.output, files.journal)?,
        removed: files.removed.map(Output::create).transpose()?,
        journal: files.journal.map(Output::create).transpose()?,
        codes: work.read("records")?,
        against: work.read("against")?,
        next: 0,
        waiting: Vec::new(),
        bytes: 0,
        written: Written::default(),
    };
    writer.begin()?;
    let mut counts = work.read("counts")?;
    for source in &decided.taken.sources {
        let mut count = [0; 8];
        counts.read_exact(&mut count)?;
        if layout.format == Format::Parquet {
            let row = Record { shape: source.shape, raw: b"", object: &|| None };
            (0..u64::from_le_bytes(count)).try_for_each(|_| writer.record(&row))?;
        } else {
            raw::again(source, &decided.taken.wanted, &mut |record| writer.record(record))?;
        }
        writer.out.end_source(source)?;
    }
    writer.end(files)
}

impl Writer<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        let text = self.decided.taken.wanted.options.text.clone();
        let head = Head { leitong_journal: VERSION, format: self.layout.format, text };
        self.journal.as_mut().map_or(Ok(()), |journal| journal.put(&json_line(&head)?))
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let mut code = [0];
        self.codes.read_exact(&mut code).map_err(|_| changed(None))?;
        let mut gone = Gone { pair: None, against: Value::Null, before: self.written.kept, raw: None };
        match code[0] {
            CODE_TAKEN => {
                let fate = *self.decided.fates.get(self.next as usize).ok_or_else(|| changed(None))?;
                let own = self.next;
                self.next += 1;
                match fate {
                    Fate::Stays if !self.out.stays(record)? => return Err(changed(None)),
                    Fate::Stays => {
                        self.written.kept += 1;
                        return Ok(());
                    }
                    Fate::Goes(kept) => gone.pair = Some((own, kept)),
                }
            }
            CODE_AGAINST => {
                let mut line = String::new();
                self.against.read_line(&mut line)?;
                gone.against = serde_json::from_str(&line).map_err(|_| changed(None))?;
            }
            _ => {
                self.out.is_bad();
                return Ok(());
            }
        }
        gone.raw = self.out.goes(record);
        self.bytes += gone.raw.as_ref().map_or(0, String::len);
        self.waiting.push(gone);
        if self.waiting.len() >= TOGETHER.0 || self.bytes >= TOGETHER.1 { self.flush() } else { Ok(()) }
    }

    /// Gathers the evidence of those that wait, on all cores, and writes it in order.
    fn flush(&mut self) -> Result<(), Failure> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let (decided, with_lines, with_entries) =
            (self.decided, self.removed.is_some(), self.journal.is_some());
        let lines: Vec<Lines> = waiting
            .into_par_iter()
            .map_init(Explainer::default, |explainer, gone| {
                Lines::of(gone, decided, explainer, with_lines, with_entries)
            })
            .collect::<Result<_, _>>()?;
        for Lines { verdict, evidence, entry } in lines {
            *self.written.removed.entry(verdict).or_default() += 1;
            if let Some(file) = &mut self.removed {
                file.put(&evidence)?;
            }
            if let Some(file) = &mut self.journal {
                file.put(&entry)?;
            }
        }
        Ok(())
    }

    fn end(mut self, files: &Files<'_>) -> Result<Written, Failure> {
        self.flush()?;
        if self.next as usize != self.decided.fates.len() || !self.codes.fill_buf()?.is_empty() {
            return Err(changed(None));
        }
        let removed = self.removed.map(Output::close).transpose()?;
        let (out, rows) = self.out.close()?;
        let journal = self.journal.map(|mut journal| {
            let output = files.output.display().to_string();
            let removed = self.written.removed.values().sum();
            journal.put(&json_line(&Tail { output, seal: out.seal.clone(), removed })?)?;
            journal.close()
        });
        let journal = journal.transpose()?;
        // The same number of records is not the same records.
        self.decided.taken.stamps.check()?;
        [removed, rows, journal, Some(out)].into_iter().flatten().try_for_each(Closed::publish)?;
        Ok(self.written)
    }
}

/// What is written about a document that goes.
struct Lines {
    verdict: String,
    evidence: Vec<u8>,
    entry: Vec<u8>,
}

impl Lines {
    fn of(
        gone: Gone,
        decided: &Decided<'_>,
        explainer: &mut Explainer,
        with_lines: bool,
        with_entries: bool,
    ) -> Result<Self, Failure> {
        let run = &decided.taken.run;
        let Gone { pair, against, before, raw } = gone;
        let of_database = |name: &str| against[name].as_str().unwrap_or_default().to_owned();
        let (id, kept, verdict, evidence) = match pair {
            None => {
                let evidence = if with_lines { json_line(&against)? } else { Vec::new() };
                (of_database("id"), of_database("kept"), of_database("verdict"), evidence)
            }
            Some((own, stays)) => {
                let pair = decided.found.known(run, own, stays)?;
                let verdict = pair.ruling.verdict.name().to_owned();
                if with_lines {
                    let source = decided.sources.map(|sources| sources.of(own));
                    let evidence::Written { id, kept, line } = evidence::line(run, explainer, &pair, source)?;
                    (id, kept, verdict, line)
                } else {
                    (run.id(own)?, run.id(stays)?, verdict, Vec::new())
                }
            }
        };
        let entry = if with_entries {
            json_line(&Entry { id, kept, verdict: verdict.clone(), before, raw })?
        } else {
            Vec::new()
        };
        Ok(Self { verdict, evidence, entry })
    }
}
