//! XML: all character data of any document.
//!
//! Entities that a document defines for itself are not expanded (a few lines of nested definitions can grow
//! to gigabytes); they stay as written. An element inside running text is taken for markup of a word, any
//! other element starts a new line.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::builder::TextBuilder;
use super::{Extract, ExtractError, Extracted, Format, Options, plain};
use crate::encoding;
use crate::span::Span;

pub(super) struct Xml;

impl Extract for Xml {
    fn extract(&self, bytes: &[u8], options: &Options) -> Result<Extracted, ExtractError> {
        let mut warnings = Vec::new();
        let declared = encoding::declared_in_xml(bytes);
        let decoded = plain::decode(bytes, declared.as_deref(), options, &mut warnings)?;
        let mut builder = TextBuilder::new();
        // For every open element, whether text stood directly in it.
        let mut has_text: Vec<bool> = Vec::new();
        let mut unexpanded: Option<String> = None;
        walk(&decoded.text, options.max_xml_depth, |node| {
            let in_text = has_text.last().copied().unwrap_or(false);
            match node {
                Node::Start(_) => {
                    if !in_text {
                        builder.line();
                    }
                    has_text.push(false);
                }
                Node::End(_) => {
                    has_text.pop();
                    if !has_text.last().copied().unwrap_or(false) {
                        builder.line();
                    }
                }
                Node::Text(text, at) => {
                    if !text.trim().is_empty()
                        && let Some(has_text) = has_text.last_mut()
                    {
                        *has_text = true;
                    }
                    builder.verbatim(text, at);
                }
                Node::Char(c, span) => builder.decoded(c.encode_utf8(&mut [0; 4]), span),
                Node::Entity(name, span) => {
                    unexpanded.get_or_insert_with(|| name.to_owned());
                    builder.verbatim(&decoded.text[span.range()], span.start as usize);
                }
            }
        })?;
        if let Some(name) = unexpanded {
            warnings.push(format!("the entity &{name}; is defined by the document and was left as it is"));
        }
        let (text, map) = builder.finish();
        Ok(Extracted {
            text,
            title: None,
            format: Format::Xml,
            encoding: Some(decoded.encoding),
            map: Some(map),
            parts: Vec::new(),
            warnings,
        })
    }
}

/// A piece of an XML document, as extractors want it.
pub(super) enum Node<'a> {
    /// A start tag; an empty element gives a start and an end.
    Start(&'a quick_xml::events::BytesStart<'a>),
    /// An end tag, by its local name.
    End(&'a str),
    /// Character data without entities, at this byte of the source.
    Text(&'a str, usize),
    /// A character for its reference.
    Char(char, Span),
    /// A reference that only the document type could explain.
    Entity(&'a str, Span),
}

/// Goes through a document from start to end.
///
/// # Errors
/// [`ExtractError::Malformed`] where it is not well-formed, [`ExtractError::TooDeep`].
pub(super) fn walk(
    source: &str,
    max_depth: usize,
    mut visit: impl FnMut(Node<'_>),
) -> Result<(), ExtractError> {
    let mut reader = Reader::from_str(source);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0_usize;
    let mut seen_root = false;
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader
            .read_event()
            .map_err(|error| malformed(source, reader.error_position() as usize, &error))?;
        let end = (reader.buffer_position() as usize).min(source.len());
        match event {
            Event::Start(tag) => {
                depth += 1;
                seen_root = true;
                if depth > max_depth {
                    return Err(ExtractError::TooDeep { limit: max_depth });
                }
                visit(Node::Start(&tag));
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                visit(Node::End(tag.local_name().as_ref()));
            }
            Event::Text(text) => visit(Node::Text(&text, start)),
            Event::CData(data) => visit(Node::Text(&data, start + "<![CDATA[".len())),
            Event::GeneralRef(reference) => {
                let span = Span::new(start, end);
                let number =
                    reference.resolve_char_ref().map_err(|error| malformed(source, start, &error))?;
                match number.or_else(|| predefined(&reference)) {
                    Some(c) => visit(Node::Char(c, span)),
                    None => visit(Node::Entity(&reference, span)),
                }
            }
            Event::Eof => break,
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    if depth > 0 {
        return Err(malformed(source, source.len(), &"the document ends inside an element"));
    }
    if !seen_root {
        return Err(malformed(source, source.len(), &"there is no element"));
    }
    Ok(())
}

/// The five entities that XML itself defines.
fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "apos" => '\'',
        "quot" => '"',
        _ => return None,
    })
}

fn malformed(source: &str, offset: usize, reason: &dyn std::fmt::Display) -> ExtractError {
    let offset = offset.min(source.len());
    let line = 1 + source.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count();
    ExtractError::Malformed { line, offset, reason: reason.to_string() }
}

/// The value of an attribute by its local name, with references resolved where XML itself defines them.
pub(super) fn attribute(tag: &quick_xml::events::BytesStart<'_>, local_name: &str) -> Option<String> {
    let found = tag
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == local_name)?;
    let raw: &str = &found.value;
    Some(quick_xml::escape::unescape(raw).map_or_else(|_| raw.to_owned(), std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(source: &str) -> Result<Extracted, ExtractError> {
        Xml.extract(source.as_bytes(), &Options::default())
    }

    #[test]
    fn takes_all_character_data_and_points_at_it() {
        let source = "<?xml version=\"1.0\"?>\n<!-- no --><r a='no'><t>One &amp; two</t><p>mixed<b>word</b> &#20013;\
            </p><e/><![CDATA[<raw> & ]]>tail</r>\n";
        let extracted = extract(source).unwrap();
        assert_eq!(extracted.text, "One & two\nmixedword 中\n<raw> & tail");
        let map = extracted.map.unwrap();
        assert_eq!(map.derived_len(), extracted.text.len());
        for (part, expected) in [("two", "two"), ("&", "&amp;"), ("中", "&#20013;"), ("<raw>", "<raw>")] {
            let start = extracted.text.find(part).unwrap();
            assert_eq!(&source[map.to_source(Span::new(start, start + part.len())).range()], expected);
        }
    }

    #[test]
    fn entity_bombs_stay_small() {
        let source = "<!DOCTYPE r [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><r>x &b; y</r>";
        let extracted = extract(source).unwrap();
        assert_eq!(extracted.text, "x &b; y");
        assert!(extracted.warnings[0].contains("&b;"));
    }

    #[test]
    fn malformed_documents_say_where() {
        for (source, line) in [
            ("<a>\n<b></a>", 2),
            ("<a>\n\n", 3),
            ("<a>&unclosed</a>", 1),
            ("no element", 1),
            ("<a>&#0;</a>", 1),
            ("<a", 1),
        ] {
            match extract(source) {
                Err(ExtractError::Malformed { line: at, .. }) => assert_eq!(at, line, "{source}"),
                other => panic!("{source}: {other:?}"),
            }
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let source = format!("{}x{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert_eq!(extract(&source), Err(ExtractError::TooDeep { limit: 256 }));
    }
}
