//! Two texts compared exactly: runs of five characters and the longest common passage. It shares nothing with the verifier.

use leitong_text::normalize::{Normalizer, Options, Punctuation, Whitespace};
use std::collections::HashMap;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

/// Characters of a run.
const RUN: usize = 5;

/// Without punctuation, space, case, width and script variants.
static NORMALIZER: LazyLock<Normalizer> = LazyLock::new(|| {
    Normalizer::new(Options {
        nfkc: true,
        fold_case: true,
        simplify: true,
        drop_invisible: true,
        punctuation: Punctuation::Drop,
        whitespace: Whitespace::Drop,
    })
});

/// Characters that count, in one form.
pub(super) fn letters(text: &str) -> Vec<char> {
    NORMALIZER.normalize(text).text.chars().collect()
}

/// The distinct runs of a text, as sorted digests of 64 bits. A shorter text is one run.
pub(super) fn runs(letters: &[char]) -> Vec<u64> {
    let digest = |run: &[char]| {
        let mut bytes = [0; 4 * RUN];
        for (place, c) in bytes.chunks_exact_mut(4).zip(run) {
            place.copy_from_slice(&u32::from(*c).to_le_bytes());
        }
        xxh3_64(&bytes)
    };
    let mut runs: Vec<u64> = match letters.len() {
        0 => Vec::new(),
        1..RUN => vec![digest(letters)],
        _ => letters.windows(RUN).map(digest).collect(),
    };
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// What an exact comparison says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exact {
    /// Of the shorter text's runs, those that the other has.
    pub(super) inside: f64,
    pub(super) jaccard: f64,
    /// Characters of the longest passage that both have.
    pub(super) longest: usize,
}

/// The share of the shorter one's runs, and Jaccard, from the sizes.
pub(super) fn shares(a: usize, b: usize, shared: usize) -> (f64, f64) {
    let of = |all: usize| if all == 0 { 0.0 } else { shared as f64 / all as f64 };
    (of(a.min(b)), of(a + b - shared))
}

/// Compares two texts.
pub(super) fn compare(a: &str, b: &str) -> Exact {
    let (a, b) = (letters(a), letters(b));
    let (runs_a, runs_b) = (runs(&a), runs(&b));
    let shared = runs_a.iter().filter(|run| runs_b.binary_search(run).is_ok()).count();
    let (inside, jaccard) = shares(runs_a.len(), runs_b.len(), shared);
    Exact { inside, jaccard, longest: longest_common(&a, &b) }
}

/// The length of the longest stretch that both have: if there is one of some length there is one of every smaller.
fn longest_common(a: &[char], b: &[char]) -> usize {
    let (mut there, mut not) = (0, a.len().min(b.len()) + 1);
    while there + 1 < not {
        let middle = there + (not - there) / 2;
        if has_common(a, b, middle) {
            there = middle;
        } else {
            not = middle;
        }
    }
    there
}

fn has_common(a: &[char], b: &[char], length: usize) -> bool {
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (at, digest) in rolling(a, length).enumerate() {
        places.entry(digest).or_insert(at);
    }
    let same = |(at, digest): (usize, u64)| {
        places.get(&digest).is_some_and(|&place| a[place..place + length] == b[at..at + length])
    };
    rolling(b, length).enumerate().any(same)
}

/// A digest of every stretch of this length, from the one before (Rabin and Karp, modulo 2⁶¹ - 1).
fn rolling(text: &[char], length: usize) -> impl Iterator<Item = u64> {
    const PRIME: u128 = (1 << 61) - 1;
    const BASE: u128 = 0x0f0e_3b2d_1c4a_5968;
    let step = |digest: u128, c: char| (digest * BASE + u128::from(u32::from(c)) + 1) % PRIME;
    let power = (0..length).fold(1_u128, |power, _| power * BASE % PRIME);
    let mut digest = 0;
    (0..text.len()).filter_map(move |at| {
        digest = step(digest, text[at]);
        if at >= length {
            let gone = (u128::from(u32::from(text[at - length])) + 1) * power % PRIME;
            digest = (digest + PRIME - gone) % PRIME;
        }
        (at + 1 >= length).then_some(digest as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook's table.
    fn slow(a: &[char], b: &[char]) -> usize {
        let mut before = vec![0; b.len() + 1];
        let mut best = 0;
        for x in a {
            let mut row = vec![0; b.len() + 1];
            for (at, y) in b.iter().enumerate() {
                row[at + 1] = if x == y { before[at] + 1 } else { 0 };
                best = best.max(row[at + 1]);
            }
            before = row;
        }
        best
    }

    #[test]
    fn the_longest_passage_is_that_of_the_table() {
        let mut state = 1_u64;
        let mut text = |length: usize, letters: u64| -> Vec<char> {
            (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    char::from(b'a' + ((state >> 33) % letters) as u8)
                })
                .collect()
        };
        for length in [0, 1, 2, 7, 30, 90] {
            for letters in [1, 2, 4, 20] {
                let (a, b) = (text(length, letters), text(length / 2 + 3, letters));
                assert_eq!(longest_common(&a, &b), slow(&a, &b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn shares_of_runs() {
        let exact = compare("abcdefgh", "ABCDEF!");
        assert_eq!((exact.inside, exact.jaccard, exact.longest), (1.0, 0.5, 6));
        assert_eq!(compare("如有雷同", "如有雷同。").inside, 1.0);
        assert_eq!(compare("如有雷同", "").inside, 0.0);
        assert_eq!(compare("", ""), Exact { inside: 0.0, jaccard: 0.0, longest: 0 });
    }
}
