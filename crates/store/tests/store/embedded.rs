//! The store in a folder: everything a store promises, with reopenings, and that all of it fits together afterwards.

use crate::conformance::{SCORING, Subject, conforms};
use crate::histories::{self, Load};
use crate::{amount, errors, ids, marked};
use leitong_store::embedded::{Embedded, Options};
use leitong_store::{Clock, Store};
use std::path::Path;
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
fn ids_are_kept_apart() {
    with_new(|store| ids::kept_apart(store));
}

#[test]
fn what_is_no_id_is_refused() {
    with_new(|store| ids::refused(store));
}

#[test]
fn errors_are_as_documented() {
    with_new(|store| errors::no_collection(store));
    with_new(|store| errors::other_collection(store));
    with_new(|store| errors::misfits(store));
}

fn load() -> Load {
    Load { threads: 64, rounds: amount(50, 5), calls: 10 }
}

#[test]
fn one_of_many_is_stored() {
    with_new(|store| histories::one_of_many(store, load()));
}

#[test]
fn one_of_many_is_stored_by_marks() {
    with_new(|store| marked::one_of_many(store, load()));
}

#[test]
fn chains_break_between_duplicates() {
    with_new(|store| histories::chains(store, load()));
}

#[test]
fn mixed_calls_can_be_explained() {
    with_new(|store| histories::mixed(store, load()));
}
