//! What long lists cost: few calls, each of bounded size, and never all texts at once.

use super::watched::Watched;
use super::*;
use crate::detector::{CheckOptions, Filter, Question, SimilarOptions, Sort};
use leitong_store::{Addition, Policy, Record, Store};
use serde_json::{Map, json};

const MANY: usize = 20_000;
/// A page grows to four times its size: that many from 32 to [`MANY`], with some to spare.
const FEW_CALLS: usize = 9;
const MEGABYTE: usize = 1 << 20;

fn watched() -> (Arc<Watched>, Collection) {
    let store = Arc::new(Watched::default());
    let detector = Detector::new(Arc::clone(&store) as Arc<dyn Store>);
    (store, detector.create("news", &CollectionSettings::default()).unwrap())
}

/// Equal documents, of which the last has another source.
fn equal() -> Vec<Document> {
    let source = |i| Some(if i + 1 == MANY { "last" } else { "others" }.to_owned());
    (0..MANY).map(|i| Document { source: source(i), ..numbered(&i.to_string(), 0) }).collect()
}

#[test]
fn a_filter_that_matches_little_takes_few_searches() {
    let (store, news) = watched();
    add(&news, equal(), When::Replace);
    store.finds();
    let filter = Filter::parse("source=last").unwrap();
    let question = Question { fingerprint: Some(Fingerprint::from(0)), ..Question::default() };
    let options = CheckOptions { filter: filter.clone(), ..CheckOptions::default() };
    let checked = news.check(vec![question], &options).unwrap().pop().unwrap().unwrap();
    assert_eq!((checked.matches.len(), checked.matches[0].id.as_str()), (1, "19999"));
    let finds = store.finds();
    assert!(finds <= FEW_CALLS, "{finds} searches for one question");
    for sort in [Sort::Distance, Sort::Newest] {
        let options = SimilarOptions { sort, filter: filter.clone(), ..SimilarOptions::default() };
        assert_eq!(news.similar("0", &options).unwrap().matches.len(), 1);
        let finds = store.finds();
        assert!(finds <= FEW_CALLS, "{finds} searches for one list by {sort:?}");
    }
}

#[test]
fn a_batch_of_such_questions_does_not_ask_for_everything_at_once() {
    let (store, news) = watched();
    add(&news, equal(), When::Replace);
    store.most_candidates();
    let question = Question { fingerprint: Some(Fingerprint::from(0)), ..Question::default() };
    let filter = Filter::parse("source=last").unwrap();
    let options = CheckOptions { filter, ..CheckOptions::default() };
    let checked = news.check(vec![question; 20], &options).unwrap();
    assert!(checked.into_iter().all(|checked| checked.unwrap().matches.len() == 1));
    let most = store.most_candidates();
    assert!(most <= 1 << 16, "{most} candidates in one call");
}

#[test]
fn records_with_much_metadata_come_in_smaller_pages() {
    let (store, news) = watched();
    let metadata: Map<_, _> = [("much".to_owned(), json!("x".repeat(MEGABYTE / 8)))].into_iter().collect();
    let large = |i: usize| Document { metadata: metadata.clone(), ..numbered(&i.to_string(), 0) };
    add(&news, (0..600).map(large).collect(), When::Replace);
    store.most_candidates();
    let question = Question { fingerprint: Some(Fingerprint::from(0)), ..Question::default() };
    let options = CheckOptions { filter: Filter::parse("source").unwrap(), ..CheckOptions::default() };
    assert!(news.check(vec![question], &options).unwrap()[0].as_ref().unwrap().matches.is_empty());
    let most = store.most_candidates();
    assert!(most <= 512, "{most} records of an eighth of a megabyte in one call");
}

#[test]
fn the_members_of_a_large_cluster_take_few_searches() {
    let (store, news) = watched();
    news.assign(equal()).unwrap();
    store.finds();
    assert_eq!(news.clusters(None, 9).unwrap()[0].members, MANY as u64);
    let finds = store.finds();
    assert!(finds <= FEW_CALLS, "{finds} searches to count");
    assert_eq!(news.members("0", None, MANY).unwrap().len(), MANY);
    let finds = store.finds();
    assert!(finds <= FEW_CALLS, "{finds} searches to list");
    assert_eq!(news.members("0", None, 10).unwrap().len(), 10);
    let most = store.most_candidates();
    assert!(most <= 1 << 16, "{most} candidates in one call");
}

/// Documents in one cluster, each with a text of a megabyte that no test has to make a fingerprint of.
fn large_texts(news: &Collection, count: usize) {
    let one = |i: usize| {
        let signals = crate::detector::signals::signals_of(Some(Fingerprint::from(0)), None);
        let text = Some("x".repeat(MEGABYTE));
        let mut record = Record { id: format!("{i:03}"), signals, text, ..Record::default() };
        crate::detector::signals::set_cluster(&mut record, Some(("000".to_owned(), 0)));
        Addition::new(record, Policy::Replace)
    };
    news.detector().store().add("news", (0..count).map(one).collect()).unwrap();
}

#[test]
fn large_texts_are_exported_a_few_at_a_time() {
    let (store, news) = watched();
    large_texts(&news, 100);
    let written = news.detector().export("news", &mut std::io::sink(), &mut |_| {}).unwrap();
    assert_eq!(written, 100);
    let most = store.most_text();
    assert!(most <= 16 * MEGABYTE, "{most} bytes of text in one call");
}

#[test]
fn large_texts_are_assigned_anew_a_few_at_a_time() {
    let (store, news) = watched();
    large_texts(&news, 100);
    news.remove(&["000"]).unwrap();
    let most = store.most_text();
    assert!((1..=16 * MEGABYTE).contains(&most), "{most} bytes of text in one call");
    let clusters = news.clusters(None, 9).unwrap();
    assert_eq!((clusters.len(), clusters[0].centre.as_str(), clusters[0].members), (1, "001", 99));
    let stored = news.get(&["099"], leitong_store::Want::Text).unwrap().pop().unwrap().unwrap().unwrap();
    assert_eq!(stored.record.text.map(|text| text.len()), Some(MEGABYTE), "the text is still there");
}
