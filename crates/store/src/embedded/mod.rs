//! A store in a folder: one process, no server, and what it has answered is there after a crash.
//!
//! ```text
//! requests ─▶ writer ─▶ stage ─▶ commit (one synchronisation for all that wait) ─▶ publish ─▶ answers
//!                                                                                     │
//! readers ◀──────────────────────── view: a moment of the documents, and the indexes ◀┘
//! ```
//! The documents are in the engine's trees (`layout`); the Hamming indexes beside them hold nothing that could not be made
//! again from the documents. Readers see the trees and the indexes as they were after the same commit.

mod activity;
mod backup;
mod chain;
mod engine;
#[cfg(test)]
mod faults;
mod find;
mod folder;
mod group;
mod housekeeping;
mod inspect;
mod journal;
mod layout;
mod opening;
mod outlines;
mod postings;
mod pulse;
mod repair;
mod stage;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use activity::{CollectionStats, Stats, Work};
pub use backup::backup;
pub use repair::repair;

use crate::record::{Collection, Stored};
use crate::seam::{Added, Addition, Count, Found, Probe, Query, Sources, Store, Want};
use crate::{Clock, Scoring, StoreError};
use engine::{Engine, Moment, Read};
use find::Open;
use group::{Collections, Prepared};
use housekeeping::Housekeeper;
use layout::Tree;
use leitong_index::marks::MarkIndex;
use outlines::Asked;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use writer::{Done, Request};

/// Additions that go to the writer together; a longer call is made in parts.
const TOGETHER: usize = 512;

/// Notices that are kept until somebody asks.
const MOST_NOTICES: usize = 100;
/// Questions that are answered from one moment; more at once would keep all they find in memory.
const ASKED: usize = 16;
/// Bytes that go to the writer together, more or less.
const TOGETHER_BYTES: usize = 8 << 20;

/// How a folder is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Make the store if there is none.
    pub create: bool,
    /// Bytes of memory for what is read often and what was written last; at least 48 MB are used.
    pub cache: u64,
    /// Tells when records have expired.
    pub clock: Clock,
    /// Who opens it, for whoever wants to open it meanwhile.
    pub holder: String,
    /// How documents are found by marks. Tests, which cannot add thousands, have their own.
    pub scoring: Scoring,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            create: true,
            cache: 64 << 20,
            clock: Clock::default(),
            holder: "leitong".into(),
            scoring: Scoring::DEFAULT,
        }
    }
}

/// A store in a folder.
///
/// ```
/// use leitong_store::embedded::{Embedded, Options};
/// use leitong_store::Store;
/// let folder = tempfile::tempdir()?;
/// let store = Embedded::open(folder.path(), Options::default())?;
/// assert!(store.collections()?.is_empty());
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Embedded {
    shared: Arc<Shared>,
    /// `None` once it is being closed.
    requests: Option<Sender<Request>>,
    writer: Option<JoinHandle<(pulse::Pulse, chain::Chain)>>,
    housekeeper: Option<Housekeeper>,
    /// The last commit when it was opened.
    opened_at: u64,
    _lock: File,
}

/// What the writer and the readers share.
struct Shared {
    path: PathBuf,
    engine: Engine,
    clock: Clock,
    scoring: Scoring,
    view: RwLock<View>,
    /// Why nothing is answered any more.
    stopped: OnceLock<String>,
    notices: Mutex<Vec<String>>,
    activity: activity::Activity,
    /// The last commit that readers see.
    commits: AtomicU64,
    /// Deletions since the indexes were last told to write theirs down.
    deletions: AtomicU64,
    /// Held while files of indexes are merged or removed.
    tidying: Mutex<()>,
}

/// What readers see: the documents and the indexes after the same commit.
struct View {
    moment: Arc<Moment>,
    collections: Collections,
}

