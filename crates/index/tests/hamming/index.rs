//! An index that changes answers as a plain list does, whatever happens to it.

use leitong_index::hamming::{
    Build, HammingError, Index, Layout, Match, Options, Searcher, Snapshot, Source,
};
use leitong_index::{Value, scan};
use proptest::prelude::*;
use std::path::Path;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u64>),
    Batch(Vec<u64>),
    Delete(prop::sample::Index),
    /// Leave ordinals out.
    Skip(u64),
    Find(u64, u32),
    Flush,
    Merge,
    /// Drop and open again, after a flush or without.
    Reopen(bool),
    /// Keep a snapshot, to be searched at the end.
    Snapshot,
}

/// Few values, near each other, so that there are matches and equals.
fn value() -> impl Strategy<Value = u64> {
    (0..8_u64, prop::collection::vec(0..64_u32, 0..4)).prop_map(|(centre, flips)| {
        flips.iter().fold(centre.wrapping_mul(0x9e37_79b9_7f4a_7c15), |v, bit| v ^ 1 << bit)
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(value(), 1..12).prop_map(Step::Insert),
        1 => prop::collection::vec(value(), 0..40).prop_map(Step::Batch),
        4 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => prop_oneof![0..5_u64, 4090..4100_u64].prop_map(Step::Skip),
        8 => (value(), 0..=7_u32).prop_map(|(value, k)| Step::Find(value, k)),
        1 => Just(Step::Flush),
        1 => Just(Step::Merge),
        1 => any::<bool>().prop_map(Step::Reopen),
        1 => Just(Step::Snapshot),
    ]
}

fn widen<V: Value>(number: u64) -> V {
    V::from_words(&std::array::from_fn::<u64, 16, _>(|i| number.rotate_left(i as u32 * 7)))
}

/// The slow twin: the values by ordinal, `None` where deleted.
type Model<V> = Vec<Option<V>>;

fn expected<V: Value>(model: &Model<V>, query: V, k: u32) -> Vec<Match> {
    let live: Vec<(u64, V)> =
        (0..).zip(model).filter_map(|(ordinal, value)| Some((ordinal, (*value)?))).collect();
    let values: Vec<V> = live.iter().map(|item| item.1).collect();
    let mut all: Vec<Match> = scan::find(&values, query, k)
        .map(|(place, distance)| Match { query: 0, distance, ordinal: live[place].0 })
        .collect();
    all.sort_unstable();
    all
}

fn options(k: u32, layout: Option<Layout>, background: bool) -> Options {
    Options { build: Build { layout, ..Build::new(k) }, fresh: 30, background }
}

fn run<V: Value>(steps: &[Step], k: u32, layout: Option<Layout>, background: bool, folder: Option<&Path>) {
    let open = || match folder {
        Some(folder) => Index::<V>::open(folder, options(k, layout, background)).unwrap(),
        None => Index::<V>::in_memory(options(k, layout, background)).unwrap(),
    };
    let mut index = open();
    let mut model: Model<V> = Vec::new();
    let mut flushed: Model<V> = Vec::new();
    let mut snapshots: Vec<(Snapshot<V>, Model<V>)> = Vec::new();
    for step in steps {
        match step {
            Step::Insert(numbers) => {
                let values: Vec<V> = numbers.iter().map(|&number| widen(number)).collect();
                let start = model.len() as u64;
                assert_eq!(index.insert_many(&values).unwrap(), start..start + values.len() as u64);
                model.extend(values.into_iter().map(Some));
            }
            Step::Batch(numbers) => {
                let values: Vec<V> = numbers.iter().map(|&number| widen(number)).collect();
                let start = model.len() as u64;
                assert_eq!(index.insert_batch(&values[..]).unwrap(), start..start + values.len() as u64);
                model.extend(values.into_iter().map(Some));
            }
            Step::Delete(place) => {
                let ordinal = place.index(model.len() + 3);
                let there = model.get_mut(ordinal).and_then(Option::take).is_some();
                assert_eq!(index.delete(ordinal as u64).unwrap(), there);
            }
            Step::Skip(ordinals) => {
                model.extend((0..*ordinals).map(|_| None));
                index.skip_to(model.len() as u64).unwrap();
            }
            Step::Find(number, asked) => {
                let (query, asked) = (widen(*number), (*asked).min(k));
                assert_eq!(index.find(query, asked).unwrap(), expected(&model, query, asked));
            }
            Step::Flush => {
                index.flush().unwrap();
                flushed.clone_from(&model);
            }
            Step::Merge => {
                index.merge().unwrap();
                flushed.clone_from(&model);
                assert!(index.stats().segments <= 1);
            }
            // Merges in between write down what they find, so only what a flush promised is certain.
            Step::Reopen(after_flush) if folder.is_some() => {
                if *after_flush {
                    index.flush().unwrap();
                    flushed.clone_from(&model);
                }
                drop(index);
                index = open();
                let kept = index.stats().next as usize;
                assert!(kept >= flushed.len());
                if *after_flush {
                    assert_eq!(kept, model.len());
                }
                model.truncate(kept);
                // Deletions after the last flush may have been lost: do them again, as a store would.
                for ordinal in (0..kept).filter(|&ordinal| model[ordinal].is_none()) {
                    index.delete(ordinal as u64).unwrap();
                }
                flushed.truncate(kept);
            }
            Step::Snapshot => snapshots.push((index.snapshot().unwrap(), model.clone())),
            Step::Reopen(_) => {}
        }
        assert_eq!(index.stats().items, model.iter().flatten().count() as u64);
    }
    snapshots.push((index.snapshot().unwrap(), model));
    drop(index);
    for (snapshot, model) in &snapshots {
        for query in model.iter().flatten().step_by(7) {
            let mut found = Vec::new();
            snapshot.search(&mut Searcher::new(), &[*query], k, |m| found.push(m)).unwrap();
            found.sort_unstable();
            assert_eq!(found, expected(model, *query, k));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn equals_a_list_after_any_steps(
        steps in prop::collection::vec(step(), 1..60),
        k in 0..=7_u32,
        layout in prop_oneof![Just(None), Just(Some(Layout::Columns)), Just(Some(Layout::Ring)), Just(Some(Layout::Cells))],
        background: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        run::<u64>(&steps, k, layout, background, Some(&folder.path().join("64")));
        run::<u64>(&steps, k, layout, background, None);
        run::<u32>(&steps, k, layout, background, Some(&folder.path().join("32")));
        run::<u128>(&steps, k, layout, background, Some(&folder.path().join("128")));
        run::<[u64; 4]>(&steps, k, layout, background, Some(&folder.path().join("256")));
    }
}

#[test]
fn snapshots_and_batches_do_not_pile_up_parts() {
    let index =
        Index::<u64>::in_memory(Options { fresh: 20_000, background: false, ..Options::new(3) }).unwrap();
    let values: Vec<u64> = (0..5000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for _ in 0..12 {
        index.insert_many(&values).unwrap();
        index.snapshot().unwrap();
    }
    let stats = index.stats();
    assert!(stats.fresh <= 20_000 && stats.segments <= 3, "{stats:?}");
    for _ in 0..30 {
        index.insert_batch(&values[..]).unwrap();
    }
    let stats = index.stats();
    assert!(stats.segments <= 5, "{stats:?}");
    assert_eq!(index.find(values[7], 0).unwrap().len(), 42);
    let mut items = 0;
    index.snapshot().unwrap().for_each(|_, _| items += 1).unwrap();
    assert_eq!(items, 42 * 5000);
}

/// Callers within a thread pool wait for merges that need a pool.
#[test]
fn inserts_and_flushes_from_a_pool_do_not_wait_for_themselves() {
    use rayon::prelude::*;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for background in [false, true] {
        let index = Index::<u64>::in_memory(Options { fresh: 50, background, ..Options::new(3) }).unwrap();
        pool.install(|| {
            (0..2000_u64).into_par_iter().for_each(|i| {
                index.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).unwrap();
                if i % 100 == 0 {
                    index.flush().unwrap();
                }
            });
        });
        assert_eq!(index.stats().items, 2000);
    }
}

#[test]
fn files_that_do_not_belong_are_refused_or_left_alone() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (folder, value) in [(&one, 1_u64), (&other, 2)] {
        let index = Index::<u64>::open(folder.path(), Options::new(3)).unwrap();
        index.insert(value).unwrap();
        index.flush().unwrap();
        index.verify().unwrap();
    }
    let segment = |folder: &tempfile::TempDir| {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|e| e == "segment")).min().unwrap()
    };
    // Left over from a merge that was interrupted, and somebody's own.
    std::fs::write(one.path().join("00000099.segment"), "half").unwrap();
    std::fs::write(one.path().join("00000098.segment.tmp"), "half").unwrap();
    std::fs::write(one.path().join("20240101.tmp"), "mine").unwrap();
    assert_eq!(Index::<u64>::open(one.path(), Options::new(3)).unwrap().stats().items, 1);
    assert!(
        !one.path().join("00000099.segment").exists() && !one.path().join("00000098.segment.tmp").exists()
    );
    assert!(one.path().join("20240101.tmp").exists());

    std::fs::copy(segment(&one), segment(&other)).unwrap();
    assert!(matches!(Index::<u64>::open(other.path(), Options::new(3)), Err(HammingError::Foreign { .. })));
    std::fs::remove_file(one.path().join("manifest")).unwrap();
    let error = Index::<u64>::open(one.path(), Options::new(3)).unwrap_err().to_string();
    assert!(error.contains("no manifest") && segment(&one).exists(), "{error}");
}

