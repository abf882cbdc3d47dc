//! What a server refuses, said in words with what to do about it.

use super::subject::{call, clear, new_address, new_prefix, open, post, put};
use leitong_fingerprint::Fingerprint;
use leitong_store::opensearch::{OpenSearch, Options};
use leitong_store::{
    Addition, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store, StoreError, Want,
};
use std::time::{Duration, Instant};

fn collection(name: &str) -> Collection {
    Collection { name: name.into(), recipe: [1; 16], about: String::new(), spaces: Vec::new() }
}

fn addition(id: &str) -> Addition {
    Addition::new(Record { id: id.into(), ..Record::default() }, Policy::Replace)
}

/// The text of an error of a kind, which must name its remedy.
macro_rules! says {
    ($result:expr, $kind:pat, $words:expr) => {
        match $result {
            Err(error @ $kind) => assert!(error.to_string().contains($words), "unclear: {error}"),
            other => panic!("expected {}, not {:?}", stringify!($kind), other.map(|_| ())),
        }
    };
}

pub(crate) fn all(url: &str) {
    nobody_there();
    somebody_else();
    somebody_else_later();
    busy_host(url);
    other_mappings(url);
    missing_index(url);
    read_only_index(url);
    index_on_its_way(url);
}

fn nobody_there() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("opensearch+http://me:secret@{free}");
    says!(
        OpenSearch::open(&address, Options::default()),
        StoreError::Unreachable { .. },
        "check that it runs"
    );
}

