//! Servers start, answer, can be killed and started again, and are gone with whoever started them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use xtask::servers::{Kind, Redis, RedisCluster, Search};

fn ask(port: u16, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[..length]).into_owned())
}

#[test]
fn redis_lives_as_long_as_its_guard() {
    let Some(mut redis) = Redis::start(&[]) else {
        println!("skipped: redis_lives_as_long_as_its_guard (Redis is not installed: cargo xtask servers)");
        return;
    };
    let port = redis.port();
    assert_eq!(ask(port, "PING\r\n").as_deref(), Some("+PONG\r\n"));
    redis.pause();
    assert_eq!(ask(port, "PING\r\n"), None);
    redis.resume();
    assert_eq!(ask(port, "PING\r\n").as_deref(), Some("+PONG\r\n"));
    redis.kill();
    assert_eq!(ask(port, "PING\r\n"), None);
    redis.restart().unwrap();
    assert_eq!(ask(port, "PING\r\n").as_deref(), Some("+PONG\r\n"));
    drop(redis);
    assert_eq!(ask(port, "PING\r\n"), None);
}

#[test]
fn a_cluster_serves_all_slots() {
    let Some(cluster) = RedisCluster::start(3, 1, &[]) else {
        println!("skipped: a_cluster_serves_all_slots (Redis is not installed: cargo xtask servers)");
        return;
    };
    assert_eq!(cluster.nodes().len(), 6);
    let answers: Vec<_> = cluster.nodes().iter().filter_map(|node| ask(node.port(), "SET a 1\r\n")).collect();
    assert_eq!(answers.iter().filter(|answer| answer.as_str() == "+OK\r\n").count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.starts_with("-MOVED")).count(), 5, "{answers:?}");
}

#[test]
fn search_servers_answer() {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: search_servers_answer (they take a minute to start: cargo xtask test)");
        return;
    }
    for kind in Kind::ALL {
        let Some(search) = Search::start(kind) else {
            println!(
                "skipped: search_servers_answer on {} (not installed: cargo xtask servers)",
                kind.name()
            );
            continue;
        };
        let port = search.ports()[0];
        let health = "GET /_cluster/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert!(ask(port, health).unwrap().starts_with("HTTP/1.1 200"), "{}", kind.name());
        drop(search);
        let end = Instant::now() + Duration::from_secs(10);
        while ask(port, health).is_some() {
            assert!(Instant::now() < end, "{} still listens", kind.name());
        }
    }
}
