//! The formats, and how one is recognised.
//!
//! Content decides first, because names lie (`report.doc` that is HTML, `data.xls` that is a zip); the name
//! decides only between kinds of plain text. Inside a zip or an OLE compound file the members decide.

use std::fmt;
use std::io::{Cursor, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Extract, ExtractError, docx, html, ods, pdf, plain, sheet, xls, xml};
use crate::encoding;

/// How much of the beginning is looked at to tell HTML and XML from plain text.
const SNIFFED: usize = 4096;

/// A format that text can be extracted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Format {
    /// Plain text in any encoding of the web.
    Text,
    /// A web page.
    Html,
    /// Any XML.
    Xml,
    /// Word, since 2007.
    Docx,
    /// Excel workbook, since 2007.
    Xlsx,
    /// Excel workbook with macros.
    Xlsm,
    /// Excel binary workbook.
    Xlsb,
    /// Excel 5.0 to 2003.
    Xls,
    /// OpenDocument spreadsheet.
    Ods,
    /// Portable Document Format.
    Pdf,
}

/// A name that is none of the formats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format {0:?}; use text, html, xml, docx, xlsx, xlsm, xlsb, xls, ods or pdf")]
pub struct UnknownFormat(pub String);

impl Format {
    /// Every format.
    pub const ALL: [Self; 10] = [
        Self::Text,
        Self::Html,
        Self::Xml,
        Self::Docx,
        Self::Xlsx,
        Self::Xlsm,
        Self::Xlsb,
        Self::Xls,
        Self::Ods,
        Self::Pdf,
    ];

    /// The name, as in [`Display`](fmt::Display) and in serialised form.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Xml => "xml",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Xlsm => "xlsm",
            Self::Xlsb => "xlsb",
            Self::Xls => "xls",
            Self::Ods => "ods",
            Self::Pdf => "pdf",
        }
    }

    /// The extractor of this format.
    #[must_use]
    pub fn extractor(self) -> &'static dyn Extract {
        match self {
            Self::Text => &plain::Plain,
            Self::Html => &html::Html,
            Self::Xml => &xml::Xml,
            Self::Docx => &docx::Docx,
            Self::Xlsx => &sheet::Sheet(Self::Xlsx),
            Self::Xlsm => &sheet::Sheet(Self::Xlsm),
            Self::Xlsb => &sheet::Sheet(Self::Xlsb),
            Self::Xls => &xls::Xls,
            Self::Ods => &ods::Ods,
            Self::Pdf => &pdf::Pdf,
        }
    }

    /// Recognises a document by its content, and where that is not enough by its name.
    ///
    /// # Errors
    /// When the content is of a known kind that holds no text we can read, is protected by a password, or is
    /// binary data of an unknown kind.
    pub fn detect(bytes: &[u8], file_name: Option<&str>) -> Result<Self, ExtractError> {
        let extension = file_name.and_then(extension);
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            return detect_zip(bytes, extension.as_deref());
        }
        if bytes.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
            return detect_ole(bytes, extension.as_deref());
        }
        // Readers accept a little rubbish before the header.
        let head = &bytes[..bytes.len().min(1024)];
        if head.windows(5).any(|window| window == b"%PDF-") && !starts_like_markup(head) {
            return Ok(Self::Pdf);
        }
        if let Some((kind, advice)) = known_but_unread(bytes) {
            return Err(ExtractError::Unsupported { kind, advice });
        }
        if encoding::looks_binary(bytes) {
            return Err(match extension.as_deref() {
                Some("docx" | "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" | "pdf") => ExtractError::corrupt(
                    extension.as_deref().and_then(|e| e.parse().ok()).unwrap_or(Self::Text),
                    "the content is not what its name says",
                ),
                _ => ExtractError::Binary,
            });
        }
        Ok(detect_text(bytes, extension.as_deref()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let wanted = name.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|format| format.name() == wanted)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// The extension of a file name, in lower case.
fn extension(file_name: &str) -> Option<String> {
    let name = file_name.rsplit(['/', '\\']).next()?;
    let (_, extension) = name.rsplit_once('.')?;
    Some(extension.to_ascii_lowercase())
}

/// The member names of an archive decide what it is.
fn detect_zip(bytes: &[u8], extension: Option<&str>) -> Result<Format, ExtractError> {
    let claimed = extension.and_then(|e| e.parse().ok());
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| ExtractError::corrupt(claimed.unwrap_or(Format::Docx), error))?;
    let has = |prefix: &[u8]| archive.file_names_raw().any(|name| name.starts_with(prefix));
    if has(b"word/") {
        return Ok(Format::Docx);
    }
    if has(b"xl/workbook.bin") {
        return Ok(Format::Xlsb);
    }
    if has(b"xl/vbaProject.bin") {
        return Ok(Format::Xlsm);
    }
    if has(b"xl/") {
        return Ok(Format::Xlsx);
    }
    if has(b"ppt/") {
        return Err(unsupported("a PowerPoint presentation", "export it as PDF"));
    }
    let mut mimetype = String::new();
    if let Ok(member) = archive.by_name("mimetype") {
        // A mimetype longer than this, or not UTF-8, is none that we know.
        let _ = member.take(256).read_to_string(&mut mimetype);
    }
    if mimetype.starts_with("application/vnd.oasis.opendocument.spreadsheet") {
        return Ok(Format::Ods);
    }
    Err(if mimetype.starts_with("application/vnd.oasis.opendocument") {
        unsupported("an OpenDocument text, drawing or presentation", "save it as .docx or PDF")
    } else if mimetype.starts_with("application/epub") {
        unsupported("an e-book (EPUB)", "convert it to HTML or text")
    } else {
        // An office file may have unusual member names; its own extension then decides.
        match claimed {
            Some(Format::Xlsx | Format::Xlsm | Format::Xlsb | Format::Docx | Format::Ods) => {
                return claimed.ok_or(ExtractError::Binary);
            }
            _ => unsupported("a zip archive", "unpack it and name the documents inside"),
        }
    })
}

