//! The dictionary at run time: the stored tables, unpacked once and shared, or a copy of some with a user's words.

use std::sync::{Arc, LazyLock};

use super::layout::*;
use super::model::{Model, Tagger};
use super::own::OwnWords;
use crate::segment::Tag;

/// The score of what cannot be: no sum with it is ever chosen.
pub(super) const NEVER: f64 = f64::NEG_INFINITY;

/// The dictionary that comes with jieba, unpacked when the first Chinese text asks for it and shared by all.
pub(super) static SHARED: LazyLock<Dictionary> = LazyLock::new(|| {
    static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/jieba.bin.zst"));
    Dictionary::unpack(PACKED).unwrap_or_else(|fault| unreachable!("the build script wrote {fault}"))
});

/// Entries of a table that a code cannot leave; the second half is never touched.
pub(super) const ALL_CODES: usize = 1 << 16;

/// Mask of the tag of a single character.
pub(super) const SINGLE_TAG: u32 = 0xFF;
/// A word of the user starts with the character. The only bit of `layout` that the stored file never has.
pub(super) const STARTS_OWN: u32 = 1 << 13;

/// A single character: its weight as a word, and what `layout` says about it.
#[derive(Clone, Copy, Default)]
pub(super) struct Single {
    pub(super) weight: f64,
    pub(super) about: u32,
    /// The least score of the path from here on: 0 for a separator, which takes the score of all that follows away
    /// (logarithms of probabilities are never positive). No bound for others.
    pub(super) floor: f32,
}

/// What a user's words do not change.
pub(super) struct Fixed {
    pub(super) codes: Box<[u16; 1 << 16]>,
    pub(super) rows: Box<[u32; ALL_CODES]>,
    pub(super) pairs: Box<[u64; PAIRS]>,
    pub(super) model: Model,
    pub(super) tagger: Tagger,
    /// The distinct frequencies by number of the weight.
    frequencies: Vec<u32>,
    /// All tags by number.
    pub(super) tags: Vec<Tag>,
    /// Tag of everything else.
    pub(super) other: u8,
    /// Tag of numbers.
    pub(super) number: u8,
    /// Tag of words in Latin letters.
    pub(super) english: u8,
}

/// Words with their weights and tags, and the models for words that are not among them.
pub(super) struct Dictionary {
    pub(super) fixed: Arc<Fixed>,
    pub(super) singles: Box<[Single; ALL_CODES]>,
    pub(super) nodes: Box<[u64; NODES]>,
    pub(super) deep: Box<[u64; DEEP]>,
    pub(super) weights: Box<[f64; WEIGHTS]>,
    /// The sum of all frequencies.
    pub(super) total: u64,
    /// The weight of a character that starts no word: frequency 1.
    pub(super) weight_of_one: f64,
    /// The user's words; `None` for the shared dictionary.
    pub(super) own: Option<OwnWords>,
}

