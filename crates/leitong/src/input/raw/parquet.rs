//! Parquet: rows as documents.

use super::{Read, Record, Source, Take, Wanted};
use crate::input::InputError;
use crate::input::records::{self, Values};
use crate::input::table::{cell, column, damaged, damaged_from_here};
use crate::output::Failure;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Row;
use ::parquet::schema::types::Type;
use serde_json::{Map, Value};
use std::fs::File;

/// A Parquet file, opened.
pub(crate) fn open(source: &Source) -> Result<SerializedFileReader<File>, InputError> {
    let failed = |message: String| InputError::new(source.whole(), message);
    let file = records::open_file(&source.path).map_err(failed)?;
    SerializedFileReader::new(file).map_err(|error| failed(damaged(&error)))
}

/// The columns that are wanted, so that the others need not be read.
fn projection(schema: &Type, wanted: &Wanted) -> Option<Type> {
    let options = &wanted.options;
    let is_wanted = |name: &str| {
        name == options.id
            || name == options.text
            || name == "format"
            || wanted.extras.iter().any(|extra| extra == name)
    };
    let fields = schema.get_fields().iter().filter(|field| is_wanted(field.name())).cloned().collect();
    Type::group_type_builder(schema.name()).with_fields(fields).build().ok()
}

pub(super) fn documents(
    source: &Source,
    wanted: &Wanted,
    skip: u64,
    take: Take<'_>,
) -> Result<(), InputError> {
    let reader = open(source)?;
    let schema = reader.metadata().file_metadata().schema();
    let text = &wanted.options.text;
    if !schema.get_fields().iter().any(|field| field.name() == text) {
        let known = schema.get_fields().iter().map(|field| field.name()).collect::<Vec<_>>().join(", ");
        let message = format!("there is no column {text:?}; the columns are {known}: name one with --text");
        return Err(InputError::new(source.whole(), message));
    }
    let broken = |number: u64, error: &dyn std::fmt::Display| {
        InputError::new(source.place(number), damaged_from_here(error))
    };
    let rows = reader.get_row_iter(projection(schema, wanted)).map_err(|error| broken(1, &error))?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for (number, row) in (1..).zip(rows) {
        if number <= skip {
            continue;
        }
        match row {
            Ok(row) => {
                let read = document(&row, source, number, wanted);
                bytes += if let Read::Document(doc) = &read { doc.text.len() } else { 0 };
                batch.push(read);
            }
            Err(error) => {
                batch.push(Read::Broken(broken(number, &error)));
                break;
            }
        }
        if bytes >= wanted.block {
            bytes = 0;
            if !take(std::mem::take(&mut batch)) {
                return Ok(());
            }
        }
    }
    take(batch);
    Ok(())
}

fn document(row: &Row, source: &Source, number: u64, wanted: &Wanted) -> Read {
    let value = |field: &str| column(row, field);
    let rest: Map<String, Value> =
        wanted.extras.iter().filter_map(|name| Some((name.clone(), value(name)?.into()))).collect();
    let values = Values {
        id: value(&wanted.options.id).unwrap_or_default(),
        text: value(&wanted.options.text),
        is_html: value("format").as_deref() == Some("html"),
        fields: crate::input::Fields::default(),
        rest,
    };
    match records::document(values, source.place(number), &wanted.options) {
        Ok(document) => Read::Document(document.into_doc(number, &wanted.extras)),
        Err(error) => Read::Bad(error),
    }
}

pub(super) fn again(
    source: &Source,
    each: &mut dyn FnMut(&Record<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // What cannot be read was reported before.
    let Ok(reader) = open(source) else { return Ok(()) };
    for row in reader.into_iter().map_while(Result::ok) {
        each(&Record { shape: source.shape, raw: b"", object: &|| Some(object(&row)) })?;
    }
    Ok(())
}

fn object(row: &Row) -> String {
    let cells = row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), cell(field)?)));
    Value::Object(cells.collect()).to_string()
}
