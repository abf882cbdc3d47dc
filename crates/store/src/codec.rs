//! Records, texts and counters as bytes. docs/store.md draws them; `formats/` holds samples.

use crate::record::{Collection, Key, Mark, Outline, Record, Space, SpaceSettings};
use leitong_fingerprint::Fingerprint;
use serde_json::{Value, json};
use std::cell::RefCell;

/// The first byte of a record.
const RECORD: u8 = 1;
/// The first byte of a text as it is, and of a compressed one.
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
/// Fast, and texts of some kilobytes gain little from more.
const LEVEL: i32 = 1;

/// Fields of a record.
mod tag {
    pub(crate) const ID: u8 = 1;
    pub(crate) const TITLE: u8 = 2;
    pub(crate) const SOURCE: u8 = 3;
    pub(crate) const PUBLISHED: u8 = 4;
    pub(crate) const EXPIRES: u8 = 5;
    pub(crate) const CLUSTER: u8 = 6;
    pub(crate) const METADATA: u8 = 7;
    pub(crate) const EXACT: u8 = 8;
    pub(crate) const NEAR: u8 = 9;
    pub(crate) const KEYS: u8 = 10;
    pub(crate) const TEXT_LENGTH: u8 = 11;
    pub(crate) const MARKS: u8 = 12;
    pub(crate) const UNITS: u8 = 13;
    pub(crate) const NUMBERS: u8 = 14;
    pub(crate) const ORIGIN: u8 = 15;
}

/// A record without its text, but with its length: so that a text that is missing is missed.
pub(crate) fn record(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(RECORD);
    let mut field = |tag: u8, parts: &[&[u8]]| {
        bytes.push(tag);
        put_number(&mut bytes, parts.iter().map(|part| part.len() as u64).sum());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
    };
    field(tag::ID, &[record.id.as_bytes()]);
    for (space, fingerprint) in &record.signals.near {
        let words: Vec<u8> = fingerprint.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        field(tag::NEAR, &[&[space.0], &words[..fingerprint.width() as usize / 8]]);
    }
    if !record.signals.keys.is_empty() {
        let mut keys = Vec::with_capacity(9 * record.signals.keys.len());
        for Key { kind, value } in &record.signals.keys {
            keys.push(*kind);
            keys.extend_from_slice(&value.to_le_bytes());
        }
        field(tag::KEYS, &[&keys]);
    }
    if let Some(exact) = record.signals.exact {
        field(tag::EXACT, &[&exact.to_le_bytes()]);
    }
    for (tag, text) in [(tag::TITLE, &record.title), (tag::SOURCE, &record.source)] {
        if let Some(text) = text {
            field(tag, &[text.as_bytes()]);
        }
    }
    for (tag, time) in [(tag::PUBLISHED, record.published), (tag::EXPIRES, record.expires)] {
        if let Some(time) = time {
            field(tag, &[&time.to_le_bytes()]);
        }
    }
    if let Some(text) = &record.text {
        field(tag::TEXT_LENGTH, &[&(text.len() as u64).to_le_bytes()]);
    }
    if let Some((centre, distance)) = &record.cluster {
        field(tag::CLUSTER, &[&distance.to_le_bytes(), centre.as_bytes()]);
    }
    if !record.metadata.is_empty() {
        // Maps of strings and values always have a written form.
        field(tag::METADATA, &[&serde_json::to_vec(&record.metadata).unwrap_or_default()]);
    }
    if let Some(origin) = record.origin {
        field(tag::ORIGIN, &[&origin.to_le_bytes()]);
    }
    // Last: who does not want it need not read over it.
    outline(&record.signals.outline, &mut field);
    bytes
}

fn outline(outline: &Outline, field: &mut impl FnMut(u8, &[&[u8]])) {
    let Outline { marks, units, numbers } = outline;
    if *units > 0 {
        let mut bytes = Vec::new();
        put_number(&mut bytes, u64::from(*units));
        field(tag::UNITS, &[&bytes]);
    }
    if !numbers.is_empty() {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        field(tag::NUMBERS, &[&bytes]);
    }
    if !marks.is_empty() {
        let (mut bytes, mut before) = (Vec::with_capacity(6 * marks.len()), 0_u32);
        for Mark { hash, at } in marks {
            put_number(&mut bytes, at.wrapping_sub(before).into());
            bytes.extend_from_slice(&hash.to_le_bytes());
            before = *at;
        }
        field(tag::MARKS, &[&bytes]);
    }
}

