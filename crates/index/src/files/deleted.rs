//! Which ordinals have been deleted: a bitmap in chunks that snapshots share until one of them changes.

use std::ops::Range;
use std::sync::Arc;

const CHUNK_WORDS: usize = 1 << 10;
const CHUNK_BITS: u64 = CHUNK_WORDS as u64 * 64;

/// A set of deleted ordinals. Cloning copies only the list of chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deleted {
    chunks: Vec<Option<Arc<[u64; CHUNK_WORDS]>>>,
    count: u64,
}

impl Deleted {
    /// Whether none is deleted.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many are deleted.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, ordinal: u64) -> bool {
        let (chunk, word, bit) = place(ordinal);
        self.chunks.get(chunk).and_then(Option::as_ref).is_some_and(|chunk| chunk[word] >> bit & 1 == 1)
    }

    /// Adds an ordinal; false if it was there.
    pub(crate) fn insert(&mut self, ordinal: u64) -> bool {
        if self.contains(ordinal) {
            return false;
        }
        let (chunk, word, bit) = place(ordinal);
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, None);
        }
        let chunk = self.chunks[chunk].get_or_insert_with(|| Arc::new([0; CHUNK_WORDS]));
        Arc::make_mut(chunk)[word] |= 1 << bit;
        self.count += 1;
        true
    }

    /// Takes out the ordinals of a range that are in another set too.
    pub(crate) fn remove_all(&mut self, gone: &Self, range: Range<u64>) {
        for ordinal in gone.iter_in(range) {
            let (chunk, word, bit) = place(ordinal);
            if self.contains(ordinal)
                && let Some(Some(chunk)) = self.chunks.get_mut(chunk)
            {
                Arc::make_mut(chunk)[word] &= !(1 << bit);
                self.count -= 1;
            }
        }
    }

    /// Frees the chunks in which nothing is deleted any more.
    pub(crate) fn tidy(&mut self) {
        for chunk in &mut self.chunks {
            chunk.take_if(|chunk| chunk.iter().all(|&word| word == 0));
        }
    }

    /// Those below `end` only.
    pub(crate) fn below(&self, end: u64) -> Self {
        let mut below = self.clone();
        for ordinal in self.iter_from(end) {
            let (chunk, word, bit) = place(ordinal);
            if let Some(chunk) = &mut below.chunks[chunk] {
                Arc::make_mut(chunk)[word] &= !(1 << bit);
                below.count -= 1;
            }
        }
        below
    }

    /// Appends the number of chunks and each with its place.
    pub(crate) fn append_to(&self, words: &mut Vec<u64>) {
        let chunks =
            self.chunks.iter().zip(0_u64..).filter_map(|(chunk, place)| Some((chunk.as_ref()?, place)));
        words.push(chunks.clone().count() as u64);
        for (chunk, place) in chunks {
            words.push(place);
            words.extend_from_slice(&chunk[..]);
        }
    }

    /// The inverse of [`Deleted::append_to`].
    pub(crate) fn parse(words: &[u64]) -> Option<Self> {
        let (&count, rest) = words.split_first()?;
        let (chunks, more) = rest.as_chunks::<{ CHUNK_WORDS + 1 }>();
        if chunks.len() as u64 != count || !more.is_empty() {
            return None;
        }
        let mut deleted = Self::default();
        for chunk in chunks {
            let (&place, words) = chunk.split_first()?;
            // Chunks ascend, and nobody has given 2^48 ordinals yet.
            if place < deleted.chunks.len() as u64 || place >> 32 != 0 {
                return None;
            }
            deleted.chunks.resize(place as usize, None);
            deleted.chunks.push(Some(Arc::new(words.try_into().ok()?)));
            deleted.count += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        Some(deleted)
    }

    /// The ordinals, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter_from(0)
    }

    /// The ordinals of a range, ascending.
    pub(crate) fn iter_in(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.iter_from(range.start).take_while(move |&ordinal| ordinal < range.end)
    }

    /// How many of a range are deleted.
    pub(crate) fn count_in(&self, range: Range<u64>) -> u64 {
        let Range { start, end } = range;
        let chunks = self.chunks.iter().zip(0_u64..).take(end.div_ceil(CHUNK_BITS) as usize);
        let chunks =
            chunks.skip((start / CHUNK_BITS) as usize).filter_map(|(chunk, i)| Some((chunk.as_ref()?, i)));
        let words = chunks.flat_map(|(chunk, i)| chunk.iter().zip(i * CHUNK_WORDS as u64..));
        // The bits of a word from `from` on.
        let above = |from: u64| if from < 64 { u64::MAX << from } else { 0 };
        let count = |(&word, i): (&u64, u64)| {
            let (from, to) = (start.saturating_sub(i * 64), end.saturating_sub(i * 64));
            u64::from((word & above(from) & !above(to)).count_ones())
        };
        words.map(count).sum()
    }

    /// The ordinals from `start` on, ascending.
    fn iter_from(&self, start: u64) -> impl Iterator<Item = u64> + '_ {
        let chunks = self.chunks.iter().zip(0_u64..).skip((start / CHUNK_BITS) as usize);
        let words = chunks
            .filter_map(|(chunk, i)| Some((chunk.as_ref()?, i)))
            .flat_map(|(chunk, i)| chunk.iter().zip(i * CHUNK_WORDS as u64..));
        words
            .flat_map(|(&word, i)| ones(word).map(move |bit| i * 64 + bit))
            .skip_while(move |&ordinal| ordinal < start)
    }
}

/// The places of the bits set, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| u64::from(word.trailing_zeros()));
        word &= word.wrapping_sub(1);
        bit
    })
}

#[inline]
fn place(ordinal: u64) -> (usize, usize, u32) {
    let bit = ordinal % CHUNK_BITS;
    ((ordinal / CHUNK_BITS) as usize, (bit / 64) as usize, (bit % 64) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_a_set(ordinals in prop::collection::vec(prop_oneof![0..300_u64, 0..300_000_u64], 0..100), end in 0..300_000_u64) {
            let (mut deleted, mut set) = (Deleted::default(), BTreeSet::new());
            for &ordinal in &ordinals {
                let before = deleted.clone();
                prop_assert_eq!(deleted.insert(ordinal), set.insert(ordinal));
                prop_assert!(deleted.contains(ordinal));
                prop_assert_eq!(before.iter().count() as u64, before.count());
            }
            prop_assert_eq!(deleted.count(), set.len() as u64);
            let below = deleted.below(end);
            prop_assert_eq!(below.iter().collect::<Vec<_>>(), set.iter().copied().filter(|&o| o < end).collect::<Vec<_>>());
            prop_assert_eq!(below.count(), below.iter().count() as u64);
            prop_assert_eq!(deleted.iter().collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
            let range = end / 3..end;
            prop_assert_eq!(deleted.iter_in(range.clone()).collect::<Vec<_>>(), set.range(range.clone()).copied().collect::<Vec<_>>());
            prop_assert_eq!(deleted.count_in(range.clone()), set.range(range.clone()).count() as u64);
            let others: Deleted = ordinals.iter().step_by(2).fold(Deleted::default(), |mut others, &o| { others.insert(o); others });
            deleted.remove_all(&others, range.clone());
            deleted.tidy();
            set.retain(|o| !(range.contains(o) && others.contains(*o)));
            prop_assert_eq!(deleted.count(), set.len() as u64);
            prop_assert!(deleted.chunks.iter().flatten().all(|chunk| chunk.iter().any(|&word| word != 0)));
            prop_assert_eq!(deleted.iter().collect::<Vec<_>>(), set.into_iter().collect::<Vec<_>>());
        }
    }
}
