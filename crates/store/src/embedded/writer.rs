//! The one thread that writes. It takes all requests that are waiting, stages them in order, writes them with one
//! synchronisation of the disk, shows them to readers and only then answers: an answer means that it is on the disk, and
//! nobody is shown what is not.

use super::chain::Chain;
use super::codec::Counters;
use super::group::{Effect, Group, Prepared};
use super::pulse::Pulse;
use super::stage::Stage;
use super::{Shared, View};
use crate::StoreError;
use crate::seam::Added;
use std::collections::HashMap;
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
    /// Anything else: it is given the group, and says whether there was something to do or there may be more.
    Change(Change),
}

pub(super) type Change = Box<dyn FnOnce(&mut Group<'_>) -> Result<bool, StoreError> + Send>;

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
        while let Ok(first) = self.requests.recv() {
            let requests = self.gather(first);
            self.work(requests);
        }
        (self.pulse, self.chain)
    }

    /// Everything that is waiting. When several were served by the last commit, the others are on their way: waiting for
    /// them as long as a commit takes makes groups larger and costs each at most that.
    fn gather(&self, first: Request) -> Vec<Request> {
        let (mut operations, mut bytes) = (first.work.operations(), first.work.bytes());
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
            operations += next.work.operations();
            bytes += next.work.bytes();
            requests.push(next);
        }
        requests
    }

    fn work(&mut self, requests: Vec<Request>) {
        let operations: usize = requests.iter().map(|request| request.work.operations()).sum();
        let count = requests.len();
        let (works, replies): (Vec<Work>, Vec<_>) =
            requests.into_iter().map(|request| (request.work, request.reply)).unzip();
        let before = self.counters.clone();
        let start = Instant::now();
        match self.commit(works) {
            Ok(answers) => {
                let wall = start.elapsed();
                self.last = (wall, count);
                self.shared.activity.count(operations, wall);
                // Whoever no longer waits for the answer does not mind that it is lost.
                replies.into_iter().zip(answers).for_each(|(reply, answer)| _ = reply.send(answer));
            }
            Err(error) => {
                self.counters = before;
                let error = Arc::new(error);
                replies.into_iter().for_each(|reply| _ = reply.send(Err(copy(&self.shared.path, &error))));
            }
        }
    }

    /// Stages, writes and publishes a group. An error means that none of it was done.
    fn commit(&mut self, works: Vec<Work>) -> Result<Vec<Result<Done, StoreError>>, StoreError> {
        self.shared.check()?;
        let shared = Arc::clone(&self.shared);
        let (moment, collections) = {
            let view = shared.read();
            (view.moment.clone(), view.collections.clone())
        };
        let mut group = Group {
            stage: Stage::new(moment),
            effects: Vec::new(),
            collections,
            counters: &mut self.counters,
            clock: &shared.clock,
            commit: self.chain.next(),
        };
        let mut answers = Vec::with_capacity(works.len());
        for work in works {
            match stage(&mut group, work) {
                Err(error) if !is_users(&error) => return Err(error),
                answer => answers.push(answer),
            }
        }
        let Group { mut stage, effects, collections, .. } = group;
        if stage.is_empty() {
            return Ok(answers);
        }
        self.chain.extend(&mut stage);
        shared.engine.commit(stage.into_changes()).inspect_err(|error| shared.stop(&error.to_string()))?;
        if let Err(error) = self.pulse.write(self.chain.last()) {
            // The documents are safe; only damage to the journal would go unnoticed.
            shared.notice(format!("{error}"));
        }
        self.publish(effects, collections);
        Ok(answers)
    }

    /// Shows a written group to readers, all at once.
    fn publish(&self, effects: Vec<Effect>, collections: super::group::Collections) {
        let mut view = self.shared.write();
        let deletions = effects.iter().filter(|effect| matches!(effect, Effect::Delete(..))).count();
        self.shared.deletions.fetch_add(deletions as u64, Relaxed);
        for effect in effects {
            if let Err(error) = apply(&effect).or_else(|_| apply(&effect)) {
                // It is on disk but cannot be found: better no answers than wrong ones. Opening again mends it.
                self.shared.stop(&format!("the index could not take a fingerprint: {error}"));
            }
        }
        *view = View { moment: self.shared.engine.moment(), collections };
        self.shared.commits.store(self.chain.last(), Relaxed);
    }
}

/// Tried twice by the caller: an index reports what went wrong in an earlier merge once, and then goes on.
fn apply(effect: &Effect) -> Result<(), StoreError> {
    match effect {
        Effect::Insert(open, space, version, fingerprint) => {
            let mut of_space = open.spaces.iter().filter(|(settings, _)| settings.space == *space);
            of_space.try_for_each(|(_, index)| Ok(index.insert_at(*version, fingerprint)?))
        }
        Effect::Delete(open, version) => {
            open.spaces.iter().try_for_each(|(_, index)| Ok(index.delete(*version)?))
        }
    }
}

fn stage(group: &mut Group<'_>, work: Work) -> Result<Done, StoreError> {
    Ok(match work {
        Work::Add { collection, additions } => Done::Added(group.add(&collection, additions)?),
        Work::Remove { collection, ids } => Done::Removed(group.remove(&collection, &ids)?),
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
