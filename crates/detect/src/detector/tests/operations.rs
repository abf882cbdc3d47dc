//! Check, add, remove, get; batches with bad documents; evidence; many at once.

use super::*;
use crate::detector::{
    CheckOptions, Checked, DetectError, DocumentError, Filter, NoEvidence, Outcome, Question,
};
use leitong_store::{Addition, Policy, Record, StoreError, Want};
use serde_json::{Map, Value};

fn check(collection: &Collection, question: Question) -> Checked {
    let mut answers = collection.check(vec![question], &CheckOptions::default()).unwrap();
    answers.pop().unwrap().unwrap()
}

#[test]
fn exact_near_and_nothing() {
    let news = collection();
    assert_eq!(
        add(&news, vec![Document::new("1", NEWS), Document::new("2", OTHER)], When::Replace),
        [true; 2]
    );
    let found = check(&news, Question::new(NEWS.replace('，', " ")));
    assert!(found.duplicate());
    assert_eq!((found.matches.len(), found.matches[0].id.as_str()), (1, "1"));
    assert_eq!((found.matches[0].verdict, found.matches[0].distance), (Verdict::Exact, Some(0)));
    let simhash = found.simhash.unwrap();
    let near = Fingerprint::from(simhash.low64() ^ 0b101);
    let found = check(&news, Question { fingerprint: Some(near), ..Question::default() });
    assert_eq!((found.matches[0].verdict, found.matches[0].distance), (Verdict::Near, Some(2)));
    assert!(!check(&news, Question::new("完全不同的一段话，与所存的文章毫无关系可言")).duplicate());
}

#[test]
fn a_document_is_never_its_own_duplicate() {
    let news = collection();
    add(&news, vec![Document::new("1", NEWS)], When::Replace);
    assert!(!check(&news, Question::with_id("1", NEWS)).duplicate());
    assert!(check(&news, Question::with_id("1-1", NEWS)).duplicate());
    assert_eq!(add(&news, vec![Document::new("1", NEWS)], When::UnlessDuplicate), [true]);
    assert_eq!(news.count().unwrap().documents, 1);
}

#[test]
fn short_texts_are_found_when_equal_and_empty_ones_never() {
    let news = collection();
    let short = vec![Document::new("a", "好！"), Document::new("b", "……"), Document::new("c", "！！")];
    assert_eq!(add(&news, short, When::UnlessDuplicate), [true; 3]);
    let found = check(&news, Question::new(" 好。"));
    assert_eq!(found.simhash, None);
    assert_eq!((found.matches[0].verdict, found.matches[0].distance), (Verdict::Exact, None));
    assert!(!check(&news, Question::new("坏！")).duplicate());
    assert!(!check(&news, Question::new("……")).duplicate());
    assert_eq!(add(&news, vec![Document::new("d", "好")], When::UnlessDuplicate), [false]);
}

#[test]
fn when_decides() {
    let news = collection();
    let batch = vec![Document::new("1", NEWS), Document::new("2", NEWS), Document::new("3", OTHER)];
    let added = news.add(batch, When::UnlessDuplicate, Evidence::Scores).unwrap();
    let outcomes: Vec<_> = added.into_iter().map(|added| added.unwrap().outcome).collect();
    assert!(outcomes[0].is_stored() && outcomes[2].is_stored());
    let Outcome::Duplicate { matches } = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!((matches[0].id.as_str(), matches[0].jaccard), ("1", Some(1.0)));
    let added = news.add(vec![Document::new("1", OTHER)], When::New, Evidence::None).unwrap();
    assert_eq!(added[0].as_ref().unwrap().outcome, Outcome::Exists { version: 0 });
    let added = news.add(vec![Document::new("1", OTHER)], When::Replace, Evidence::None).unwrap();
    assert!(matches!(added[0].as_ref().unwrap().outcome, Outcome::Stored { replaced: Some(0), .. }));
    // The old fingerprint went with the old document.
    assert!(!check(&news, Question::new(NEWS)).duplicate());
}

/// The judge may decline; the first of a batch still wins, whatever came back for judging.
#[test]
fn a_judge_that_declines_is_asked_until_all_is_judged() {
    let news = judged_by(Judge::NoSharedMark);
    let marked: Vec<_> = (0..40).map(|i| Document::new(format!("m{i}"), format!("※{NEWS}"))).collect();
    assert_eq!(add(&news, marked, When::UnlessDuplicate), [true; 40]);
    // Near all that is marked, and itself marked: declined forty times, then stored. Unmarked ones are duplicates of it.
    let batch = vec![
        Document::new("first", format!("{NEWS}※")),
        Document::new("second", NEWS),
        Document::new("third", OTHER),
        Document::new("fourth", OTHER),
    ];
    assert_eq!(add(&news, batch, When::UnlessDuplicate), [true, false, true, false]);
}

