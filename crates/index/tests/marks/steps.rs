//! Random sequences of everything that can be done.

use super::twin::{Twin, look_up};
use leitong_index::marks::{MarkError, MarkIndex, Options, Snapshot};
use proptest::prelude::*;
use std::path::Path;

#[derive(Clone, Debug)]
enum Step {
    /// After leaving out so many ordinals, with an origin so far back.
    Insert(u64, u64, Vec<u32>),
    Delete(prop::sample::Index),
    Skip(u64),
    LookUp(Vec<u32>, usize),
    Flush,
    Merge,
    /// Drop and open again, after a flush or without.
    Reopen(bool),
    /// Keep a snapshot, to be read at the end.
    Snapshot,
}

/// Few marks, so that lists are long, and many.
fn mark() -> impl Strategy<Value = u32> {
    prop_oneof![0..6_u32, (0..40_u32).prop_map(|n| n.wrapping_mul(0x9e37_79b9)), any::<u32>(), Just(u32::MAX),]
}

fn step() -> impl Strategy<Value = Step> {
    let gap = prop_oneof![400 => Just(0), 80 => 0..100_u64, 20 => Just(70_000), 1 => Just(1 << 31), 1 => Just((1 << 32) - 1)];
    prop_oneof![
        24 => (gap, prop_oneof![Just(0), 0..50_u64], prop::collection::vec(mark(), 0..20))
            .prop_map(|(gap, back, marks)| Step::Insert(gap, back, marks)),
        8 => any::<prop::sample::Index>().prop_map(Step::Delete),
        2 => (0..50_u64).prop_map(Step::Skip),
        12 => (prop::collection::vec(mark(), 0..200), prop_oneof![0..4_usize, Just(usize::MAX)])
            .prop_map(|(marks, most)| Step::LookUp(marks, most)),
        3 => Just(Step::Flush),
        1 => Just(Step::Merge),
        2 => any::<bool>().prop_map(Step::Reopen),
        1 => Just(Step::Snapshot),
    ]
}

/// An index and what should be in it.
struct Pair {
    index: MarkIndex,
    twin: Twin,
    snapshots: Vec<(Snapshot, Twin)>,
}

impl Pair {
    fn insert(&mut self, ordinal: u64, origin: u64, marks: &[u32]) {
        self.index.insert_at(ordinal, origin, marks).unwrap();
        self.twin.insert(ordinal, origin, marks);
        assert!(matches!(self.index.insert_at(ordinal, 0, &[]), Err(MarkError::Order { .. })));
    }

    fn delete(&mut self, place: &prop::sample::Index) {
        let ordinal = match self.twin.documents.len() {
            0 => place.index(10) as u64,
            // One in ten or so is not there.
            len => self.twin.documents.keys().nth(place.index(len)).unwrap() + place.index(11) as u64 / 10,
        };
        let there = self.twin.documents.remove(&ordinal).is_some();
        assert_eq!(self.index.delete(ordinal).unwrap(), there);
        assert!(!self.index.delete(ordinal).unwrap());
    }

    /// What is not certain to be there is forgotten; what is, is deleted again, as a store would.
    fn reopen(mut self, folder: &Path, options: &Options, flush: bool) -> Self {
        if flush {
            self.index.flush().unwrap();
        }
        drop(self.index);
        self.index = MarkIndex::open(folder, options).unwrap();
        let next = self.index.next();
        assert!(if flush {
            next == self.twin.next
        } else {
            next >= self.twin.flushed && next <= self.twin.next
        });
        (self.twin.next, self.twin.flushed) = (next, next);
        self.twin.documents.split_off(&next);
        let mut all = Vec::new();
        self.index.for_each(&mut |ordinal, _, _| all.push(ordinal)).unwrap();
        for ordinal in all.into_iter().filter(|ordinal| !self.twin.documents.contains_key(ordinal)) {
            assert!(!flush && self.index.delete(ordinal).unwrap());
        }
        self
    }

    fn step(mut self, step: &Step, folder: Option<&Path>, options: &Options) -> Self {
        match step {
            Step::Insert(gap, back, marks) => {
                let ordinal = self.twin.next + gap;
                self.insert(ordinal, ordinal.saturating_sub(*back), marks);
            }
            Step::Delete(place) => self.delete(place),
            Step::Skip(ordinals) => {
                self.twin.next += ordinals;
                self.index.skip_to(self.twin.next).unwrap();
                self.index.skip_to(self.twin.next / 2).unwrap();
            }
            Step::LookUp(marks, most) => {
                assert_eq!(look_up(&self.index, marks, *most), self.twin.look_up(marks, *most));
            }
            Step::Flush => {
                self.index.flush().unwrap();
                self.twin.flushed = self.twin.next;
                assert_eq!(self.index.stats().fresh, 0);
            }
            Step::Merge => {
                self.index.merge().unwrap();
                self.twin.flushed = self.twin.next;
                let stats = self.index.stats();
                assert!(stats.deleted == 0 && stats.fresh == 0, "{stats:?}");
                assert_eq!(
                    stats.postings,
                    self.twin.documents.values().map(|d| d.1.len() as u64).sum::<u64>()
                );
            }
            Step::Reopen(flush) => {
                if let Some(folder) = folder {
                    self = self.reopen(folder, options, *flush);
                }
            }
            Step::Snapshot => self.snapshots.push((self.index.snapshot(), self.twin.clone())),
        }
        self
    }
}

fn run(steps: &[Step], options: &Options, folder: Option<&Path>) {
    let index = match folder {
        Some(folder) => MarkIndex::open(folder, options).unwrap(),
        None => MarkIndex::in_memory_with(options),
    };
    let mut pair = Pair { index, twin: Twin::default(), snapshots: Vec::new() };
    for step in steps {
        pair = pair.step(step, folder, options);
    }
    pair.twin.check(&pair.index);
    pair.index.verify().unwrap();
    drop(pair.index);
    for (snapshot, twin) in pair.snapshots {
        let marks = twin.marks();
        let mut found = Vec::new();
        snapshot.look_up(&marks, 3, &mut |place, posting| found.push((place, posting))).unwrap();
        assert_eq!(found, twin.look_up(&marks, 3));
        let mut ordinals = Vec::new();
        snapshot.for_each(&mut |ordinal, _, _| ordinals.push(ordinal)).unwrap();
        assert!(ordinals.iter().eq(twin.documents.keys()) && snapshot.next() == twin.next);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equals_a_map_after_any_steps(
        steps in prop::collection::vec(step(), 1..120),
        fresh in prop_oneof![1 => Just(1_usize), 8 => 20..400_usize, 3 => Just(1_000_000)],
        background: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { fresh, background };
        run(&steps, &options, None);
        run(&steps, &options, Some(folder.path()));
    }
}