impl View {
    fn open(&self, name: &str) -> Result<Arc<Open>, StoreError> {
        let open = self.collections.get(name).cloned();
        open.ok_or_else(|| StoreError::NoCollection { name: name.to_owned() })
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers nothing from now on.
    fn stop(&self, why: &str) {
        let _ = self.stopped.set(why.to_owned());
    }

    fn check(&self) -> Result<(), StoreError> {
        let stopped = |why: &String| Err(StoreError::Stopped { path: self.path.clone(), why: why.clone() });
        self.stopped.get().map_or(Ok(()), stopped)
    }

    fn notice(&self, notice: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        // What lasts is noticed again and again.
        if !notices.contains(&notice) && notices.len() < MOST_NOTICES {
            notices.push(notice);
        }
    }

    /// A collection and the moment its indexes belong to, and what `look` makes of the indexes.
    fn look<T>(
        &self,
        collection: &str,
        look: impl FnOnce(&Open, &Moment) -> Result<T, StoreError>,
    ) -> Result<(Arc<Open>, Arc<Moment>, T), StoreError> {
        self.check()?;
        let view = self.read();
        let open = view.open(collection)?;
        let seen = look(&open, &view.moment)?;
        Ok((open, Arc::clone(&view.moment), seen))
    }
}

impl Embedded {
    /// Opens a store, or makes one.
    pub fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        opening::open(path, options, false)
    }

    /// What was mended or could not be, since the store was opened. Each is said once.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes down what opening would otherwise have to work out again, and closes. Dropping does the same and keeps quiet
    /// about what goes wrong; nothing acknowledged is lost either way.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.shut()
    }

    fn shut(&mut self) -> Result<(), StoreError> {
        self.housekeeper.take();
        self.requests.take();
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let stopped = |what: &str| StoreError::Stopped { path: self.shared.path.clone(), why: what.into() };
        let (pulse, chain) = writer.join().map_err(|_| stopped("the writer ended unexpectedly"))?;
        if chain.last() == self.opened_at || self.shared.stopped.get().is_some() {
            return Ok(());
        }
        opening::settle(&self.shared, pulse, chain)
    }

    /// Removes what has expired, and rewrites documents and indexes without what has been deleted.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.shared.check()?;
        housekeeping::tidy(&self.shared, self.sender()?)?;
        let _tidying = self.shared.tidying.lock().unwrap_or_else(PoisonError::into_inner);
        let collections: Vec<Arc<Open>> = self.shared.read().collections.values().cloned().collect();
        for open in collections {
            open.spaces.iter().try_for_each(|(_, index)| index.merge())?;
            open.marks.get().map_or(Ok(()), MarkIndex::merge)?;
        }
        self.shared.engine.compact()
    }

    fn sender(&self) -> Result<&Sender<Request>, StoreError> {
        let closed =
            || StoreError::Stopped { path: self.shared.path.clone(), why: "it is being closed".into() };
        self.requests.as_ref().ok_or_else(closed)
    }

    fn ask(&self, work: writer::Work) -> Result<Done, StoreError> {
        housekeeping::ask(&self.shared, self.sender()?, work)
    }

    /// Answers questions from one moment.
    fn find_some(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        let probes: Vec<&[Probe]> = queries.iter().map(|query| query.probes.as_slice()).collect();
        let now = self.shared.clock.now();
        let (open, moment, hits) = self.shared.look(collection, |open, moment| {
            probes.iter().try_for_each(|probes| open.about.check_probes(probes))?;
            let mut hits = open.near(&probes)?;
            for (query, hits) in queries.iter().zip(&mut hits).filter(|(query, _)| query.asks_for_marks()) {
                let asked = asked(open, moment, query.except.as_deref(), now)?;
                open.find_marks(moment, &query.probes, &asked, hits)?;
            }
            Ok(hits)
        })?;
        let answer = |(query, mut hits): (&Query, crate::rank::Hits)| {
            open.keys(&*moment, &query.probes, &mut hits)?;
            open.candidates(&*moment, hits.ranks(), query, now)
        };
        queries.iter().zip(hits).map(answer).collect()
    }

    fn sources_of_some(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        let now = self.shared.clock.now();
        let (_, _, answers) = self.shared.look(collection, |open, moment| {
            let answer = |question: &Sources| {
                let asked = asked(open, moment, question.except.as_deref(), now)?;
                open.sources(moment, question, &asked)
            };
            questions.iter().map(answer).collect()
        })?;
        Ok(answers)
    }

    fn change(&self, change: writer::Change) -> Result<bool, StoreError> {
        housekeeping::change(&self.shared, self.sender()?, change)
    }
}

/// A question of a reader.
fn asked<'a>(open: &Open, moment: &Moment, except: Option<&str>, now: i64) -> Result<Asked<'a>, StoreError> {
    let own = except.map_or(Ok(None), |id| open.version_of(moment, id))?;
    Ok(Asked { own, now, pending: None })
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let _ = self.shut();
    }
}

