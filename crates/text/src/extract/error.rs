//! What can go wrong between bytes and text.
//!
//! The caller knows the file's name and puts it in front; a message here says what is wrong and what to do.

use super::Format;

/// Why no text came out of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The document cannot be read without its password.
    #[error("{format} document is password-protected; remove the password in the program that made it")]
    PasswordProtected {
        /// What the document is.
        format: Format,
    },
    /// The bytes do not follow the rules of their own format.
    #[error("{format} document is damaged or cut short: {reason}; fetch it again or open and re-save it")]
    Corrupt {
        /// What the document claims to be.
        format: Format,
        /// What the parser found.
        reason: String,
    },
    /// XML that is not well-formed.
    #[error("not well-formed XML at line {line}, byte {offset}: {reason}; correct it, or read it as text")]
    Malformed {
        /// Line, counted from 1.
        line: usize,
        /// Byte offset into the decoded text.
        offset: usize,
        /// What the parser found.
        reason: String,
    },
    /// Elements are nested deeper than the limit.
    #[error("elements are nested more than {limit} deep; raise the depth limit if the document is genuine")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// The input, or the text in it, is larger than the limit.
    #[error("{what} is larger than {limit} bytes; split the document or raise the limit")]
    TooLarge {
        /// Which size: `the file`, `the text`, ...
        what: &'static str,
        /// The limit in force.
        limit: u64,
    },
    /// A spreadsheet spans more cells than the limit.
    #[error("a sheet spans {cells} cells, more than {limit}; delete stray cells far outside the table")]
    TooManyCells {
        /// Cells in the rectangle around the sheet's content.
        cells: u64,
        /// The limit in force.
        limit: u64,
    },
    /// An archive that unpacks to far more than a document would.
    #[error(
        "unpacks to more than {limit} bytes, which looks like a zip bomb (at {member}); \
         if it is genuine, raise the limits on unpacked size and ratio"
    )]
    ZipBomb {
        /// The member at which the limit was passed.
        member: String,
        /// The limit that was passed, in bytes.
        limit: u64,
    },
    /// No text, but some binary data.
    #[error("looks like binary data, not text; name a text document, or give its encoding if it is text")]
    Binary,
    /// A document without any text.
    #[error("{format} document holds no text; {}", advice_on_empty(*format))]
    Empty {
        /// What the document is.
        format: Format,
    },
    /// A kind of file that is known and not read.
    #[error("{kind} is not supported; {advice}")]
    Unsupported {
        /// The kind of file.
        kind: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// The named encoding does not exist.
    #[error("unknown encoding {label:?}; use a name such as utf-8, gb18030, big5, shift_jis or windows-1252")]
    UnknownEncoding {
        /// The name as given.
        label: String,
    },
    /// A third-party parser panicked.
    #[error("{format} parser failed on this document ({reason}); re-save it, or convert it to text")]
    ParserFailed {
        /// What the document is.
        format: Format,
        /// The panic's message.
        reason: String,
    },
}

fn advice_on_empty(format: Format) -> &'static str {
    match format {
        Format::Pdf => "if it is a scan, run character recognition (OCR) first",
        Format::Html => "if scripts fill the page, save it from a browser",
        _ => "check that it is the right file",
    }
}

impl ExtractError {
    pub(super) fn corrupt(format: Format, reason: impl std::fmt::Display) -> Self {
        Self::Corrupt { format, reason: reason.to_string() }
    }
}
