//! Winnowing (Schleimer, Wilkerson, Aiken, 2003): few marks of a text, chosen so that no shared passage is missed.
//!
//! Input: the hashes of all k-grams, in order. Output: from every window of `w = g - k + 1` of them the smallest,
//! the rightmost among equals, each position once. Promise: two texts that share a run of at least g units share
//! a mark inside it, because both choose from the same full window in the same way.

use crate::rolling::Rolling;
use serde::{Deserialize, Serialize};

/// A chosen hash and the index of the k-gram it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The hash of the k-gram.
    pub hash: u64,
    /// The index of its first unit.
    pub position: u32,
}

/// What winnowing promises and how it keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Winnowing {
    /// g: every shared run of at least this many units is found.
    pub guarantee: usize,
    /// k: units hashed together; shorter agreements are noise.
    pub noise: usize,
}

impl Winnowing {
    /// w: how many neighbouring hashes one is chosen from.
    #[must_use]
    pub fn window(self) -> usize {
        (self.guarantee + 1).saturating_sub(self.noise).max(1)
    }

    /// Marks over the characters of a text; positions count characters.
    #[must_use]
    pub fn of_characters(self, text: &str) -> Vec<Mark> {
        self.of_units(text.chars().map(u64::from))
    }

    /// Marks over words; positions count words.
    #[must_use]
    pub fn of_words<S: AsRef<str>>(self, words: &[S]) -> Vec<Mark> {
        self.of_units(words.iter().map(|word| crate::hash::own64(word.as_ref().as_bytes())))
    }

    fn of_units(self, units: impl Iterator<Item = u64>) -> Vec<Mark> {
        choose(&Rolling::of_window(self.noise).hashes(units), self.window())
    }
}

/// Chooses the marks among the hashes. Fewer hashes than a window are one window.
#[must_use]
pub fn choose(hashes: &[u64], window: usize) -> Vec<Mark> {
    let window = window.clamp(1, hashes.len().max(1));
    let mut marks: Vec<Mark> = Vec::with_capacity(hashes.len() * 2 / (window + 1) + 1);
    let mut smallest = None;
    for end in window..=hashes.len() {
        let start = end - window;
        let newest = end - 1;
        let next = match smallest {
            // The last choice is still inside: only the new hash can beat it, and does so on a tie.
            Some(at) if at >= start => {
                if hashes[newest] > hashes[at] {
                    continue;
                }
                newest
            }
            _ => rightmost_smallest(hashes, start, end),
        };
        smallest = Some(next);
        marks.push(Mark { hash: hashes[next], position: next as u32 });
    }
    marks
}

fn rightmost_smallest(hashes: &[u64], start: usize, end: usize) -> usize {
    (start..end).fold(start, |best, i| if hashes[i] <= hashes[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_papers_example() {
        // Schleimer et al., figure 2: windows of four over the hashes of "adorunrunrunadorunrun".
        let hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98];
        let chosen: Vec<(u64, u32)> = choose(&hashes, 4).iter().map(|m| (m.hash, m.position)).collect();
        assert_eq!(chosen, [(17, 3), (17, 6), (8, 8), (39, 11), (17, 15)]);
    }

    proptest! {
        #[test]
        fn equals_the_definition(hashes in prop::collection::vec(0u64..8, 0..60), window in 1usize..10) {
            let mut expected = BTreeSet::new();
            let width = window.min(hashes.len());
            if width > 0 {
                for start in 0..=hashes.len() - width {
                    expected.insert(rightmost_smallest(&hashes, start, start + width));
                }
            }
            let found: Vec<usize> = choose(&hashes, window).iter().map(|m| m.position as usize).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }

        /// Any shared run of at least g units shares a mark, at the same place of the run.
        #[test]
        fn the_promise_holds(
            shared in "[ab雷同]{12,30}",
            around in prop::array::uniform4("[abc雷同文]{0,20}"),
            noise in 1usize..8,
        ) {
            let guarantee = noise.max(shared.chars().count().min(noise + 5));
            let winnowing = Winnowing { guarantee, noise };
            let [before_a, after_a, before_b, after_b] = around;
            let marks = |before: &str, after: &str| -> BTreeSet<(u64, i64)> {
                let offset = before.chars().count() as i64;
                winnowing
                    .of_characters(&format!("{before}{shared}{after}"))
                    .iter()
                    .map(|m| (m.hash, i64::from(m.position) - offset))
                    .collect()
            };
            let (a, b) = (marks(&before_a, &after_a), marks(&before_b, &after_b));
            let inside = 0..=(shared.chars().count() - noise) as i64;
            prop_assert!(a.intersection(&b).any(|(_, position)| inside.contains(position)));
        }

        #[test]
        fn the_promise_holds_for_words(run in prop::collection::vec("[a-d]{1,2}", 6..12), noise in 1usize..4) {
            let winnowing = Winnowing { guarantee: 6, noise };
            let a = winnowing.of_words(&[&["x".to_owned()][..], &run].concat());
            let b = winnowing.of_words(&[&run[..], &["y".to_owned(), "z".to_owned()]].concat());
            prop_assert!(a.iter().any(|m| b.iter().any(|n| m.hash == n.hash && m.position == n.position + 1)));
        }
    }
}
