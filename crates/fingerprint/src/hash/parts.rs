//! XXH3 of many short parts of a text.
//!
//! XXH3 goes one way for up to three bytes and another one for up to eight. Chinese words of both lengths follow each other
//! so that no processor can foresee it, and a wrong guess costs more than the hash. So parts are sorted by their way first.

use super::own64;

/// Parts of a text that are to be hashed, in no particular order.
///
/// ```
/// use leitong_fingerprint::hash::{Parts, own64};
/// let mut parts = Parts::default();
/// parts.start(2);
/// parts.push(0, 6);
/// parts.push(9, 15);
/// let mut hashes = Vec::new();
/// parts.hash("雷同的文章".as_bytes(), &mut hashes);
/// assert_eq!(hashes, ["雷同", "文章"].map(|part| own64(part.as_bytes())));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// First and end byte of those up to three bytes, up to eight, and longer; then what was there before.
    ways: [Vec<(u32, u32)>; 3],
    /// How many there are of each.
    lens: [usize; 3],
}

impl Parts {
    /// Forgets all parts and makes room for so many.
    pub fn start(&mut self, room: usize) {
        self.lens = [0; 3];
        for way in &mut self.ways {
            way.resize(way.len().max(room), (0, 0));
        }
    }

    /// Adds a part. Where there is no more room it is an error of the caller, and panics.
    #[inline]
    pub fn push(&mut self, start: u32, end: u32) {
        let length = end - start;
        // Without a branch.
        let way = usize::from(length > 3) + usize::from(length > 8);
        let len = &mut self.lens[way];
        self.ways[way][*len] = (start, end);
        *len += 1;
    }

    /// Appends [`own64`] of each part of `text`, in no particular order.
    pub fn hash(&self, text: &[u8], hashes: &mut Vec<u64>) {
        let [few, some, many] = [0, 1, 2].map(|way| &self.ways[way][..self.lens[way]]);
        hashes.extend(few.iter().map(|&part| hash_part(text, part, of_up_to_three)));
        hashes.extend(some.iter().map(|&part| hash_part(text, part, of_four_to_eight)));
        hashes.extend(many.iter().map(|&(start, end)| own64(&text[start as usize..end as usize])));
    }
}

/// The hash of a part by the way for its length, which takes the eight bytes from its first on, where there are so many.
#[inline(always)]
fn hash_part(text: &[u8], (start, end): (u32, u32), way: impl Fn(u64, u32) -> u64) -> u64 {
    match text.get(start as usize..).and_then(|rest| rest.first_chunk()) {
        Some(&eight) if start < end => way(u64::from_le_bytes(eight), end - start),
        _ => own64(&text[start as usize..end as usize]),
    }
}

/// XXH3 of the first one to three of these bytes.
#[inline(always)]
fn of_up_to_three(bytes: u64, length: u32) -> u64 {
    /// The first four bytes of XXH3's secret, and the second.
    const SECRET: u64 = 0x396C_FEB8 ^ 0xBE4B_A423;
    let byte = |at: u32| bytes.wrapping_shr(8 * at) & 0xFF;
    let (first, middle, last) = (byte(0), byte(length / 2), byte(length - 1));
    let mut hash = (first << 16 | middle << 24 | last | u64::from(length) << 8) ^ SECRET;
    hash = (hash ^ hash >> 33).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    hash = (hash ^ hash >> 29).wrapping_mul(0x1656_67B1_9E37_79F9);
    hash ^ hash >> 32
}

/// XXH3 of the first four to eight of these bytes.
#[inline(always)]
fn of_four_to_eight(bytes: u64, length: u32) -> u64 {
    /// The second eight bytes of XXH3's secret, and the third.
    const SECRET: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;
    const MULTIPLIER: u64 = 0x9FB2_1C65_1E98_DF25;
    let last_four = bytes.wrapping_shr(8 * (length - 4)) & u64::from(u32::MAX);
    let mut hash = (bytes << 32 | last_four) ^ SECRET;
    hash = (hash ^ hash.rotate_left(49) ^ hash.rotate_left(24)).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> 35).wrapping_add(u64::from(length))).wrapping_mul(MULTIPLIER);
    hash ^ hash >> 28
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_have_the_hashes_they_have_alone(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut parts = Parts::default();
            parts.start(1);
            parts.push(0, 0);
            parts.start((text.len() + 1) * (text.len() + 2) / 2);
            let mut expected = Vec::new();
            for start in 0..=text.len() {
                for end in start..=text.len() {
                    parts.push(start as u32, end as u32);
                    expected.push(own64(&text[start..end]));
                }
            }
            let mut hashes = Vec::new();
            parts.hash(&text, &mut hashes);
            hashes.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(hashes, expected);
        }
    }
}
