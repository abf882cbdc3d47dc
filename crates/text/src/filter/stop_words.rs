//! A set of words that every word of every text is looked up in.
//!
//! Words of one and of two characters, stop words and others follow each other so that no processor can foresee it, and a
//! wrong guess costs more than the lookup. So a word of up to seven bytes is a number, its bytes and its length, and each
//! number has a slot that no other word of the set has: one look, without a branch. Longer words are numbers by their first
//! seven bytes, and those few that are found by them are compared.

use std::collections::BTreeSet;

use crate::span::Span;

/// The stop words.
#[derive(Clone, Debug)]
pub(super) struct StopWords {
    /// The keys, each in its slot.
    slots: Places<u64>,
    /// By the highest bits of the hash of a key: what it is multiplied with, so that the highest bits of that are its slot.
    factors: Places<u32>,
    /// The words of more than seven bytes.
    long: BTreeSet<Box<str>>,
}

/// Entries that the highest bits of a number lead to: a power of two, and at least two.
#[derive(Clone, Debug)]
struct Places<T> {
    entries: Vec<T>,
    shift: u32,
}

impl<T: Copy> Places<T> {
    fn new(count: usize, entry: T) -> Self {
        let count = count.next_power_of_two().max(2);
        Self { entries: vec![entry; count], shift: u64::BITS - count.trailing_zeros() }
    }

    #[inline(always)]
    fn place(&self, number: u64) -> usize {
        (number >> self.shift) as usize
    }

    #[inline(always)]
    fn get(&self, number: u64) -> Option<T> {
        self.entries.get(self.place(number)).copied()
    }
}

/// A slot of nobody: no key has the highest bit.
const EMPTY: u64 = u64::MAX;
/// Bytes of the longest word that is its key.
const SHORT: usize = 7;
/// Keys that share a factor, about.
const GROUP: usize = 4;
/// How many factors are tried before the slots are made twice as many.
const TRIED: u32 = 1 << 16;

impl StopWords {
    pub(super) fn new(words: impl Iterator<Item = Box<str>>) -> Self {
        let words: BTreeSet<Box<str>> = words.filter(|word| !word.is_empty()).collect();
        let keys: BTreeSet<u64> = words.iter().map(|word| key_of(word)).collect();
        let long = words.into_iter().filter(|word| word.len() > SHORT).collect();
        let mut count = 2 * keys.len();
        loop {
            if let Some((slots, factors)) = give_slots(&keys, count) {
                return Self { slots, factors, long };
            }
            count *= 2;
        }
    }

    /// Whether a word is one of them.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.has(key_of(word)) && (word.len() <= SHORT || self.long.contains(word))
    }

    /// The same for a word where it stands in a text.
    #[inline(always)]
    pub(super) fn contains_at(&self, text: &str, word: Span) -> bool {
        let start = word.start as usize;
        let Some(Ok(eight)) = text.as_bytes().get(start..start + 8).map(TryInto::try_into) else {
            return self.contains(&text[word.range()]);
        };
        let found = self.has(key(u64::from_le_bytes(eight), word.len()));
        // Which words are long cannot be foreseen, but hardly any of those is found.
        if found & (word.len() > SHORT) { self.is_long(&text[word.range()]) } else { found }
    }

    #[inline(always)]
    fn has(&self, key: u64) -> bool {
        let hash = hash(key);
        let Some(factor) = self.factors.get(hash) else { return false };
        self.slots.get(hash.wrapping_mul(factor.into())) == Some(key)
    }

    #[inline(never)]
    fn is_long(&self, word: &str) -> bool {
        self.long.contains(word)
    }
}

/// Slots for all keys, and the factors that lead there; none if for some group of keys no factor was found.
fn give_slots(keys: &BTreeSet<u64>, count: usize) -> Option<(Places<u64>, Places<u32>)> {
    let (mut slots, mut factors) = (Places::new(count, EMPTY), Places::new(keys.len() / GROUP, 1));
    let mut groups = vec![Vec::new(); factors.entries.len()];
    keys.iter().for_each(|&key| groups[factors.place(hash(key))].push(key));
    // Large groups first, while there is room.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(groups[group].len()));
    for group in order {
        let places = |factor: u32| -> Option<Vec<usize>> {
            let mut places = Vec::new();
            for &key in &groups[group] {
                let place = slots.place(hash(key).wrapping_mul(factor.into()));
                if slots.entries[place] != EMPTY || places.contains(&place) {
                    return None;
                }
                places.push(place);
            }
            Some(places)
        };
        let mut tried = (0..TRIED).map(|number| number.wrapping_mul(0x9E37_79B8) | 1);
        let (factor, places) = tried.find_map(|factor| Some((factor, places(factor)?)))?;
        factors.entries[group] = factor;
        places.into_iter().zip(&groups[group]).for_each(|(place, key)| slots.entries[place] = *key);
    }
    Some((slots, factors))
}

/// A word as a number, by the eight bytes from its first on. Of up to seven bytes no two have the same, and none has that of
/// a longer one.
#[inline(always)]
fn key(eight: u64, length: usize) -> u64 {
    let bits = (8 * length).min(63);
    eight & !(u64::MAX << bits) | (bits as u64) << 57
}

fn key_of(word: &str) -> u64 {
    let start = match word.as_bytes().first_chunk() {
        Some(&eight) => u64::from_le_bytes(eight),
        None => word.bytes().rev().fold(0, |start, byte| start << 8 | u64::from(byte)),
    };
    key(start, word.len())
}

/// The highest bits depend on all of the number.
#[inline(always)]
fn hash(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::super::StopList;
    use super::*;

    /// Asks in both ways, and they must agree.
    fn contains(set: &StopWords, word: &str) -> bool {
        let text = format!("{word}，其他的话");
        let at = set.contains_at(&text, Span { start: 0, end: word.len() as u32 });
        assert_eq!(at, set.contains(word), "{word:?}");
        at
    }

    #[test]
    fn stop_words_are_a_set() {
        let all = [StopList::Hit, StopList::Baidu, StopList::Cn, StopList::Scu, StopList::En];
        let lists = all.map(StopList::text).concat();
        let words: BTreeSet<&str> = lists.lines().filter(|word| !word.is_empty()).collect();
        let set = StopWords::new(words.iter().map(|&word| word.into()));
        for word in &words {
            assert!(contains(&set, word), "{word}");
            for other in [
                &format!("{word}\0"),
                &format!("{word}的"),
                &word[..word.floor_char_boundary(word.len() - 1)],
            ] {
                let expected = words.contains(other);
                assert!(other.is_empty() || contains(&set, other) == expected, "{other:?}");
            }
        }
        assert!(!contains(&StopWords::new(std::iter::empty()), "的"));
    }

    #[test]
    fn many_words_have_slots() {
        let words = |range: std::ops::Range<u32>| range.map(|number| number.to_string().into_boxed_str());
        let set = StopWords::new(words(0..50_000));
        assert!(words(0..50_000).all(|word| contains(&set, &word)));
        assert!(words(50_000..100_000).all(|word| !contains(&set, &word)));
    }

    #[test]
    fn long_words_are_not_taken_for_others_that_begin_alike() {
        let set = StopWords::new(["中华人民".into(), "一二三".into()].into_iter());
        assert!(contains(&set, "中华人民") && contains(&set, "一二三"));
        assert!(!contains(&set, "中华人") && !contains(&set, "中华人民共和国") && !contains(&set, "一二"));
    }
}
