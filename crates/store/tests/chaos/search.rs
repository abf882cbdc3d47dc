//! OpenSearch and Elasticsearch, whose clients are killed and whose nodes are lost.

use crate::grief::Crowd;
use crate::{amount, mix, seed};
use std::time::Duration;
use xtask::servers::{Kind, Search};

/// How long a client that is gone may hold up others here.
const LEASE: Duration = Duration::from_millis(1500);

fn is_everyday(name: &str) -> bool {
    let quick = std::env::var_os("LEITONG_QUICK").is_some();
    if quick {
        println!("skipped: {name} (it takes long to start: cargo xtask test)");
    }
    quick
}

fn address_of(search: &Search, options: &str) -> String {
    let hosts: Vec<String> = search.ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("opensearch+http://{}?lease_ms={}{options}", hosts.join(","), LEASE.as_millis())
}

/// Clients that are killed in the middle of a change, and that sleep longer than a lease.
#[test]
fn clients_of_opensearch() {
    if is_everyday("clients_of_opensearch") {
        return;
    }
    let Some(search) = Search::start(Kind::OpenSearch2) else {
        println!("skipped: clients_of_opensearch (not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), address_of(&search, ""));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for round in 0..amount(12, 2) {
        std::thread::sleep(LEASE);
        match mix(seed + u64::from(round)) % 2 {
            0 => crowd.kill_one(),
            _ => crowd.pause_one(LEASE * 2),
        }
    }
    println!("{:?}", crowd.check());
}

/// The node that all changes go through: its loss is the one that matters.
fn node_of_the_primary(search: &Search) -> usize {
    // It answers more slowly than ever, and may be moving documents about.
    for _ in 0..20 {
        let shards = search.request("GET", "/_cat/shards/leitong-1-documents?h=prirep,node", "");
        let primary =
            shards.iter().flat_map(|shards| shards.lines()).find_map(|line| line.strip_prefix("p n"));
        if let Some(number) = primary.and_then(|number| number.trim().parse().ok()) {
            return number;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    panic!("no node has the documents");
}

/// Three nodes, each document on two of them. The one that all changes go through is lost under load, comes back with what it had,
/// and then the one that has taken its place is lost.
#[test]
fn nodes_of_elasticsearch_are_lost() {
    if is_everyday("nodes_of_elasticsearch_are_lost") {
        return;
    }
    let Some(mut search) = Search::start_cluster(Kind::Elastic8, 3) else {
        println!("skipped: nodes_of_elasticsearch_are_lost (not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), address_of(&search, "&replicas=1"));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for _ in 0..2 {
        std::thread::sleep(LEASE * 6);
        crowd.kill_one();
        search.wait_for_copies();
        let primary = node_of_the_primary(&search);
        search.kill(primary);
        std::thread::sleep(LEASE * 6);
        crowd.kill_one();
        std::thread::sleep(LEASE * 4);
        search.restart(primary);
    }
    println!("{:?}", crowd.check());
}