/// The streams of an OLE compound file decide what it is.
fn detect_ole(bytes: &[u8], extension: Option<&str>) -> Result<Format, ExtractError> {
    let file = cfb::CompoundFile::open(Cursor::new(bytes))
        .map_err(|error| ExtractError::corrupt(Format::Xls, error))?;
    let has = |wanted: &str| file.read_root_storage().any(|entry| entry.name().eq_ignore_ascii_case(wanted));
    if has("EncryptedPackage") || has("EncryptionInfo") {
        let format = match extension.and_then(|e| e.parse().ok()) {
            Some(format @ (Format::Docx | Format::Xlsx | Format::Xlsm | Format::Xlsb)) => format,
            // The content is ciphertext: nothing but the name tells a document from a workbook.
            _ => Format::Docx,
        };
        return Err(ExtractError::PasswordProtected { format });
    }
    if has("Workbook") || has("Book") {
        return Ok(Format::Xls);
    }
    Err(if has("WordDocument") {
        unsupported("a Word 97-2003 document (.doc)", "open it in Word or LibreOffice and save it as .docx")
    } else if has("PowerPoint Document") {
        unsupported("a PowerPoint 97-2003 presentation (.ppt)", "export it as PDF")
    } else if has("__properties_version1.0") {
        unsupported("an Outlook message (.msg)", "save it as text or HTML")
    } else {
        unsupported("this OLE compound file", "save the document as .docx, .xlsx or PDF")
    })
}

fn unsupported(kind: &'static str, advice: &'static str) -> ExtractError {
    ExtractError::Unsupported { kind, advice }
}

