//! Files of records: JSON lines, CSV, TSV and Parquet, the first three also compressed.

use super::lines::{BoundedLines, LineError};
use super::{Document, Fields, InputError, Item, Options, Place, table};
use leitong_text::extract::{self, Format};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What kind of records a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Jsonl,
    Csv,
    Tsv,
    Parquet,
}

impl Kind {
    /// By the file's name; a `.gz` or `.zst` behind it does not count.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

pub(super) type Items = Box<dyn Iterator<Item = Item>>;

pub(super) fn one_error(place: Place, message: impl std::fmt::Display) -> Items {
    Box::new(std::iter::once(Err(InputError::new(place, message))))
}

/// The records of a file.
pub(super) fn open(path: &Path, kind: Kind, options: &Options) -> Items {
    if kind == Kind::Parquet {
        return match open_file(path) {
            Ok(file) => table::parquet(file, path, options),
            Err(message) => one_error(Place::file(path), message),
        };
    }
    match open_stream(path) {
        Ok(input) => read(input, kind, &path.display().to_string(), options),
        Err(message) => one_error(Place::file(path), message),
    }
}

pub(super) fn open_file(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

/// The content of a file, without the compression its name tells of.
pub(crate) fn open_stream(path: &Path) -> Result<Box<dyn Read>, String> {
    decoded(open_file(path)?, path)
}

/// A stream without the compression that a name tells of.
pub(super) fn decoded(file: impl Read + 'static, path: &Path) -> Result<Box<dyn Read>, String> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Ok(Box::new(flate2::read::MultiGzDecoder::new(file))),
        Some("zst") => {
            let decoder = zstd::Decoder::new(file).and_then(|mut decoder| {
                // Files written with --long are common for corpora; 128 MiB is what zstd itself allows by request.
                decoder.window_log_max(27)?;
                Ok(decoder)
            });
            Ok(Box::new(decoder.map_err(|error| error.to_string())?))
        }
        _ => Ok(Box::new(file)),
    }
}

/// The records of a stream.
pub(super) fn read(input: Box<dyn Read>, kind: Kind, name: &str, options: &Options) -> Items {
    match kind {
        Kind::Jsonl => Box::new(json_lines(input, name.to_owned(), options.clone())),
        Kind::Tsv => table::separated(input, b'\t', name, options),
        Kind::Csv | Kind::Parquet => table::separated(input, b',', name, options),
    }
}

fn json_lines(input: Box<dyn Read>, name: String, options: Options) -> impl Iterator<Item = Item> {
    // The JSON form of a text is longer than the text: six bytes for an escaped character of two or three.
    let lines = BoundedLines::new(input, options.extract.max_text.saturating_mul(3));
    lines.zip(1..).filter_map(move |(line, number)| {
        let place = || Place::line(&name, number);
        let line = match line {
            Ok(line) => line,
            Err(error @ LineError::Read(_)) => {
                let message =
                    format!("{error}; if the file is compressed, it may be cut short: fetch it again");
                return Some(Err(InputError::new(place(), message)));
            }
            Err(error) => return Some(Err(InputError::new(place(), error))),
        };
        if line.trim().is_empty() {
            return None;
        }
        Some(record(&line, place(), &options))
    })
}

pub(super) fn record(line: &str, place: Place, options: &Options) -> Item {
    let mut rest = match serde_json::from_str(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => {
            return Err(InputError::new(
                place,
                "the line is JSON but no object; write {\"id\": ..., \"text\": ...}",
            ));
        }
        Err(error) => {
            let message = format!("the line is not JSON ({error}); each line must be one object");
            return Err(InputError::new(place, message));
        }
    };
    let field = |name: &str| rest.get(name).map(plain).unwrap_or_default();
    let id = field(&options.id);
    let keywords = match rest.get("keywords") {
        Some(Value::Array(list)) => list.iter().map(plain).collect(),
        Some(other) => vec![plain(other)],
        None => Vec::new(),
    };
    let fields = Fields { title: field("title"), author: field("author"), date: field("date"), keywords };
    let mut take = |name: &str| match rest.shift_remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (html, text) = (take("html"), take(&options.text));
    let is_html = html.is_some() || rest.get("format").and_then(Value::as_str) == Some("html");
    rest.shift_remove(&options.id);
    document(Values { id, text: html.or(text), is_html, fields, rest }, place, options)
}

/// What a record says.
pub(super) struct Values {
    pub(super) id: String,
    pub(super) text: Option<String>,
    pub(super) is_html: bool,
    pub(super) fields: Fields,
    /// Everything but the id and the text.
    pub(super) rest: Map<String, Value>,
}

/// A document from the values of a record.
pub(super) fn document(values: Values, place: Place, options: &Options) -> Item {
    let Values { id, text, is_html, fields, mut rest } = values;
    let id = if id.is_empty() { place.to_string() } else { id };
    let fail = |place: Place, message: String| Err(InputError { place, id: id.clone(), message });
    let Some(text) = text else {
        let message =
            format!("there is no text in the field {:?}; name the right one with --text", options.text);
        return fail(place, message);
    };
    if text.len() as u64 > options.extract.max_text {
        let limit = options.extract.max_text >> 20;
        return fail(place, format!("the text is longer than {limit} MiB; split it, or raise --max-text"));
    }
    if text.trim().is_empty() {
        return fail(
            place,
            format!("the field {:?} is empty; give a text, or remove the record", options.text),
        );
    }
    if !is_html {
        return Ok(Document { id, text, fields, rest, place, anonymous: false });
    }
    // Of the text, which is now plain, it no longer holds.
    rest.shift_remove("format");
    let as_html = extract::Options {
        format: Some(Format::Html),
        encoding: Some("utf-8".into()),
        ..options.extract.clone()
    };
    match extract::extract(text.as_bytes(), None, &as_html) {
        Ok(found) => Ok(Document { id, text: found.text, fields, rest, place, anonymous: false }),
        Err(error) => fail(place, error.to_string()),
    }
}

/// A JSON value as it would be written in a table: strings without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
