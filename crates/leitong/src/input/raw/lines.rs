//! JSON lines and lines of text.

use super::blocks::{Block, Blocks, lines};
use super::sources::Counted;
use super::{Doc, Read, Record, Shape, Source, Take, Wanted, json};
use crate::input::lines::LineError;
use crate::input::{InputError, STDIN};
use crate::output::Failure;
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::{BufRead, Seek, SeekFrom};

/// Lines a thread parses at a time.
const AT_A_TIME: usize = 64;

fn limit(source: &Source, wanted: &Wanted) -> u64 {
    let most = wanted.options.extract.max_text;
    // The JSON form of a text is longer than the text: six bytes for an escaped character of two or three.
    if source.shape == Shape::Jsonl { most.saturating_mul(3) } else { most }
}

/// Whether a line is a record; blank lines between JSON objects are none.
fn is_record(line: &[u8], shape: Shape) -> bool {
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        _ if shape == Shape::Lines => true,
        None => false,
        Some(byte) if byte.is_ascii() => true,
        Some(_) => !std::str::from_utf8(line).is_ok_and(|line| line.trim().is_empty()),
    }
}

pub(super) fn documents(
    source: &Source,
    wanted: &Wanted,
    skip: u64,
    take: Take<'_>,
) -> Result<(), InputError> {
    let begins = source.has_places().then_some(0);
    of_stream((source.stream(wanted.read.as_ref())?, begins), source, wanted, skip, take);
    Ok(())
}

/// The documents of a plain file from about a place on; numbers of lines are not those of the file.
pub(super) fn documents_from(
    source: &Source,
    wanted: &Wanted,
    place: u64,
    take: Take<'_>,
) -> std::io::Result<()> {
    let mut file = std::io::BufReader::new(std::fs::File::open(&source.path)?);
    // One byte before, so that a line that begins just there is not passed over.
    file.seek(SeekFrom::Start(place.saturating_sub(1)))?;
    if place > 0 {
        file.skip_until(b'\n')?;
    }
    let begins = Some(file.stream_position()?);
    let read = wanted.read.clone().unwrap_or_default();
    of_stream((Counted(file, read), begins), source, wanted, 0, take);
    Ok(())
}

/// A stream, and where it begins in its file if its lines can be read by where they stand.
type Placed<R> = (R, Option<u64>);

/// A line: its number, where it stands in its block, and what it says.
type Line<'l> = (u64, (usize, &'l [u8]));

fn of_stream(
    (stream, begins): Placed<impl std::io::Read>,
    source: &Source,
    wanted: &Wanted,
    mut skip: u64,
    take: Take<'_>,
) {
    let limit = limit(source, wanted);
    let mut blocks = Blocks::new(stream, wanted.block, limit);
    while let Some(Block { bytes, at, first, next, too_long, broken }) = blocks.next() {
        let mut records: Vec<Line<'_>> =
            (first..).zip(lines(bytes)).filter(|(_, (_, line))| is_record(line, source.shape)).collect();
        let passed = skip.min(records.len() as u64);
        records.drain(..passed as usize);
        skip -= passed;
        let parse = |&(number, (from, line)): &Line<'_>| {
            let place = begins.map(|begins| (begins + at + from as u64, line.len() as u32));
            parse(source, wanted, (number, place), line, limit)
        };
        let mut read: Vec<Read> =
            records.par_chunks(AT_A_TIME).flat_map_iter(|chunk| chunk.iter().map(parse)).collect();
        match too_long {
            true if skip > 0 => skip -= 1,
            true => read.push(bad(source, next, &LineError::TooLong(limit >> 20))),
            false => {}
        }
        if let Some(error) = broken {
            let message = format!(
                "{}; if the file is compressed, it may be cut short: fetch it again",
                LineError::Read(error)
            );
            read.push(Read::Broken(InputError::new(source.place(next), message)));
        }
        if !read.is_empty() && !take(read) {
            break;
        }
    }
}

fn bad(source: &Source, number: u64, error: &LineError) -> Read {
    Read::Bad(InputError::new(source.place(number), error))
}

fn parse(
    source: &Source,
    wanted: &Wanted,
    (number, place): (u64, Option<(u64, u32)>),
    line: &[u8],
    limit: u64,
) -> Read {
    if line.len() as u64 > limit {
        return bad(source, number, &LineError::TooLong(limit >> 20));
    }
    let text = match simdutf8::compat::from_utf8(line) {
        Ok(text) => text,
        Err(error) => return bad(source, number, &LineError::Encoding(error.valid_up_to() + 1)),
    };
    // A mark of the encoding before the first line is none of it.
    let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
    if source.shape == Shape::Jsonl {
        return json::document(text, (number, place), source, wanted);
    }
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.trim().is_empty() {
        let message = "the line is empty; give a text, or remove the line";
        return Read::Bad(InputError::new(source.place(number), message));
    }
    let id = if source.name == STDIN { number.to_string() } else { source.place(number).to_string() };
    let extras = vec![None; wanted.extras.len()];
    Read::Document(Doc { id, text: text.to_owned(), number, extras, line: None })
}

/// The text of a line that has been read before; nothing if it is no longer what it was.
pub(crate) fn text_again<'l>(line: &'l [u8], wanted: &Wanted) -> Option<Cow<'l, str>> {
    let line = simdutf8::basic::from_utf8(line).ok()?;
    json::text(line.strip_prefix('\u{feff}').unwrap_or(line), wanted)
}

pub(super) fn again(
    source: &Source,
    wanted: &Wanted,
    each: &mut dyn FnMut(&Record<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // What cannot be opened was reported before.
    let Ok(stream) = source.stream(wanted.read.as_ref()) else { return Ok(()) };
    let mut blocks = Blocks::new(stream, wanted.block, limit(source, wanted));
    while let Some(block) = blocks.next() {
        for (number, (_, line)) in (block.first..).zip(lines(block.bytes)) {
            if is_record(line, source.shape) {
                each(&Record {
                    shape: source.shape,
                    raw: line,
                    object: &|| object(source, wanted, number, line),
                })?;
            }
        }
        if block.too_long {
            each(&Record { shape: source.shape, raw: b"", object: &|| None })?;
        }
    }
    Ok(())
}

/// A line of text as an object; JSON lines are objects.
fn object(source: &Source, wanted: &Wanted, number: u64, line: &[u8]) -> Option<String> {
    match parse(source, wanted, (number, None), line, u64::MAX) {
        Read::Document(Doc { id, text, .. }) if source.shape == Shape::Lines => {
            Some(serde_json::json!({ "id": id, "text": text }).to_string())
        }
        _ => std::str::from_utf8(line).ok().map(str::to_owned),
    }
}
