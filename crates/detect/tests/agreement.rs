//! What the online operations call a duplicate the batch run does too, and the other way, over the whole edit set.
#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use leitong_detect::batch::{Corpus, Options};
use leitong_detect::detector::{
    Collection, CollectionSettings, Detector, Document, Evidence, SimilarOptions, When,
};
use leitong_store::Memory;
use leitong_text::extract::{self, extract};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

const FILES: [&str; 4] = ["edits_bases", "edits_hosts", "edits_background", "edits_variants"];
/// Of all pairs that either way calls duplicates, the share that may be called so by one alone.
const APART: f64 = 0.001;

/// Ids and texts of a file of the shared data.
fn documents(name: &str) -> Option<Vec<(String, String)>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let packed = std::fs::read(path.with_extension("jsonl.zst")).ok()?;
    let mut decoder = zstd::Decoder::new(&packed[..]).unwrap();
    decoder.window_log_max(27).unwrap();
    let lines = std::io::read_to_string(decoder).unwrap();
    let document = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let (id, text) = (line["id"].as_str().unwrap(), line["text"].as_str().unwrap());
        let text = match line["format"].as_str() {
            Some("html") => {
                extract(text.as_bytes(), Some("page.html"), &extract::Options::default()).unwrap().text
            }
            _ => text.to_owned(),
        };
        (id.to_owned(), text)
    };
    Some(lines.lines().map(document).collect())
}

type Pairs = BTreeSet<(String, String)>;

fn pair(a: &str, b: &str) -> (String, String) {
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    (a.to_owned(), b.to_owned())
}

fn in_a_batch(documents: &[(String, String)]) -> Pairs {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { folder: folder.path().to_owned(), memory: 1 << 28 };
    let mut corpus = Corpus::open(&options).unwrap();
    documents.chunks(4096).for_each(|part| corpus.push(part).unwrap());
    let run = corpus.finish(&|_, _, _| {}).unwrap();
    let mut pairs = Pairs::new();
    let id = |ordinal: u32| documents[ordinal as usize].0.as_str();
    run.pairs(&|_, _, _| {}, &mut |found| {
        if found.ruling.verdict.is_duplicate() {
            for &a in run.equals(&found.a) {
                pairs.extend(run.equals(&found.b).iter().map(|&b| pair(id(a), id(b))));
            }
        }
        Ok(())
    })
    .unwrap();
    for first in 0..run.count() {
        let equals = run.equals(&first);
        for (at, &a) in equals.iter().enumerate().filter(|_| run.first(first) == first) {
            pairs.extend(equals[..at].iter().map(|&b| pair(id(a), id(b))));
        }
    }
    pairs
}

fn online(documents: &[(String, String)]) -> Pairs {
    let detector = Detector::new(Arc::new(Memory::default()));
    let collection: Collection = detector.create("all", &CollectionSettings::default()).unwrap();
    for part in documents.chunks(1024) {
        let part = part.iter().map(|(id, text)| Document::new(id, text)).collect();
        assert!(collection.add(part, When::Replace, Evidence::None).unwrap().iter().all(Result::is_ok));
    }
    let options = SimilarOptions { limit: 1000, ..SimilarOptions::default() };
    let duplicates = |(id, _): &(String, String)| {
        let page = collection.similar(id, &options).unwrap();
        assert!(page.next.is_none(), "more than a thousand matches of {id}");
        let duplicates = page.matches.into_iter().filter(|found| found.verdict.is_duplicate());
        duplicates.map(|found| pair(id, &found.id)).collect::<Vec<_>>()
    };
    documents.par_iter().flat_map_iter(duplicates).collect::<Vec<_>>().into_iter().collect()
}

#[test]
fn online_and_batch_agree() {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: online_and_batch_agree (takes minutes; the full run has it)");
        return;
    }
    let Some(files) = FILES.map(documents).into_iter().collect::<Option<Vec<_>>>() else {
        println!("skipped: online_and_batch_agree (needs ../shared/data)");
        return;
    };
    let documents: Vec<(String, String)> = files.into_iter().flatten().collect();
    let (batch, online) = (in_a_batch(&documents), online(&documents));
    let apart: Vec<_> = batch.symmetric_difference(&online).collect();
    let all = batch.union(&online).count();
    println!("{all} pairs called duplicates, {} of them one way alone", apart.len());
    assert!(all > 20_000, "only {all} pairs");
    assert!(
        (apart.len() as f64) <= APART * all as f64,
        "{} of {all}: {:?}",
        apart.len(),
        &apart[..apart.len().min(9)]
    );
}