#[test]
fn senseless_distances_and_wrong_ordinals_are_refused_at_once() {
    for k in [32, u32::MAX] {
        assert!(matches!(Index::<u64>::in_memory(Options::new(k)), Err(HammingError::Senseless { .. })));
    }
    struct Wrong;
    impl Source<u64> for Wrong {
        fn rows(&self) -> usize {
            2
        }
        fn read(
            &self,
            range: std::ops::Range<usize>,
            items: &mut Vec<(u32, u64)>,
        ) -> Result<(), HammingError> {
            items.extend(range.map(|i| (i as u32 * 10, i as u64)));
            Ok(())
        }
    }
    let index = Index::<u64>::in_memory(Options::new(3)).unwrap();
    assert!(matches!(index.insert_batch(&Wrong), Err(HammingError::Ordinal { ordinal: 10, items: 2 })));
    assert_eq!(index.stats().next, 0);
}

#[test]
fn a_second_process_is_told_who_holds_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::<u64>::open(folder.path(), Options::new(3)).unwrap();
    let second = Index::<u64>::open(folder.path(), Options::new(3)).unwrap_err();
    assert!(second.to_string().contains(&format!("process {}", std::process::id())), "{second}");
    drop(index);
    Index::<u64>::open(folder.path(), Options::new(3)).unwrap();
}

