//! The default: Chinese by dictionary, every other script by Unicode's boundaries.
//!
//! jieba leaves a Russian or Korean sentence in single letters, and Unicode's rules leave a Chinese one in single
//! characters; so each gets what it understands. A run of jieba's own character class (Han, ASCII letters and
//! digits, `+#&._%-`) that holds a Han character goes to jieba whole, because its dictionary has words such as T恤
//! and 3D打印; everything else goes to Unicode. So inside such a run the words are exactly jieba's, and
//! between runs they may differ (numbers and Latin words on their own, rows of spaces).
//!
//! The dictionary cuts the whole text at once and what it says between runs is thrown away: it works in
//! chunks of some hundred characters, and runs are much shorter.

use super::chinese::{Chinese, Cuts, Wanted, first_bytes, is_of_words};
use super::{Segment, Tag, UnicodeWords, Word, WordKind, is_han, keep, tag_by_form};
use crate::filter::Filter;
use crate::machine::{self, Machine, Work};
use crate::span::Span;

/// Chinese words where there are Han characters, Unicode words elsewhere.
#[derive(Debug)]
pub struct Mixed {
    chinese: Chinese,
    unicode: UnicodeWords,
}

impl Mixed {
    /// Han runs go to `chinese`; the rest has tags if and only if it has.
    #[must_use]
    pub fn new(chinese: Chinese) -> Self {
        let unicode = UnicodeWords::new(chinese.tags());
        Self { chinese, unicode }
    }

    /// Replaces the contents of `words` by the words of `text`.
    fn cut<const TAGS: bool>(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        self.chinese.with_cuts(text, Wanted { tags: TAGS, classes: false }, |cuts| {
            words.reserve(cuts.offsets().len());
            let mut runs = Runs::new(self, text, cuts, true);
            for (number, span) in cuts.words().enumerate() {
                match class(text, span) {
                    Class::Han => {
                        runs.han(number, &mut |word| words.push(word));
                        let tag =
                            if TAGS { self.chinese.tag_of_cut(text, cuts, number, span) } else { Tag::NONE };
                        words.push(Word { span, tag, kind: WordKind::Word });
                    }
                    Class::Ascii => runs.ascii(number, &mut |word| words.push(word)),
                    Class::Other => runs.other(number, span),
                }
            }
            runs.end(&mut |word| words.push(word));
        });
    }

    /// Hands out what stands between two Han runs: mostly a comma or a full stop, which not everybody wants.
    fn each_other(&self, text: &str, part: Span, with_signs: bool, see: &mut impl FnMut(Word)) {
        let mut last = None;
        let is_plain = text[part.range()].chars().all(|c| {
            let twice = c == ' ' && last == Some(' ');
            last = Some(c);
            plain_kind(c).is_some() && !twice
        });
        if !is_plain {
            let mut words = Vec::new();
            self.unicode.append(text, part, &mut words);
            return words.into_iter().for_each(see);
        }
        if !with_signs {
            return;
        }
        let mut start = part.start;
        for c in text[part.range()].chars() {
            let span = Span { start, end: start + c.len_utf8() as u32 };
            let kind = plain_kind(c).unwrap_or(WordKind::Punctuation);
            let tag = if self.chinese.tags() { tag_by_form("", kind) } else { Tag::NONE };
            see(Word { span, tag, kind });
            start = span.end;
        }
    }
}

impl Segment for Mixed {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        if self.chinese.tags() { self.cut::<true>(text, words) } else { self.cut::<false>(text, words) }
    }

    /// Words that begin with a Han character first, which are nearly all, without a branch; then the others.
    fn segment_and_filter<'p>(
        &self,
        text: &str,
        filter: &Filter,
        words: &mut Vec<Word>,
        places: &'p mut Vec<Span>,
    ) -> &'p [Span] {
        if filter.has_stop_tags() {
            self.segment(text, words);
            return keep(text, filter, words, places);
        }
        let mut len = 0;
        self.chinese.with_cuts(text, Wanted { tags: false, classes: true }, |cuts| {
            machine::run::<true>(Keeping { mixed: self, text, cuts, filter, places, len: &mut len });
        });
        &places[..len]
    }
}

