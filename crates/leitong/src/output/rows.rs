//! Parquet from Parquet: chosen rows of files of one schema, column by column, a few hundred rows at a time.

use super::Failure;
use super::file::Output;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::sync::Arc;

/// A file that rows are taken from.
pub(crate) type Reader = SerializedFileReader<File>;

/// Rows that follow each other in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) file: usize,
    pub(crate) rows: u64,
    /// Whether they are written, or passed over.
    pub(crate) keep: bool,
}

/// What a group of rows is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The row of each file that comes next.
    pub(crate) starts: Vec<u64>,
    pub(crate) stretches: Vec<Stretch>,
}

impl Group {
    pub(crate) fn starting(starts: Vec<u64>) -> Self {
        Self { starts, stretches: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, file: usize, keep: bool) {
        match self.stretches.last_mut() {
            Some(last) if last.file == file && last.keep == keep => last.rows += 1,
            _ => self.stretches.push(Stretch { file, rows: 1, keep }),
        }
    }

    fn is_empty(&self) -> bool {
        !self.stretches.iter().any(|stretch| stretch.keep)
    }
}

/// Writes rows of files that look like the first.
pub(crate) struct Rows(SerializedFileWriter<Output>);

/// Rows read at a time.
const TOGETHER: u64 = 256;

impl Rows {
    /// With the schema, the compression and the notes of a file.
    pub(crate) fn like(model: &Reader, out: Output) -> Result<Self> {
        let metadata = model.metadata();
        let of_file = metadata.file_metadata();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(of_file.key_value_metadata().cloned());
        if let Some(group) = metadata.row_groups().first() {
            for column in group.columns() {
                properties =
                    properties.set_column_compression(column.column_path().clone(), column.compression());
            }
        }
        let schema = of_file.schema_descr().root_schema_ptr();
        Ok(Self(SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?))
    }

    /// Writes a group of rows.
    pub(crate) fn write(&mut self, files: &[&Reader], group: &Group) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let mut writer = self.0.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = writer.next_column()? {
            match column.untyped() {
                ColumnWriter::BoolColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::Int32ColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::Int64ColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::Int96ColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::FloatColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::DoubleColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::ByteArrayColumnWriter(writer) => fill(files, group, at, writer)?,
                ColumnWriter::FixedLenByteArrayColumnWriter(writer) => fill(files, group, at, writer)?,
            }
            column.close()?;
            at += 1;
        }
        writer.close()?;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<Output> {
        self.0.into_inner()
    }
}

fn fill<T: DataType>(
    files: &[&Reader],
    group: &Group,
    column: usize,
    writer: &mut ColumnWriterImpl<'_, T>,
) -> Result<()> {
    let mut cursors = Vec::new();
    for (file, &start) in files.iter().zip(&group.starts) {
        cursors.push(Cursor::<T>::at(file, column, start)?);
    }
    for stretch in &group.stretches {
        let writer = stretch.keep.then_some(&mut *writer);
        cursors[stretch.file].pass(stretch.rows, writer)?;
    }
    Ok(())
}

/// A place in a column of a file.
struct Cursor<'f, T: DataType> {
    file: &'f Reader,
    column: usize,
    /// The next group of rows.
    group: usize,
    /// Rows left in the one that is open.
    left: u64,
    open: Option<ColumnReaderImpl<T>>,
}

impl<'f, T: DataType> Cursor<'f, T> {
    fn at(file: &'f Reader, column: usize, row: u64) -> Result<Self> {
        let mut cursor = Self { file, column, group: 0, left: 0, open: None };
        let mut before = 0;
        while cursor.group < file.num_row_groups() {
            let rows = cursor.rows();
            if before + rows > row {
                cursor.pass(row - before, None)?;
                break;
            }
            before += rows;
            cursor.group += 1;
        }
        Ok(cursor)
    }

    fn rows(&self) -> u64 {
        self.file.metadata().row_group(self.group).num_rows().unsigned_abs()
    }

    fn open_next(&mut self) -> Result<()> {
        if self.group >= self.file.num_row_groups() {
            return Err(ParquetError::EOF("fewer rows than before".into()));
        }
        self.left = self.rows();
        let reader = self.file.get_row_group(self.group)?.get_column_reader(self.column)?;
        self.open = Some(get_typed_column_reader::<T>(reader));
        self.group += 1;
        Ok(())
    }

    /// Writes the next rows, or passes over them.
    fn pass(&mut self, mut rows: u64, mut writer: Option<&mut ColumnWriterImpl<'_, T>>) -> Result<()> {
        let (mut defined, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
        while rows > 0 {
            if self.left == 0 {
                self.open_next()?;
                continue;
            }
            let Some(reader) = &mut self.open else { continue };
            let some = rows.min(self.left);
            let passed = match &mut writer {
                None => reader.skip_records(some as usize)?,
                Some(writer) => {
                    defined.clear();
                    repeated.clear();
                    values.clear();
                    let most = some.min(TOGETHER) as usize;
                    let (read, ..) =
                        reader.read_records(most, Some(&mut defined), Some(&mut repeated), &mut values)?;
                    let column = writer.get_descriptor().clone();
                    let defined = (column.max_def_level() > 0).then_some(&defined[..]);
                    let repeated = (column.max_rep_level() > 0).then_some(&repeated[..]);
                    writer.write_batch(&values, defined, repeated)?;
                    read
                }
            };
            if passed == 0 {
                return Err(ParquetError::EOF("fewer rows than the file says".into()));
            }
            rows -= passed as u64;
            self.left -= passed as u64;
        }
        Ok(())
    }
}

/// An error of a file of rows, in our words.
pub(crate) fn failed(name: &str) -> impl Fn(ParquetError) -> Failure + use<> {
    let name = name.to_owned();
    move |error| {
        Failure::Input(format!(
            "{name}: rows cannot be copied: {error}; is the file whole, and is there room?"
        ))
    }
}
