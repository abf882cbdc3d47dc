//! From what is read to what is stored or asked: fields, times and ids.

use crate::input::{self, Item, plain};
use crate::output::Failure;
use leitong_detect::detector::{Collection, Document, time};
use leitong_store::Want;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The size of an item: its text, and what its other fields hold.
pub(crate) fn bytes(item: &Item) -> usize {
    item.as_ref().map_or(0, |document| document.text.len() + all_held(&document.rest))
}

fn all_held(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| name.len() + held(value)).sum()
}

fn held(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(held).sum(),
        Value::Object(fields) => all_held(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => size_of::<Value>(),
    }
}

/// A document to store. `expires` holds for those that do not say it themselves.
pub(crate) fn document(read: input::Document, expires: Option<i64>) -> Result<Document, String> {
    let input::Document { id, text, fields, mut rest, .. } = read;
    let published = match take_time(&mut rest, "published")? {
        // A `date` may be written in any way, as it always could: it is only used if it can be read.
        None => rest.get("date").and_then(seconds).inspect(|_| drop(rest.shift_remove("date"))),
        published => published,
    };
    let expires = take_time(&mut rest, "expires")?.or(expires);
    let source = rest.shift_remove("source").map(|source| plain(&source)).filter(|source| !source.is_empty());
    rest.shift_remove("title");
    let title = Some(fields.title).filter(|title| !title.is_empty());
    Ok(Document {
        id,
        text: Some(text),
        fingerprint: None,
        title,
        source,
        published,
        expires,
        metadata: rest,
    })
}

fn take_time(rest: &mut Map<String, Value>, field: &str) -> Result<Option<i64>, String> {
    let value = rest.shift_remove(field).filter(|value| !value.is_null() && value.as_str() != Some(""));
    let Some(value) = value else { return Ok(None) };
    let wrong = || {
        format!(
            "the field {field:?} is {value}, which is no time; write 2024-05-01, 2024-05-01T08:00:00+08:00, or seconds \
             since 1970"
        )
    };
    seconds(&value).map(Some).ok_or_else(wrong)
}

fn seconds(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            // Between the largest numbers of whole seconds that fractions can count.
            let whole = |number: f64| (number.abs() < 9e15).then_some(number.floor() as i64);
            number.as_i64().or_else(|| number.as_f64().and_then(whole))
        }
        Value::String(text) => time::seconds(text.trim()),
        _ => None,
    }
}

/// Gives ids to documents that have none: numbers that go on from what is stored, so that one run never replaces what
/// another has stored.
pub(crate) struct Numbers {
    base: u64,
}

impl Numbers {
    pub(crate) fn new(collection: &Collection) -> Result<Self, Failure> {
        Ok(Self { base: collection.count()?.next_version })
    }

    /// Replaces the ids of those that have none of their own.
    pub(crate) fn give(&self, collection: &Collection, items: &mut [Item]) -> Result<(), Failure> {
        let good = || items.iter().filter_map(|item| item.as_ref().ok());
        if !good().any(|document| document.anonymous) {
            return Ok(());
        }
        let mut taken: BTreeSet<String> =
            good().filter(|document| !document.anonymous).map(|document| document.id.clone()).collect();
        let mut open: Vec<&mut input::Document> =
            items.iter_mut().filter_map(|item| item.as_mut().ok()).filter(|one| one.anonymous).collect();
        let number = |document: &input::Document| self.base.saturating_add(document.place.line.unwrap_or(1));
        open.iter_mut().for_each(|document| document.id = number(document).to_string());
        // Mostly free at the first try: a number is only taken where someone uses numbers as ids, or lines were refused.
        let mut attempt = 1;
        while !open.is_empty() {
            let ids: Vec<&str> = open.iter().map(|document| document.id.as_str()).collect();
            let stored = collection.get(&ids, Want::Record)?;
            let free: Vec<bool> = ids
                .iter()
                .zip(&stored)
                .map(|(id, stored)| matches!(stored, Ok(None)) && taken.insert((*id).to_owned()))
                .collect();
            let mut free = free.into_iter();
            open.retain(|_| !free.next().unwrap_or(true));
            attempt += 1;
            open.iter_mut().for_each(|document| document.id = format!("{}-{attempt}", number(document)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stored(fields: Value) -> Result<Document, String> {
        let Value::Object(rest) = fields else { panic!("an object") };
        document(input::Document { id: "1".into(), text: "t".into(), rest, ..Default::default() }, Some(7))
    }

    #[test]
    fn everything_an_item_holds_counts() {
        let Value::Object(rest) = json!({ "a": "12345", "b": { "c": ["123", "4"] } }) else { return };
        let document = input::Document { text: "1234567890".into(), rest, ..Default::default() };
        assert_eq!(bytes(&Ok(document)), 10 + 1 + 5 + 1 + 1 + 4);
    }

    #[test]
    fn fields_find_their_places() {
        let document = stored(json!({
            "source": "新华社", "published": "2024-05-01", "date": "yesterday", "n": 5, "list": [1, "a"]
        }))
        .unwrap();
        assert_eq!(document.source.as_deref(), Some("新华社"));
        assert_eq!((document.published, document.expires), (Some(1_714_521_600), Some(7)));
        assert_eq!(
            Value::Object(document.metadata),
            json!({ "date": "yesterday", "n": 5, "list": [1, "a"] })
        );
    }

    #[test]
    fn a_date_counts_if_it_can_be_read() {
        let document = stored(json!({ "date": "1970-01-02", "expires": 99.5, "published": null })).unwrap();
        assert_eq!((document.published, document.expires), (Some(86_400), Some(99)));
        assert!(document.metadata.is_empty());
        assert_eq!(stored(json!({ "date": "gestern" })).unwrap().published, None);
        let wrong = stored(json!({ "published": "gestern" })).unwrap_err();
        assert!(wrong.contains("published") && wrong.contains("2024-05-01"), "{wrong}");
        assert!(stored(json!({ "expires": [1] })).is_err());
    }
}
