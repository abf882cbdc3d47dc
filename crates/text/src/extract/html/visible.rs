//! All visible text of a page, with its place in the source.

use markup5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

use super::token::{Token, Tokenizer};
use crate::extract::builder::TextBuilder;
use crate::span::{OffsetMap, Span};

/// The visible text of a page.
pub(super) struct Visible {
    pub(super) text: String,
    pub(super) map: OffsetMap,
    pub(super) title: Option<String>,
    /// At most so deep are elements nested; elements whose end tag may be left out are not counted.
    pub(super) depth: usize,
    /// About how many steps a parser takes that copies a text for every entity in it, and compares all
    /// attributes of a tag with each other.
    pub(super) effort: u64,
}

/// Collects the text outside of elements that are never shown. Block elements start a new line, table cells
/// are set apart by tabs. Style sheets are not consulted, so text hidden by them counts as visible.
pub(super) fn visible_text(source: &str) -> Visible {
    let mut builder = TextBuilder::new();
    let mut title: Option<String> = None;
    let mut in_title = false;
    let mut templates = 0_usize;
    let mut depth = Depth::default();
    let mut effort = 0_u64;
    let mut tokens = Tokenizer::new(source);
    for token in tokens.by_ref() {
        match token {
            Token::Text(text, at) => {
                let entities = text.bytes().filter(|&byte| byte == b'&').count();
                effort = effort.saturating_add(text.len() as u64 * entities as u64);
                if in_title {
                    title.get_or_insert_with(|| decode_all(text));
                } else if templates == 0 {
                    decode_entities(text, at, &mut builder);
                }
            }
            // Script, style, frames: never shown. `<xmp>` and `<plaintext>` are, and extinct.
            Token::RawText(..) => {}
            Token::Start(_, true) => {}
            Token::Start(name, false) => {
                let name = name.to_ascii_lowercase();
                in_title = name == "title";
                templates += usize::from(name == "template");
                separate(&name, &mut builder);
                depth.open(name);
            }
            Token::End(name) => {
                let name = name.to_ascii_lowercase();
                in_title = false;
                if name == "template" {
                    templates = templates.saturating_sub(1);
                }
                separate(&name, &mut builder);
                depth.close(&name);
            }
        }
    }
    let (text, map) = builder.finish();
    let title = title.filter(|title| !title.is_empty());
    let effort = effort.saturating_add(tokens.attributes_squared());
    Visible { text, map, title, depth: depth.deepest, effort }
}

/// What comes between the text before a tag and the text after it.
fn separate(name: &str, builder: &mut TextBuilder) {
    match name {
        "td" | "th" => builder.tab(),
        "address" | "article" | "aside" | "blockquote" | "body" | "br" | "caption" | "center" | "dd"
        | "details" | "dialog" | "dir" | "div" | "dl" | "dt" | "fieldset" | "figcaption" | "figure"
        | "footer" | "form" | "frameset" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "header" | "hgroup"
        | "hr" | "html" | "legend" | "li" | "listing" | "main" | "menu" | "nav" | "ol" | "optgroup"
        | "option" | "p" | "pre" | "search" | "section" | "select" | "summary" | "table" | "tbody"
        | "textarea" | "tfoot" | "thead" | "tr" | "ul" => builder.line(),
        _ => {}
    }
}

/// Estimates how deep a parser will nest the elements.
#[derive(Default)]
struct Depth {
    /// How many elements of each name are open; a tree would be deeper than the stack of most machines.
    open: std::collections::HashMap<String, usize>,
    now: usize,
    deepest: usize,
}

impl Depth {
    fn open(&mut self, name: String) {
        let counted = !matches!(
            name.as_str(),
            // Void elements, and those that close themselves when the next one opens.
            "area"
                | "base"
                | "br"
                | "col"
                | "embed"
                | "hr"
                | "img"
                | "input"
                | "link"
                | "meta"
                | "param"
                | "source"
                | "track"
                | "wbr"
                | "p"
                | "li"
                | "dd"
                | "dt"
                | "option"
                | "optgroup"
                | "tr"
                | "td"
                | "th"
                | "thead"
                | "tbody"
                | "tfoot"
                | "colgroup"
                | "rb"
                | "rt"
                | "rtc"
                | "rp"
        );
        if counted {
            *self.open.entry(name).or_default() += 1;
            self.now += 1;
            self.deepest = self.deepest.max(self.now);
        }
    }

