//! Postings packed into bits.
//!
//! Postings are sorted by mark and then by row. The top bits of a mark tell its bucket; a posting keeps the other bits of
//! its mark, above its row. Marks are evenly spread, so with some ten postings a bucket both together take about
//! 32 − log₂(marks of a document / 10) bits, however many documents there are.

/// Postings of a bucket, at least, if marks are spread evenly; up to twice as many.
const PER_BUCKET: u64 = 8;
const WORD: u64 = 64;

/// Which bits of a posting mean what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) bucket_bits: u32,
    pub(super) row_bits: u32,
}

impl Shape {
    /// For so many postings of so many documents.
    pub(super) fn new(postings: u64, documents: u64) -> Self {
        let bucket_bits = (postings / PER_BUCKET).max(1).ilog2().min(28);
        let row_bits = (u64::BITS - documents.saturating_sub(1).leading_zeros()).clamp(1, 32);
        Self { bucket_bits, row_bits }
    }

    /// Whether such postings can be read at all.
    pub(super) fn is_sound(self) -> bool {
        self.bucket_bits <= 31 && (1..=32).contains(&self.row_bits)
    }

    pub(super) fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    fn rest_bits(self) -> u32 {
        32 - self.bucket_bits
    }

    fn width(self) -> u32 {
        self.rest_bits() + self.row_bits
    }

    /// Words for so many postings: one more than they fill, because two are read for each.
    pub(super) fn words(self, postings: u64) -> usize {
        ((postings * u64::from(self.width())).div_ceil(WORD) + 1) as usize
    }

    #[inline(always)]
    pub(super) fn bucket(self, mark: u32) -> usize {
        (u64::from(mark) >> self.rest_bits()) as usize
    }

    /// The bits of a mark that its bucket does not tell.
    #[inline(always)]
    pub(super) fn rest(self, mark: u32) -> u32 {
        (u64::from(mark) & ((1 << self.rest_bits()) - 1)) as u32
    }

    pub(super) fn mark(self, bucket: usize, rest: u32) -> u32 {
        ((bucket as u64) << self.rest_bits()) as u32 | rest
    }

    /// The words that hold postings `from .. to`.
    #[inline(always)]
    pub(super) fn words_of(self, from: u32, to: u32) -> (usize, usize) {
        let bit = |posting: u32| u64::from(posting) * u64::from(self.width());
        ((bit(from) / WORD) as usize, (bit(to).div_ceil(WORD) + 1) as usize)
    }

    /// Rest and row of a posting.
    #[inline(always)]
    pub(super) fn get(self, words: &[u64], posting: u32) -> (u32, u32) {
        let bit = u64::from(posting) * u64::from(self.width());
        let (word, shift) = ((bit / WORD) as usize, (bit % WORD) as u32);
        // In two steps, as a shift by 64 is none.
        let bits = words[word] >> shift | words[word + 1] << 1 << (63 - shift);
        let row = bits & ((1 << self.row_bits) - 1);
        let rest = (bits >> self.row_bits) & ((1 << self.rest_bits()) - 1);
        (rest as u32, row as u32)
    }
}

/// Packs postings in their order.
#[derive(Debug)]
pub(super) struct Packer {
    shape: Shape,
    /// Complete words, to be taken away.
    pub(super) words: Vec<u64>,
    pending: u64,
    filled: u32,
}

impl Packer {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, words: Vec::new(), pending: 0, filled: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, mark: u32, row: u32) {
        let bits = u64::from(self.shape.rest(mark)) << self.shape.row_bits | u64::from(row);
        self.pending |= bits << self.filled;
        let filled = self.filled + self.shape.width();
        if filled >= u64::BITS {
            self.words.push(self.pending);
            // What did not fit: nothing if the posting began the word and filled it.
            self.pending = if self.filled == 0 { 0 } else { bits >> (u64::BITS - self.filled) };
        }
        self.filled = filled % u64::BITS;
    }

    /// Closes the last word, and adds the one that is read beyond it.
    pub(super) fn finish(&mut self) {
        if self.filled > 0 {
            self.words.push(self.pending);
        }
        self.words.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_read(
            postings in prop::collection::vec(any::<(u32, u32)>(), 0..200),
            bucket_bits in 0..=31_u32,
            row_bits in 1..=32_u32,
        ) {
            let shape = Shape { bucket_bits, row_bits };
            let row = |row: u32| (u64::from(row) & ((1 << row_bits) - 1)) as u32;
            let mut packer = Packer::new(shape);
            postings.iter().for_each(|posting| packer.push(posting.0, row(posting.1)));
            packer.finish();
            prop_assert_eq!(packer.words.len(), shape.words(postings.len() as u64));
            for (i, posting) in (0..).zip(&postings) {
                let (rest, found) = shape.get(&packer.words, i);
                prop_assert_eq!((shape.mark(shape.bucket(posting.0), rest), found), (posting.0, row(posting.1)));
                let (from, to) = shape.words_of(i, i + 1);
                prop_assert!(to <= packer.words.len() && from + 2 <= to);
            }
        }

        #[test]
        fn shapes_have_room_for_every_row(postings in 0..1_u64 << 32, documents in 0..1_u64 << 32) {
            let shape = Shape::new(postings, documents);
            prop_assert!(shape.is_sound() && documents <= 1 << shape.row_bits);
            prop_assert!(postings < 8 || postings >> shape.bucket_bits < 16);
        }
    }
}
