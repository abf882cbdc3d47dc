//! SimHash (Charikar, 2002) of any width, without a loop over counters.
//!
//! Input: hashes of features, each with a weight. Output: for every bit position, whether the weights of the
//! hashes that have a 1 there outweigh those that have a 0.
//!
//! The textbook adds to or subtracts from one counter a bit. Here the counters of all bits are kept *sliced*: plane
//! p holds bit p of every counter, so adding a hash with weight `2^p` is a ripple-carry addition of one word to
//! plane p, for 64 counters at once, and the final comparison with half of the total weight walks the planes once.
//! Only the ones are counted: `ones - zeros = 2 * ones - total`. Everything is exact whole-number arithmetic,
//! so order does not matter. Runs of weight 1 are first summed eight at a time by carry-save adders, which makes
//! about five word operations a hash. The textbook's loop stays in the tests as the slow twin.

use crate::Fingerprint;
use serde::{Deserialize, Serialize};

/// What a bit becomes when ones and zeros weigh the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tie {
    /// The bit is 1: the rule "sum >= 0".
    One,
    /// The bit is 0: the rule "sum > 0".
    Zero,
}

/// When a text has too little evidence for a SimHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floor {
    /// At least this many distinct features.
    Features(u32),
    /// The rule that belongs to word-length weights: the sum of all weights is at least 20 and more than three
    /// times the heaviest one.
    LengthWeights,
}

impl Floor {
    /// Whether a text with these weights has enough evidence.
    #[must_use]
    pub fn allows(self, features: usize, heaviest: u64, sum: u64) -> bool {
        match self {
            Self::Features(least) => features >= least as usize,
            Self::LengthWeights => 3 * heaviest < sum && sum >= 20,
        }
    }
}

/// The bit counters of one SimHash of `W` words.
///
/// ```
/// use leitong_fingerprint::simhash::{Counters, Tie};
/// let mut counters = Counters::<1>::default();
/// counters.add([0b0011], 2);
/// counters.add([0b0101], 1);
/// assert_eq!(counters.fold(Tie::Zero)[0], 0b0011);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counters<const W: usize> {
    /// Plane p: bit p of every counter.
    planes: Vec<[u64; W]>,
    total: u64,
    /// Memory for those that are counted at once.
    chosen: Vec<[u64; W]>,
}

