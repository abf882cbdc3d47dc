//! A user's words: a small trie beside the dictionary, and a copy of the dictionary without the words it replaces.
//!
//! Building the stored tables anew takes far too long; so some are copied (11 MB), the words whose frequency the user
//! changes are taken out of the copy, and all of the user's words go into a trie of their own, which is asked only
//! where a character starts one of them. Its keys are characters, not codes: so no character is foreign to it,
//! be it outside the basic plane.

use super::dictionary::{Dictionary, NEVER, STARTS_OWN, log, tag_of};
use super::layout::*;

/// A trie over characters in an open hash table.
pub(super) struct OwnWords {
    /// Their number is a power of two, a good part of them free.
    slots: Vec<Slot>,
    /// Nodes so far; the root is 0.
    nodes: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Parent node and character, plus one; 0 in a free slot.
    key: u64,
    /// 0 where no word ends.
    frequency: u64,
    weight: f64,
    node: u32,
}

const FREE: Slot = Slot { key: 0, frequency: 0, weight: NEVER, node: 0 };

impl OwnWords {
    fn new() -> Self {
        Self { slots: vec![FREE; 64], nodes: 0 }
    }

    /// The slot of the child of `parent` for `c`, or the free one where it belongs.
    #[inline]
    fn slot(&self, parent: u32, c: char) -> usize {
        let key = key(parent, c);
        let mask = self.slots.len() - 1;
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].key != key && self.slots[at].key != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn insert(&mut self, word: &str, frequency: u64) {
        let (mut parent, mut at) = (0, 0);
        for c in word.chars() {
            if self.nodes as usize * 2 >= self.slots.len() {
                self.grow();
            }
            at = self.slot(parent, c);
            if self.slots[at].key == 0 {
                self.nodes += 1;
                self.slots[at] = Slot { key: key(parent, c), node: self.nodes, ..FREE };
            }
            parent = self.slots[at].node;
        }
        self.slots[at].frequency = frequency;
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.key != 0) {
            let at = self.slot(((slot.key - 1) >> CHAR_BITS) as u32, character(slot.key));
            self.slots[at] = slot;
        }
    }

    fn frequency(&self, word: &str) -> Option<u64> {
        let (mut parent, mut frequency) = (0, 0);
        for c in word.chars() {
            let slot = &self.slots[self.slot(parent, c)];
            if slot.key == 0 {
                return None;
            }
            (parent, frequency) = (slot.node, slot.frequency);
        }
        (frequency > 0).then_some(frequency)
    }

    /// Calls `each` with the length in characters, the weight and the frequency of every word that `text` starts
    /// with, the shortest first, up to the first separator.
    #[inline]
    pub(super) fn each_prefix(&self, text: &str, mut each: impl FnMut(usize, f64, u64)) {
        let mut parent = 0;
        for (length, c) in (1..).zip(text.chars().take_while(|&c| is_of_words(c))) {
            let slot = &self.slots[self.slot(parent, c)];
            if slot.key == 0 {
                return;
            }
            if slot.frequency > 0 {
                each(length, slot.weight, slot.frequency);
            }
            parent = slot.node;
        }
    }

    /// Whether `word` is one of them.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.frequency(word).is_some()
    }
}

/// The one word of jieba's dictionary with a character that is part of no word, and its frequency. No text is ever cut into
/// it, so it is not in the tables; but it is part of the sum of all frequencies.
const OUTSIDE: (&str, u64) = ("γ射线", 3);

const CHAR_BITS: u32 = 21;

fn key(parent: u32, c: char) -> u64 {
    (u64::from(parent) << CHAR_BITS | u64::from(c)) + 1
}

fn character(key: u64) -> char {
    char::from_u32((key - 1) as u32 & ((1 << CHAR_BITS) - 1)).unwrap_or_default()
}