impl Dictionary {
    /// The dictionary from the file that the build script wrote.
    fn unpack(packed: &[u8]) -> Result<Self, &'static str> {
        /// More than the file has.
        const LIMIT: usize = 32 << 20;
        let file = zstd::bulk::decompress(packed, LIMIT).map_err(|_| "a file that does not decompress")?;
        let file = File::open(&file).ok_or("a file that is cut short")?;
        let names = str::from_utf8(file.section(Section::Tags)).map_err(|_| "broken names of tags")?;
        let (all, of_tagger) = names.split_once('\n').ok_or("no names of tags")?;
        let number = |name: &str| all.split(' ').position(|known| known == name).unwrap_or(0) as u8;
        let f64s = |section| file.numbers(section, f64::from_le_bytes);
        let broken = "a table that is too large";
        let fixed = Fixed {
            codes: boxed(&file.numbers(Section::Codes, u16::from_le_bytes)).ok_or(broken)?,
            rows: boxed(&file.numbers(Section::Rows, u32::from_le_bytes)).ok_or(broken)?,
            pairs: boxed(&file.numbers(Section::Pairs, u64::from_le_bytes)).ok_or(broken)?,
            model: Model {
                start: *boxed(&f64s(Section::ModelStart)).ok_or(broken)?,
                steps: *boxed(f64s(Section::ModelSteps).as_chunks().0).ok_or(broken)?,
                emissions: f64s(Section::ModelEmissions).as_chunks().0.to_vec(),
            },
            tagger: Tagger {
                rows: file.numbers(Section::TaggerRows, u32::from_le_bytes),
                states: file.section(Section::TaggerStates).to_vec(),
                emissions: f64s(Section::TaggerEmissions),
                start: boxed(&f64s(Section::TaggerStart)).ok_or(broken)?,
                between: boxed(&f64s(Section::TaggerBetween)).ok_or(broken)?,
                within: boxed(f64s(Section::TaggerWithin).as_chunks().0).ok_or(broken)?,
                tags: *boxed(&of_tagger.split(' ').map(number).collect::<Vec<_>>()).ok_or(broken)?,
                unknown: number("x"),
            },
            frequencies: file.numbers(Section::Frequencies, u32::from_le_bytes),
            tags: all.split(' ').map(|name| Tag::new(name).unwrap_or_default()).collect(),
            other: number("x"),
            number: number("m"),
            english: number("eng"),
        };
        let single = |bytes| Single { weight: 0.0, about: u32::from_le_bytes(bytes), floor: 0.0 };
        let about = file.numbers(Section::Singles, single);
        let mut dictionary = Self {
            fixed: Arc::new(fixed),
            singles: boxed(&about).ok_or(broken)?,
            nodes: boxed(&file.numbers(Section::Nodes, u64::from_le_bytes)).ok_or(broken)?,
            deep: boxed(&file.numbers(Section::Deep, u64::from_le_bytes)).ok_or(broken)?,
            weights: boxed(&[]).ok_or(broken)?,
            total: 0,
            weight_of_one: 0.0,
            own: None,
        };
        dictionary.weigh(file.total);
        Ok(dictionary)
    }

    /// A copy whose words can be changed.
    pub(super) fn copy(&self) -> Self {
        let Self { fixed, singles, nodes, deep, weights, total, weight_of_one, own: _ } = self;
        Self {
            fixed: Arc::clone(fixed),
            singles: singles.clone(),
            nodes: nodes.clone(),
            deep: deep.clone(),
            weights: weights.clone(),
            total: *total,
            weight_of_one: *weight_of_one,
            own: None,
        }
    }

    /// Computes all weights for this sum of all frequencies, with jieba's own operations in its order. At run time,
    /// because the logarithm is the machine's and has to be the same for the user's words.
    pub(super) fn weigh(&mut self, total: u64) {
        let log_total = log(total);
        self.total = total;
        for (weight, &frequency) in self.weights.iter_mut().zip(&self.fixed.frequencies) {
            *weight = if frequency == 0 { NEVER } else { log(u64::from(frequency)) - log_total };
        }
        self.weight_of_one = self.weights[WEIGHT_OF_ONE];
        for single in self.singles.iter_mut().take(CODES) {
            let number = single.about >> SINGLE_WEIGHT_SHIFT;
            let separates = single.about & IS_SEPARATOR != 0;
            single.weight = if separates { 0.0 } else { self.weights[number as usize % WEIGHTS] };
            single.floor = if separates { 0.0 } else { NEVER as f32 };
        }
    }

    /// The frequency behind the number of a weight.
    pub(super) fn frequency(&self, weight: usize) -> u64 {
        self.fixed.frequencies.get(weight).map_or(0, |&frequency| u64::from(frequency))
    }

    /// Whether a text is a word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.contains(word)) || self.tag(word).is_some()
    }

    /// The tag of a word, if it is one.
    pub(super) fn tag(&self, word: &str) -> Option<Tag> {
        let codes: Vec<u16> = word.chars().map(|c| self.code(c)).collect();
        let number = match codes[..] {
            [code] => {
                let about = self.singles[usize::from(code)].about;
                (about as usize >> SINGLE_WEIGHT_SHIFT > WEIGHT_OF_ONE).then_some((about & SINGLE_TAG) as u8)
            }
            _ => self.node(&codes).and_then(|found| tag_of(found.node)),
        };
        number.map(|number| self.fixed.tags[usize::from(number)])
    }

    /// The code of a character.
    #[inline]
    pub(super) fn code(&self, c: char) -> u16 {
        match u16::try_from(u32::from(c)) {
            Ok(basic) => self.fixed.codes[usize::from(basic)],
            Err(_) if is_han(u32::from(c)) => UNKNOWN,
            Err(_) => SEPARATOR,
        }
    }

    /// Where in the bitmap the word for `first` and `second` is.
    #[inline(always)]
    pub(super) fn word_of_pair(row: u32, second: u16) -> u32 {
        (row >> ROW_BITS) + (u32::from(second) / 64).min(row & ((1 << ROW_BITS) - 1))
    }

    /// The node for the second character of the pair, from that word, and 1 if there is one, else 0.
    #[inline(always)]
    pub(super) fn node_in_word(word: u64, second: u16) -> (u32, u32) {
        let bit = u32::from(second) % 64;
        let before = (word & ((1 << bit) - 1)).count_ones();
        ((word >> GROUP) as u32 + before, (word >> bit) as u32 & 1)
    }

    /// The node of the characters `first` and `second`, or 0.
    fn node_of_pair(&self, first: u16, second: u16) -> usize {
        let word = Self::word_of_pair(self.fixed.rows[usize::from(first)], second);
        let (node, is_there) = Self::node_in_word(self.fixed.pairs[word as usize % PAIRS], second);
        (node * is_there) as usize
    }

    /// Where in the double array the child of `node` for `code` is if there is one, and 1 if there may be one as far as
    /// the filter of a node of two characters knows, else 0.
    #[inline(always)]
    pub(super) fn third(node: u64, code: u16) -> (u32, u32) {
        let code = u32::from(code);
        let may_be = node >> (FILTER_BY_CODE + code % 16) & node >> (FILTER_BY_GROUP + code / 64 % 8) & 1;
        (((node >> BASE_SHIFT) & BASE_MASK) as u32 + code, may_be as u32)
    }

    /// The same in one number for a node of three and more characters: 0, where nothing is, if there is none.
    #[inline(always)]
    pub(super) fn further(node: u64, code: u16) -> u32 {
        let code = u32::from(code);
        let passes = node >> (DEEP_FILTER + code % 8) & 1;
        (((node >> BASE_SHIFT) & BASE_MASK) as u32 + code) & (passes as u32).wrapping_neg()
    }

    /// The same for either kind of node.
    #[inline]
    fn child(node: u64, deep: bool, code: u16) -> u32 {
        if deep {
            return Self::further(node, code);
        }
        let (at, may_be) = Self::third(node, code);
        at * may_be
    }

    /// Whether a node of the double array is the child for `code`.
    #[inline(always)]
    pub(super) fn is_child(node: u64, code: u16) -> bool {
        node >> CHECK_SHIFT & CHECK_MASK == u64::from(code)
    }

    /// The same as a mask of all bits or none, without a branch.
    #[inline(always)]
    pub(super) fn child_mask(node: u64, code: u16) -> u64 {
        let difference = node >> CHECK_SHIFT & CHECK_MASK ^ u64::from(code);
        ((difference as i64 - 1) >> 63) as u64
    }

    /// The node of two and more characters at the end of these codes, if words go on so far.
    #[inline]
    pub(super) fn node(&self, codes: &[u16]) -> Option<Found> {
        let [first, second, rest @ ..] = codes else { return None };
        let at = self.node_of_pair(*first, *second);
        let mut found = Found { at, deep: false, node: self.nodes[at % NODES] };
        for &code in rest {
            let at = Self::child(found.node, found.deep, code);
            found = Found { at: at as usize, deep: true, node: self.deep[at as usize % DEEP] };
            if !Self::is_child(found.node, code) {
                return None;
            }
        }
        (found.at != 0).then_some(found)
    }

    /// Calls `each` with the length and the node of every word of two and more characters that starts `codes`.
    pub(super) fn each_prefix(&self, codes: &[u16], mut each: impl FnMut(usize, u64)) {
        let [first, second, rest @ ..] = codes else { return };
        let mut node = self.nodes[self.node_of_pair(*first, *second) % NODES];
        let mut length = 2;
        if node as usize % WEIGHTS != NO_WEIGHT {
            each(length, node);
        }
        for &code in rest {
            let at = Self::child(node, length > 2, code);
            node = self.deep[at as usize % DEEP];
            if !Self::is_child(node, code) {
                return;
            }
            length += 1;
            if node as usize % WEIGHTS != NO_WEIGHT {
                each(length, node);
            }
        }
    }
}

