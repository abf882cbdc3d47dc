//! Indices of articles that are not ours: with and without the four fields, and articles that change.

use super::subject::{call, new_prefix, post, put};
use leitong_store::StoreError;
use leitong_store::opensearch::articles::{Articles, Fields, Filled, Near, Which};

/// The texts of these articles say what their fingerprint is.
fn fingerprint(text: &str) -> Option<u64> {
    u64::from_str_radix(text.lines().last()?.strip_prefix("print ")?, 16).ok()
}

fn fields() -> Fields {
    Fields {
        text: vec!["title".into(), "body.content".into()],
        published: Some("publishDate".into()),
        ..Fields::default()
    }
}

fn article(print: u64, date: &str) -> String {
    format!(r#"{{"title":"标题","body":{{"content":"print {print:x}"}},"publishDate":"{date}"}}"#)
}

fn ids(found: &[Near]) -> Vec<(&str, u32)> {
    found.iter().map(|near| (near.id.as_str(), near.distance)).collect()
}

pub(crate) fn all(url: &str) {
    let [plain, numbered] = [(); 2].map(|()| format!("articles-{}", new_prefix()));
    let own = r#""title":{"type":"text"},"body":{"properties":{"content":{"type":"text"}}},"publishDate":{"type":"date"}"#;
    put(url, &plain, &format!(r#"{{"mappings":{{"properties":{{{own}}}}}}}"#));
    let four = ["A", "B", "C", "D"].map(|part| format!(r#""simHash{part}":{{"type":"short"}}"#)).join(",");
    put(url, &numbered, &format!(r#"{{"mappings":{{"properties":{{{own},{four}}}}}}}"#));
    let address = format!("opensearch+{url}");
    let articles = Articles::open(&address, fields()).unwrap();
    let base = 0xfedc_ba98_7654_3210_u64;
    for (index, id, print, date) in [
        (&plain, "same", base, "2026-01-01"),
        (&plain, "far", base ^ 0xf, "2026-01-05"),
        (&plain, "three", base ^ 1 << 63 ^ 1 << 40 ^ 1, "2026-01-03"),
        (&numbered, "other/1", base ^ 1 << 15, "2026-01-02"),
    ] {
        put(url, &format!("{index}/_doc/{}", id.replace('/', "%2F")), &article(print, date));
    }
    put(url, &format!("{plain}/_doc/short"), r#"{"title":"no print"}"#);
    for (index, read) in [(&plain, 4), (&numbered, 1)] {
        articles.attach(index).unwrap();
        articles.attach(index).expect("a second time changes nothing");
        let filled = articles.fill(index, Which::Missing, &fingerprint).unwrap();
        assert_eq!(filled, Filled { read, written: read, missed: 0 }, "{index}");
        let again = articles.fill(index, Which::All, &fingerprint).unwrap();
        assert_eq!(again, Filled { read, written: 0, missed: 0 }, "{index}");
    }
    let source = call("GET", url, &format!("{numbered}/_source/other%2F1"));
    assert!(source.contains(r#""simHashA":-292"#), "as other programs write them: {source}");
    let both = [plain.as_str(), numbered.as_str()];
    let near = |print: u64, within: u32| articles.near(&both, print, within).unwrap();
    assert_eq!(ids(&near(base, 3)), [("three", 3), ("other/1", 1), ("same", 0)], "the newest first");
    assert_eq!(ids(&near(base, 1)), [("other/1", 1), ("same", 0)]);
    assert!(matches!(articles.near(&both, base, 4), Err(StoreError::TooFar { asked: 4, .. })));
    changes(url, &articles, &plain, base);
    refusals(url, &articles, &address);
    both.iter().for_each(|index| drop(call("DELETE", url, index)));
}

/// Articles that are changed, written anew and removed.
fn changes(url: &str, articles: &Articles, index: &str, base: u64) {
    let near = |print: u64| articles.near(&[index], print, 0).unwrap();
    let moved = base.rotate_left(20);
    let change = format!(r#"{{"doc":{{"body":{{"content":"print {moved:x}"}}}}}}"#);
    post(url, &format!("{index}/_update/same"), &change);
    let fill = |which| articles.fill(index, which, &fingerprint).unwrap().written;
    assert_eq!((fill(Which::Missing), near(moved).len()), (0, 0), "its old fingerprint is still there");
    assert_eq!((fill(Which::Ids(&["same", "none"])), ids(&near(moved))), (1, vec![("same", 0)]));
    put(url, &format!("{index}/_doc/same"), &article(base, "2026-02-01"));
    assert_eq!(near(moved).len() + near(base).len(), 0, "an article that is written anew has no fingerprint");
    assert_eq!((fill(Which::Missing), ids(&near(base))), (1, vec![("same", 0)]));
    post(url, &format!("{index}/_update/same"), &change);
    assert_eq!((fill(Which::All), near(base).len(), near(moved).len()), (1, 0, 1));
    post(url, &format!("{index}/_update/same"), r#"{"doc":{"body":{"content":"nothing"}}}"#);
    assert_eq!((fill(Which::All), near(moved).len()), (1, 0), "without a fingerprint nothing finds it");
    call("DELETE", url, &format!("{index}/_doc/three"));
    assert_eq!(articles.near(&[index], base ^ 1 << 63 ^ 1 << 40 ^ 1, 0).unwrap(), []);
}

fn refusals(url: &str, articles: &Articles, address: &str) {
    match articles.attach("articles-none") {
        Err(error @ StoreError::Refused { .. }) => {
            assert!(error.to_string().contains("check its name"), "{error}");
        }
        other => panic!("an index that is not there: {other:?}"),
    }
    let index = format!("articles-{}", new_prefix());
    put(url, &index, r#"{"mappings":{"properties":{"title":{"type":"text"}}}}"#);
    let wrong = Fields { digest: "title".into(), ..fields() };
    match Articles::open(address, wrong).unwrap().attach(&index) {
        Err(error @ StoreError::Foreign { .. }) => assert!(error.to_string().contains("title"), "{error}"),
        other => panic!("a field of another type: {other:?}"),
    }
    call("DELETE", url, &index);
}
