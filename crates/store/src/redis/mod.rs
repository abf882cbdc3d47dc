//! Records in Redis: on one server, or spread over all masters of a cluster. docs/redis.md says what stands under which key,
//! and why additions are atomic.
//!
//! What is near is found by keys of the index, which are read as they are; distances and scores are reckoned here, with the
//! code that all stores have in common. On one server a change is a script. On a cluster, where scripts reach the keys of one
//! slot only, it is announced, looks around, and is then committed by a script in the one slot that its record is in.

mod address;
mod cluster;
pub mod cms;
mod command;
mod cover;
mod find;
mod layout;
mod node;
mod pages;
mod read;
mod rooms;
mod scripts;
mod servers;
mod single;
mod slots;
mod stats;
mod trouble;
mod verify;

pub use stats::{CollectionStats, ServerStats, Stats};

use crate::findings::Findings;
use crate::marks::Scoring;
use crate::record::{Collection, Stored};
use crate::seam::{Added, Addition, Count, Found, Query, Sources, Store, Want};
use crate::{Clock, StoreError};
use address::Address;
use cluster::{Cluster, Highest, Sightings};
use layout::{Layout, Names};
use rooms::Rooms;
use servers::Servers;
use single::Single;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Most bytes of a text: servers take no longer strings (`proto-max-bulk-len`).
const MOST_TEXT: usize = 500 << 20;

/// How a store in Redis behaves, beyond what its address says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// By what records expire.
    pub clock: Clock,
    /// How documents are found by marks: all who use the same keys must have the same.
    pub scoring: Scoring,
    /// After so many commands every call fails, as if the client had died: for tests.
    #[doc(hidden)]
    pub commands_left: Option<Arc<AtomicUsize>>,
}

/// A store in Redis. Threads share it; each call has a connection of its own.
#[derive(Debug)]
pub struct Redis {
    servers: Servers,
    rooms: Rooms,
    options: Options,
    /// For a cluster: the highest versions seen, what others have left unfinished, and when that was last looked at.
    highest: Highest,
    sightings: Sightings,
    swept: Mutex<BTreeMap<u32, Instant>>,
}

impl Redis {
    /// Opens `redis://[user:password@]host[:port][/db]`, `rediss://…` with TLS, or a cluster with `redis-cluster://host:port,…`
    /// and `rediss-cluster://…`. Behind a `?` may follow, with `&` between them: `prefix=NAME` (what all keys begin with),
    /// `wait=N` and `wait_ms=MS` (how many replicas must have a change, and how long that may take), `lease_ms=MS` (for how
    /// long a client that is gone can hold up others), `timeout_ms=MS` (for an answer), `ca=FILE` (certificates to trust),
    /// `insecure=true` (any certificate).
    pub fn open(address: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(address)?;
        let names = Names::new(&address.prefix);
        let servers = Servers::open(address)?.for_so_many(options.commands_left.clone());
        stats::check(&servers)?;
        Ok(Self {
            servers,
            rooms: Rooms::new(names),
            options,
            highest: Highest::default(),
            sightings: Sightings::default(),
            swept: Mutex::default(),
        })
    }

    fn with<T>(
        &self,
        collection: &str,
        work: impl FnMut(&Layout) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        self.rooms.with(&self.servers, collection, work)
    }

    fn single<'a>(&'a self, layout: &'a Layout) -> Single<'a> {
        let (scoring, now) = (self.options.scoring, self.options.clock.now());
        Single { servers: &self.servers, layout, scoring, now }
    }

    fn cluster<'a>(&'a self, layout: &'a Layout) -> Cluster<'a> {
        let (scoring, now) = (self.options.scoring, self.options.clock.now());
        Cluster { servers: &self.servers, layout, scoring, now, highest: &self.highest }
    }

    /// Whether a script reaches all of a collection.
    fn is_in_one_place(&self, layout: &Layout) -> bool {
        !self.servers.address.cluster && layout.partitions == 1
    }

    /// Whether something is left that others may still be at.
    fn sweep_collection(&self, layout: &Layout) -> Result<bool, StoreError> {
        if self.is_in_one_place(layout) {
            while self.single(layout).sweep()? {}
            return Ok(false);
        }
        let mut behind = Some(0);
        while let Some(looked_at) = behind {
            behind = self.cluster(layout).sweep_expired(looked_at)?;
        }
        self.cluster(layout).sweep(&self.sightings)
    }

