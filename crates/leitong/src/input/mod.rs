//! Inputs: files, folders, tables and standard input become documents, one at a time and in order.
//!
//! A bad document is an item of its own, with its file and line; the ones after it still come. Memory is bounded by
//! the largest single document allowed.

mod files;
mod lines;
pub(crate) mod raw;
mod records;
mod table;

use leitong_detect::Fields;
use leitong_text::extract::{self, HtmlMode};
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use lines::BoundedLines;
pub(crate) use records::{open_stream, plain};

/// One document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its id: the `id` field, the path, or the line number.
    pub(crate) id: String,
    /// Its text.
    pub(crate) text: String,
    /// Fields some keyword fingerprints use.
    pub(crate) fields: Fields,
    /// Everything else the record has, with its types as far as the format has types; the fields above included.
    pub(crate) rest: Map<String, Value>,
    /// Whether it has no id of its own: it came through standard input, and its number says nothing in another run.
    pub(crate) anonymous: bool,
    /// Where it stands.
    pub(crate) place: Place,
}

/// Where a document stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: Option<u64>,
}

/// What standard input is called where a file would be named.
pub(super) const STDIN: &str = "standard input";

impl Place {
    pub(crate) fn file(path: &Path) -> Self {
        Self { file: path.display().to_string(), line: None }
    }

    pub(crate) fn line(file: &str, line: u64) -> Self {
        Self { file: file.to_owned(), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// A document that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub(crate) struct InputError {
    pub(crate) place: Place,
    /// The id of the document, as far as it is known.
    pub(crate) id: String,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl InputError {
    pub(crate) fn new(place: Place, message: impl fmt::Display) -> Self {
        Self { id: place.to_string(), place, message: message.to_string() }
    }
}

/// How inputs are read.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Which field holds the id.
    pub(crate) id: String,
    /// Which field holds the text.
    pub(crate) text: String,
    /// How documents become text.
    pub(crate) extract: extract::Options,
    /// How standard input is read.
    pub(crate) stdin: StdinFormat,
}

/// How standard input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StdinFormat {
    /// Every line is a text
    #[default]
    Lines,
    /// Every line is a JSON object
    Jsonl,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header
    Tsv,
    /// All of it is one document; its format is detected
    Document,
}

/// The flags of every command that reads documents.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DocumentArgs {
    /// Use all text of HTML pages, navigation included, not only the article
    #[arg(long, help_heading = "Input")]
    all_text: bool,
    /// Encoding of text documents, where detecting it fails (gb18030, big5, ...)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    encoding: Option<String>,
    /// Largest text, in MiB; longer ones are refused
    #[arg(long, value_name = "MIB", default_value_t = 64, help_heading = "Input")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=4095))]
    max_text: u64,
}

/// The flags of every command that reads collections of documents.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// Field that holds the id in JSONL, CSV, TSV and Parquet
    #[arg(long, value_name = "FIELD", default_value = "id", help_heading = "Input")]
    id: String,
    /// Field that holds the text
    #[arg(long, value_name = "FIELD", default_value = "text", help_heading = "Input")]
    text: String,
    /// How standard input is read
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Input")]
    stdin: StdinFormat,
    #[command(flatten)]
    documents: DocumentArgs,
}

impl DocumentArgs {
    pub(crate) fn options(&self) -> extract::Options {
        let defaults = extract::Options::default();
        let max_text = self.max_text << 20;
        extract::Options {
            html: if self.all_text { HtmlMode::AllText } else { HtmlMode::Article },
            encoding: self.encoding.clone(),
            max_input: defaults.max_input.max(max_text),
            max_text,
            ..defaults
        }
    }
}

impl InputArgs {
    pub(crate) fn options(&self) -> Options {
        let (id, text) = (self.id.clone(), self.text.clone());
        Options { id, text, stdin: self.stdin, extract: self.documents.options() }
    }
}

/// What reading gives: a document or the reason why there is none.
pub(crate) type Item = Result<Document, InputError>;

/// The documents of all inputs, in order. No inputs, or `-`, is standard input.
pub(crate) fn documents(inputs: &[PathBuf], options: &Options) -> impl Iterator<Item = Item> + use<> {
    let options = options.clone();
    sources(inputs).into_iter().flat_map(move |path| source(&path, &options))
}

/// Whether all inputs are files of records: what is in them is there at once, and is quickly read.
pub(crate) fn lie_in_files(inputs: &[PathBuf]) -> bool {
    let lies = |path: &PathBuf| path.is_file() && records::Kind::of_path(path).is_some();
    !inputs.is_empty() && inputs.iter().all(lies)
}

fn source(path: &Path, options: &Options) -> Box<dyn Iterator<Item = Item>> {
    if path.as_os_str() == "-" {
        return stdin(options);
    }
    if path.is_dir() {
        return files::folder(path, options);
    }
    match records::Kind::of_path(path) {
        Some(kind) => records::open(path, kind, options),
        None => Box::new(std::iter::once(files::file(path, &options.extract))),
    }
}

