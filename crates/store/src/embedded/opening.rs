//! Opening a store: whether everything is there, and bringing the indexes up to the documents.

use super::chain::Chain;
use super::engine::{Engine, Moment, Read};
use super::find::Open;
use super::housekeeping::Housekeeper;
use super::layout::{self, Tree};
use super::outlines::Common;
use super::pulse::{Beat, Pulse};
use super::stage::Stage;
use super::writer::Writer;
use super::{Embedded, Options, Shared, View, folder, outlines};
use crate::codec::{self, Counters};
use crate::near;
use crate::record::{Collection, SpaceSettings};
use crate::seam::Count;
use crate::{Scoring, StoreError};
use leitong_index::hamming::HammingError;
use leitong_index::marks::{MarkError, MarkIndex};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

/// Bytes of commits that the next opening may have to replay.
const REPLAYED: u64 = 4 << 20;

/// Opens a folder. To repair it, commits that are missing are accepted and all indexes made anew.
pub(super) fn open(path: &Path, options: Options, repair: bool) -> Result<Embedded, StoreError> {
    let mut notices = Vec::new();
    let lock = folder::enter(path, &options, repair, &mut notices)?;
    super::inspect::inspect(path, repair, &mut notices)?;
    let engine = Engine::open(path, options.cache)?;
    let mut moment = engine.moment();
    let (mut pulse, mut chain, broken_at) = check_commits(path, &moment, repair, &mut notices)?;
    if let Some(last) = broken_at {
        let mut stage = Stage::new(moment);
        chain = Chain::begin_anew(last, &mut stage)?;
        engine.commit(stage.into_changes())?;
        moment = engine.moment();
    }
    pulse.write(chain.last())?;
    let (collections, counters) = open_collections(path, &moment, &options, repair, &mut notices)?;
    remove_strangers(path, &collections)?;
    let opened_at = chain.last();
    let shared = Arc::new(Shared {
        path: path.to_owned(),
        engine,
        clock: options.clock,
        scoring: options.scoring,
        view: RwLock::new(View { moment, collections }),
        stopped: OnceLock::new(),
        notices: Mutex::new(notices),
        activity: super::activity::Activity::default(),
        commits: AtomicU64::new(opened_at),
        deletions: AtomicU64::new(0),
        tidying: Mutex::new(()),
    });
    let (sender, requests) = channel();
    let last = (Duration::ZERO, 0);
    let writer = Writer { shared: Arc::clone(&shared), requests, pulse, chain, counters, last };
    let writer = std::thread::Builder::new().name("leitong-write".into()).spawn(move || writer.run());
    let writer = writer.map_err(|error| StoreError::io(path, error))?;
    let housekeeper = Housekeeper::start(&shared, sender.clone())?;
    Ok(Embedded {
        shared,
        requests: Some(sender),
        writer: Some(writer),
        housekeeper: Some(housekeeper),
        opened_at,
        _lock: lock,
    })
}

/// Whether everything acknowledged is there. To repair, the last commit there ever was, if something is missing.
pub(super) fn check_commits(
    path: &Path,
    moment: &Moment,
    repair: bool,
    notices: &mut Vec<String>,
) -> Result<(Pulse, Chain, Option<u64>), StoreError> {
    let (chain, mut wrong) = Chain::read(moment)?;
    let (pulse, beat) = Pulse::open(path)?;
    match beat {
        Beat::Commit(commit) if commit > chain.last() => {
            let (found, lost) = (chain.last(), commit - chain.last());
            wrong.push(format!(
                "the last {lost} commits are missing: {commit} were acknowledged, {found} are there"
            ));
        }
        // Killed between the first commit and the first beat.
        Beat::Empty if chain.last() <= 1 => {}
        Beat::Unreadable | Beat::Empty => notices.push(
            "the file pulse could not be read, so it is not certain that the last documents are all there; \
             it has been written anew"
                .into(),
        ),
        Beat::Missing if chain.last() > 0 => {
            notices.push("the file pulse was missing and has been made anew".into());
        }
        Beat::Commit(_) | Beat::Missing => {}
    }
    if wrong.is_empty() {
        return Ok((pulse, chain, None));
    }
    let what = format!("{} (a journal was cut short or changed)", wrong.join("; "));
    if !repair {
        return Err(StoreError::Damaged { path: path.to_owned(), what });
    }
    notices.push(what);
    let last = if let Beat::Commit(commit) = beat { commit.max(chain.last()) } else { chain.last() };
    Ok((pulse, chain, Some(last)))
}

type Opened = (BTreeMap<String, Arc<Open>>, HashMap<u32, Counters>);

