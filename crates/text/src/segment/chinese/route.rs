//! From a text to the best path through its words, a chunk at a time.
//!
//! A chunk is some hundred characters up to a separator. Separators are part of the path with a score of 0 for all
//! that follows, which is what jieba starts from in every run between two of them; so a chunk with many runs is one
//! computation. Each step is a pass over the whole chunk almost without branches, so that the processor looks up many
//! characters at once instead of waiting for each in turn; a trial that walked down a trie at every character was a good
//! third slower. Of the words that are found only the best one at each character is remembered.

use super::dictionary::{Dictionary, NEVER, SINGLE_TAG, STARTS_OWN, Single};
use super::layout::*;
use crate::machine::{Machine, prefetch_in};

/// Characters of a chunk before it ends at the next separator.
pub(super) const CHUNK: usize = 256;
/// Entries behind the last character that may be read.
const PADDING: usize = 4;
/// Scratch that grew beyond this many characters is given back.
const KEPT: usize = 1 << 16;

/// Bits of a character's class: what `layout` says about it, from bit 8 on.
pub(super) mod class {
    use super::super::layout::{ALPHANUMERIC as ALNUM, IS_SEPARATOR, OF_MODEL as MODEL};
    /// Where classes start.
    pub(in super::super) const SHIFT: u32 = 8;
    /// Number of the bit of a character that the model for unknown words accepts.
    pub(in super::super) const OF_MODEL: i32 = (MODEL >> SHIFT).trailing_zeros() as i32;
    /// Number of the bit of an ASCII letter or digit.
    pub(in super::super) const ALPHANUMERIC: i32 = (ALNUM >> SHIFT).trailing_zeros() as i32;
    /// Number of the bit of a separator.
    pub(in super::super) const SEPARATOR: i32 = (IS_SEPARATOR >> SHIFT).trailing_zeros() as i32;
}

/// The class of a separator.
const SEPARATES: u8 = 1 << class::SEPARATOR;
/// Characters that become a number of bits together.
pub(super) const BLOCK: usize = 64;

/// A chunk of a text and what is known about each of its characters.
#[derive(Default)]
pub(super) struct Chunk {
    /// How many characters there are.
    pub(super) len: usize,
    /// Codes, then separators as padding.
    pub(super) codes: Vec<u16>,
    /// Byte offsets in the text; one more for the end.
    pub(super) offsets: Vec<u32>,
    /// The row of this character in the pair bitmap, then where in it this character and the next are, then which node they
    /// have, or 0.
    pairs: Vec<u32>,
    /// The nodes of this character and the next.
    nodes: Vec<u64>,
    /// Where in the double array the node of this character and the next two is, or 0.
    thirds: Vec<u32>,
    /// The weights of the words of two and of three characters that start here: ahead of time, because every step along the
    /// path waits for the one before it.
    weights: Vec<[f64; 2]>,
    /// What the lookup goes on with: a character, and where in the double array there is more about it.
    found: Vec<(u32, u32)>,
    /// How many there are with words of four and more characters.
    longer: usize,
    /// The score of the best path from here on.
    scores: Vec<f64>,
    /// How many characters the first word of that path has.
    lengths: Vec<u32>,
    /// What kind of character it is: see [`class`].
    pub(super) classes: Vec<u8>,
    /// 1 where a word of the path starts, else 0.
    pub(super) starts: Vec<u8>,
    /// The tag of that word.
    pub(super) tags: Vec<u8>,
    /// A bit for each single character on that path that is no separator, a number for each block.
    pub(super) singles: Vec<u64>,
}

/// The tag of a word of the user's: look it up there.
pub(super) const OWN_TAG: u8 = u8::MAX;

impl Chunk {
    fn make_room(&mut self, len: usize) {
        let len = len + PADDING;
        if self.codes.len() < len {
            self.codes.resize(len, SEPARATOR);
            self.offsets.resize(len + BLOCK, 0);
            self.pairs.resize(len, 0);
            self.nodes.resize(len, 0);
            self.thirds.resize(len, 0);
            self.weights.resize(len, [0.0; 2]);
            self.found.resize(len, (0, 0));
            self.scores.resize(len, 0.0);
            self.lengths.resize(len, 1);
            self.tags.resize(len + BLOCK, 0);
            let blocks = len / BLOCK + 2;
            self.classes.resize(blocks * BLOCK, SEPARATES);
            self.starts.resize(blocks * BLOCK, 1);
            self.singles.resize(blocks, 0);
        }
    }

