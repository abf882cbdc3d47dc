//! How the output of `dedup` is written: as its name says, and as the inputs allow.

use crate::input::raw::{self, Shape, Source, Wanted};
use crate::output::Failure;
use parquet::file::reader::FileReader;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How documents are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Jsonl,
    Csv,
    Tsv,
    Parquet,
    Lines,
}

impl Format {
    /// By the name of the file.
    fn of(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("jsonl" | "ndjson") => Self::Jsonl,
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            Some("parquet") => Self::Parquet,
            _ => Self::Lines,
        }
    }

    /// What a source must be to be copied as it is.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Jsonl => Shape::Jsonl,
            Self::Csv => Shape::Csv,
            Self::Tsv => Shape::Tsv,
            Self::Parquet => Shape::Parquet,
            Self::Lines => Shape::Lines,
        }
    }
}

/// The beginning of an output, and what its lines end with.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    pub(crate) header: Vec<u8>,
    pub(crate) end: &'static str,
}

impl Layout {
    /// Of a file that is there.
    pub(crate) fn like(format: Format, source: &Source, wanted: &Wanted) -> Self {
        let of_table = matches!(format, Format::Csv | Format::Tsv).then(|| raw::header(source, wanted));
        let (header, end) = of_table.flatten().unwrap_or((Vec::new(), "\n"));
        Self { format, header, end }
    }

    /// For an output with these inputs; or why they do not fit.
    pub(crate) fn new(output: &Path, sources: &[Source], wanted: &Wanted) -> Result<Self, Failure> {
        let format = Format::of(output);
        let mut layout = Self { format, header: Vec::new(), end: "\n" };
        if format == Format::Jsonl {
            return Ok(layout);
        }
        let path = output.display();
        if let Some(other) = sources.iter().find(|source| source.shape != format.shape()) {
            let what = match format {
                Format::Lines => "a file of lines",
                Format::Csv => "a CSV file",
                Format::Tsv => "a TSV file",
                _ => "a Parquet file",
            };
            return Err(Failure::Input(format!(
                "{path}: its name says {what}, and {} is none; give it the input's extension, or name it .jsonl, which takes \
                 everything",
                other.name
            )));
        }
        if format == Format::Parquet {
            same_schema(sources)?;
            if !matches!(output.extension().and_then(|end| end.to_str()), Some("parquet")) {
                return Err(Failure::Input(format!(
                    "{path}: Parquet is compressed inside; name the output without what comes behind .parquet"
                )));
            }
        }
        if matches!(format, Format::Csv | Format::Tsv) {
            let mut headers =
                sources.iter().filter_map(|source| Some((source, raw::header(source, wanted)?)));
            if let Some((first, (header, end))) = headers.next() {
                if let Some((other, _)) = headers.find(|(_, (own, _))| *own != header) {
                    return Err(Failure::Input(format!(
                        "{} and {} have different columns; name the output .jsonl, which takes both",
                        first.name, other.name
                    )));
                }
                (layout.header, layout.end) = (header, end);
            }
        }
        Ok(layout)
    }
}

fn same_schema(sources: &[Source]) -> Result<(), Failure> {
    let mut open = sources.iter().filter_map(|source| Some((source, raw::open_parquet(source).ok()?)));
    let Some((first, model)) = open.next() else { return Ok(()) };
    let schema = model.metadata().file_metadata().schema();
    match open.find(|(_, other)| other.metadata().file_metadata().schema() != schema) {
        None => Ok(()),
        Some((other, _)) => Err(Failure::Input(format!(
            "{} and {} have different columns; name the output .jsonl, which takes both",
            first.name, other.name
        ))),
    }
}
