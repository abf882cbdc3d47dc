//! What servers refuse, and what becomes of calls when one goes away: clear errors, and nothing lost.

use super::cluster::Running;
use super::{assert_sound, open, server};
use crate::servers::Redis as Server;
use leitong_store::redis::{Options, Redis};
use leitong_store::{Addition, Collection, Key, Mark, Policy, Probe, Query, Record, Store, StoreError, Want};
use std::io::{Read, Write};
use std::net::TcpListener;

const NAME: &str = "troubles";

fn collection() -> Collection {
    Collection { name: NAME.into(), recipe: [6; 16], about: String::new(), spaces: Vec::new() }
}

fn addition(number: u64) -> Addition {
    let mut record = Record { id: number.to_string(), ..Record::default() };
    record.signals.keys.push(Key { kind: 0, value: number });
    Addition::new(record, Policy::New)
}

fn address(server: &Server, secret: &str, options: &str) -> String {
    format!("redis://{secret}127.0.0.1:{}{options}", server.port())
}

/// An error of a kind, which says a certain word and never the password.
macro_rules! assert_error {
    ($result:expr, $kind:pat, $word:literal) => {
        match $result {
            Err(error @ $kind) => {
                let text = error.to_string();
                assert!(text.contains($word), "without {:?}: {text}", $word);
                assert!(!text.contains("hunter2"), "with the password: {text}");
            }
            other => panic!("expected {}, not {other:?}", stringify!($kind)),
        }
    };
}

fn try_open(address: &str) -> Result<Redis, StoreError> {
    Redis::open(address, Options::default())
}

#[test]
fn passwords_and_permissions() {
    let Some(server) = server(&["--requirepass", "hunter2"]) else { return };
    assert_error!(try_open(&address(&server, "", "")), StoreError::Refused { .. }, "password");
    let wrong = address(&server, ":hunter2-not@", "");
    assert_error!(try_open(&wrong), StoreError::Refused { .. }, "password is wrong");
    let store = open(&address(&server, ":hunter2@", ""));
    store.create(&collection()).unwrap();
    store.add(NAME, vec![addition(1)]).unwrap();
    _ = server.ask(&[
        "-a", "hunter2", "ACL", "SETUSER", "reader", "on", ">hunter2", "~*", "+@read", "+info", "+script",
    ]);
    _ = server.ask(&["-a", "hunter2", "ACL", "SETUSER", "reader", "+evalsha", "+client"]);
    let reader = open(&address(&server, "reader:hunter2@", ""));
    assert_eq!(reader.count(NAME).unwrap().documents, 1);
    assert_error!(
        reader.create(&Collection { name: "b".into(), ..collection() }),
        StoreError::Refused { .. },
        "may not"
    );
    assert_error!(reader.add(NAME, vec![addition(2)]), StoreError::Refused { .. }, "(");
    assert_eq!(store.count(NAME).unwrap().documents, 1);
}

#[test]
fn a_replica_takes_no_changes() {
    let Some(master) = server(&[]) else { return };
    let port = master.port().to_string();
    let Some(replica) = server(&["--replicaof", "127.0.0.1", &port]) else { return };
    let store = open(&address(&master, "", "?wait=1&wait_ms=10000"));
    store.create(&collection()).unwrap();
    store.add(NAME, vec![addition(1)]).unwrap();
    let reader = open(&address(&replica, "", ""));
    assert_eq!(reader.count(NAME).unwrap().documents, 1, "it was waited for");
    assert_error!(reader.add(NAME, vec![addition(2)]), StoreError::Refused { .. }, "address of its master");
    let strict = open(&address(&master, "", "?wait=2&wait_ms=50"));
    assert_error!(strict.add(NAME, vec![addition(3)]), StoreError::Uncertain { .. }, "only 1 of 2 replicas");
}

#[test]
fn a_full_server_takes_no_additions() {
    let Some(server) = server(&["--maxmemory", "4mb"]) else { return };
    let store = open(&address(&server, "", ""));
    store.create(&collection()).unwrap();
    let mut stored = 0;
    let refused = loop {
        match store.add(NAME, (stored..stored + 100).map(addition).collect()) {
            Ok(_) => stored += 100,
            Err(error) => break Err::<(), _>(error),
        }
    };
    assert_error!(refused, StoreError::Refused { .. }, "memory is full");
    assert!(stored > 0 && store.count(NAME).unwrap().documents >= stored, "what was acknowledged is there");
    assert_sound(&store);
    let ids: Vec<String> = (0..stored).map(|number| number.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert!(store.remove(NAME, &ids).unwrap().iter().all(Option::is_some), "removing makes room");
    store.add(NAME, vec![addition(1 << 40)]).unwrap();
    assert_sound(&store);
}

#[test]
fn something_else_under_our_keys() {
    let Some(server) = server(&[]) else { return };
    _ = server.ask(&["SET", "{leitong}:collections", "not ours"]);
    let store = open(&address(&server, "", ""));
    assert_error!(store.collections(), StoreError::Foreign { .. }, "prefix");
    _ = server.ask(&["DEL", "{leitong}:collections"]);
    _ = server.ask(&["HSET", "{leitong}:collections", NAME, "not JSON"]);
    assert_error!(store.collections(), StoreError::Foreign { .. }, "cannot be read");
    let other = open(&address(&server, "", "?prefix=other"));
    other.create(&collection()).unwrap();
    other.add(NAME, vec![addition(1)]).unwrap();
    _ = server.ask(&["FLUSHALL"]);
    assert_error!(other.count(NAME), StoreError::NoCollection { .. }, "troubles");
}

#[test]
fn one_server_and_a_cluster_are_told_apart() {
    let Some(single) = server(&[]) else { return };
    let at_single = address(&single, "", "").replace("redis://", "redis-cluster://");
    assert_error!(try_open(&at_single), StoreError::Refused { .. }, "redis://");
    let Some(running) = Running::start(0) else { return };
    let node = address(&running.cluster.nodes()[0], "", "");
    assert_error!(try_open(&node), StoreError::Refused { .. }, "redis-cluster://");
}

#[test]
fn nobody_or_somebody_else_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        _ = stream.read(&mut [0; 4096]);
        _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    assert_error!(
        try_open(&format!("redis://127.0.0.1:{port}")),
        StoreError::Refused { .. },
        "as Redis does"
    );
    answering.join().unwrap();
    assert_error!(
        try_open(&format!("redis://127.0.0.1:{port}")),
        StoreError::Unreachable { .. },
        "check that it runs"
    );
    let old = pretend_version("4.0.14");
    assert_error!(try_open(&format!("redis://127.0.0.1:{old}")), StoreError::Refused { .. }, "too old");
}