impl Store for Embedded {
    fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.shared.check()?;
        Ok(self.shared.read().collections.values().map(|open| open.about.clone()).collect())
    }

    fn create(&self, collection: &Collection) -> Result<(), StoreError> {
        collection.validate()?;
        let (path, collection) = (self.shared.path.clone(), collection.clone());
        self.change(Box::new(move |group| group.create(&path, collection.clone()))).map(|_| ())
    }

    fn destroy(&self, collection: &str) -> Result<bool, StoreError> {
        let name = collection.to_owned();
        self.change(Box::new(move |group| Ok(group.destroy(&name))))
    }

    fn find(&self, collection: &str, queries: &[Query]) -> Result<Vec<Found>, StoreError> {
        let mut all = Vec::with_capacity(queries.len());
        // At least once, so that a collection that is not there is an error whatever is asked.
        let mut parts = queries.chunks(ASKED);
        loop {
            let part = parts.next().unwrap_or_default();
            all.extend(self.find_some(collection, part)?);
            if all.len() == queries.len() {
                return Ok(all);
            }
        }
    }

    fn sources(&self, collection: &str, questions: &[Sources]) -> Result<Vec<Vec<u32>>, StoreError> {
        let mut all = Vec::with_capacity(questions.len());
        let mut parts = questions.chunks(ASKED);
        loop {
            let part = parts.next().unwrap_or_default();
            all.extend(self.sources_of_some(collection, part)?);
            if all.len() == questions.len() {
                return Ok(all);
            }
        }
    }

    fn add(&self, collection: &str, additions: Vec<Addition>) -> Result<Vec<Added>, StoreError> {
        additions.iter().try_for_each(|addition| addition.record.validate())?;
        let mut additions = additions.into_iter().map(Prepared::new);
        let mut added = Vec::with_capacity(additions.len());
        // At least once, so that a collection that is not there is an error whatever is to be added.
        loop {
            let (mut part, mut bytes) = (Vec::new(), 0);
            while part.len() < TOGETHER && bytes < TOGETHER_BYTES {
                let Some(prepared) = additions.next() else { break };
                bytes += prepared.bytes();
                part.push(prepared);
            }
            let work = writer::Work::Add { collection: collection.to_owned(), additions: part };
            if let Done::Added(part) = self.ask(work)? {
                added.extend(part);
            }
            if additions.len() == 0 {
                return Ok(added);
            }
        }
    }

    fn remove(&self, collection: &str, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut removed = Vec::with_capacity(ids.len());
        let mut parts = ids.chunks(TOGETHER);
        loop {
            let part = parts.next().unwrap_or_default().iter().map(|&id| id.to_owned()).collect();
            let work = writer::Work::Remove { collection: collection.to_owned(), ids: part };
            if let Done::Removed(part) = self.ask(work)? {
                removed.extend(part);
            }
            if removed.len() == ids.len() {
                return Ok(removed);
            }
        }
    }

    fn get(&self, collection: &str, ids: &[&str], want: Want) -> Result<Vec<Option<Stored>>, StoreError> {
        let (open, moment, ()) = self.shared.look(collection, |_, _| Ok(()))?;
        let now = self.shared.clock.now();
        let get = |&id: &&str| match open.version_of(&*moment, id)? {
            Some(version) => open.stored(&*moment, version, want, now),
            None => Ok(None),
        };
        ids.iter().map(get).collect()
    }

    fn scan(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
        want: Want,
    ) -> Result<Vec<Stored>, StoreError> {
        let (open, moment, ()) = self.shared.look(collection, |_, _| Ok(()))?;
        let now = self.shared.clock.now();
        let prefix = layout::ids(open.number);
        // The key behind `after`: nothing stands between a key and the same with a zero byte.
        let from = after.map_or(prefix.clone(), |after| [&layout::id(open.number, after)[..], &[0]].concat());
        let mut all = Vec::new();
        if limit > 0 {
            moment.scan(Tree::Keys, &prefix, &from, &mut |_, value| {
                let version = layout::last_number(value).unwrap_or(u64::MAX);
                all.extend(open.stored(&*moment, version, want, now)?);
                Ok(all.len() < limit)
            })?;
        }
        Ok(all)
    }

    fn count(&self, collection: &str) -> Result<Count, StoreError> {
        let (open, moment, ()) = self.shared.look(collection, |_, _| Ok(()))?;
        open.count(&*moment, self.shared.clock.now())
    }
}