/// Kinds of files that hold no text of ours, by their first bytes.
fn known_but_unread(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const OCR: &str = "run character recognition (OCR) on it, or fingerprint it as an image";
    const UNPACK: &str = "unpack it first";
    const KINDS: [(&[u8], &str, &str); 16] = [
        (b"\x89PNG\r\n\x1a\n", "a PNG image", OCR),
        (b"\xFF\xD8\xFF", "a JPEG image", OCR),
        (b"GIF87a", "a GIF image", OCR),
        (b"GIF89a", "a GIF image", OCR),
        (b"II*\0", "a TIFF image", OCR),
        (b"MM\0*", "a TIFF image", OCR),
        (b"\x1F\x8B", "a gzip file", UNPACK),
        (b"\x28\xB5\x2F\xFD", "a zstd file", UNPACK),
        (b"7z\xBC\xAF\x27\x1C", "a 7z archive", UNPACK),
        (b"Rar!\x1A\x07", "a RAR archive", UNPACK),
        (b"\xFD7zXZ\0", "an xz file", UNPACK),
        (b"BZh", "a bzip2 file", UNPACK),
        (b"{\\rtf", "a rich text file (.rtf)", "save it as .docx or plain text"),
        (b"SQLite format 3\0", "an SQLite database", "export its text"),
        (b"PAR1", "a Parquet file", "name it as a corpus with the extension .parquet"),
        (b"\x7FELF", "a program", "name a document"),
    ];
    if bytes.len() > 12 && bytes.starts_with(b"RIFF") && &bytes[8..12] == b"WEBP" {
        return Some(("a WebP image", OCR));
    }
    // "BM" is also how an English sentence may start, a bitmap goes on with binary lengths.
    if bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]) {
        return Some(("a BMP image", OCR));
    }
    let (_, kind, advice) = KINDS.iter().find(|(magic, ..)| bytes.starts_with(magic))?;
    // Three printable letters are no proof.
    if *kind == "a bzip2 file" && !matches!(bytes.get(3), Some(b'1'..=b'9')) {
        return None;
    }
    Some((kind, advice))
}

fn starts_like_markup(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"<")
}

/// HTML, XML or plain text.
fn detect_text(bytes: &[u8], extension: Option<&str>) -> Format {
    let sniffed = encoding::decode(&bytes[..bytes.len().min(SNIFFED)], None);
    let start = sniffed.text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    let first = after_comments(start);
    if starts_with_tag(first, "!doctype html") || starts_with_tag(first, "html") {
        return Format::Html;
    }
    if let Some(declaration) = strip_prefix_ignore_case(start, "<?xml") {
        let root = declaration.split_once("?>").map_or("", |(_, rest)| after_comments(rest.trim_start()));
        let html = starts_with_tag(root, "!doctype html") || starts_with_tag(root, "html");
        return if html { Format::Html } else { Format::Xml };
    }
    match extension {
        Some("html" | "htm" | "xhtml" | "xht" | "shtml") => Format::Html,
        Some("xml" | "rss" | "atom" | "xsd" | "xsl" | "xslt" | "svg" | "opml" | "tei" | "dita") => {
            Format::Xml
        }
        Some(_) => Format::Text,
        // Nothing but the content to go by, such as standard input: a leading tag of the web is enough.
        None => {
            const TAGS: [&str; 14] = [
                "head", "body", "title", "meta", "script", "style", "div", "p", "table", "h1", "article",
                "section", "main", "ul",
            ];
            if TAGS.iter().any(|tag| starts_with_tag(first, tag)) { Format::Html } else { Format::Text }
        }
    }
}

fn after_comments(mut text: &str) -> &str {
    while let Some(comment) = text.strip_prefix("<!--") {
        let Some((_, rest)) = comment.split_once("-->") else { return "" };
        text = rest.trim_start();
    }
    text
}

/// Whether `text` starts with `<name`, in any case, followed by the end of a name.
fn starts_with_tag(text: &str, name: &str) -> bool {
    text.strip_prefix('<')
        .and_then(|rest| strip_prefix_ignore_case(rest, name))
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
}

fn strip_prefix_ignore_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}