impl<const W: usize> Counters<W> {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.planes.clear();
        self.total = 0;
    }

    /// Counts a hash with a weight.
    pub fn add(&mut self, hash: [u64; W], weight: u64) {
        self.total += weight;
        let mut rest = weight;
        while rest != 0 {
            self.ripple(rest.trailing_zeros() as usize, hash);
            rest &= rest - 1;
        }
    }

    /// Counts many hashes, each with weight 1.
    pub fn add_all(&mut self, hashes: &[[u64; W]]) {
        self.total += hashes.len() as u64;
        self.add_at(0, hashes);
    }

    /// Counts many hashes, each with its own weight: for every bit of the weights, those that have it at once.
    pub fn add_weighted(&mut self, hashes: &[[u64; W]], weights: &[u64]) {
        self.total += weights.iter().sum::<u64>();
        let bits = weights.iter().fold(0, |all, weight| all | weight);
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.resize(chosen.len().max(hashes.len()), [0; W]);
        for plane in (0..64).filter(|plane| bits >> plane & 1 == 1) {
            let mut len = 0;
            for (hash, weight) in hashes.iter().zip(weights) {
                // Which ones have the bit cannot be foreseen: one that has it not is overwritten by the next.
                chosen[len] = *hash;
                len += (weight >> plane & 1) as usize;
            }
            self.add_at(plane, &chosen[..len]);
        }
        self.chosen = chosen;
    }

    /// Adds `2^plane` for every bit of the hashes, eight of them at a time.
    fn add_at(&mut self, plane: usize, hashes: &[[u64; W]]) {
        let (eights, rest) = hashes.as_chunks::<8>();
        let (mut ones, mut twos, mut fours) = ([0; W], [0; W], [0; W]);
        for [a, b, c, d, e, f, g, h] in eights {
            let (sum, two_a) = carry_save(&ones, a, b);
            let (sum, two_b) = carry_save(&sum, c, d);
            let (two, four_a) = carry_save(&twos, &two_a, &two_b);
            let (sum, two_a) = carry_save(&sum, e, f);
            let (sum, two_b) = carry_save(&sum, g, h);
            let (two, four_b) = carry_save(&two, &two_a, &two_b);
            let (four, eight) = carry_save(&fours, &four_a, &four_b);
            (ones, twos, fours) = (sum, two, four);
            self.ripple(plane + 3, eight);
        }
        self.ripple(plane, ones);
        self.ripple(plane + 1, twos);
        self.ripple(plane + 2, fours);
        for hash in rest {
            self.ripple(plane, *hash);
        }
    }

    /// Adds `2^plane` to every counter whose bit is set in `carry`.
    #[inline]
    fn ripple(&mut self, mut plane: usize, mut carry: [u64; W]) {
        while carry != [0; W] {
            if plane >= self.planes.len() {
                self.planes.resize(plane + 1, [0; W]);
            }
            let sum = &mut self.planes[plane];
            for (sum, carry) in sum.iter_mut().zip(&mut carry) {
                (*sum, *carry) = (*sum ^ *carry, *sum & *carry);
            }
            plane += 1;
        }
    }

    /// The sum of all weights so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The SimHash: bit by bit, whether the ones win.
    #[must_use]
    pub fn fold(&self, tie: Tie) -> [u64; W] {
        // 2 * ones >= total, or 2 * ones > total, as a bound on the ones alone.
        let least = match tie {
            Tie::One => self.total.div_ceil(2),
            Tie::Zero => self.total / 2 + 1,
        };
        // Compares every counter with `least` from the highest bit down.
        let (mut greater, mut equal) = ([0; W], [u64::MAX; W]);
        let bits = self.planes.len().max(64 - least.leading_zeros() as usize);
        for bit in (0..bits).rev() {
            let plane = self.planes.get(bit).copied().unwrap_or([0; W]);
            let bound = if bit < 64 && least >> bit & 1 == 1 { u64::MAX } else { 0 };
            for word in 0..W {
                greater[word] |= equal[word] & plane[word] & !bound;
                equal[word] &= !(plane[word] ^ bound);
            }
        }
        std::array::from_fn(|word| greater[word] | equal[word])
    }
}

/// Adds three bits in every position: the sum and the carry.
#[inline]
fn carry_save<const W: usize>(a: &[u64; W], b: &[u64; W], c: &[u64; W]) -> ([u64; W], [u64; W]) {
    let half: [u64; W] = std::array::from_fn(|i| a[i] ^ b[i]);
    (std::array::from_fn(|i| half[i] ^ c[i]), std::array::from_fn(|i| a[i] & b[i] | half[i] & c[i]))
}

/// The SimHash of weighted features at a width from [`crate::bits::WIDTHS`]. `hash` writes the hash of a feature
/// into as many words as it is given.
#[must_use]
pub fn simhash<F>(
    features: &[F],
    width: u32,
    tie: Tie,
    weight: impl Fn(&F) -> u64,
    hash: impl Fn(&F, &mut [u64]),
) -> Fingerprint {
    match width {
        0..=64 => simhash_words::<1, F>(features, width, tie, weight, hash),
        65..=128 => simhash_words::<2, F>(features, width, tie, weight, hash),
        129..=256 => simhash_words::<4, F>(features, width, tie, weight, hash),
        257..=512 => simhash_words::<8, F>(features, width, tie, weight, hash),
        _ => simhash_words::<16, F>(features, width, tie, weight, hash),
    }
}

