//! From which of its two masters each string is read, so that as few masters as possible are asked: a message costs a master more
//! than what is in it.

use std::collections::{BTreeMap, BTreeSet};

/// Among so many masters all ways are tried: the four blocks of a question are on no more. Among others a good way will do.
const FEW: usize = 8;

/// Which of the two each string is read from, if `anyway` are asked in any case. Of equally good ways the seed chooses one.
pub(crate) fn choose(pairs: &[[u16; 2]], anyway: impl Iterator<Item = u16>, seed: usize) -> Vec<usize> {
    let mut asked: BTreeSet<u16> = anyway.collect();
    asked.extend(pairs.iter().filter(|[one, other]| one == other).flatten());
    let open = pairs.iter().filter(|pair| !pair.iter().any(|master| asked.contains(master)));
    let open: BTreeSet<[u16; 2]> = open.map(|&[one, other]| [one.min(other), one.max(other)]).collect();
    asked.extend(cover(open, seed));
    let mut load: BTreeMap<u16, usize> = BTreeMap::new();
    let mut side = |(at, pair): (usize, &[u16; 2])| {
        let side = match pair.map(|master| asked.contains(&master)) {
            [true, false] => 0,
            [false, true] => 1,
            _ => {
                let [one, other] = pair.map(|master| load.get(&master).copied().unwrap_or_default());
                if one == other { seed.wrapping_add(at) % 2 } else { usize::from(one > other) }
            }
        };
        *load.entry(pair[side]).or_default() += 1;
        side
    };
    pairs.iter().enumerate().map(&mut side).collect()
}

/// Masters of which every pair has one: as few as possible.
fn cover(pairs: BTreeSet<[u16; 2]>, seed: usize) -> Vec<u16> {
    let masters: Vec<u16> = pairs.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if masters.len() > FEW {
        return good_cover(pairs, seed);
    }
    let bit = |master: &u16| 1 << masters.partition_point(|other| other < master);
    let pairs: Vec<u32> = pairs.iter().map(|[one, other]| bit(one) | bit(other)).collect();
    let (mut least, mut best) = (u32::MAX, Vec::new());
    for set in 0_u32..1 << masters.len() {
        if set.count_ones() > least || pairs.iter().any(|pair| set & pair == 0) {
            continue;
        }
        if set.count_ones() < least {
            least = set.count_ones();
            best.clear();
        }
        best.push(set);
    }
    let set = best.get(seed % best.len().max(1)).copied().unwrap_or_default();
    masters.iter().filter(|master| set & bit(master) != 0).copied().collect()
}

/// The same, if not always with as few: each time the master that most of the pairs have.
fn good_cover(mut pairs: BTreeSet<[u16; 2]>, seed: usize) -> Vec<u16> {
    let turn = |master: u16| master ^ seed as u16;
    let mut chosen = Vec::new();
    loop {
        let mut numbers: BTreeMap<u16, usize> = BTreeMap::new();
        pairs.iter().flatten().for_each(|&master| *numbers.entry(master).or_default() += 1);
        let most = numbers.into_iter().max_by_key(|&(master, number)| (number, turn(master)));
        let Some((most, _)) = most else { return chosen };
        pairs.retain(|pair| !pair.contains(&most));
        chosen.push(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::slots::SLOTS;
    use proptest::prelude::*;

    fn asked(pairs: &[[u16; 2]], sides: &[usize]) -> BTreeSet<u16> {
        pairs.iter().zip(sides).map(|(pair, &side)| pair[side]).collect()
    }

    /// The fewest masters, besides `anyway`, of all ways there are.
    fn fewest(pairs: &[[u16; 2]], anyway: &BTreeSet<u16>) -> usize {
        let ways = (0..1_usize << pairs.len()).map(|way| {
            let sides: Vec<usize> = (0..pairs.len()).map(|at| way >> at & 1).collect();
            asked(pairs, &sides).difference(anyway).count()
        });
        ways.min().unwrap()
    }

    proptest! {
        #[test]
        fn as_few_as_any_way(
            pairs in (1..9_u16).prop_flat_map(|masters| {
                prop::collection::vec((0..masters, 0..masters).prop_map(<[u16; 2]>::from), 0..9)
            }),
            anyway in prop::collection::btree_set(0..9_u16, 0..3),
            seed: usize,
        ) {
            let sides = choose(&pairs, anyway.iter().copied(), seed);
            prop_assert_eq!(sides.len(), pairs.len());
            prop_assert_eq!(asked(&pairs, &sides).difference(&anyway).count(), fewest(&pairs, &anyway));
        }

        #[test]
        fn of_many_masters_no_more_than_there_are_pairs(
            pairs in prop::collection::vec((0..1000_u16, 0..1000_u16).prop_map(<[u16; 2]>::from), 0..300),
            seed: usize,
        ) {
            let sides = choose(&pairs, std::iter::empty(), seed);
            let different: BTreeSet<BTreeSet<u16>> = pairs.iter().map(|pair| pair.iter().copied().collect()).collect();
            prop_assert!(asked(&pairs, &sides).len() <= different.len());
        }
    }

    /// Four blocks in three masters of equal shares: 13 messages for 9 questions instead of nearly 22, and as many to each master.
    #[test]
    fn all_masters_are_asked_alike() {
        let master = |slot: usize| (slot % SLOTS * 3 / SLOTS) as u16;
        let (mut messages, mut blocks) = ([0_u32; 3], [0_u32; 3]);
        let mut random = 1_u64;
        for _ in 0..90_000 {
            let slots: [usize; 4] = std::array::from_fn(|_| {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (random >> 50) as usize
            });
            let pairs = slots.map(|slot| [master(slot), master(slot + SLOTS / 2)]);
            let sides = choose(&pairs, std::iter::empty(), slots.iter().sum());
            asked(&pairs, &sides).iter().for_each(|&master| messages[usize::from(master)] += 1);
            pairs.iter().zip(sides).for_each(|(pair, side)| blocks[usize::from(pair[side])] += 1);
        }
        assert!(messages.iter().all(|number| (42_500..44_200).contains(number)), "{messages:?}");
        assert!(blocks.iter().all(|number| (118_000..122_000).contains(number)), "{blocks:?}");
    }
}
