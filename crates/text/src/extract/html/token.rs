//! Splits a page into text and tags, with their places in the source.
//!
//! html5ever and everything built on it forget where a text node came from, so the visible text is taken by
//! this tokenizer. It follows the tokenization rules of the HTML Standard as far as they decide what is text:
//! tags with quoted attributes, comments in all their broken forms, raw text (`<script>` with its escapes,
//! `<style>`, `<textarea>`, ...). Attribute values are not needed and skipped. html5gum was rejected: it has
//! spans of whole strings but not of the entities in them, so half of this file would remain.

/// One piece of a page. Names are as written; compare them without regard to case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text in which entities are to be decoded, at this byte.
    Text(&'a str, usize),
    /// Text without entities: the content of `<script>`, `<style>`, ...
    RawText(&'a str, usize),
    /// A start tag, and whether it is a whole element, which only those inside `<svg>` and `<math>` can be.
    Start(&'a str, bool),
    /// An end tag.
    End(&'a str),
}

/// How the content of an element is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Markup,
    /// Only the element's own end tag ends it; entities count.
    Escapable,
    /// Only the element's own end tag ends it; entities do not count.
    Raw,
    /// Raw, but comments in it can hide end tags.
    Script,
    /// The rest of the page.
    Plain,
}

impl Content {
    fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "textarea" | "title" => Self::Escapable,
            "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => Self::Raw,
            "script" => Self::Script,
            "plaintext" => Self::Plain,
            _ => Self::Markup,
        }
    }
}

/// Iterates over the tokens of a page.
pub(super) struct Tokenizer<'a> {
    source: &'a str,
    at: usize,
    content: Content,
    /// The element whose end tag ends raw content.
    element: &'a str,
    /// The number of attributes of all tags so far, each tag's squared.
    attributes_squared: u64,
    /// Open `<svg>` and `<math>` elements: inside them `<style/>` is a whole element, outside a start tag.
    foreign: usize,
}

impl<'a> Tokenizer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, content: Content::Markup, element: "", attributes_squared: 0, foreign: 0 }
    }

    /// What a parser pays that compares every attribute of a tag with every other.
    pub(super) fn attributes_squared(&self) -> u64 {
        self.attributes_squared
    }

    fn bytes(&self) -> &'a [u8] {
        self.source.as_bytes()
    }

    /// The token of the tag, comment or declaration at `self.at`, or `None` if it is but a `<`.
    /// `Some(None)` is markup that gives no token.
    fn markup(&mut self) -> Option<Option<Token<'a>>> {
        let rest = &self.source[self.at..];
        let after = rest.as_bytes().get(1).copied();
        match after {
            Some(b'!') => {
                self.at += declaration_len(rest);
                Some(None)
            }
            Some(b'?') => {
                self.at += bogus_comment_len(rest);
                Some(None)
            }
            Some(b'/') => match rest.as_bytes().get(2) {
                Some(byte) if byte.is_ascii_alphabetic() => {
                    let name = self.tag(2);
                    if name.is_some_and(is_foreign) {
                        self.foreign = self.foreign.saturating_sub(1);
                    }
                    Some(name.map(Token::End))
                }
                Some(_) => {
                    self.at += bogus_comment_len(rest);
                    Some(None)
                }
                None => None,
            },
            Some(byte) if byte.is_ascii_alphabetic() => {
                let name = self.tag(1);
                let closes_itself = self.bytes()[..self.at].ends_with(b"/>");
                let mut whole = false;
                if let Some(name) = name {
                    whole = closes_itself && (self.foreign > 0 || is_foreign(name));
                    self.foreign += usize::from(is_foreign(name) && !whole);
                    if !whole {
                        self.content = Content::of(name);
                        self.element = name;
                    }
                }
                Some(name.map(|name| Token::Start(name, whole)))
            }
            _ => None,
        }
    }

    /// Moves past a tag whose name starts `skip` bytes on and returns the name; a tag that the page ends in
    /// the middle of is none.
    fn tag(&mut self, skip: usize) -> Option<&'a str> {
        let bytes = self.bytes();
        let start = self.at + skip;
        let ends_name = |byte: u8| byte.is_ascii_whitespace() || byte == b'/' || byte == b'>';
        let name_end = (start..bytes.len()).find(|&i| ends_name(bytes[i])).unwrap_or(bytes.len());
        let Some((end, attributes)) = tag_end(bytes, name_end) else {
            self.at = bytes.len();
            return None;
        };
        self.at = end;
        self.attributes_squared = self.attributes_squared.saturating_add(attributes * attributes);
        Some(&self.source[start..name_end])
    }

    /// Raw content up to the end tag, which stays for the next call.
    fn raw(&mut self) -> Option<Token<'a>> {
        let start = self.at;
        let rest = &self.source[start..];
        let len = match self.content {
            Content::Plain => rest.len(),
            Content::Script => script_len(rest),
            _ => raw_len(rest, self.element),
        };
        let escapable = self.content == Content::Escapable;
        self.at += len;
        self.content = Content::Markup;
        let text = &rest[..len];
        match (text.is_empty(), escapable) {
            (true, _) => None,
            (false, true) => Some(Token::Text(text, start)),
            (false, false) => Some(Token::RawText(text, start)),
        }
    }
}

impl<'a> Iterator for Tokenizer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while self.at < self.source.len() {
            if self.content != Content::Markup {
                if let Some(token) = self.raw() {
                    return Some(token);
                }
                continue;
            }
            let start = self.at;
            if self.bytes()[start] == b'<' {
                match self.markup() {
                    Some(Some(token)) => return Some(token),
                    Some(None) => continue,
                    None => self.at += 1,
                }
            }
            self.at = self.source[self.at..].find('<').map_or(self.source.len(), |len| self.at + len);
            return Some(Token::Text(&self.source[start..self.at], start));
        }
        None
    }
}

