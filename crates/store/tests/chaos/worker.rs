//! A process that adds, removes and finds documents until it is told to stop, or killed: this very test binary.

use crate::history::{Answer, Call, Doc, Line, Sight, What, now};
use crate::mix;
use leitong_fingerprint::Fingerprint;
use leitong_store::opensearch::{self, OpenSearch};
use leitong_store::redis::{self, Redis};
use leitong_store::{
    Added, Addition, Candidate, Collection, Policy, Probe, Query, Record, Space, SpaceSettings, Store,
    StoreError,
};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What probes ask for, and what counts as a duplicate: less, so that there are candidates which are none.
pub(crate) const PROBED: u32 = 3;
pub(crate) const DUPLICATE: u32 = 2;
pub(crate) const NAME: &str = "chaos";
const PLAN: &str = "LEITONG_CHAOS";
const THREADS: u64 = 8;
/// Chains of documents whose neighbours are duplicates, and ids: few, so that most calls meet another.
const CHAINS: u64 = 24;
const LINKS: u64 = 8;
const IDS: u64 = 160;

pub(crate) fn collection() -> Collection {
    let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width: 64, within: PROBED }];
    Collection { name: NAME.into(), recipe: [3; 16], about: String::new(), spaces }
}

/// Opens the store at an address.
pub(crate) fn open(address: &str) -> Result<Box<dyn Store>, StoreError> {
    if address.starts_with("redis") {
        return Ok(Box::new(Redis::open(address, redis::Options::default())?));
    }
    Ok(Box::new(OpenSearch::open(address, opensearch::Options::default())?))
}

/// A running process. It is killed with the guard.
pub(crate) struct Worker {
    child: Child,
    pub(crate) log: PathBuf,
}

impl Worker {
    pub(crate) fn start(address: &str, seed: u64, folder: &Path) -> Self {
        let log = folder.join(format!("{seed}.jsonl"));
        let plan = serde_json::json!([address, seed, log]).to_string();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker::process", "--nocapture"])
            .env(PLAN, plan)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// Ends it in the middle of whatever it does; where it has written what.
    pub(crate) fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.clone()
    }

    /// Lets it finish what it does.
    pub(crate) fn stop(mut self) -> PathBuf {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "a process failed: {status}");
        self.log.clone()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already is no trouble.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What the process does. Without its environment there is nothing to do.
#[test]
fn process() {
    let Ok(plan) = std::env::var(PLAN) else { return };
    let (address, seed, log): (String, u64, PathBuf) = serde_json::from_str(&plan).unwrap();
    let scribe = Scribe { file: Mutex::new(File::create(log).unwrap()), number: AtomicU64::new(0) };
    let store = loop {
        match open(&address) {
            Ok(store) => break store,
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let stopped = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (scribe, store, stopped) = (&scribe, &*store, &stopped);
            scope.spawn(move || {
                let mut random = seed << 20 | thread << 16;
                while stopped.load(Ordering::SeqCst) == 0 {
                    random = mix(random);
                    scribe.one_call(store, random);
                }
            });
        }
        // Ends with whoever started this process.
        _ = std::io::stdin().read_line(&mut String::new());
        stopped.store(1, Ordering::SeqCst);
    });
}

/// A document out of few.
pub(crate) fn doc(random: u64) -> Doc {
    let print = mix(random % CHAINS) ^ ((1 << (random >> 16 & (LINKS - 1))) - 1);
    Doc { id: format!("id-{}", (random >> 24) % IDS), print }
}

/// Writes calls and answers down.
struct Scribe {
    file: Mutex<File>,
    number: AtomicU64,
}

impl Scribe {
    fn one_call(&self, store: &dyn Store, random: u64) {
        let doc = doc(random);
        let done = match random >> 40 & 15 {
            0..11 => self.add_unless_duplicate(store, &doc),
            11..14 => self.make(store, &Call::Remove { id: doc.id }),
            _ => self.make(store, &Call::Find { print: doc.print }),
        };
        if matches!(done, Answer::Nothing(_) | Answer::Perhaps(_)) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The optimistic loop: whoever is told of candidates judges them and comes again.
    fn add_unless_duplicate(&self, store: &dyn Store, doc: &Doc) -> Answer {
        let mut judged = Vec::new();
        loop {
            let answer = self.make(store, &Call::Add { doc: doc.clone(), judged: judged.clone() });
            let Answer::Unjudged(sights) = &answer else { return answer };
            let duplicate = |sight: &Sight| distance(sight.doc.print, doc.print) <= DUPLICATE;
            if sights.iter().any(duplicate) {
                return answer;
            }
            judged.extend(sights.iter().map(|sight| sight.version));
        }
    }

    fn make(&self, store: &dyn Store, call: &Call) -> Answer {
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        self.write(number, What::Call(call.clone()));
        let answer = answer(store, call);
        self.write(number, What::Answer(answer.clone()));
        answer
    }

    fn write(&self, number: u64, what: What) {
        let mut file = self.file.lock().unwrap();
        let line = Line { moment: now(), number, what };
        // One call of the system, so that a kill cannot lose what was written before.
        file.write_all(format!("{}\n", serde_json::to_string(&line).unwrap()).as_bytes()).unwrap();
    }
}

pub(crate) fn answer(store: &dyn Store, call: &Call) -> Answer {
    let probe =
        |print: u64| Probe::Near { space: Space::DOCUMENTS, fingerprint: print.into(), within: PROBED };
    let done = match call {
        Call::Add { doc, judged } => {
            let mut record = Record { id: doc.id.clone(), ..Record::default() };
            record.signals.near.push((Space::DOCUMENTS, doc.print.into()));
            let policy = Policy::Unless { probes: vec![probe(doc.print)], judged: judged.clone(), limit: 4 };
            store.add(NAME, vec![Addition::new(record, policy)]).map(|mut added| match added.remove(0) {
                Added::Stored { version, replaced } => Answer::Stored { version, replaced },
                Added::Unjudged(found) => Answer::Unjudged(found.candidates.iter().map(sight).collect()),
                other => panic!("no answer to this policy: {other:?}"),
            })
        }
        Call::Remove { id } => store.remove(NAME, &[id]).map(|removed| Answer::Removed(removed[0])),
        Call::Find { print } => {
            let query = Query { probes: vec![probe(*print)], limit: usize::MAX, ..Query::default() };
            store
                .find(NAME, &[query])
                .map(|found| Answer::Found(found[0].candidates.iter().map(sight).collect()))
        }
    };
    done.unwrap_or_else(|error| match error {
        StoreError::Unreachable { .. } | StoreError::Refused { .. } => Answer::Nothing(error.to_string()),
        StoreError::Uncertain { .. } => Answer::Perhaps(error.to_string()),
        other => panic!("an error that should not be: {other}"),
    })
}

fn sight(candidate: &Candidate) -> Sight {
    let record = &candidate.record;
    let print = record.signals.near(Space::DOCUMENTS).map_or(0, Fingerprint::low64);
    Sight { doc: Doc { id: record.id.clone(), print }, version: candidate.rank.version }
}

pub(crate) fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}
