//! Excel workbooks since 2007 (.xlsx, .xlsm, .xlsb): rows are lines, cells are set apart by tabs, sheets by
//! blank lines.
//!
//! Cells are read one by one. calamine's tables were rejected: they are dense, so two cells at opposite
//! corners of a sheet cost as much as all seventeen billion between them.
//!
//! There is no map to the source, because a cell's text may lie in the table of shared strings, be a number
//! that a format turns into a date, or be the result of a formula. Every row is a [`Part`] instead, named
//! after its first cell with text (`Sheet1!B3`); past [`MAX_PARTS`] rows only sheets are.

use std::io::Cursor;

use calamine::{
    Cell, CellErrorType, Data, DataRef, ExcelDateTime, Reader, SheetType, Xlsb, XlsbError, Xlsx, XlsxError,
};

use super::archive::Archive;
use super::guard::guarded;
use super::{Extract, ExtractError, Extracted, Format, Options, Part, check_text_size};

/// As many rows get a name of their own.
pub(super) const MAX_PARTS: usize = 100_000;

/// Reads one of the zipped Excel formats.
pub(super) struct Sheet(pub(super) Format);

impl Extract for Sheet {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        // calamine unpacks on its own and has no limits.
        let mut archive = Archive::open(bytes, self.0, options)?;
        archive.check_members(|name| {
            let name = name.to_ascii_lowercase();
            [".xml", ".rels", ".bin"].iter().any(|end| name.ends_with(end))
        })?;
        drop(archive);
        let mut rows = Rows::new(self.0, options);
        guarded(self.0, || match self.0 {
            Format::Xlsb => read_xlsb(bytes, &mut rows),
            _ => read_xlsx(bytes, self.0, &mut rows),
        })?;
        rows.finish()
    }
}

fn read_xlsx(bytes: &[u8], format: Format, rows: &mut Rows<'_>) -> Result<(), ExtractError> {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsxError::Password => ExtractError::PasswordProtected { format },
        error => ExtractError::corrupt(format, error),
    })?;
    for sheet in worksheets(&book) {
        rows.sheet(&sheet);
        match book.worksheet_cells_reader(&sheet) {
            Ok(mut cells) => rows.cells(|| cells.next_cell())?,
            Err(error) => rows.unreadable(&error),
        }
    }
    Ok(())
}

fn read_xlsb(bytes: &[u8], rows: &mut Rows<'_>) -> Result<(), ExtractError> {
    let mut book: Xlsb<_> = Xlsb::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsbError::Password => ExtractError::PasswordProtected { format: Format::Xlsb },
        error => ExtractError::corrupt(Format::Xlsb, error),
    })?;
    for sheet in worksheets(&book) {
        rows.sheet(&sheet);
        match book.worksheet_cells_reader(&sheet) {
            Ok(mut cells) => rows.cells(|| cells.next_cell())?,
            Err(error) => rows.unreadable(&error),
        }
    }
    Ok(())
}

/// The names of the sheets that hold cells; the others are charts, dialogues and macros.
pub(super) fn worksheets<RS: std::io::Read + std::io::Seek>(book: &impl Reader<RS>) -> Vec<String> {
    let sheets = book.sheets_metadata().iter();
    sheets.filter(|sheet| sheet.typ == SheetType::WorkSheet).map(|sheet| sheet.name.clone()).collect()
}

/// Collects the cells of a workbook, row by row.
pub(super) struct Rows<'a> {
    format: Format,
    options: &'a Options,
    text: String,
    parts: Vec<Part>,
    warnings: Vec<String>,
    sheet: String,
    /// The row that the last cell of this sheet lay in.
    row: Option<u32>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(format: Format, options: &'a Options) -> Self {
        Self {
            format,
            options,
            text: String::new(),
            parts: Vec::new(),
            warnings: Vec::new(),
            sheet: String::new(),
            row: None,
        }
    }

    /// The cells to come are those of this sheet.
    pub(super) fn sheet(&mut self, name: &str) {
        name.clone_into(&mut self.sheet);
        self.row = None;
    }

    /// The sheet, or what follows of it, cannot be read; the others may.
    pub(super) fn unreadable(&mut self, error: &dyn std::fmt::Display) {
        self.warnings.push(format!("sheet {:?} could not be read to its end: {error}", self.sheet));
    }

    /// Adds the cells of a sheet, as far as they can be read.
    fn cells<'c, E: std::fmt::Display>(
        &mut self,
        mut next: impl FnMut() -> Result<Option<Cell<DataRef<'c>>>, E>,
    ) -> Result<(), ExtractError> {
        loop {
            match next() {
                Ok(Some(cell)) => self.cell(cell.get_position(), cell.get_value())?,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.unreadable(&error);
                    return Ok(());
                }
            }
        }
    }

    /// Adds a cell; cells come in the order of rows.
    pub(super) fn cell<'c, C>(&mut self, (row, column): (u32, u32), value: &'c C) -> Result<(), ExtractError>
    where
        Shown: From<&'c C>,
    {
        let Shown(shown) = Shown::from(value);
        let mut words = shown.split_whitespace();
        let Some(first) = words.next() else { return Ok(()) };
        if self.row == Some(row) {
            self.text.push('\t');
        } else {
            if !self.text.is_empty() {
                self.text.push_str(if self.row.is_none() { "\n\n" } else { "\n" });
            }
            if self.row.is_none() || self.parts.len() < MAX_PARTS {
                let name = cell_name(&self.sheet, row, column);
                self.parts.push(Part { start: self.text.len() as u32, name });
            }
            self.row = Some(row);
        }
        self.text.push_str(first);
        for word in words {
            self.text.push(' ');
            self.text.push_str(word);
        }
        // A long string may be shared by a million cells, so that the text outgrows the file.
        check_text_size(self.text.len(), self.options)
    }

    pub(super) fn finish(self) -> Result<Extracted, ExtractError> {
        // A workbook of which nothing could be read is damaged, not empty.
        if self.text.is_empty()
            && let Some(reason) = self.warnings.first()
        {
            return Err(ExtractError::corrupt(self.format, reason));
        }
        Ok(Extracted {
            text: self.text,
            title: None,
            format: self.format,
            encoding: None,
            map: None,
            parts: self.parts,
            warnings: self.warnings,
        })
    }
}

