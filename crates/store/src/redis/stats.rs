//! What servers say of themselves, and whether they will do.

use super::command::Command;
use super::node::Node;
use super::read;
use super::rooms::Rooms;
use super::servers::Servers;
use super::trouble;
use crate::StoreError;
use crate::seam::Count;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Since then a script is handed to replicas as what it did, not as itself.
const OLDEST: u32 = 5;

/// What servers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Every master.
    pub servers: Vec<ServerStats>,
    /// Every collection, by name.
    pub collections: Vec<CollectionStats>,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Host and port.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Bytes of memory in use, for everything it holds.
    pub memory: u64,
    /// Replicas that are connected to it.
    pub replicas: u64,
    /// Time its processor has worked for it since it started.
    pub worked: Duration,
}

/// How much a collection holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionStats {
    /// Its name.
    pub name: String,
    /// Documents, and the next version.
    pub count: Count,
}

/// What a server says about itself.
pub(crate) fn info(servers: &Servers, node: &Arc<Node>) -> Result<BTreeMap<String, String>, StoreError> {
    let answer = servers.reader().bytes(servers.ask_at(node, Command::read(&[b"INFO"]))?)?;
    let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
    let pair =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    Ok(text.lines().filter_map(pair).collect())
}

/// Whether the servers are what their address says, and new enough.
pub(crate) fn check(servers: &Servers) -> Result<(), StoreError> {
    for node in servers.masters() {
        // A cluster that has lost a master can be used as soon as it has another.
        match node.take(false) {
            Ok(connection) => node.give_back(connection),
            Err(error) if servers.address.cluster && error.is_io_error() => continue,
            Err(error) => return Err(trouble::unreachable(&node.name, &error)),
        }
        let info = info(servers, &node)?;
        let refused = |what: String| Err(StoreError::Refused { server: node.name.clone(), what });
        let Some(version) = info.get("redis_version") else {
            return refused("it does not say which version of Redis it is: check host and port".into());
        };
        if version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok())
            .is_none_or(|major: u32| major < OLDEST)
        {
            return refused(format!(
                "Redis {version} is too old: Leitong needs {OLDEST}.0 or later, or Valkey"
            ));
        }
        if !servers.address.cluster && info.get("redis_mode").is_some_and(|mode| mode == "cluster") {
            return refused("it is part of a cluster: begin the address with redis-cluster://".into());
        }
    }
    Ok(())
}

pub(crate) fn stats(servers: &Servers, rooms: &Rooms, now: i64) -> Result<Stats, StoreError> {
    let mut stats = Stats::default();
    for node in servers.masters() {
        let info = info(servers, &node)?;
        let number = |name: &str| info.get(name).and_then(|value| value.parse().ok()).unwrap_or_default();
        let version = info.get("redis_version").cloned().unwrap_or_default();
        let (memory, replicas) = (number("used_memory"), number("connected_slaves"));
        let seconds = |name: &str| info.get(name).and_then(|value| value.parse().ok()).unwrap_or(0.0_f64);
        let worked = seconds("used_cpu_user") + seconds("used_cpu_sys");
        let worked = Duration::try_from_secs_f64(worked).unwrap_or_default();
        stats.servers.push(ServerStats { name: node.name.clone(), version, memory, replicas, worked });
    }
    for layout in rooms.all(servers)? {
        if let Some(count) = read::count(servers, &layout, now)? {
            stats.collections.push(CollectionStats { name: layout.collection.name.clone(), count });
        }
    }
    Ok(stats)
}
