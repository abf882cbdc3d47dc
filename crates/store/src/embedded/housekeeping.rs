//! What happens by itself: expired records go, destroyed collections are erased, deletions are written down by the indexes,
//! and other processes are given the backups they ask for.

use super::engine::Read;
use super::find::Open;
use super::layout::{self, Tree};
use super::writer::{Change, Done, Request, Work};
use super::{Shared, backup};
use crate::StoreError;
use leitong_index::marks::MarkIndex;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks for something to do.
const EVERY: Duration = Duration::from_millis(500);
/// Deletions the indexes may not have written down; opening has to repeat them.
const MOST_DELETIONS: u64 = 20_000;

/// Versions that opening may have to read again for an index that has nothing there.
const MOST_BEHIND: u64 = 200_000;

/// A thread that ends when this is dropped.
pub(super) struct Housekeeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeper {
    pub(super) fn start(shared: &Arc<Shared>, requests: Sender<Request>) -> Result<Self, StoreError> {
        let (stop, stopped) = channel::<()>();
        let own = Arc::clone(shared);
        let work = move || {
            let goes_on = || stopped.try_recv() == Err(TryRecvError::Empty);
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if own.check().is_ok()
                    && let Err(error) = tidy_some(&own, &requests, &goes_on)
                {
                    own.notice(format!("tidying up: {error}"));
                }
                backup::serve(&own);
            }
        };
        let thread = std::thread::Builder::new().name("leitong-tidy".into()).spawn(work);
        let thread = thread.map_err(|error| StoreError::io(&shared.path, error))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Has the writer do something and waits for it.
pub(super) fn ask(shared: &Shared, requests: &Sender<Request>, work: Work) -> Result<Done, StoreError> {
    let (reply, answer) = sync_channel(1);
    let gone =
        || StoreError::Stopped { path: shared.path.clone(), why: "the writer ended unexpectedly".into() };
    requests.send(Request { work, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

/// Has the writer change something.
pub(super) fn change(
    shared: &Shared,
    requests: &Sender<Request>,
    change: Change,
) -> Result<bool, StoreError> {
    Ok(matches!(ask(shared, requests, Work::Change(change))?, Done::Changed(true)))
}

/// Does what is due, for as long as it goes on.
fn tidy_some(
    shared: &Shared,
    requests: &Sender<Request>,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), StoreError> {
    if has_expired(shared)? {
        while goes_on() && change(shared, requests, Box::new(|group| group.sweep()))? {}
    }
    erase(shared, requests, goes_on)?;
    if shared.deletions.load(Relaxed) > MOST_DELETIONS || has_laggards(shared)? {
        flush(shared, requests)?;
    }
    Ok(())
}

/// Does everything there is to do.
pub(super) fn tidy(shared: &Shared, requests: &Sender<Request>) -> Result<(), StoreError> {
    tidy_some(shared, requests, &|| true)?;
    flush(shared, requests)
}

/// Whether an index would have to be brought up over many versions.
fn has_laggards(shared: &Shared) -> Result<bool, StoreError> {
    let view = shared.read();
    for open in view.collections.values() {
        let next = open.count(&*view.moment, 0)?.next_version;
        let spaces = open.spaces.iter().map(|(_, index)| index.stats().next);
        if spaces.chain(open.marks.get().map(MarkIndex::next)).any(|own| own + MOST_BEHIND < next) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets the indexes write down what they have and what has been deleted, so that it need not be remembered elsewhere.
fn flush(shared: &Shared, requests: &Sender<Request>) -> Result<(), StoreError> {
    let _tidying = shared.tidying.lock().unwrap_or_else(PoisonError::into_inner);
    shared.deletions.store(0, Relaxed);
    let (commit, moment, collections) = {
        let view = shared.read();
        (shared.commits.load(Relaxed), view.moment.clone(), view.collections.clone())
    };
    for open in collections.values() {
        open.flush(open.count(&*moment, 0)?.next_version)?;
        let number = open.number;
        change(shared, requests, Box::new(move |group| group.forget_gone(number, commit)))?;
    }
    Ok(())
}

/// Removes everything that destroyed collections have left.
fn erase(shared: &Shared, requests: &Sender<Request>, goes_on: &dyn Fn() -> bool) -> Result<(), StoreError> {
    for number in destroyed(shared)? {
        while change(shared, requests, Box::new(move |group| group.erase(number)))? {
            if !goes_on() {
                return Ok(());
            }
        }
        let _tidying = shared.tidying.lock().unwrap_or_else(PoisonError::into_inner);
        Open::remove_files(&shared.path, number);
    }
    Ok(())
}

fn has_expired(shared: &Shared) -> Result<bool, StoreError> {
    let now = shared.clock.now();
    let (moment, collections) = {
        let view = shared.read();
        (view.moment.clone(), view.collections.clone())
    };
    let mut any = false;
    for open in collections.values() {
        open.each_expired(&*moment, now, &mut |_| {
            any = true;
            false
        })?;
    }
    Ok(any)
}

fn destroyed(shared: &Shared) -> Result<Vec<u32>, StoreError> {
    let moment = shared.read().moment.clone();
    let all = layout::all_destroyed();
    let mut numbers = Vec::new();
    moment.scan(Tree::Keys, &all, &all, &mut |key, _| {
        numbers.extend(layout::collection_of(key));
        Ok(true)
    })?;
    Ok(numbers)
}
