//! Shingles: overlapping runs of w words or n characters, as a set.

use crate::hash::own64;
use crate::ngram;

/// A text as the set of its shingles, each known by a 64-bit hash (two of a million shingles collide once in
/// 30 million texts).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Shingles(Vec<u64>);

impl Shingles {
    /// Shingles of `n` characters; a shorter text is one shingle.
    #[must_use]
    pub fn of_characters(text: &str, n: usize) -> Self {
        let mut hashes = Vec::new();
        ngram::hashes(text, n, &mut hashes);
        Self::from_hashes(hashes)
    }

    /// Shingles of `w` words; a shorter text is one shingle.
    #[must_use]
    pub fn of_words<S: AsRef<str>>(words: &[S], w: usize) -> Self {
        Self::from_hashes(hashes_of_words(words, w))
    }

    fn from_hashes(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// The hashes, ascending.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// How two texts overlap: exact, not estimated.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> crate::distance::Overlap {
        crate::distance::Overlap::of_sorted(&self.0, &other.0)
    }
}

/// The hash of every run of `w` words, in reading order. Words are joined by a character that no word holds.
#[must_use]
pub fn hashes_of_words<S: AsRef<str>>(words: &[S], w: usize) -> Vec<u64> {
    if words.is_empty() {
        return Vec::new();
    }
    let width = w.clamp(1, words.len());
    let mut joined = String::new();
    words
        .windows(width)
        .map(|window| {
            joined.clear();
            for word in window {
                joined.push_str(word.as_ref());
                joined.push('\u{1f}');
            }
            own64(joined.as_bytes())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_run_into_each_other() {
        assert_ne!(Shingles::of_words(&["ab", "c"], 2), Shingles::of_words(&["a", "bc"], 2));
        assert_eq!(Shingles::of_words(&["a", "b", "a", "b", "a"], 2).hashes().len(), 2);
        assert_eq!(Shingles::of_words::<&str>(&[], 2).hashes().len(), 0);
    }

    #[test]
    fn jaccard_of_two_sentences() {
        // 程序员祝, 序员祝海 ... : 14 characters give 11 shingles of 4; one changed character at the end but one
        // touches the last two of them.
        let a = Shingles::of_characters("程序员祝海林讲解六种加密方法", 4);
        let b = Shingles::of_characters("程序员祝海林讲解六种加密算法", 4);
        let overlap = a.overlap(&b);
        assert_eq!((overlap.a, overlap.b, overlap.shared), (11, 11, 9));
    }
}
