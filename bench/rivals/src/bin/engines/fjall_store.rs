//! fjall: four keyspaces, a group is a batch with `PersistMode::SyncAll`.

use std::path::Path;
use std::time::{Duration, Instant};

use fjall::config::{CompressionPolicy, FilterPolicy, PinningPolicy};
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode, Readable,
    Snapshot,
};

use crate::documents::{hash_key, id_key, record, record_key, text};
use crate::{Fallible, Store, View};

const CACHE: u64 = 64 << 20;

pub struct FjallStore {
    database: Database,
    records: Keyspace,
    texts: Keyspace,
    ids: Keyspace,
    keys: Keyspace,
}

struct FjallView<'a> {
    store: &'a FjallStore,
    snapshot: Snapshot,
}

/// Options of one keyspace; those of `texts` alone may keep values apart from keys.
fn options(setup: &str, name: &str) -> Fallible<KeyspaceCreateOptions> {
    let mut options = KeyspaceCreateOptions::default();
    for part in setup.split(',').skip(1) {
        options = match part.split_once('=').unwrap_or((part, "")) {
            ("blobs", _) if name == "texts" => options.with_kv_separation(Some(
                KvSeparationOptions::default().compression(CompressionType::None).separation_threshold(256),
            )),
            ("memtable", mib) => options.max_memtable_size(mib.parse::<u64>()? << 20),
            ("lz4", _) => options.data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4)),
            ("plain", _) => options.data_block_compression_policy(CompressionPolicy::disabled()),
            ("pinned", _) => options
                .filter_block_pinning_policy(PinningPolicy::all(true))
                .index_block_pinning_policy(PinningPolicy::all(true)),
            ("unpinned", _) => options
                .filter_block_pinning_policy(PinningPolicy::all(false))
                .index_block_pinning_policy(PinningPolicy::all(false)),
            ("nobloom", _) => options.filter_policy(FilterPolicy::disabled()),
            ("blobs" | "workers" | "journal", _) => options,
            _ => return Err(format!("{part}: no such setting").into()),
        };
    }
    Ok(options)
}

fn setting(setup: &str, name: &str) -> Option<u64> {
    setup.split(',').filter_map(|part| part.split_once('=')).find(|(key, _)| *key == name)?.1.parse().ok()
}

impl Store for FjallStore {
    fn open(directory: &Path, setup: &str) -> Fallible<Self> {
        let mut builder = Database::builder(directory).cache_size(CACHE);
        if let Some(workers) = setting(setup, "workers") {
            builder = builder.worker_threads(usize::try_from(workers)?);
        }
        if let Some(mib) = setting(setup, "journal") {
            builder = builder.max_journaling_size(mib << 20);
        }
        let database = builder.open()?;
        let keyspace = |name: &str| -> Fallible<Keyspace> {
            let options = options(setup, name)?;
            Ok(database.keyspace(name, || options)?)
        };
        let (records, texts) = (keyspace("records")?, keyspace("texts")?);
        let (ids, keys) = (keyspace("ids")?, keyspace("keys")?);
        Ok(Self { database, records, texts, ids, keys })
    }

    fn write(&self, from: u64, to: u64) -> Fallible<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
        for ordinal in from..to {
            let id = id_key(ordinal);
            if self.ids.contains_key(id)? {
                return Err(format!("document {ordinal} is there already").into());
            }
            batch.insert(&self.records, record_key(ordinal), record(ordinal));
            batch.insert(&self.texts, record_key(ordinal), text(ordinal));
            batch.insert(&self.ids, id, ordinal.to_be_bytes());
            batch.insert(&self.keys, hash_key(ordinal), []);
        }
        Ok(batch.commit()?)
    }

    fn settle(&self) -> Fallible<()> {
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < Duration::from_millis(500) {
            if self.database.outstanding_flushes() + self.database.active_compactions() > 0 {
                quiet_since = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn view(&self) -> Fallible<impl View> {
        Ok(FjallView { store: self, snapshot: self.database.snapshot() })
    }

    fn state(&self) -> String {
        let spaces = [&self.records, &self.texts, &self.ids, &self.keys]
            .map(|space| format!("{} MB in {} tables", space.disk_space() >> 20, space.table_count()));
        format!(
            "records, texts, ids, keys: {}; {} journals, {} MB; {} compactions, {:.1} s",
            spaces.join(", "),
            self.database.journal_count(),
            self.database.journal_disk_space().unwrap_or(0) >> 20,
            self.database.compactions_completed(),
            self.database.time_compacting().as_secs_f64(),
        )
    }
}

impl View for FjallView<'_> {
    fn record(&self, ordinal: u64) -> Fallible<Option<usize>> {
        Ok(self.snapshot.get(&self.store.records, record_key(ordinal))?.map(|value| value.len()))
    }

    fn text(&self, ordinal: u64) -> Fallible<Option<usize>> {
        Ok(self.snapshot.get(&self.store.texts, record_key(ordinal))?.map(|value| value.len()))
    }

    fn id(&self, ordinal: u64) -> Fallible<Option<u64>> {
        let Some(value) = self.snapshot.get(&self.store.ids, id_key(ordinal))? else { return Ok(None) };
        Ok(Some(u64::from_be_bytes(value.as_ref().try_into()?)))
    }

    fn scan(&self) -> Fallible<(u64, u64)> {
        let (mut count, mut bytes) = (0, 0);
        for guard in self.snapshot.iter(&self.store.records) {
            let (key, value) = guard.into_inner()?;
            count += 1;
            bytes += (key.len() + value.len()) as u64;
        }
        Ok((count, bytes))
    }
}
