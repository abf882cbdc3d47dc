//! From the best path to words: joins letters and digits, lets the model cut what is left in single characters, and
//! finds the tags.

use super::dictionary::{Dictionary, STARTS_OWN, tag_of};
use super::layout::*;
use super::model::TaggerScratch;
use super::own::OwnWords;
use super::route::{CHUNK, Chunk, OWN_TAG};
use crate::machine::{Machine, Work, prefetch, run};
use crate::span::Span;

/// Tags of words that are remembered, because a guess is long.
const CACHE: usize = 1 << 16;
/// Words of so many characters are remembered, with so many bits each.
const CACHED_LENGTH: usize = 4;
const RANK_BITS: u32 = 14;

/// What a thread needs to cut; it grows with the longest text without a separator.
#[derive(Default)]
pub(super) struct Scratch {
    chunk: Chunk,
    ends: Vec<u8>,
    tagger: TaggerScratch,
    /// The ranks of a word's characters, then its tag. Right for every dictionary: a user's words never get here.
    cache: Vec<u64>,
}

/// Where the words start, and the numbers of their tags.
#[derive(Default)]
pub(in crate::segment) struct Cuts {
    /// The last entry is the end of the text.
    pub(in crate::segment) offsets: Vec<u32>,
    /// Empty where no tags were asked for.
    pub(super) tags: Vec<u8>,
}

impl Cuts {
    /// The words, as spans of the text.
    pub(in crate::segment) fn words(&self) -> impl Iterator<Item = Span> {
        self.offsets.windows(2).map(|pair| Span { start: pair[0], end: pair[1] })
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
        cuts.offsets.clear();
        cuts.tags.clear();
        let mut at = 0;
        while at < text.len() {
            at = scratch.chunk.read(machine, self, text, at);
            // What is read next.
            for byte in text.as_bytes()[at..].iter().step_by(64).take(CHUNK * 3 / 64) {
                prefetch(byte);
            }
            scratch.chunk.look_up(self);
            scratch.chunk.find_path::<TAGS, OWN>(self, text);
            let from = cuts.offsets.len();
            cuts.offsets.resize(from + scratch.chunk.len, 0);
            let offsets = &mut cuts.offsets[from..];
            let len = if MODEL || TAGS {
                cuts.tags.resize(if TAGS { from + scratch.chunk.len } else { 0 }, 0);
                let tags = if TAGS { &mut cuts.tags[from..] } else { &mut [] };
                let mut words = Words { dictionary: self, text, scratch, offsets, tags, before: 0 };
                if MODEL { words.emit_with_model::<TAGS, OWN>() } else { words.emit_with_tags::<OWN>() }
            } else {
                emit(&scratch.chunk, offsets)
            };
            cuts.offsets.truncate(from + len);
            cuts.tags.truncate(from + len);
        }
        cuts.offsets.push(text.len() as u32);
        scratch.chunk.release();
    }
}

/// Words without model and tags: the steps of the path, but letters and digits in a row joined. Returns how many.
#[inline(always)]
fn emit(chunk: &Chunk, offsets: &mut [u32]) -> usize {
    let (steps, starts) = (&chunk.steps[..chunk.len], &chunk.offsets[..chunk.len]);
    let (mut at, mut len) = (0, 0);
    let mut joins = false;
    while let (Some(&step), Some(&start), Some(place)) = (steps.get(at), starts.get(at), offsets.get_mut(len))
    {
        *place = start;
        let is_alphanumeric = step.is_alphanumeric();
        // One that joins the last word is overwritten by the next one.
        len += usize::from(!(is_alphanumeric && joins));
        joins = is_alphanumeric;
        at += step.length();
    }
    len
}

/// Turns the path of a chunk into words.
struct Words<'a> {
    dictionary: &'a Dictionary,
    text: &'a str,
    scratch: &'a mut Scratch,
    /// Room for as many words as the chunk has characters.
    offsets: &'a mut [u32],
    tags: &'a mut [u8],
    /// How many more characters than words there are before the run of single characters at hand.
    before: usize,
}

