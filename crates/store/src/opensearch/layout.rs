//! What a document of an index looks like; docs/opensearch.md shows one.
//!
//! Fields that are searched hold what a record is found by. What a record is stands in bytes (`record`, `outline`, `text`)
//! that the server keeps and does not look at, so nothing depends on how a server understands dates, texts or nested values.
//! `pending` holds the same search fields of what somebody is about to store; who only reads never asks for them.

use super::base64;
use super::server::Release;
use crate::StoreError;
use crate::blocks::{Block, Blocks};
use crate::codec;
use crate::record::{Collection, Key, Mark, Outline, Record, Signals, Space, SpaceSettings, Stored};
use crate::seam::Want;
use leitong_fingerprint::Fingerprint;
use serde_json::{Map, Value, json};

/// The layout that is written, in `_meta` of every mapping.
pub(crate) const LAYOUT: u64 = 1;
/// Longer values are kept but not indexed: a term of an index has at most 32,766 bytes.
const LONGEST_TERM: usize = 8000;
/// An `_id` has at most 512 bytes; longer ids have their digest instead.
const LONGEST_ID: usize = 500;
/// Times beyond this, in seconds from 1970, are no dates for a server: the year 9999.
const LAST_DATE: i64 = 253_402_300_799;

/// Servers take requests of up to 100 MiB. Texts are compressed before they are sent, so most that are longer fit too.
const LONGEST_TEXT: usize = 60 << 20;

/// The number of a record is that of its call and its place in it.
pub(crate) const PLACES: u32 = 20;

/// Under which `_id` the document of an id is kept.
pub(crate) fn document_id(id: &str) -> String {
    match id.len() {
        ..=LONGEST_ID => format!("={id}"),
        _ => format!("#{:032x}", xxhash_rust::xxh3::xxh3_128(id.as_bytes())),
    }
}

/// The field of a block of a space.
pub(crate) fn block_field(space: Space, place: u32) -> String {
    format!("s{}b{place}", space.0)
}

/// The field of a space's fingerprints.
pub(crate) fn near_field(space: Space) -> String {
    format!("n{}", space.0)
}

/// A fingerprint that fits is a number, so that a script can count bits; others are text.
pub(crate) fn is_number(width: u32) -> bool {
    width <= 64
}

pub(crate) fn block_value(block: Block) -> String {
    format!("{:04x}", block.value)
}

pub(crate) fn key_value(key: Key) -> String {
    format!("{:02x}{:016x}", key.kind, key.value)
}

fn parse_key(text: &str) -> Option<Key> {
    let (kind, value) = text.split_at_checked(2)?;
    Some(Key { kind: u8::from_str_radix(kind, 16).ok()?, value: u64::from_str_radix(value, 16).ok()? })
}

pub(crate) fn mark_value(hash: u32) -> String {
    format!("{hash:08x}")
}

fn near_value(fingerprint: &Fingerprint) -> Value {
    match is_number(fingerprint.width()) {
        // Servers have signed numbers only.
        true => json!(fingerprint.low64() as i64),
        false => {
            json!(fingerprint.words().iter().rev().map(|word| format!("{word:016x}")).collect::<String>())
        }
    }
}

/// The inverse of [`near_value`].
pub(crate) fn parse_near(value: &Value, width: u32) -> Option<Fingerprint> {
    if is_number(width) {
        return Some(Fingerprint::from_words(width, &[value.as_i64()? as u64]));
    }
    let text = value.as_str()?;
    let word = |at: usize| u64::from_str_radix(text.get(16 * at..16 * (at + 1))?, 16).ok();
    let words: Option<Vec<u64>> = (0..text.len() / 16).rev().map(word).collect();
    Some(Fingerprint::from_words(width, &words?))
}