/// The earlier document comes back for judging while nothing speaks against the later: the later must wait.
#[test]
fn the_first_of_a_batch_wins_even_if_it_has_to_be_judged() {
    let news = judged_by(Judge::NoSharedMark);
    let marked = format!("※{NEWS}");
    let simhash = check(&news, Question::new(marked.as_str())).simhash.unwrap().low64();
    // Two bits from `first`, five from `later`; `later` is three from `first`.
    let signals = crate::detector::signals::signals_of(Some(Fingerprint::from(simhash ^ 0b11)), None);
    let record = Record { id: "old".into(), signals, text: Some(marked.clone()), ..Record::default() };
    news.detector().store().add("news", vec![Addition::new(record, Policy::Replace)]).unwrap();
    let batch = vec![Document::new("first", marked), numbered("later", simhash ^ 0b111_0000)];
    let added = news.add(batch, When::UnlessDuplicate, Evidence::None).unwrap();
    assert!(added[0].as_ref().unwrap().outcome.is_stored());
    let Outcome::Duplicate { matches } = &added[1].as_ref().unwrap().outcome else { panic!("{added:?}") };
    assert_eq!(matches.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["first"]);
}

#[test]
fn of_many_at_once_one_wins() {
    let news = collection();
    let stored: usize = std::thread::scope(|scope| {
        let adds = |thread: u64| {
            let news = news.clone();
            scope.spawn(move || {
                let document = |i: u64| numbered(&format!("{thread}/{i}"), i << 32 | 1 << thread);
                let adds = (0..50).map(|i| add(&news, vec![document(i * 77)], When::UnlessDuplicate)[0]);
                adds.filter(|stored| *stored).count()
            })
        };
        let threads: Vec<_> = (0..4).map(adds).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let mut kept = Vec::new();
    crate::detector::exchange::each_record(&**news.detector().store(), "news", &mut |record| {
        kept.push(record.signals.near[0].1.clone());
        Ok(())
    })
    .unwrap();
    assert_eq!(kept.len(), stored);
    for (i, a) in kept.iter().enumerate() {
        assert!(kept[..i].iter().all(|b| a.distance(b).unwrap() > 3));
    }
}

/// Metadata of lists in lists.
fn nested(levels: usize) -> Map<String, Value> {
    let value = (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    [("deep".to_owned(), value)].into_iter().collect()
}

#[test]
fn a_bad_document_is_an_error_of_its_own() {
    let news = collection();
    let batch = vec![
        Document::new("", NEWS),
        Document::new("x".repeat(2000), NEWS),
        Document { id: "no text".into(), ..Document::default() },
        Document::of_fingerprint("narrow", Fingerprint::from_words(32, &[1])),
        Document { fingerprint: Some(Fingerprint::from(1)), ..Document::new("both", NEWS) },
        Document { title: Some("x".repeat(2 << 20)), ..Document::new("title", NEWS) },
        Document { metadata: nested(101), ..Document::new("deep", NEWS) },
        Document { metadata: nested(500), ..Document::new("deeper", NEWS) },
        Document { metadata: nested(90), ..Document::new("good", NEWS) },
    ];
    for when in [When::Replace, When::New, When::UnlessDuplicate] {
        let added = news.add(batch.clone(), when, Evidence::None).unwrap();
        assert!(matches!(added[0], Err(DocumentError::Field(StoreError::EmptyId))));
        assert!(matches!(added[1], Err(DocumentError::Field(StoreError::TooLong { what: "id", .. }))));
        assert!(matches!(added[2], Err(DocumentError::NoText)));
        assert!(matches!(added[3], Err(DocumentError::Width { expected: 64, found: 32 })));
        assert!(matches!(added[4], Err(DocumentError::OtherFingerprint { .. })));
        assert!(matches!(added[5], Err(DocumentError::Field(StoreError::TooLong { what: "title", .. }))));
        assert!(matches!(added[6], Err(DocumentError::Field(StoreError::TooDeep { .. }))));
        assert!(matches!(added[7], Err(DocumentError::Field(StoreError::TooDeep { .. }))));
        assert!(added[8].is_ok());
    }
    let assigned = news.assign(batch).unwrap();
    assert_eq!(assigned.iter().filter(|answer| answer.is_err()).count(), 8);
    let questions = vec![Question::default(), Question::with_id("", NEWS), Question::new(NEWS)];
    let checked = news.check(questions, &CheckOptions::default()).unwrap();
    assert!(checked[0].is_err() && checked[1].is_err() && checked[2].as_ref().unwrap().duplicate());
    let got = news.get(&["", "good", "none"], Want::Text).unwrap();
    assert!(got[0].is_err() && got[2].as_ref().unwrap().is_none());
    assert_eq!(got[1].as_ref().unwrap().as_ref().unwrap().record.text.as_deref(), Some(NEWS));
    let removed = news.remove(&["none", "", "good"]).unwrap();
    assert!(
        removed[1].is_err()
            && removed[0].as_ref().unwrap().is_none()
            && removed[2].as_ref().unwrap().is_some()
    );
    assert_eq!(news.count().unwrap().documents, 0);
}

#[test]
fn a_large_batch_is_answered_in_order() {
    let news = collection();
    let batch: Vec<_> =
        (0..500u64).map(|i| numbered(&i.to_string(), i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    add(&news, batch.clone(), When::Replace);
    let ask = |document: Document| Question { fingerprint: document.fingerprint, ..Question::default() };
    let checked = news.check(batch.into_iter().map(ask).collect(), &CheckOptions::default()).unwrap();
    for (i, checked) in checked.into_iter().enumerate() {
        assert_eq!(checked.unwrap().matches[0].id, i.to_string());
    }
}

#[test]
fn limits_filters_and_distances() {
    let news = collection();
    let document = |i: u64| Document {
        source: Some(if i.is_multiple_of(10) { "few" } else { "many" }.into()),
        ..numbered(&format!("{i:03}"), (1 << (i % 4)) - 1)
    };
    add(&news, (0..200).map(document).collect(), When::Replace);
    let ask = |limit, filter: &str, distance| {
        let question = Question { fingerprint: Some(Fingerprint::from(0)), limit, ..Question::default() };
        let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
        let options = CheckOptions { filter, distance, ..CheckOptions::default() };
        let checked = news.check(vec![question], &options).unwrap().pop().unwrap().unwrap();
        (checked.matches.len(), checked.more)
    };
    assert_eq!(ask(200, "", None), (200, false));
    assert_eq!(ask(199, "", None), (199, true));
    assert_eq!(ask(0, "", None), (1, true));
    assert_eq!(ask(20, "source=few", None), (20, false));
    assert_eq!(ask(19, "source=few", None), (19, true));
    assert_eq!(ask(200, "", Some(1)), (100, false));
    let too_far = CheckOptions { distance: Some(4), ..CheckOptions::default() };
    let refused = news.check(Vec::new(), &too_far).unwrap_err();
    assert!(matches!(refused, DetectError::Store(StoreError::TooFar { asked: 4, built: 3 })));
}

#[test]
fn evidence_needs_both_texts() {
    let news = collection();
    let simhash = check(&news, Question::new(NEWS)).simhash.unwrap();
    add(
        &news,
        vec![Document::new("text", NEWS), Document::of_fingerprint("bits", simhash.clone())],
        When::Replace,
    );
    let options = CheckOptions { evidence: Evidence::Passages, ..CheckOptions::default() };
    let bits = Question { fingerprint: Some(simhash), ..Question::default() };
    let checked = news.check(vec![Question::new(NEWS), bits], &options).unwrap();
    let of_text = &checked[0].as_ref().unwrap().matches;
    assert_eq!(
        (of_text[0].jaccard, of_text[0].containment, of_text[0].no_evidence),
        (Some(1.0), Some(1.0), None)
    );
    assert_eq!(of_text[0].passages.as_ref().unwrap()[0].a.start, 0);
    assert_eq!((of_text[1].jaccard, of_text[1].no_evidence), (None, Some(NoEvidence::MatchWithoutText)));
    let of_bits = &checked[1].as_ref().unwrap().matches;
    assert!(of_bits.iter().all(|found| found.no_evidence == Some(NoEvidence::AskedWithoutText)));
}

/// The cheap ways to evidence give what comparing gives.
#[test]
fn evidence_is_that_of_compare() {
    let news = collection();
    let edited = NEWS.replace("正式开馆", "对外开放");
    let fingerprinter = news.fingerprinter();
    let (a, b) = (fingerprinter.prepare(edited.as_str()), fingerprinter.prepare(NEWS));
    let whole = fingerprinter.compare(&a, &b);
    assert_eq!(fingerprinter.shared_passages(&a, &b), whole.passages);
    add(&news, vec![Document::new("1", NEWS)], When::Replace);
    let simhash = whole.simhash.b.clone();
    let mut found = crate::detector::Match::clone(
        &check(&news, Question { fingerprint: simhash, ..Question::default() }).matches[0],
    );
    let pairs = vec![crate::detector::evidence::Pair { text: Some(&edited), found: &mut found }];
    news.add_evidence(pairs, Evidence::Passages).unwrap();
    assert_eq!(found.jaccard, Some(whole.shingles.jaccard()));
    assert_eq!(found.containment, Some(whole.containment()));
    assert_eq!(found.passages, Some(whole.passages));
}