/// A server that answers every request the same way.
fn somebody_else() {
    for (status, body, words) in [
        ("200 OK", "hello", "neither OpenSearch nor Elasticsearch"),
        ("401 Unauthorized", "{}", "another user or password"),
        ("403 Forbidden", r#"{"error":{"type":"security_exception","reason":"no"}}"#, "may not do that"),
        ("200 OK", r#"{"version":{"number":"6.8.23"}}"#, "too old"),
        ("200 OK", r#"{"version":{"number":"7.9.3"}}"#, "too old"),
    ] {
        let address = format!("opensearch+http://me:secret@{}", stub(vec![(status, body)]));
        let error = OpenSearch::open(&address, Options::default()).err().unwrap().to_string();
        assert!(error.contains(words) && !error.contains("secret"), "{status} {body}: {error}");
    }
}

/// Somebody who is no longer who answered first: a proxy with a page of its own.
fn somebody_else_later() {
    let first = ("200 OK", r#"{"version":{"number":"8.1.0"}}"#);
    for body in ["<html>hello</html>", "", "[]", r#"{"docs":1}"#] {
        let store = open(&format!("opensearch+http://{}", stub(vec![first, ("200 OK", body)])));
        let got = store.get("a", &["x"], Want::Record);
        assert!(matches!(got, Err(StoreError::Foreign { .. })), "{body}: {got:?}");
    }
}

/// One of two hosts is a proxy with nobody behind it, or a node that is no part of its cluster yet: the other is asked.
fn busy_host(url: &str) {
    // It answers as a node of the same cluster.
    let first = match call("GET", url, "").contains(r#""opensearch""#) {
        true => ("200 OK", r#"{"version":{"distribution":"opensearch","number":"2.7.0"}}"#),
        false => ("200 OK", r#"{"version":{"number":"8.1.0"}}"#),
    };
    let (busy, many) = (("503 Service Unavailable", "{}"), ("429 Too Many Requests", "{}"));
    let lost = r#"{"docs":[{"error":{"type":"node_not_connected_exception","reason":"not connected"}}]}"#;
    for answers in [vec![busy], vec![first, busy], vec![first, many], vec![first, ("200 OK", lost)]] {
        let (stub, address) = (stub(answers), new_address(url));
        let store = open(&address.replace("http://", &format!("http://{stub},")));
        store.create(&collection("a")).unwrap();
        assert_eq!(store.count("a").unwrap().documents, 0);
        clear(url, &address, &store);
    }
}

/// Answers one request after the other, the last answer again and again.
fn stub(answers: Vec<(&'static str, &'static str)>) -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().take(9).enumerate() {
            let Ok(mut stream) = stream else { return };
            let (status, body) = answers[number.min(answers.len() - 1)];
            _ = stream.read(&mut [0; 4096]);
            let length = body.len();
            _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

/// Indices of our names that are not ours.
fn other_mappings(url: &str) {
    let prefix = new_prefix();
    let store = open(&format!("opensearch+{url}/{prefix}"));
    put(url, &format!("{prefix}-collections"), r#"{"mappings":{"properties":{"title":{"type":"text"}}}}"#);
    says!(store.create(&collection("a")), StoreError::Foreign { .. }, "choose another prefix");
    call("DELETE", url, &format!("{prefix}-collections"));
    let alias = format!(r#"{{"aliases":{{"{prefix}-collections":{{}}}}}}"#);
    put(url, &format!("{prefix}-collections-documents"), &alias);
    says!(store.create(&collection("a")), StoreError::Foreign { .. }, "choose another prefix");
    call("DELETE", url, &format!("{prefix}-collections-documents"));
    call("DELETE", url, &format!("_index_template/{prefix}"));
}

/// An index that somebody has taken away does not come back by itself.
fn missing_index(url: &str) {
    let address = new_address(url);
    let store = open(&address);
    store.create(&collection("a")).unwrap();
    store.add("a", vec![addition("x")]).unwrap();
    let prefix = address.rsplit('/').next().unwrap().split('?').next().unwrap();
    call("DELETE", url, &format!("{prefix}-1-documents"));
    says!(store.add("a", vec![addition("y")]), StoreError::Foreign { .. }, "restore it");
    says!(store.count("a"), StoreError::Foreign { .. }, "restore it");
    assert!(store.destroy("a").unwrap(), "what is left of it can be removed");
    store.create(&collection("a")).unwrap();
    assert_eq!(store.count("a").unwrap().documents, 0);
    clear(url, &address, &store);
}

fn read_only_index(url: &str) {
    let address = new_address(url);
    let store = open(&address);
    store.create(&collection("a")).unwrap();
    store.add("a", vec![addition("x")]).unwrap();
    let prefix = address.rsplit('/').next().unwrap().split('?').next().unwrap();
    let settings = format!("{prefix}-1-documents/_settings");
    put(url, &settings, r#"{"index.blocks.read_only_allow_delete":true}"#);
    says!(store.add("a", vec![addition("y")]), StoreError::Refused { .. }, "make room");
    assert_eq!(store.count("a").unwrap().documents, 1, "what is there can be read");
    put(url, &settings, r#"{"index.blocks.read_only_allow_delete":null}"#);
    put(url, &settings, r#"{"index.blocks.write":true}"#);
    says!(store.add("a", vec![addition("y")]), StoreError::Refused { .. }, "lift the block");
    put(url, &settings, r#"{"index.blocks.write":null}"#);
    store.add("a", vec![addition("y")]).unwrap();
    assert_eq!(store.count("a").unwrap().documents, 2, "as if nothing had been");
    clear(url, &address, &store);
}

/// An index that no node has for a while, as when one is lost or the disk is slow: it is waited for, whatever is asked.
fn index_on_its_way(url: &str) {
    const PRINT: u64 = 0x1234_5678_9abc_def0;
    let near = |print: u64| (Space::DOCUMENTS, Fingerprint::from(print));
    let address = new_address(url);
    let store = open(&address);
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 }];
    store.create(&Collection { spaces, ..collection("a") }).unwrap();
    let mut first = addition("x");
    first.record.signals.near.push(near(PRINT));
    store.add("a", vec![first, addition("y")]).unwrap();
    let prefix = address.rsplit('/').next().unwrap().split('?').next().unwrap();
    let index = format!("{prefix}-1-documents");
    let settings = format!("{index}/_settings");
    let (space, fingerprint) = near(PRINT ^ 1);
    let query =
        Query { probes: vec![Probe::Near { space, fingerprint, within: 3 }], limit: 9, ..Query::default() };
    type Call<'a> = &'a dyn Fn() -> Result<usize, StoreError>;
    let calls: [(&str, Call<'_>); 5] = [
        ("get", &|| Ok(store.get("a", &["x"], Want::Record)?.iter().flatten().count())),
        ("find", &|| Ok(store.find("a", std::slice::from_ref(&query))?[0].candidates.len())),
        ("scan", &|| Ok(store.scan("a", None, 9, Want::Record)?.len() - 1)),
        ("add", &|| Ok(store.add("a", vec![addition("x")])?.len())),
        ("remove", &|| Ok(store.remove("a", &["y"])?.iter().flatten().count())),
    ];
    for (name, call) in calls {
        let done = [
            post(url, &format!("{index}/_close"), ""),
            put(url, &settings, r#"{"index.routing.allocation.enable":"none"}"#),
            post(url, &format!("{index}/_open?wait_for_active_shards=0"), ""),
        ];
        assert!(done.iter().all(|answer| answer.contains(r#""acknowledged":true"#)), "{done:?}");
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(3));
                put(url, &settings, r#"{"index.routing.allocation.enable":"all"}"#);
            });
            assert_eq!(call().map_err(|error| error.to_string()), Ok(1), "{name}");
        });
        assert!(start.elapsed() > Duration::from_secs(2), "{name} did not have to wait");
    }
    clear(url, &address, &store);
}