/// One past the `>` of a tag, from the end of its name on, and about how many attributes it has; quotes count
/// only around attribute values.
fn tag_end(bytes: &[u8], mut at: usize) -> Option<(usize, u64)> {
    let mut value_may_follow = false;
    let mut attributes = 0_u64;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return Some((at + 1, attributes)),
            b'=' => value_may_follow = true,
            b'"' | b'\'' if value_may_follow => {
                at += 1 + bytes[at + 1..].iter().position(|&b| b == byte)?;
                value_may_follow = false;
            }
            byte if byte.is_ascii_whitespace() || byte == b'/' => attributes += 1,
            _ if value_may_follow => {
                // An unquoted value runs to white space or the end of the tag, whatever quotes it holds.
                at += bytes[at..].iter().position(|b| b.is_ascii_whitespace() || *b == b'>')?;
                value_may_follow = false;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of what starts with `<!`: a comment, a document type, or a broken one of these.
fn declaration_len(rest: &str) -> usize {
    let Some(comment) = rest.strip_prefix("<!--") else { return bogus_comment_len(rest) };
    // `<!-->` and `<!--->` are whole comments.
    for empty in [">", "->"] {
        if comment.starts_with(empty) {
            return 4 + empty.len();
        }
    }
    let ends = ["-->", "--!>"].map(|end| comment.find(end).map(|at| at + end.len()));
    ends.into_iter().flatten().min().map_or(rest.len(), |end| 4 + end)
}

fn bogus_comment_len(rest: &str) -> usize {
    rest.find('>').map_or(rest.len(), |at| at + 1)
}

/// The length of the text before `</element`, or of everything.
fn raw_len(text: &str, element: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        if is_tag_named(&text[from + at + 2..], element) {
            return from + at;
        }
        from += at + 2;
    }
    text.len()
}

/// The length of a script: `</script` inside `<!-- <script> ... -->` does not end it.
fn script_len(text: &str) -> usize {
    let mut commented = false;
    let mut nested = false;
    let mut at = 0;
    while let Some(next) = text[at..].find(['<', '-']) {
        at += next;
        let rest = &text[at..];
        if commented && rest.starts_with("-->") {
            (commented, nested) = (false, false);
        } else if rest.starts_with("<!--") {
            commented = true;
            // `<!-->` opens and closes at once: go on at its dashes.
            at += 2;
            continue;
        } else if rest.starts_with("</") && is_tag_named(&rest[2..], "script") {
            if !nested {
                return at;
            }
            nested = false;
        } else if commented && rest.starts_with('<') && is_tag_named(&rest[1..], "script") {
            nested = true;
        }
        at += 1;
    }
    text.len()
}

fn is_foreign(name: &str) -> bool {
    name.eq_ignore_ascii_case("svg") || name.eq_ignore_ascii_case("math")
}

/// Whether `text` starts with `name` and something that ends a tag's name.
fn is_tag_named(text: &str, name: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > name.len()
        && bytes[..name.len()].eq_ignore_ascii_case(name.as_bytes())
        && (bytes[name.len()].is_ascii_whitespace() || matches!(bytes[name.len()], b'/' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start tags as `+name`, end tags as `-name`, text as it is.
    fn tokens(source: &str) -> String {
        let show = |token| match token {
            Token::Text(text, at) | Token::RawText(text, at) => {
                assert_eq!(&source[at..at + text.len()], text);
                text.to_owned()
            }
            Token::Start(name, whole) => format!("+{name}{}", if whole { "/" } else { "" }),
            Token::End(name) => format!("-{name}"),
        };
        Tokenizer::new(source).map(show).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn follows_the_standard() {
        for (source, expected) in [
            ("a<b>c</b>d", "a|+b|c|-b|d"),
            ("a < b <3 c<", "a |< b |<3 c|<"),
            ("<a href='x>y' title=\"<\">z", "+a|z"),
            ("<a b=c'd>e' <i \"f>g", "+a|e' |+i|g"),
            ("<a b= 'c>d'>e<br/>f", "+a|e|+br|f"),
            ("<!doctype html><!-- a > b -->c<!-->d<!--->e<!--x--!>f<!x>g<?y?>h", "c|d|e|f|g|h"),
            ("</>a</ b>c</1>d</", "a|c|d|</"),
            ("a<!-- never closed", "a"),
            ("a<b title='never closed", "a"),
            ("<script>if (a<b) '</p>'</script>c", "+script|if (a<b) '</p>'|-script|c"),
            (
                "<script><!-- <script> </script> --></script>a",
                "+script|<!-- <script> </script> -->|-script|a",
            ),
            ("<script><!--></script>a", "+script|<!-->|-script|a"),
            ("<STYLE>p > a</style >b", "+STYLE|p > a|-style|b"),
            ("<title>a<b>&amp;</title>", "+title|a<b>&amp;|-title"),
            ("<textarea></textarea><p>", "+textarea|-textarea|+p"),
            ("<script>a</scripty></script>", "+script|a</scripty>|-script"),
            ("<svg><style/><p></svg><style/>a", "+svg|+style/|+p|-svg|+style|a"),
            ("<plaintext>a</plaintext><b>", "+plaintext|a</plaintext><b>"),
        ] {
            assert_eq!(tokens(source), expected, "{source}");
        }
    }
}