    /// Whether any word starts with the character and the next.
    #[inline(always)]
    pub(super) fn has_pair(&self, at: usize) -> bool {
        self.pairs[at] != 0
    }

    /// The node of the character and the next, or 0.
    #[inline(always)]
    pub(super) fn node(&self, at: usize) -> u64 {
        self.nodes[at]
    }

    /// Whether a word of the path is this one character, and no separator.
    #[inline(always)]
    pub(super) fn is_single(&self, at: usize) -> bool {
        self.singles.get(at / BLOCK).is_some_and(|singles| singles >> (at % BLOCK) & 1 != 0) && at < self.len
    }

    /// Gives memory back that only a text without separators needed; whether there was such a text.
    pub(super) fn release(&mut self) -> bool {
        let is_long = self.codes.len() > KEPT;
        if is_long {
            *self = Self::default();
        }
        is_long
    }

    /// Reads characters from `text` at `from` on, and returns where the chunk ends.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        machine: impl Machine,
        dictionary: &Dictionary,
        text: &str,
        from: usize,
    ) -> usize {
        self.make_room(CHUNK);
        let (mut at, mut len) = self.read_first(machine, dictionary, text, from);
        while at < text.len() && self.codes[len - 1] != SEPARATOR {
            if len + PADDING == self.codes.len() {
                self.make_room(len * 2);
            }
            let (code, bytes) = character(dictionary, text, at);
            (self.codes[len], self.offsets[len]) = (code, at as u32);
            len += 1;
            at += bytes;
        }
        self.len = len;
        self.offsets[len] = at as u32;
        self.codes[len..len + PADDING].fill(SEPARATOR);
        self.scores[len..len + PADDING].fill(0.0);
        at
    }

    /// Reads until the chunk or the text is full.
    #[inline(always)]
    fn read_first(
        &mut self,
        machine: impl Machine,
        dictionary: &Dictionary,
        text: &str,
        from: usize,
    ) -> (usize, usize) {
        let (Some(codes), Some(offsets)) =
            (self.codes.first_chunk_mut::<CHUNK>(), self.offsets.first_chunk_mut::<CHUNK>())
        else {
            return (from, 0);
        };
        let bytes = text.as_bytes();
        let of_basic = &*dictionary.fixed.codes;
        let (mut at, mut len) = (from, 0);
        while len < CHUNK && at < bytes.len() {
            while let (Some(sixteen), Some(codes), Some(offsets)) =
                (chunk_at(bytes, at), chunk_at_mut::<_, 4>(codes, len), chunk_at_mut(offsets, len))
                && let Some(four) = machine.four_of_three(sixteen)
            {
                *codes = four.map(|point| of_basic[point as usize % (1 << 16)]);
                *offsets = [0, 3, 6, 9].map(|bytes| at as u32 + bytes);
                at += 12;
                len += 4;
            }
            if len == CHUNK || at == bytes.len() {
                break;
            }
            offsets[len] = at as u32;
            if let Some(&[a, b, c]) = bytes.get(at..).and_then(|rest| rest.first_chunk())
                && a & 0xF0 == 0xE0
            {
                let basic = (u16::from(a) << 12) | (u16::from(b) & 63) << 6 | u16::from(c) & 63;
                codes[len] = of_basic[usize::from(basic)];
                at += 3;
            } else {
                let (code, bytes) = character(dictionary, text, at);
                codes[len] = code;
                at += bytes;
            }
            len += 1;
        }
        (at, len)
    }

    /// Looks up which words start at each character.
    #[inline(always)]
    pub(super) fn look_up(&mut self, dictionary: &Dictionary) {
        let len = self.len;
        let codes = &self.codes[..len + PADDING];
        let (pairs, thirds) = (&mut self.pairs[..len], &mut self.thirds[..len]);
        let nodes = &mut self.nodes[..len];
        let (found, weights) = (&mut self.found[..len], &mut self.weights[..len]);
        // References of their own: else the compiler reads the addresses again after every store.
        let (rows, all_pairs) = (&*dictionary.fixed.rows, &*dictionary.fixed.pairs);
        let (all_nodes, all_deep) = (&*dictionary.nodes, &*dictionary.deep);
        let weight_of = |node: u64| dictionary.weights[node as usize % WEIGHTS];
        // Loops that do nothing but compute are done for several characters at once; so what is fetched is fetched apart.
        pairs.iter_mut().zip(codes).for_each(|(row, &first)| *row = rows[usize::from(first)]);
        for (place, &second) in pairs.iter_mut().zip(&codes[1..]) {
            *place = Dictionary::word_of_pair(*place, second);
        }
        pairs.iter().for_each(|&place| prefetch_in(all_pairs, place as usize));
        for (place, &second) in pairs.iter_mut().zip(&codes[1..]) {
            let (node, is_there) = Dictionary::node_in_word(all_pairs[*place as usize % PAIRS], second);
            *place = node & is_there.wrapping_neg();
            prefetch_in(all_nodes, *place as usize);
        }
        let none = weight_of(0);
        for ((weights, node), &pair) in weights.iter_mut().zip(&mut *nodes).zip(&*pairs) {
            *node = all_nodes[pair as usize % NODES];
            *weights = [weight_of(*node), none];
        }
        for ((place, &node), &code) in thirds.iter_mut().zip(&*nodes).zip(&codes[2..]) {
            let (third, may_be) = Dictionary::third(node, code);
            *place = third & may_be.wrapping_neg();
        }
        let mut count = 0;
        for (at, &third) in thirds.iter().enumerate() {
            prefetch_in(all_deep, third as usize);
            found[count] = (at as u32, third);
            count += usize::from(third != 0);
        }
        let mut longer = 0;
        for number in 0..count {
            let (at, third) = found[number];
            let node = all_deep[third as usize % DEEP];
            let mask = Dictionary::child_mask(node, codes[at as usize + 2]);
            weights[at as usize][1] = weight_of(node & mask);
            thirds[at as usize] = third & mask as u32;
            let fourth = Dictionary::further(node & mask, codes[at as usize + 3]);
            prefetch_in(all_deep, fourth as usize);
            found[longer] = (at, fourth);
            longer += usize::from(fourth != 0);
        }
        // The path takes a branch for these, so only those that are there.
        self.longer = 0;
        for number in 0..longer {
            let (at, fourth) = found[number];
            let is_there = Dictionary::is_child(all_deep[fourth as usize % DEEP], codes[at as usize + 3]);
            found[self.longer] = (at, fourth);
            self.longer += usize::from(is_there);
        }
    }

    /// Finds the best path, from right to left, with jieba's own sums: weight and rest, the longest word in a tie.
    #[inline(always)]
    pub(super) fn find_path<const TAGS: bool, const OWN: bool>(
        &mut self,
        dictionary: &Dictionary,
        text: &str,
    ) {
        let len = self.len;
        let codes = &self.codes[..len + PADDING];
        let scores = &mut self.scores[..len + PADDING];
        let weights = &self.weights[..len];
        let mut longer = self.found[..self.longer].iter().rev().map(|&(at, fourth)| (at as usize, fourth));
        let mut next_longer = longer.next().unwrap_or((usize::MAX, 0));
        let (lengths, classes) = (&mut self.lengths[..len], &mut self.classes[..len]);
        let tags = &mut self.tags[..len];
        // The scores of what follows one, two and three characters.
        let mut rest = [0.0; 3];
        for at in (0..len).rev() {
            let Single { weight, about, floor } = dictionary.singles[usize::from(codes[at])];
            let weight_of = |node: u64| dictionary.weights[node as usize % WEIGHTS];
            classes[at] = (about >> class::SHIFT) as u8;
            // One, two and three characters without a branch: which it is can hardly be predicted.
            let one = weight + rest[0];
            let two = weights[at][0] + rest[1];
            let three = weights[at][1] + rest[2];
            // The score of one comes last: the sooner the next character can go on with the best, the better.
            let more = if two > three { two } else { three };
            let floor = f64::from(floor);
            let floored = if more > floor { more } else { floor };
            let three_wins = u32::from(three >= two).wrapping_neg();
            let more_wins = u32::from(more >= one).wrapping_neg();
            let mut best = if one > floored { one } else { floored };
            let mut length = select(more_wins, select(three_wins, 3, 2), 1);
            let mut tag = if TAGS {
                let of_node = |node: u64| (node >> TAG_SHIFT & NO_TAG) as u32;
                let pair = of_node(self.nodes[at]);
                let third = of_node(dictionary.deep[self.thirds[at] as usize % DEEP]);
                select(more_wins, select(three_wins, third, pair), about & SINGLE_TAG)
            } else {
                0
            };
            if next_longer.0 == at {
                // What is not known to count along with the others is not counted along, at every character.
                let at = std::hint::black_box(at);
                let (mut next, mut end) = (next_longer.1, at + 4);
                next_longer = longer.next().unwrap_or((usize::MAX, 0));
                while let (Some(&code), Some(&rest)) = (codes.get(end - 1), scores.get(end)) {
                    let node = dictionary.deep[next as usize % DEEP];
                    if !Dictionary::is_child(node, code) {
                        break;
                    }
                    let score = weight_of(node) + rest;
                    if score >= best {
                        (best, length) = (score, (end - at) as u32);
                        if TAGS {
                            tag = (node >> TAG_SHIFT & NO_TAG) as u32;
                        }
                    }
                    next = Dictionary::further(node, codes[end]);
                    end += 1;
                }
            }
            if OWN
                && about & STARTS_OWN != 0
                && let Some(own) = &dictionary.own
            {
                own.each_prefix(&text[self.offsets[at] as usize..], |own_length, weight, _| {
                    let score = weight + scores[at + own_length];
                    if score > best || score == best && own_length as u32 >= length {
                        (best, length, tag) = (score, own_length as u32, u32::from(OWN_TAG));
                    }
                });
            }
            if best == NEVER {
                // No word starts here, though the character starts words elsewhere.
                (best, length) = (dictionary.weight_of_one + rest[0], 1);
                if TAGS {
                    tag = about & SINGLE_TAG;
                }
            }
            scores[at] = best;
            lengths[at] = length;
            if TAGS {
                tags[at] = tag as u8;
            }
            rest = [best, rest[0], rest[1]];
        }
    }

    /// Marks where the words of the path start.
    #[inline(always)]
    pub(super) fn mark_starts(&mut self) {
        let len = self.len;
        let end = len.next_multiple_of(BLOCK);
        self.starts[..len].fill(0);
        self.starts[len..end + 1].fill(1);
        self.classes[len..end + 1].fill(SEPARATES);
        // Every step waits for the one before it. A word starts at every separator, so the chunk's second half can be gone
        // through at the same time.
        let middle = self.classes[len / 2..len].iter().position(|class| class & SEPARATES != 0);
        let middle = middle.map_or(len, |at| len / 2 + at);
        let (first, second) = self.lengths[..len].split_at(middle);
        let (first_starts, second_starts) = self.starts[..len].split_at_mut(middle);
        let (first_starts, second_starts) =
            (&mut first_starts[..first.len()], &mut second_starts[..second.len()]);
        let (mut one, mut two) = (0, 0);
        while one < first.len() && two < second.len() {
            first_starts[one] = 1;
            second_starts[two] = 1;
            one += first[one] as usize;
            two += second[two] as usize;
        }
        while one < first.len() {
            first_starts[one] = 1;
            one += first[one] as usize;
        }
        while two < second.len() {
            second_starts[two] = 1;
            two += second[two] as usize;
        }
    }

    /// Finds the single characters on the path.
    #[inline(always)]
    pub(super) fn find_singles(&mut self, machine: impl Machine) {
        let blocks = self.len.div_ceil(BLOCK);
        for (number, singles) in self.singles[..blocks].iter_mut().enumerate() {
            let at = number * BLOCK;
            let (Some(starts), Some(nexts), Some(classes)) =
                (chunk_at(&self.starts, at), chunk_at(&self.starts, at + 1), chunk_at(&self.classes, at))
            else {
                return;
            };
            let separators = machine.bits::<{ class::SEPARATOR }>(classes);
            *singles = machine.bits::<0>(starts) & machine.bits::<0>(nexts) & !separators;
        }
    }
}

/// One of two numbers by a mask of all bits or none.
#[inline(always)]
fn select(mask: u32, yes: u32, no: u32) -> u32 {
    no ^ (yes ^ no) & mask
}

/// So many entries from `at` on.
#[inline(always)]
pub(super) fn chunk_at<T, const N: usize>(entries: &[T], at: usize) -> Option<&[T; N]> {
    entries.get(at..)?.first_chunk()
}

#[inline(always)]
pub(super) fn chunk_at_mut<T, const N: usize>(entries: &mut [T], at: usize) -> Option<&mut [T; N]> {
    entries.get_mut(at..)?.first_chunk_mut()
}

/// The code and the bytes of the character at `at`; `"\r\n"` counts as one.
#[inline]
fn character(dictionary: &Dictionary, text: &str, at: usize) -> (u16, usize) {
    let rest = &text[at..];
    match rest.chars().next() {
        Some('\r') if rest.as_bytes().get(1) == Some(&b'\n') => (SEPARATOR, 2),
        Some(c) => (dictionary.code(c), c.len_utf8()),
        None => (SEPARATOR, 1),
    }
}
