//! OpenDocument spreadsheets (.ods): rows are lines, cells are set apart by tabs, sheets by blank lines.
//!
//! Read from `content.xml` directly, as the cells are shown. calamine was rejected for this one format: it
//! expands repeated cells into a dense table, so a few bytes of a hostile file cost gigabytes; it also
//! forgets how dates and numbers were shown.

use super::archive::Archive;
use super::builder::TextBuilder;
use super::docx::decode;
use super::sheet::{MAX_PARTS, cell_name};
use super::xml::{Node, attribute, walk};
use super::{Extract, ExtractError, Extracted, Format, Options, Part};

const CONTENT: &str = "content.xml";

pub(super) struct Ods;

impl Extract for Ods {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        let mut archive = Archive::open(bytes, Format::Ods, options)?;
        if let Some(manifest) = archive.read("META-INF/manifest.xml")?
            && decode(&manifest).contains("encryption-data")
        {
            return Err(ExtractError::PasswordProtected { format: Format::Ods });
        }
        let content = archive
            .read(CONTENT)?
            .ok_or_else(|| ExtractError::corrupt(Format::Ods, format!("{CONTENT} is missing")))?;
        let source = decode(&content);
        let mut reader = Content::default();
        walk(&source, options.max_xml_depth, |node| reader.visit(&node)).map_err(|error| match error {
            ExtractError::Malformed { line, reason, .. } => {
                ExtractError::corrupt(Format::Ods, format!("{CONTENT}, line {line}: {reason}"))
            }
            other => other,
        })?;
        let (text, map) = reader.builder.finish();
        Ok(Extracted {
            text,
            title: None,
            format: Format::Ods,
            encoding: None,
            map: Some(map),
            parts: reader.parts,
            warnings: Vec::new(),
        })
    }
}

#[derive(Default)]
struct Content {
    builder: TextBuilder,
    parts: Vec<Part>,
    sheet: String,
    row: u32,
    column: u32,
    /// How many rows or columns the open row or cell stands for.
    row_repeats: u32,
    column_repeats: u32,
    /// No word of the open row has been written.
    row_is_new: bool,
    /// The open paragraphs of a cell.
    paragraphs: usize,
    /// Open elements inside a comment or a list of changes, itself included.
    skipped: usize,
}

impl Content {
    fn visit(&mut self, node: &Node<'_>) {
        match node {
            Node::Start(_) if self.skipped > 0 => self.skipped += 1,
            Node::End(_) if self.skipped > 0 => self.skipped -= 1,
            _ if self.skipped > 0 => {}
            Node::Start(tag) => self.start(tag),
            Node::End(name) => self.end(name),
            Node::Text(text, at) => {
                if self.paragraphs > 0 && !text.trim().is_empty() {
                    self.begin_word();
                    self.builder.verbatim(text, *at);
                }
            }
            Node::Char(c, span) => {
                if self.paragraphs > 0 {
                    self.begin_word();
                    self.builder.decoded(c.encode_utf8(&mut [0; 4]), *span);
                }
            }
            Node::Entity(..) => {}
        }
    }

    fn start(&mut self, tag: &quick_xml::events::BytesStart<'_>) {
        let repeats =
            |name| attribute(tag, name).and_then(|count| count.parse().ok()).unwrap_or(1_u32).max(1);
        match tag.local_name().as_ref() {
            "table" => {
                self.sheet = attribute(tag, "name").unwrap_or_default();
                self.row = 0;
                self.builder.paragraph();
            }
            "table-row" => {
                self.row_repeats = repeats("number-rows-repeated");
                self.column = 0;
                self.row_is_new = true;
                self.builder.line();
            }
            "table-cell" | "covered-table-cell" => {
                self.column_repeats = repeats("number-columns-repeated");
                self.builder.tab();
            }
            "p" => {
                self.paragraphs += 1;
                self.builder.space();
            }
            "s" | "tab" | "line-break" => self.builder.space(),
            "annotation" | "tracked-changes" => self.skipped = 1,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "table-row" => self.row = self.row.saturating_add(self.row_repeats),
            "table-cell" | "covered-table-cell" => {
                self.column = self.column.saturating_add(self.column_repeats);
            }
            "p" => self.paragraphs = self.paragraphs.saturating_sub(1),
            _ => {}
        }
    }

    /// Names the row by its first cell with text.
    fn begin_word(&mut self) {
        if !std::mem::replace(&mut self.row_is_new, false) || self.parts.len() >= MAX_PARTS {
            return;
        }
        let start = self.builder.next_start() as u32;
        self.parts.push(Part { start, name: cell_name(&self.sheet, self.row, self.column) });
    }
}
