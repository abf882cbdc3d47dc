//! The fixed-width numbers the index works on, one type per width.

use bytemuck::Pod;
use leitong_fingerprint::Fingerprint;
use std::fmt::Debug;

/// A fingerprint as a plain number of a width known at compile time: `u32`, `u64`, `u128`, or four, eight or sixteen
/// words of 64 bits, least significant first.
///
/// Bits are looked at as a ring: [`Value::rotate_left`] brings any run of bits to the top, where [`Value::top`] reads
/// it. Blocks that wrap around the end need no special case that way.
pub trait Value: Pod + Eq + Ord + Send + Sync + Debug {
    /// Width in bits.
    const WIDTH: u32;

    /// No bit set.
    const ZERO: Self;

    /// The bits in which two values differ.
    #[must_use]
    fn xor(self, other: Self) -> Self;

    /// The bits set in both.
    #[must_use]
    fn and(self, other: Self) -> Self;

    /// How many bits are set.
    #[must_use]
    fn ones(self) -> u32;

    /// The value with its bits moved towards the top, those falling off coming in at the bottom. `by` is below the
    /// width.
    #[must_use]
    fn rotate_left(self, by: u32) -> Self;

    /// The most significant `bits` bits as a number; at most 64 of them, and at most the width.
    #[must_use]
    fn top(self, bits: u32) -> u64;

    /// A number of `bits` bits placed at the top, all else zero: the inverse of [`Value::top`].
    #[must_use]
    fn from_top(number: u64, bits: u32) -> Self;

    /// The value with bit `index` (0 is the least significant) turned over.
    #[must_use]
    fn flip(self, index: u32) -> Self;

    /// From the words of a fingerprint, least significant first; what is too much is cut off, what is missing is zero.
    #[must_use]
    fn from_words(words: &[u64]) -> Self;

    /// As a fingerprint.
    #[must_use]
    fn to_fingerprint(self) -> Fingerprint;

    /// In how many bits two values differ.
    #[inline(always)]
    #[must_use]
    fn distance(self, other: Self) -> u32 {
        self.xor(other).ones()
    }

    /// Bits `from .. from + bits` of the ring, counted from the top, as a number; at most 64 of them.
    #[inline(always)]
    #[must_use]
    fn window(self, from: u32, bits: u32) -> u64 {
        self.rotate_left(from % Self::WIDTH).top(bits)
    }

    /// The lowest `bits` bits set, all else zero.
    #[must_use]
    fn low_mask(bits: u32) -> Self {
        (0..bits.min(Self::WIDTH)).fold(Self::ZERO, Self::flip)
    }

    /// The inverse of [`Value::rotate_left`].
    #[inline(always)]
    #[must_use]
    fn rotate_right(self, by: u32) -> Self {
        self.rotate_left((Self::WIDTH - by) % Self::WIDTH)
    }
}