/// The fields by which a record of a collection is found.
fn searched(collection: &Collection, signals: &Signals) -> Map<String, Value> {
    let mut fields = Map::new();
    for settings in &collection.spaces {
        let fingerprint = signals.near(settings.space);
        let blocks = Blocks::of(settings);
        let values = fingerprint.map(|fingerprint| blocks.keys(fingerprint)).unwrap_or_default();
        // All of them, also those without a value: a partial change leaves alone what it does not name.
        for place in 0..blocks.count() {
            let value = values.get(place as usize).map(|block| block_value(*block));
            fields.insert(block_field(settings.space, place), json!(value));
        }
        fields.insert(near_field(settings.space), fingerprint.map_or(Value::Null, near_value));
    }
    let keys: Vec<String> = signals.keys.iter().map(|key| key_value(*key)).collect();
    fields.insert("keys".into(), json!(keys));
    let marks: Vec<String> = signals.outline.hashes().into_iter().map(mark_value).collect();
    fields.insert("marks".into(), json!(marks));
    fields
}

/// Who is about to store something, and since when: the order of those who meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    pub(crate) time: u64,
    pub(crate) owner: String,
}

/// The announcement of a record.
pub(crate) fn pending(collection: &Collection, record: &Record, ticket: &Ticket) -> Value {
    let mut fields = searched(collection, &record.signals);
    fields.insert("owner".into(), json!(ticket.owner));
    fields.insert("time".into(), json!(ticket.time));
    Value::Object(fields)
}

/// Reads what [`pending`] wrote: who, and what would be found.
pub(crate) fn parse_pending(collection: &Collection, fields: &Value) -> Option<(Ticket, Signals)> {
    let mut signals = Signals::default();
    for SpaceSettings { space, width, .. } in &collection.spaces {
        let value = &fields[near_field(*space)];
        if !value.is_null() {
            signals.near.push((*space, parse_near(value, *width)?));
        }
    }
    let texts =
        |name: &str| fields[name].as_array().map(Vec::as_slice).unwrap_or_default().iter().map(Value::as_str);
    signals.keys = texts("keys").map(|text| parse_key(text?)).collect::<Option<_>>()?;
    let mark = |text: Option<&str>| {
        let hash = u32::from_str_radix(text?, 16).ok()?;
        Some(Mark { hash, at: 0 })
    };
    signals.outline.marks = texts("marks").map(mark).collect::<Option<_>>()?;
    Some((parse_ticket(fields)?, signals))
}

pub(crate) fn parse_ticket(pending: &Value) -> Option<Ticket> {
    Some(Ticket { owner: pending["owner"].as_str()?.to_owned(), time: pending["time"].as_u64()? })
}

/// The document of a record that is there.
pub(crate) fn document(collection: &Collection, release: Release, record: &Record, version: u64) -> Value {
    let mut fields = searched(collection, &record.signals);
    fields.retain(|_, value| !value.is_null() && *value != json!([]));
    let mut put = |name: &str, value: Value| _ = fields.insert(name.into(), value);
    put("id", json!(record.id));
    put("version", json!(version));
    put("origin", json!(record.origin.unwrap_or(version) as i64));
    put("marks_count", json!(record.signals.outline.hashes().len()));
    if let Some(expires) = record.expires {
        put("expires", json!(expires));
    }
    if let Some(published) = record.published.filter(|time| (-LAST_DATE..LAST_DATE).contains(time)) {
        put("published", json!(published));
    }
    for (name, text) in [("title", &record.title), ("source", &record.source)] {
        if let Some(text) = text.as_ref().filter(|text| text.len() <= LONGEST_TERM) {
            put(name, json!(text));
        }
    }
    let metadata = tame(&record.metadata);
    if release.flattened().is_some() && !metadata.is_empty() {
        put("metadata", Value::Object(metadata));
    }
    put("record", json!(base64::encode(&plain(record))));
    if let Some(outline) = outline(record) {
        put("outline", json!(base64::encode(&outline)));
    }
    if let Some(text) = &record.text {
        put("text", json!(base64::encode(&codec::text(text))));
    }
    Value::Object(fields)
}

/// Whether a text is short enough to be sent.
pub(crate) fn check_text(record: &Record) -> Result<(), StoreError> {
    match record.text.as_ref().filter(|text| text.len() > LONGEST_TEXT).map(|text| codec::text(text).len()) {
        Some(bytes) if bytes > LONGEST_TEXT => {
            Err(StoreError::TooLong { what: "compressed text", bytes, most: LONGEST_TEXT })
        }
        _ => Ok(()),
    }
}

