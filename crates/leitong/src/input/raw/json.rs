//! The few fields of a JSON line that are wanted, without building the others.

use super::{Doc, Read, Source, Wanted};
use crate::input::records;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// The document of a line. What is unusual in any way is left to the reader of all commands, which also says what is wrong.
/// Others are told where their line stands: to read it again is as good as to keep the text.
pub(super) fn document(
    line: &str,
    (number, place): (u64, Option<(u64, u32)>),
    source: &Source,
    wanted: &Wanted,
) -> Read {
    match quick(line, wanted) {
        Some((id, text, extras)) => {
            let id = if id.is_empty() { source.place(number).to_string() } else { id.into_owned() };
            Read::Document(Doc { id, text: text.into_owned(), number, extras, line: place })
        }
        None => match records::record(line, source.place(number), &wanted.options) {
            Ok(found) => Read::Document(found.into_doc(number, &wanted.extras)),
            Err(error) => Read::Bad(error),
        },
    }
}

/// The text of a line that was an ordinary record; nothing if it is not.
pub(super) fn text<'l>(line: &'l str, wanted: &Wanted) -> Option<Cow<'l, str>> {
    quick(line, wanted).map(|(_, text, _)| text)
}

type Quick<'l> = (Cow<'l, str>, Cow<'l, str>, Vec<Option<String>>);

/// Id, text and extras of an ordinary record; nothing if it is not one.
fn quick<'l>(line: &'l str, wanted: &Wanted) -> Option<Quick<'l>> {
    let options = &wanted.options;
    let found = match Strings::new(line).and_then(|strings| strings.fields(wanted)) {
        Some(found) => found,
        None => {
            let mut deserializer = serde_json::Deserializer::from_str(line);
            let found = deserializer.deserialize_map(Fields(wanted)).ok()?;
            deserializer.end().ok()?;
            found
        }
    };
    let (Value::Text(text), false) = (found.text, found.unusual) else { return None };
    let long = text.len() as u64 > options.extract.max_text;
    if long || text.trim().is_empty() {
        return None;
    }
    let id = found.id.plain()?;
    let extras = found.extras.into_iter().map(|value| {
        let value = value.plain()?;
        Some((!value.is_empty()).then(|| value.into_owned()))
    });
    Some((id, text, extras.collect::<Option<_>>()?))
}

/// A value, as far as it is simple.
#[derive(Clone, Default)]
enum Value<'l> {
    #[default]
    None,
    Text(Cow<'l, str>),
    Other(String),
    Nested,
}

impl<'l> Value<'l> {
    /// As it would be written in a table.
    fn plain(self) -> Option<Cow<'l, str>> {
        match self {
            Self::None => Some(Cow::Borrowed("")),
            Self::Text(text) => Some(text),
            Self::Other(text) => Some(Cow::Owned(text)),
            Self::Nested => None,
        }
    }
}

#[derive(Default)]
struct Found<'l> {
    id: Value<'l>,
    text: Value<'l>,
    extras: Vec<Value<'l>>,
    /// There is HTML in it.
    unusual: bool,
}

impl<'l> Found<'l> {
    fn new(wanted: &Wanted) -> Self {
        Self { extras: vec![Value::None; wanted.extras.len()], ..Self::default() }
    }
}

/// Reads an object of nothing but strings, as most lines are; each is copied once, and not at all if it has no escapes.
struct Strings<'l> {
    line: &'l str,
    at: usize,
}

impl<'l> Strings<'l> {
    /// Nothing if the line has control characters, which only blanks between strings may be.
    fn new(line: &'l str) -> Option<Self> {
        // Without an early end, so that many bytes are looked at at a time.
        let controls = line.bytes().fold(false, |seen, byte| seen | (byte < b' '));
        (!controls).then_some(Self { line, at: 0 })
    }

    /// The fields that are wanted; nothing if something else than an object of strings is found.
    fn fields(mut self, wanted: &Wanted) -> Option<Found<'l>> {
        let Wanted { options, extras, .. } = wanted;
        let mut found = Found::new(wanted);
        self.take(b'{')?;
        loop {
            let key = self.string()?;
            self.take(b':')?;
            let value = self.string()?;
            found.unusual |= key == "html" || key == "format";
            if let Some(at) = extras.iter().position(|extra| *extra == key) {
                found.extras[at] = Value::Text(value.clone());
            }
            if key == options.id {
                found.id = Value::Text(value.clone());
            }
            if key == options.text {
                found.text = Value::Text(value);
            }
            if self.take(b',').is_none() {
                break;
            }
        }
        self.take(b'}')?;
        self.line[self.at..].bytes().all(|byte| byte == b' ').then_some(found)
    }

    /// Takes a byte that comes next, or behind blanks.
    fn take(&mut self, byte: u8) -> Option<()> {
        let rest = &self.line.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        (rest.get(blanks) == Some(&byte)).then(|| self.at += blanks + 1)
    }

    fn string(&mut self) -> Option<Cow<'l, str>> {
        self.take(b'"')?;
        let mut from = self.at;
        let mut end = self.end(from)?;
        if self.line.as_bytes()[end] == b'"' {
            self.at = end + 1;
            return Some(Cow::Borrowed(&self.line[from..end]));
        }
        let mut text = String::with_capacity(self.line.len() - from);
        while self.line.as_bytes()[end] == b'\\' {
            text.push_str(&self.line[from..end]);
            text.push(match self.line.as_bytes().get(end + 1)? {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                same @ (b'"' | b'\\' | b'/') => char::from(*same),
                // By its number, perhaps in two halves.
                _ => return None,
            });
            from = end + 2;
            end = self.end(from)?;
        }
        text.push_str(&self.line[from..end]);
        self.at = end + 1;
        Some(Cow::Owned(text))
    }

    /// The next quotation mark or backslash.
    fn end(&self, from: usize) -> Option<usize> {
        Some(from + memchr::memchr2(b'"', b'\\', self.line.as_bytes().get(from..)?)?)
    }
}

