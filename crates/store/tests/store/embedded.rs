//! The store in a folder: everything a store promises, with reopenings, and that all of it fits together afterwards.

use crate::conformance::{SCORING, Subject, conforms};
use crate::histories::Load;
use crate::{amount, replaced};
use leitong_store::embedded::{Embedded, Options, repair};
use leitong_store::{Addition, Clock, Collection, Mark, Policy, Probe, Query, Record, Store};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Where synchronising costs nothing: these tests are about answers, not about the disk.
pub(crate) fn folder() -> TempDir {
    let fast = Path::new("/dev/shm");
    if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.unwrap()
}

pub(crate) fn open(folder: &Path) -> Embedded {
    open_at(folder, Clock::default())
}

fn open_at(folder: &Path, clock: Clock) -> Embedded {
    Embedded::open(folder, Options { clock, ..Options::default() }).unwrap()
}

/// With the limits that the model has.
fn open_as_the_model(folder: &Path, clock: Clock) -> Embedded {
    Embedded::open(folder, Options { clock, scoring: SCORING, ..Options::default() }).unwrap()
}

/// Everything fits together.
#[track_caller]
pub(crate) fn assert_sound(store: &Embedded) {
    let findings = store.verify(&mut |_| {}).unwrap();
    assert_eq!(findings.problems, Vec::<String>::new());
    assert_eq!(store.notices(), Vec::<String>::new());
}

struct InFolder {
    /// `None` only while it is reopened.
    store: Option<Embedded>,
    folder: TempDir,
    clock: Clock,
}

impl Subject for InFolder {
    fn store(&self) -> &dyn Store {
        self.store.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        self.store.take().unwrap().close().unwrap();
        self.store = Some(open_as_the_model(self.folder.path(), self.clock.clone()));
    }

    fn maintain(&mut self, how: u8) {
        let store = self.store.as_ref().unwrap();
        match how % 4 {
            0 => store.compact().unwrap(),
            1 => assert_sound(store),
            2 => {
                // A backup takes the place of what it is a copy of.
                let copy = folder();
                store.backup(copy.path()).unwrap();
                self.store = Some(open_as_the_model(copy.path(), self.clock.clone()));
                self.folder = copy;
            }
            _ => _ = store.stats().unwrap(),
        }
    }
}

impl Drop for InFolder {
    fn drop(&mut self) {
        if let (false, Some(store)) = (std::thread::panicking(), &self.store) {
            assert_sound(store);
        }
    }
}

#[test]
fn as_the_model() {
    conforms(amount(2000, 30), &|clock| {
        let folder = folder();
        let store = Some(open_as_the_model(folder.path(), clock.clone()));
        Box::new(InFolder { store, folder, clock })
    });
}

fn with_new(test: impl FnOnce(&dyn Store)) {
    let folder = folder();
    let store = open(folder.path());
    test(&store);
    assert_sound(&store);
    store.close().unwrap();
    assert_sound(&open(folder.path()));
}

#[test]
fn what_is_replaced_is_always_there() {
    with_new(|store| replaced::always_there(store, amount(300, 50), Duration::ZERO));
}

promises!();

fn load() -> Load {
    Load { threads: 64, rounds: amount(50, 5), calls: 10 }
}

fn marked(id: &str, hashes: &[u32]) -> Addition {
    let mut record = Record { id: id.into(), ..Record::default() };
    record.signals.outline.marks = hashes.iter().map(|&hash| Mark { hash, at: 0 }).collect();
    Addition::new(record, Policy::Replace)
}

fn find_mark(store: &Embedded, hash: u32) -> Vec<String> {
    let query = Query { probes: vec![Probe::Marks(vec![hash])], limit: 9, ..Query::default() };
    let found = store.find("c", &[query]).unwrap().remove(0);
    found.candidates.into_iter().map(|found| found.record.id).collect()
}

fn collection() -> Collection {
    Collection { name: "c".into(), recipe: [1; 16], about: String::new(), spaces: Vec::new() }
}

#[test]
fn without_outlines_there_is_no_mark_index() {
    let folder = folder();
    let index = folder.path().join("index/0-marks");
    let store = open(folder.path());
    store.create(&collection()).unwrap();
    store.add("c", vec![marked("plain", &[])]).unwrap();
    assert_eq!((find_mark(&store, 1), store.stats().unwrap().collections[0].marks), (vec![], None));
    store.close().unwrap();
    assert!(!index.exists());
    let store = open(folder.path());
    store.add("c", vec![marked("a", &[1, 2]), marked("b", &[2])]).unwrap();
    assert_eq!(store.stats().unwrap().collections[0].marks.map(|marks| marks.documents), Some(2));
    store.close().unwrap();
    assert!(index.exists());
    let store = open(folder.path());
    assert_eq!([1, 2, 3].map(|hash| find_mark(&store, hash)), [vec!["a"], vec!["a", "b"], vec![]]);
    assert!(store.destroy("c").unwrap());
    store.compact().unwrap();
    assert!(!index.exists());
    assert_sound(&store);
}

#[test]
fn a_mark_index_that_is_missing_is_made_again() {
    let folder = folder();
    let index = folder.path().join("index/0-marks");
    let store = open(folder.path());
    store.create(&collection()).unwrap();
    store.add("c", vec![marked("a", &[1, 2]), marked("b", &[2])]).unwrap();
    store.remove("c", &["a"]).unwrap();
    store.close().unwrap();
    std::fs::remove_dir_all(&index).unwrap();
    let store = open(folder.path());
    assert_sound(&store);
    assert_eq!(find_mark(&store, 2), ["b"]);
    drop(store);
    // What a crash leaves that came between making an index and the first outline.
    std::fs::create_dir_all(folder.path().join("index/1-marks")).unwrap();
    let store = open(folder.path());
    store.create(&Collection { name: "d".into(), ..collection() }).unwrap();
    assert!(!folder.path().join("index/1-marks").exists());
    assert_sound(&store);
}

/// An index that has lost a document is noticed, and repaired.
#[test]
fn a_mark_index_of_other_documents_is_noticed() {
    let (folder, other) = (folder(), folder());
    for (folder, hashes) in [(&folder, [1, 2]), (&other, [3, 4])] {
        let store = open(folder.path());
        store.create(&collection()).unwrap();
        store.add("c", vec![marked("a", &hashes)]).unwrap();
        store.close().unwrap();
    }
    let index = "index/0-marks";
    std::fs::remove_dir_all(folder.path().join(index)).unwrap();
    std::fs::rename(other.path().join(index), folder.path().join(index)).unwrap();
    let store = open(folder.path());
    let problems = store.verify(&mut |_| {}).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.contains("a mark of")), "{problems:?}");
    store.close().unwrap();
    repair(folder.path(), Options::default(), &mut |_| {}).unwrap();
    let store = open(folder.path());
    assert_sound(&store);
    assert_eq!(find_mark(&store, 1), ["a"]);
}
