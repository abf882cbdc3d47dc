//! From a text to the best path through its words, a chunk at a time.
//!
//! A chunk is some hundred characters up to a separator. Separators are part of the path with a score of 0 for all
//! that follows, which is what jieba starts from in every run between two of them; so a chunk with many runs is one
//! computation. Each step is a pass over the whole chunk almost without branches, so that the processor looks up many
//! characters at once instead of waiting for each in turn; a trial that walked down a trie at every character was a good
//! third slower. Nothing is stored of the words that are found but the best one at each character.

use super::dictionary::{Dictionary, NEVER, SINGLE_TAG, STARTS_OWN, Single};
use super::layout::*;
use crate::machine::{Machine, prefetch};

/// Characters of a chunk before it ends at the next separator.
pub(super) const CHUNK: usize = 256;
/// Entries behind the last character that may be read.
const PADDING: usize = 4;
/// Scratch that grew beyond this many characters is given back.
const KEPT: usize = 1 << 16;

/// A step of the path: the length of the word, and flags about its first character.
#[derive(Clone, Copy, Default)]
pub(super) struct Step(u32);

/// Where `layout`'s flags about single characters are in a step.
const FLAG_SHIFT: u32 = 19;

impl Step {
    const SEPARATOR: Step = Step(IS_SEPARATOR << FLAG_SHIFT | 1);

    /// Characters of the word.
    #[inline(always)]
    pub(super) fn length(self) -> usize {
        (self.0 & ((OF_MODEL << FLAG_SHIFT) - 1)) as usize
    }

    /// Whether it is a single character, and no separator.
    #[inline(always)]
    pub(super) fn is_single(self) -> bool {
        self.0 & !((OF_MODEL | ALPHANUMERIC) << FLAG_SHIFT) == 1
    }

    /// Whether it is a single ASCII letter or digit.
    #[inline(always)]
    pub(super) fn is_alphanumeric(self) -> bool {
        self.0 == ALPHANUMERIC << FLAG_SHIFT | 1
    }

    /// Whether it is a single character that the model for unknown words accepts.
    #[inline(always)]
    pub(super) fn is_single_of_model(self) -> bool {
        self.0 == OF_MODEL << FLAG_SHIFT | 1
    }
}

/// A chunk of a text and what is known about each of its characters.
#[derive(Default)]
pub(super) struct Chunk {
    /// How many characters there are.
    pub(super) len: usize,
    /// Codes, then separators as padding.
    pub(super) codes: Vec<u16>,
    /// Byte offsets in the text; one more for the end.
    pub(super) offsets: Vec<u32>,
    /// Where in the pair bitmap this character and the next are.
    words: Vec<u32>,
    /// What the lookup goes on with: a character, and where the tables have more about it.
    found: Vec<(u32, u32)>,
    /// The node of this character and the next, or 0.
    nodes: Vec<u64>,
    /// The node of this character and the next two, or 0.
    deep: Vec<u64>,
    /// Where in the double array the node of this character and the next three is, or 0.
    fourths: Vec<u32>,
    /// The score of the best path from here on.
    scores: Vec<f64>,
    /// The first step of that path.
    pub(super) steps: Vec<Step>,
    /// The tag of that word.
    pub(super) tags: Vec<u8>,
    /// Runs of single characters on that path: the number of the first one's word, and of its character.
    pub(super) runs: Vec<(u32, u32)>,
}

/// The tag of a word of the user's: look it up there.
pub(super) const OWN_TAG: u8 = u8::MAX;

impl Chunk {
    fn make_room(&mut self, len: usize) {
        let len = len + PADDING;
        if self.codes.len() < len {
            self.codes.resize(len, SEPARATOR);
            self.offsets.resize(len, 0);
            self.words.resize(len, 0);
            self.found.resize(len, (0, 0));
            self.nodes.resize(len, 0);
            self.deep.resize(len, 0);
            self.fourths.resize(len, 0);
            self.scores.resize(len, 0.0);
            self.steps.resize(len, Step::SEPARATOR);
            self.tags.resize(len, 0);
            self.runs.resize(len, (0, 0));
        }
    }

    /// Whether any word starts with the character and the next.
    #[inline(always)]
    pub(super) fn has_pair(&self, at: usize) -> bool {
        self.nodes[at] != 0
    }

    /// The node of the character and the next, or 0.
    #[inline(always)]
    pub(super) fn node(&self, at: usize) -> u64 {
        self.nodes[at]
    }