    /// Finishes what clients that are gone have left, if nobody here has looked for long.
    fn sweep_now_and_then(&self, layout: &Layout) -> Result<(), StoreError> {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_in_one_place(layout)
            || swept.get(&layout.number).is_some_and(|at| at.elapsed() < 2 * self.servers.address.lease)
        {
            return Ok(());
        }
        swept.insert(layout.number, Instant::now());
        drop(swept);
        self.cluster(layout).sweep(&self.sightings).map(|_| ())
    }

    /// Versions of servers, memory used, documents of each collection.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        stats::stats(&self.servers, &self.rooms, self.options.clock.now())
    }

    /// Removes what has expired, and what clients that are gone have left behind, where a first look is a lease ago; whether
    /// something is left that others may still be at. Changes do some of this now and then.
    pub fn sweep(&self) -> Result<bool, StoreError> {
        self.rooms.sweep(&self.servers)?;
        let mut left = false;
        for layout in self.rooms.all(&self.servers)? {
            left |= self.sweep_collection(&layout)?;
        }
        Ok(left)
    }

    /// The same, and waits a lease for what may belong to a client that is gone.
    pub fn sweep_thoroughly(&self) -> Result<(), StoreError> {
        if self.sweep()? {
            std::thread::sleep(self.servers.address.lease);
            self.sweep()?;
        }
        Ok(())
    }

    /// Compares the index with the records, both ways, and says what does not fit. Nobody should change anything meanwhile.
    pub fn verify(&self) -> Result<Findings, StoreError> {
        verify::verify(&self.servers, &self.rooms, false)
    }

    /// Makes the index anew where it does not fit the records, as after a failover; says what was mended, and what is still
    /// wrong. What others have announced and not committed is lost, so nobody may change anything meanwhile.
    pub fn repair(&self) -> Result<(Vec<String>, Findings), StoreError> {
        let before = verify::verify(&self.servers, &self.rooms, true)?;
        let after = self.verify()?;
        let mended = before.problems.into_iter().filter(|problem| !after.problems.contains(problem));
        Ok((mended.collect(), after))
    }
}

impl Store for Redis {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        Ok(self.rooms.all(&self.servers)?.into_iter().map(|layout| layout.collection).collect())
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        self.rooms.create(&self.servers, collection)
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        self.rooms.destroy(&self.servers, collection)
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        self.with(collection, |layout| {
            queries.iter().try_for_each(|query| layout.collection.check_probes(&query.probes))?;
            let (scoring, now) = (self.options.scoring, self.options.clock.now());
            find::find(&self.servers, layout, scoring, now, queries, &[])
        })
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        self.with(collection, |layout| {
            let (scoring, now) = (self.options.scoring, self.options.clock.now());
            find::sources(&self.servers, layout, scoring, now, questions)
        })
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        additions.iter().try_for_each(|addition| {
            let bytes = addition.record.text.as_ref().map_or(0, String::len);
            match bytes <= MOST_TEXT {
                true => addition.record.validate(),
                false => Err(StoreError::TooLong { what: "text", bytes, most: MOST_TEXT }),
            }
        })?;
        self.with(collection, |layout| {
            additions.iter().try_for_each(|addition| layout.collection.check_addition(addition))?;
            if self.is_in_one_place(layout) {
                return self.single(layout).add(&additions);
            }
            self.sweep_now_and_then(layout)?;
            self.cluster(layout).add(&additions)
        })
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        self.with(collection, |layout| match self.is_in_one_place(layout) {
            true => self.single(layout).remove(ids),
            false => self.cluster(layout).remove(ids),
        })
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        let now = self.options.clock.now();
        self.with(collection, |layout| read::get(&self.servers, layout, ids, want, now))
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        let now = self.options.clock.now();
        self.with(collection, |layout| read::scan(&self.servers, layout, after, limit, want, now))
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        let now = self.options.clock.now();
        self.with(collection, |layout| read::count(&self.servers, layout, now))
    }
}
