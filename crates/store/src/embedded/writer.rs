//! The one thread that writes. It takes all requests that are waiting, stages them in order, writes them with one
//! synchronisation of the disk, shows them to readers and only then answers: an answer means that it is on the disk, and
//! nobody is shown what is not.

use super::chain::Chain;
use super::group::{Collections, Effect, Group, Prepared};
use super::pulse::Pulse;
use super::stage::Stage;
use super::{Shared, View};
use crate::StoreError;
use crate::codec::Counters;
use crate::seam::Added;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// Operations and bytes of a group, more or less.
const MOST_OPERATIONS: usize = 1024;
const MOST_BYTES: usize = 16 << 20;
/// The longest a group waits for more to come.
const MOST_WAIT: Duration = Duration::from_millis(1);

/// What is to be done.
pub(super) enum Work {
    Add {
        collection: String,
        additions: Vec<Prepared>,
    },
    Remove {
        collection: String,
        ids: Vec<String>,
    },
    /// Anything else, in a group of its own: it is given the group, and says whether there was something to do or there may
    /// be more.
    Change(Change),
}

pub(super) type Change = Box<dyn Fn(&mut Group<'_>) -> Result<bool, StoreError> + Send>;

/// What was done.
#[derive(Debug)]
pub(super) enum Done {
    Added(Vec<Added>),
    Removed(Vec<Option<u64>>),
    Changed(bool),
}

pub(super) struct Request {
    pub(super) work: Work,
    pub(super) reply: SyncSender<Result<Done, StoreError>>,
}

impl Work {
    fn operations(&self) -> usize {
        match self {
            Self::Add { additions, .. } => additions.len(),
            Self::Remove { ids, .. } => ids.len(),
            Self::Change(_) => 1,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Add { additions, .. } => additions.iter().map(Prepared::bytes).sum(),
            Self::Remove { .. } | Self::Change(_) => 0,
        }
    }
}

pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) requests: Receiver<Request>,
    pub(super) pulse: Pulse,
    pub(super) chain: Chain,
    pub(super) counters: HashMap<u32, Counters>,
    /// How long the last commit took, and how many requests it answered.
    pub(super) last: (Duration, usize),
}

impl Writer {
    /// Works until nobody can ask any more, and gives back what closing needs.
    pub(super) fn run(mut self) -> (Pulse, Chain) {
        let mut alone = None;
        while let Some(first) = alone.take().or_else(|| self.requests.recv().ok()) {
            let requests;
            (requests, alone) = self.gather(first);
            let shared = Arc::clone(&self.shared);
            let work = std::panic::AssertUnwindSafe(|| self.work(requests));
            if std::panic::catch_unwind(work).is_err() {
                shared.stop("the writer panicked");
            }
        }
        (self.pulse, self.chain)
    }