/// The inverse of [`record`], but for the outline; `None` if the bytes are not a record of a version we know.
pub(crate) fn parse_record(bytes: &[u8]) -> Option<Record> {
    let mut record = Record::default();
    each_field(bytes, |tag, field| match tag {
        tag::MARKS | tag::UNITS | tag::NUMBERS => Some(()),
        tag => parse_field(&mut record, tag, field),
    })?;
    (!record.id.is_empty()).then_some(record)
}

/// The inverse of [`record`].
pub(crate) fn parse_whole(bytes: &[u8]) -> Option<Record> {
    let mut record = parse_record(bytes)?;
    each_field(bytes, |tag, field| parse_outline(&mut record.signals.outline, tag, field))?;
    Some(record)
}

fn parse_outline(outline: &mut Outline, tag: u8, mut field: &[u8]) -> Option<()> {
    match tag {
        tag::UNITS => {
            outline.units = u32::try_from(take_number(&mut field)?).ok()?;
            field.is_empty().then_some(())
        }
        tag::NUMBERS => {
            let (numbers, []) = field.as_chunks() else { return None };
            outline.numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            Some(())
        }
        tag::MARKS => {
            let mut at = 0_u32;
            while !field.is_empty() {
                at = at.wrapping_add(u32::try_from(take_number(&mut field)?).ok()?);
                let (hash, rest) = field.split_first_chunk()?;
                outline.marks.push(Mark { hash: u32::from_le_bytes(*hash), at });
                field = rest;
            }
            Some(())
        }
        _ => Some(()),
    }
}

/// The length of the text that belongs to a record, if one does.
pub(crate) fn text_length(bytes: &[u8]) -> Option<u64> {
    let mut length = None;
    each_field(bytes, |tag, field| {
        if tag == tag::TEXT_LENGTH {
            length = Some(u64::from_le_bytes(field.try_into().ok()?));
        }
        Some(())
    })?;
    length
}

fn each_field(bytes: &[u8], mut each: impl FnMut(u8, &[u8]) -> Option<()>) -> Option<()> {
    let (&RECORD, mut rest) = bytes.split_first()? else { return None };
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        let length = usize::try_from(take_number(&mut rest)?).ok()?;
        let (field, after) = rest.split_at_checked(length)?;
        rest = after;
        each(tag, field)?;
    }
    Some(())
}

