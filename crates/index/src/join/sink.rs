//! What a join says, and to whom.

use crate::Value;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Two values within the radius.
///
/// Of a self-join, `a` is the smaller position. Of a join of two batches, `a` is a position in the left one and `b`
/// one in the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Position of the one.
    pub a: u32,
    /// Position of the other.
    pub b: u32,
    /// In how many bits they differ.
    pub distance: u32,
}

/// A value that has been there before in the same batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repeat {
    /// The smallest position of this value, which speaks for all of them.
    pub first: u32,
    /// A later position of the same value.
    pub other: u32,
}

/// Which batch a position belongs to. A self-join has the left one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The first batch, or the only one.
    Left,
    /// The second batch.
    Right,
}

/// Where results go.
///
/// Calls come from several threads at once, a few thousand results at a time, in no order to rely on; the set of
/// results is the same whatever the number of threads. Once a call has answered [`ControlFlow::Break`] the join ends
/// soon; a few more calls may come from the other threads.
///
/// Equal values are reported as such and only the first of them, the representative, occurs in [`Sink::pairs`]. A
/// value that stands at a million positions costs a million repeats that way and not half a billion pairs.
/// [`Collect::every_pair`] multiplies them out.
pub trait Sink: Sync {
    /// Pairs of representatives within the radius, each pair once. In a self-join their values differ; between two
    /// batches a distance of 0 occurs.
    fn pairs(&self, pairs: &[Pair]) -> ControlFlow<()>;

    /// Repeated values of one batch: every position that is not a representative, once, with its representative.
    fn repeats(&self, side: Side, repeats: &[Repeat]) -> ControlFlow<()>;
}

/// A sink that keeps everything.
#[derive(Debug, Default)]
pub struct Collect {
    pairs: Mutex<Vec<Pair>>,
    left: Mutex<Vec<Repeat>>,
    right: Mutex<Vec<Repeat>>,
}

impl Sink for Collect {
    fn pairs(&self, pairs: &[Pair]) -> ControlFlow<()> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(pairs);
        ControlFlow::Continue(())
    }

    fn repeats(&self, side: Side, repeats: &[Repeat]) -> ControlFlow<()> {
        let list = match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        };
        list.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(repeats);
        ControlFlow::Continue(())
    }
}

impl Collect {
    /// The pairs of representatives, sorted.
    #[must_use]
    pub fn representatives(&self) -> Vec<Pair> {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        pairs.sort_unstable();
        pairs
    }

    /// The repeats of one side, sorted: those of one value stand together.
    #[must_use]
    pub fn repeated(&self, side: Side) -> Vec<Repeat> {
        let list = match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        };
        let mut repeats = list.lock().unwrap_or_else(PoisonError::into_inner).clone();
        repeats.sort_unstable();
        repeats
    }

    /// Every pair of a self-join of these values, sorted: each representative stands for all its equals, and equals
    /// pair among themselves. As many as there are, which for many equal values is quadratic.
    #[must_use]
    pub fn every_pair<V: Value>(&self, values: &[V]) -> Vec<Pair> {
        let groups = groups(values.len(), &self.repeated(Side::Left));
        let mut pairs = Vec::new();
        for group in &groups {
            for (i, &a) in group.iter().enumerate() {
                pairs.extend(group[i + 1..].iter().map(|&b| Pair { a, b, distance: 0 }));
            }
        }
        for pair in self.representatives() {
            for &a in &groups[pair.a as usize] {
                pairs.extend(groups[pair.b as usize].iter().map(|&b| Pair {
                    a: a.min(b),
                    b: a.max(b),
                    distance: pair.distance,
                }));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// Every pair of a join of these two batches, sorted; see [`Collect::every_pair`].
    #[must_use]
    pub fn every_pair_between<V: Value>(&self, left: &[V], right: &[V]) -> Vec<Pair> {
        let lefts = groups(left.len(), &self.repeated(Side::Left));
        let rights = groups(right.len(), &self.repeated(Side::Right));
        let mut pairs = Vec::new();
        for pair in self.representatives() {
            for &a in &lefts[pair.a as usize] {
                pairs.extend(rights[pair.b as usize].iter().map(|&b| Pair { a, b, distance: pair.distance }));
            }
        }
        pairs.sort_unstable();
        pairs
    }
}

/// For every representative its positions, itself first; nothing for the others.
fn groups(len: usize, repeats: &[Repeat]) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = (0..len as u32).map(|position| vec![position]).collect();
    for repeat in repeats {
        groups[repeat.other as usize].clear();
        groups[repeat.first as usize].push(repeat.other);
    }
    groups
}
