//! The chain of commits: every commit leaves a link in each tree, so that one that is missing in between shows.
//!
//! The engine replays its journals when it opens, and a damaged one is cut off where the damage begins. With a later journal
//! intact that would be a hole nobody sees. Links are kept for as long as their commits may still be in a journal.

use super::engine::{JOURNAL, Read};
use super::layout::{self, Tree};
use super::stage::Stage;
use crate::StoreError;
use std::collections::VecDeque;

/// Bytes of commits whose links are kept, and the least number of commits: trees that are seldom flushed hold journals back.
const KEPT: u64 = 4 * JOURNAL;
const LEAST_KEPT: usize = 64;
/// What a commit takes in a journal besides its changes.
const OVERHEAD: u64 = 400;

pub(super) struct Chain {
    /// Commits whose links are there, and the bytes written up to each; never empty.
    links: VecDeque<(u64, u64)>,
}

impl Chain {
    /// Reads the chain and says what is wrong with it.
    pub(super) fn read(read: &impl Read) -> Result<(Self, Vec<String>), StoreError> {
        let mut chains = Vec::new();
        let mut wrong = Vec::new();
        for tree in Tree::ALL {
            let (mut links, prefix) = (VecDeque::new(), layout::chain(tree));
            read.scan(tree, &prefix, &prefix, &mut |key, value| {
                links.extend(layout::last_number(key).zip(layout::last_number(value)));
                Ok(true)
            })?;
            let missing = |(a, b): (&(u64, u64), &(u64, u64))| (b.0 != a.0 + 1).then_some((a.0 + 1, b.0 - 1));
            for (from, to) in links.iter().zip(links.iter().skip(1)).filter_map(missing) {
                wrong.push(format!("commits {from} to {to} are missing in the tree of {}", tree.name()));
            }
            chains.push(links);
        }
        let last = |links: &VecDeque<(u64, u64)>| links.back().map_or(0, |link| link.0);
        let lasts: Vec<u64> = chains.iter().map(last).collect();
        if lasts.iter().any(|&last| last != lasts[0]) {
            wrong.push(format!("the trees end with different commits: {lasts:?}"));
        }
        let most = chains.into_iter().max_by_key(last).filter(|links| !links.is_empty());
        Ok((Self { links: most.unwrap_or_else(|| VecDeque::from([(0, 0)])) }, wrong))
    }

    /// Takes all links away and leaves one, behind a commit: for a chain that cannot be mended.
    pub(super) fn begin_anew(after: u64, stage: &mut Stage) -> Result<Self, StoreError> {
        for tree in Tree::ALL {
            let (mut links, prefix) = (Vec::new(), layout::chain(tree));
            stage.scan(tree, &prefix, &prefix, &mut |key, _| {
                links.push(key.to_vec());
                Ok(true)
            })?;
            links.into_iter().for_each(|link| stage.delete(tree, link));
            stage.put(tree, layout::link(tree, after + 1), 0_u64.to_be_bytes());
        }
        Ok(Self { links: VecDeque::from([(after + 1, 0)]) })
    }

    /// The last commit.
    pub(super) fn last(&self) -> u64 {
        self.links.back().map_or(0, |link| link.0)
    }

    /// The next commit.
    pub(super) fn next(&self) -> u64 {
        self.last() + 1
    }

    /// Bytes of the commits whose links are there: what a journal may hold.
    pub(super) fn bytes(&self) -> u64 {
        let written = |link: Option<&(u64, u64)>| link.map_or(0, |link| link.1);
        written(self.links.back()) - written(self.links.front())
    }

    /// Adds the links of the next commit to it, and takes away those that are no longer needed.
    pub(super) fn extend(&mut self, stage: &mut Stage) {
        let written = self.links.back().map_or(0, |link| link.1) + stage.bytes + OVERHEAD;
        let commit = self.next();
        self.links.push_back((commit, written));
        for tree in Tree::ALL {
            stage.put(tree, layout::link(tree, commit), written.to_be_bytes());
        }
        while self.links.len() > LEAST_KEPT && self.links.front().is_some_and(|link| link.1 + KEPT < written)
        {
            self.cut_front(stage);
        }
    }

    /// Leaves only the last link: everything before it is in the trees' files.
    pub(super) fn shorten(&mut self, stage: &mut Stage) {
        while self.links.len() > 1 {
            self.cut_front(stage);
        }
    }

    fn cut_front(&mut self, stage: &mut Stage) {
        if let Some((commit, _)) = self.links.pop_front() {
            for tree in Tree::ALL {
                stage.delete(tree, layout::link(tree, commit));
            }
        }
    }
}
