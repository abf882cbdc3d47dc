//! What the online operations call a duplicate the batch run does too, and the other way, over the whole edit set.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of a test")]

use leitong_detect::batch::{Corpus, Incoming, Options};
use leitong_detect::detector::{
    CheckOptions, Collection, CollectionSettings, Detector, Document, Evidence, Match, Question,
    SimilarOptions, When,
};
use leitong_detect::verdict::Verdict;
use leitong_store::Memory;
use leitong_text::extract::{self, extract};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

const FILES: [&str; 4] = ["edits_bases", "edits_hosts", "edits_background", "edits_variants"];
/// Of all verdicts the share that may not be the same; a duplicate for one alone may none be.
const APART: f64 = 0.0001;
/// More matches than any document has.
const LIMIT: usize = 1000;
/// Documents that are stored together.
const TOGETHER: usize = 512;
const FEW: usize = 64;

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

/// What one document is to another, by their places.
type Verdicts = BTreeMap<(usize, usize), Verdict>;

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Contains => Verdict::Contained,
        Verdict::Contained => Verdict::Contains,
        same => same,
    }
}

/// Both ways round.
fn in_a_batch(documents: &[(String, String)]) -> Verdicts {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { folder: folder.path().to_owned(), memory: 1 << 28 };
    let mut corpus = Corpus::open(&options).unwrap();
    let incoming =
        |(id, text): &(String, String)| Incoming { id: id.clone(), text: text.clone(), spot: None };
    let documents: Vec<Incoming> = documents.iter().map(incoming).collect();
    documents.chunks(4096).for_each(|part| corpus.push(part).unwrap());
    let run = corpus.finish(None, &|_, _, _| {}).unwrap();
    let mut verdicts = Verdicts::new();
    let mut called = |a: u32, b: u32, verdict: Verdict| {
        verdicts.insert((a as usize, b as usize), verdict);
        verdicts.insert((b as usize, a as usize), turned(verdict));
    };
    run.pairs(&|_, _, _| {}, &mut |found| {
        for &a in run.equals(&found.a) {
            run.equals(&found.b).iter().for_each(|&b| called(a, b, found.ruling.verdict));
        }
        Ok(())
    })
    .unwrap();
    for first in (0..run.count()).filter(|&first| run.first(first) == first) {
        let equals = run.equals(&first);
        for (at, &a) in equals.iter().enumerate() {
            equals[..at].iter().for_each(|&b| called(a, b, Verdict::Exact));
        }
    }
    verdicts
}

/// A collection in memory.
struct Stored<'d> {
    documents: &'d [(String, String)],
    places: HashMap<&'d str, usize>,
    collection: Collection,
}

impl<'d> Stored<'d> {
    fn new(documents: &'d [(String, String)]) -> Self {
        let detector = Detector::new(Arc::new(Memory::default()));
        let collection: Collection = detector.create("all", &CollectionSettings::default()).unwrap();
        let places = documents.iter().enumerate().map(|(place, (id, _))| (id.as_str(), place)).collect();
        Self { documents, places, collection }
    }

    fn add(&self, places: Range<usize>) {
        let documents = self.documents[places].iter().map(|(id, text)| Document::new(id, text)).collect();
        let added = self.collection.add(documents, When::Replace, Evidence::None).unwrap();
        assert!(added.iter().all(Result::is_ok));
    }

    fn called(&self, asked: usize, matches: Vec<Match>) -> Vec<((usize, usize), Verdict)> {
        assert!(matches.len() < LIMIT, "too many matches of {}", self.documents[asked].0);
        matches.into_iter().map(|found| ((asked, self.places[&*found.id]), found.verdict)).collect()
    }

    fn similar(&self, place: usize) -> Vec<((usize, usize), Verdict)> {
        let options = SimilarOptions { limit: LIMIT, ..SimilarOptions::default() };
        self.called(place, self.collection.similar(&self.documents[place].0, &options).unwrap().matches)
    }

    fn check(&self, place: usize) -> Vec<((usize, usize), Verdict)> {
        let (id, text) = &self.documents[place];
        let question = Question { limit: LIMIT, ..Question::with_id(id, text) };
        let checked = self.collection.check(vec![question], &CheckOptions::default()).unwrap();
        self.called(place, checked.into_iter().next().unwrap().unwrap().matches)
    }

    fn all(&self, ask: impl Fn(usize) -> Vec<((usize, usize), Verdict)> + Sync) -> Verdicts {
        let places: Vec<usize> = (0..self.documents.len()).collect();
        places.par_iter().flat_map_iter(|&place| ask(place)).collect::<Vec<_>>().into_iter().collect()
    }
}

/// What two ways say otherwise, and of that what is a duplicate for one of them alone.
fn apart(one: &Verdicts, other: &Verdicts) -> (usize, Vec<(usize, usize)>) {
    let keys: BTreeSet<(usize, usize)> = one.keys().chain(other.keys()).copied().collect();
    let differ: Vec<_> = keys.into_iter().filter(|key| one.get(key) != other.get(key)).collect();
    let is_duplicate = |verdicts: &Verdicts, key: &(usize, usize)| {
        verdicts.get(key).is_some_and(|verdict| verdict.is_duplicate())
    };
    let count = differ.len();
    let duplicates = differ.into_iter().filter(|key| is_duplicate(one, key) != is_duplicate(other, key));
    (count, duplicates.collect())
}

fn edit_set(test: &str) -> Option<Vec<(String, String)>> {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: {test} (takes minutes; the full run has it)");
        return None;
    }
    let files = FILES.map(documents).into_iter().collect::<Option<Vec<_>>>();
    if files.is_none() {
        println!("skipped: {test} (needs ../shared/data)");
    }
    Some(files?.into_iter().flatten().collect())
}

#[test]
fn online_and_batch_agree() {
    let Some(documents) = edit_set("online_and_batch_agree") else { return };
    let stored = Stored::new(&documents);
    (0..documents.len()).step_by(TOGETHER).for_each(|from| {
        stored.add(from..documents.len().min(from + TOGETHER));
    });
    let batch = in_a_batch(&documents);
    assert!(batch.len() > 100_000, "only {} verdicts", batch.len());
    for (way, online) in [
        ("similar", stored.all(|place| stored.similar(place))),
        ("check", stored.all(|place| stored.check(place))),
    ] {
        let (differ, duplicates) = apart(&batch, &online);
        println!("{way}: {} verdicts, {differ} of them other than in a batch", online.len());
        assert!(duplicates.is_empty(), "{way}: {duplicates:?}");
        assert!((differ as f64) <= APART * batch.len() as f64, "{way}: {differ} of {}", batch.len());
        let two: Vec<_> = online
            .iter()
            .filter(|((a, b), verdict)| {
                online.get(&(*b, *a)).is_some_and(|other| turned(*other) != **verdict)
            })
            .collect();
        assert!(two.is_empty(), "{way}: both ways round, {two:?}");
    }
}

/// Whether a document is asked for before it is stored or after: what is said of it is the same.
#[test]
fn before_and_after() {
    let Some(documents) = edit_set("before_and_after") else { return };
    let stored = Stored::new(&documents);
    let (mut checked, mut differ) = (0, Vec::new());
    for from in (0..documents.len()).step_by(FEW) {
        let last = documents.len().min(from + FEW) - 1;
        stored.add(from..last);
        let before = stored.check(last);
        stored.add(last..last + 1);
        checked += before.len();
        if before != stored.check(last) {
            differ.push(last);
        }
    }
    assert!(checked > 1000, "only {checked} verdicts");
    assert!(differ.is_empty(), "{differ:?}");
}
