//! A store in OpenSearch or Elasticsearch, by plain REST: one code path for OpenSearch 1 to 3 and Elasticsearch 7.10 to 9.
//!
//! Each collection is an index, each record one document of it: the blocks of its fingerprints, its keys and its marks are
//! fields that are searched by equality, and distances are computed from what that finds. Any number of clients may use the
//! same indices side by side; docs/opensearch.md draws the documents and says why additions are atomic.

mod add;
mod address;
pub mod articles;
mod base64;
mod care;
mod changes;
mod find;
mod http;
mod layout;
mod query;
mod read;
mod remove;
mod requests;
mod rooms;
mod server;

use crate::marks::Scoring;
use crate::record::{Collection, Stored};
use crate::seam::{Added, Addition, Count, Found, Query, Sources, Store, Want};
use crate::{Clock, StoreError};
use address::Address;
use http::Server;
use layout::Ticket;
use rooms::Room;
use server::Release;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How a store is opened, besides its address.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The time by which records expire.
    pub clock: Clock,
    /// How documents are found by marks: for tests, which cannot add thousands.
    pub scoring: Scoring,
    /// For tests: where to stop.
    #[doc(hidden)]
    pub fault: Fault,
}

/// A place between two steps at which a test stops a client for good, as a crash would.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Fault(Option<Stops>);

/// Whether to stop after a step.
type Stops = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Fault {
    /// Stops where the function says so.
    pub fn new(stops: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(stops)))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({})", self.0.is_some())
    }
}

/// A store in a cluster of OpenSearch or Elasticsearch servers.
pub struct OpenSearch {
    server: Server,
    release: Release,
    prefix: String,
    shards: u32,
    replicas: Option<u32>,
    lease: Duration,
    clock: Clock,
    scoring: Scoring,
    fault: Fault,
    /// Collections that have been used.
    rooms: RwLock<HashMap<String, Arc<Room>>>,
    /// When it was opened.
    start: Instant,
    /// What tells this client from others, and its calls from each other.
    name: u64,
    calls: AtomicU64,
}

impl OpenSearch {
    /// Opens `opensearch+http://[user:password@]host:port[,host:port][/prefix][?parameters]`, or the same with
    /// `opensearch+https` or `elasticsearch` in place of `opensearch`. The names of all indices begin with the prefix,
    /// `leitong` unless it says another. Nothing is made on the servers before the first collection is.
    ///
    /// Parameters: `insecure=true` does not look at certificates, `ca=FILE` trusts those of a file, `api_key=…` in place of
    /// user and password, `shards=N` and `replicas=N` for indices that are made (one shard, and a replica where there is a
    /// second node), `timeout_ms` for a request and its repetitions (30,000), `lease_ms` for how long a client that has
    /// crashed holds up others that add something alike (5,000).
    pub fn open(address: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(address)?;
        let server = Server::new(&address)?;
        let release = Release::of(&server)?;
        let Address { prefix, shards, replicas, lease, .. } = address;
        let Options { clock, scoring, fault } = options;
        let name = RandomState::new().hash_one(std::process::id());
        let (rooms, start, calls) = (RwLock::default(), Instant::now(), AtomicU64::new(0));
        Ok(Self {
            server,
            release,
            prefix,
            shards,
            replicas,
            lease,
            clock,
            scoring,
            fault,
            rooms,
            start,
            name,
            calls,
        })
    }

    /// A place in the order of those who add something, and a name nobody else has. The clock decides only who goes first.
    fn ticket(&self) -> Ticket {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        Ticket { time, owner: format!("{:016x}-{call}", self.name) }
    }

    /// Says that a step has been done.
    fn reach(&self, step: &str) -> Result<(), StoreError> {
        match &self.fault.0 {
            Some(stops) if stops(step) => Err(StoreError::Uncertain {
                server: self.server.name(),
                why: format!("stopped after {step}"),
            }),
            _ => Ok(()),
        }
    }
}

impl Store for OpenSearch {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.list_collections()
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        self.create_collection(collection)
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        self.destroy_collection(collection)
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.with_room(collection, |room| self.find_all(room, queries, self.clock.now()))
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.with_room(collection, |room| self.count_sources(room, questions, self.clock.now()))
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        additions.iter().try_for_each(|addition| addition.record.validate())?;
        if additions.is_empty() {
            self.forget(collection);
        }
        self.with_room(collection, |room| self.add_all(room, &additions, self.clock.now()))
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        if ids.is_empty() {
            self.forget(collection);
        }
        self.with_room(collection, |room| self.remove_all(room, ids, self.clock.now()))
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        if ids.is_empty() {
            self.forget(collection);
        }
        self.with_room(collection, |room| self.get_all(room, ids, want, self.clock.now()))
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        self.with_room(collection, |room| self.scan_from(room, after, limit, want, self.clock.now()))
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        self.with_room(collection, |room| self.count_all(room, self.clock.now()))
    }
}

impl fmt::Debug for OpenSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenSearch({:?}, {:?}, {})", self.server, self.release, self.prefix)
    }
}