fn stdin(options: &Options) -> Box<dyn Iterator<Item = Item>> {
    let input = Box::new(std::io::stdin());
    let kind = match options.stdin {
        StdinFormat::Lines => return Box::new(lines::texts(input, STDIN.into(), options)),
        StdinFormat::Document => return Box::new(std::iter::once(files::stream(input, &options.extract))),
        StdinFormat::Jsonl => records::Kind::Jsonl,
        StdinFormat::Csv => records::Kind::Csv,
        StdinFormat::Tsv => records::Kind::Tsv,
    };
    let records = records::read(input, kind, STDIN, options);
    Box::new(records.map(|item| item.map(|document| document.without_id_if_placed())))
}

impl Document {
    /// A record whose id is nothing but its place has none.
    fn without_id_if_placed(mut self) -> Self {
        self.anonymous = self.id == self.place.to_string();
        self
    }
}

/// Every line of all inputs as a text.
pub(crate) fn line_texts(inputs: &[PathBuf], options: &Options) -> impl Iterator<Item = Item> + use<> {
    let options = options.clone();
    sources(inputs).into_iter().flat_map(move |path| -> Box<dyn Iterator<Item = Item>> {
        match open_lines(&path) {
            Ok((input, name)) => Box::new(lines::texts(input, name, &options)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    })
}

fn sources(inputs: &[PathBuf]) -> Vec<PathBuf> {
    if inputs.is_empty() { vec![PathBuf::from("-")] } else { inputs.to_vec() }
}

/// The lines of an export, compressed or not, and its name.
pub(crate) fn open_export(path: &Path) -> Result<(Box<dyn std::io::Read>, String), InputError> {
    match records::Kind::of_path(path) {
        _ if path.as_os_str() == "-" => open_lines(path),
        Some(records::Kind::Jsonl) => {
            let input =
                records::open_stream(path).map_err(|error| InputError::new(Place::file(path), error))?;
            Ok((input, path.display().to_string()))
        }
        _ => {
            let message =
                "this is no export (.jsonl, .jsonl.gz, .jsonl.zst); for other files use `leitong add`";
            Err(InputError::new(Place::file(path), message))
        }
    }
}

/// A file, without the compression its name tells of.
pub(crate) fn open_compressed(path: &Path) -> Result<Box<dyn std::io::Read>, InputError> {
    records::open_stream(path).map_err(|error| InputError::new(Place::file(path), error))
}

/// A file or standard input, and its name.
pub(crate) fn open_lines(path: &Path) -> Result<(Box<dyn std::io::Read>, String), InputError> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(std::io::stdin()), STDIN.into()));
    }
    let unreadable =
        |error| InputError::new(Place::file(path), format!("cannot be read: {error}; check the path"));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    Ok((Box::new(file), path.display().to_string()))
}

/// A named piece of bytes, or the reason why there is none.
pub(crate) type RawItem = Result<(String, Vec<u8>), InputError>;

/// The bytes of every file, folders included, for kinds that are not made from text.
pub(crate) fn raw_files<'i>(
    inputs: &'i [PathBuf],
    options: &Options,
) -> impl Iterator<Item = RawItem> + use<'i> {
    let limit = options.extract.max_input;
    let paths =
        inputs.iter().cloned().flat_map(|path| -> Box<dyn Iterator<Item = Result<PathBuf, InputError>>> {
            if path.is_dir() {
                Box::new(files::paths_below(&path))
            } else {
                Box::new(std::iter::once(Ok(path)))
            }
        });
    paths.map(move |path| {
        let path = path?;
        let bytes =
            files::read_bounded(&path, limit).map_err(|error| InputError::new(Place::file(&path), error))?;
        Ok((path.display().to_string(), bytes))
    })
}

/// The lines of every file, for input that is not text.
pub(crate) fn raw_lines(inputs: &[PathBuf], options: &Options) -> impl Iterator<Item = RawItem> {
    let limit = options.extract.max_text;
    sources(inputs).into_iter().flat_map(move |path| -> Box<dyn Iterator<Item = RawItem>> {
        let (input, name) = match open_lines(&path) {
            Ok(open) => open,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        Box::new(BoundedLines::new(input, limit).zip(1..).map(move |(line, number)| {
            let place = Place::line(&name, number);
            let line = line.map_err(|error| InputError::new(place.clone(), error))?;
            Ok((place.to_string(), line.into_bytes()))
        }))
    })
}

/// One file, or standard input, as one document, whatever it is.
pub(crate) fn one_document(path: &Path, options: &extract::Options) -> Item {
    if path.as_os_str() == "-" {
        files::stream(std::io::stdin(), options)
    } else {
        files::file(path, options)
    }
}
