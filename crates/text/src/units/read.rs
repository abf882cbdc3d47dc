//! From a text to its units in one pass.

use super::{Kind, LETTERS_A_UNIT, PIECE, Unit};
use crate::normalize::{Normalizer, Options, Plain};
use crate::span::Span;
use std::sync::OnceLock;

/// Where units go. One that does not care about places costs nothing for them.
trait Sink {
    fn put(&mut self, unit: Unit, start: usize, end: usize);
}

impl Sink for Vec<Unit> {
    #[inline]
    fn put(&mut self, unit: Unit, _: usize, _: usize) {
        self.push(unit);
    }
}

impl Sink for (&mut Vec<Unit>, &mut Vec<Span>) {
    #[inline]
    fn put(&mut self, unit: Unit, start: usize, end: usize) {
        self.0.push(unit);
        self.1.push(Span::new(start, end));
    }
}

/// Reads units. Read only; one is enough for a process ([`UnitReader::shared`]).
#[derive(Debug)]
pub struct UnitReader {
    normalizer: Normalizer,
    /// A bit per character of the basic plane: it is not simply a unit by itself. 8 KB, so that it stays in the cache.
    special: Box<[u64]>,
    /// What becomes of those, so that a comma costs one more look and not a search in Unicode's tables.
    outcomes: Box<[Outcome]>,
}

/// What becomes of a character of the basic plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing, but a word ends here.
    Separator,
    /// Nothing at all.
    Dropped,
    /// Another character that is a unit of its own.
    Alone(u16),
    /// To be looked up: a letter, several characters, or it may join the one before it.
    Other,
}

fn outcome(normalizer: &Normalizer, c: char) -> Outcome {
    match normalizer.plain(c) {
        Plain::One(one) => match (Kind::of(one), u16::try_from(u32::from(one))) {
            (Kind::Separator, _) => Outcome::Separator,
            (Kind::Alone, Ok(code)) => Outcome::Alone(code),
            _ => Outcome::Other,
        },
        Plain::Several("") => Outcome::Dropped,
        Plain::Several(_) | Plain::JoinsPrevious => Outcome::Other,
    }
}

impl UnitReader {
    /// The one reader.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<UnitReader> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    fn new() -> Self {
        let normalizer = Normalizer::new(Options::default());
        let mut special = vec![0_u64; 0x1_0000 / 64];
        let of_code =
            |code: u16| char::from_u32(u32::from(code)).map_or(Outcome::Other, |c| outcome(&normalizer, c));
        let outcomes: Box<[Outcome]> = (0..=u16::MAX).map(of_code).collect();
        for code in (0..=u16::MAX).filter(|&code| outcomes[usize::from(code)] != Outcome::Alone(code)) {
            special[usize::from(code / 64)] |= 1 << (code % 64);
        }
        Self { normalizer, special: special.into(), outcomes }
    }

    /// The units of a text, appended to `units`.
    pub fn read(&self, text: &str, units: &mut Vec<Unit>) {
        let before = units.len();
        units.reserve(text.len() / 3);
        if !self.run(text, units) {
            units.truncate(before);
            units_of(&self.normalizer.normalize(text).text, |unit, _| units.push(unit));
        }
    }

    /// The units of a text and the span of each in it.
    #[must_use]
    pub fn read_placed(&self, text: &str) -> (Vec<Unit>, Vec<Span>) {
        let (mut units, mut spans) = (Vec::new(), Vec::new());
        if !self.run(text, &mut (&mut units, &mut spans)) {
            units.clear();
            spans.clear();
            let normalized = self.normalizer.normalize(text);
            units_of(&normalized.text, |unit, span| {
                units.push(unit);
                spans.push(normalized.map.to_source(span));
            });
        }
        (units, spans)
    }

    /// Whether it could be done character by character.
    fn run(&self, text: &str, sink: &mut impl Sink) -> bool {
        let mut pass = Pass { sink, word: Word::default() };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let first = bytes[at];
            if first < 0x80 {
                pass.ascii(first, at);
                at += 1;
                continue;
            }
            if let (0xE0..=0xEF, [_, b, c, ..]) = (first, &bytes[at..]) {
                let code = u16::from(first) << 12 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F);
                if self.special[usize::from(code / 64)] >> (code % 64) & 1 == 0 {
                    pass.alone(Unit(u32::from(code)), at, at + 3);
                    at += 3;
                    continue;
                }
                match self.outcomes[usize::from(code)] {
                    Outcome::Separator => pass.end_word(),
                    Outcome::Dropped => {}
                    Outcome::Alone(other) => pass.alone(Unit(u32::from(other)), at, at + 3),
                    Outcome::Other => match self.other(text, at, &mut pass) {
                        Some(end) => {
                            at = end;
                            continue;
                        }
                        None => return false,
                    },
                }
                at += 3;
                continue;
            }
            match self.other(text, at, &mut pass) {
                Some(end) => at = end,
                None => return false,
            }
        }
        pass.end_word();
        true
    }

    /// Deals with a character the general way: where the next begins, or nothing if it may join the one before it.
    fn other(&self, text: &str, at: usize, pass: &mut Pass<'_, impl Sink>) -> Option<usize> {
        let c = text[at..].chars().next()?;
        let end = at + c.len_utf8();
        match self.normalizer.plain(c) {
            Plain::One(c) => pass.character(c, at, end),
            Plain::Several(text) => text.chars().for_each(|c| pass.character(c, at, end)),
            Plain::JoinsPrevious => return None,
        }
        Some(end)
    }
}

