//! `leitong bench`.

use super::{leitong, leitong_in};

#[test]
fn hamming_and_join_give_the_promised_figures() {
    for more in
        [&["--fresh", "0.1"][..], &["--layout", "cells", "--data", "skew"], &["--bits", "128", "--k", "5"]]
    {
        let arguments = ["bench", "hamming", "--n", "20K", "--queries", "1K", "--rounds", "1", "--json"];
        let run = leitong(&[&arguments[..], more].concat(), "");
        assert_eq!(run.code, 0, "{}", run.err);
        let figures = &run.json()[0];
        for field in ["queries_per_s", "p50_us", "p99_us", "build_s", "bytes_per_item", "peak_bytes"] {
            assert!(figures[field].as_f64().is_some_and(|figure| figure > 0.0), "{field}: {figures}");
        }
        assert_eq!(figures["recall"], 1.0);
    }
    let run = leitong(
        &["bench", "join", "--n", "20K", "--k", "4", "--data", "pileup", "--rounds", "1", "--json"],
        "",
    );
    let figures = &run.json()[0];
    assert!(figures["wall_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{figures}");
    assert!(figures["pairs"].as_u64() > Some(500), "{figures}");
}

#[test]
fn a_file_of_fingerprints_and_an_index_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u8> = (0..5000_u64).flat_map(|i| (i * i * 0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(folder.path().join("values"), &values).unwrap();
    let arguments =
        ["bench", "hamming", "--data", "values", "--file", "index", "--queries", "500", "--rounds", "1"];
    let run = leitong_in(folder.path(), &arguments, "");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.lines().iter().any(|line| line.starts_with("recall") && line.ends_with("1.0000")),
        "{}",
        run.out
    );
    assert!(folder.path().join("index").exists());

    std::fs::write(folder.path().join("values"), &values[..7]).unwrap();
    let run = leitong_in(folder.path(), &arguments, "");
    assert_eq!(run.code, 3);
    assert!(run.err.contains("check --bits"), "{}", run.err);
    let run = leitong(&["bench", "hamming", "--n", "many"], "");
    assert_eq!(run.code, 2);
    let run = leitong(&["bench", "hamming", "--n", "1K", "--k", "40"], "");
    assert!(run.code == 3 && run.err.contains("nearly everything would match"), "{}", run.err);
}

#[test]
fn texts_are_segmented_and_fingerprinted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("texts"), "今天上午九时图书馆开放\n\n".repeat(50)).unwrap();
    let segment = ["bench", "segment", "--data", "texts", "--rounds", "1", "--tags", "--json"];
    let fingerprint =
        ["bench", "fingerprint", "--data", "texts", "--rounds", "1", "--threads", "2", "--json"];
    for (arguments, produced) in [(&segment[..], 50 * 5), (&fingerprint, 50)] {
        let run = leitong_in(folder.path(), arguments, "");
        assert_eq!(run.code, 0, "{}", run.err);
        let figures = &run.json()[0];
        assert_eq!(
            (&figures["documents"], &figures["produced"]),
            (&50.into(), &produced.into()),
            "{figures}"
        );
        assert!(figures["mb_per_s"].as_f64() > Some(0.0) && figures["docs_per_s"].as_f64() > Some(0.0));
    }
    let run = leitong(&["bench", "fingerprint", "--data", "not-there"], "");
    assert!(run.code == 3 && run.err.contains("not-there"), "{}", run.err);
}

#[test]
fn dedup_is_measured_on_made_documents() {
    let measure = |seed: &str| {
        let flags =
            ["--n", "3K", "--length", "300", "--rounds", "1", "--threads", "2", "--seed", seed, "--json"];
        let run = leitong(&[&["bench", "dedup"], &flags[..]].concat(), "");
        assert_eq!(run.code, 0, "{}", run.err);
        run.json().remove(0)
    };
    let figures = measure("1");
    for field in ["docs_per_s", "docs_per_s_core", "mb_per_s", "wall_s", "peak_bytes"] {
        assert!(figures[field].as_f64().is_some_and(|figure| figure > 0.0), "{field}: {figures}");
    }
    assert!(figures["copies"].as_u64() > Some(700), "{figures}");
    assert!(figures["recall"].as_f64() > Some(0.9) && figures["recall_reprinted"] == 1.0, "{figures}");
    assert_eq!(figures["false_removals"], 0, "{figures}");
    let removed = figures["recall"].as_f64().unwrap() * figures["copies"].as_f64().unwrap();
    assert_eq!(figures["removed"].as_f64().unwrap(), removed.round(), "all that went were copies: {figures}");
    // The same seed makes the same documents, another others.
    assert_eq!(measure("1")["bytes"], figures["bytes"]);
    assert_ne!(measure("2")["bytes"], figures["bytes"]);
    let none = leitong(&["bench", "dedup", "--n", "50", "--copies", "0", "--rounds", "1"], "");
    assert!(
        none.code == 0
            && none.lines().iter().any(|line| line.starts_with("recall") && line.ends_with("null"))
    );
    assert_eq!(leitong(&["bench", "dedup", "--n", "0"], "").code, 2);
}
