//! Where documents that stay are written: line by line, or for Parquet by columns when a source is done.

use super::format::{Format, Layout};
use crate::input::raw::{self, Record, Source};
use crate::output::Failure;
use crate::output::file::{Closed, Output};
use crate::output::rows::{self, Group, Rows};
use parquet::file::reader::FileReader;
use std::path::{Path, PathBuf};

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Stays,
    Goes,
    Bad,
}

/// The output, and for Parquet the rows that go.
pub(super) enum Kept<'k> {
    Lines { out: Box<Output>, layout: &'k Layout },
    Rows { out: Table, gone: Option<Table>, rows: Vec<Row> },
}

/// A Parquet file; it begins when the first source tells its columns.
pub(crate) struct Table {
    name: String,
    waiting: Option<Box<Output>>,
    open: Option<Box<Rows>>,
}

/// A record that was read before, so that it is UTF-8.
fn text_of(raw: &[u8]) -> String {
    let text = simdutf8::basic::from_utf8(raw).map(str::to_owned);
    text.unwrap_or_else(|_| String::from_utf8_lossy(raw).into_owned())
}

/// The file beside a journal that holds the rows that went.
pub(crate) fn rows_beside(journal: &Path) -> PathBuf {
    PathBuf::from(format!("{}.parquet", journal.display()))
}

impl<'k> Kept<'k> {
    pub(super) fn create(layout: &'k Layout, output: &Path, journal: Option<&Path>) -> Result<Self, Failure> {
        if layout.format == Format::Parquet {
            let gone = journal.map(|journal| Table::create(&rows_beside(journal))).transpose()?;
            return Ok(Self::Rows { out: Table::create(output)?, gone, rows: Vec::new() });
        }
        let mut out = Box::new(Output::create(output)?);
        if !layout.header.is_empty() {
            out.put(&layout.header)?;
            out.put(layout.end.as_bytes())?;
        }
        Ok(Self::Lines { out, layout })
    }

    /// A record stays. False if it is no longer what it was.
    pub(super) fn stays(&mut self, record: &Record<'_>) -> Result<bool, Failure> {
        let (out, layout) = match self {
            Self::Lines { out, layout } => (out, layout),
            Self::Rows { rows, .. } => {
                rows.push(Row::Stays);
                return Ok(true);
            }
        };
        if record.is(layout.format.shape()) {
            out.put(record.raw)?;
        } else {
            let Some(object) = (record.object)() else { return Ok(false) };
            out.put(object.as_bytes())?;
        }
        out.put(layout.end.as_bytes())?;
        Ok(true)
    }

    /// A record goes; how it would have been written, for the journal.
    pub(super) fn goes(&mut self, record: &Record<'_>) -> Option<String> {
        match self {
            Self::Rows { rows, .. } => {
                rows.push(Row::Goes);
                None
            }
            Self::Lines { layout, .. } if record.is(layout.format.shape()) => Some(text_of(record.raw)),
            Self::Lines { .. } => (record.object)(),
        }
    }

    /// A record could not be used.
    pub(super) fn is_bad(&mut self) {
        if let Self::Rows { rows, .. } = self {
            rows.push(Row::Bad);
        }
    }

    /// All records of a source have come.
    pub(super) fn end_source(&mut self, source: &Source) -> Result<(), Failure> {
        let Self::Rows { out, gone, rows } = self else { return Ok(()) };
        let rows = std::mem::take(rows);
        out.copy(source, &rows, Row::Stays)?;
        gone.as_mut().map_or(Ok(()), |gone| gone.copy(source, &rows, Row::Goes))
    }

    /// The files, whole.
    pub(super) fn close(self) -> Result<(Closed, Option<Closed>), Failure> {
        match self {
            Self::Lines { out, .. } => Ok((out.close()?, None)),
            Self::Rows { out, gone, .. } => Ok((out.close()?, gone.map(Table::close).transpose()?)),
        }
    }
}

impl Table {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        Ok(Self { name, waiting: Some(Box::new(Output::create(path)?)), open: None })
    }

    /// Copies the rows of a source that have this fate.
    fn copy(&mut self, source: &Source, fates: &[Row], wanted: Row) -> Result<(), Failure> {
        // What cannot be opened was reported before, and has no rows.
        let Ok(reader) = raw::open_parquet(source) else { return Ok(()) };
        let failed = rows::failed(&source.name);
        self.begin(&reader)?;
        let Some(writer) = &mut self.open else { return Ok(()) };
        let (mut fates, mut start) = (fates.iter(), 0);
        for group in reader.metadata().row_groups() {
            let mut plan = Group::starting(vec![start]);
            let count = group.num_rows().unsigned_abs();
            for &fate in fates.by_ref().take(count as usize) {
                plan.push(0, fate == wanted);
            }
            writer.write(&[&reader], &plan).map_err(&failed)?;
            start += count;
        }
        Ok(())
    }

    /// Begins, with the columns of a file.
    pub(crate) fn begin(&mut self, model: &rows::Reader) -> Result<(), Failure> {
        if let Some(out) = self.waiting.take() {
            self.open = Some(Box::new(Rows::like(model, *out).map_err(rows::failed(&self.name))?));
        }
        Ok(())
    }

    /// Writes a group.
    pub(crate) fn write(&mut self, files: &[&rows::Reader], group: &Group) -> Result<(), Failure> {
        match &mut self.open {
            Some(open) => open.write(files, group).map_err(rows::failed(&self.name)),
            None => Ok(()),
        }
    }

    pub(crate) fn close(self) -> Result<Closed, Failure> {
        match self.open {
            Some(open) => open.finish().map_err(rows::failed(&self.name))?.close(),
            None => Err(Failure::Input("no input could be read; nothing was written".into())),
        }
    }
}
