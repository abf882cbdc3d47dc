//! Bytes to text: one extractor per format behind the [`Extract`] seam.
//!
//! [`extract`] recognises the format ([`Format::detect`]), runs its extractor and checks what every format has
//! in common: sizes, and that there is any text at all.
//!
//! # What an offset can be traced to
//! | format | [`Extracted::map`] leads to |
//! |---|---|
//! | text | the decoded text itself |
//! | html | the decoded page |
//! | xml | the decoded document |
//! | docx, ods | the unpacked XML members (see [`Extracted::map`]) |
//! | xlsx, xlsm, xlsb, xls | nothing: cells are assembled from several places; a [`Part`] names the row |
//! | pdf | nothing: glyphs are painted in any order; a [`Part`] names the page |
//!
//! # Untrusted input
//! Any bytes may arrive here. Limits in [`Options`] bound memory and nesting; panics of third-party parsers
//! are caught (see `guarded`) and become [`ExtractError::ParserFailed`].
//!
//! ```
//! use leitong_text::extract::{Format, Options, extract};
//! let page = "<html><body><p>雷同 &amp; 巧合</p></body></html>";
//! let document = extract(page.as_bytes(), Some("page.html"), &Options::default())?;
//! assert_eq!((document.format, document.text.as_str()), (Format::Html, "雷同 & 巧合"));
//! # Ok::<(), leitong_text::extract::ExtractError>(())
//! ```

mod archive;
mod builder;
mod docx;
mod error;
mod format;
mod guard;
mod html;
mod ods;
mod options;
mod pdf;
mod plain;
mod sheet;
mod xls;
mod xml;

pub use error::ExtractError;
pub use format::{Format, UnknownFormat};
pub use guard::parsing;
pub use options::{HtmlMode, Options};

use crate::span::OffsetMap;

/// The text of a document and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The text, never blank.
    pub text: String,
    /// The document's own title, where it has one.
    pub title: Option<String>,
    /// What the document was read as.
    pub format: Format,
    /// The encoding that was decoded, for the formats that have one.
    pub encoding: Option<&'static str>,
    /// Leads from `text` to the source text: the decoded bytes without their byte order mark; for docx the
    /// members named by `parts` and for ods `content.xml`, unpacked, decoded and each counted from its own
    /// first byte. `None` where nothing can be traced. Words that were made up have an empty source.
    pub map: Option<OffsetMap>,
    /// The members, rows or pages the text was made from, by ascending start. Empty for one-part formats.
    pub parts: Vec<Part>,
    /// What the reader should know although text came out.
    pub warnings: Vec<String>,
}

/// Where in a document a stretch of its text lay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Byte offset into the text at which the part starts; it ends where the next one starts.
    pub start: u32,
    /// Its name: `word/document.xml`, `Sheet1!B3`, `page 3`.
    pub name: String,
}

/// Turns the bytes of one format into text.
pub trait Extract {
    /// Reads `bytes` as this format.
    ///
    /// Must not panic on any input, must obey the limits in `options`, and leaves it to [`extract`] to refuse
    /// blank or overlong text.
    ///
    /// # Errors
    /// When the bytes are not a readable document of this format or pass a limit.
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError>;
}

/// Recognises the format of `bytes`, with the file's name as a second opinion, and extracts the text.
///
/// # Errors
/// When the format is not supported, the document cannot be read, it passes a limit, or it holds no text.
pub fn extract(bytes: &[u8], file_name: Option<&str>, options: &Options) -> Result<Extracted, ExtractError> {
    let max_input = options.max_input.min(u64::from(u32::MAX));
    if bytes.len() as u64 > max_input {
        return Err(ExtractError::TooLarge { what: "the file", limit: max_input });
    }
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(bytes, file_name)?,
    };
    let extracted = format.extractor().extract(bytes, options)?;
    check_text_size(extracted.text.len(), options)?;
    if extracted.text.trim().is_empty() {
        return Err(ExtractError::Empty { format });
    }
    Ok(extracted)
}

/// Refuses text over the limit; extractors whose text can outgrow their input call it as they go.
fn check_text_size(len: usize, options: &Options) -> Result<(), ExtractError> {
    let limit = options.max_text.min(u64::from(u32::MAX));
    if len as u64 > limit { Err(ExtractError::TooLarge { what: "the text", limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
