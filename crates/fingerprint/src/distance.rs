//! Distances and similarities: Hamming, Jaccard, containment, cosine.

/// In how many bits two equally long values differ.
#[inline]
#[must_use]
pub fn hamming(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(x, y)| (x ^ y).count_ones()).sum()
}

/// How two sets overlap.
///
/// ```
/// use leitong_fingerprint::distance::Overlap;
/// let overlap = Overlap::of_sorted(&[1, 3, 5], &[1, 3, 7]);
/// assert_eq!(overlap.jaccard(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Members of the first set.
    pub a: usize,
    /// Members of the second set.
    pub b: usize,
    /// Members of both.
    pub shared: usize,
}

impl Overlap {
    /// Counts two strictly ascending lists.
    #[must_use]
    pub fn of_sorted<T: Ord>(a: &[T], b: &[T]) -> Self {
        let (mut i, mut j, mut shared) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (i, j, shared) = (i + 1, j + 1, shared + 1),
            }
        }
        Self { a: a.len(), b: b.len(), shared }
    }

    /// Shared members over all members; 0 for two empty sets, which share nothing that could be shown.
    #[must_use]
    pub fn jaccard(self) -> f64 {
        ratio(self.shared, self.a + self.b - self.shared)
    }

    /// The share of the first set that the second has too.
    #[must_use]
    pub fn a_in_b(self) -> f64 {
        ratio(self.shared, self.a)
    }

    /// The share of the second set that the first has too.
    #[must_use]
    pub fn b_in_a(self) -> f64 {
        ratio(self.shared, self.b)
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Cosine of two term vectors given as strictly ascending `(term, weight)` lists; 0 when one is empty.
#[must_use]
pub fn cosine<T: Ord>(a: &[(T, u64)], b: &[(T, u64)]) -> f64 {
    let (mut i, mut j, mut dot) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                dot += a[i].1 as f64 * b[j].1 as f64;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    let norm = |v: &[(T, u64)]| v.iter().map(|(_, w)| (*w as f64).powi(2)).sum::<f64>().sqrt();
    let norms = norm(a) * norm(b);
    if norms == 0.0 { 0.0 } else { (dot / norms).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn hamming_equals_a_bit_loop(pairs in prop::collection::vec(any::<(u64, u64)>(), 1..=16)) {
            let (a, b): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
            let mut slow = 0;
            for i in 0..a.len() * 64 {
                slow += u32::from(a[i / 64] >> (i % 64) & 1 != b[i / 64] >> (i % 64) & 1);
            }
            prop_assert_eq!(hamming(&a, &b), slow);
        }

        #[test]
        fn overlap_equals_set_operations(a: BTreeSet<u8>, b: BTreeSet<u8>) {
            let (va, vb): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
            let overlap = Overlap::of_sorted(&va, &vb);
            prop_assert_eq!(overlap.shared, a.intersection(&b).count());
            let union = a.union(&b).count();
            if union > 0 {
                prop_assert_eq!(overlap.jaccard(), overlap.shared as f64 / union as f64);
            }
        }
    }

    #[test]
    fn cosine_of_known_vectors() {
        assert_eq!(cosine(&[("a", 3), ("b", 4)], &[("a", 3), ("b", 4)]), 1.0);
        assert_eq!(cosine(&[("a", 1)], &[("b", 1)]), 0.0);
        let half = cosine(&[("a", 1), ("b", 1)], &[("b", 1), ("c", 1)]);
        assert!((half - 0.5).abs() < 1e-12);
        assert_eq!(cosine::<u8>(&[], &[(1, 1)]), 0.0);
    }
}