    /// Gives memory back that only a text without separators needed.
    pub(super) fn release(&mut self) {
        if self.codes.len() > KEPT {
            *self = Self::default();
        }
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
        self.steps[len] = Step::SEPARATOR;
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
        let (nodes, deep) = (&mut self.nodes[..len], &mut self.deep[..len]);
        let (fourths, found) = (&mut self.fourths[..len], &mut self.found[..len]);
        let words = &mut self.words[..len];
        // References of their own: else the compiler reads the addresses again after every store.
        let (rows, all_pairs) = (&*dictionary.fixed.rows, &*dictionary.fixed.pairs);
        let (all_nodes, all_deep) = (&*dictionary.nodes, &*dictionary.deep);
        for ((place, &first), &second) in words.iter_mut().zip(codes).zip(&codes[1..]) {
            let word = Dictionary::word_of_pair(rows, first, second) as usize % PAIRS;
            *place = word as u32;
            prefetch(&all_pairs[word]);
        }
        // Of each list only what goes on is kept, at its front: that is not even half of the pairs.
        let mut pairs = 0;
        for (at, (&word, &second)) in words.iter().zip(&codes[1..]).enumerate() {
            let (node, is_there) = Dictionary::node_in_word(all_pairs[word as usize % PAIRS], second);
            found[pairs] = (at as u32, node);
            pairs += is_there as usize;
        }
        for &(_, node) in &found[..pairs] {
            prefetch(&all_nodes[node as usize % NODES]);
        }
        nodes.fill(0);
        let mut thirds = 0;
        for number in 0..pairs {
            let (at, node) = found[number];
            let node = all_nodes[node as usize % NODES];
            nodes[at as usize] = node;
            let (third, may_be) = Dictionary::third(node, codes[at as usize + 2]);
            found[thirds] = (at, third);
            thirds += may_be as usize;
        }
        for &(_, third) in &found[..thirds] {
            prefetch(&all_deep[third as usize % DEEP]);
        }
        deep.fill(0);
        let mut longer = 0;
        for number in 0..thirds {
            let (at, third) = found[number];
            let node = all_deep[third as usize % DEEP];
            let node = node & Dictionary::child_mask(node, codes[at as usize + 2]);
            deep[at as usize] = node;
            let fourth = Dictionary::further(node, codes[at as usize + 3]);
            prefetch(&all_deep[fourth as usize % DEEP]);
            found[longer] = (at, fourth);
            longer += usize::from(fourth != 0);
        }
        // The path takes a branch for these, so only those that are there.
        fourths.fill(0);
        for &(at, fourth) in &found[..longer] {
            let node = all_deep[fourth as usize % DEEP];
            fourths[at as usize] = fourth & Dictionary::child_mask(node, codes[at as usize + 3]) as u32;
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
        let (nodes, deep, fourths) = (&self.nodes[..len], &self.deep[..len], &self.fourths[..len]);
        let (steps, tags) = (&mut self.steps[..len], &mut self.tags[..len]);
        // The scores of what follows one, two and three characters.
        let mut rest = [0.0; 3];
        for at in (0..len).rev() {
            let Single { weight, about } = dictionary.singles[usize::from(codes[at]) % CODES];
            let weight_of = |node: u64| dictionary.weights[node as usize % WEIGHTS];
            // One, two and three characters without a branch: which it is can hardly be predicted.
            let one = weight + rest[0];
            let two = weight_of(nodes[at]) + rest[1];
            let three = weight_of(deep[at]) + rest[2];
            // The score of one comes last: the sooner the next character can go on with the best, the better.
            let more = if two > three { two } else { three };
            let three_wins = u32::from(three >= two).wrapping_neg();
            let more_wins = u32::from(more >= one).wrapping_neg();
            let mut best = if one > more { one } else { more };
            let mut length = select(more_wins, select(three_wins, 3, 2), 1);
            let mut tag = if TAGS {
                let of_node = |node: u64| (node >> TAG_SHIFT & NO_TAG) as u32;
                select(
                    more_wins,
                    select(three_wins, of_node(deep[at]), of_node(nodes[at])),
                    about & SINGLE_TAG,
                )
            } else {
                0
            };
            if fourths[at] != 0 {
                let (mut next, mut end) = (fourths[at], at + 4);
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
            // Logarithms of probabilities are never positive, but a separator's weight is infinite: it takes the score
            // of all that follows away.
            best = if best < 0.0 { best } else { 0.0 };
            scores[at] = best;
            steps[at] = Step(length | (about & (OF_MODEL | ALPHANUMERIC | IS_SEPARATOR)) << FLAG_SHIFT);
            if TAGS {
                tags[at] = tag as u8;
            }
            rest = [best, rest[0], rest[1]];
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
fn chunk_at<T, const N: usize>(entries: &[T], at: usize) -> Option<&[T; N]> {
    entries.get(at..)?.first_chunk()
}

#[inline(always)]
fn chunk_at_mut<T, const N: usize>(entries: &mut [T], at: usize) -> Option<&mut [T; N]> {
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
