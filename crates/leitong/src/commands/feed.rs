//! Reading ahead: a thread reads while what it has read before is being worked on.
//!
//! Whoever works takes all there is at once. So the lines of a live pipe are answered as they come, and while the store is
//! busy with one batch the next grows, up to a limit. What lies in a file is taken in whole batches instead, so that what is stored does
//! not depend on who was faster.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Items, and bytes of them, that are read ahead: the size of a batch. The store takes 512 additions in one commit.
const MOST: (usize, usize) = (512, 16 << 20);

/// Batches of what a thread reads, in order.
pub(crate) struct Feed<T> {
    shared: Arc<Shared<T>>,
    pace: Pace,
}

/// How much is taken at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// All there is.
    AsTheyCome,
    /// As much as a batch can be.
    WholeBatches,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
}

struct State<T> {
    items: Vec<T>,
    bytes: usize,
    /// The reader has nothing more.
    ended: bool,
    /// It ended in a panic.
    broken: bool,
    /// Nobody takes anything any more.
    closed: bool,
}

impl<T> State<T> {
    fn is_full(&self) -> bool {
        self.items.len() >= MOST.0 || self.bytes >= MOST.1
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item when there is room; false if nobody wants it.
    fn push(&self, item: T, bytes: usize) -> bool {
        let full = |state: &mut State<T>| !state.closed && state.is_full();
        let mut state = self.emptied.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.items.push(item);
        state.bytes += bytes;
        self.filled.notify_one();
        !state.closed
    }
}

/// Ends the feed, also when reading ends in a panic.
struct End<T>(Arc<Shared<T>>);

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        (state.ended, state.broken) = (true, std::thread::panicking());
        self.0.filled.notify_one();
    }
}

impl<T: Send + 'static> Feed<T> {
    /// Starts to read, to be taken as they come. `items` makes the iterator in the thread; `bytes` is the size of an item.
    pub(crate) fn start<I: Iterator<Item = T>>(
        items: impl FnOnce() -> I + Send + 'static,
        bytes: fn(&T) -> usize,
    ) -> std::io::Result<Self> {
        let state =
            Mutex::new(State { items: Vec::new(), bytes: 0, ended: false, broken: false, closed: false });
        let shared = Arc::new(Shared { state, filled: Condvar::new(), emptied: Condvar::new() });
        let end = End(Arc::clone(&shared));
        // Never joined: it may wait for a line of standard input that does not come.
        std::thread::Builder::new().name("leitong-read".into()).spawn(move || {
            for item in items() {
                let bytes = bytes(&item);
                if !end.0.push(item, bytes) {
                    return;
                }
            }
        })?;
        Ok(Self { shared, pace: Pace::AsTheyCome })
    }

    /// The same, taken at another pace.
    pub(crate) fn at(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Whether all there was has been read, once nothing more comes.
    pub(crate) fn is_whole(&self) -> bool {
        !self.shared.lock().broken
    }
}

impl<T> Iterator for Feed<T> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        let pace = self.pace;
        let too_little = |state: &mut State<T>| {
            let enough = match pace {
                Pace::AsTheyCome => !state.items.is_empty(),
                Pace::WholeBatches => state.is_full(),
            };
            !enough && !state.ended
        };
        let shared = &self.shared;
        let mut state =
            shared.filled.wait_while(shared.lock(), too_little).unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut state.items);
        state.bytes = 0;
        shared.emptied.notify_one();
        (!batch.is_empty()).then_some(batch)
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.emptied.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_in_order_and_in_bounded_batches() {
        let mut feed = Feed::start(|| 0..10_000, |_| 1).unwrap();
        let batches: Vec<Vec<i32>> = feed.by_ref().collect();
        assert!(feed.is_whole());
        assert!(batches.iter().all(|batch| !batch.is_empty() && batch.len() <= MOST.0));
        assert_eq!(batches.concat(), (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn whole_batches_do_not_depend_on_who_is_faster() {
        let slow = || {
            (0..MOST.0 + 7).inspect(|at| {
                if at % 100 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            })
        };
        let feed = Feed::start(slow, |_| 1).unwrap().at(Pace::WholeBatches);
        assert_eq!(feed.map(|batch| batch.len()).collect::<Vec<_>>(), [MOST.0, 7]);
    }

    #[test]
    fn large_items_make_small_batches() {
        let feed = Feed::start(|| 0..100, |_| MOST.1).unwrap();
        assert!(feed.inspect(|batch| assert_eq!(batch.len(), 1)).count() == 100);
    }

    #[test]
    fn a_reader_that_fails_ends_it() {
        let read = || (0..5).map(|at| if at < 3 { at } else { std::panic::resume_unwind(Box::new(())) });
        let mut feed = Feed::start(read, |_| 1).unwrap();
        assert_eq!(feed.by_ref().flatten().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(!feed.is_whole());
    }

    #[test]
    fn a_reader_that_nobody_listens_to_ends() {
        let (sender, ended) = std::sync::mpsc::channel::<()>();
        let read = move || {
            let _held = &sender;
            (0..).inspect(move |_| drop(sender.clone()))
        };
        let mut feed = Feed::start(read, |_: &i32| 1).unwrap();
        feed.next();
        drop(feed);
        assert_eq!(ended.recv(), Err(std::sync::mpsc::RecvError));
    }
}
