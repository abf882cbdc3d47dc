//! Filters against a plain evaluation.

use crate::detector::{Filter, FilterError, time};
use leitong_store::Record;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn record(metadata: Value) -> Record {
    let Value::Object(metadata) = metadata else { panic!("not an object") };
    Record {
        id: "新闻-7".into(),
        title: Some("开馆".into()),
        published: time::seconds("2024-05-01T10:00:00Z"),
        metadata,
        ..Record::default()
    }
}

#[test]
fn examples() {
    let record = record(json!({
        "a": { "b": { "c": 10 } }, "a.b": "dotted", "tags": ["体育", "财经"], "draft": false, "none": null, "score": 2.5,
        "big": 9_007_199_254_740_993_i64, "text": "10"
    }));
    let holds = |filter: &str| Filter::parse(filter).unwrap().holds(&record);
    for filter in [
        "id=新闻-7",
        "id ~ 新闻",
        "title",
        "source!=新华社",
        "published",
        "published=2024-05-01",
        "published<=2024-05-01",
        "published >= 2024-05-01T18:00:00+08:00",
        "published<2024-05-01T10:00:01Z",
        "published!=2024-05-02",
        "expires!=0",
        "a.b.c>9",
        "a.b.c=10.0",
        "a.b=dotted",
        "a",
        "tags=体育",
        "tags~财",
        "tags!=科技",
        "draft=false",
        "draft",
        "none!=1",
        "score>2",
        "score<=2.5",
        "big=9007199254740993",
        "text<9",
        "score~.5",
    ] {
        assert!(holds(filter), "{filter}");
    }
    for filter in [
        "id=新闻",
        "source",
        "source=",
        "published>2024-05-01",
        "published<2024-05-01",
        "published!=2024-05-01",
        "expires<99",
        "a.b.c<9",
        "a.b.d",
        "a.x.c",
        "tags=科技",
        "tags!=体育",
        "none",
        "draft=true",
        "score=x",
        "big=9007199254740992",
        "a=1",
    ] {
        assert!(!holds(filter), "{filter}");
    }
    assert!(Filter::parse_all(["title=开馆", "a.b.c=10"]).unwrap().holds(&record));
    assert!(!Filter::parse_all(["title=开馆", "a.b.c=11"]).unwrap().holds(&record));
}

#[test]
fn what_is_no_filter() {
    for text in ["", "  ", "=x", " < 3"] {
        assert_eq!(Filter::parse(text), Err(FilterError::NoField(text.into())));
    }
    for text in ["a!b=c", "a!", "!", "! a", "a! =b"] {
        assert_eq!(Filter::parse(text), Err(FilterError::NoOperator(text.into())), "{text}");
    }
    let refused = Filter::parse("a!b=c").unwrap_err().to_string();
    assert!(refused.contains("a!b=c") && refused.contains("!="), "{refused}");
    assert!(matches!(Filter::parse("published>gestern"), Err(FilterError::Time { .. })));
    assert!(matches!(Filter::parse("published~2024"), Err(FilterError::TextInTime(_))));
}

/// Every value a path leads to, lists taken apart.
fn values(metadata: &Map<String, Value>, path: &[&str]) -> Vec<Value> {
    let mut found = Value::Object(metadata.clone());
    for key in path {
        found = found.get(*key).cloned().unwrap_or(Value::Null);
    }
    match found {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

fn naive(metadata: &Map<String, Value>, path: &[&str], operator: &str, wanted: &str) -> bool {
    let test = |value: &Value| {
        let (number, other) = (value.as_f64(), wanted.parse::<f64>().ok());
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Object(_) | Value::Null | Value::Array(_) => return false,
            other => other.to_string(),
        };
        match (operator, number) {
            ("~", _) => text.contains(wanted),
            ("=" | "!=", Some(number)) => other == Some(number),
            ("<", Some(number)) => other.is_some_and(|other| number < other),
            ("<=", Some(number)) => other.is_some_and(|other| number <= other),
            (">", Some(number)) => other.is_some_and(|other| number > other),
            (_, Some(number)) => other.is_some_and(|other| number >= other),
            ("=" | "!=", None) => text == wanted,
            ("<", None) => *text < *wanted,
            ("<=", None) => *text <= *wanted,
            (">", None) => *text > *wanted,
            (_, None) => *text >= *wanted,
        }
    };
    let any = values(metadata, path).iter().any(test);
    if operator == "!=" { !any } else { any }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-12i64..12).prop_map(Value::from),
        (-24i64..24).prop_map(|half| Value::from(half as f64 / 2.0)),
        "[ab1甲]{0,3}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(scalar(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[xy]", inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn filters_are_what_they_say(
        pairs in prop::collection::vec(("[xy]", value()), 0..3),
        path in prop::collection::vec(prop::sample::select(vec!["x", "y"]), 1..3),
        operator in prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">=", "~"]),
        wanted in prop_oneof!["[ab1甲]{0,3}", "-?[0-9]{1,2}", "-?[0-9][.]5", Just("true".to_owned())],
    ) {
        let metadata: Map<String, Value> = pairs.into_iter().collect();
        let record = Record { metadata: metadata.clone(), ..Record::default() };
        let filter = Filter::parse(&format!("{} {operator} {wanted}", path.join("."))).unwrap();
        prop_assert_eq!(filter.holds(&record), naive(&metadata, &path, operator, &wanted), "{:?} {:?}", filter, metadata);
        let exists = Filter::parse(&path.join(".")).unwrap();
        let mut at = Value::Object(metadata);
        for key in &path { at = at.get(*key).cloned().unwrap_or(Value::Null); }
        prop_assert_eq!(exists.holds(&record), !at.is_null());
    }
}
