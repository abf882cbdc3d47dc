//! Random sequences of everything that can be done.

use super::twin::{Twin, look_up};
use leitong_index::marks::{MarkError, MarkIndex};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// After leaving out so many ordinals, with an origin so far back.
    Insert(u64, u64, Vec<u32>),
    Delete(prop::sample::Index),
    Skip(u64),
    LookUp(Vec<u32>, usize),
}

/// Few marks, so that lists are long, and many.
fn mark() -> impl Strategy<Value = u32> {
    prop_oneof![0..6_u32, (0..40_u32).prop_map(|n| n.wrapping_mul(0x9e37_79b9)), any::<u32>()]
}

fn step() -> impl Strategy<Value = Step> {
    let gap = prop_oneof![4 => Just(0), 1 => 0..100_u64, 1 => Just(70_000)];
    prop_oneof![
        12 => (gap, prop_oneof![Just(0), 0..50_u64], prop::collection::vec(mark(), 0..20))
            .prop_map(|(gap, back, marks)| Step::Insert(gap, back, marks)),
        4 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => (0..50_u64).prop_map(Step::Skip),
        6 => (prop::collection::vec(mark(), 0..200), prop_oneof![0..4_usize, Just(usize::MAX)])
            .prop_map(|(marks, most)| Step::LookUp(marks, most)),
    ]
}

fn run(steps: &[Step]) {
    let index = MarkIndex::in_memory();
    let mut twin = Twin::default();
    for step in steps {
        match step {
            Step::Insert(gap, back, marks) => {
                let ordinal = twin.next + gap;
                index.insert_at(ordinal, ordinal.saturating_sub(*back), marks).unwrap();
                twin.insert(ordinal, ordinal.saturating_sub(*back), marks);
                assert!(matches!(index.insert_at(ordinal, 0, &[]), Err(MarkError::Order { .. })));
            }
            Step::Delete(place) => {
                let ordinal = match twin.documents.len() {
                    0 => place.index(10) as u64,
                    // One in ten or so is not there.
                    len => twin.documents.keys().nth(place.index(len)).unwrap() + place.index(11) as u64 / 10,
                };
                assert_eq!(index.delete(ordinal).unwrap(), twin.documents.remove(&ordinal).is_some());
            }
            Step::Skip(ordinals) => {
                twin.next += ordinals;
                index.skip_to(twin.next).unwrap();
                index.skip_to(twin.next / 2).unwrap();
            }
            Step::LookUp(marks, most) => {
                assert_eq!(look_up(&index, marks, *most), twin.look_up(marks, *most));
            }
        }
    }
    twin.check(&index);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn equals_a_map_after_any_steps(steps in prop::collection::vec(step(), 1..80)) {
        run(&steps);
    }
}