impl Dictionary {
    /// A copy with words added one after the other, as jieba's `add_word` does: one without a frequency gets the one
    /// that makes it win over its parts, as the dictionary knows them by then.
    pub(super) fn with_words<'a>(&self, words: impl Iterator<Item = (&'a str, Option<u32>)>) -> Self {
        let mut dictionary = self.copy();
        let mut own = OwnWords::new();
        for (word, frequency) in words.filter(|(word, _)| !word.is_empty()) {
            let frequency = frequency.map_or_else(|| dictionary.suggest(&own, word), u64::from);
            let before = dictionary.frequency_of(&own, word).unwrap_or(0);
            dictionary.total = dictionary.total + frequency - before;
            dictionary.take_out(word);
            own.insert(word, frequency);
        }
        dictionary.weigh(dictionary.total);
        let log_total = log(dictionary.total);
        for slot in own.slots.iter_mut().filter(|slot| slot.frequency > 0) {
            slot.weight = log(slot.frequency) - log_total;
        }
        for slot in own.slots.iter().filter(|slot| slot.key != 0 && (slot.key - 1) >> CHAR_BITS == 0) {
            let code = dictionary.code(character(slot.key));
            let single = &mut dictionary.singles[usize::from(code)];
            single.about |= STARTS_OWN;
            if single.about >> SINGLE_WEIGHT_SHIFT == WEIGHT_OF_ONE as u32 {
                // It may start a word here and none there; where none, the route gives it this weight again.
                single.weight = NEVER;
            }
        }
        dictionary.own = Some(own);
        dictionary
    }

    /// The frequency of a word, if there is such a word.
    fn frequency_of(&self, own: &OwnWords, word: &str) -> Option<u64> {
        own.frequency(word).or_else(|| {
            if word == OUTSIDE.0 {
                return Some(OUTSIDE.1);
            }
            let codes: Vec<u16> = word.chars().map(|c| self.code(c)).collect();
            let weight = match codes[..] {
                [code] => self.singles[usize::from(code)].about as usize >> SINGLE_WEIGHT_SHIFT,
                _ => self.node(&codes).filter(|found| tag_of(found.node).is_some())?.node as usize % WEIGHTS,
            };
            (weight != NO_WEIGHT && weight != WEIGHT_OF_ONE).then(|| self.frequency(weight))
        })
    }

    /// Takes the weight of a word away, but leaves its tag.
    fn take_out(&mut self, word: &str) {
        let codes: Vec<u16> = word.chars().map(|c| self.code(c)).collect();
        if let [code] = codes[..] {
            let about = &mut self.singles[usize::from(code)].about;
            if *about >> SINGLE_WEIGHT_SHIFT != WEIGHT_OF_ONE as u32 {
                *about &= (1 << SINGLE_WEIGHT_SHIFT) - 1;
            }
        } else if let Some(found) = self.node(&codes) {
            let tables: &mut [u64] = if found.deep { &mut *self.deep } else { &mut *self.nodes };
            tables[found.at] &= !(WEIGHTS as u64 - 1);
        }
    }

    /// jieba's `suggest_freq`: the frequency with which a word is as probable as its parts together, and one more.
    fn suggest(&self, own: &OwnWords, word: &str) -> u64 {
        let log_total = log(self.total);
        let logarithm = self
            .parts(own, word)
            .into_iter()
            .fold(0.0, |sum, part| sum + log(self.frequency_of(own, part).unwrap_or(1)) - log_total);
        let suggested = (logarithm + log_total).exp() as u64 + 1;
        suggested.max(self.frequency_of(own, word).unwrap_or(1))
    }

    /// The words of a text without the model, the slow way: for words that are being added.
    fn parts<'a>(&self, own: &OwnWords, text: &'a str) -> Vec<&'a str> {
        let characters: Vec<(usize, char)> = text.char_indices().collect();
        let offset = |at: usize| characters.get(at).map_or(text.len(), |&(offset, _)| offset);
        let ends = self.best_ends(own, text, &characters);
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(&(start, c)) = characters.get(at) {
            let mut end = ends[at];
            let joins =
                |at: usize| ends.get(at) == Some(&(at + 1)) && characters[at].1.is_ascii_alphanumeric();
            if joins(at) {
                while joins(end) {
                    end += 1;
                }
            } else if c == '\r' && text[start..].starts_with("\r\n") {
                end += 1;
            }
            parts.push(&text[start..offset(end)]);
            at = end;
        }
        parts
    }

    /// Where the best word from each character on ends.
    fn best_ends(&self, own: &OwnWords, text: &str, characters: &[(usize, char)]) -> Vec<usize> {
        let log_total = log(self.total);
        let codes: Vec<u16> = characters.iter().map(|&(_, c)| self.code(c)).collect();
        let mut rest = vec![0.0; codes.len() + 1];
        let mut ends = vec![0; codes.len()];
        for at in (0..codes.len()).rev() {
            if codes[at] == SEPARATOR {
                (rest[at], ends[at]) = (0.0, at + 1);
                continue;
            }
            let mut best: Option<(f64, usize)> = None;
            let mut offer = |length: usize, frequency: u64| {
                let score = log(frequency) - log_total + rest[at + length];
                if best.is_none_or(|best| score > best.0 || score == best.0 && at + length > best.1) {
                    best = Some((score, at + length));
                }
            };
            let single = self.singles[usize::from(codes[at])].about as usize >> SINGLE_WEIGHT_SHIFT;
            if single > WEIGHT_OF_ONE {
                offer(1, self.frequency(single));
            }
            self.each_prefix(&codes[at..], |length, node| {
                offer(length, self.frequency(node as usize % WEIGHTS));
            });
            own.each_prefix(&text[characters[at].0..], |length, _, frequency| offer(length, frequency));
            let fallback = || (0.0 - log_total + rest[at + 1], at + 1);
            (rest[at], ends[at]) = best.unwrap_or_else(fallback);
        }
        ends
    }
}