/// The fields that hold what is wanted of a record.
pub(crate) fn wanted(want: Want) -> &'static [&'static str] {
    match want {
        Want::Record => &["version", "record"],
        Want::Outline => &["version", "record", "outline"],
        Want::Text => &["version", "record", "outline", "text"],
    }
}

/// The inverse of [`document`], as far as the fields are there; none if it is not one of ours.
pub(crate) fn parse_document(source: &Value, want: Want) -> Option<Stored> {
    let bytes = |field: &str| source[field].as_str().map(base64::decode);
    let encoded = bytes("record")??;
    let mut record = codec::parse_record(&encoded)?;
    if let (true, Some(outline)) = (want != Want::Record, bytes("outline")) {
        record.signals.outline = codec::parse_whole(&outline?)?.signals.outline;
    }
    if let (Want::Text, Some(length)) = (want, codec::text_length(&encoded)) {
        let text = codec::parse_text(&bytes("text")??)?;
        record.text = Some(text).filter(|text| text.len() as u64 == length);
        record.text.as_ref()?;
    }
    Some(Stored { version: source["version"].as_u64()?, record })
}

/// A record as bytes, without outline and text.
fn plain(record: &Record) -> Vec<u8> {
    let mut record = record.clone();
    record.signals.outline = Outline::default();
    // With the length of the text, but without the text itself.
    codec::record(&record)
}

/// The outline of a record as bytes; none if there is nothing in it.
fn outline(record: &Record) -> Option<Vec<u8>> {
    let outline = &record.signals.outline;
    let signals = Signals { outline: outline.clone(), ..Signals::default() };
    (!outline.is_empty())
        .then(|| codec::record(&Record { id: record.id.clone(), signals, ..Record::default() }))
}

/// What of the metadata every server can index: plain values under plain names.
fn tame(metadata: &Map<String, Value>) -> Map<String, Value> {
    let name = |name: &str| {
        (1..256).contains(&name.len()) && !name.contains(['\0', '.', '*']) && name.trim() == name
    };
    let plain = |value: &Value| match value {
        Value::Bool(_) => true,
        Value::Number(number) => number.is_i64() || number.as_f64().is_some_and(|n| n.abs() < 1e15),
        Value::String(text) => !text.is_empty() && text.len() < LONGEST_TERM && !text.contains('\0'),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    metadata
        .iter()
        .filter(|(key, value)| name(key) && plain(value))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// The mapping of a collection's index.
pub(crate) fn mapping(collection: &Collection, release: Release) -> Value {
    let found_by = json!({ "type": "keyword", "doc_values": false });
    let shown = |kind: &str| json!({ "type": kind, "index": false });
    let text = json!({ "type": "keyword", "ignore_above": LONGEST_TERM });
    let (mut own, mut announced) = (Map::new(), Map::new());
    for settings in &collection.spaces {
        for place in 0..Blocks::of(settings).count() {
            let field = block_field(settings.space, place);
            own.insert(field.clone(), found_by.clone());
            announced.insert(field, found_by.clone());
        }
        let kind = if is_number(settings.width) { "long" } else { "keyword" };
        own.insert(near_field(settings.space), shown(kind));
    }
    announced.extend([
        ("keys".to_owned(), found_by.clone()),
        ("marks".to_owned(), found_by.clone()),
        ("owner".to_owned(), json!({ "type": "keyword" })),
    ]);
    let fields = json!({
        "id": { "type": "keyword" },
        "version": { "type": "long" },
        "origin": shown("long"),
        "marks_count": shown("integer"),
        "expires": { "type": "long" },
        "published": { "type": "date", "format": "epoch_second" },
        "title": text,
        "source": text,
        "keys": { "type": "keyword" },
        "marks": found_by,
        "pending": { "properties": announced },
    });
    own.extend(fields.as_object().cloned().unwrap_or_default());
    if let Some(kind) = release.flattened() {
        own.insert("metadata".into(), json!({ "type": kind }));
    }
    json!({ "dynamic": false, "_meta": { "leitong": LAYOUT }, "properties": own })
}