fn parse_field(record: &mut Record, tag: u8, field: &[u8]) -> Option<()> {
    let text = || String::from_utf8(field.to_vec()).ok();
    let time = || Some(i64::from_le_bytes(field.try_into().ok()?));
    match tag {
        tag::ID => record.id = text()?,
        tag::TITLE => record.title = Some(text()?),
        tag::SOURCE => record.source = Some(text()?),
        tag::PUBLISHED => record.published = Some(time()?),
        tag::EXPIRES => record.expires = Some(time()?),
        tag::EXACT => record.signals.exact = Some(u128::from_le_bytes(field.try_into().ok()?)),
        // For those who look for the text.
        tag::TEXT_LENGTH => _ = <[u8; 8]>::try_from(field).ok()?,
        tag::ORIGIN => record.origin = Some(u64::from_le_bytes(field.try_into().ok()?)),
        tag::METADATA => record.metadata = serde_json::from_slice(field).ok()?,
        tag::CLUSTER => {
            let (distance, centre) = field.split_first_chunk()?;
            let centre = String::from_utf8(centre.to_vec()).ok()?;
            record.cluster = Some((centre, u32::from_le_bytes(*distance)));
        }
        tag::NEAR => {
            let (&space, bytes) = field.split_first()?;
            let words: Vec<u64> = bytes
                .chunks(8)
                .map(|word| word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
                .collect();
            let fingerprint = Fingerprint::from_words(bytes.len() as u32 * 8, &words);
            record.signals.near.push((Space(space), fingerprint));
        }
        tag::KEYS => {
            let (keys, []) = field.as_chunks::<9>() else { return None };
            let key = |bytes: &[u8; 9]| {
                let value = bytes.last_chunk().map_or(0, |value| u64::from_le_bytes(*value));
                Key { kind: bytes[0], value }
            };
            record.signals.keys.extend(keys.iter().map(key));
        }
        _ => return None,
    }
    Some(())
}

thread_local! {
    // Making a context costs more than compressing a page with it.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A text, compressed if that makes it smaller.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let compressed = COMPRESSOR.with_borrow_mut(|compressor| {
        if compressor.is_none() {
            *compressor = zstd::bulk::Compressor::new(LEVEL).ok();
        }
        compressor.as_mut()?.compress(text.as_bytes()).ok()
    });
    let mut bytes = Vec::new();
    match compressed {
        Some(compressed) if compressed.len() + 4 < text.len() => {
            bytes.push(ZSTD);
            put_number(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(&compressed);
        }
        _ => {
            bytes.push(PLAIN);
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

/// The inverse of [`text`].
pub(crate) fn parse_text(bytes: &[u8]) -> Option<String> {
    let (&form, mut rest) = bytes.split_first()?;
    let text = match form {
        PLAIN => rest.to_vec(),
        ZSTD => {
            let length = usize::try_from(take_number(&mut rest)?).ok().filter(|&n| n <= crate::MOST_TEXT)?;
            DECOMPRESSOR.with_borrow_mut(|decompressor| {
                if decompressor.is_none() {
                    *decompressor = zstd::bulk::Decompressor::new().ok();
                }
                decompressor.as_mut()?.decompress(rest, length).ok().filter(|text| text.len() == length)
            })?
        }
        _ => return None,
    };
    String::from_utf8(text).ok()
}

/// What a collection counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// The version the next record will have.
    pub(crate) next: u64,
    /// Records, expired ones that have not been swept included.
    pub(crate) documents: u64,
    /// Whether there has been an outline, so that there is a mark index.
    pub(crate) outlines: bool,
}

impl Counters {
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = [self.next.to_le_bytes(), self.documents.to_le_bytes()].concat();
        // Nothing where there is none, as before there were any.
        bytes.extend(self.outlines.then_some(1));
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (next, rest) = bytes.split_first_chunk()?;
        let (documents, outlines) = rest.split_first_chunk()?;
        let outlines = match outlines {
            [] => false,
            [1] => true,
            _ => return None,
        };
        Some(Self { next: u64::from_le_bytes(*next), documents: u64::from_le_bytes(*documents), outlines })
    }
}

/// A collection and its number, as JSON: whoever looks into the folder can read it.
pub(crate) fn collection(number: u32, collection: &Collection) -> Vec<u8> {
    let space = |space: &SpaceSettings| json!({ "space": space.space.0, "width": space.width, "within": space.within });
    let recipe: String = collection.recipe.iter().map(|byte| format!("{byte:02x}")).collect();
    let spaces: Vec<Value> = collection.spaces.iter().map(space).collect();
    json!({ "number": number, "name": collection.name, "recipe": recipe, "about": collection.about, "spaces": spaces })
        .to_string()
        .into_bytes()
}

/// The inverse of [`collection`].
pub(crate) fn parse_collection(bytes: &[u8]) -> Option<(u32, Collection)> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let space = |value: &Value| {
        let space = Space(u8::try_from(value["space"].as_u64()?).ok()?);
        Some(SpaceSettings { space, width: number(&value["width"])?, within: number(&value["within"])? })
    };
    let hex = value["recipe"].as_str()?;
    let recipe = u128::from_str_radix(hex, 16).ok()?.to_be_bytes();
    let collection = Collection {
        name: value["name"].as_str()?.to_owned(),
        recipe,
        about: value["about"].as_str()?.to_owned(),
        spaces: value["spaces"].as_array()?.iter().map(space).collect::<Option<_>>()?,
    };
    Some((number(&value["number"])?, collection))
}

/// Appends a number, seven bits a byte, the lowest first.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the front.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