/// A text that has been cut, and what is kept of it.
struct Keeping<'a> {
    mixed: &'a Mixed,
    text: &'a str,
    cuts: &'a Cuts,
    filter: &'a Filter,
    /// Where the words stand that are kept; then what was there before.
    places: &'a mut Vec<Span>,
    /// How many of them.
    len: &'a mut usize,
}

impl Work for Keeping<'_> {
    #[inline(always)]
    fn run(mut self, machine: impl Machine) {
        self.keep_han();
        self.keep_others(machine);
    }
}

impl Keeping<'_> {
    #[inline(always)]
    fn keep_han(&mut self) {
        let Self { text, cuts, filter, places, .. } = self;
        places.resize(places.len().max(cuts.offsets().len()), Span::default());
        let (places, mut len) = (&mut places[..], 0);
        for (span, begins) in cuts.words().zip(cuts.begin_with_han()) {
            let Some(place) = places.get_mut(len) else { break };
            // What is not kept is overwritten by the next.
            *place = span;
            len += usize::from(begins & !filter.stops_at(text, span));
        }
        *self.len = len;
    }

    #[inline(always)]
    fn keep_others(self, machine: impl Machine) {
        let Self { mixed, text, cuts, filter, places, len } = self;
        let mut see = |word: Word| {
            if filter.keeps_at(text, word) {
                // Unicode's rules may find more words than the dictionary.
                places.resize(places.len().max(*len + 1), Span::default());
                places[*len] = word.span;
                *len += 1;
            }
        };
        let (mut runs, mut next) = (Runs::new(mixed, text, cuts, !filter.drops_signs()), 0);
        cuts.each_without_han(machine, |number| {
            if next < number {
                runs.han(next, &mut see);
            }
            let span = cuts.word(number);
            match class(text, span) {
                Class::Han => {
                    runs.han(number, &mut see);
                    see(Word { span, tag: Tag::NONE, kind: WordKind::Word });
                }
                Class::Ascii => runs.ascii(number, &mut see),
                Class::Other => runs.other(number, span),
            }
            next = number + 1;
        });
        if next + 1 < cuts.offsets().len() {
            runs.han(next, &mut see);
        }
        runs.end(&mut see);
    }
}

/// Where the words of the dictionary are taken, and where those of Unicode's rules.
struct Runs<'a> {
    mixed: &'a Mixed,
    text: &'a str,
    cuts: &'a Cuts,
    /// Whether what is neither letter nor digit is to be handed out, too.
    with_signs: bool,
    /// Up to where the text is done.
    done: u32,
    /// The first word that may belong to the next run …
    run: usize,
    /// … and whether that has a Han character by now: until then nobody knows whose its words are.
    is_han: bool,
}

impl<'a> Runs<'a> {
    fn new(mixed: &'a Mixed, text: &'a str, cuts: &'a Cuts, with_signs: bool) -> Self {
        Self { mixed, text, cuts, with_signs, done: 0, run: 0, is_han: false }
    }

    /// Hands out what is no run.
    #[inline(always)]
    fn between(&self, end: u32, see: &mut impl FnMut(Word)) {
        // Mostly a comma that nobody wants. What has one byte is ASCII.
        let first = self.text.as_bytes().get(self.done as usize);
        let is_plain = |&byte: &u8| plain_kind(char::from(byte)).is_some();
        if !self.with_signs && end <= self.done + 1 && first.is_none_or(is_plain) {
            return;
        }
        self.mixed.each_other(self.text, Span { start: self.done, end }, self.with_signs, see);
    }

    /// A word with a Han character, or several in a row from this one on: hands out what stands before it.
    #[inline(always)]
    fn han(&mut self, number: usize, see: &mut impl FnMut(Word)) {
        if self.is_han {
            return;
        }
        self.between(self.cuts.offsets()[self.run], see);
        (self.run..number).for_each(|before| see(self.mixed.chinese.word(self.text, self.cuts, before)));
        self.is_han = true;
    }

    /// A word of ASCII characters that may be part of a run.
    #[inline(always)]
    fn ascii(&mut self, number: usize, see: &mut impl FnMut(Word)) {
        if self.is_han {
            see(self.mixed.chinese.word(self.text, self.cuts, number));
        }
    }

    /// Anything else.
    #[inline(always)]
    fn other(&mut self, number: usize, span: Span) {
        if self.is_han {
            self.done = span.start;
        }
        (self.run, self.is_han) = (number + 1, false);
    }

