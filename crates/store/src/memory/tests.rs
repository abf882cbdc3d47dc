//! What cannot be seen through the seam: that what is gone is gone from everywhere.

use super::*;
use crate::record::Mark;
use std::sync::atomic::{AtomicI64, Ordering};

fn collection() -> Collection {
    let space = |space| SpaceSettings { space, width: 64, within: 3 };
    Collection {
        name: "c".into(),
        recipe: [0; 16],
        about: String::new(),
        spaces: vec![space(Space::DOCUMENTS), space(Space::CENTRES)],
    }
}

fn record(id: &str, print: u64, expires: Option<i64>) -> Record {
    let mut record = Record { id: id.into(), expires, text: Some(id.into()), ..Record::default() };
    record.signals.near = vec![(Space::DOCUMENTS, print.into()), (Space::CENTRES, (!print).into())];
    // A mark or a key given twice is one.
    record.signals.outline.marks = [7, 8, 7].map(|hash| Mark { hash, at: 0 }).into();
    record.signals.keys = [1, 2, 1].map(|value| Key { kind: 1, value }).into();
    record
}

fn add(memory: &Memory, record: Record) -> Added {
    memory.add("c", vec![Addition::new(record, Policy::Replace)]).unwrap().remove(0)
}

/// Records, ids, keys and expiries, and the fingerprints in each index.
fn sizes(memory: &Memory) -> ([usize; 4], Vec<u64>) {
    let room = memory.room("c").unwrap();
    let room = read(&room);
    let maps = [room.entries.len(), room.ids.len(), room.keys.len(), room.expiries.len()];
    let indexes = room.spaces.iter().map(|(_, index)| index.stats().items);
    (maps, indexes.chain([room.marks.stats().documents]).collect())
}

#[test]
fn nothing_is_left_of_what_is_gone() {
    let time = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&time);
    let memory = Memory::new(Clock::new(move || clock.load(Ordering::SeqCst)));
    memory.create(&collection()).unwrap();
    add(&memory, record("a", 1, None));
    add(&memory, record("b", 2, Some(10)));
    assert_eq!(sizes(&memory), ([2, 2, 4, 1], vec![2, 2, 2]), "two records");
    add(&memory, record("a", 3, Some(10)));
    assert_eq!(sizes(&memory), ([2, 2, 4, 2], vec![2, 2, 2]), "one of them replaced");
    memory.remove("c", &["b"]).unwrap();
    assert_eq!(sizes(&memory), ([1, 1, 2, 1], vec![1, 1, 1]), "one of them removed");
    time.store(10, Ordering::SeqCst);
    memory.remove("c", &[]).unwrap();
    assert_eq!(sizes(&memory), ([0, 0, 0, 0], vec![0, 0, 0]), "the other expired, and a write swept it out");
    let Added::Stored { version, replaced } = add(&memory, record("a", 1, None)) else {
        panic!("not stored")
    };
    assert_eq!(
        (version, replaced),
        (3, None),
        "versions are not used again, and what has expired is not replaced"
    );
}