#[test]
fn another_width_or_a_larger_distance_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::<u64>::open(folder.path(), Options::new(3)).unwrap();
    index.insert(7).unwrap();
    index.flush().unwrap();
    assert!(matches!(index.find(7, 4), Err(HammingError::TooFar { asked: 4, built: 3 })));
    assert!(matches!(
        index.snapshot().unwrap().search(&mut Searcher::new(), &[7], 4, |_| {}),
        Err(HammingError::TooFar { .. })
    ));
    drop(index);
    assert!(matches!(
        Index::<u128>::open(folder.path(), Options::new(3)),
        Err(HammingError::Width { found: 64, .. })
    ));
    assert!(matches!(Index::<u64>::open(folder.path(), Options::new(5)), Err(HammingError::TooFar { .. })));
    assert_eq!(Index::<u64>::open(folder.path(), Options::new(2)).unwrap().find(5, 3).unwrap().len(), 1);
}

/// Many readers and a writer with merges in the background: every answer is one that was right at some moment.
#[test]
fn readers_and_writers_at_once() {
    let index = Index::<u64>::in_memory(Options { fresh: 200, ..Options::new(3) }).unwrap();
    const ITEMS: u64 = 20_000;
    let value = |ordinal: u64| ordinal.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for ordinal in 0..ITEMS {
                assert_eq!(index.insert(value(ordinal)).unwrap(), ordinal);
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while index.stats().next < ITEMS {
                    let before = index.stats().next;
                    for ordinal in (0..before).rev().step_by(97).take(20) {
                        assert!(
                            index
                                .find(value(ordinal), 0)
                                .unwrap()
                                .iter()
                                .any(|found| found.ordinal == ordinal)
                        );
                    }
                    let snapshot = index.snapshot().unwrap();
                    let mut seen = 0;
                    let queries: Vec<u64> = (0..before).step_by(31).map(value).collect();
                    snapshot.search(&mut Searcher::new(), &queries, 0, |_| seen += 1).unwrap();
                    assert_eq!(seen, queries.len());
                }
            });
        }
    });
    index.merge().unwrap();
    assert_eq!((index.stats().segments, index.stats().items, index.stats().fresh), (1, ITEMS, 0));
}
