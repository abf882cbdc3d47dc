//! Tables: CSV, TSV and Parquet.

use super::records::{Items, Values, document, one_error};
use super::{Fields, InputError, Options, Place};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Values separated by a character, with a header line.
pub(super) fn separated(input: Box<dyn Read>, separator: u8, name: &str, options: &Options) -> Items {
    let limited = LineGuard::new(input, options.extract.max_text.saturating_mul(2));
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(limited);
    let place = Place::line(name, 1);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return one_error(place, format!("the header cannot be read: {error}")),
    };
    if let Some(why) = no_header(header.iter().map(str::as_bytes)) {
        return one_error(place, why.to_owned());
    }
    let column = |field: &str| header.iter().position(|name| name.trim_start_matches('\u{feff}') == field);
    let Some(text) = column(&options.text) else {
        let known = header.iter().collect::<Vec<_>>().join(", ");
        let wanted = &options.text;
        return one_error(
            place,
            format!("there is no column {wanted:?}; the columns are {known}: name one with --text"),
        );
    };
    let columns = [column(&options.id), column("title"), column("author"), column("date")];
    let (keywords, format) = (column("keywords"), column("format"));
    let (name, options) = (name.to_owned(), options.clone());
    let mut broken = false;
    Box::new(std::iter::from_fn(move || {
        if broken {
            return None;
        }
        let mut record = csv::StringRecord::new();
        match reader.read_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let line = record.position().map_or(0, csv::Position::line);
                match is_end(record.iter().map(str::as_bytes)) {
                    Ok(true) => return None,
                    Ok(false) => {}
                    Err(why) => {
                        broken = true;
                        return Some(Err(InputError::new(Place::line(&name, line), why)));
                    }
                }
                let value = |column: Option<usize>| {
                    column.and_then(|at| record.get(at)).unwrap_or_default().to_owned()
                };
                let [id, title, author, date] = columns.map(value);
                let fields = Fields { title, author, date, keywords: split_keywords(&value(keywords)) };
                let is_html = value(format) == "html";
                let cells = header.iter().zip(&record).enumerate();
                let rest = cells
                    .filter(|(at, (_, cell))| *at != text && Some(*at) != columns[0] && !cell.is_empty())
                    .map(|(_, (name, cell))| (name.trim_start_matches('\u{feff}').to_owned(), cell.into()));
                let rest = rest.collect();
                let text = record.get(text).map(str::to_owned);
                let values = Values { id, text, is_html, fields, rest };
                Some(document(values, Place::line(&name, line), &options))
            }
            Err(error) => {
                let line = error.position().map_or(reader.position().line(), csv::Position::line);
                // After an error in reading (not in a record) there is nothing more to come.
                broken = matches!(error.kind(), csv::ErrorKind::Io(_));
                let message =
                    format!("the record cannot be read: {error}; check quotes and encoding (UTF-8)");
                Some(Err(InputError::new(Place::line(&name, line), message)))
            }
        }
    }))
}

/// Ends a stream with an error when no line break comes for too long, so that one record cannot fill the memory; and every other
/// with a record of its own, which a quote that is never closed takes in.
pub(super) struct LineGuard {
    input: Box<dyn Read>,
    since_newline: u64,
    limit: u64,
    /// What is still to come of the last record.
    end: &'static [u8],
}

/// The record behind the last, on a line of its own.
const END: &[u8] = b"\n\0the table ends here\0\n";

/// Whether a record is the one behind the last. An error if it was taken for a part of another.
pub(super) fn is_end<'r>(mut cells: impl Iterator<Item = &'r [u8]>) -> Result<bool, &'static str> {
    let (first, last) = (cells.next(), cells.last());
    if first.is_some_and(|cell| cell == END.trim_ascii()) {
        return Ok(true);
    }
    match last.or(first) {
        Some(cell) if cell.ends_with(END) => Err(
            "a quote is opened here and never closed, so that everything behind it belongs to one value; close it",
        ),
        _ => Ok(false),
    }
}

/// Why a table cannot be read that begins like this.
pub(super) fn no_header<'r>(cells: impl Iterator<Item = &'r [u8]>) -> Option<&'static str> {
    match is_end(cells) {
        Ok(true) => Some("the file is empty; a table begins with the names of its columns"),
        Ok(false) => None,
        Err(why) => Some(why),
    }
}

impl LineGuard {
    pub(super) fn new(input: Box<dyn Read>, limit: u64) -> Self {
        Self { input, since_newline: 0, limit, end: END }
    }
}