    /// Hands out what stands behind the last run.
    fn end(&mut self, see: &mut impl FnMut(Word)) {
        if !self.is_han {
            self.between(self.text.len() as u32, see);
        }
    }
}

/// What a word of the dictionary's is made of.
enum Class {
    /// Characters of jieba's class with a Han character among them.
    Han,
    /// The others of that class.
    Ascii,
    /// Anything else.
    Other,
}

/// A word of jieba's class has no other characters, but Han and ASCII may be mixed. Two bytes decide nearly always.
#[inline(always)]
fn class(text: &str, word: Span) -> Class {
    match first_bytes(text, word) {
        Some(0xE4B8..=0xE9BF) => Class::Han, // U+4E00 to U+9FFF
        Some(0xE280..=0xE38F | 0xEFBC..=0xEFBF) => Class::Other, // U+2000 to U+33FF, U+FF00 to U+FFFF
        Some(two @ ..0x8000) if !is_of_words(char::from((two >> 8) as u8)) => Class::Other,
        _ => class_by_characters(&text[word.range()]),
    }
}

fn class_by_characters(word: &str) -> Class {
    if !word.starts_with(is_of_words) {
        Class::Other
    } else if word.contains(is_han) {
        Class::Han
    } else {
        Class::Ascii
    }
}

/// The kind of a character of which Unicode's rules make a word of its own, unless it is the second of two spaces: what
/// mostly stands between Chinese words. Nothing of it is a letter, digit or mark, nor `\r`.
#[inline]
fn plain_kind(c: char) -> Option<WordKind> {
    match c {
        '\n' | ' ' => Some(WordKind::Space),
        '!' | '"' | '\'' | '(' | ')' | ',' | '.' | '/' | ':' | ';' | '?' => Some(WordKind::Punctuation),
        '·' | '—' | '‘' | '’' | '“' | '”' | '…' => Some(WordKind::Punctuation),
        '、' | '。' | '《' | '》' | '「' | '」' | '【' | '】' => Some(WordKind::Punctuation),
        '！' | '（' | '）' | '，' | '：' | '；' | '？' => Some(WordKind::Punctuation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::UserDictionary;
    use super::super::contract::nasty;
    use super::*;
    use crate::filter::{Settings, StopList};
    use crate::normalize::{Normalizer, Options};
    use proptest::prelude::*;

    fn filter(drop_punctuation: bool) -> Filter {
        let settings = Settings { stop_words: vec![StopList::Hit], drop_punctuation, ..Settings::default() };
        Filter::new(&settings, "的", &Normalizer::new(Options::default()))
    }

    /// The same by its definition: run by run.
    fn run_by_run(mixed: &Mixed, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut done = 0;
        let is_ascii = |c: char| c.is_ascii() && is_of_words(c);
        while let Some(first) = text[done..].find(is_han).map(|at| done + at) {
            let start = text[done..first].trim_end_matches(is_ascii).len() + done;
            let end = text[first..].find(|c| !is_of_words(c)).map_or(text.len(), |len| first + len);
            mixed.unicode.append(text, Span::new(done, start), &mut words);
            mixed.chinese.append(text, Span::new(start, end), &mut words);
            done = end;
        }
        mixed.unicode.append(text, Span::new(done, text.len()), &mut words);
        words
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_whole_text_at_once_is_the_same(text in nasty(), more in "[，。“”… \n!?.'a1中]{0,12}", tags: bool, drop: bool) {
            let mixed = Mixed::new(Chinese::new(UserDictionary::default(), true, tags));
            let text = text + &more;
            let mut words = Vec::new();
            mixed.segment(&text, &mut words);
            prop_assert_eq!(&words, &run_by_run(&mixed, &text));
            let filter = filter(drop);
            let mut kept = vec![Span::new(1, 2); 3];
            let mut kept = mixed.segment_and_filter(&text, &filter, &mut Vec::new(), &mut kept).to_vec();
            words.retain(|word| filter.keeps(&text[word.span.range()], word.tag, word.kind));
            kept.sort_unstable();
            prop_assert_eq!(kept, words.iter().map(|word| word.span).collect::<Vec<_>>());
        }
    }
}