/// A cell's content as text.
pub(super) struct Shown(String);

impl From<&DataRef<'_>> for Shown {
    fn from(value: &DataRef<'_>) -> Self {
        Self(match value {
            DataRef::Empty => String::new(),
            DataRef::Int(number) => number.to_string(),
            DataRef::Float(number) => show_number(*number),
            DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
            DataRef::SharedString(text) => (*text).to_owned(),
            DataRef::Bool(value) => show_bool(*value),
            DataRef::DateTime(moment) => show_moment(*moment),
            DataRef::Error(error) => show_error(error),
        })
    }
}

impl From<&Data> for Shown {
    fn from(value: &Data) -> Self {
        Self(match value {
            Data::Empty => String::new(),
            Data::Int(number) => number.to_string(),
            Data::Float(number) => show_number(*number),
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
            Data::Bool(value) => show_bool(*value),
            Data::DateTime(moment) => show_moment(*moment),
            Data::Error(error) => show_error(error),
        })
    }
}

/// Excel shows and keeps 15 digits: 0.1 + 0.2 is 0.3.
fn show_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    let size = rounded.abs();
    if size != 0.0 && !(1e-9..1e15).contains(&size) { format!("{rounded:e}") } else { rounded.to_string() }
}

fn show_bool(value: bool) -> String {
    (if value { "TRUE" } else { "FALSE" }).to_owned()
}

fn show_error(error: &CellErrorType) -> String {
    error.to_string()
}

/// A date, a time of day, both, or a number of hours, as ISO 8601 writes them.
fn show_moment(moment: ExcelDateTime) -> String {
    let days = moment.as_f64();
    if moment.is_duration() {
        let seconds = (days.abs() * 86_400.0).round() as u64;
        let sign = if days < 0.0 { "-" } else { "" };
        return format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if days.fract() == 0.0 {
        date
    } else if days.abs() < 1.0 {
        time
    } else {
        format!("{date} {time}")
    }
}

/// `Sheet1!B3` for the third row and second column, both counted from 0.
pub(super) fn cell_name(sheet: &str, row: u32, column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = u64::from(column) + 1;
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    let letters: String = letters.into_iter().rev().collect();
    format!("{sheet}!{letters}{}", u64::from(row) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType::{DateTime, TimeDelta};

    #[test]
    fn numbers_and_dates_are_shown_as_a_reader_expects() {
        assert_eq!(show_number(0.1 + 0.2), "0.3");
        assert_eq!(show_number(3.0), "3");
        assert_eq!(show_number(-1234.5), "-1234.5");
        assert_eq!(show_number(1e300), "1e300");
        assert_eq!(show_number(f64::NAN), "NaN");
        let moment = |days, kind| show_moment(ExcelDateTime::new(days, kind, false));
        assert_eq!(moment(45413.0, DateTime), "2024-05-01");
        assert_eq!(moment(45413.5, DateTime), "2024-05-01 12:00:00");
        assert_eq!(moment(0.75, DateTime), "18:00:00");
        assert_eq!(moment(1.5, TimeDelta), "36:00:00");
        assert_eq!(moment(f64::NAN, TimeDelta), "0:00:00");
    }

    #[test]
    fn cells_have_their_usual_names() {
        let names = [0, 25, 26, 701, 702, 16_383].map(|column| cell_name("S", 2, column));
        assert_eq!(names, ["S!A3", "S!Z3", "S!AA3", "S!ZZ3", "S!AAA3", "S!XFD3"]);
    }
}