/// Letters that are not a unit yet.
#[derive(Default)]
struct Word {
    /// ASCII letters, seven bits each.
    packed: u32,
    letters: [char; LETTERS_A_UNIT],
    count: usize,
    ascii: bool,
    start: usize,
    end: usize,
}

struct Pass<'s, S> {
    sink: &'s mut S,
    word: Word,
}

impl<S: Sink> Pass<'_, S> {
    #[inline]
    fn ascii(&mut self, byte: u8, at: usize) {
        match byte {
            b'a'..=b'z' => self.letter(char::from(byte), at, at + 1),
            b'A'..=b'Z' => self.letter(char::from(byte | 0x20), at, at + 1),
            b'0'..=b'9' => self.alone(Unit(u32::from(byte)), at, at + 1),
            // Controls are dropped, as if they were not there; white space and punctuation end a word.
            0..=8 | 14..=31 | 0x7f => {}
            _ => self.end_word(),
        }
    }

    fn character(&mut self, c: char, start: usize, end: usize) {
        match Kind::of(c) {
            Kind::Separator => self.end_word(),
            Kind::Alone => self.alone(Unit::alone(c), start, end),
            Kind::Letter => self.letter(c, start, end),
        }
    }

    #[inline]
    fn alone(&mut self, unit: Unit, start: usize, end: usize) {
        self.end_word();
        self.sink.put(unit, start, end);
    }

    #[inline]
    fn letter(&mut self, c: char, start: usize, end: usize) {
        let word = &mut self.word;
        if word.count == 0 {
            (word.start, word.packed, word.ascii) = (start, 0, true);
        }
        word.letters[word.count] = c;
        word.packed = word.packed << 7 | u32::from(c);
        word.ascii &= c.is_ascii();
        word.end = end;
        word.count += 1;
        if word.count == LETTERS_A_UNIT {
            self.end_word();
        }
    }

    #[inline]
    fn end_word(&mut self) {
        if self.word.count > 0 {
            self.put_word();
        }
    }

    fn put_word(&mut self) {
        let word = &mut self.word;
        let unit =
            if word.ascii { Unit(PIECE | word.packed) } else { Unit::piece(&word.letters[..word.count]) };
        word.count = 0;
        self.sink.put(unit, word.start, word.end);
    }
}

/// The units of a text that is normalised already, with their spans in it: the plain way.
pub fn units_of(normalized: &str, mut unit: impl FnMut(Unit, Span)) {
    let mut letters: Vec<char> = Vec::with_capacity(LETTERS_A_UNIT);
    let mut start = 0;
    for (at, c) in normalized.char_indices() {
        let kind = Kind::of(c);
        if !letters.is_empty() && (kind != Kind::Letter || letters.len() == LETTERS_A_UNIT) {
            unit(Unit::piece(&letters), Span::new(start, at));
            letters.clear();
        }
        match kind {
            Kind::Separator => {}
            Kind::Alone => unit(Unit::alone(c), Span::new(at, at + c.len_utf8())),
            Kind::Letter => {
                if letters.is_empty() {
                    start = at;
                }
                letters.push(c);
            }
        }
    }
    if !letters.is_empty() {
        unit(Unit::piece(&letters), Span::new(start, normalized.len()));
    }
}