    fn close(&mut self, name: &str) {
        if let Some(count) = self.open.get_mut(name)
            && *count > 0
        {
            *count -= 1;
            self.now -= 1;
        }
    }
}

fn decode_all(text: &str) -> String {
    let mut builder = TextBuilder::new();
    decode_entities(text, 0, &mut builder);
    builder.finish().0
}

/// Adds text from byte `at` of the source with its entities decoded.
fn decode_entities(text: &str, at: usize, builder: &mut TextBuilder) {
    let mut done = 0;
    while let Some(found) = text[done..].find('&') {
        let start = done + found;
        builder.verbatim(&text[done..start], at + done);
        done = match entity(&text[start..]) {
            Some((decoded, len)) => {
                builder.decoded(&decoded, Span::new(at + start, at + start + len));
                start + len
            }
            None => {
                builder.verbatim("&", at + start);
                start + 1
            }
        };
    }
    builder.verbatim(&text[done..], at + done);
}

/// The character or characters that the entity at the start of `text` stands for, and its length.
fn entity(text: &str) -> Option<(String, usize)> {
    if let Some(number) = text.strip_prefix("&#") {
        return numeric_entity(number).map(|(c, len)| (c.to_string(), 2 + len));
    }
    // The longest name in the table wins: `&notin;` is not `&not` and "in;". The table holds every prefix of
    // a name, too, with nothing to stand for.
    let mut best = None;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        let Some(&(first, second)) = text.get(1..=index).and_then(|name| NAMED_ENTITIES.get(name)) else {
            break;
        };
        if first != 0 {
            let decoded = [first, second].into_iter().filter(|&code| code != 0).filter_map(char::from_u32);
            best = Some((decoded.collect(), index + 1));
        }
        if byte == b';' {
            break;
        }
    }
    best
}

fn numeric_entity(text: &str) -> Option<(char, usize)> {
    let (radix, prefix) = if text.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let digits = text[prefix..].bytes().take_while(|&byte| char::from(byte).is_digit(radix)).count();
    if digits == 0 {
        return None;
    }
    // Too large for 32 bits is too large for Unicode.
    let code = u32::from_str_radix(&text[prefix..prefix + digits], radix).unwrap_or(u32::MAX);
    let c = match code {
        0 => None,
        0x80..=0x9F => C1_REPLACEMENTS[(code - 0x80) as usize].or(char::from_u32(code)),
        _ => char::from_u32(code),
    };
    let end = prefix + digits;
    Some((c.unwrap_or(char::REPLACEMENT_CHARACTER), end + usize::from(text[end..].starts_with(';'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_shown() {
        let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style></head><body>\
            <nav><a href=/>Home</a> <a href=/x>News</a></nav><script>var x = '<p>no</p>';</script>\
            <!-- no --><template><p>no</p></template><noscript>no</noscript>\
            <p>One<b>two</b>&nbsp;three<br>four<table><tr><td>a</td><td>b</td></tr></table></body></html>";
        let visible = visible_text(page);
        assert_eq!(visible.text, "Home News\nOnetwo three\nfour\na\tb");
        assert_eq!(visible.title.as_deref(), Some("A & B"));
    }

    #[test]
    fn decodes_entities_and_points_at_them() {
        for (source, expected) in [
            ("a&lt;b&gt;&amp;amp;", "a<b>&amp;"),
            ("&#20013;&#x56fd;&#X56FD", "中国国"),
            ("&#128;&#0;&#x110000;&#99999999999;&#xD800;", "€\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("&copy2&notin;&notit;&ampx", "©2∉¬it;&x"),
            ("& &; &# &#x; &nosuch; &中", "& &; &# &#x; &nosuch; &中"),
            ("&NotEqualTilde;", "\u{2242}\u{338}"),
        ] {
            let visible = visible_text(source);
            assert_eq!(visible.text, expected, "{source}");
            assert_eq!(visible.map.derived_len(), visible.text.len());
        }
        let source = "<p>吃&#33900;&amp;菜</p>";
        let visible = visible_text(source);
        let span = visible.map.to_source(Span::new(3, 6));
        assert_eq!(&source[span.range()], "&#33900;");
    }

    #[test]
    fn nesting_is_counted_without_optional_end_tags() {
        assert_eq!(visible_text(&"<li>a".repeat(1000)).depth, 0);
        assert_eq!(visible_text(&"<div><p>a".repeat(1000)).depth, 1000);
        assert_eq!(visible_text(&"<div>a</div></div>".repeat(1000)).depth, 1);
    }
}