fn simhash_words<const W: usize, F>(
    features: &[F],
    width: u32,
    tie: Tie,
    weight: impl Fn(&F) -> u64,
    hash: impl Fn(&F, &mut [u64]),
) -> Fingerprint {
    let hashed = |feature: &F| {
        let mut words = [0; W];
        hash(feature, &mut words);
        words
    };
    let hashes: Vec<[u64; W]> = features.iter().map(hashed).collect();
    let weights: Vec<u64> = features.iter().map(weight).collect();
    let mut counters = Counters::<W>::default();
    counters.add_weighted(&hashes, &weights);
    Fingerprint::from_words(width, &counters.fold(tie))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook: one counter a bit.
    fn naive(features: &[(Vec<u64>, u64)], width: u32, tie: Tie) -> Fingerprint {
        let mut words = vec![0u64; width.div_ceil(64) as usize];
        for bit in 0..width as usize {
            let mut sum = 0i128;
            for (hash, weight) in features {
                let one = hash[bit / 64] >> (bit % 64) & 1 == 1;
                sum += if one { i128::from(*weight) } else { -i128::from(*weight) };
            }
            if sum > 0 || (sum == 0 && tie == Tie::One) {
                words[bit / 64] |= 1 << (bit % 64);
            }
        }
        Fingerprint::from_words(width, &words)
    }

    fn features() -> impl Strategy<Value = Vec<(Vec<u64>, u64)>> {
        let weight = prop_oneof![0..4u64, 0..1000u64, 0..1u64 << 40];
        prop::collection::vec((prop::collection::vec(any::<u64>(), 16), weight), 0..40)
    }

    proptest! {
        #[test]
        fn equals_the_textbook_at_every_width(features in features(), tie in prop_oneof![Just(Tie::One), Just(Tie::Zero)]) {
            for width in crate::bits::WIDTHS {
                let fast = simhash(&features, width, tie, |f| f.1, |f, out| {
                    let words = out.len();
                    out.copy_from_slice(&f.0[..words]);
                });
                prop_assert_eq!(fast, naive(&features, width, tie));
            }
        }

        #[test]
        fn counting_in_bulk_equals_one_by_one(hashes in prop::collection::vec(any::<u64>(), 0..200), weight in 0u64..40) {
            let hashes: Vec<[u64; 1]> = hashes.into_iter().map(|h| [h]).collect();
            let (mut bulk, mut single) = (Counters::<1>::default(), Counters::<1>::default());
            let (first, second) = hashes.split_at(hashes.len() / 3);
            bulk.add_all(first);
            bulk.add_all(second);
            let weights: Vec<u64> = (0..hashes.len() as u64).map(|i| i * weight % 23).collect();
            bulk.add_weighted(&hashes, &weights);
            for (hash, weight) in hashes.iter().zip(weights) {
                single.add(*hash, 1);
                single.add(*hash, weight);
            }
            for tie in [Tie::One, Tie::Zero] {
                prop_assert_eq!(bulk.fold(tie), single.fold(tie));
            }
        }
    }

    #[test]
    fn the_documents_worked_example() {
        // 生活(5) 110101 and 没有(2) 101001: the sums are 7 3 -3 3 -7 7.
        let mut counters = Counters::<1>::default();
        counters.add([0b110_101], 5);
        counters.add([0b101_001], 2);
        assert_eq!(counters.fold(Tie::Zero)[0] & 0b111_111, 0b110_101);
    }

    #[test]
    fn nothing_counted_is_one_big_tie() {
        let counters = Counters::<1>::default();
        assert_eq!((counters.fold(Tie::One), counters.fold(Tie::Zero)), ([u64::MAX], [0]));
    }

    #[test]
    fn floors() {
        assert!(!Floor::LengthWeights.allows(3, 8, 24), "three times the heaviest is not enough");
        assert!(Floor::LengthWeights.allows(4, 8, 25));
        assert!(!Floor::LengthWeights.allows(19, 1, 19));
        assert!(Floor::Features(2).allows(2, 1, 2) && !Floor::Features(2).allows(1, 9, 9));
    }
}
