//! How the output of `dedup` is written: as its name says, and as the inputs allow.

use crate::input::raw::{self, Shape, Source, Wanted};
use crate::output::Failure;
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
