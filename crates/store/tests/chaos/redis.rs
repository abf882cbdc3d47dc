//! Redis and Redis Cluster, whose processes are killed and paused, and whose connections are cut.

use crate::grief::{Crowd, until_done};
use crate::{amount, mix, seed};
use leitong_store::redis::{Options, Redis as Store};
use std::process::{Command, Stdio};
use std::time::Duration;
use xtask::servers::{Redis, RedisCluster};

/// How long a client that is gone may hold up others here.
const LEASE: Duration = Duration::from_millis(500);

fn rest() {
    std::thread::sleep(Duration::from_millis(200));
}

/// Cuts all connections of clients.
fn cut_connections(port: u16) {
    let port = port.to_string();
    let cut = ["-p", &port, "CLIENT", "KILL", "TYPE", "normal"];
    _ = Command::new("redis-cli").args(cut).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The index has what the records say, and nothing else.
fn assert_sound(address: &str) {
    let store = until_done(|| Store::open(address, Options::default()));
    // What is left of clients that are gone is taken away by those who have seen it for longer than a lease.
    until_done(|| store.sweep());
    std::thread::sleep(LEASE * 2);
    until_done(|| store.sweep());
    assert_eq!(until_done(|| store.verify()).problems, Vec::<String>::new());
}

#[test]
fn one_server() {
    // On disk before it is answered, or a kill would lose what was answered.
    let Some(mut server) = Redis::start(&["--appendonly", "yes", "--appendfsync", "always"]) else {
        println!("skipped: one_server (Redis is not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), format!("redis://127.0.0.1:{}?timeout_ms=3000", server.port()));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for round in 0..amount(24, 6) {
        rest();
        match mix(seed + u64::from(round)) % 5 {
            0 => crowd.kill_one(),
            1 => crowd.pause_one(LEASE * 2),
            2 => cut_connections(server.port()),
            3 => {
                server.pause();
                rest();
                server.resume();
            }
            _ => {
                server.kill();
                rest();
                server.restart().unwrap();
            }
        }
    }
    rest();
    println!("{:?}", crowd.check());
    assert_sound(&address);
}

fn address_of(cluster: &RedisCluster, options: &str) -> String {
    let hosts: Vec<String> =
        cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let lease = LEASE.as_millis();
    format!("redis-cluster://{}?lease_ms={lease}&timeout_ms=3000{options}", hosts.join(","))
}

/// Clients of a cluster that are killed in the middle of a change, sleep longer than a lease, and lose their connections.
#[test]
fn clients_of_a_cluster() {
    let Some(cluster) = RedisCluster::start(3, 0, &[]) else {
        println!("skipped: clients_of_a_cluster (Redis is not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), address_of(&cluster, ""));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for round in 0..amount(30, 6) {
        rest();
        let random = mix(seed + u64::from(round));
        match random % 4 {
            0 | 1 => crowd.kill_one(),
            // Longer than a lease: whoever wakes up finds that others have gone on.
            2 => crowd.pause_one(LEASE * 3),
            _ => cluster.nodes().iter().for_each(|node| cut_connections(node.port())),
        }
    }
    rest();
    println!("{:?}", crowd.check());
    assert_sound(&address);
}

/// Slots move from master to master, as when a cluster grows, while clients are killed in the middle of changes.
#[test]
fn slots_of_a_cluster_move() {
    // A busy machine must not be taken for a node that is gone while slots are on their way.
    let Some(cluster) = RedisCluster::start(3, 0, &["--cluster-node-timeout", "30000"]) else {
        println!("skipped: slots_of_a_cluster_move (Redis is not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), address_of(&cluster, ""));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for round in 0..amount(9, 2) {
        rest();
        let from = (mix(seed + u64::from(round)) % 3) as usize;
        cluster.move_slots(from, (from + 1) % 3, 300).unwrap();
        crowd.kill_one();
    }
    println!("{:?}", crowd.check());
    assert_sound(&address);
}

/// A cluster whose nodes are killed and paused. Changes wait for a replica: without that Redis promises nothing.
#[test]
fn nodes_of_a_cluster() {
    let Some(mut cluster) = RedisCluster::start(3, 1, &["--appendfsync", "always"]) else {
        println!("skipped: nodes_of_a_cluster (Redis is not installed: cargo xtask servers)");
        return;
    };
    let (seed, address) = (seed(), address_of(&cluster, "&wait=1&wait_ms=100"));
    println!("LEITONG_SEED={seed}");
    let mut crowd = Crowd::start(&address, seed << 16);
    for round in 0..amount(12, 2) {
        // Time for something to be done.
        std::thread::sleep(LEASE * 2);
        let random = mix(seed + u64::from(round));
        let node = (random >> 8) as usize % cluster.nodes().len();
        if random.is_multiple_of(3) {
            crowd.kill_one();
        } else if random % 3 == 1 {
            cluster.nodes()[node].pause();
            std::thread::sleep(LEASE);
            cluster.nodes()[node].resume();
        } else {
            // Long enough for its replica to take its place, if it was a master, and for it to come back as one.
            cluster.nodes_mut()[node].kill();
            std::thread::sleep(Duration::from_secs(5));
            cluster.nodes_mut()[node].restart().unwrap();
            std::thread::sleep(Duration::from_secs(2));
        }
    }
    std::thread::sleep(Duration::from_secs(2));
    println!("{:?}", crowd.check());
    assert_sound(&address);
}