fn open_collections(
    path: &Path,
    moment: &Moment,
    options: &Options,
    repair: bool,
    notices: &mut Vec<String>,
) -> Result<Opened, StoreError> {
    let damaged = |what: &str| StoreError::Damaged { path: path.to_owned(), what: what.into() };
    let (mut collections, mut counters) = (BTreeMap::new(), HashMap::new());
    for (number, about) in catalogue(path, moment)? {
        let bytes = moment.get(Tree::Keys, &layout::counters(number))?;
        let own = bytes.and_then(|bytes| Counters::parse(&bytes));
        let own = own.ok_or_else(|| damaged("the counters of a collection cannot be read"))?;
        let mut open = Open {
            number,
            about,
            spaces: Vec::new(),
            marks: OnceLock::new(),
            common: Common::default(),
            scoring: options.scoring,
        };
        open.recover(path, own, repair, notices)?;
        open.replay(moment)?;
        collections.insert(open.about.name.clone(), Arc::new(open));
        counters.insert(number, own);
    }
    Ok((collections, counters))
}

/// All collections and their numbers.
pub(super) fn catalogue(path: &Path, moment: &Moment) -> Result<Vec<(u32, Collection)>, StoreError> {
    let damaged =
        || StoreError::Damaged { path: path.to_owned(), what: "a collection cannot be read".into() };
    let mut all = Vec::new();
    let prefix = layout::collections();
    moment.scan(Tree::Keys, &prefix, &prefix, &mut |_, value| {
        all.push(codec::parse_collection(value).ok_or_else(damaged)?);
        Ok(true)
    })?;
    Ok(all)
}

/// Removes indexes that belong to no collection: a crash while one was made or destroyed leaves them.
fn remove_strangers(path: &Path, collections: &BTreeMap<String, Arc<Open>>) -> Result<(), StoreError> {
    let folder = path.join("index");
    if !folder.try_exists().map_err(|error| StoreError::io(&folder, error))? {
        return Ok(());
    }
    let io = |error| StoreError::io(&folder, error);
    for entry in fs::read_dir(&folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.split_once('-').and_then(|(number, _)| number.parse().ok());
        if number.is_some_and(|number: u32| collections.values().all(|open| open.number != number)) {
            fs::remove_dir_all(&path).map_err(|error| StoreError::io(&path, error))?;
        }
    }
    Ok(())
}

fn index_folder(path: &Path, number: u32, settings: &SpaceSettings) -> PathBuf {
    path.join("index").join(format!("{number}-{}", settings.space.0))
}

impl Open {
    /// A new collection with empty indexes.
    pub(super) fn create(
        path: &Path,
        number: u32,
        about: Collection,
        scoring: Scoring,
    ) -> Result<Self, StoreError> {
        let open = |settings: &SpaceSettings| {
            let folder = index_folder(path, number, settings);
            if folder.exists() {
                fs::remove_dir_all(&folder).map_err(|error| StoreError::io(&folder, error))?;
            }
            Ok((*settings, near::open(settings, Some(&folder))?))
        };
        let spaces = about.spaces.iter().map(open).collect::<Result<_, StoreError>>()?;
        Ok(Self { number, about, spaces, marks: OnceLock::new(), common: Common::default(), scoring })
    }

    /// Removes the files of a destroyed collection's indexes. What cannot be removed now goes at the next opening.
    pub(super) fn remove_files(path: &Path, number: u32) {
        for space in 0..=u8::MAX {
            let _ = fs::remove_dir_all(path.join("index").join(format!("{number}-{space}")));
        }
        let _ = fs::remove_dir_all(outlines::folder(path, number));
    }

    /// Opens the indexes, and makes those anew that cannot be used.
    fn recover(
        &mut self,
        path: &Path,
        counters: Counters,
        rebuild: bool,
        notices: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let (name, next) = (self.about.name.as_str(), counters.next);
        let mut fitting = Fitting { name, next, rebuild, notices };
        for settings in &self.about.spaces {
            let folder = index_folder(path, self.number, settings);
            let open = || near::open(settings, Some(&folder));
            self.spaces.push((*settings, fitting.open(&folder, open, |index| index.stats().next)?));
        }
        let folder = outlines::folder(path, self.number);
        if counters.outlines {
            let open = || outlines::open_index(path, self.number);
            let _ = self.marks.set(fitting.open(&folder, open, MarkIndex::next)?);
        } else if folder.exists() {
            // Made for an outline that was never written.
            fs::remove_dir_all(&folder).map_err(|error| StoreError::io(&folder, error))?;
        }
        Ok(())
    }

