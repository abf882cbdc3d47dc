//! Rabin-Karp: the hash of every window of k units, each from the one before it.
//!
//! The hash of units `u0 .. uk-1` is `u0 * r^(k-1) + ... + uk-1` modulo q. One of the documents subtracts the
//! leaving unit times `r^k` *before* multiplying by r; that is off by one power. Subtracting `r^(k-1)` there, or
//! `r^k` after the multiplication, is right, and that is what happens here.

/// Base, modulus and window of a rolling hash.
///
/// ```
/// use leitong_fingerprint::rolling::Rolling;
/// let textbook = Rolling::new(256, 101, 5)?;
/// let hashes = textbook.hashes("abcdef".bytes().map(u64::from));
/// let direct = |w: &str| w.bytes().fold(0u64, |h, b| (h * 256 + u64::from(b)) % 101);
/// assert_eq!(hashes, [direct("abcde"), direct("bcdef")]);
/// # Ok::<(), leitong_fingerprint::rolling::RollingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rolling {
    base: u64,
    modulus: u64,
    window: usize,
    /// `base^window`, what a unit weighs just after it has left the window.
    leaving: u64,
}

/// A base, modulus or window that makes no hash.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a rolling hash needs a modulus of at least 2, a base of at least 1 and a window of at least 1, not modulus {modulus}, base {base}, window {window}"
)]
pub struct RollingError {
    /// The modulus given.
    pub modulus: u64,
    /// The base given.
    pub base: u64,
    /// The window given.
    pub window: usize,
}

/// The Mersenne prime 2^61 - 1, our own modulus.
pub const MODULUS_61: u64 = (1 << 61) - 1;
/// Our own base: the fractional digits of pi in hexadecimal, cut below the modulus; odd and far from small.
pub const BASE_61: u64 = 0x0243_f6a8_885a_308d;

impl Rolling {
    /// A rolling hash of `window` units to the given base, modulo `modulus`.
    pub fn new(base: u64, modulus: u64, window: usize) -> Result<Self, RollingError> {
        if modulus < 2 || base == 0 || window == 0 {
            return Err(RollingError { modulus, base, window });
        }
        let mut own = Self { base: base % modulus, modulus, window, leaving: 1 };
        own.leaving = (0..window).fold(1 % modulus, |power, _| own.multiply(power, own.base));
        Ok(own)
    }

    /// Our own: base and modulus of 61 bits.
    #[must_use]
    pub fn of_window(window: usize) -> Self {
        let window = window.max(1);
        let mut own = Self { base: BASE_61, modulus: MODULUS_61, window, leaving: 1 };
        own.leaving = (0..window).fold(1, |power, _| own.multiply(power, own.base));
        own
    }

    /// Units a window holds.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window
    }

    /// The hash of every full window, in order; none when there are fewer units than a window holds.
    #[must_use]
    pub fn hashes(&self, units: impl Iterator<Item = u64>) -> Vec<u64> {
        let units: Vec<u64> = units.map(|unit| unit % self.modulus).collect();
        let mut out = Vec::with_capacity((units.len() + 1).saturating_sub(self.window));
        let mut hash = 0;
        for (i, &unit) in units.iter().enumerate() {
            hash = self.add(self.multiply(hash, self.base), unit);
            if let Some(gone) = i.checked_sub(self.window) {
                let weight = self.multiply(units[gone], self.leaving);
                hash = self.add(hash, self.modulus - weight);
            }
            if i + 1 >= self.window {
                out.push(hash);
            }
        }
        out
    }

    #[inline]
    fn multiply(&self, a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        if self.modulus == MODULUS_61 {
            // 2^61 is 1 here, so the upper part is simply added.
            let sum = (product as u64 & MODULUS_61) + (product >> 61) as u64;
            if sum >= MODULUS_61 { sum - MODULUS_61 } else { sum }
        } else {
            (product % u128::from(self.modulus)) as u64
        }
    }

    #[inline]
    fn add(&self, a: u64, b: u64) -> u64 {
        let sum = u128::from(a) + u128::from(b);
        let modulus = u128::from(self.modulus);
        (if sum >= modulus { sum - modulus } else { sum }) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, window by window.
    fn direct(units: &[u64], base: u64, modulus: u64, window: usize) -> Vec<u64> {
        let fold = |w: &[u64]| {
            let (base, modulus) = (u128::from(base), u128::from(modulus));
            w.iter()
                .fold(0u128, |hash, &unit| ((hash * (base % modulus)) + u128::from(unit) % modulus) % modulus)
                as u64
        };
        units.windows(window).map(fold).collect()
    }

    proptest! {
        #[test]
        fn equals_the_direct_hash(
            units in prop::collection::vec(any::<u64>(), 0..60),
            window in 1usize..12,
            (base, modulus) in prop_oneof![
                Just((256, 101)), Just((BASE_61, MODULUS_61)), Just((u64::MAX, u64::MAX - 58)), (1..5u64, 2..9u64),
            ],
        ) {
            let rolling = Rolling::new(base, modulus, window).unwrap();
            prop_assert_eq!(rolling.hashes(units.iter().copied()), direct(&units, base, modulus, window));
        }
    }

    #[test]
    fn our_own_is_the_general_one() {
        assert_eq!(Rolling::new(BASE_61, MODULUS_61, 8), Ok(Rolling::of_window(8)));
        assert!(Rolling::new(256, 1, 5).is_err());
    }
}
