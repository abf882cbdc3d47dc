//! Redis Cluster: three masters.

use super::{InRedis, assert_sound, new_prefix, open};
use crate::conformance::conforms;
use crate::histories::{self, Load};
use crate::servers::RedisCluster;
use crate::{amount, errors, ids, marked, replaced};
use leitong_store::Store;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tests of this module come one after the other: each has a cluster of its own, and there are few processors.
static TURN: Mutex<()> = Mutex::new(());

/// A cluster and its address.
pub(super) struct Running {
    pub(super) cluster: RedisCluster,
    _turn: MutexGuard<'static, ()>,
}

impl Running {
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    #[track_caller]
    pub(super) fn start(replicas: usize) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = RedisCluster::start(3, replicas, &[]);
        if cluster.is_none() {
            println!("skipped: {} (redis-server is not installed)", std::panic::Location::caller());
        }
        Some(Self { cluster: cluster?, _turn: turn })
    }

    /// With a prefix that nobody else has.
    pub(super) fn address(&self) -> String {
        let nodes = self.cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port()));
        format!("redis-cluster://{}?prefix={}", nodes.collect::<Vec<_>>().join(","), new_prefix())
    }
}

#[test]
fn as_the_model() {
    let Some(running) = Running::start(0) else { return };
    conforms(amount(100, 10), &|clock| Box::new(InRedis::new(running.address(), clock)));
}

#[test]
fn all_suites() {
    let Some(running) = Running::start(0) else { return };
    let load = Load { threads: 64, rounds: amount(20, 3), calls: 10 };
    let with_new = |test: &dyn Fn(&dyn Store)| {
        let store = open(&running.address());
        test(&store);
        assert_sound(&store);
    };
    with_new(&|store| ids::kept_apart(store));
    with_new(&|store| ids::refused(store));
    with_new(&|store| errors::no_collection(store));
    with_new(&|store| errors::other_collection(store));
    with_new(&|store| errors::misfits(store));
    with_new(&|store| replaced::always_there(store, amount(200, 30), Duration::from_millis(20)));
    with_new(&|store| histories::one_of_many(store, load));
    with_new(&|store| marked::one_of_many(store, load));
    with_new(&|store| histories::chains(store, load));
    with_new(&|store| histories::mixed(store, load));
}
