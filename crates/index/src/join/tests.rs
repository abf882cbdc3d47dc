//! Joins against the naive ones.

use super::*;
use crate::scan;
use proptest::prelude::*;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Values near a few centres: many pairs, many equal ones.
fn clustered() -> impl Strategy<Value = Vec<(usize, Vec<u32>)>> {
    proptest::collection::vec((0_usize..5, proptest::collection::vec(0_u32..1024, 0..6)), 0..120)
}

fn values<V: Value>(clusters: &[(usize, Vec<u32>)]) -> Vec<V> {
    let centre = |i: usize| -> V {
        let words: Vec<u64> =
            (0..16).map(|word| (i as u64 * 16 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        V::from_words(&words)
    };
    clusters
        .iter()
        .map(|(i, flips)| flips.iter().fold(centre(*i), |value, flip| value.flip(flip % V::WIDTH)))
        .collect()
}

fn naive<V: Value>(values: &[V], k: u32) -> Vec<Pair> {
    scan::pairs(values, k).map(|(a, b, distance)| Pair { a: a as u32, b: b as u32, distance }).collect()
}

fn random(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Nine tenths uniform, one tenth near an earlier one.
fn mixed(len: u64) -> Vec<u64> {
    let mut values = Vec::new();
    for i in 0..len {
        let r = random(i);
        values.push(if i > 0 && r.is_multiple_of(10) {
            let earlier: u64 = values[(random(i ^ 1 << 40) % i) as usize];
            (0..r >> 32 & 3).fold(earlier, |value, j| value ^ 1 << (r >> (40 + 6 * j) & 63))
        } else {
            r
        });
    }
    values
}

fn self_join_agrees<V: Value>(join: &Join, clusters: &[(usize, Vec<u32>)]) -> Result<(), TestCaseError> {
    let values = values::<V>(clusters);
    let found = Collect::default();
    let stats = join.pairs(&values[..], &found).unwrap();
    prop_assert_eq!(found.every_pair(&values), naive(&values, join.k), "{} bits, {:?}", V::WIDTH, join);
    prop_assert_eq!(stats.pairs as usize, found.representatives().len());
    prop_assert!(found.representatives().iter().all(|pair| pair.distance > 0 && pair.a < pair.b));
    Ok(())
}

fn between_agrees<V: Value>(
    join: &Join,
    clusters: &[(usize, Vec<u32>)],
    cut: usize,
) -> Result<(), TestCaseError> {
    let values = values::<V>(clusters);
    let (left, right) = values.split_at(cut.min(values.len()));
    let found = Collect::default();
    join.between(left, right, &found).unwrap();
    let naive: Vec<_> = scan::pairs_between(left, right, join.k)
        .map(|(a, b, distance)| Pair { a: a as u32, b: b as u32, distance })
        .collect();
    prop_assert_eq!(found.every_pair_between(left, right), naive, "{} bits, {:?}", V::WIDTH, join);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_self_join_finds_what_the_naive_one_finds(clusters in clustered(), k in 0_u32..=10) {
        for &level in Level::available() {
            let join = Join { k, level, ..Join::default() };
            self_join_agrees::<u32>(&join, &clusters)?;
            self_join_agrees::<u64>(&join, &clusters)?;
            self_join_agrees::<u128>(&join, &clusters)?;
            self_join_agrees::<[u64; 4]>(&join, &clusters)?;
            self_join_agrees::<[u64; 8]>(&join, &clusters)?;
            self_join_agrees::<[u64; 16]>(&join, &clusters)?;
        }
    }

    #[test]
    fn two_batches_join_as_the_naive_way(clusters in clustered(), k in 0_u32..=10, cut in 0_usize..120) {
        for &level in Level::available() {
            let join = Join { k, level, ..Join::default() };
            between_agrees::<u32>(&join, &clusters, cut)?;
            between_agrees::<u64>(&join, &clusters, cut)?;
            between_agrees::<u128>(&join, &clusters, cut)?;
            between_agrees::<[u64; 4]>(&join, &clusters, cut)?;
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Small batches would be compared without a plan: here every plan is made to run.
    #[test]
    fn every_plan_misses_nothing(clusters in clustered(), k in 0_u32..=10, threads in 1_usize..=3) {
        every_plan::<u32>(k, threads, &clusters)?;
        every_plan::<u64>(k, threads, &clusters)?;
        every_plan::<u128>(k, threads, &clusters)?;
        every_plan::<[u64; 4]>(k, threads, &clusters)?;
        every_plan::<[u64; 16]>(k, threads, &clusters)?;
    }
}

fn every_plan<V: Value>(k: u32, threads: usize, clusters: &[(usize, Vec<u32>)]) -> Result<(), TestCaseError> {
    let values = values::<V>(clusters);
    let join = Join { k, threads, ..Join::default() };
    for plan in plan::Plan::<V>::all(k, 1 << 20) {
        let found = Collect::default();
        run::with_plan(&join, &plan, 0, threads, &Input { left: &&values[..], right: None }, &found).unwrap();
        prop_assert_eq!(
            found.every_pair(&values),
            naive(&values, k),
            "{} bits, {} passes",
            V::WIDTH,
            plan.passes.len()
        );
    }
    Ok(())
}

#[test]
fn a_radius_beyond_the_width_finds_everything() {
    for &level in Level::available() {
        let found = Collect::default();
        Join { k: u32::MAX, level, ..Join::default() }.pairs(&[0_u32, u32::MAX, 5][..], &found).unwrap();
        assert_eq!(found.representatives().len(), 3, "{level:?}");
    }
}

#[test]
fn larger_joins_agree_with_the_naive_one() {
    larger::<u64>(&mixed(12_000), 7);
    larger::<u32>(&mixed(4000).into_iter().map(|value| value as u32).collect::<Vec<_>>(), 5);
    larger::<u128>(&mixed(4000).into_iter().map(|value| u128::from(value) << 40).collect::<Vec<_>>(), 7);
}

fn larger<V: Value>(values: &[V], most: u32) {
    let all = naive(values, most);
    let (left, right) = values.split_at(values.len() / 3);
    let border = left.len() as u32;
    for k in [0, 1, 3, 4, most] {
        let expected: Vec<_> = all.iter().copied().filter(|pair| pair.distance <= k).collect();
        let across = expected.iter().filter(|pair| pair.a < border && pair.b >= border);
        let across: Vec<_> = across.map(|pair| Pair { b: pair.b - border, ..*pair }).collect();
        for threads in [1, 3] {
            let join = Join { k, threads, ..Join::default() };
            let found = Collect::default();
            join.pairs(values, &found).unwrap();
            assert!(found.every_pair(values) == expected, "{} bits, k {k}, {threads} threads", V::WIDTH);
            let found = Collect::default();
            join.between(left, right, &found).unwrap();
            assert!(found.every_pair_between(left, right) == across, "{} bits, k {k}", V::WIDTH);
        }
    }
}

#[test]
fn nothing_and_one_value_have_no_pairs() {
    for values in [&[][..], &[7_u64]] {
        let found = Collect::default();
        assert_eq!(Join::default().pairs(values, &found).unwrap(), Stats::default());
        Join::default().between(values, values, &found).unwrap();
        assert_eq!(found.representatives().len(), values.len());
    }
}

/// A batch that counts how often its values are read.
struct Counted<'a> {
    values: &'a [u64],
    read: AtomicUsize,
    again: bool,
}

impl Batch<u64> for Counted<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn read(&self, from: usize, into: &mut [u64]) -> io::Result<()> {
        self.read.fetch_add(into.len(), Ordering::Relaxed);
        self.values.read(from, into)
    }

    fn reads_again(&self) -> bool {
        self.again
    }
}

#[test]
fn a_low_ceiling_changes_nothing_but_the_rounds() {
    let values = mixed(300_000);
    let plenty = Collect::default();
    let stats = Join { threads: 2, ..Join::default() }.pairs(&values[..], &plenty).unwrap();
    assert_eq!(stats.rounds, 4);
    let folder = tempfile::tempdir().unwrap();
    for again in [true, false] {
        let batch = Counted { values: &values, read: AtomicUsize::new(0), again };
        let join = Join { threads: 2, memory: 2 << 20, spill: Some(folder.path().into()), ..Join::default() };
        let found = Collect::default();
        let stats = join.pairs(&batch, &found).unwrap();
        assert!(stats.rounds >= 8, "{} rounds", stats.rounds);
        assert_eq!(batch.read.into_inner() > values.len(), again);
        assert_eq!(found.representatives(), plenty.representatives());
        assert_eq!(found.repeated(Side::Left), plenty.repeated(Side::Left));
    }
    // with room for a copy in memory
    let batch = Counted { values: &values, read: AtomicUsize::new(0), again: false };
    let found = Collect::default();
    Join::default().pairs(&batch, &found).unwrap();
    assert_eq!(batch.read.into_inner(), values.len());
    assert_eq!(found.representatives(), plenty.representatives());

    let error = Join { memory: 1000, ..Join::default() }.pairs(&values[..], &found).unwrap_err();
    assert!(matches!(error, JoinError::Ceiling { memory: 1000, .. }));
    assert!(error.to_string().contains("allow "));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let values = mixed(100_000);
    let batch = Counted { values: &values, read: AtomicUsize::new(0), again: false };
    let join = Join { memory: 2 << 20, spill: Some("/nowhere/at/all".into()), ..Join::default() };
    let error = join.pairs(&batch, &Collect::default()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"));
}

/// A batch that claims a length and gives no values.
struct Broken(usize);

impl Batch<u64> for Broken {
    fn len(&self) -> usize {
        self.0
    }

    fn read(&self, _: usize, _: &mut [u64]) -> io::Result<()> {
        Err(io::Error::other("worn out"))
    }
}

#[test]
fn too_many_values_and_failing_ones_are_errors() {
    let error = Join::default().pairs(&Broken(1 << 32), &Collect::default()).unwrap_err();
    assert!(matches!(error, JoinError::TooMany { len: 0x1_0000_0000 }));
    let error =
        Join::default().between(&Broken(u32::MAX as usize), &[1_u64][..], &Collect::default()).unwrap_err();
    assert!(matches!(error, JoinError::TooMany { .. }));
    for len in [10, 100_000] {
        let error = Join::default().pairs(&Broken(len), &Collect::default()).unwrap_err();
        assert!(error.to_string().contains("worn out"), "{error}");
    }
}

/// Counts results.
#[derive(Default)]
struct Count {
    pairs: AtomicU64,
    repeats: AtomicU64,
}

impl Sink for Count {
    fn pairs(&self, pairs: &[Pair]) -> ControlFlow<()> {
        self.pairs.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    fn repeats(&self, _: Side, repeats: &[Repeat]) -> ControlFlow<()> {
        self.repeats.fetch_add(repeats.len() as u64, Ordering::Relaxed);
        ControlFlow::Continue(())
    }
}

/// What a join of `piled` does more than one of uniform values, in comparisons, must be linear.
fn stays_linear(piled: &[u64], repeats: impl Fn(u64) -> bool) {
    let len = piled.len() as u64;
    for memory in [8 << 30, 8 << 20] {
        for k in [0, 3] {
            let count = Count::default();
            let stats = Join { k, threads: 2, memory, ..Join::default() }.pairs(piled, &count).unwrap();
            assert!(stats.compared < 400 * len, "{} comparisons for {len} values", stats.compared);
            assert!(repeats(stats.repeats), "{} repeats", stats.repeats);
            assert_eq!((stats.pairs, stats.repeats), (count.pairs.into_inner(), count.repeats.into_inner()));
        }
    }
}

#[test]
fn a_tenth_of_equal_values_stays_linear() {
    let piled: Vec<u64> = (0..200_000).map(|i| if i % 10 == 3 { 77 } else { random(i) }).collect();
    stays_linear(&piled, |repeats| repeats == 19_999);
    stays_linear(&[5; 100_000], |repeats| repeats == 99_999);
}

#[test]
fn values_each_of_them_rare_that_pile_up_stay_linear() {
    // two thousand values next to each other, fifty times each: too rare for the sample
    let piled: Vec<u64> = (0..200_000)
        .map(|i| if i % 2 == 0 { 0xffff_0000_0000_0000 | ((random(i) % 2000) << 13) } else { random(i) })
        .collect();
    let expected = |repeats| (97_000..=98_100).contains(&repeats);
    stays_linear(&piled, expected);
}

#[test]
fn the_pairs_of_piles_are_right() {
    let piled: Vec<u64> = (0..40_000)
        .map(|i| {
            if random(i).is_multiple_of(10) {
                77 ^ (random(i + 7) & 0x8000_0000_0000_0003)
            } else {
                random(i)
            }
        })
        .collect();
    let found = Collect::default();
    Join::default().pairs(&piled[..], &found).unwrap();
    let mut firsts: Vec<(u64, u32)> = piled.iter().copied().zip(0..).collect();
    firsts.sort_unstable();
    let repeats: usize = firsts.chunk_by(|a, b| a.0 == b.0).map(|equal| equal.len() - 1).sum();
    assert_eq!(found.repeated(Side::Left).len(), repeats);
    for repeat in found.repeated(Side::Left) {
        let at = firsts.partition_point(|entry| *entry < (piled[repeat.other as usize], 0));
        assert_eq!(firsts[at].1, repeat.first);
    }
    // eight values that differ in up to three bits
    assert_eq!(found.representatives().len(), 8 * 7 / 2);

    let (left, right) = piled.split_at(17_000);
    let between = Collect::default();
    Join::default().between(left, right, &between).unwrap();
    assert_eq!(between.representatives().len(), 8 * 8);
}

/// Stops at once.
struct Stop(AtomicU64);

impl Sink for Stop {
    fn pairs(&self, _: &[Pair]) -> ControlFlow<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    }

    fn repeats(&self, _: Side, _: &[Repeat]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_sink_that_has_enough_ends_the_join() {
    let values = mixed(200_000);
    for threads in [1, 2] {
        let stop = Stop(AtomicU64::new(0));
        let stats = Join { threads, ..Join::default() }.pairs(&values[..], &stop).unwrap();
        assert!(stats.stopped);
        assert!(stats.rounds < 4);
        assert!(stop.0.into_inner() <= threads as u64);
    }
}
