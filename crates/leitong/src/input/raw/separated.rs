//! CSV and TSV: the records, and the bytes they were written with.

use super::{Read, Record, Shape, Source, Take, Wanted};
use crate::input::InputError;
use crate::input::records::{self, Values};
use crate::input::table::{LineGuard, is_end, no_header};
use crate::output::Failure;
use csv::{ByteRecord, StringRecord};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// What has been read and may still be asked for, from a place of the stream on.
#[derive(Default)]
struct Kept {
    from: u64,
    bytes: Vec<u8>,
}

/// Keeps what it reads.
struct Keeping<R> {
    input: R,
    kept: Rc<RefCell<Kept>>,
}

impl<R: io::Read> io::Read for Keeping<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.kept.borrow_mut().bytes.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// Bytes that are let go together.
const LET_GO: usize = 1 << 20;

impl Kept {
    /// The bytes between two places, without line breaks around them.
    fn between(&self, start: u64, end: u64) -> &[u8] {
        let place = |at: u64| (at.saturating_sub(self.from) as usize).min(self.bytes.len());
        let mut bytes = &self.bytes[place(start)..place(end).max(place(start))];
        while let [b'\n' | b'\r', rest @ ..] | [rest @ .., b'\n' | b'\r'] = bytes {
            bytes = rest;
        }
        bytes
    }

    fn let_go(&mut self, before: u64) {
        let count = (before - self.from) as usize;
        if count >= LET_GO {
            self.bytes.drain(..count);
            self.from = before;
        }
    }
}

/// A table being read.
struct Table<'s> {
    source: &'s Source,
    reader: csv::Reader<Keeping<LineGuard>>,
    kept: Rc<RefCell<Kept>>,
    header: StringRecord,
    record: ByteRecord,
}

impl<'s> Table<'s> {
    fn open(source: &'s Source, wanted: &Wanted) -> Result<Self, InputError> {
        let limit = wanted.options.extract.max_text.saturating_mul(2);
        let kept = Rc::new(RefCell::new(Kept::default()));
        let input = LineGuard::new(source.stream(wanted.read.as_ref())?, limit);
        let separator = if source.shape == Shape::Tsv { b'\t' } else { b',' };
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .flexible(true)
            .from_reader(Keeping { input, kept: Rc::clone(&kept) });
        let header = match reader.headers() {
            Ok(header) => {
                header.iter().map(|name| name.trim_start_matches('\u{feff}')).collect::<StringRecord>()
            }
            Err(error) => {
                return Err(InputError::new(source.place(1), format!("the header cannot be read: {error}")));
            }
        };
        if let Some(why) = no_header(header.iter().map(str::as_bytes)) {
            return Err(InputError::new(source.place(1), why));
        }
        let text = &wanted.options.text;
        if !header.iter().any(|name| name == text) {
            let known = header.iter().collect::<Vec<_>>().join(", ");
            let message =
                format!("there is no column {text:?}; the columns are {known}: name one with --text");
            return Err(InputError::new(source.place(1), message));
        }
        Ok(Self { source, reader, kept, header, record: ByteRecord::new() })
    }

    /// Reads the next record; says whether there was one.
    fn advance(&mut self) -> Result<bool, InputError> {
        let start = self.reader.position().byte();
        self.kept.borrow_mut().let_go(start);
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
            let line = error.position().map_or(self.reader.position().line(), csv::Position::line);
            let message = format!(
                "the record cannot be read: {error}; check quotes and encoding (UTF-8), and whether the file is whole"
            );
            InputError::new(self.source.place(line), message)
        })?;
        let is_end = is_end(self.record.iter());
        Ok(more && !is_end.map_err(|why| InputError::new(self.source.place(self.line()), why))?)
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn document(&self, wanted: &Wanted) -> Read {
        let place = self.source.place(self.line());
        let Ok(record) = StringRecord::from_byte_record(self.record.clone()) else {
            let message = "the record is not valid UTF-8; convert the file (iconv -f gb18030 -t utf-8)";
            return Read::Bad(InputError::new(place, message));
        };
        let value = |field: &str| {
            self.header.iter().position(|name| name == field).and_then(|at| record.get(at)).map(str::to_owned)
        };
        let rest: Map<String, Value> =
            wanted.extras.iter().filter_map(|name| Some((name.clone(), value(name)?.into()))).collect();
        let values = Values {
            id: value(&wanted.options.id).unwrap_or_default(),
            text: value(&wanted.options.text),
            is_html: value("format").as_deref() == Some("html"),
            fields: crate::input::Fields::default(),
            rest,
        };
        match records::document(values, place, &wanted.options) {
            Ok(document) => Read::Document(document.into_doc(self.line(), &wanted.extras)),
            Err(error) => Read::Bad(error),
        }
    }

    fn object(&self) -> Option<String> {
        let record = StringRecord::from_byte_record(self.record.clone()).ok()?;
        let cells = self.header.iter().zip(&record).map(|(name, cell)| (name.to_owned(), Value::from(cell)));
        Some(Value::Object(cells.collect()).to_string())
    }
}

pub(super) fn documents(
    source: &Source,
    wanted: &Wanted,
    skip: u64,
    take: Take<'_>,
) -> Result<(), InputError> {
    let mut table = Table::open(source, wanted)?;
    let (mut batch, mut bytes, mut passed) = (Vec::new(), 0, 0);
    loop {
        let more = match table.advance() {
            Ok(more) => more,
            Err(error) => {
                batch.push(Read::Broken(error));
                false
            }
        };
        if !more {
            take(batch);
            return Ok(());
        }
        if passed < skip {
            passed += 1;
            continue;
        }
        bytes += table.record.as_slice().len();
        batch.push(table.document(wanted));
        if bytes >= wanted.block {
            bytes = 0;
            if !take(std::mem::take(&mut batch)) {
                return Ok(());
            }
        }
    }
}

pub(super) fn again(
    source: &Source,
    wanted: &Wanted,
    each: &mut dyn FnMut(&Record<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // What cannot be opened was reported before.
    let Ok(mut table) = Table::open(source, wanted) else { return Ok(()) };
    loop {
        let start = table.reader.position().byte();
        if !matches!(table.advance(), Ok(true)) {
            return Ok(());
        }
        let end = table.reader.position().byte();
        let kept = table.kept.borrow();
        each(&Record { shape: source.shape, raw: kept.between(start, end), object: &|| table.object() })?;
    }
}

/// The header of a table as it was written, and what its lines end with.
pub(crate) fn header(source: &Source, wanted: &Wanted) -> Option<(Vec<u8>, &'static str)> {
    let table = Table::open(source, wanted).ok()?;
    let kept = table.kept.borrow();
    let header = kept.between(0, table.reader.position().byte()).to_vec();
    let at = kept.bytes.windows(header.len().max(1)).position(|window| window == header)? + header.len();
    let end = if kept.bytes[at..].starts_with(b"\r\n") { "\r\n" } else { "\n" };
    drop(kept);
    Some((header, end))
}
