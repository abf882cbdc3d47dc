//! Many readers and a writer at once: every answer is one that was right at some moment.

use leitong_index::marks::{MarkIndex, Options};
use std::sync::atomic::{AtomicU64, Ordering};

const DOCUMENTS: u64 = 9_000;

/// Ten marks of its own, and one shared with every hundredth.
fn marks_of(document: u64) -> Vec<u32> {
    let numbers = (0..10).map(|i| (document * 16 + i) as u32).chain([(1 << 24) + (document % 100) as u32]);
    numbers.map(|number| number.wrapping_mul(0x9e37_79b9)).collect()
}

fn is_deleted(document: u64) -> bool {
    document % 9 == 4
}

fn write(index: &MarkIndex, gone: &AtomicU64) {
    for document in 0..DOCUMENTS {
        index.insert_at(document, document, &marks_of(document)).unwrap();
        // Some way behind, so that it is often in a segment.
        if let Some(old) = document.checked_sub(700) {
            if is_deleted(old) {
                assert!(index.delete(old).unwrap());
            }
            gone.store(old + 1, Ordering::SeqCst);
        }
        match document % 4000 {
            1500 => index.flush().unwrap(),
            3500 => index.merge().unwrap(),
            _ => {}
        }
    }
}

fn read(index: &MarkIndex, gone: &AtomicU64, seed: u64) {
    let mut round = seed;
    while index.next() < DOCUMENTS {
        let (next, gone) = (index.next(), gone.load(Ordering::SeqCst));
        round = round.wrapping_mul(0xd6e8_feb8_6659_fd93).wrapping_add(1);
        let document = round % next.max(1);
        let mut found = vec![Vec::new(); 11];
        index
            .look_up(&marks_of(document), usize::MAX, &mut |place, posting| {
                assert_eq!((posting.origin, posting.marks), (posting.ordinal, 11));
                found[place].push(posting.ordinal);
            })
            .unwrap();
        let shared = found.pop().unwrap();
        assert!(found.iter().all(|list| list.is_empty() || list == &[document]));
        // One moment for all marks.
        assert!(found.iter().all(|list| list == &found[0]));
        if document < next && !is_deleted(document) {
            assert_eq!(found[0], [document]);
        }
        assert!(shared.is_sorted() && shared.iter().all(|other| other % 100 == document % 100));
        let live = |o: &u64| !is_deleted(*o);
        let certain = (document % 100..next).step_by(100).filter(live);
        assert!(certain.eq(shared.iter().copied().filter(live).filter(|&o| o < next)));
        assert!(shared.iter().all(|&other| other >= gone || live(&other)));
        if round.is_multiple_of(50) {
            let snapshot = index.snapshot();
            let (mut count, mut previous) = (0, None);
            snapshot
                .for_each(&mut |ordinal, _, _| {
                    assert!(previous < Some(ordinal));
                    (previous, count) = (Some(ordinal), count + 1);
                })
                .unwrap();
            assert!(count <= snapshot.next() && count >= snapshot.next() / 9 * 8);
        }
    }
}

fn run(index: &MarkIndex) {
    let gone = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| write(index, &gone));
        for seed in 1..4 {
            let gone = &gone;
            scope.spawn(move || read(index, gone, seed));
        }
    });
    index.merge().unwrap();
    let stats = index.stats();
    let live = (0..DOCUMENTS).filter(|&d| !(is_deleted(d) && d + 700 < DOCUMENTS)).count() as u64;
    assert_eq!((stats.segments, stats.documents, stats.deleted, stats.fresh), (1, live, 0, 0));
}

#[test]
fn readers_and_a_writer_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { fresh: 3000, background: true };
    run(&MarkIndex::in_memory_with(&options));
    run(&MarkIndex::open(folder.path(), &options).unwrap());
    run(&MarkIndex::in_memory_with(&Options { fresh: 3000, background: false }));
}

/// Callers within a thread pool wait for merges that need a pool.
#[test]
fn calls_from_a_pool_do_not_wait_for_themselves() {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for background in [false, true] {
        let index = MarkIndex::in_memory_with(&Options { fresh: 100, background });
        let turn = std::sync::Mutex::new(());
        pool.install(|| {
            (0..1000_u32).into_par_iter().for_each(|i| {
                let turn = turn.lock().unwrap();
                index.insert_at(index.next(), 0, &[i, i + 1]).unwrap();
                drop(turn);
                if i % 100 == 0 {
                    index.flush().unwrap();
                }
            });
        });
        assert_eq!(index.stats().documents, 1000);
    }
}

#[test]
fn there_are_never_many_segments() {
    let folder = tempfile::tempdir().unwrap();
    let index = MarkIndex::open(folder.path(), &Options { fresh: 200, background: false }).unwrap();
    let mut most = 0;
    for document in 0..3000_u64 {
        index.insert_at(document, document, &marks_of(document)).unwrap();
        if document % 10 == 0 {
            index.flush().unwrap();
        }
        most = most.max(index.stats().segments);
    }
    assert!((3..=10).contains(&most), "{most} segments");
    (0..2700).for_each(|document| assert!(index.delete(document).unwrap()));
    index.flush().unwrap();
    let stats = index.stats();
    assert!(stats.postings < 3000 * 11 / 2, "what is mostly deleted is merged by itself: {stats:?}");
}