impl Read for LineGuard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.input.read(buffer)? {
            0 => self.end.read(buffer)?,
            count => count,
        };
        match buffer[..count].iter().rposition(|&byte| byte == b'\n') {
            Some(at) => self.since_newline = (count - at) as u64,
            None => self.since_newline += count as u64,
        }
        if self.since_newline > self.limit {
            return Err(io::Error::other("a record is too long; raise --max-text if it is meant to be"));
        }
        Ok(count)
    }
}

/// What is said of a file that is no Parquet file, or no whole one.
pub(super) fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("not a readable Parquet file ({error}); fetch or write it again")
}

/// The same of a row, behind which no other can be read.
pub(super) fn damaged_from_here(error: &dyn std::fmt::Display) -> String {
    // Some errors hold a whole value, byte by byte.
    let why: String = error.to_string().chars().take(120).collect();
    format!("not a readable Parquet file from this row on, the rest is lost ({why}); fetch or write it again")
}

/// The rows of a Parquet file.
pub(super) fn parquet(file: File, path: &Path, options: &Options) -> Items {
    let name = path.display().to_string();
    let reader = match SerializedFileReader::new(file) {
        Ok(reader) => reader,
        Err(error) => return one_error(Place::file(path), damaged(&error)),
    };
    let schema = reader.metadata().file_metadata().schema();
    let columns: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    if !columns.contains(&options.text.as_str()) {
        let (wanted, known) = (&options.text, columns.join(", "));
        let message = format!("there is no column {wanted:?}; the columns are {known}: name one with --text");
        return one_error(Place::file(path), message);
    }
    let options = options.clone();
    let rows = reader.into_iter().zip(1..).map(move |(row, number)| {
        let place = Place { file: format!("{name}, row {number}"), line: None };
        let row = row.map_err(|error| InputError::new(place.clone(), damaged_from_here(&error)))?;
        let value = |field: &str| column(&row, field).unwrap_or_default();
        let fields = Fields {
            title: value("title"),
            author: value("author"),
            date: value("date"),
            keywords: split_keywords(&value("keywords")),
        };
        let values = Values {
            id: value(&options.id),
            text: column(&row, &options.text),
            is_html: value("format") == "html",
            fields,
            rest: rest(&row, &options),
        };
        document(values, place, &options)
    });
    // A damaged row group fails on every row of it: one report is enough.
    let mut broken = false;
    Box::new(rows.take_while(move |item| !std::mem::replace(&mut broken, item.is_err() && is_damage(item))))
}

/// The keywords of one cell.
fn split_keywords(cell: &str) -> Vec<String> {
    let words = cell.split([',', ';', '，', '；']).map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_damage(item: &super::Item) -> bool {
    item.as_ref().is_err_and(|error| error.message.starts_with("not a readable Parquet"))
}

/// Everything but the id and the text.
fn rest(row: &Row, options: &Options) -> Map<String, Value> {
    let others = row.get_column_iter().filter(|(name, _)| **name != options.id && **name != options.text);
    others.filter_map(|(name, field)| Some((name.clone(), cell(field)?))).collect()
}

/// A cell with its type, as far as JSON has it.
pub(super) fn cell(field: &Field) -> Option<Value> {
    Some(match field {
        Field::Null => return None,
        Field::Bool(flag) => (*flag).into(),
        Field::Byte(number) => (*number).into(),
        Field::Short(number) => (*number).into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::UByte(number) => (*number).into(),
        Field::UShort(number) => (*number).into(),
        Field::UInt(number) => (*number).into(),
        Field::ULong(number) => (*number).into(),
        Field::Float(number) => f64::from(*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(bytes) => std::str::from_utf8(bytes.data()).ok()?.into(),
        Field::ListInternal(list) => list.elements().iter().filter_map(cell).collect(),
        Field::Group(row) => {
            row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), cell(field)?))).collect()
        }
        Field::TimestampMillis(time) => crate::output::time::utc(time.div_euclid(1000)).into(),
        Field::TimestampMicros(time) => crate::output::time::utc(time.div_euclid(1_000_000)).into(),
        other => other.to_string().into(),
    })
}

pub(super) fn column(row: &Row, name: &str) -> Option<String> {
    let (_, field) = row.get_column_iter().find(|(column, _)| *column == name)?;
    match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Bytes(bytes) => String::from_utf8(bytes.data().to_vec()).ok(),
        other => Some(other.to_string()),
    }
}
