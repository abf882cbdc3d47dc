//! A disk that is full, or cannot be written: clear errors, nothing acknowledged lost, and all is well once there is room.

use crate::calls::{Call, Caller, Event, How, parse};
use crate::documents::{Doc, NAME, Size, collection, new_seed};
use crate::observe::observe;
use crate::oracle::Oracle;
use crate::refuse::{contents, make};
use crate::{Random, on_disk, open, options, seed};
use leitong_store::embedded::Embedded;
use leitong_store::{Store, StoreError, Want};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Set for a test that runs where it may mount.
const INSIDE: &str = "LEITONG_MAY_MOUNT";
const PATIENCE: Duration = Duration::from_secs(60);

/// A small file system that goes when this is dropped.
struct Disk {
    path: PathBuf,
    _place: tempfile::TempDir,
}

impl Disk {
    fn mount(megabytes: u32) -> Option<Self> {
        let place = on_disk();
        let path = place.path().join("disk");
        fs::create_dir(&path).unwrap();
        let size = format!("size={megabytes}m,mode=755");
        let mounted = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], &path);
        mounted.then_some(Self { path, _place: place })
    }

    fn remount(&self, options: &str) {
        assert!(
            mount(&["-o", &format!("remount,{options}")], &self.path),
            "it was mounted, so it can be changed"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a test that failed may have files open.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(path).output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs a test with a small disk: here, or in a process of its own that may mount; otherwise it is skipped.
fn with_disk(name: &str, megabytes: u32, test: impl FnOnce(&Disk)) {
    if let Some(disk) = Disk::mount(megabytes) {
        return test(&disk);
    }
    let binary = std::env::current_exe().unwrap();
    let inside = |arguments: &[&str]| {
        Command::new("unshare")
            .arg("-rm")
            .args(arguments)
            .env(INSIDE, "1")
            .status()
            .is_ok_and(|status| status.success())
    };
    if std::env::var_os(INSIDE).is_some() || !inside(&["mount", "-t", "tmpfs", "tmpfs", "/mnt"]) {
        println!("skipped: {name} (no file system can be mounted: run as root, or allow user namespaces)");
        return;
    }
    let (binary, name) = (binary.to_string_lossy(), format!("disk::{name}"));
    assert!(inside(&[&binary, "--exact", &name, "--nocapture"]), "{name} failed in a process of its own");
}

/// Does something that must come to an end.
#[track_caller]
fn ends<T: Send + 'static>(what: &str, thing: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, done) = channel();
    std::thread::spawn(move || _ = send.send(thing()));
    done.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} hangs"))
}

/// Fills what is left of the disk.
fn fill(path: &Path) {
    let mut file = fs::File::create(path.join("ballast")).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
}

/// A store on a disk, and what was done to it.
struct Case<'d> {
    disk: &'d Disk,
    folder: PathBuf,
    random: Random,
    lines: Mutex<String>,
    oracle: Oracle,
}

impl<'d> Case<'d> {
    fn new(disk: &'d Disk) -> Self {
        let seed = seed();
        println!("LEITONG_SEED={seed}");
        let folder = disk.path.join("db");
        Self { disk, folder, random: Random::new(seed), lines: Mutex::default(), oracle: Oracle::default() }
    }

    fn open(&self) -> Embedded {
        let store = open(&self.folder, 1);
        store.create(&collection()).unwrap();
        store
    }

    fn call(&self, store: &Embedded, call: &Call) -> Result<(), StoreError> {
        let write = |line: &str| self.lines.lock().unwrap().push_str(line);
        let caller = Caller::new(store, &self.folder, &write);
        caller
            .next
            .store(self.lines.lock().unwrap().lines().count() as u64, std::sync::atomic::Ordering::Relaxed);
        caller.call(call, &[]).map(|_| ())
    }

    /// Adds and replaces some documents.
    fn add(&mut self, store: &Embedded) -> Result<(), StoreError> {
        let doc = |_| Doc {
            id: format!("doc-{}", self.random.below(300)),
            seed: new_seed(&mut self.random, Size::Book, 0),
        };
        let docs = (0..8).map(doc).collect();
        self.call(store, &Call::Add(How::Replace, docs))
    }

    /// Adds until there is an error.
    fn add_until_full(&mut self, store: &Embedded) -> StoreError {
        // Many times what the disk holds.
        (0..2_000).find_map(|_| self.add(store).err()).expect("the disk is full at some time")
    }

    fn events(&self) -> Vec<Event> {
        parse(self.lines.lock().unwrap().lines()).0
    }