struct Fields<'w>(&'w Wanted);

impl<'l> Visitor<'l> for Fields<'_> {
    type Value = Found<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Found<'l>, A::Error> {
        let Wanted { options, extras, .. } = self.0;
        let mut found = Found::new(self.0);
        while let Some(key) = map.next_key_seed(Simple)? {
            let Value::Text(key) = key else { continue };
            found.unusual |= key == "html" || key == "format";
            let of_extras = extras.iter().position(|extra| *extra == key);
            let (of_id, of_text) = (key == options.id, key == options.text);
            if !of_id && !of_text && of_extras.is_none() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(Simple)?;
            if let Some(at) = of_extras {
                found.extras[at] = value.clone();
            }
            if of_id {
                found.id = value.clone();
            }
            if of_text {
                found.text = value;
            }
        }
        Ok(found)
    }
}

/// Any value; strings are borrowed where they have no escapes.
struct Simple;

impl<'l> DeserializeSeed<'l> for Simple {
    type Value = Value<'l>;

    fn deserialize<D: Deserializer<'l>>(self, deserializer: D) -> Result<Value<'l>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'l> Visitor<'l> for Simple {
    type Value = Value<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'l str) -> Result<Value<'l>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'l>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Value<'l>, E> {
        Ok(Value::Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'l>, E> {
        Ok(Value::Other(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'l>, E> {
        Ok(Value::Other(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'l>, E> {
        Ok(Value::Other(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'l>, E> {
        // As serde_json writes it, which is how the other reader does.
        Ok(serde_json::Number::from_f64(value).map_or(Value::None, |number| Value::Other(number.to_string())))
    }

    fn visit_unit<E>(self) -> Result<Value<'l>, E> {
        Ok(Value::None)
    }

    fn visit_seq<A: SeqAccess<'l>>(self, mut items: A) -> Result<Value<'l>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Nested)
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Value<'l>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Nested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::raw::Shape;

    /// The reader of all commands is the slow twin: same documents, same complaints.
    #[test]
    fn both_readers_agree() {
        let values = [
            "\"\\u6587\\u672c\"",
            "\"plain\"",
            "\"\"",
            "\" \"",
            "null",
            "7",
            "-7",
            "2.50",
            "1e3",
            "1e300",
            "18446744073709551615",
            "true",
            "[1, \"x\"]",
            "{\"a\": {}}",
            "\"a\\\"b\\n\"",
            "\"\\t\\r\\b\\f\\/\\\\\"",
            "\"雷同\\\\\"",
            "\"\\x\"",
            "\"a\tb\"",
            "\"open",
            "\"\\ud800\"",
        ];
        let mut lines: Vec<String> = Vec::new();
        for id in values {
            for text in values {
                lines.push(format!(
                    "{{\"id\": {id}, \"other\": [{text}], \"text\": {text}, \"extra\": {id}}}"
                ));
            }
            lines.push(format!("{{\"text\": \"x\", \"text\": {id}, \"id\": 1, \"id\": {id}}}"));
            lines.push(format!("{{\"html\": {id}, \"text\": \"y\"}}"));
            lines.push(format!("{{\"format\": {id}, \"text\": \"y\", \"extra\": \"z\"}}"));
            lines.push(id.to_owned());
        }
        lines.extend(
            [
                " { \"id\" : \"1\" ,\"text\":\"x\" } ",
                "{\"id\":\"1\",\"text\":\"x\"}\t",
                "{\"id\":\"1\",\"text\":\"x\"} }",
                "{\"id\":\"1\",\"text\":\"x\",}",
                "{\"id\":\"1\" \"text\":\"x\"}",
                "{\"id\":\"1\",\"text\":\"x\\",
                "{\"i\\\"d\":\"1\",\"te\\u0078t\":\"x\"}",
                "{\"id\":\"1\",\"text\":\"x\"",
            ]
            .map(String::from),
        );
        lines.extend(
            ["{}", "{", "{\"id\":1,\"text\":\"x\"} 5", "{\"id\":1,\"text\":\"x\"}\r", "{\"text\": \"x\",}"]
                .map(String::from),
        );
        let mut wanted = Wanted::everything("text", 1);
        wanted.extras = vec!["extra".into()];
        let source = Source::file("f".into(), Shape::Jsonl);
        let mut quick_ones = 0;
        for line in &lines {
            let slow = records::record(line, source.place(3), &wanted.options);
            let slow = slow.map(|found| found.into_doc(3, &wanted.extras)).map_err(|error| error.to_string());
            let mut fast = match document(line, (3, Some((70, 7))), &source, &wanted) {
                Read::Document(doc) => Ok(doc),
                Read::Bad(error) | Read::Broken(error) => Err(error.to_string()),
            };
            if let Ok(Doc { text: own, line: place, .. }) = &mut fast {
                // Whatever is told where it stands has the same text there.
                let again = text(line, &wanted);
                assert_eq!(place.take().map(|_| own.as_str()), again.as_deref(), "{line}");
            }
            assert_eq!(fast, slow, "{line}");
            quick_ones += usize::from(quick(line, &wanted).is_some());
        }
        assert!(quick_ones > 40, "{quick_ones}");
    }
}
