//! Which files the inputs of a command are.

use super::Shape;
use crate::input::records::{self, Kind};
use crate::input::{InputError, Options, STDIN, StdinFormat, files};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file of records, or of one document.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Where it is read.
    pub(crate) path: PathBuf,
    /// What it is called.
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Whether `path` is a copy of what can be read only once, or only from its beginning to its end.
    pub(crate) spooled: bool,
}

/// The sources of all inputs, in order, and the folders that cannot be read. No inputs, or `-`, is standard input.
pub(crate) fn expand(inputs: &[PathBuf], options: &Options) -> (Vec<Source>, Vec<InputError>) {
    let (mut sources, mut bad) = (Vec::new(), Vec::new());
    for path in crate::input::sources(inputs) {
        if path.as_os_str() == "-" {
            sources.push(stdin(options.stdin));
        } else if path.is_dir() {
            for inside in files::paths_below(&path) {
                match inside {
                    Ok(path) => sources.push(of_path(path)),
                    Err(error) => bad.push(error),
                }
            }
        } else {
            sources.push(of_path(path));
        }
    }
    (sources, bad)
}

fn of_path(path: PathBuf) -> Source {
    let shape = match Kind::of_path(&path) {
        Some(Kind::Jsonl) => Shape::Jsonl,
        Some(Kind::Csv) => Shape::Csv,
        Some(Kind::Tsv) => Shape::Tsv,
        Some(Kind::Parquet) => Shape::Parquet,
        None => Shape::Document,
    };
    Source::file(path, shape)
}

fn stdin(format: StdinFormat) -> Source {
    let shape = match format {
        StdinFormat::Lines => Shape::Lines,
        StdinFormat::Jsonl => Shape::Jsonl,
        StdinFormat::Csv => Shape::Csv,
        StdinFormat::Tsv => Shape::Tsv,
        StdinFormat::Document => Shape::Document,
    };
    Source { path: PathBuf::from("-"), name: STDIN.into(), shape, spooled: true }
}

impl Source {
    /// A file whose shape is known.
    pub(crate) fn file(path: PathBuf, shape: Shape) -> Self {
        Self { name: path.display().to_string(), path, shape, spooled: false }
    }

    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.name == STDIN && self.spooled
    }

    /// Whether it has to be copied before it can be read: standard input, pipes, and Parquet, whose end comes first, compressed.
    pub(crate) fn needs_copy(&self) -> bool {
        let is_pipe = || self.path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir());
        self.path.as_os_str() == "-" || (self.shape == Shape::Parquet && self.is_compressed()) || is_pipe()
    }

    /// Whether its name says so.
    fn is_compressed(&self) -> bool {
        matches!(self.path.extension().and_then(|end| end.to_str()), Some("gz" | "zst"))
    }

    /// Whether a line can be read by where it stands.
    pub(crate) fn has_places(&self) -> bool {
        self.shape == Shape::Jsonl && (self.spooled || !self.is_compressed())
    }

    /// Copies it to a file and reads it there from now on.
    pub(crate) fn copy_to(&mut self, copy: &Path) -> Result<(), InputError> {
        let failed = |error: &dyn std::fmt::Display| {
            let message =
                format!("cannot be copied to {}: {error}; is it whole, and is there room?", copy.display());
            InputError::new(self.whole(), message)
        };
        let mut input: Box<dyn Read> = if self.path.as_os_str() == "-" {
            Box::new(io::stdin())
        } else {
            records::open_stream(&self.path).map_err(|error| failed(&error))?
        };
        let mut file = File::create(copy).map_err(|error| failed(&error))?;
        io::copy(&mut input, &mut file).map_err(|error| failed(&error))?;
        (self.path, self.spooled) = (copy.to_owned(), true);
        Ok(())
    }

    /// Its content, without compression; `read` counts the bytes of the file.
    pub(super) fn stream(&self, read: Option<&Arc<AtomicU64>>) -> Result<Box<dyn Read>, InputError> {
        let failed = |message: String| InputError::new(self.whole(), message);
        let file = records::open_file(&self.path).map_err(failed)?;
        let name = if self.spooled { Path::new("") } else { &self.path };
        match read {
            Some(read) => records::decoded(Counted(file, Arc::clone(read)), name).map_err(failed),
            None => records::decoded(file, name).map_err(failed),
        }
    }
}

/// Counts the bytes that are read.
pub(super) struct Counted<R>(pub(super) R, pub(super) Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