macro_rules! native {
    ($($kind:ty),*) => {$(
        impl Value for $kind {
            const WIDTH: u32 = <$kind>::BITS;
            const ZERO: Self = 0;

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn ones(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn rotate_left(self, by: u32) -> Self {
                <$kind>::rotate_left(self, by)
            }

            #[inline(always)]
            fn top(self, bits: u32) -> u64 {
                if bits == 0 { 0 } else { (self >> (Self::BITS - bits)) as u64 }
            }

            #[inline(always)]
            fn from_top(number: u64, bits: u32) -> Self {
                if bits == 0 { 0 } else { (number as $kind) << (Self::BITS - bits) }
            }

            #[inline(always)]
            fn flip(self, index: u32) -> Self {
                self ^ 1 << index
            }

            fn from_words(words: &[u64]) -> Self {
                words.iter().take(Self::BITS.div_ceil(64) as usize).rev().fold(0, |value: u128, &word| value << 64 | u128::from(word)) as $kind
            }

            fn to_fingerprint(self) -> Fingerprint {
                let wide = u128::from(self);
                Fingerprint::from_words(Self::BITS, &[wide as u64, (wide >> 64) as u64])
            }
        }
    )*};
}
native!(u32, u64, u128);

macro_rules! words {
    ($($count:literal),*) => {$(
        impl Value for [u64; $count] {
            const WIDTH: u32 = $count * 64;
            const ZERO: Self = [0; $count];

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] ^ other[i])
            }

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] & other[i])
            }

            #[inline(always)]
            fn ones(self) -> u32 {
                self.iter().map(|word| word.count_ones()).sum()
            }

            #[inline(always)]
            fn rotate_left(self, by: u32) -> Self {
                let (words, bits) = ((by / 64) as usize, by % 64);
                std::array::from_fn(|i| {
                    let high = self[(i + $count - words) % $count];
                    let low = self[(i + $count - words + $count - 1) % $count];
                    if bits == 0 { high } else { high << bits | low >> (64 - bits) }
                })
            }

            #[inline(always)]
            fn top(self, bits: u32) -> u64 {
                if bits == 0 { 0 } else { self[$count - 1] >> (64 - bits) }
            }

            #[inline(always)]
            fn from_top(number: u64, bits: u32) -> Self {
                let mut value = Self::ZERO;
                if bits > 0 {
                    value[$count - 1] = number << (64 - bits);
                }
                value
            }

            #[inline(always)]
            fn flip(mut self, index: u32) -> Self {
                self[(index / 64) as usize] ^= 1 << (index % 64);
                self
            }

            fn from_words(words: &[u64]) -> Self {
                std::array::from_fn(|i| words.get(i).copied().unwrap_or(0))
            }

            fn to_fingerprint(self) -> Fingerprint {
                Fingerprint::from_words(Self::WIDTH, &self)
            }
        }
    )*};
}
words!(4, 8, 16);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bits of a value, most significant first, as the slow twin of everything above.
    fn bits<V: Value>(value: V) -> Vec<bool> {
        let print = value.to_fingerprint();
        (0..V::WIDTH).rev().map(|i| print.bit(i)).collect()
    }

    fn agrees<V: Value>(words: &[u64; 16], other: &[u64; 16], by: u32, taken: u32) {
        let (value, other) = (V::from_words(words), V::from_words(other));
        let (by, taken) = (by % V::WIDTH, taken % 65.min(V::WIDTH + 1));
        let plain = bits(value);

        let mut rotated = plain.clone();
        rotated.rotate_left(by as usize);
        assert_eq!(bits(value.rotate_left(by)), rotated);
        assert_eq!(value.rotate_left(by).rotate_right(by), value);

        let top = plain[..taken as usize].iter().fold(0, |number: u64, &bit| number << 1 | u64::from(bit));
        assert_eq!(value.top(taken), top);
        assert_eq!(V::from_top(top, taken).top(taken), top);
        assert_eq!(V::from_top(top, taken).ones(), top.count_ones());

        assert_eq!(value.window(by, taken), value.rotate_left(by).top(taken));
        assert_eq!(
            value.and(V::low_mask(by)).ones() as usize,
            plain[(V::WIDTH - by) as usize..].iter().filter(|bit| **bit).count()
        );

        let differing = plain.iter().zip(bits(other)).filter(|(a, b)| **a != *b).count();
        assert_eq!(value.distance(other) as usize, differing);
        assert_eq!(value.flip(by).distance(value), 1);
        assert!(value.flip(by).to_fingerprint().bit(by) != value.to_fingerprint().bit(by));
        assert_eq!(V::from_words(value.to_fingerprint().words()), value);
    }

    proptest! {
        #[test]
        fn every_width_equals_a_list_of_bits(words: [u64; 16], other: [u64; 16], by: u32, taken: u32) {
            agrees::<u32>(&words, &other, by, taken);
            agrees::<u64>(&words, &other, by, taken);
            agrees::<u128>(&words, &other, by, taken);
            agrees::<[u64; 4]>(&words, &other, by, taken);
            agrees::<[u64; 8]>(&words, &other, by, taken);
            agrees::<[u64; 16]>(&words, &other, by, taken);
        }
    }
}
