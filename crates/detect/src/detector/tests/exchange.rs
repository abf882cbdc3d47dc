//! Lines of JSON: out, in, and what is wrong with them.

use super::*;
use crate::Recipe;
use crate::detector::{DocumentError, exchange::Imported};
use leitong_store::{Addition, Key, Policy, Record, Signals, Space, Store, StoreError, Want};
use proptest::prelude::*;
use serde_json::{Map, json};

fn export(collection: &Collection) -> Vec<u8> {
    let mut out = Vec::new();
    collection.detector().export(collection.name(), &mut out, &mut |_| {}).unwrap();
    out
}

fn import(collection: &Collection, lines: &[u8]) -> (Imported, Vec<(u64, DocumentError)>) {
    let mut bad = Vec::new();
    let done =
        collection.import(&mut &*lines, &mut |line, error| bad.push((line, error)), &mut |_| {}).unwrap();
    (done, bad)
}

fn records(store: &dyn Store, name: &str) -> Vec<Record> {
    let all = store.scan(name, None, usize::MAX, Want::Text).unwrap();
    all.into_iter().map(|stored| stored.record).collect()
}

fn filled() -> Collection {
    let news = collection();
    let metadata: Map<_, _> = [("标签".to_owned(), json!(["体育", { "深": 1 }]))].into_iter().collect();
    let whole = Document {
        title: Some("开馆".into()),
        source: Some("新华社".into()),
        published: Some(-5),
        expires: Some(i64::MAX),
        metadata,
        ..Document::new("1\n\"", NEWS)
    };
    news.assign(vec![whole, Document::new("2", NEWS), numbered("3", 7), Document::new("4", "好")]).unwrap();
    add(&news, vec![Document::new("5", OTHER)], When::Replace);
    news
}

#[test]
fn what_is_exported_is_imported() {
    let news = filled();
    let lines = export(&news);
    let (done, bad) = import(&collection(), &lines);
    assert_eq!((done, bad.len()), (Imported { kept: 5, made: 0, bad: 0 }, 0));
    let copy = collection();
    import(&copy, &lines);
    assert_eq!(export(&copy), lines);
    // Which documents are copies of one another is found out anew.
    let without_origins = |collection: &Collection| {
        let mut all = records(&**collection.detector().store(), "news");
        all.iter_mut().for_each(|record| record.origin = None);
        all
    };
    assert_eq!(without_origins(&copy), without_origins(&news));
    // Again, over itself.
    import(&copy, &lines);
    assert_eq!(export(&copy), lines);
}

#[test]
fn another_recipe_makes_fingerprints_anew() {
    let lines = export(&filled());
    let settings = CollectionSettings::new(Recipe::built_in("leitong-words-1").unwrap());
    let other = detector().create("other", &settings).unwrap();
    let (done, bad) = import(&other, &lines);
    assert_eq!(done, Imported { kept: 0, made: 4, bad: 1 });
    assert!(matches!(bad[..], [(3, DocumentError::OtherRecipe)]));
    let expected = other.fingerprinter().simhash64(NEWS, &mut crate::Scratch::default()).unwrap();
    let record = &records(&**other.detector().store(), "other")[0];
    assert_eq!(record.signals.near(Space::DOCUMENTS).unwrap().low64(), expected);
    assert_eq!((record.cluster.as_ref(), record.source.as_deref()), (None, Some("新华社")));
}

#[test]
fn bad_lines_are_told_and_the_rest_goes_on() {
    let news = collection();
    let recipe = news.recipe_digest();
    let lines = format!(
        "{{\"id\":\"1\",\"text\":\"好\",\"published\":\"2024-05-01\",\"more\":1}}\n\n{{\n[]\n{{\"id\":\"\",\"text\":\"x\"}}\n\
         {{\"id\":\"2\"}}\n{{\"id\":\"3\",\"text\":\"x\",\"published\":\"gestern\"}}\n\
         {{\"id\":\"4\",\"recipe\":\"{recipe}\",\"simhash\":\"ff\"}}\n{{\"id\":\"5\",\"recipe\":\"{recipe}\",\"exact\":\"zz\"}}\n\
         {{\"id\":\"1\",\"text\":\"新\"}}"
    );
    let (done, bad) = import(&news, lines.as_bytes());
    assert_eq!(done, Imported { kept: 0, made: 2, bad: 7 });
    let numbers: Vec<u64> = bad.iter().map(|(line, _)| *line).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7, 8, 9], "in the order of the lines");
    let kept = records(&**news.detector().store(), "news");
    assert_eq!((kept.len(), kept[0].text.as_deref()), (1, Some("新")));
}

