//! From the best path to words: joins letters and digits, lets the model cut what is left in single characters, and
//! finds the tags.

mod words;

use super::dictionary::Dictionary;
use super::model::TaggerScratch;
use super::route::{BLOCK, CHUNK, Chunk, chunk_at, chunk_at_mut, class};
use crate::machine::{Machine, Work, prefetch_in, run};
use crate::span::Span;
use words::{Untagged, Words, each_bit};

/// What a thread needs to cut; it grows with the longest text without a separator.
#[derive(Default)]
pub(super) struct Scratch {
    chunk: Chunk,
    ends: Vec<u8>,
    tagger: TaggerScratch,
    /// Joined words of the chunk whose tags are still to be found.
    untagged: Vec<Untagged>,
    /// How many of them.
    untagged_len: usize,
    /// The ranks of a word's characters, then its tag. Right for every dictionary: a user's words never get here.
    cache: Vec<u64>,
}

impl Scratch {
    /// Gives memory back that only a text without separators needed.
    fn release(&mut self) {
        if self.chunk.release() {
            (self.ends, self.untagged) = (Vec::new(), Vec::new());
        }
    }
}

/// Where the words start, and the numbers of their tags.
#[derive(Default)]
pub(in crate::segment) struct Cuts {
    /// Where words start, and the end of the text; then what was there before.
    offsets: Vec<u32>,
    /// How many of them.
    len: usize,
    /// Empty where no tags were asked for.
    pub(super) tags: Vec<u8>,
    /// The classes of the first characters, where they were asked for; then what was there before.
    classes: Vec<u8>,
    pub(super) wants_classes: bool,
}

impl Cuts {
    /// Where the words start. The last entry is the end of the text.
    pub(in crate::segment) fn offsets(&self) -> &[u32] {
        &self.offsets[..self.len]
    }

    /// The same, to be had; what is given for it is memory to be used again.
    pub(super) fn swap_offsets(&mut self, offsets: &mut Vec<u32>) {
        self.offsets.truncate(self.len);
        std::mem::swap(&mut self.offsets, offsets);
    }

    fn classes(&self) -> &[u8] {
        &self.classes[..self.len - 1]
    }

    /// Makes room for the words of a chunk of so many characters.
    fn make_room(&mut self, characters: usize) {
        let room = self.len + characters + 8;
        self.offsets.resize(self.offsets.len().max(room), 0);
        if self.wants_classes {
            self.classes.resize(self.classes.len().max(room), 0);
        }
    }

    /// The words, as spans of the text.
    pub(in crate::segment) fn words(&self) -> impl Iterator<Item = Span> {
        self.offsets().windows(2).map(|pair| Span { start: pair[0], end: pair[1] })
    }

    /// The word of a number.
    pub(in crate::segment) fn word(&self, number: usize) -> Span {
        Span { start: self.offsets()[number], end: self.offsets()[number + 1] }
    }

    /// For every word, if classes were asked for, whether it begins with a Han character of those that nearly all do; if not
    /// it may be a rare one.
    #[inline(always)]
    pub(in crate::segment) fn begin_with_han(&self) -> impl Iterator<Item = bool> {
        self.classes().iter().map(|class| class >> class::OF_MODEL & 1 != 0)
    }

    /// Hands out the numbers of the words of which that is not true.
    #[inline(always)]
    pub(in crate::segment) fn each_without_han(&self, machine: impl Machine, mut see: impl FnMut(usize)) {
        let (blocks, rest) = self.classes().as_chunks::<BLOCK>();
        let mut last = [u8::MAX; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (block, classes) in blocks.iter().chain([&last]).enumerate() {
            each_bit(!machine.bits::<{ class::OF_MODEL }>(classes), |bit| see(block * BLOCK + bit));
        }
    }

    /// Gives memory back beyond that for `words`.
    pub(super) fn release(&mut self, words: usize) {
        if self.offsets.capacity() > words {
            *self = Self::default();
        }
    }
}

/// Replaces `cuts` by the words of `text`, and their tags where asked for. `NEWER`: see [`run`].
pub(super) fn cut<const NEWER: bool>(
    dictionary: &Dictionary,
    text: &str,
    model: bool,
    tags: bool,
    scratch: &mut Scratch,
    cuts: &mut Cuts,
) {
    match (model, tags, dictionary.own.is_some()) {
        (false, false, false) => run::<NEWER>(Cut::<false, false, false> { dictionary, text, scratch, cuts }),
        (false, false, true) => run::<NEWER>(Cut::<false, false, true> { dictionary, text, scratch, cuts }),
        (false, true, false) => run::<NEWER>(Cut::<false, true, false> { dictionary, text, scratch, cuts }),
        (false, true, true) => run::<NEWER>(Cut::<false, true, true> { dictionary, text, scratch, cuts }),
        (true, false, false) => run::<NEWER>(Cut::<true, false, false> { dictionary, text, scratch, cuts }),
        (true, false, true) => run::<NEWER>(Cut::<true, false, true> { dictionary, text, scratch, cuts }),
        (true, true, false) => run::<NEWER>(Cut::<true, true, false> { dictionary, text, scratch, cuts }),
        (true, true, true) => run::<NEWER>(Cut::<true, true, true> { dictionary, text, scratch, cuts }),
    }
}

/// One call of [`cut`], compiled for each combination of what is asked for and each kind of processor.
struct Cut<'a, const MODEL: bool, const TAGS: bool, const OWN: bool> {
    dictionary: &'a Dictionary,
    text: &'a str,
    scratch: &'a mut Scratch,
    cuts: &'a mut Cuts,
}

