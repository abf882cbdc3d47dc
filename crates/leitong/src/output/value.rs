//! Fingerprints as text and as JSON.

use leitong_detect::{Answer, Kind, Value};
use leitong_fingerprint::Fingerprint;
use serde_json::json;

/// How fingerprints are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Hexadecimal, padded to the width
    #[default]
    Hex,
    /// Binary digits, most significant first (least significant first for the recipe ik)
    Bits,
    /// Decimal, unsigned
    Dec,
    /// One JSON object a document
    Json,
}

/// One line for a fingerprint.
pub(crate) fn text(value: &Value, format: Format, lsb_first: bool) -> String {
    let number = |bits: &Fingerprint| match format {
        Format::Hex | Format::Json => bits.to_string(),
        Format::Bits if lsb_first => bits.to_bits_lsb_first(),
        Format::Bits => bits.to_bits(),
        Format::Dec => bits.to_decimal(),
    };
    let hash = |hash: u64, bits: u32| number(&Fingerprint::from_words(bits, &[hash]));
    let join = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Bits(bits) => number(bits),
        Value::Several(several) => {
            join(several.iter().map(|bits| bits.as_ref().map_or("-".to_owned(), number)).collect())
        }
        Value::MinHash { signature, .. } => {
            let places: Vec<String> =
                signature.places().iter().map(|&place| hash(u64::from(place), 32)).collect();
            if format == Format::Dec { join(places) } else { places.concat() }
        }
        Value::Marks(marks) => {
            join(marks.iter().map(|mark| format!("{}@{}", hash(mark.hash, 64), mark.position)).collect())
        }
        Value::Hashes { bits, hashes } => join(hashes.iter().map(|&value| hash(value, *bits)).collect()),
        Value::Code(code) => code.clone(),
        Value::Image { code, hash } => format!("{code} {}", number(hash)),
    }
}

/// One JSON object for a document.
pub(crate) fn json(id: &str, kind: Kind, recipe: &str, answer: &Answer) -> serde_json::Value {
    let hex = |hash: &u64, bits: u32| Fingerprint::from_words(bits, &[*hash]).to_string();
    let mut object = json!({ "id": id, "kind": kind, "recipe": recipe });
    object["fingerprint"] = match &answer.value {
        None => serde_json::Value::Null,
        Some(Value::Several(several)) => {
            several.iter().map(|bits| json!(bits.as_ref().map(ToString::to_string))).collect()
        }
        Some(value @ Value::MinHash { bands, .. }) => {
            object["bands"] = bands.iter().map(|key| json!(hex(key, 64))).collect();
            json!(text(value, Format::Hex, false))
        }
        Some(Value::Marks(marks)) => marks
            .iter()
            .map(|mark| json!({ "hash": hex(&mark.hash, 64), "position": mark.position, "span": mark.span }))
            .collect(),
        Some(Value::Hashes { bits, hashes }) => hashes.iter().map(|hash| json!(hex(hash, *bits))).collect(),
        Some(Value::Image { code, hash }) => json!({ "code": code, "hash": hash.to_string() }),
        Some(value @ (Value::Bits(_) | Value::Code(_))) => json!(text(value, Format::Hex, false)),
    };
    if let Some(reason) = &answer.reason {
        object["reason"] = json!(reason);
    }
    object
}
