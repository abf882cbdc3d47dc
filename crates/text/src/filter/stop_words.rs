//! A set of words that every word of every text is looked up in.
//!
//! Words of one and of two characters, stop words and others follow each other so that no processor can foresee it, and a
//! wrong guess costs more than the lookup. So a word of up to seven bytes is a number, its bytes and its length, which is
//! looked up without a branch; only the few longer ones take another way.

use std::collections::BTreeSet;

use crate::span::Span;

/// The stop words.
#[derive(Clone, Debug)]
pub(super) struct StopWords {
    /// The keys of the short ones, each in the first bucket with room from its own on. The first bucket is nobody's own and
    /// stays empty; the number of the others is a power of two.
    short: Vec<[u64; BUCKET]>,
    /// How far the hash of a key is shifted to give its bucket.
    shift: u32,
    /// The others.
    long: BTreeSet<Box<str>>,
    /// A bit for the hash of every word. It stays in the first cache, and most words of a text are not seen here.
    seen: Box<[u64; SEEN / 64]>,
}

/// Keys a bucket. There are at least two buckets a word, so that hardly any is full.
const BUCKET: usize = 4;
/// Room for a key; no word has it as its key.
const EMPTY: u64 = u64::MAX;
/// Bytes of the longest short word.
const SHORT: usize = 7;
/// Sixteen thousand bits, two kilobytes.
const SEEN: usize = 1 << 14;

impl StopWords {
    pub(super) fn new(words: impl Iterator<Item = Box<str>>) -> Self {
        let words: BTreeSet<Box<str>> = words.filter(|word| !word.is_empty()).collect();
        let mut seen = Box::new([0; SEEN / 64]);
        for word in &words {
            let bit = seen_bit(hash_of(word));
            seen[bit / 64] |= 1 << (bit % 64);
        }
        let (short, long): (BTreeSet<_>, _) = words.into_iter().partition(|word| word.len() <= SHORT);
        let buckets = (short.len() * 2).next_power_of_two().max(2);
        let shift = u64::BITS - buckets.trailing_zeros();
        let mut set = Self { short: vec![[EMPTY; BUCKET]; buckets + 1], shift, long, seen };
        for word in short {
            set.insert_short(key(start_of(&word), word.len()));
        }
        set
    }

    fn insert_short(&mut self, key: u64) {
        let mut at = 1 + (hash(key) >> self.shift) as usize;
        loop {
            if let Some(room) = self.short[at].iter_mut().find(|slot| **slot == EMPTY) {
                *room = key;
                return;
            }
            at = self.next(at);
        }
    }

    /// The bucket after this one.
    fn next(&self, at: usize) -> usize {
        if at + 1 < self.short.len() { at + 1 } else { 1 }
    }

    /// Whether a word with this hash may be one of them: all bits of the answer, or none.
    #[inline]
    fn seen(&self, hash: u64) -> u64 {
        let bit = seen_bit(hash);
        (self.seen[bit / 64] >> (bit % 64) & 1).wrapping_neg()
    }

    /// Whether a word is one of them.
    pub(super) fn contains(&self, word: &str) -> bool {
        if word.len() <= SHORT {
            self.contains_short(key(start_of(word), word.len()))
        } else {
            self.contains_long(word)
        }
    }

    /// The same for a word where it stands in a text.
    #[inline(always)]
    pub(super) fn contains_at(&self, text: &str, word: Span) -> bool {
        let Some(&eight) = text.as_bytes().get(word.start as usize..).and_then(|rest| rest.first_chunk())
        else {
            return self.contains(&text[word.range()]);
        };
        let key = key(u64::from_le_bytes(eight), word.len());
        let hash = hash(key);
        let seen = self.seen(hash);
        // Which words are long cannot be foreseen, but hardly any of those is seen.
        if (word.len() > SHORT) & (seen != 0) {
            return self.contains_long(&text[word.range()]);
        }
        self.is_in_bucket(key, hash, seen)
    }

    fn contains_short(&self, key: u64) -> bool {
        let hash = hash(key);
        self.is_in_bucket(key, hash, self.seen(hash))
    }

    /// Whether a short word is one of them: `seen` as in [`StopWords::seen`].
    #[inline(always)]
    fn is_in_bucket(&self, key: u64, hash: u64, seen: u64) -> bool {
        // What is not seen is looked up in the first bucket, which is always at hand, and empty.
        let at = ((1 + (hash >> self.shift)) & seen) as usize;
        let bucket = &self.short[at];
        let found = bucket.iter().fold(false, |found, &slot| found | (slot == key));
        if found | (bucket[BUCKET - 1] == EMPTY) { found } else { self.is_after(at, key) }
    }

    /// Whether a key is in one of the buckets after a full one.
    #[cold]
    #[inline(never)]
    fn is_after(&self, mut at: usize, key: u64) -> bool {
        loop {
            at = self.next(at);
            let bucket = &self.short[at];
            if bucket.contains(&key) || bucket[BUCKET - 1] == EMPTY {
                return bucket.contains(&key);
            }
        }
    }

    #[inline(never)]
    fn contains_long(&self, word: &str) -> bool {
        self.seen(hash_of(word)) != 0 && self.long.contains(word)
    }
}

/// A word as a number: its length, and its bytes out of the eight from its first on. Of up to seven bytes no two have the same.
#[inline(always)]
fn key(eight: u64, length: usize) -> u64 {
    eight & u64::MAX.wrapping_shr(64 - 8 * length.min(8) as u32) ^ (length as u64) << 56
}

/// The highest bits depend on all of the number.
#[inline]
fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn hash_of(word: &str) -> u64 {
    hash(key(start_of(word), word.len()))
}

/// The bit of a hash in `seen`.
#[inline]
fn seen_bit(hash: u64) -> usize {
    (hash >> (u64::BITS - SEEN.trailing_zeros())) as usize
}

/// The first eight bytes of a word, zeros where it has fewer.
#[inline]
fn start_of(word: &str) -> u64 {
    if let Some(&eight) = word.as_bytes().first_chunk() {
        return u64::from_le_bytes(eight);
    }
    word.bytes().rev().fold(0, |start, byte| start << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::super::StopList;
    use super::*;

    #[test]
    fn stop_words_are_a_set() {
        let all = [StopList::Hit, StopList::Baidu, StopList::Cn, StopList::Scu, StopList::En];
        let lists = all.map(StopList::text).concat();
        let words: BTreeSet<&str> = lists.lines().filter(|word| !word.is_empty()).collect();
        let set = StopWords::new(words.iter().map(|&word| word.into()));
        for word in &words {
            assert!(set.contains(word), "{word}");
            for other in [
                &format!("{word}\0"),
                &format!("{word}的"),
                &word[..word.floor_char_boundary(word.len() - 1)],
            ] {
                assert_eq!(set.contains(other), words.contains(other), "{other:?}");
            }
        }
        assert!(!StopWords::new(std::iter::empty()).contains("的"));
    }

    #[test]
    fn full_buckets_lead_to_the_next() {
        let words = |range: std::ops::Range<u32>| range.map(|number| number.to_string().into_boxed_str());
        let mut set = StopWords::new(words(0..3));
        // As if there were few buckets for many words.
        set.seen.fill(u64::MAX);
        for word in words(3..30) {
            set.insert_short(key(start_of(&word), word.len()));
        }
        assert!(set.short.iter().filter(|bucket| bucket[BUCKET - 1] != EMPTY).count() > 2);
        assert!(words(0..30).all(|word| set.contains(&word)));
        assert!(words(30..2000).all(|word| !set.contains(&word)));
    }
}