/// A server that knows nothing but its version.
fn pretend_version(version: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 65536];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            let asked = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let info = format!("redis_version:{version}\r\nredis_mode:standalone\r\n");
            for command in asked.split("\r\n").filter(|part| part.starts_with('*')) {
                let answer = match asked.contains("INFO\r\n") && !asked.contains("SETINFO") {
                    true => format!("${}\r\n{info}\r\n", info.len()),
                    false => "+OK\r\n".to_owned(),
                };
                _ = (command, stream.write_all(answer.as_bytes()));
            }
        }
    });
    port
}

#[test]
fn a_restart_in_the_middle() {
    let Some(mut server) = server(&["--appendonly", "yes", "--appendfsync", "always"]) else { return };
    let store = open(&address(&server, "", ""));
    store.create(&collection()).unwrap();
    let query = Query { probes: vec![Probe::Key(Key { kind: 0, value: 1 })], limit: 1, ..Query::default() };
    for number in 0..5 {
        store.add(NAME, vec![addition(number)]).unwrap();
        server.kill();
        server.restart().unwrap();
        // Whoever reads notices nothing; whoever writes is told, or notices nothing.
        assert_eq!(store.count(NAME).unwrap().documents, number + 1);
        assert_eq!(
            store.find(NAME, std::slice::from_ref(&query)).unwrap()[0].candidates.len() as u64,
            number.min(1)
        );
    }
    server.kill();
    let quick = format!("redis://127.0.0.1:{}?timeout_ms=500", server.port());
    assert_error!(try_open(&quick), StoreError::Unreachable { .. }, "check that it runs");
    server.restart().unwrap();
    let quick = open(&quick);
    quick.add(NAME, vec![addition(9)]).unwrap();
    server.pause();
    assert_error!(quick.get(NAME, &["9"], Want::Record), StoreError::Unreachable { .. }, "does not answer");
    let added = quick.add(NAME, vec![addition(10)]);
    assert!(matches!(added, Err(StoreError::Unreachable { .. } | StoreError::Uncertain { .. })), "{added:?}");
    server.resume();
    assert!(quick.get(NAME, &["9"], Want::Record).unwrap()[0].is_some());
    assert_sound(&store);
}

#[test]
fn scripts_that_a_server_has_forgotten() {
    let Some(server) = server(&[]) else { return };
    let store = open(&address(&server, "", ""));
    store.create(&collection()).unwrap();
    for number in 0..3 {
        _ = server.ask(&["SCRIPT", "FLUSH"]);
        store.add(NAME, (0..4).map(|more| addition(number * 4 + more)).collect()).unwrap();
        _ = server.ask(&["SCRIPT", "FLUSH"]);
        assert!(store.get(NAME, &["0"], Want::Record).unwrap()[0].is_some());
    }
    assert_eq!(store.count(NAME).unwrap().documents, 12);
    assert_sound(&store);
}

/// What a failover can do to an index is noticed, and mended.
#[test]
fn an_index_that_does_not_fit_is_made_anew() {
    let Some(server) = server(&[]) else { return };
    let store = open(&address(&server, "", ""));
    store.create(&collection()).unwrap();
    let additions = (0..20).map(|number| {
        let mut addition = addition(number);
        addition.record.expires = Some(i64::MAX);
        addition.record.signals.outline.marks =
            vec![Mark { hash: 7, at: 0 }, Mark { hash: number as u32, at: 3 }];
        addition
    });
    store.add(NAME, additions.collect()).unwrap();
    let found = |value| {
        let query = Query { probes: vec![Probe::Key(Key { kind: 0, value })], limit: 9, ..Query::default() };
        store.find(NAME, &[query]).unwrap().remove(0).candidates.len()
    };
    let damages: [&[&str]; 5] = [
        &["EVAL", "for _, k in ipairs(redis.call('KEYS', 'leitong:1:k*')) do redis.call('DEL', k) end", "0"],
        &["EVAL", "redis.call('APPEND', 'leitong:1:m0', string.rep('x', 16))", "0"],
        &["EVAL", "redis.call('APPEND', 'leitong:1:m0', 'odd')", "0"],
        &["EVAL", "redis.call('ZREMRANGEBYRANK', 'leitong:1:expiries', 1, 1)", "0"],
        &["HSET", "leitong:{1.0}:outlines", "nobody", "nothing"],
    ];
    for damage in damages {
        _ = server.ask(damage);
        let found_wrong = store.verify().unwrap();
        assert!(found_wrong.problem_count > 0 && found_wrong.records == 20, "{damage:?}: {found_wrong:?}");
        let (mended, left) = store.repair().unwrap();
        assert_eq!((mended, left.problem_count), (found_wrong.problems, 0));
        assert_sound(&store);
        assert_eq!((0..20).map(found).sum::<usize>(), 20, "{damage:?}");
    }
}