/// The offset of a word that was joined to the one before it. No word starts there: texts are shorter.
const JOINED: u32 = u32::MAX;

impl Words<'_> {
    /// Words without the model, with tags. Returns how many.
    #[inline(always)]
    fn emit_with_tags<const OWN: bool>(&mut self) -> usize {
        let (mut at, mut len) = (0, 0);
        while at < self.scratch.chunk.len {
            let steps = &self.scratch.chunk.steps;
            let step = steps[at];
            let mut end = at + step.length();
            while step.is_alphanumeric() && steps[end].is_alphanumeric() {
                end += 1;
            }
            let joined = step.is_alphanumeric() && end - at > 1;
            let tag = if joined { self.tag::<OWN>(at, end) } else { self.scratch.chunk.tags[at] };
            self.offsets[len] = self.scratch.chunk.offsets[at];
            self.tags[len] = tag;
            len += 1;
            at = end;
        }
        len
    }

    /// Words with the model: it joins some of the single characters that stand side by side. Returns how many.
    ///
    /// Where such runs are can hardly be predicted, and a wrong guess of the processor costs more than a word; so all
    /// steps become words first, without a branch, then the runs are gone through, and then what was joined goes.
    #[inline(always)]
    fn emit_with_model<const TAGS: bool, const OWN: bool>(&mut self) -> usize {
        let (len, runs) = self.emit_steps::<TAGS>();
        let first = self.scratch.chunk.runs[..runs].first().map_or(len, |run| run.0 as usize);
        for number in 0..runs {
            let (word, start) = self.scratch.chunk.runs[number];
            self.before = start as usize - word as usize;
            self.join_run::<TAGS, OWN>(start as usize);
        }
        let offsets = &mut self.offsets[..len];
        let tags = if TAGS { &mut self.tags[..len] } else { &mut [] };
        let mut kept = first;
        for word in first..len {
            let offset = offsets[word];
            offsets[kept] = offset;
            if TAGS {
                tags[kept] = tags[word];
            }
            kept += usize::from(offset != JOINED);
        }
        kept
    }

    /// Every step a word. Returns how many there are, and how many runs of two and more single characters.
    #[inline(always)]
    fn emit_steps<const TAGS: bool>(&mut self) -> (usize, usize) {
        let chunk = &mut self.scratch.chunk;
        let room = chunk.len;
        let (steps, starts, tags) = (&chunk.steps[..room], &chunk.offsets[..room], &chunk.tags[..room]);
        let offsets = &mut self.offsets[..room];
        let own_tags = if TAGS { &mut self.tags[..room] } else { &mut [] };
        let runs = &mut chunk.runs[..room];
        let (mut at, mut len, mut count) = (0, 0, 0);
        // Whether the last steps were single characters: a bit each.
        let mut singles = 0_u32;
        while let Some(&step) = steps.get(at) {
            offsets[len] = starts[at];
            if TAGS {
                own_tags[len] = tags[at];
            }
            singles = singles << 1 | u32::from(step.is_single());
            // The second of a run: its first one stands right before it.
            runs[count] = ((len as u32).wrapping_sub(1), (at as u32).wrapping_sub(1));
            count += usize::from(singles & 0b111 == 0b011);
            len += 1;
            at += step.length();
        }
        (len, count)
    }

    /// The words of the run of single characters that starts at `start`.
    #[inline(always)]
    fn join_run<const TAGS: bool, const OWN: bool>(&mut self, start: usize) {
        let chunk = &self.scratch.chunk;
        let (mut end, mut by_model) = (start, true);
        while chunk.steps[end].is_single() {
            by_model &= chunk.steps[end].is_single_of_model();
            end += 1;
        }
        // The common cases without a branch on what the model says, which can hardly be predicted. A word that lost
        // against its characters stays lost.
        if !TAGS && !OWN && by_model {
            let model = &self.dictionary.fixed.model;
            let words = &mut self.offsets[start - self.before..];
            match (&chunk.codes[start..end], words) {
                (&[first, second], [_, word, ..]) => {
                    let joined = model.joins(first, second) & tag_of(chunk.node(start)).is_none();
                    *word |= u32::from(joined).wrapping_neg();
                    return;
                }
                (&[first, second, third], [_, one, two, ..]) if !chunk.has_pair(start) => {
                    let ends = model.ends_of([first, second, third]);
                    *one |= u32::from(ends[0] == 0).wrapping_neg();
                    *two |= u32::from(ends[1] == 0).wrapping_neg();
                    return;
                }
                _ => {}
            }
        }
        self.join_long_run::<TAGS, OWN>(start, end);
    }

    fn join_long_run<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        if self.tag_in_dictionary(start, end).is_some() || OWN && self.is_own(start, end) {
            // A word that lost against its characters stays lost.
            return;
        }
        let mut at = start;
        while at < end {
            let steps = &self.scratch.chunk.steps;
            let of_model = steps[at].is_single_of_model();
            let mut stop = at + 1;
            while stop < end && steps[stop].is_single_of_model() == of_model {
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
                    let mut from = start;
                    for at in start..end {
                        if self.scratch.ends[at - start] != 0 {
                            self.join::<TAGS, OWN>(from, at + 1);
                            from = at + 1;
                        }
                    }
                } else {
                    let words = &mut self.offsets[start + 1 - self.before..end - self.before];
                    for (word, &ends) in words.iter_mut().zip(&self.scratch.ends) {
                        *word |= u32::from(ends == 0).wrapping_neg();
                    }
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
            let alphanumeric = |at: usize| at < end && self.scratch.chunk.steps[at].is_alphanumeric();
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
        self.dictionary.singles[usize::from(self.scratch.chunk.codes[at]) % CODES].about & flag != 0
    }

    /// Makes one word of single characters in the run at hand.
    #[inline(always)]
    fn join<const TAGS: bool, const OWN: bool>(&mut self, start: usize, end: usize) {
        if end - start > 1 {
            if TAGS {
                self.tags[start - self.before] = self.tag::<OWN>(start, end);
            }
            self.offsets[start + 1 - self.before..end - self.before].fill(JOINED);
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

    /// The tag of a word of two and more characters that the path does not have as such.
    fn tag<const OWN: bool>(&mut self, start: usize, end: usize) -> u8 {
        if OWN && self.is_own(start, end) {
            return OWN_TAG;
        }
        if end - start > CACHED_LENGTH {
            return self.find_tag(start, end);
        }
        let rank = |code: u16| u64::from(code / 64) * GROUP as u64 + u64::from(code % 64);
        let codes = &self.scratch.chunk.codes[start..end];
        let key = codes.iter().fold(0, |key, &code| key << RANK_BITS | rank(code));
        let place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % CACHE;
        match self.scratch.cache.get(place) {
            // No character has the rank 0, so an empty entry is no word's.
            Some(entry) if entry >> u8::BITS == key => *entry as u8,
            _ => {
                let tag = self.find_tag(start, end);
                self.scratch.cache.resize(CACHE, 0);
                self.scratch.cache[place] = key << u8::BITS | u64::from(tag);
                tag
            }
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
        let portable = (cuts.offsets.clone(), cuts.tags.clone());
        cut::<true>(dictionary, text, model, tags, &mut scratch, &mut cuts);
        [portable, (cuts.offsets, cuts.tags)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_processor_gives_the_same(text in nasty(), chinese in "[的一是在不了有和人这中大为上个国我,。a1]{0,600}") {
            let mut user = UserDictionary::default();
            user.add("的一是");
            let own = SHARED.with_words(user.words.keys().map(|word| (word.as_str(), None)));
            let text = format!("{text}{chinese}{text}");
            for dictionary in [&*SHARED, &own] {
                for (model, tags) in [(false, false), (false, true), (true, false), (true, true)] {
                    let [portable, newer] = both(dictionary, &text, model, tags);
                    prop_assert_eq!(portable, newer);
                }
            }
        }
    }
}
