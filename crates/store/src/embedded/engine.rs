//! The three trees of the engine, its settings and its errors.

use super::layout::Tree;
use crate::StoreError;
use fjall::config::{CompressionPolicy, PartitioningPolicy, PinningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of journals kept before trees must be flushed. They are replayed when a store is opened: less is faster.
pub(super) const JOURNAL: u64 = 64 << 20;
/// Bytes of a tree's part in memory. While one is written to a file the next is filled.
const fn memtable(tree: Tree) -> u64 {
    match tree {
        Tree::Keys | Tree::Records => 4 << 20,
        Tree::Texts => 8 << 20,
    }
}
/// Bytes of all of them together, twice: they come out of the cache.
const WRITTEN: u64 = 32 << 20;
/// The least that is left for reading.
const LEAST_READ: u64 = 16 << 20;

pub(super) struct Engine {
    /// The folder of the store; the trees stand in one below.
    path: PathBuf,
    database: Database,
    trees: [Keyspace; 3],
}

/// What is done with the key and the value of each entry; `false` ends it.
pub(super) type Each<'e> = dyn FnMut(&[u8], &[u8]) -> Result<bool, StoreError> + 'e;

/// What is read with: a moment that stays, or one with changes on top.
pub(super) trait Read {
    /// The folder it all stands in, for errors.
    fn folder(&self) -> &Path;

    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// The entries whose keys start with `prefix`, from `from` on, until `each` says stop with `false`.
    fn scan(&self, tree: Tree, prefix: &[u8], from: &[u8], each: &mut Each<'_>) -> Result<(), StoreError>;
}

/// The trees at one moment.
pub(super) struct Moment {
    snapshot: fjall::Snapshot,
    trees: [Keyspace; 3],
    path: PathBuf,
}

impl Engine {
    /// Opens the trees in a folder, or makes them.
    pub(super) fn open(path: &Path, cache: u64) -> Result<Self, StoreError> {
        let open = || -> Result<Self, fjall::Error> {
            let cache = cache.saturating_sub(WRITTEN).max(LEAST_READ);
            let database = Database::builder(path.join("documents"))
                .cache_size(cache)
                .max_journaling_size(JOURNAL)
                .worker_threads(2)
                .open()?;
            let tree = |tree: Tree| database.keyspace(tree.name(), || options(tree));
            let trees = [tree(Tree::Keys)?, tree(Tree::Records)?, tree(Tree::Texts)?];
            Ok(Self { path: path.to_owned(), database, trees })
        };
        // Damaged files have made it panic.
        catch_unwind(AssertUnwindSafe(open))
            .unwrap_or_else(|_| Err(fjall::Error::Unrecoverable))
            .map_err(|error| translate(path, error))
    }

    pub(super) fn moment(&self) -> Arc<Moment> {
        let path = self.path.clone();
        Arc::new(Moment { snapshot: self.database.snapshot(), trees: self.trees.clone(), path })
    }

    /// Writes all changes or none, and returns when they are on the disk.
    pub(super) fn commit(
        &self,
        changes: impl Iterator<Item = (Tree, Vec<u8>, Option<Vec<u8>>)>,
    ) -> Result<(), StoreError> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
        for (tree, key, value) in changes {
            let tree = &self.trees[tree as usize];
            match value {
                Some(value) => batch.insert(tree, key, value),
                None => batch.remove(tree, key),
            }
        }
        batch.commit().map_err(|error| translate(&self.path, error))
    }

    /// Moves everything from memory to the trees' files, so that no journal need be replayed.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        let wrong = |error| translate(&self.path, error);
        for tree in &self.trees {
            tree.rotate_memtable().map_err(wrong)?;
        }
        while self.trees.iter().any(|tree| tree.sealed_memtable_count() > 0) {
            // Fails when the threads that write the files have given up.
            self.database.persist(PersistMode::Buffer).map_err(wrong)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Rewrites the trees without what has been deleted.
    pub(super) fn compact(&self) -> Result<(), StoreError> {
        self.flush()?;
        self.trees.iter().try_for_each(Keyspace::major_compact).map_err(|error| translate(&self.path, error))
    }

    /// Bytes of a tree on disk.
    pub(super) fn bytes(&self, tree: Tree) -> u64 {
        self.trees[tree as usize].disk_space()
    }

    /// Bytes of everything on disk, journals included.
    pub(super) fn all_bytes(&self) -> Result<u64, StoreError> {
        self.database.disk_space().map_err(|error| translate(&self.path, error))
    }

    /// Fills an empty tree with all of another's entries.
    pub(super) fn fill(&self, tree: Tree, from: &Moment) -> Result<(), StoreError> {
        let wrong = |error| translate(&self.path, error);
        let mut ingestion = self.trees[tree as usize].start_ingestion().map_err(wrong)?;
        from.scan(tree, &[], &[], &mut |key, value| {
            ingestion.write(key, value).map(|()| true).map_err(wrong)
        })?;
        ingestion.finish().map_err(wrong)
    }
}

fn options(tree: Tree) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default()
        .max_memtable_size(memtable(tree))
        // In parts that the cache can hold: a whole index or filter of a table takes megabytes, and would be read again and again.
        .index_block_pinning_policy(PinningPolicy::all(false))
        .index_block_partitioning_policy(PartitioningPolicy::all(true));
    match tree {
        // Every new document asks for an id and keys that are not there. The filters that say so stay in memory: ten bits a key.
        Tree::Keys => options
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .filter_block_partitioning_policy(PartitioningPolicy::all(false)),
        // A version that is asked for is there, nearly always. Texts come compressed.
        Tree::Records | Tree::Texts => options
            .expect_point_read_hits(true)
            .filter_block_pinning_policy(PinningPolicy::all(false))
            .filter_block_partitioning_policy(PartitioningPolicy::all(true))
            .data_block_compression_policy(match tree {
                Tree::Records => CompressionPolicy::all(CompressionType::Lz4),
                Tree::Keys | Tree::Texts => CompressionPolicy::disabled(),
            }),
    }
}

impl Moment {
    /// The entries with a prefix, from a key on. With an end, so that what was deleted behind them is not walked over.
    fn range(&self, tree: Tree, prefix: &[u8], start: &[u8]) -> fjall::Iter {
        let tree = &self.trees[tree as usize];
        let mut end = prefix.to_vec();
        while end.last() == Some(&u8::MAX) {
            end.pop();
        }
        match end.last_mut() {
            Some(last) => {
                *last += 1;
                self.snapshot.range(tree, start..end.as_slice())
            }
            None => self.snapshot.range(tree, start..),
        }
    }

    /// The last key with a prefix.
    pub(super) fn last_key(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let last = self.range(tree, prefix, prefix).next_back();
        let key = last.map(fjall::Guard::key).transpose().map_err(|error| translate(&self.path, error))?;
        Ok(key.map(|key| key.to_vec()))
    }
}

impl Read for Moment {
    fn folder(&self) -> &Path {
        &self.path
    }

    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.snapshot.get(&self.trees[tree as usize], key);
        Ok(value.map_err(|error| translate(&self.path, error))?.map(|value| value.to_vec()))
    }

    fn scan(&self, tree: Tree, prefix: &[u8], from: &[u8], each: &mut Each<'_>) -> Result<(), StoreError> {
        let start = if from > prefix { from } else { prefix };
        for entry in self.range(tree, prefix, start) {
            let (key, value) = entry.into_inner().map_err(|error| translate(&self.path, error))?;
            if !each(&key, &value)? {
                break;
            }
        }
        Ok(())
    }
}

