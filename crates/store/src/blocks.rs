//! Finding near fingerprints where only equal keys can be looked up: the pigeonhole principle.
//!
//! A fingerprint is cut into blocks. If two differ in at most k bits, then in at least one of m blocks they differ in at most
//! k / m. So whoever looks up, for each block, its value and all values that differ from it in so few bits, finds every
//! fingerprint within k, and some that are farther: distances are always computed. For 64 bits and k = 3 these are the four
//! blocks of 16 bits, looked up as they are.

use crate::record::SpaceSettings;
use leitong_fingerprint::Fingerprint;

/// No more bits of a block are looked at: longer ones would make nearly every key the key of one document.
const MOST_BITS: u32 = 16;
/// With fewer bits a block says too little; then blocks are longer, and their neighbours are looked up too.
const FEWEST_BITS: u32 = 10;
/// Bits by which a neighbour may differ, at most.
const MOST_RADIUS: u32 = 2;

/// A block and its value: what can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Block {
    /// Which of the blocks, from the most significant.
    pub(crate) place: u16,
    /// The bits.
    pub(crate) value: u16,
}

/// How the fingerprints of a space are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    width: u32,
    count: u32,
    /// In how many bits a block that is looked up may differ.
    radius: u32,
}

impl Blocks {
    /// For a space; part of what is stored, so it never changes.
    pub(crate) fn of(settings: &SpaceSettings) -> Self {
        let SpaceSettings { width, within, .. } = *settings;
        let count = |radius: u32| within / (radius + 1) + 1;
        let good = |radius: &u32| width / count(*radius) >= FEWEST_BITS;
        let radius = (0..=MOST_RADIUS).find(good).unwrap_or(MOST_RADIUS);
        Self { width, count: count(radius), radius }
    }

    /// How many there are.
    pub(crate) fn count(self) -> u32 {
        self.count
    }

    /// The blocks under which a fingerprint is to be found.
    pub(crate) fn keys(self, fingerprint: &Fingerprint) -> Vec<Block> {
        (0..self.count).map(|place| self.block(fingerprint, place)).collect()
    }

    /// The blocks under which everything near a fingerprint is found.
    pub(crate) fn probes(self, fingerprint: &Fingerprint) -> Vec<Block> {
        let around = |place: u32| {
            let bits = self.bits(place);
            let Block { place, value } = self.block(fingerprint, place);
            let mut values = vec![value];
            // Each round flips a higher bit than the last, so that no value comes twice.
            let mut last: Vec<(u32, u16)> = vec![(0, value)];
            for _ in 0..self.radius {
                last = last
                    .iter()
                    .flat_map(|&(from, value)| (from..bits).map(move |bit| (bit + 1, value ^ 1 << bit)))
                    .collect();
                values.extend(last.iter().map(|(_, value)| *value));
            }
            values.into_iter().map(move |value| Block { place, value })
        };
        (0..self.count).flat_map(around).collect()
    }

    /// The bytes of a fingerprint, from the most significant, that a block's value says, if these are whole bytes.
    pub(crate) fn bytes(self, place: u16) -> Option<std::ops::Range<usize>> {
        let (start, bits) = (self.start(place.into()), self.bits(place.into()));
        let whole = start % 8 == 0 && bits % 8 == 0;
        whole.then(|| start as usize / 8..(start + bits) as usize / 8)
    }

    /// Where a block begins, counted from the most significant bit.
    fn start(self, place: u32) -> u32 {
        place * self.width / self.count
    }

    fn bits(self, place: u32) -> u32 {
        (self.start(place + 1) - self.start(place)).min(MOST_BITS)
    }

    fn block(self, fingerprint: &Fingerprint, place: u32) -> Block {
        let bits = self.bits(place);
        let lowest = self.width - self.start(place) - bits;
        let words = fingerprint.words();
        let word = |at: u32| words.get(at as usize).copied().unwrap_or_default();
        let (at, shift) = (lowest / 64, lowest % 64);
        let high = word(at + 1).checked_shl(64 - shift).unwrap_or_default();
        let value = (word(at) >> shift | high) & ((1 << bits) - 1);
        Block { place: place as u16, value: value as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Space;
    use proptest::prelude::*;

    fn blocks(width: u32, within: u32) -> Blocks {
        Blocks::of(&SpaceSettings { space: Space::DOCUMENTS, width, within })
    }

    #[test]
    fn the_four_blocks_of_the_usual_case() {
        let values = |blocks: Vec<Block>| blocks.iter().map(|block| block.value).collect::<Vec<_>>();
        let (usual, fingerprint) = (blocks(64, 3), Fingerprint::from(0x0123_4567_89ab_cdef_u64));
        assert_eq!(values(usual.keys(&fingerprint)), [0x0123, 0x4567, 0x89ab, 0xcdef]);
        assert_eq!(usual.probes(&fingerprint), usual.keys(&fingerprint));
        assert_eq!((usual.count(), usual.radius), (4, 0));
        let far = blocks(64, 10);
        assert_eq!((far.count(), far.radius), (6, 1));
        assert_eq!(far.probes(&fingerprint).len(), 6 + 64);
    }

    fn settings() -> impl Strategy<Value = (u32, u32)> {
        prop::sample::select(&leitong_fingerprint::bits::WIDTHS[..])
            .prop_flat_map(|width| (Just(width), 0..(width / 2).min(24)))
    }

    proptest! {
        #[test]
        fn whatever_is_near_shares_a_block(
            (width, within) in settings(),
            words in prop::collection::vec(any::<u64>(), 16),
            flips in prop::collection::vec(any::<u32>(), 24),
        ) {
            let blocks = blocks(width, within);
            let asked = Fingerprint::from_words(width, &words);
            let mut words = asked.words().to_vec();
            for flip in flips.iter().take(within as usize) {
                let bit = flip % width;
                words[bit as usize / 64] ^= 1 << (bit % 64);
            }
            let stored = Fingerprint::from_words(width, &words);
            let probes = blocks.probes(&asked);
            prop_assert!(blocks.keys(&stored).iter().any(|key| probes.contains(key)));
            let mut once = probes.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), probes.len(), "no block is looked up twice");
        }
    }
}
