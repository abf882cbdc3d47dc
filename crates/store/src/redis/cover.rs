//! From which of its masters each string that stands more than once is read, so that as few as possible are asked: a message costs
//! a master more than what is in it.

use std::collections::{BTreeMap, BTreeSet};

/// Among so many masters all ways are tried: the four blocks of a question are with nine at most, in three copies of the first and
/// two of the others. Among more a good way will do.
const FEW: usize = 9;

/// Which of its masters each string is read from, if `anyway` are asked in any case. Of equally good ways the seed chooses one.
pub(crate) fn choose(strings: &[Vec<u16>], anyway: impl Iterator<Item = u16>, seed: usize) -> Vec<usize> {
    let mut asked: BTreeSet<u16> = anyway.collect();
    let sets = strings.iter().map(|masters| masters.iter().copied().collect::<BTreeSet<u16>>());
    let mut sets: BTreeSet<BTreeSet<u16>> = sets.collect();
    asked.extend(sets.iter().filter(|masters| masters.len() == 1).flatten());
    sets.retain(|masters| masters.is_disjoint(&asked));
    asked.extend(cover(sets, seed));
    let mut load: BTreeMap<u16, usize> = BTreeMap::new();
    let choice = |(at, masters): (usize, &Vec<u16>)| {
        let turn = |choice: usize| (choice + seed % masters.len() + at) % masters.len();
        let asked = (0..masters.len()).map(turn).filter(|&choice| asked.contains(&masters[choice]));
        let least = asked.min_by_key(|&choice| load.get(&masters[choice]).copied().unwrap_or_default());
        let choice = least.unwrap_or_default();
        *load.entry(masters[choice]).or_default() += 1;
        choice
    };
    strings.iter().enumerate().map(choice).collect()
}

/// Masters of which every set has one: as few as possible.
fn cover(sets: BTreeSet<BTreeSet<u16>>, seed: usize) -> Vec<u16> {
    let masters: Vec<u16> = sets.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if masters.len() > FEW {
        return good_cover(sets, seed);
    }
    let bit = |master: &u16| 1_u32 << masters.partition_point(|other| other < master);
    let sets: Vec<u32> = sets.iter().map(|set| set.iter().map(bit).sum()).collect();
    let (mut least, mut best) = (u32::MAX, Vec::new());
    for chosen in 0_u32..1 << masters.len() {
        if chosen.count_ones() > least || sets.iter().any(|set| chosen & set == 0) {
            continue;
        }
        if chosen.count_ones() < least {
            least = chosen.count_ones();
            best.clear();
        }
        best.push(chosen);
    }
    let chosen = best.get(seed % best.len().max(1)).copied().unwrap_or_default();
    masters.iter().filter(|master| chosen & bit(master) != 0).copied().collect()
}

/// The same, if not always with as few: each time the master that most of the sets have.
fn good_cover(mut sets: BTreeSet<BTreeSet<u16>>, seed: usize) -> Vec<u16> {
    let turn = |master: u16| master ^ seed as u16;
    let mut chosen = Vec::new();
    loop {
        let mut numbers: BTreeMap<u16, usize> = BTreeMap::new();
        sets.iter().flatten().for_each(|&master| *numbers.entry(master).or_default() += 1);
        let most = numbers.into_iter().max_by_key(|&(master, number)| (number, turn(master)));
        let Some((most, _)) = most else { return chosen };
        sets.retain(|set| !set.contains(&most));
        chosen.push(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::slots::{SLOTS, ends, with_end};
    use proptest::prelude::*;

    fn asked(strings: &[Vec<u16>], choices: &[usize]) -> BTreeSet<u16> {
        strings.iter().zip(choices).map(|(masters, &choice)| masters[choice]).collect()
    }

    /// The fewest masters, besides `anyway`, of all ways there are.
    fn fewest(strings: &[Vec<u16>], asked: &BTreeSet<u16>, anyway: &BTreeSet<u16>) -> usize {
        let Some((first, rest)) = strings.split_first() else { return asked.difference(anyway).count() };
        let with = |&master: &u16| fewest(rest, &(asked | &BTreeSet::from([master])), anyway);
        first.iter().map(with).min().unwrap()
    }

    proptest! {
        #[test]
        fn as_few_as_any_way(
            strings in (1..10_u16).prop_flat_map(|masters| {
                prop::collection::vec(prop::collection::vec(0..masters, 1..4), 0..7)
            }),
            anyway in prop::collection::btree_set(0..9_u16, 0..3),
            seed: usize,
        ) {
            let choices = choose(&strings, anyway.iter().copied(), seed);
            prop_assert_eq!(choices.len(), strings.len());
            let number = asked(&strings, &choices).difference(&anyway).count();
            prop_assert_eq!(number, fewest(&strings, &BTreeSet::new(), &anyway));
        }

        #[test]
        fn of_many_masters_no_more_than_there_are_sets(
            strings in prop::collection::vec(prop::collection::vec(0..1000_u16, 1..4), 0..300),
            seed: usize,
        ) {
            let choices = choose(&strings, std::iter::empty(), seed);
            let sets: BTreeSet<BTreeSet<u16>> = strings.iter().map(|set| set.iter().copied().collect()).collect();
            prop_assert!(asked(&strings, &choices).len() <= sets.len());
        }
    }

    /// Four blocks in three masters of equal shares: 1.24 messages a question instead of 2.41, and as many to each master.
    #[test]
    fn all_masters_are_asked_alike() {
        let (mut messages, mut blocks) = ([0_u32; 3], [0_u32; 3]);
        let mut random = 1_u64;
        for _ in 0..100_000 {
            let slots: [u16; 4] = std::array::from_fn(|_| {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (random >> 50) as u16
            });
            let masters = |(slot, copies): (u16, usize)| -> Vec<u16> {
                let slots = ends(slot, copies).map(|end| with_end(slot, end));
                slots.map(|slot| (usize::from(slot) * 3 / SLOTS) as u16).collect()
            };
            let strings: Vec<Vec<u16>> = slots.into_iter().zip([3, 2, 2, 2]).map(masters).collect();
            let choices = choose(&strings, std::iter::empty(), slots.into_iter().map(usize::from).sum());
            asked(&strings, &choices).iter().for_each(|&master| messages[usize::from(master)] += 1);
            strings.iter().zip(choices).for_each(|(set, choice)| blocks[usize::from(set[choice])] += 1);
        }
        assert!(messages.iter().all(|number| (40_000..42_500).contains(number)), "{messages:?}");
        assert!(blocks.iter().all(|number| (130_000..137_000).contains(number)), "{blocks:?}");
    }
}
