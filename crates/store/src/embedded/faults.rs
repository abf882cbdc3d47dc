//! Faults from within: what outside tests cannot bring about.

use super::layout::{self, Tree};
use super::repair::{EXCHANGING, is_exchanging};
use super::{Embedded, Options, repair};
use crate::record::{Collection, Key, Mark, Record, Space, SpaceSettings};
use crate::seam::{Added, Addition, Policy, Store, Want};
use crate::{Clock, StoreError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

const NAME: &str = "c";

fn open(path: &Path) -> Embedded {
    let store = Embedded::open(path, Options::default()).unwrap();
    let space = SpaceSettings { space: Space::DOCUMENTS, width: 64, within: 3 };
    let collection =
        Collection { name: NAME.into(), recipe: [1; 16], about: String::new(), spaces: vec![space] };
    store.create(&collection).unwrap();
    store
}

fn record(number: u64) -> Record {
    let mut record =
        Record { id: format!("id {number}"), text: Some("text".repeat(50)), ..Record::default() };
    record.signals.near = vec![(Space::DOCUMENTS, number.wrapping_mul(0x9e37_79b9_7f4a_7c15).into())];
    record.signals.keys = vec![Key { kind: 1, value: number / 3 }];
    record.signals.outline.marks =
        (0..8).map(|at| Mark { hash: (number / (at + 1)) as u32, at: at as u32 }).collect();
    record
}

fn add(store: &Embedded, record: Record) -> Result<Added, StoreError> {
    store.add(NAME, vec![Addition::new(record, Policy::Replace)]).map(|mut added| added.remove(0))
}

#[track_caller]
fn assert_sound(store: &Embedded) {
    assert_eq!(store.verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// Whoever asks for a record that cannot be read gets an error; who was served by the same commit does not.
#[test]
fn one_bad_request_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    add(&store, record(0)).unwrap();
    let place = layout::version(0, 0).to_vec();
    store.shared.engine.commit([(Tree::Records, place, Some(vec![9, 9]))].into_iter()).unwrap();
    // The next commit shows it.
    add(&store, record(1)).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bad = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let removed = store.remove(NAME, &["id 0"]);
                assert!(matches!(removed, Err(StoreError::Damaged { .. })), "{removed:?}");
            }
        });
        let good = |from: u64| {
            let store = &store;
            scope.spawn(move || (from..from + 200).for_each(|number| _ = add(store, record(number)).unwrap()))
        };
        [good(1000), good(2000)].into_iter().for_each(|good| good.join().unwrap());
        over.store(true, Ordering::Relaxed);
        bad.join().unwrap();
    });
    assert_eq!(store.count(NAME).unwrap().documents, 402, "the bad one still counts");
    assert!(store.verify(&mut |_| {}).unwrap().problem_count > 0);
}

#[test]
fn the_first_and_the_last_moment() {
    let folder = tempfile::tempdir().unwrap();
    let now = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(i64::MIN + 1));
    let clock = std::sync::Arc::clone(&now);
    let clock = Clock::new(move || clock.load(Ordering::SeqCst));
    drop(open(folder.path()));
    let store = Embedded::open(folder.path(), Options { clock, ..Options::default() }).unwrap();
    for (number, expires) in [(0, i64::MIN), (1, i64::MAX), (2, 0)] {
        add(&store, Record { expires: Some(expires), ..record(number) }).unwrap();
    }
    let there = |store: &Embedded| {
        let all = store.get(NAME, &["id 0", "id 1", "id 2"], Want::Record).unwrap();
        all.iter().map(Option::is_some).collect::<Vec<_>>()
    };
    assert_eq!(there(&store), [false, true, true]);
    store.compact().unwrap();
    add(&store, Record { expires: Some(i64::MIN), ..record(0) }).unwrap();
    assert_eq!(store.remove(NAME, &["id 0"]).unwrap(), [None]);
    now.store(i64::MAX, Ordering::SeqCst);
    assert_eq!(there(&store), [false, false, false]);
    store.compact().unwrap();
    assert_eq!(store.count(NAME).unwrap().documents, 0);
    assert_sound(&store);
}

