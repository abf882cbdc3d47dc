//! The compatibility recipes against the shared vectors, bit for bit.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may stop at the first surprise, and says what it skips"
)]

use leitong_detect::{Fingerprinter, Prepared, Recipe, Value};
use leitong_fingerprint::Fingerprint;
use serde_json::Value as Json;
use std::path::PathBuf;

fn rows(name: &str) -> Option<Vec<Json>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors").join(name);
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: vectors in {name} (needs ../shared/vectors)");
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn ready(recipe: &str, bits: u32) -> Fingerprinter {
    Fingerprinter::new(Recipe::built_in(recipe).unwrap().with_bits(bits).unwrap()).unwrap()
}

fn simhash(fingerprinter: &Fingerprinter, document: &Prepared<'_>) -> Option<Fingerprint> {
    match fingerprinter.simhash(document).value {
        Some(Value::Bits(bits)) => Some(bits),
        _ => None,
    }
}

#[test]
fn token_lists() {
    let Some(rows) = rows("tokens.jsonl") else { return };
    let [cms, ik, news] = ["cms-redis", "ik", "es-news"].map(|name| ready(name, 64));
    for row in &rows {
        let tokens: Vec<String> = serde_json::from_value(row["tokens"].clone()).unwrap();
        let of = |f: &Fingerprinter| simhash(f, &f.prepare_tokens(tokens.clone()));
        assert_eq!(of(&cms).map(|v| v.to_string()).as_deref(), row["simhash_fnv1a_tf"].as_str());
        assert_eq!(
            of(&ik).map(|v| v.to_bits_lsb_first()).as_deref(),
            row["simhash_ik_bits_lsb_first"].as_str()
        );
        assert_eq!(of(&news).map(|v| v.to_bits()).as_deref(), row["simhash_length_weighted"].as_str());
    }
    assert_eq!(rows.len(), 161);
}

#[test]
fn python_simhash() {
    let Some(rows) = rows("pysimhash.jsonl") else { return };
    let (narrow, wide) = (ready("py-simhash", 64), ready("py-simhash", 128));
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        let of = |f: &Fingerprinter| simhash(f, &f.prepare(text)).map(|v| v.to_string());
        assert_eq!(of(&narrow).as_deref(), row["simhash64"].as_str(), "{text}");
        assert_eq!(of(&wide).as_deref(), row["simhash128"].as_str(), "{text}");
    }
    assert_eq!(rows.len(), 156);
}
