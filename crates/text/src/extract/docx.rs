//! Word documents (.docx): the body, then footnotes and endnotes.
//!
//! Left out: headers and footers (the same on every page, so they make unrelated documents look alike),
//! comments, deleted text of tracked changes, field codes, the second copy of a text box that old programs
//! read (`mc:Fallback`), and phonetic guides. Table cells are set apart by tabs, rows are lines.
//!
//! Offsets lead into the unpacked XML members. The docx crates were rejected: they are writers first, and
//! none keeps offsets.

use super::archive::Archive;
use super::builder::TextBuilder;
use super::xml::{Node, attribute, walk};
use super::{Extract, ExtractError, Extracted, Format, Options, Part};
use crate::encoding;

pub(super) struct Docx;

impl Extract for Docx {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        let mut archive = Archive::open(bytes, Format::Docx, options)?;
        let main = main_member(&mut archive, options)?;
        let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut builder = TextBuilder::new();
        let mut parts = Vec::new();
        for (member, required) in [
            (main, true),
            (format!("{folder}/footnotes.xml"), false),
            (format!("{folder}/endnotes.xml"), false),
        ] {
            let Some(content) = archive.read(&member)? else {
                if required {
                    return Err(ExtractError::corrupt(Format::Docx, format!("{member} is missing")));
                }
                continue;
            };
            let source = decode(&content);
            builder.paragraph();
            let (start, before) = (builder.next_start(), builder.len());
            collect(&source, &mut builder, options).map_err(|error| in_member(&member, error))?;
            if builder.len() > before {
                parts.push(Part { start: start as u32, name: member });
            }
        }
        let title = title(&mut archive, options)?;
        let (text, map) = builder.finish();
        Ok(Extracted {
            text,
            title,
            format: Format::Docx,
            encoding: None,
            map: Some(map),
            parts,
            warnings: Vec::new(),
        })
    }
}

/// The text of an XML member.
pub(super) fn decode(content: &[u8]) -> std::borrow::Cow<'_, str> {
    encoding::decode(content, encoding::declared_in_xml(content).as_deref()).text
}

/// An XML error inside a package is damage of the package; the user never wrote that XML.
fn in_member(member: &str, error: ExtractError) -> ExtractError {
    match error {
        ExtractError::Malformed { line, reason, .. } => {
            ExtractError::corrupt(Format::Docx, format!("{member}, line {line}: {reason}"))
        }
        other => other,
    }
}

/// The member that holds the body, which the package names by a relationship.
fn main_member(archive: &mut Archive<'_>, options: &Options) -> Result<String, ExtractError> {
    let mut main = None;
    if let Some(content) = archive.read("_rels/.rels")? {
        let result = walk(&decode(&content), options.max_xml_depth, |node| {
            if let Node::Start(tag) = node
                && main.is_none()
                && attribute(tag, "Type").is_some_and(|kind| kind.ends_with("/officeDocument"))
            {
                main = attribute(tag, "Target");
            }
        });
        result.map_err(|error| in_member("_rels/.rels", error))?;
    }
    let main = main.unwrap_or_else(|| "word/document.xml".to_owned());
    Ok(main.trim_start_matches('/').to_owned())
}

/// The title in the document's properties.
fn title(archive: &mut Archive<'_>, options: &Options) -> Result<Option<String>, ExtractError> {
    let Some(content) = archive.read("docProps/core.xml")? else { return Ok(None) };
    let mut title = String::new();
    let mut in_title = false;
    // Broken properties are no reason to lose the text.
    let _ = walk(&decode(&content), options.max_xml_depth, |node| match node {
        Node::Start(tag) => in_title = tag.local_name().as_ref() == "title",
        Node::End(_) => in_title = false,
        Node::Text(text, _) if in_title => title.push_str(text),
        Node::Char(c, _) if in_title => title.push(c),
        _ => {}
    });
    let title = title.trim();
    Ok((!title.is_empty()).then(|| title.to_owned()))
}

/// What the next paragraph is set apart by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Break {
    Line,
    Tab,
}

/// Adds the text of one WordprocessingML member.
fn collect(source: &str, builder: &mut TextBuilder, options: &Options) -> Result<(), ExtractError> {
    let mut in_text = false;
    // Open elements inside one that is skipped, itself included.
    let mut skipped = 0_usize;
    let mut before_paragraph = Break::Line;
    let mut first_cell = true;
    walk(source, options.max_xml_depth, |node| match node {
        Node::Start(_) if skipped > 0 => skipped += 1,
        Node::End(_) if skipped > 0 => skipped -= 1,
        _ if skipped > 0 => {}
        Node::Start(tag) => match tag.local_name().as_ref() {
            "t" => in_text = true,
            "p" => {
                match before_paragraph {
                    Break::Line => builder.line(),
                    Break::Tab => builder.tab(),
                }
                before_paragraph = Break::Line;
            }
            "br" | "cr" => builder.line(),
            "tab" | "ptab" => builder.tab(),
            "noBreakHyphen" => builder.decoded("-", crate::span::Span::default()),
            "tr" => first_cell = true,
            "tc" => {
                before_paragraph = if first_cell { Break::Line } else { Break::Tab };
                first_cell = false;
            }
            // Deleted text, the copy for old readers, phonetic guides, and properties, whose `w:tab` is a
            // tab stop and whose `w:del` a flag.
            "del" | "moveFrom" | "Fallback" | "rt" | "pPr" | "rPr" | "tblPr" | "trPr" | "tcPr" | "sectPr"
            | "sdtPr" => skipped = 1,
            _ => {}
        },
        Node::End(name) => match name {
            "t" => in_text = false,
            "txbxContent" | "tbl" => builder.line(),
            _ => {}
        },
        Node::Text(text, at) if in_text => builder.verbatim(text, at),
        Node::Char(c, span) if in_text => builder.decoded(c.encode_utf8(&mut [0; 4]), span),
        Node::Text(..) | Node::Char(..) | Node::Entity(..) => {}
    })
}
