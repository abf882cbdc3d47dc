//! A Bloom filter: "seen this exact fingerprint?" without storing it.
//!
//! Its own few lines instead of a library, because a filter is stored: bits and hashing must stay the same for
//! years, and libraries promise that for one version of themselves.
//!
//! ```text
//! bytes  0..8    "LTBLOOM1"
//! bytes  8..12   number of probes, little-endian
//! bytes 12..16   zero
//! bytes 16..     the bits, 64 a word, little-endian; at least one word
//! ```

use crate::Fingerprint;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: [u8; 8] = *b"LTBLOOM1";

/// A set of fingerprints that may answer "yes" wrongly, at a chosen rate, and never "no" wrongly.
///
/// ```
/// use leitong_fingerprint::{Fingerprint, bloom::Bloom};
/// let mut seen = Bloom::new(1000, 0.01);
/// assert!(!seen.insert(&Fingerprint::from(7)));
/// assert!(seen.insert(&Fingerprint::from(7)), "now it has been seen");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloom {
    words: Vec<u64>,
    probes: u32,
}

/// Bytes that are no filter.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("this is no Bloom filter of ours ({0}): make it again from the fingerprints")]
pub struct BloomError(&'static str);

impl Bloom {
    /// A filter for about `items` fingerprints with wrong answers at about `rate` (kept within 0.0000001 and 0.5).
    #[must_use]
    pub fn new(items: usize, rate: f64) -> Self {
        let rate = rate.clamp(1e-7, 0.5);
        let bits = (items.max(1) as f64 * -rate.ln() / std::f64::consts::LN_2.powi(2)).ceil();
        let probes = (-rate.log2()).round().max(1.0) as u32;
        Self { words: vec![0; (bits as usize).div_ceil(64)], probes }
    }

    /// Puts a fingerprint in; answers whether it was (or seemed to be) there before.
    pub fn insert(&mut self, fingerprint: &Fingerprint) -> bool {
        let mut seen = true;
        for bit in places(fingerprint, self.probes, self.words.len()) {
            let word = &mut self.words[bit / 64];
            seen &= *word >> (bit % 64) & 1 == 1;
            *word |= 1 << (bit % 64);
        }
        seen
    }

    /// Whether a fingerprint is (or seems to be) there.
    #[must_use]
    pub fn contains(&self, fingerprint: &Fingerprint) -> bool {
        let bits = places(fingerprint, self.probes, self.words.len());
        bits.into_iter().all(|bit| self.words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// The stored form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.probes.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// Reads the stored form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BloomError> {
        let (head, bits) = bytes.split_first_chunk::<16>().ok_or(BloomError("too short"))?;
        if head[..8] != MAGIC || head[12..] != [0; 4] {
            return Err(BloomError("wrong start"));
        }
        let probes = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        let (words, rest) = bits.as_chunks::<8>();
        if !(1..=64).contains(&probes) || words.is_empty() || !rest.is_empty() {
            return Err(BloomError("cut off, or damaged"));
        }
        Ok(Self { words: words.iter().map(|word| u64::from_le_bytes(*word)).collect(), probes })
    }
}

/// The bits of a fingerprint: double hashing (Kirsch, Mitzenmacher 2006) from two hashes of its words.
fn places(fingerprint: &Fingerprint, probes: u32, words: usize) -> impl Iterator<Item = usize> + use<> {
    let bytes: Vec<u8> = fingerprint.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let (first, step) = (xxh3_64_with_seed(&bytes, 0), xxh3_64_with_seed(&bytes, 1) | 1);
    let bits = words as u128 * 64;
    (0..u64::from(probes)).map(move |i| {
        let hash = first.wrapping_add(step.wrapping_mul(i));
        ((u128::from(hash) * bits) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(i: u64) -> Fingerprint {
        Fingerprint::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn never_forgets_and_seldom_errs() {
        let mut filter = Bloom::new(10_000, 0.01);
        for i in 0..10_000 {
            filter.insert(&fingerprint(i));
        }
        assert!((0..10_000).all(|i| filter.contains(&fingerprint(i))));
        let wrong = (10_000..110_000).filter(|&i| filter.contains(&fingerprint(i))).count();
        assert!(wrong < 1500, "{wrong} of 100,000");
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut filter = Bloom::new(4, 0.05);
        filter.insert(&Fingerprint::from(0xa734_3808_8663_6d9e));
        let bytes = filter.to_bytes();
        assert_eq!(Bloom::from_bytes(&bytes), Ok(filter));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, FROZEN);
    }

    const FROZEN: &str = "4c54424c4f4f4d3104000000000000000000001000000010";

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = Bloom::new(10, 0.1).to_bytes();
        for length in [0, 7, 15, 16, bytes.len() - 1] {
            assert!(Bloom::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
        }
        let mut other = bytes;
        other[0] ^= 1;
        assert_eq!(Bloom::from_bytes(&other), Err(BloomError("wrong start")));
    }
}