/// Whatever looks after the store, others go on.
#[test]
fn care_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let care = scope.spawn(|| {
            for round in 0..5 {
                store.compact().unwrap();
                assert_sound(&store);
                store.backup(&folder.path().join(format!("backup {round}"))).unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        for writer in 0..2_u64 {
            let (store, over) = (&store, &over);
            scope.spawn(move || {
                for number in (writer * 1_000_000..).take_while(|_| !over.load(Ordering::Relaxed)) {
                    add(store, record(number)).unwrap();
                    if number % 3 == 0 {
                        store.remove(NAME, &[&record(number).id]).unwrap();
                    }
                    assert!(store.get(NAME, &[&record(number).id], Want::Text).unwrap().len() == 1);
                }
            });
        }
        care.join().unwrap();
    });
    assert_sound(&store);
    assert_eq!(store.notices(), Vec::<String>::new());
}

/// A request that nobody repeats is not served: it may be years old.
#[test]
fn forgotten_requests_for_backups() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let requests = folder.path().join("requests");
    std::fs::create_dir_all(&requests).unwrap();
    let ask = |name: &str, age: u64| {
        let request = requests.join(name);
        std::fs::write(&request, folder.path().join(format!("{name} made")).display().to_string()).unwrap();
        let file = std::fs::File::options().write(true).open(&request).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        request
    };
    let old = ask("old.backup", 60);
    let new = ask("new.backup", 0);
    while old.exists() || !new.with_extension("answer").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!folder.path().join("old.backup made").exists());
    assert!(folder.path().join("new.backup made").exists());
    store.close().unwrap();
}

/// However far the exchange of old and new files had got, nobody opens the folder, and repairing ends it.
#[test]
fn an_interrupted_repair_goes_on() {
    for moved in 0..=3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let store = open(path);
        (0..20).for_each(|number| _ = add(&store, record(number)).unwrap());
        store.backup(&path.join("repaired")).unwrap();
        store.close().unwrap();
        std::fs::write(path.join(EXCHANGING), "damaged-1").unwrap();
        std::fs::create_dir_all(path.join("damaged-1")).unwrap();
        for part in ["documents", "index", "pulse"].iter().take(moved) {
            std::fs::rename(path.join(part), path.join("damaged-1").join(part)).unwrap();
            // The last of them is only half done.
            if moved < 3 || *part != "pulse" {
                std::fs::rename(path.join("repaired").join(part), path.join(part)).unwrap();
            }
        }
        assert!(is_exchanging(path));
        assert!(matches!(Embedded::open(path, Options::default()), Err(StoreError::Damaged { .. })));
        let (mended, findings) = repair(path, Options::default(), &mut |_| {}).unwrap();
        assert_eq!((findings.problems, findings.records), (vec![], 20), "{moved} moved: {mended:?}");
        let store = Embedded::open(path, Options::default()).unwrap();
        assert_eq!(store.count(NAME).unwrap().documents, 20);
        assert!(!path.join("repaired").exists());
    }
}

/// A journal that the engine refuses is used up to the damage, and what is lost is told.
#[test]
fn a_damaged_journal_is_used_up_to_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    (0..50).for_each(|number| _ = add(&store, record(number)).unwrap());
    drop(store);
    let journal = folder.path().join("documents/0.jnl");
    let mut bytes = std::fs::read(&journal).unwrap();
    let ids: Vec<usize> = (0..bytes.len() - 3).filter(|&at| bytes[at..].starts_with(b"id ")).collect();
    let at = ids[ids.len() / 2];
    bytes[at] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    assert!(matches!(Embedded::open(folder.path(), Options::default()), Err(StoreError::Damaged { .. })));
    let (mended, findings) = repair(folder.path(), Options::default(), &mut |_| {}).unwrap();
    assert_eq!(findings.problems, Vec::<String>::new());
    assert!((15..50).contains(&findings.records), "{} records are left", findings.records);
    assert!(mended.iter().any(|what| what.contains("0.jnl is damaged")), "{mended:?}");
    assert!(mended.iter().any(|what| what.contains("commits are missing")), "{mended:?}");
    let store = Embedded::open(folder.path(), Options::default()).unwrap();
    assert_sound(&store);
    add(&store, record(99)).unwrap();
}
