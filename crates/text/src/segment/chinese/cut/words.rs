//! The words of a chunk: single characters that the model joins, letters and digits in a row, and the tags of what was joined.

use super::super::dictionary::{Dictionary, STARTS_OWN, tag_of};
use super::super::layout::*;
use super::super::own::OwnWords;
use super::super::route::{BLOCK, OWN_TAG, chunk_at, class};
use super::Scratch;
use crate::machine::{Machine, prefetch_in};

/// Tags of words that are remembered, because a guess is long.
const CACHE: usize = 1 << 16;
/// Words of so many characters are remembered, with so many bits each.
const CACHED_LENGTH: usize = 4;
const RANK_BITS: u32 = 14;

/// A word of two and more characters that the path does not have as such.
#[derive(Clone, Copy, Default)]
pub(super) struct Untagged {
    start: u32,
    end: u32,
    /// The ranks of its characters, if they fit.
    key: u64,
}

/// Turns the path of a chunk into words.
pub(super) struct Words<'a> {
    pub(super) dictionary: &'a Dictionary,
    pub(super) text: &'a str,
    pub(super) scratch: &'a mut Scratch,
}

impl Words<'_> {
    /// Without the model, letters and digits in a row become a word; with its tag.
    #[inline(always)]
    pub(super) fn join_alphanumerics<const OWN: bool>(&mut self, machine: impl Machine) {
        let mut last = (0, 0);
        for block in 0..self.scratch.chunk.len.div_ceil(BLOCK) {
            let chunk = &self.scratch.chunk;
            let Some(classes) = chunk_at(&chunk.classes, block * BLOCK) else { break };
            let bits = machine.bits::<{ class::ALPHANUMERIC }>(classes) & chunk.singles[block];
            each_bit(bits, |bit| {
                let at = block * BLOCK + bit;
                if at != last.1 || at == 0 {
                    if last.1 > last.0 {
                        self.join::<true, OWN>(last.0, last.1);
                    }
                    last = (at, at + 1);
                } else {
                    last.1 = at + 1;
                }
            });
        }
        if last.1 > last.0 {
            self.join::<true, OWN>(last.0, last.1);
        }
    }

    /// With the model: it joins some of the single characters that stand side by side.
    ///
    /// How long such runs are can hardly be predicted, and a wrong guess of the processor costs more than a word; so those of
    /// two characters, of three and of more are gone through one after the other.
    #[inline(always)]
    pub(super) fn join_singles<const TAGS: bool, const OWN: bool>(&mut self) {
        let blocks = self.scratch.chunk.len.div_ceil(BLOCK);
        for block in 0..blocks {
            let singles = &self.scratch.chunk.singles[..blocks];
            let firsts = singles[block] & !earlier::<1>(singles, block) & later::<1>(singles, block);
            let third = later::<2>(singles, block);
            let fourth = later::<3>(singles, block);
            each_bit(firsts & !third, |bit| self.join_two::<TAGS, OWN>(block * BLOCK + bit));
            each_bit(firsts & third & !fourth, |bit| self.join_three::<TAGS, OWN>(block * BLOCK + bit));
            each_bit(firsts & third & fourth, |bit| {
                let start = block * BLOCK + bit;
                let mut end = start + 4;
                while self.scratch.chunk.is_single(end) {
                    end += 1;
                }
                self.join_long_run::<TAGS, OWN>(start, end);
            });
        }
    }

    /// The words of a run of two single characters.
    #[inline(always)]
    fn join_two<const TAGS: bool, const OWN: bool>(&mut self, start: usize) {
        let chunk = &mut self.scratch.chunk;
        let by_model = chunk.classes[start] & chunk.classes[start + 1] & 1 << class::OF_MODEL != 0;
        if OWN || !by_model {
            return self.join_long_run::<TAGS, OWN>(start, start + 2);
        }
        // A word that lost against its characters stays lost.
        let lost = tag_of(chunk.node(start)).is_some();
        let joined = self.dictionary.fixed.model.joins(chunk.codes[start], chunk.codes[start + 1]) & !lost;
        chunk.starts[start + 1] = u8::from(!joined);
        if TAGS {
            self.put_off(start, start + 2, joined);
        }
    }

    /// The words of a run of three single characters.
    #[inline(always)]
    fn join_three<const TAGS: bool, const OWN: bool>(&mut self, start: usize) {
        let chunk = &mut self.scratch.chunk;
        let classes = chunk.classes[start] & chunk.classes[start + 1] & chunk.classes[start + 2];
        if OWN || classes & 1 << class::OF_MODEL == 0 || chunk.has_pair(start) {
            return self.join_long_run::<TAGS, OWN>(start, start + 3);
        }
        let codes = [0, 1, 2].map(|at| chunk.codes[start + at]);
        let ends = self.dictionary.fixed.model.ends_of(codes);
        if TAGS {
            return self.join_by_ends::<TAGS, OWN>(start, &ends);
        }
        chunk.starts[start + 1] = ends[0];
        chunk.starts[start + 2] = ends[1];
    }

    /// Words that end where `ends` says so.
    #[inline(always)]
    fn join_by_ends<const TAGS: bool, const OWN: bool>(&mut self, start: usize, ends: &[u8]) {
        let mut from = start;
        for (at, &ends) in ends.iter().enumerate() {
            if ends != 0 {
                self.join::<TAGS, OWN>(from, start + at + 1);
                from = start + at + 1;
            }
        }
    }

    fn join_long_run<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        if self.tag_in_dictionary(start, end).is_some() || OWN && self.is_own(start, end) {
            // A word that lost against its characters stays lost.
            return;
        }
        let mut at = start;
        while at < end {
            let classes = &self.scratch.chunk.classes;
            let is_of_model = |at: usize| classes[at] & 1 << class::OF_MODEL != 0;
            let of_model = is_of_model(at);
            let mut stop = at + 1;
            while stop < end && is_of_model(stop) == of_model {
                stop += 1;
            }
            if of_model {
                self.join_by_model::<TAGS, OWN>(at, stop);
            } else {
                self.join_foreign::<TAGS, OWN>(at, stop);
            }
            at = stop;
        }
    }

    /// Words of characters that the model accepts.
    #[inline(always)]
    fn join_by_model<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        let model = &self.dictionary.fixed.model;
        let codes = &self.scratch.chunk.codes[start..end];
        match *codes {
            [_] => {}
            [first, second] => {
                if model.joins(first, second) {
                    self.join::<TAGS, OWN>(start, end);
                }
            }
            _ => {
                model.ends(codes, &mut self.scratch.ends);
                if TAGS {
                    let ends = std::mem::take(&mut self.scratch.ends);
                    self.join_by_ends::<TAGS, OWN>(start, &ends);
                    self.scratch.ends = ends;
                } else {
                    let Scratch { chunk, ends, .. } = &mut *self.scratch;
                    chunk.starts[start + 1..end].copy_from_slice(&ends[..ends.len() - 1]);
                }
            }
        }
    }

    /// Words of other characters: numbers, identifiers and the like whole, whatever is between them whole.
    fn join_foreign<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        const DOT: u16 = code_of_rank(FIRST_SIGN + 3);
        const UNDERSCORE: u16 = code_of_rank(FIRST_SIGN + 4);
        const PERCENT: u16 = code_of_rank(FIRST_SIGN + 5);
        const MINUS: u16 = code_of_rank(FIRST_SIGN + 6);
        let mut at = start;
        while at < end {
            let classes = &self.scratch.chunk.classes;
            let alphanumeric = |at: usize| at < end && classes[at] & 1 << class::ALPHANUMERIC != 0;
            let code = |at: usize| self.scratch.chunk.codes[at];
            let mut stop = at;
            if alphanumeric(at) {
                loop {
                    while alphanumeric(stop) {
                        stop += 1;
                    }
                    let connects = stop < end && matches!(code(stop), DOT | UNDERSCORE | MINUS);
                    if !(connects && alphanumeric(stop + 1)) {
                        break;
                    }
                    stop += 1;
                }
                stop += usize::from(stop < end && code(stop) == PERCENT);
            } else {
                while stop < end && !alphanumeric(stop) {
                    stop += 1;
                }
            }
            self.join::<TAGS, OWN>(at, stop);
            at = stop;
        }
    }

    #[inline(always)]
    fn is(&self, at: usize, flag: u32) -> bool {
        self.dictionary.singles[usize::from(self.scratch.chunk.codes[at])].about & flag != 0
    }

    /// Makes one word of single characters in the run at hand.
    #[inline(always)]
    fn join<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        if end - start > 1 {
            if TAGS {
                self.put_off(start, end, true);
            }
            self.scratch.chunk.starts[start + 1..end].fill(0);
        }
    }

    /// Whether the word of two and more characters is the user's.
    #[inline]
    fn is_own(&self, start: usize, end: usize) -> bool {
        let offsets = &self.scratch.chunk.offsets;
        let is = |own: &OwnWords| own.contains(&self.text[offsets[start] as usize..offsets[end] as usize]);
        self.is(start, STARTS_OWN) && self.dictionary.own.as_ref().is_some_and(is)
    }

    /// The tag of the word of two and more characters, if the dictionary has it.
    #[inline]
    fn tag_in_dictionary(&self, start: usize, end: usize) -> Option<u8> {
        if !self.scratch.chunk.has_pair(start) {
            return None;
        }
        self.dictionary.node(&self.scratch.chunk.codes[start..end]).and_then(|found| tag_of(found.node))
    }

    /// Room for all words that may be put off, and for the remembered tags.
    #[inline(always)]
    pub(super) fn make_room(&mut self) {
        let Scratch { chunk, untagged, untagged_len, cache, .. } = &mut *self.scratch;
        *untagged_len = 0;
        if untagged.len() < chunk.len {
            untagged.resize(chunk.len, Untagged::default());
        }
        if cache.is_empty() {
            cache.resize(CACHE, 0);
        }
    }

    /// Notes a word, if it is one, for [`Words::find_tags`]; what is remembered about it is far away in memory.
    #[inline(always)]
    fn put_off(&mut self, start: usize, end: usize, is_word: bool) {
        let Scratch { chunk, untagged, untagged_len, cache, .. } = &mut *self.scratch;
        let rank = |code: u16| u64::from(code / 64) * GROUP as u64 + u64::from(code % 64);
        let codes = &chunk.codes[start..end];
        let key = if codes.len() > CACHED_LENGTH {
            0
        } else {
            codes.iter().fold(0, |key, &code| key << RANK_BITS | rank(code))
        };
        prefetch_in(cache, place_of(key));
        if let Some(place) = untagged.get_mut(*untagged_len) {
            *place = Untagged { start: start as u32, end: end as u32, key };
            *untagged_len += usize::from(is_word);
        }
    }

    /// The tags of the words that were put off.
    #[inline(always)]
    pub(super) fn find_tags<const OWN: bool>(&mut self) {
        for number in 0..self.scratch.untagged_len {
            let Untagged { start, end, key } = self.scratch.untagged[number];
            let entry = self.scratch.cache[place_of(key)];
            // No character has the rank 0, so an empty entry is no word's, and the key of a long word no entry's.
            let is_remembered = key != 0 && entry >> u8::BITS == key;
            let (start, end) = (start as usize, end as usize);
            self.scratch.chunk.tags[start] = if OWN && self.is_own(start, end) {
                OWN_TAG
            } else if is_remembered {
                entry as u8
            } else {
                let tag = self.find_tag(start, end);
                if key != 0 {
                    self.scratch.cache[place_of(key)] = key << u8::BITS | u64::from(tag);
                }
                tag
            };
        }
    }

    /// The dictionary's tag, or one by the form, or a guess.
    fn find_tag(&mut self, start: usize, end: usize) -> u8 {
        if let Some(tag) = self.tag_in_dictionary(start, end) {
            return tag;
        }
        let fixed = &self.dictionary.fixed;
        let count = |flag: u32| (start..end).filter(|&at| self.is(at, flag)).count();
        match (count(ALPHANUMERIC), count(DIGIT)) {
            (0, _) if count(HAN) == 0 => fixed.other,
            (0, _) => {
                let Scratch { chunk, tagger, .. } = &mut *self.scratch;
                fixed.tagger.guess(&chunk.codes[start..end], &chunk.offsets[start..=end], tagger)
            }
            (letters, digits) if letters == digits => fixed.number,
            _ => fixed.english,
        }
    }
}

/// Where the tag of a word is remembered.
#[inline(always)]
fn place_of(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % CACHE
}

/// The bits of a block and of those before it: each bit stands for the character `COUNT` before.
#[inline(always)]
fn earlier<const COUNT: u32>(bits: &[u64], block: usize) -> u64 {
    let before = block.checked_sub(1).map_or(0, |before| bits[before]);
    bits[block] << COUNT | before >> (u64::BITS - COUNT)
}

/// The bits of a block and of those behind it: each bit stands for the character `COUNT` behind.
#[inline(always)]
fn later<const COUNT: u32>(bits: &[u64], block: usize) -> u64 {
    let behind = bits.get(block + 1).copied().unwrap_or(0);
    bits[block] >> COUNT | behind << (u64::BITS - COUNT)
}

/// Calls `each` with the number of every bit that is set.
#[inline(always)]
pub(super) fn each_bit(mut bits: u64, mut each: impl FnMut(usize)) {
    while bits != 0 {
        each(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
