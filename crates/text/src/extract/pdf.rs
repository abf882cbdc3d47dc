//! PDF: the text of every page, pages set apart by blank lines.
//!
//! There is no map to the source: a PDF paints glyphs in any order and at any place, and the reading order is
//! reconstructed. A [`Part`] names every page instead. Pages that are only pictures give no text; a document
//! of nothing else is reported as empty.
//!
//! pdf_oxide was chosen because it reads Chinese fonts that are not embedded; pdf-extract panics on them, and
//! mupdf's licence forbids it. It may panic on hostile files, too, so it runs behind a fence.

use pdf_oxide::document::PdfDocument;
use pdf_oxide::error::Error;

use super::guard::guarded;
use super::{Extract, ExtractError, Extracted, Format, Options, Part, check_text_size};
use crate::encoding;

/// More failing pages than this are only counted.
const NAMED_FAILURES: usize = 10;

pub(super) struct Pdf;

impl Extract for Pdf {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        guarded(Format::Pdf, || {
            let document = PdfDocument::from_bytes(bytes.to_vec()).map_err(explain)?;
            // Many documents are encrypted with an empty password, only to forbid printing.
            if document.is_encrypted() && !document.authenticate(b"").unwrap_or(false) {
                return Err(ExtractError::PasswordProtected { format: Format::Pdf });
            }
            read_pages(&document, options)
        })
    }
}

fn read_pages(document: &PdfDocument, options: &Options) -> Result<Extracted, ExtractError> {
    let mut text = String::new();
    let mut parts = Vec::new();
    let mut failures = Vec::new();
    let pages = document.page_count().map_err(explain)?;
    for page in 0..pages {
        let content = match document.extract_text(page) {
            Ok(content) => content,
            Err(Error::EncryptedPdf) => {
                return Err(ExtractError::PasswordProtected { format: Format::Pdf });
            }
            Err(error) => {
                failures.push((page + 1, error));
                continue;
            }
        };
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        parts.push(Part { start: text.len() as u32, name: format!("page {}", page + 1) });
        text.push_str(content);
        check_text_size(text.len(), options)?;
    }
    let mut warnings: Vec<String> = failures
        .iter()
        .take(NAMED_FAILURES)
        .map(|(page, error)| format!("page {page} could not be read: {error}"))
        .collect();
    if failures.len() > NAMED_FAILURES {
        warnings.push(format!("{} pages could not be read", failures.len()));
    }
    // A document of which nothing could be read is damaged, not empty.
    if text.is_empty()
        && let Some((_, error)) = failures.into_iter().next()
    {
        return Err(explain(error));
    }
    if encoding::mostly_replaced(&text) {
        warnings
            .push("the fonts do not say which characters they show; run OCR if words look wrong".to_owned());
    }
    Ok(Extracted { text, title: None, format: Format::Pdf, encoding: None, map: None, parts, warnings })
}

fn explain(error: Error) -> ExtractError {
    match error {
        Error::EncryptedPdf => ExtractError::PasswordProtected { format: Format::Pdf },
        error => ExtractError::corrupt(Format::Pdf, error),
    }
}
