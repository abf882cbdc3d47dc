//! MinHash: a short signature whose share of equal places estimates the Jaccard similarity of two sets.
//!
//! The textbook takes the minimum under each of many hash functions, so every feature costs as many hashes as the
//! signature has places. Here one hash is enough (one-permutation hashing, Li, Owen, Zhang 2012): its upper part
//! chooses the place, the rest competes there for the minimum. Places that stay empty borrow from others by a
//! fixed random walk (optimal densification, Shrivastava 2017), which keeps the estimate unbiased for small sets.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How signatures are cut into bands for finding candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Banding {
    /// Number of bands.
    pub bands: usize,
    /// Places a band.
    pub rows: usize,
}

impl Banding {
    /// Places a signature needs.
    #[must_use]
    pub fn places(self) -> usize {
        self.bands * self.rows
    }

    /// The similarity at which two sets share a band with a probability of about a half: `(1 / bands)^(1 / rows)`.
    #[must_use]
    pub fn threshold(self) -> f64 {
        (1.0 / self.bands as f64).powf(1.0 / self.rows as f64)
    }
}

/// The signature of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinHash(Box<[u32]>);

impl MinHash {
    /// The signature of a set of well-mixed feature hashes; `None` for the empty set. Repeats do not matter.
    ///
    /// ```
    /// use leitong_fingerprint::{minhash::MinHash, shingle::Shingles};
    /// let of = |text| MinHash::new(Shingles::of_characters(text, 3).hashes(), 128).unwrap();
    /// assert_eq!(of("如有雷同，绝非巧合").similarity(&of("如有雷同，绝非巧合")), 1.0);
    /// ```
    #[must_use]
    pub fn new(features: &[u64], places: usize) -> Option<Self> {
        if features.is_empty() || places == 0 {
            return None;
        }
        let mut minima = vec![u64::MAX; places];
        for &hash in features {
            let place = ((u128::from(hash) * places as u128) >> 64) as usize;
            // The product's lower half is what is left of the hash once the place is taken out. It is below
            // u64::MAX unless the hash itself is, and then the place is the last one and stays empty at worst.
            let rest = hash.wrapping_mul(places as u64);
            minima[place] = minima[place].min(rest);
        }
        if minima.iter().all(|&rest| rest == u64::MAX) {
            minima[places - 1] = u64::MAX - 1;
        }
        let filled: Vec<bool> = minima.iter().map(|&rest| rest != u64::MAX).collect();
        let value = |place: usize| (minima[donor(place, &filled)] >> 32) as u32;
        Some(Self((0..places).map(value).collect()))
    }

    /// The places.
    #[must_use]
    pub fn places(&self) -> &[u32] {
        &self.0
    }

    /// The estimated Jaccard similarity: the share of equal places. Signatures of different sizes share none.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.0.len() != other.0.len() {
            return 0.0;
        }
        let equal = self.0.iter().zip(&other.0).filter(|(a, b)| a == b).count();
        equal as f64 / self.0.len() as f64
    }

    /// One key a band: two sets are candidates when they have a key in common. Keys of different bands differ.
    #[must_use]
    pub fn band_keys(&self, banding: Banding) -> Vec<u64> {
        let rows = self.0.chunks_exact(banding.rows.max(1)).take(banding.bands);
        rows.enumerate()
            .map(|(band, rows)| {
                let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
                xxh3_64_with_seed(&bytes, band as u64)
            })
            .collect()
    }
}

/// The place that a place takes its value from: itself when filled, otherwise the first filled one on a walk that
/// depends on the place alone, so that two sets walk alike.
fn donor(place: usize, filled: &[bool]) -> usize {
    if filled[place] {
        return place;
    }
    let walk = (0u64..).map(|step| {
        let key = [place as u64, step].map(u64::to_le_bytes).concat();
        ((u128::from(xxh3_64_with_seed(&key, DONOR_SEED)) * filled.len() as u128) >> 64) as usize
    });
    walk.take(64 * filled.len())
        .find(|&candidate| filled[candidate])
        .or_else(|| filled.iter().position(|&is_filled| is_filled))
        .unwrap_or(place)
}

const DONOR_SEED: u64 = 0x6c65_6974_6f6e_6701;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::own64;
    use proptest::prelude::*;

    fn set(range: std::ops::Range<u32>) -> Vec<u64> {
        range.map(|i| own64(&i.to_le_bytes())).collect()
    }

    #[test]
    fn estimates_are_close_for_large_and_small_sets() {
        for (size, places) in [(5000, 128), (300, 128), (40, 128), (2000, 256)] {
            for shared in [0, size / 4, size / 2, size * 3 / 4, size] {
                // Averaged over several pairs, so that the bound can be tight.
                let pairs = 20;
                let mut sum = 0.0;
                for pair in 0..pairs {
                    let start = pair * 100_000;
                    let a = MinHash::new(&set(start..start + size), places).unwrap();
                    let b =
                        MinHash::new(&set(start + size - shared..start + 2 * size - shared), places).unwrap();
                    sum += a.similarity(&b);
                }
                let truth = f64::from(shared) / f64::from(2 * size - shared);
                let error = (sum / f64::from(pairs) - truth).abs();
                assert!(error < 0.05, "{size} features, {places} places, {truth}: off by {error}");
            }
        }
    }

    #[test]
    fn bands_meet_where_they_should() {
        let banding = Banding { bands: 16, rows: 8 };
        assert!((banding.threshold() - std::f64::consts::FRAC_1_SQRT_2).abs() < 0.001);
        let a = MinHash::new(&set(0..1000), banding.places()).unwrap().band_keys(banding);
        let near = MinHash::new(&set(30..1000), banding.places()).unwrap().band_keys(banding);
        let far = MinHash::new(&set(5000..6000), banding.places()).unwrap().band_keys(banding);
        assert_eq!(a.len(), 16);
        assert!(a.iter().any(|key| near.contains(key)));
        assert!(!a.iter().any(|key| far.contains(key)));
    }

    #[test]
    fn the_empty_set_has_no_signature() {
        assert_eq!(MinHash::new(&[], 128), None);
        assert!(MinHash::new(&[u64::MAX], 128).is_some());
    }

    proptest! {
        #[test]
        fn order_and_repeats_do_not_matter(mut hashes in prop::collection::vec(any::<u64>(), 1..50)) {
            let first = MinHash::new(&hashes, 64);
            let again = hashes.clone();
            hashes.reverse();
            hashes.extend(again);
            prop_assert_eq!(MinHash::new(&hashes, 64), first);
        }
    }
}
