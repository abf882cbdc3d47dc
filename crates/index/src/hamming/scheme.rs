//! How a width is cut into blocks, and what two values within `k` bits of each other must have in common.
//!
//! Two theorems, both by counting. *Pigeonhole*: `k` differing bits in `m` blocks leave some block with few of them
//! (Norouzi, Punjani and Fleet, "Fast search in Hamming space with multi-index hashing", 2012, give the radius of each
//! block). *Pigeonring* (Qin and Xiao, 2018): with `k + 1` blocks in a ring some block has none **and** the next at most
//! one. Either way there is one condition per block, at least one of which holds, so a table per block that finds
//! everything fulfilling its condition finds everything. A match belongs to the first table whose condition it
//! fulfils; no list of matches already seen is needed.

use crate::Value;

/// Which theorem a scheme rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A block without differences, followed by one with at most one. Needs more blocks than `k`.
    Ring,
    /// A block with at most its share of the differences.
    Share,
}

/// A width cut into consecutive blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    pub(crate) rule: Rule,
    pub(crate) blocks: Vec<Block>,
}

/// Consecutive bits, counted from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: u32,
    pub(crate) width: u32,
}

/// What the differing bits of a match look like in one table: none in `exact` bits from `start` on, and at most
/// `radius` in the `near` bits from `near_start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) start: u32,
    pub(crate) exact: u32,
    pub(crate) near_start: u32,
    pub(crate) near: u32,
    pub(crate) radius: u32,
}

/// Blocks are looked at through words: of a wider one the first 64 bits count, which only weakens a condition.
const WORD: u32 = 64;

impl Scheme {
    /// `count` blocks of nearly equal width.
    pub(crate) fn new(rule: Rule, width: u32, count: u32) -> Self {
        let edge = |i: u32| width * i / count;
        let blocks = (0..count).map(|i| Block { start: edge(i), width: edge(i + 1) - edge(i) }).collect();
        Self { rule, blocks }
    }

    /// The condition of each table for a search within `k` bits; `None` where the table need not be asked.
    pub(crate) fn conditions(&self, k: u32) -> Vec<Option<Condition>> {
        let count = self.blocks.len() as u32;
        let condition = |i: u32| {
            let block = self.blocks[i as usize];
            match self.rule {
                Rule::Ring => {
                    let next = self.blocks[((i + 1) % count) as usize];
                    // Holds for any k below the number of blocks, so the tables do not depend on it.
                    Some(Condition {
                        start: block.start,
                        exact: block.width.min(WORD),
                        near_start: next.start,
                        near: next.width.min(WORD),
                        radius: 1.min(k),
                    })
                }
                Rule::Share => {
                    let (share, rest) = (k / count, k % count);
                    // If the first rest + 1 blocks had more than share and the others more than share - 1, the sum would exceed k.
                    let radius = if i <= rest { Some(share) } else { share.checked_sub(1) };
                    radius.map(|radius| Condition {
                        start: block.start,
                        exact: 0,
                        near_start: block.start,
                        near: block.width.min(WORD),
                        radius,
                    })
                }
            }
        };
        (0..count).map(condition).collect()
    }
}

impl Condition {
    /// Whether differing bits fulfil the condition.
    #[inline(always)]
    pub(crate) fn holds<V: Value>(&self, error: V) -> bool {
        error.window(self.start, self.exact) == 0
            && error.window(self.near_start, self.near).count_ones() <= self.radius
    }
}

/// Whether `table` is the first whose condition `error` fulfils.
#[inline(always)]
pub(crate) fn is_first<V: Value>(conditions: &[Option<Condition>], table: usize, error: V) -> bool {
    let holds = |condition: &Option<Condition>| condition.is_some_and(|condition| condition.holds(error));
    holds(&conditions[table]) && !conditions[..table].iter().any(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_condition_holds<V: Value>(flips: &[u32]) -> bool {
        let error = flips.iter().fold(V::ZERO, |error, &bit| {
            if error.flip(bit % V::WIDTH).ones() > error.ones() { error.flip(bit % V::WIDTH) } else { error }
        });
        let k = error.ones();
        let ring = (k + 1..k + 4).map(|count| Scheme::new(Rule::Ring, V::WIDTH, count.max(2)));
        let share = (1..8).map(|count| Scheme::new(Rule::Share, V::WIDTH, count));
        ring.chain(share).all(|scheme| {
            let conditions = scheme.conditions(k);
            (0..conditions.len()).filter(|&table| is_first(&conditions, table, error)).count() == 1
        })
    }

    proptest! {
        #[test]
        fn whatever_differs_one_table_is_the_first(flips in prop::collection::vec(any::<u32>(), 0..=12)) {
            prop_assert!(some_condition_holds::<u32>(&flips));
            prop_assert!(some_condition_holds::<u64>(&flips));
            prop_assert!(some_condition_holds::<u128>(&flips));
            prop_assert!(some_condition_holds::<[u64; 16]>(&flips));
        }
    }
}