    /// Everything that is waiting. When several were served by the last commit, the others are on their way: waiting for
    /// them as long as a commit takes makes groups larger and costs each at most that. A change goes alone, so one may be
    /// left over.
    fn gather(&self, first: Request) -> (Vec<Request>, Option<Request>) {
        let (mut operations, mut bytes) = (first.work.operations(), first.work.bytes());
        let is_change = |request: &Request| matches!(request.work, Work::Change(_));
        if is_change(&first) {
            return (vec![first], None);
        }
        let mut requests = vec![first];
        let deadline = Instant::now() + self.last.0.min(MOST_WAIT);
        while operations < MOST_OPERATIONS && bytes < MOST_BYTES {
            let next = match self.requests.try_recv() {
                Ok(next) => next,
                Err(_) if requests.len() >= self.last.1 => break,
                Err(_) => {
                    match self.requests.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                        Ok(next) => next,
                        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                    }
                }
            };
            if is_change(&next) {
                return (requests, Some(next));
            }
            operations += next.work.operations();
            bytes += next.work.bytes();
            requests.push(next);
        }
        (requests, None)
    }

    fn work(&mut self, requests: Vec<Request>) {
        let operations: usize = requests.iter().map(|request| request.work.operations()).sum();
        let count = requests.len();
        let (works, replies): (Vec<Work>, Vec<_>) =
            requests.into_iter().map(|request| (request.work, request.reply)).unzip();
        let start = Instant::now();
        let (answers, written) = match self.commit(&works) {
            Ok(done) => done,
            Err(error) => {
                let all = works.iter().map(|_| Err(copy(&self.shared.path, &error)));
                (all.collect(), false)
            }
        };
        if written {
            self.last = (start.elapsed(), count);
            self.shared.activity.count(operations, start.elapsed());
        }
        // Whoever no longer waits for the answer does not mind that it is lost.
        replies.into_iter().zip(answers).for_each(|(reply, answer)| _ = reply.send(answer));
    }

    /// Stages, writes and publishes a group: the answers, and whether anything was written. An error means that nothing was.
    fn commit(&mut self, works: &[Work]) -> Result<(Answers, bool), StoreError> {
        self.shared.check()?;
        let shared = Arc::clone(&self.shared);
        let (staged, answers) = self.stage_all(works);
        let Staged { mut stage, effects, collections } = staged;
        if stage.is_empty() {
            return Ok((answers, false));
        }
        self.chain.extend(&mut stage);
        shared.engine.commit(stage.into_changes()).inspect_err(|error| shared.stop(&error.to_string()))?;
        if let Err(error) = self.pulse.write(self.chain.last()) {
            // The documents are safe; only damage to the journal would go unnoticed.
            shared.notice(format!("{error}"));
        }
        self.publish(&effects, collections);
        Ok((answers, true))
    }

    /// Stages all requests but those that fail. One that fails half way may have staged something, so all begins anew
    /// without it.
    fn stage_all(&mut self, works: &[Work]) -> (Staged, Answers) {
        let shared = Arc::clone(&self.shared);
        let before = self.counters.clone();
        let mut failed: Vec<Option<StoreError>> = works.iter().map(|_| None).collect();
        'anew: loop {
            self.counters.clone_from(&before);
            let (moment, collections) = {
                let view = shared.read();
                (view.moment.clone(), view.collections.clone())
            };
            let mut group = Group {
                stage: Stage::new(moment),
                effects: Vec::new(),
                pending: BTreeMap::new(),
                collections,
                counters: &mut self.counters,
                clock: &shared.clock,
                scoring: shared.scoring,
                commit: self.chain.next(),
            };
            let mut answers: Answers = Vec::with_capacity(works.len());
            for (at, work) in works.iter().enumerate() {
                if failed[at].is_some() {
                    // Its place; the error comes at the end.
                    answers.push(Ok(Done::Changed(false)));
                    continue;
                }
                match stage(&mut group, work) {
                    Err(error) if !is_users(&error) => {
                        failed[at] = Some(error);
                        continue 'anew;
                    }
                    answer => answers.push(answer),
                }
            }
            let Group { stage, effects, collections, .. } = group;
            for (answer, error) in answers.iter_mut().zip(failed) {
                error.into_iter().for_each(|error| *answer = Err(error));
            }
            return (Staged { stage, effects, collections }, answers);
        }
    }

    /// Shows a written group to readers, all at once.
    fn publish(&self, effects: &[Effect], collections: Collections) {
        let mut view = self.shared.write();
        let deletions = effects.iter().filter(|effect| matches!(effect, Effect::Delete(..))).count();
        self.shared.deletions.fetch_add(deletions as u64, Relaxed);
        for effect in effects {
            if let Err(error) = self.apply(effect) {
                // It is on disk but cannot be found: better no answers than wrong ones. Opening again mends it.
                self.shared.stop(&format!("the index could not take a change: {error}"));
            }
        }
        *view = View { moment: self.shared.engine.moment(), collections };
        self.shared.commits.store(self.chain.last(), Relaxed);
    }

    fn apply(&self, effect: &Effect) -> Result<(), StoreError> {
        match effect {
            Effect::Insert(open, space, version, fingerprint) => {
                let mut of_space = open.spaces.iter().filter(|(settings, _)| settings.space == *space);
                of_space.try_for_each(|(_, index)| self.twice(|| index.insert_at(*version, fingerprint)))?;
            }
            Effect::Outline(open, version, origin, marks) => {
                let index = open.mark_index(&self.shared.path)?;
                self.twice(|| index.insert_at(*version, *origin, marks))?;
            }
            Effect::Delete(open, version) => {
                open.spaces.iter().try_for_each(|(_, index)| self.twice(|| index.delete(*version)))?;
                open.marks.get().map_or(Ok(()), |index| self.twice(|| index.delete(*version).map(|_| ())))?;
                open.common.note_deletion();
            }
        }
        Ok(())
    }

    /// An index reports once what went wrong in an earlier merge, and then goes on.
    fn twice<E: Display>(&self, change: impl Fn() -> Result<(), E>) -> Result<(), E> {
        change().or_else(|error| {
            self.shared.notice(format!("an index could not be merged: {error}"));
            change()
        })
    }
}

/// One answer for each request.
type Answers = Vec<Result<Done, StoreError>>;

/// A group that is ready to be written.
struct Staged {
    stage: Stage,
    effects: Vec<Effect>,
    collections: Collections,
}

fn stage(group: &mut Group<'_>, work: &Work) -> Result<Done, StoreError> {
    Ok(match work {
        Work::Add { collection, additions } => Done::Added(group.add(collection, additions)?),
        Work::Remove { collection, ids } => Done::Removed(group.remove(collection, ids)?),
        Work::Change(change) => Done::Changed(change(group)?),
    })
}

/// Whether an error is about the question, so that nothing was staged and the others can go on.
fn is_users(error: &StoreError) -> bool {
    use StoreError::{NoCollection, NoSpace, OtherCollection, TooFar, Width};
    matches!(
        error,
        NoCollection { .. } | NoSpace { .. } | OtherCollection { .. } | TooFar { .. } | Width { .. }
    )
}

/// The same error for everybody it concerns.
fn copy(path: &std::path::Path, error: &StoreError) -> StoreError {
    let path = || -> PathBuf { path.to_owned() };
    match error {
        StoreError::Io { source, .. } => {
            let again = source.raw_os_error().map(std::io::Error::from_raw_os_error);
            StoreError::Io {
                path: path(),
                source: again.unwrap_or_else(|| std::io::Error::new(source.kind(), source.to_string())),
            }
        }
        StoreError::Damaged { path, what } => StoreError::Damaged { path: path.clone(), what: what.clone() },
        StoreError::Stopped { why, .. } => StoreError::Stopped { path: path(), why: why.clone() },
        other => StoreError::Stopped { path: path(), why: other.to_string() },
    }
}
