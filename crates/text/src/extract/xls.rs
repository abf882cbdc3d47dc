//! Excel 5.0 to 2003 (.xls).
//!
//! calamine builds a dense table of every sheet while it opens the file, and reserves whatever the file
//! declares; a failed reservation ends the process and cannot be caught. So the records are walked first and
//! a file is refused whose sheets span too many cells. There is no map to the source, as for the newer
//! formats.

use std::io::{Cursor, Read};

use calamine::{Reader, XlsError};

use super::guard::guarded;
use super::sheet::{Rows, worksheets};
use super::{Extract, ExtractError, Extracted, Format, Options};

pub(super) struct Xls;

impl Extract for Xls {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        let mut rows = Rows::new(Format::Xls, options);
        guarded(Format::Xls, || {
            check_records(&workbook_stream(bytes)?, options)?;
            read(bytes, &mut rows)
        })?;
        rows.finish()
    }
}

fn read(bytes: &[u8], rows: &mut Rows<'_>) -> Result<(), ExtractError> {
    let mut book: calamine::Xls<_> = calamine::Xls::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsError::Password => ExtractError::PasswordProtected { format: Format::Xls },
        error => ExtractError::corrupt(Format::Xls, error),
    })?;
    for sheet in worksheets(&book) {
        rows.sheet(&sheet);
        match book.worksheet_range(&sheet) {
            Ok(range) => {
                let (first_row, first_column) = range.start().unwrap_or_default();
                for (row, column, value) in range.used_cells() {
                    rows.cell((first_row + row as u32, first_column + column as u32), value)?;
                }
            }
            Err(error) => rows.unreadable(&error),
        }
    }
    Ok(())
}

fn workbook_stream(bytes: &[u8]) -> Result<Vec<u8>, ExtractError> {
    let corrupt = |error: std::io::Error| ExtractError::corrupt(Format::Xls, error);
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes)).map_err(corrupt)?;
    let path = file
        .read_root_storage()
        .filter(|entry| ["workbook", "book"].contains(&entry.name().to_ascii_lowercase().as_str()))
        .map(|entry| entry.path().to_owned())
        .next()
        .ok_or_else(|| ExtractError::corrupt(Format::Xls, "there is no workbook in it"))?;
    let mut content = Vec::new();
    file.open_stream(path)
        .and_then(|stream| stream.take(bytes.len() as u64).read_to_end(&mut content))
        .map_err(corrupt)?;
    Ok(content)
}

/// The rectangle around some cells, in rows and columns.
#[derive(Clone, Copy, Default)]
struct Area {
    rows: Option<(u64, u64)>,
    columns: Option<(u64, u64)>,
}

impl Area {
    fn add(&mut self, row: u64, column: u64) {
        let widen = |range: &mut Option<(u64, u64)>, at: u64| {
            *range = Some(range.map_or((at, at), |(low, high)| (low.min(at), high.max(at))));
        };
        widen(&mut self.rows, row);
        widen(&mut self.columns, column);
    }

    fn cells(self) -> u64 {
        let len = |range: Option<(u64, u64)>| range.map_or(0, |(low, high)| high - low + 1);
        len(self.rows).saturating_mul(len(self.columns))
    }
}

/// Walks the records of a workbook (two bytes type, two bytes length, content) and refuses sheets that span
/// or declare too many cells.
fn check_records(stream: &[u8], options: &Options) -> Result<(), ExtractError> {
    const BEGIN: u16 = 0x0809;
    const DIMENSIONS: u16 = 0x0200;
    const CELLS: [u16; 8] = [0x0006, 0x00BD, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E];
    let mut area = Area::default();
    let mut at = 0;
    while let Some(header) = stream.get(at..at + 4) {
        let kind = u16::from_le_bytes([header[0], header[1]]);
        let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
        let content = stream.get(at + 4..at + 4 + len).unwrap_or_default();
        let short = |offset: usize| {
            content.get(offset..offset + 2).map_or(0, |b| u64::from(u16::from_le_bytes([b[0], b[1]])))
        };
        let declared = match kind {
            BEGIN => {
                area = Area::default();
                0
            }
            // Excel 97 counts rows in four bytes, Excel 95 in two; the last of each is one past the end.
            DIMENSIONS if len >= 14 => {
                let long = |offset| short(offset) | short(offset + 2) << 16;
                long(4).saturating_sub(long(0)).saturating_mul(short(10).saturating_sub(short(8)))
            }
            DIMENSIONS => short(2).saturating_sub(short(0)).saturating_mul(short(6).saturating_sub(short(4))),
            kind if CELLS.contains(&kind) => {
                area.add(short(0), short(2));
                // A run of numbers ends with its last column.
                if kind == 0x00BD && len >= 2 {
                    area.add(short(0), short(len - 2));
                }
                0
            }
            _ => 0,
        };
        let cells = area.cells().max(declared);
        if cells > options.max_cells {
            return Err(ExtractError::TooManyCells { cells, limit: options.max_cells });
        }
        at += 4 + len;
    }
    Ok(())
}
