//! Reading ahead: a thread reads while what it has read before is being worked on.
//!
//! Whoever works takes all there is at once. So the lines of a live pipe are answered as they come, and while the store is
//! busy with one batch the next grows, up to a limit.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Items, and bytes of them, that are read ahead: the size of a batch. The store takes 512 additions in one commit.
const MOST: (usize, usize) = (512, 16 << 20);

/// Batches of what a thread reads, in order.
pub(crate) struct Feed<T>(Arc<Shared<T>>);

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

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item when there is room; false if nobody wants it.
    fn push(&self, item: T, bytes: usize) -> bool {
        let full =
            |state: &mut State<T>| !state.closed && (state.items.len() >= MOST.0 || state.bytes >= MOST.1);
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
    /// Starts to read. `items` makes the iterator in the thread; `bytes` is the size of an item.
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
        Ok(Self(shared))
    }

    /// Whether all there was has been read, once nothing more comes.
    pub(crate) fn is_whole(&self) -> bool {
        !self.0.lock().broken
    }
}

impl<T> Iterator for Feed<T> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        let nothing = |state: &mut State<T>| state.items.is_empty() && !state.ended;
        let mut state =
            self.0.filled.wait_while(self.0.lock(), nothing).unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut state.items);
        state.bytes = 0;
        self.0.emptied.notify_one();
        (!batch.is_empty()).then_some(batch)
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.emptied.notify_one();
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