impl<const MODEL: bool, const TAGS: bool, const OWN: bool> Work for Cut<'_, MODEL, TAGS, OWN> {
    #[inline(always)]
    fn run(self, machine: impl Machine) {
        let Self { dictionary, text, scratch, cuts } = self;
        dictionary.cut::<MODEL, TAGS, OWN>(machine, text, scratch, cuts);
    }
}

impl Dictionary {
    /// Replaces `cuts` by the words of `text`.
    #[inline(always)]
    fn cut<const MODEL: bool, const TAGS: bool, const OWN: bool>(
        &self,
        machine: impl Machine,
        text: &str,
        scratch: &mut Scratch,
        cuts: &mut Cuts,
    ) {
        cuts.len = 0;
        cuts.tags.clear();
        let mut at = 0;
        while at < text.len() {
            at = scratch.chunk.read(machine, self, text, at);
            // What is read next.
            for line in 0..CHUNK * 3 / 64 {
                prefetch_in(text.as_bytes(), at + line * 64);
            }
            scratch.chunk.look_up(self);
            scratch.chunk.find_path::<TAGS, OWN>(self, text);
            scratch.chunk.mark_starts();
            scratch.chunk.find_singles(machine);
            if MODEL || TAGS {
                let mut words = Words { dictionary: self, text, scratch };
                if TAGS {
                    words.make_room();
                }
                if MODEL {
                    words.join_singles::<TAGS, OWN>();
                } else {
                    words.join_alphanumerics::<OWN>(machine);
                }
                if TAGS {
                    words.find_tags::<OWN>();
                }
            }
            scratch.chunk.collect::<MODEL, TAGS>(machine, cuts);
        }
        cuts.make_room(0);
        cuts.offsets[cuts.len] = text.len() as u32;
        cuts.len += 1;
        scratch.release();
    }
}

impl Chunk {
    /// Appends the words that are marked; without model and tags letters and digits in a row are joined.
    #[inline(always)]
    fn collect<const MODEL: bool, const TAGS: bool>(&self, machine: impl Machine, cuts: &mut Cuts) {
        cuts.make_room(self.len);
        cuts.tags.resize(if TAGS { cuts.len + self.len + 8 } else { 0 }, 0);
        let mut len = cuts.len;
        // Whether the last character was a single letter or digit.
        let mut joins = 0;
        for block in 0..self.len.div_ceil(BLOCK) {
            let at = block * BLOCK;
            let (Some(starts), Some(offsets), Some(classes), Some(tags)) = (
                chunk_at(&self.starts, at),
                chunk_at::<_, BLOCK>(&self.offsets, at),
                chunk_at::<_, BLOCK>(&self.classes, at),
                chunk_at::<_, BLOCK>(&self.tags, at),
            ) else {
                break;
            };
            let mut starts = machine.bits::<0>(starts);
            if !MODEL && !TAGS {
                let singles = machine.bits::<{ class::ALPHANUMERIC }>(classes) & self.singles[block];
                starts &= !(singles & (singles << 1 | joins));
                joins = singles >> (BLOCK - 1);
            }
            let left = self.len - at;
            starts &= if left < BLOCK { (1 << left) - 1 } else { u64::MAX };
            let of_eight = offsets.as_chunks().0.iter().zip(tags.as_chunks().0).zip(classes.as_chunks().0);
            for (eight, ((offsets, tags), classes)) in of_eight.enumerate().take(left.div_ceil(8)) {
                let mask = (starts >> (eight * 8)) as u8;
                if let Some(place) = chunk_at_mut(&mut cuts.offsets, len) {
                    machine.keep(mask, offsets, place);
                }
                if TAGS && let Some(place) = chunk_at_mut(&mut cuts.tags, len) {
                    *place = machine.keep_bytes(mask, *tags);
                }
                if cuts.wants_classes
                    && let Some(place) = chunk_at_mut(&mut cuts.classes, len)
                {
                    *place = machine.keep_bytes(mask, *classes);
                }
                len += mask.count_ones() as usize;
            }
        }
        cuts.tags.truncate(len);
        cuts.len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::super::UserDictionary;
    use super::super::dictionary::SHARED;
    use super::*;
    use crate::segment::contract::nasty;
    use proptest::prelude::*;

    /// What a processor without newer instructions makes of a text, and this one.
    fn both(dictionary: &Dictionary, text: &str, model: bool, tags: bool) -> [(Vec<u32>, Vec<u8>); 2] {
        let (mut scratch, mut cuts) = (Scratch::default(), Cuts::default());
        cut::<false>(dictionary, text, model, tags, &mut scratch, &mut cuts);
        let portable = (cuts.offsets().to_vec(), cuts.tags.clone());
        cut::<true>(dictionary, text, model, tags, &mut scratch, &mut cuts);
        [portable, (cuts.offsets().to_vec(), cuts.tags)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_processor_gives_the_same(
            text in nasty(),
            chinese in "[的一是在不了有和人这中大为上个国我,。a1]{0,600}",
            unbroken in "[的一是在不了有和人这中大为上个国我魑魅魍魉a1]{0,300}",
        ) {
            let mut user = UserDictionary::default();
            user.add("的一是");
            let own = SHARED.with_words(user.words.keys().map(|word| (word.as_str(), None)));
            let text = format!("{text}{chinese}{text}{unbroken}");
            for dictionary in [&*SHARED, &own] {
                for (model, tags) in [(false, false), (false, true), (true, false), (true, true)] {
                    let [portable, newer] = both(dictionary, &text, model, tags);
                    prop_assert_eq!(portable, newer);
                }
            }
        }
    }
}
