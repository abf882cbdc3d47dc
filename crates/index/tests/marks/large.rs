//! Files large enough for large chunks, lists longer than a chunk, and documents with very many marks.

use super::twin::look_up;
use leitong_index::marks::{MarkIndex, Options};

const DOCUMENTS: u64 = 60_000;
const OWN: u64 = 75;

/// Marks no other document has, one that all have, and one of a tenth of them.
fn marks_of(document: u64) -> Vec<u32> {
    let own = (0..OWN).map(|i| ((document * 128 + i) as u32 + 1000).wrapping_mul(0x9e37_79b9));
    own.chain([0x7777_7777, (document % 10) as u32]).collect()
}

fn is_deleted(document: u64) -> bool {
    document % 5 == 2
}

fn check(index: &MarkIndex) {
    for document in (0..DOCUMENTS).step_by(977) {
        let found = look_up(index, &marks_of(document), 1024);
        let places =
            |place: usize| found.iter().filter(move |found| found.0 == place).map(|found| found.1.ordinal);
        let live = (!is_deleted(document)).then_some(document);
        (0..OWN as usize).for_each(|place| assert!(places(place).eq(live), "{document}, mark {place}"));
        let all = (0..DOCUMENTS).filter(|&other| !is_deleted(other));
        assert!(places(OWN as usize).eq(all.clone().take(1024)));
        assert!(places(OWN as usize + 1).eq(all.filter(|other| other % 10 == document % 10).take(1024)));
    }
    assert_eq!(look_up(index, &[0x7777_7777], usize::MAX).len() as u64, DOCUMENTS / 5 * 4);
}

#[test]
fn large_files_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let index = MarkIndex::open(folder.path(), &Options { fresh: 900_000, background: true }).unwrap();
    for document in 0..DOCUMENTS {
        index.insert_at(document, document, &marks_of(document)).unwrap();
        if is_deleted(document) {
            assert!(index.delete(document).unwrap());
        }
    }
    check(&index);
    index.flush().unwrap();
    check(&index);
    drop(index);
    let index = MarkIndex::open(folder.path(), &Options::default()).unwrap();
    check(&index);
    index.merge().unwrap();
    check(&index);
    let stats = index.stats();
    assert_eq!((stats.segments, stats.postings), (1, DOCUMENTS / 5 * 4 * (OWN + 2)));
    // Of 77 marks a posting takes four bytes and a bit.
    assert!(stats.bytes < stats.postings * 9 / 2, "{stats:?}");
    index.verify().unwrap();
}

#[test]
fn a_document_may_have_very_many_marks() {
    let index = MarkIndex::in_memory_with(&Options { fresh: 50_000, background: false });
    let marks: Vec<u32> = (0..300_000_u32).map(|i| (i % 150_000).wrapping_mul(0x9e37_79b9)).collect();
    for ordinal in 0..3 {
        index.insert_at(ordinal, 0, &marks).unwrap();
    }
    let found = look_up(&index, &marks[..150_000], 2);
    assert_eq!(found.len(), 300_000);
    assert!(found.iter().all(|(_, posting)| posting.ordinal < 2 && posting.marks == 150_000));
}