/// Signals that no store takes are a fault of their line.
#[test]
fn spaces_that_are_not_there_or_come_twice() {
    let news = collection();
    let recipe = news.recipe_digest();
    let near = |id: &str, near: &str| {
        let signals = format!(r#"{{"near":[{near}],"keys":[]}}"#);
        format!("{{\"id\":\"{id}\",\"recipe\":\"{recipe}\",\"signals\":{signals}}}\n")
    };
    let own = r#"[0,"0000000000000001"]"#;
    let lines = [
        near("strange", r#"[9,"0000000000000001"]"#),
        near("twice", &format!("{own},{own}")),
        near("good", own),
        near("narrow", r#"[1,"00000001"]"#),
    ];
    let (done, bad) = import(&news, lines.concat().as_bytes());
    assert_eq!(done, Imported { kept: 1, made: 0, bad: 3 });
    assert!(matches!(
        bad[..],
        [
            (1, DocumentError::Field(StoreError::NoSpace { space: Space(9), .. })),
            (2, DocumentError::Field(StoreError::Twice { space: Space(0) })),
            (4, DocumentError::Width { expected: 64, found: 32 }),
        ]
    ));
}

#[test]
fn fields_that_mean_nothing_here_are_metadata() {
    let news = collection();
    let recipe = news.recipe_digest();
    let lines = format!(
        r#"{{"id":"1","text":"好","n":5,"metadata":{{"m":1}},"list":[{{"a":null}}]}}
{{"id":"2","text":"好","n":5,"metadata":{{"n":1}}}}
{{"id":"3","text":"好","n":5,"recipe":"{recipe}"}}
{{"id":"4","text":"好","n":5,"recipe":"{}"}}
"#,
        "0".repeat(32)
    );
    let (done, bad) = import(&news, lines.as_bytes());
    assert_eq!(done, Imported { kept: 1, made: 2, bad: 1 });
    assert!(matches!(bad[..], [(2, DocumentError::Line(_))]), "{bad:?}");
    let kept = records(&**news.detector().store(), "news");
    let metadata: Vec<_> =
        kept.into_iter().map(|record| serde_json::Value::Object(record.metadata)).collect();
    let all = json!({ "m": 1, "n": 5, "list": [{ "a": null }] });
    assert_eq!(metadata, [all, json!({}), json!({})], "an export has no field that means nothing");
}

#[test]
fn metadata_that_could_not_be_read_back_is_a_bad_line() {
    let news = collection();
    let recipe = news.recipe_digest();
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let lines = format!(
        r#"{{"id":"1","text":"好","n":{}}}
{{"id":"2","recipe":"{recipe}","metadata":{{"n":{}}}}}
{{"id":"3","text":"好","n":{}}}
{{"id":"4","text":"好","n":{}}}
"#,
        deep(110),
        deep(110),
        deep(10_000),
        deep(90),
    );
    let (done, bad) = import(&news, lines.as_bytes());
    assert_eq!(done, Imported { kept: 0, made: 1, bad: 3 });
    let deep = |error: &DocumentError| matches!(error, DocumentError::Field(StoreError::TooDeep { .. }));
    assert!(deep(&bad[0].1) && deep(&bad[1].1) && matches!(bad[2].1, DocumentError::Line(_)), "{bad:?}");
    let lines = export(&news);
    assert_eq!(import(&collection(), &lines).0, Imported { kept: 1, made: 0, bad: 0 });
}

/// The written form is a stored format: a change needs a new number.
#[test]
fn lines_are_frozen() {
    let store = Memory::default();
    let collection = leitong_store::Collection {
        name: "c".into(),
        recipe: [0xab; 16],
        about: "{}".into(),
        spaces: vec![leitong_store::SpaceSettings { space: Space(0), width: 64, within: 3 }],
    };
    store.create(&collection).unwrap();
    let signals = Signals {
        near: vec![(Space(0), Fingerprint::from(0x12))],
        keys: vec![Key { kind: 1, value: 5 }, Key { kind: 7, value: 9 }],
        exact: Some(5),
        ..Signals::default()
    };
    let record = Record { id: "i".into(), signals, published: Some(1), ..Record::default() };
    let plain = Record { id: "j".into(), text: Some("t".into()), cluster: None, ..Record::default() };
    let additions = [record, plain].map(|record| Addition::new(record, Policy::Replace));
    store.add("c", additions.into()).unwrap();
    let mut out = Vec::new();
    Detector::new(Arc::new(store)).export("c", &mut out, &mut |_| {}).unwrap();
    let expected = r#"{"id":"i","published":1,"recipe":"abababababababababababababababab","simhash":"0000000000000012","exact":"00000000000000000000000000000005","signals":{"near":[[0,"0000000000000012"]],"keys":[[1,"0000000000000005"],[7,"0000000000000009"]]}}
{"id":"j","text":"t","recipe":"abababababababababababababababab"}
"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

fn any_record() -> impl Strategy<Value = Record> {
    let near = prop::option::of(any::<u64>().prop_map(Fingerprint::from));
    let cluster = prop::option::of(("[ab]", 0u32..4));
    let key = (any::<u8>(), any::<u64>()).prop_map(|(kind, value)| Key { kind, value });
    let texts = prop::array::uniform3(prop::option::of(any::<String>()));
    let times = prop::array::uniform2(prop::option::of(any::<i64>()));
    (
        "[ab]",
        near,
        prop::option::of(any::<u128>()),
        cluster,
        prop::collection::vec(key, 0..3),
        texts,
        times,
        any::<bool>(),
    )
        .prop_map(
            |(id, near, exact, cluster, keys, [text, title, source], [published, expires], derived)| {
                let mut record = Record { id, text, title, source, published, expires, ..Record::default() };
                record.signals = crate::detector::signals::signals_of(near, exact);
                crate::detector::signals::set_cluster(&mut record, cluster);
                if !derived {
                    record.signals.keys = keys;
                }
                record
            },
        )
}

proptest! {
    #[test]
    fn any_record_survives_as_a_line(record in any_record()) {
        let line = serde_json::to_string(&crate::detector::exchange::Line::of(record.clone())).unwrap();
        let read: crate::detector::exchange::Line = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(read.into_record().unwrap(), record);
    }
}