/// The engine's errors in our words.
pub(super) fn translate(path: &Path, error: fjall::Error) -> StoreError {
    use std::io::ErrorKind::{AlreadyExists, InvalidData, InvalidInput, NotFound, UnexpectedEof};
    let damaged = |what: String| StoreError::Damaged { path: path.to_owned(), what };
    match error {
        fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source)) => {
            match source.kind() {
                // What the system says of a file that is missing, cut short, or makes no sense.
                AlreadyExists | InvalidData | InvalidInput | NotFound | UnexpectedEof => {
                    damaged(format!("a file of the documents is missing or changed ({source})"))
                }
                _ => StoreError::io(path, source),
            }
        }
        fjall::Error::Locked => StoreError::InUse { path: path.to_owned(), holder: "another process".into() },
        fjall::Error::Poisoned => StoreError::Stopped {
            path: path.to_owned(),
            why: "a file of the documents could not be written: if the disk is full, make room".into(),
        },
        fjall::Error::InvalidVersion(_) => StoreError::NotAStore {
            path: path.to_owned(),
            what: "the documents were written by another version: use that one, or restore a backup".into(),
        },
        fjall::Error::Storage(fjall::LsmError::ChecksumMismatch { .. }) => {
            damaged("a block of the documents does not match its checksum".into())
        }
        fjall::Error::JournalRecovery(_) => damaged("a journal of the documents has changed".into()),
        error => damaged(format!("the documents cannot be read ({error:?})")),
    }
}
