//! Processes at work, what befalls them, and what is found afterwards.

use crate::checker::violations;
use crate::history::{self, Answer, Call, Doc, Event};
use crate::mix;
use crate::worker::{NAME, Worker, answer, collection, doc, open};
use leitong_fingerprint::Fingerprint;
use leitong_store::{Space, Store, StoreError, Want};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Processes at once.
const WORKERS: usize = 3;
/// How long may pass after all harm is done until enough has happened.
const LONGEST: Duration = Duration::from_secs(300);

/// Several processes at one store.
pub(crate) struct Crowd {
    address: String,
    folder: TempDir,
    workers: Vec<Worker>,
    logs: Vec<PathBuf>,
    /// Of the next process; also what the harm is chosen by.
    seed: u64,
}

impl Crowd {
    /// Makes the collection and starts all processes.
    pub(crate) fn start(address: &str, seed: u64) -> Self {
        let store = until_done(|| open(address));
        until_done(|| store.create(&collection()));
        let folder = tempfile::tempdir().unwrap();
        let mut crowd =
            Self { address: address.to_owned(), folder, workers: Vec::new(), logs: Vec::new(), seed };
        (0..WORKERS).for_each(|_| crowd.start_one());
        crowd
    }

    fn start_one(&mut self) {
        self.seed += 1;
        self.workers.push(Worker::start(&self.address, self.seed, self.folder.path()));
    }

    /// Kills one of the processes; another takes its place.
    pub(crate) fn kill_one(&mut self) {
        let at = mix(self.seed) as usize % self.workers.len();
        self.logs.push(self.workers.remove(at).kill());
        self.start_one();
    }

    /// Stops one of the processes for a while, in the middle of whatever it does.
    pub(crate) fn pause_one(&mut self, pause: Duration) {
        let worker = &self.workers[mix(self.seed) as usize % self.workers.len()];
        worker.signal("-STOP");
        std::thread::sleep(pause);
        worker.signal("-CONT");
    }

    /// Lets all processes go on until enough has happened, however slow the machine is.
    fn wait_for_enough(&self) {
        let start = Instant::now();
        loop {
            let logs = self.logs.iter().chain(self.workers.iter().map(|worker| &worker.log));
            let events: Vec<Event> = logs.flat_map(|log| history::read(log)).collect();
            let summary = Summary::of(&events, 0);
            let missing = summary.missing();
            if missing.is_none() {
                return;
            }
            assert!(start.elapsed() < LONGEST, "{missing:?} is still missing: {summary:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Lets all processes finish, and looks at everything.
    pub(crate) fn check(mut self) -> Summary {
        self.wait_for_enough();
        let stopped: Vec<PathBuf> = self.workers.drain(..).map(Worker::stop).collect();
        let logs = self.logs.iter().chain(&stopped);
        let mut events: Vec<Event> = logs.flat_map(|log| history::read(log)).collect();
        let store = until_done(|| open(&self.address));
        events.extend(nobody_is_blocked(&*store));
        let left = until_done(|| left(&*store));
        let wrong = violations(&events, &left);
        assert!(
            wrong.is_empty(),
            "{} of {} calls, the first: {:#?}",
            wrong.len(),
            events.len(),
            &wrong[..wrong.len().min(5)]
        );
        Summary::of(&events, left.len())
    }
}

/// Everything that is there, by a scan.
fn left(store: &dyn Store) -> Result<Vec<(Doc, u64)>, StoreError> {
    let (mut left, mut after): (Vec<(Doc, u64)>, Option<String>) = (Vec::new(), None);
    loop {
        let page = store.scan(NAME, after.as_deref(), 50, Want::Record)?;
        let Some(last) = page.last() else { return Ok(left) };
        after = Some(last.record.id.clone());
        left.extend(page.iter().map(|stored| {
            let print = stored.record.signals.near(Space::DOCUMENTS).map_or(0, Fingerprint::low64);
            (Doc { id: stored.record.id.clone(), print }, stored.version)
        }));
    }
}

/// Does what may be done twice until it is done: right after harm replicas may be behind, on a busy disk for a while.
pub(crate) fn until_done<T>(mut act: impl FnMut() -> Result<T, StoreError>) -> T {
    let start = Instant::now();
    loop {
        match act() {
            Ok(done) => return done,
            Err(
                error @ (StoreError::Unreachable { .. }
                | StoreError::Refused { .. }
                | StoreError::Uncertain { .. }),
            ) => assert!(start.elapsed() < LONGEST, "still not done: {error}"),
            Err(other) => panic!("an error that should not be: {other}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Whoever is gone holds up nobody: each of these ends, and as soon as all servers are back they end well.
fn nobody_is_blocked(store: &dyn Store) -> Vec<Event> {
    let (start, mut events, mut well) = (Instant::now(), Vec::new(), 0);
    while well < 100 || events.len() < 200 {
        assert!(start.elapsed() < LONGEST, "{well} of {} ended well", events.len());
        let call = Call::Add { doc: doc(mix(events.len() as u64)), judged: Vec::new() };
        let (start, answer) = (history::now(), answer(store, &call));
        let open = matches!(answer, Answer::Perhaps(_));
        if open || matches!(answer, Answer::Nothing(_)) {
            std::thread::sleep(Duration::from_millis(100));
        } else {
            well += 1;
        }
        let end = if open { u64::MAX } else { history::now() };
        events.push(Event { start, end, call, answer: Some(answer) });
    }
    events
}

/// What happened, and how often.
#[derive(Debug)]
pub(crate) struct Summary {
    calls: BTreeMap<&'static str, usize>,
    #[expect(dead_code, reason = "it is printed")]
    left: usize,
}

impl Summary {
    fn of(events: &[Event], left: usize) -> Self {
        let mut calls = BTreeMap::new();
        for event in events {
            let what = match &event.answer {
                None => "never answered",
                Some(Answer::Stored { replaced: None, .. }) => "stored",
                Some(Answer::Stored { .. }) => "replaced",
                Some(Answer::Unjudged(_)) => "refused",
                Some(Answer::Removed(Some(_))) => "removed",
                Some(Answer::Removed(None)) => "nothing to remove",
                Some(Answer::Found(_)) => "found",
                Some(Answer::Nothing(_)) => "failed",
                Some(Answer::Perhaps(_)) => "perhaps done",
            };
            *calls.entry(what).or_default() += 1;
        }
        Self { calls, left }
    }

    /// A history in which little happened proves little: what it lacks.
    fn missing(&self) -> Option<&'static str> {
        let wanted = [("stored", 50), ("refused", 50), ("removed", 10), ("found", 10)];
        let lacks = |what: &str, least: usize| self.calls.get(what).is_none_or(|times| *times < least);
        wanted.into_iter().find(|(what, least)| lacks(what, *least)).map(|(what, _)| what)
    }
}
