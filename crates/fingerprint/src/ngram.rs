//! Hashes of all character n-grams of a text, and of distinct ones with their counts.
//!
//! The n-grams overlap and are hashed as the UTF-8 bytes they are, by XXH3; a text of fewer than n characters is
//! one feature by itself. This is the hot path of the default recipe, so the scratch memory is reusable and
//! distinct hashes are found by one open-addressing table instead of a sort (measured: three times faster).

use crate::hash::own64;

/// Appends the hash of every window of `n` characters to `out`.
///
/// ```
/// use leitong_fingerprint::{hash::own64, ngram};
/// let mut hashes = Vec::new();
/// ngram::hashes("雷同检测", 3, &mut hashes);
/// assert_eq!(hashes, ["雷同检", "同检测"].map(|gram| own64(gram.as_bytes())));
/// ```
pub fn hashes(text: &str, n: usize, out: &mut Vec<u64>) {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return;
    }
    let mut starts = text.char_indices().map(|(at, _)| at);
    let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).skip(n.max(1) - 1).peekable();
    if ends.peek().is_none() {
        out.push(own64(bytes));
        return;
    }
    out.reserve(bytes.len() / 2);
    for end in ends {
        let Some(start) = starts.next() else { break };
        out.push(own64(&bytes[start..end]));
    }
}

/// A reusable table that finds the distinct ones among many hashes.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    /// Index into `hashes` plus one, or 0 for a free slot.
    slots: Vec<u32>,
    /// The distinct ones, how often and where first; then what was there before.
    hashes: Vec<u64>,
    counts: Vec<u32>,
    firsts: Vec<u32>,
    /// How many of them.
    len: usize,
}

impl Distinct {
    /// Forgets what it held and counts these hashes.
    pub fn count(&mut self, hashes: &[u64]) {
        // At most half full, so that probe runs stay short.
        let size = (hashes.len() * 2).next_power_of_two().max(64);
        let Self { slots, hashes: distinct, counts, firsts, .. } = self;
        slots.clear();
        slots.resize(size, 0);
        counts.clear();
        counts.resize(hashes.len(), 0);
        distinct.resize(distinct.len().max(hashes.len()), 0);
        firsts.resize(firsts.len().max(hashes.len()), 0);
        let mask = size - 1;
        let mut len = 0;
        for (at, &hash) in hashes.iter().enumerate() {
            // Whether a hash is new can hardly be predicted, so there is no branch for it: each is written behind the last
            // one, a free slot leads there, and it counts if that is where it was found.
            distinct[len] = hash;
            firsts[len] = at as u32;
            // The high bits choose the slot: they are as well mixed as any.
            let mut slot = (hash >> 32) as usize & mask;
            let number = loop {
                let taken = slots[slot] as usize;
                let number = if taken == 0 { len } else { taken - 1 };
                if distinct[number] == hash {
                    break number;
                }
                slot = (slot + 1) & mask;
            };
            slots[slot] = number as u32 + 1;
            counts[number] += 1;
            len += usize::from(number == len);
        }
        self.len = len;
    }

    /// The distinct hashes, in order of first appearance.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes[..self.len]
    }

    /// How often each of [`Distinct::hashes`] was seen.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.counts[..self.len]
    }

    /// Where each of [`Distinct::hashes`] was seen first.
    #[must_use]
    pub fn firsts(&self) -> &[u32] {
        &self.firsts[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn equals_the_plain_windows(text in "[a-c雷同é😀]{0,20}", n in 1usize..6) {
            let chars: Vec<char> = text.chars().collect();
            let slow: Vec<u64> = if chars.is_empty() {
                vec![]
            } else if chars.len() < n {
                vec![own64(text.as_bytes())]
            } else {
                chars.windows(n).map(|w| own64(w.iter().collect::<String>().as_bytes())).collect()
            };
            let mut fast = vec![];
            hashes(&text, n, &mut fast);
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn distinct_counts_like_a_map(hashes in prop::collection::vec(0u64..40, 0..200)) {
            let mut expected = BTreeMap::new();
            for hash in &hashes {
                *expected.entry(*hash).or_insert(0) += 1;
            }
            let mut table = Distinct::default();
            table.count(&[1, 2, 3]);
            table.count(&hashes);
            let found: BTreeMap<u64, u32> =
                table.hashes().iter().copied().zip(table.counts().iter().copied()).collect();
            prop_assert_eq!(found, expected);
            for (hash, first) in table.hashes().iter().zip(table.firsts()) {
                prop_assert_eq!(hashes.iter().position(|h| h == hash), Some(*first as usize));
            }
        }
    }
}
