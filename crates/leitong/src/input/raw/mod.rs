//! Records as they came, for commands that read an input twice: once for the documents, and once more to copy what stays.
//!
//! ```text
//! INPUT… ─▶ Source (a file of records, or one document) ─▶ documents: batches of ids and texts, parsed on all cores
//!                                                      └▶ again: the bytes of each record, in the same order
//! ```
//! Both ways count the same records, so that the n-th of one is the n-th of the other. Memory is bounded by a block and the
//! largest record allowed.

mod blocks;
mod json;
mod lines;
mod parquet;
mod separated;
mod sources;

pub(crate) use lines::text_again;
pub(crate) use parquet::open as open_parquet;
pub(crate) use separated::header;
pub(crate) use sources::{Source, expand};

use super::{Document, InputError, Options, Place, files};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a source is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Jsonl,
    Csv,
    Tsv,
    Parquet,
    /// A text a line.
    Lines,
    /// All of it is one document.
    Document,
}

/// What is wanted of every record.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) options: Options,
    /// Fields besides id and text.
    pub(crate) extras: Vec<String>,
    /// Bytes that are read at a time.
    pub(crate) block: usize,
    /// Counts the bytes of files that have been read.
    pub(crate) read: Option<Arc<AtomicU64>>,
}

impl Wanted {
    /// For records that were read before, whatever their length.
    pub(crate) fn everything(text: &str, block: usize) -> Self {
        let extract = leitong_text::extract::Options { max_text: u64::from(u32::MAX), ..Default::default() };
        let options = Options { id: "id".into(), text: text.into(), extract, stdin: Default::default() };
        Self { options, extras: Vec::new(), block, read: None }
    }
}

/// One record as a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doc {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The line or row it stands on.
    pub(crate) number: u64,
    /// The fields wanted besides, in their order.
    pub(crate) extras: Vec<Option<String>>,
    /// Where its line begins and how long it is, where reading that again is as good as keeping the text.
    pub(crate) line: Option<(u64, u32)>,
}

/// What reading gives, in order.
#[derive(Debug)]
pub(crate) enum Read {
    Document(Doc),
    /// A record that cannot be used.
    Bad(InputError),
    /// Not a record: the rest of the source cannot be read.
    Broken(InputError),
}

/// Takes batches; says whether it wants more.
pub(crate) type Take<'t> = &'t mut dyn FnMut(Vec<Read>) -> bool;

/// The documents of a source behind the first `skip` records.
pub(crate) fn documents(source: &Source, wanted: &Wanted, skip: u64, take: Take<'_>) {
    let outcome = match source.shape {
        Shape::Jsonl | Shape::Lines => lines::documents(source, wanted, skip, take),
        Shape::Csv | Shape::Tsv => separated::documents(source, wanted, skip, take),
        Shape::Parquet => parquet::documents(source, wanted, skip, take),
        Shape::Document if skip > 0 => Ok(()),
        Shape::Document => {
            take(vec![document(source, wanted)]);
            Ok(())
        }
    };
    if let Err(error) = outcome {
        take(vec![Read::Broken(error)]);
    }
}

/// Documents of a source from about a place of its file on, where it has places; else from its beginning.
pub(crate) fn documents_from(source: &Source, wanted: &Wanted, place: u64, take: Take<'_>) {
    if place == 0 || !source.has_places() {
        return documents(source, wanted, 0, take);
    }
    // What cannot be read is for the run to say.
    let _ = lines::documents_from(source, wanted, place, take);
}

/// A source that is one document.
pub(crate) fn document(source: &Source, wanted: &Wanted) -> Read {
    let read = if source.spooled {
        std::fs::File::open(&source.path)
            .map_err(|error| InputError::new(source.whole(), error))
            .and_then(|file| files::stream(file, &wanted.options.extract))
    } else {
        files::file(&source.path, &wanted.options.extract)
    };
    match read {
        Ok(found) => Read::Document(found.into_doc(1, &wanted.extras)),
        Err(error) => Read::Bad(error),
    }
}

/// The bytes of every record of a source, in order; nothing for those that cannot be read. Broken ends are passed over: they
/// were reported when the documents were read.
pub(crate) fn again(
    source: &Source,
    wanted: &Wanted,
    each: &mut dyn FnMut(&Record<'_>) -> Result<(), crate::output::Failure>,
) -> Result<(), crate::output::Failure> {
    match source.shape {
        Shape::Jsonl | Shape::Lines => lines::again(source, wanted, each),
        Shape::Csv | Shape::Tsv => separated::again(source, wanted, each),
        Shape::Parquet => parquet::again(source, each),
        Shape::Document => {
            each(&Record { shape: source.shape, raw: b"", object: &|| document_object(source, wanted) })
        }
    }
}

/// A record for the second time.
pub(crate) struct Record<'r> {
    /// What the source is made of.
    pub(crate) shape: Shape,
    /// As it came, without the line break.
    pub(crate) raw: &'r [u8],
    /// As a JSON object, for records that are none.
    pub(crate) object: &'r dyn Fn() -> Option<String>,
}

impl Record<'_> {
    /// Whether it can be copied to something of this shape.
    pub(crate) fn is(&self, shape: Shape) -> bool {
        self.shape == shape
    }
}

fn document_object(source: &Source, wanted: &Wanted) -> Option<String> {
    match document(source, wanted) {
        Read::Document(Doc { id, text, .. }) => {
            Some(serde_json::json!({ "id": id, "text": text }).to_string())
        }
        Read::Bad(_) | Read::Broken(_) => None,
    }
}

impl Document {
    fn into_doc(self, number: u64, extras: &[String]) -> Doc {
        let value = |name: &String| {
            let own = self.rest.get(name).map(super::plain);
            own.or_else(|| (name == "title").then(|| self.fields.title.clone()))
                .filter(|value| !value.is_empty())
        };
        let extras = extras.iter().map(value).collect();
        Doc { id: self.id, text: self.text, number, extras, line: None }
    }
}

impl Source {
    /// The whole of it.
    pub(crate) fn whole(&self) -> Place {
        Place { file: self.name.clone(), line: None }
    }

    /// Where a record stands.
    pub(crate) fn place(&self, number: u64) -> Place {
        match self.shape {
            Shape::Parquet => Place { file: format!("{}, row {number}", self.name), line: None },
            Shape::Document => self.whole(),
            _ => Place::line(&self.name, number),
        }
    }
}