/// The tag of a node where a word ends.
#[inline]
pub(super) fn tag_of(node: u64) -> Option<u8> {
    let tag = node >> TAG_SHIFT & NO_TAG;
    (tag != NO_TAG && node != 0).then_some(tag as u8)
}

/// A node and where it is.
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) deep: bool,
    pub(super) node: u64,
}

/// jieba's logarithm of a frequency.
pub(super) fn log(frequency: u64) -> f64 {
    (frequency as f64).ln()
}

/// The file that the build script wrote.
struct File<'a> {
    total: u64,
    sections: [&'a [u8]; SECTIONS],
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Option<Self> {
        let (header, mut rest) = bytes.split_at_checked(HEADER)?;
        let (magic, header) = header.split_first_chunk::<4>()?;
        let (version, header) = header.split_first_chunk::<4>()?;
        let (total, header) = header.split_first_chunk::<8>()?;
        if *magic != MAGIC || u32::from_le_bytes(*version) != VERSION {
            return None;
        }
        let mut sections = [&bytes[..0]; SECTIONS];
        for (section, length) in sections.iter_mut().zip(header.as_chunks::<4>().0) {
            (*section, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        }
        Some(Self { total: u64::from_le_bytes(*total), sections })
    }

    fn section(&self, section: Section) -> &'a [u8] {
        self.sections[section as usize]
    }

    fn numbers<T, const N: usize>(&self, section: Section, from_bytes: impl Fn([u8; N]) -> T) -> Vec<T> {
        self.section(section).as_chunks().0.iter().map(|&bytes| from_bytes(bytes)).collect()
    }
}

/// A table of a fixed size, so that an index can be masked instead of checked; `None` if there are too many entries.
/// What is behind the last entry is never written, so that it takes no memory.
fn boxed<T: Copy + Default, const N: usize>(entries: &[T]) -> Option<Box<[T; N]>> {
    let mut table = vec![T::default(); N];
    table.get_mut(..entries.len())?.copy_from_slice(entries);
    table.into_boxed_slice().try_into().ok()
}