    /// Everything acknowledged is there, it is sound, and adding goes on, also after the next opening.
    fn all_is_well(&mut self) {
        for _ in 0..2 {
            let folder = self.folder.clone();
            let store = ends("opening", move || open(&folder, 1));
            let events = self.events();
            let (found, mut wrong) = observe(&store, &events).unwrap();
            wrong.extend(self.oracle.violations(&events, &found, 1));
            wrong.truncate(5);
            assert!(wrong.is_empty(), "after the disk was full: {wrong:#?}");
            assert!(!found.is_empty(), "nothing was stored before the disk was full");
            self.oracle.accept(&events, found);
            self.lines.lock().unwrap().clear();
            self.add(&store).unwrap();
            ends("closing", move || store.close()).unwrap();
        }
    }

    fn make_room(&self) {
        let _ = fs::remove_file(self.disk.path.join("ballast"));
        self.disk.remount("size=512m");
    }
}

/// The error says that the disk is full and what to do, or that an earlier one did.
#[track_caller]
fn assert_full(error: &StoreError) {
    let text = error.to_string();
    // A thread of the engine that cannot write its files does not say why.
    let says = text.contains("No space left on device") || matches!(error, StoreError::Stopped { .. });
    assert!(says && text.contains("make room"), "unclear: {text} ({error:?})");
}

#[test]
fn full_while_adding() {
    with_disk("full_while_adding", 48, |disk| {
        let mut case = Case::new(disk);
        let store = case.open();
        assert_full(&case.add_until_full(&store));
        // The same again: what the first said, or that it takes no more.
        assert_full(&case.add(&store).expect_err("a store whose write failed takes no more"));
        match store.scan(NAME, None, 10, Want::Text) {
            Ok(some) => assert!(!some.is_empty(), "reading goes on, and finds what was stored"),
            Err(error) => assert_full(&error),
        }
        // Closing may not be able to write down what it wants to.
        if let Err(error) = ends("closing", move || store.close()) {
            assert_full(&error);
        }
        case.make_room();
        case.all_is_well();
    });
}

/// The disk is filled by something else, then the store is asked to rewrite itself.
#[test]
fn full_while_compacting() {
    with_disk("full_while_compacting", 96, |disk| {
        let mut case = Case::new(disk);
        let store = case.open();
        (0..40).for_each(|_| case.add(&store).unwrap());
        fill(&disk.path);
        if let Err(error) = store.compact() {
            assert_full(&error);
        }
        let _ = ends("closing", move || store.close());
        case.make_room();
        case.all_is_well();
    });
}

#[test]
fn full_while_a_backup_is_made() {
    with_disk("full_while_a_backup_is_made", 32, |disk| {
        let mut case = Case::new(disk);
        let store = case.open();
        (0..30).for_each(|_| case.add(&store).unwrap());
        fill(&disk.path);
        let target = disk.path.join("backup");
        let error = store.backup(&target).expect_err("there is no room for a backup");
        assert_full(&error);
        let _ = ends("closing", move || store.close());
        let half = Embedded::open(&target, leitong_store::embedded::Options { create: false, ..options(1) });
        assert!(
            matches!(half, Err(StoreError::NotAStore { .. })),
            "half a backup is taken for a store: {:?}",
            half.err()
        );
        case.make_room();
        case.all_is_well();
    });
}

#[test]
fn full_when_it_is_opened() {
    with_disk("full_when_it_is_opened", 64, |disk| {
        let mut case = Case::new(disk);
        let store = case.open();
        (0..20).for_each(|_| case.add(&store).unwrap());
        ends("closing", move || store.close()).unwrap();
        fill(&disk.path);
        let folder = case.folder.clone();
        match ends("opening", move || Embedded::open(&folder, options(1))) {
            Ok(store) => {
                assert_full(&case.add_until_full(&store));
                let _ = ends("closing", move || store.close());
            }
            Err(error) => assert_full(&error),
        }
        case.make_room();
        case.all_is_well();
    });
}

#[test]
fn a_disk_that_cannot_be_written() {
    with_disk("a_disk_that_cannot_be_written", 32, |disk| {
        let mut case = Case::new(disk);
        make(&case.folder);
        let store = case.open();
        case.add(&store).unwrap();
        store.close().unwrap();
        disk.remount("ro");
        let before = contents(&case.folder);
        let error = Embedded::open(&case.folder, options(1)).err().expect("it cannot be opened").to_string();
        for word in ["ead-only", "on a disk that can be written", &*case.folder.to_string_lossy()] {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
        assert_eq!(before, contents(&case.folder));
        disk.remount("rw");
        case.all_is_well();
    });
}