    /// Adds what the indexes do not have yet, and deletes what they may not know to be deleted.
    fn replay(&self, moment: &Moment) -> Result<(), StoreError> {
        let damaged = |what: String| StoreError::Damaged { path: moment.folder().to_owned(), what };
        let mut gone = BTreeSet::new();
        let prefix = layout::all_gone(self.number);
        moment.scan(Tree::Keys, &prefix, &prefix, &mut |key, _| {
            gone.extend(layout::last_number(key));
            Ok(true)
        })?;
        let nexts: Vec<u64> = self.spaces.iter().map(|(_, index)| index.stats().next).collect();
        let marks = self.marks.get().map(|index| (index, index.next()));
        let from = nexts.iter().copied().chain(marks.map(|(_, next)| next)).min().unwrap_or(u64::MAX);
        let number = self.number.to_be_bytes();
        moment.scan(Tree::Records, &number, &layout::version(self.number, from), &mut |key, value| {
            let version = layout::last_number(key).unwrap_or(u64::MAX);
            let parse = if marks.is_some() { codec::parse_whole } else { codec::parse_record };
            let record = parse(value).ok_or_else(|| {
                damaged(format!("version {version} of {:?} cannot be read", self.about.name))
            })?;
            for ((settings, index), &next) in self.spaces.iter().zip(&nexts) {
                if let (true, Some(fingerprint)) = (version >= next, record.signals.near(settings.space)) {
                    index.insert_at(version, fingerprint)?;
                }
            }
            let hashes = record.signals.outline.hashes();
            if let Some((index, next)) = marks
                && version >= next
                && !hashes.is_empty()
            {
                index.insert_at(version, record.origin.unwrap_or(version), &hashes)?;
            }
            Ok(true)
        })?;
        for (_, index) in &self.spaces {
            gone.iter().try_for_each(|&version| index.delete(version))?;
        }
        if let Some((index, _)) = marks {
            gone.iter().try_for_each(|&version| index.delete(version).map(|_| ()))?;
        }
        Ok(())
    }

    /// How much the collection holds.
    pub(super) fn count(&self, read: &impl Read, now: i64) -> Result<Count, StoreError> {
        let bytes = read.get(Tree::Keys, &layout::counters(self.number))?;
        let counters = bytes.and_then(|bytes| Counters::parse(&bytes)).unwrap_or_default();
        let mut expired = 0;
        self.each_expired(read, now, &mut |_| {
            expired += 1;
            true
        })?;
        Ok(Count { documents: counters.documents.saturating_sub(expired), next_version: counters.next })
    }
}

/// What an index must fit.
struct Fitting<'a> {
    name: &'a str,
    /// It must not know of later versions.
    next: u64,
    /// It is made anew in any case.
    rebuild: bool,
    notices: &'a mut Vec<String>,
}

impl Fitting<'_> {
    /// The index in a folder, or a new one if that cannot be used.
    fn open<I>(
        &mut self,
        folder: &Path,
        open: impl Fn() -> Result<I, StoreError>,
        next: impl Fn(&I) -> u64,
    ) -> Result<I, StoreError> {
        // Whatever was opened is closed again behind this statement, before its files go.
        let why = match open() {
            Ok(index) if !self.rebuild && next(&index) <= self.next => return Ok(index),
            Ok(_) if self.rebuild => "as was asked for".into(),
            Ok(_) => "it belonged to other documents".into(),
            Err(error) if !can_rebuild(&error) => return Err(error),
            Err(error) => error.to_string(),
        };
        self.notices.push(format!("an index of collection {:?} was built anew: {why}", self.name));
        fs::remove_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
        open()
    }
}

/// Whether making an index anew would help.
fn can_rebuild(error: &StoreError) -> bool {
    use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    match error {
        StoreError::Index(HammingError::InUse { .. } | HammingError::Memory { .. })
        | StoreError::Marks(MarkError::InUse { .. } | MarkError::Memory { .. }) => false,
        // A file that is missing or too short comes back; a disk that cannot be read does not.
        StoreError::Io { source, .. } => matches!(source.kind(), NotFound | UnexpectedEof | InvalidData),
        error => matches!(error, StoreError::Index(_) | StoreError::Marks(_)),
    }
}

/// Leaves the folder so that the next opening has nothing to work out.
pub(super) fn settle(shared: &Shared, mut pulse: Pulse, mut chain: Chain) -> Result<(), StoreError> {
    let (moment, collections) = {
        let view = shared.read();
        (view.moment.clone(), view.collections.clone())
    };
    for open in collections.values() {
        open.flush(open.count(&*moment, 0)?.next_version)?;
    }
    // Little is replayed faster than it is moved.
    let flush = chain.bytes() > REPLAYED;
    if flush {
        shared.engine.flush()?;
    }
    let mut stage = Stage::new(moment);
    for open in collections.values() {
        let prefix = layout::all_gone(open.number);
        let mut known = Vec::new();
        stage.scan(Tree::Keys, &prefix, &prefix, &mut |key, _| {
            known.push(key.to_vec());
            Ok(true)
        })?;
        known.into_iter().for_each(|key| stage.delete(Tree::Keys, key));
    }
    chain.extend(&mut stage);
    if flush {
        chain.shorten(&mut stage);
    }
    shared.engine.commit(stage.into_changes())?;
    pulse.write(chain.last())?;
    shared.commits.store(chain.last(), Relaxed);
    pulse.sync()
}
