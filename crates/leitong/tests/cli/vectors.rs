//! Every shared vector through the command line.

use super::{leitong, shared};
use serde_json::{Value, json};

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn token_lists() {
    let Some(text) = shared("vectors/tokens.jsonl") else { return };
    let rows = rows(&text);
    let input: String = rows.iter().map(|row| format!("{}\n", row["tokens"])).collect();
    for (recipe, format, field) in [
        ("cms-redis", "hex", "simhash_fnv1a_tf"),
        ("ik", "bits", "simhash_ik_bits_lsb_first"),
        ("es-news", "bits", "simhash_length_weighted"),
    ] {
        let run = leitong(&["fingerprint", "--tokens", "--recipe", recipe, "--format", format], &input);
        let expected: Vec<&str> = rows.iter().map(|row| row[field].as_str().unwrap_or("-")).collect();
        assert_eq!((run.lines(), run.code), (expected, 0), "{recipe}: {}", run.err);
    }
}

#[test]
fn python_simhash() {
    let Some(text) = shared("vectors/pysimhash.jsonl") else { return };
    let rows = rows(&text);
    let input: String = rows.iter().map(|row| format!("{}\n", json!({ "text": row["text"] }))).collect();
    for bits in ["64", "128"] {
        let arguments = ["fingerprint", "--stdin", "jsonl", "--recipe", "py-simhash", "--bits", bits];
        let run = leitong(&arguments, &input);
        let expected: Vec<&str> =
            rows.iter().map(|row| row[format!("simhash{bits}")].as_str().unwrap()).collect();
        assert_eq!((run.lines(), run.code), (expected, 0), "{}", run.err);
    }
    // Texts of one line also the plain way.
    let plain: Vec<&Value> =
        rows.iter().filter(|row| !row["text"].as_str().unwrap().contains(['\n', '\r'])).collect();
    let input: String = plain.iter().map(|row| format!("{}\n", row["text"].as_str().unwrap())).collect();
    let run = leitong(&["fingerprint", "--recipe", "py-simhash"], input);
    let expected: Vec<&str> = plain.iter().map(|row| row["simhash64"].as_str().unwrap()).collect();
    assert_eq!((run.lines(), run.code), (expected, 0), "{}", run.err);
}

#[test]
fn words() {
    let Some(text) = shared("vectors/words.jsonl") else { return };
    let rows = rows(&text);
    let input: String = rows.iter().map(|row| format!("{}\n", row["word"].as_str().unwrap())).collect();
    let fields = rows[0]
        .as_object()
        .unwrap()
        .keys()
        .filter(|field| field.contains("_utf16_") || field.contains("_shift"));
    let mut algorithms = 0;
    for field in fields {
        let name = field.replace("_utf16_", "-").replace("_shift", "-");
        let run = leitong(&["hash", "--algorithm", &name, "--utf16"], &input);
        let expected: Vec<&str> = rows.iter().map(|row| row[field].as_str().unwrap()).collect();
        assert_eq!((run.lines(), run.code), (expected, 0), "{name}: {}", run.err);
        algorithms += 1;
    }
    assert_eq!(algorithms, 14);
}
