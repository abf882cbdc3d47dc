//! From a text to its units in one pass.

use super::{Kind, LETTERS_A_UNIT, PIECE, Unit};
use crate::machine::{self, Machine, Work};
use crate::normalize::{Normalizer, Options, Plain};
use crate::span::Span;
use std::sync::OnceLock;

/// Where units go. One that does not care about places costs nothing for them.
trait Sink {
    /// So many more bytes of text are to come.
    fn expect(&mut self, bytes: usize);

    fn put(&mut self, unit: Unit, start: usize, end: usize);

    /// A character of three bytes, if it is a unit.
    fn put_if(&mut self, is: bool, unit: Unit, start: usize);

    /// A word of up to eight letters, which are one unit or two.
    fn put_word(&mut self, units: [Unit; 2], start: usize, letters: usize);
}

/// Units without their places. Whether something is a unit changes from character to character, so what may be one is
/// written in any case, and counted if it is: no branch that the processor would have to guess.
struct Bare<'u> {
    units: &'u mut Vec<Unit>,
    /// Those that count.
    count: usize,
}

impl Bare<'_> {
    /// Memory that is made ready costs time, so there is room for what most texts have.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.units.resize(2 * self.units.len() + 64, Unit(0));
    }
}

impl Sink for Bare<'_> {
    fn expect(&mut self, bytes: usize) {
        self.units.resize(self.units.len().max(self.count + bytes / 3 + 2), Unit(0));
    }

    #[inline]
    fn put(&mut self, unit: Unit, _: usize, _: usize) {
        self.put_if(true, unit, 0);
    }

    #[inline(always)]
    fn put_if(&mut self, is: bool, unit: Unit, _: usize) {
        if self.count >= self.units.len() {
            self.grow();
        }
        self.units[self.count] = unit;
        self.count += usize::from(is);
    }

    #[inline(always)]
    fn put_word(&mut self, units: [Unit; 2], _: usize, letters: usize) {
        if self.count + 2 > self.units.len() {
            self.grow();
        }
        self.units[self.count..self.count + 2].copy_from_slice(&units);
        self.count += 1 + usize::from(letters > LETTERS_A_UNIT);
    }
}

/// Units with the span of each in the text.
struct Placed<'u> {
    units: &'u mut Vec<Unit>,
    spans: &'u mut Vec<Span>,
}

impl Sink for Placed<'_> {
    fn expect(&mut self, _: usize) {}

    fn put(&mut self, unit: Unit, start: usize, end: usize) {
        self.units.push(unit);
        self.spans.push(Span::new(start, end));
    }

    fn put_if(&mut self, is: bool, unit: Unit, start: usize) {
        if is {
            self.put(unit, start, start + 3);
        }
    }

    fn put_word(&mut self, units: [Unit; 2], start: usize, letters: usize) {
        let end = start + letters;
        self.put(units[0], start, end.min(start + LETTERS_A_UNIT));
        if letters > LETTERS_A_UNIT {
            self.put(units[1], start + LETTERS_A_UNIT, end);
        }
    }
}

/// Reads units. Read only; one is enough for a process ([`UnitReader::shared`]).
#[derive(Debug)]
pub struct UnitReader {
    normalizer: Normalizer,
    /// Two bits per character of the basic plane, so that it stays in the cache.
    kinds: Box<[u64]>,
    /// What becomes of characters that are [`OTHER`], so that few are looked up in Unicode's tables.
    outcomes: Box<[Outcome]>,
}

/// A character of the basic plane is a unit by itself …
const ITSELF: u64 = 0;
/// … or it ends a word and nothing else …
const SEPARATOR: u64 = 1;
/// … or something else becomes of it.
const OTHER: u64 = 2;

/// Reading a text, compiled for several kinds of processors.
struct Reading<'r, S> {
    reader: &'r UnitReader,
    text: &'r str,
    sink: &'r mut S,
    done: &'r mut bool,
}

impl<S: Sink> Work for Reading<'_, S> {
    #[inline(always)]
    fn run(self, machine: impl Machine) {
        *self.done = self.reader.read_into(machine, self.text, self.sink);
    }
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
        let of_code =
            |code: u16| char::from_u32(u32::from(code)).map_or(Outcome::Other, |c| outcome(&normalizer, c));
        let outcomes: Box<[Outcome]> = (0..=u16::MAX).map(of_code).collect();
        let mut kinds = vec![0_u64; 0x1_0000 / 32];
        for code in 0..=u16::MAX {
            let kind = match outcomes[usize::from(code)] {
                Outcome::Alone(own) if own == code => ITSELF,
                Outcome::Separator => SEPARATOR,
                _ => OTHER,
            };
            kinds[usize::from(code / 32)] |= kind << (code % 32 * 2);
        }
        Self { normalizer, kinds: kinds.into(), outcomes }
    }

    #[inline(always)]
    fn kind(&self, code: u16) -> u64 {
        self.kinds[usize::from(code / 32)] >> (code % 32 * 2) & 3
    }

    /// The units of a text, appended to `units`.
    pub fn read(&self, text: &str, units: &mut Vec<Unit>) {
        self.read_on::<true>(text, units);
    }

    /// The same; `NEWER`: see [`machine::run`].
    pub(super) fn read_on<const NEWER: bool>(&self, text: &str, units: &mut Vec<Unit>) {
        let before = units.len();
        let mut bare = Bare { units, count: before };
        let done = self.run::<NEWER>(text, &mut bare);
        let count = bare.count;
        units.truncate(if done { count } else { before });
        if !done {
            units_of(&self.normalizer.normalize(text).text, |unit, _| units.push(unit));
        }
    }

    /// The units of a text and the span of each in it.
    #[must_use]
    pub fn read_placed(&self, text: &str) -> (Vec<Unit>, Vec<Span>) {
        let (mut units, mut spans) = (Vec::new(), Vec::new());
        self.read_placed_into(text, &mut units, &mut spans);
        (units, spans)
    }

    /// The same, in the place of others.
    pub fn read_placed_into(&self, text: &str, units: &mut Vec<Unit>, spans: &mut Vec<Span>) {
        let expected = text.len() / 3;
        units.clear();
        units.reserve(expected);
        spans.clear();
        spans.reserve(expected);
        if !self.run::<true>(text, &mut Placed { units, spans }) {
            units.clear();
            spans.clear();
            let normalized = self.normalizer.normalize(text);
            units_of(&normalized.text, |unit, span| {
                units.push(unit);
                spans.push(normalized.map.to_source(span));
            });
        }
    }

    /// Whether it could be done character by character.
    fn run<const NEWER: bool>(&self, text: &str, sink: &mut impl Sink) -> bool {
        let mut done = false;
        machine::run::<NEWER>(Reading { reader: self, text, sink, done: &mut done });
        done
    }

    #[inline(always)]
    fn read_into(&self, machine: impl Machine, text: &str, sink: &mut impl Sink) -> bool {
        let bytes = text.as_bytes();
        sink.expect(bytes.len());
        let mut pass = Pass { sink, word: Word::default() };
        let mut at = 0;
        while at < bytes.len() {
            if pass.word.count == 0 {
                at = self.han(machine, bytes, at, pass.sink);
                at = words(machine, bytes, at, pass.sink);
            }
            let Some(&first) = bytes.get(at) else { break };
            if first < 0x80 {
                pass.ascii(first, at);
                at += 1;
                continue;
            }
            let Some(end) = self.character(text, at, &mut pass) else { return false };
            at = end;
        }
        pass.end_word();
        true
    }

    /// Characters of three bytes that are units or nothing, as long as there are such. No word has begun before them.
    #[inline(always)]
    fn han(&self, machine: impl Machine, bytes: &[u8], mut at: usize, sink: &mut impl Sink) -> usize {
        while let Some(sixteen) = bytes.get(at..).and_then(|rest| rest.first_chunk())
            && let Some(points) = machine.four_of_three(sixteen)
        {
            // No `map` of arrays: it is compiled apart, and for any processor.
            let [a, b, c, d] = points;
            let kinds = [self.kind(a as u16), self.kind(b as u16), self.kind(c as u16), self.kind(d as u16)];
            if (kinds[0] | kinds[1] | kinds[2] | kinds[3]) & OTHER != 0 {
                break;
            }
            for (number, (point, kind)) in points.into_iter().zip(kinds).enumerate() {
                sink.put_if(kind == ITSELF, Unit(point), at + 3 * number);
            }
            at += 12;
        }
        // One byte more than needed, so that it is one load.
        while let Some(&four) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
            let four = u32::from_le_bytes(four);
            let code = three(four as u8, (four >> 8) as u8, (four >> 16) as u8);
            let kind = self.kind(code);
            if four & 0xF0 != 0xE0 || kind == OTHER {
                break;
            }
            sink.put_if(kind == ITSELF, Unit(u32::from(code)), at);
            at += 3;
        }
        at
    }

    /// Deals with a character that is not ASCII: where the next begins, or nothing if it may join the one before it.
    fn character(&self, text: &str, at: usize, pass: &mut Pass<'_, impl Sink>) -> Option<usize> {
        if let [first @ 0xE0..=0xEF, second, third, ..] = text.as_bytes()[at..] {
            match self.outcomes[usize::from(three(first, second, third))] {
                Outcome::Separator => pass.end_word(),
                Outcome::Dropped => {}
                Outcome::Alone(other) => pass.alone(Unit(u32::from(other)), at, at + 3),
                Outcome::Other => return self.other(text, at, pass),
            }
            return Some(at + 3);
        }
        self.other(text, at, pass)
    }

    /// Deals with a character the general way.
    fn other(&self, text: &str, at: usize, pass: &mut Pass<'_, impl Sink>) -> Option<usize> {
        let c = text[at..].chars().next()?;
        let end = at + c.len_utf8();
        match self.normalizer.plain(c) {
            Plain::One(c) => pass.character(c, at, end),
            Plain::Several(several) => several.chars().for_each(|c| pass.character(c, at, end)),
            Plain::JoinsPrevious => return None,
        }
        Some(end)
    }
}

/// The code point of a character of three bytes.
#[inline(always)]
fn three(first: u8, second: u8, third: u8) -> u16 {
    u16::from(first) << 12 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F)
}

/// ASCII of which it is clear what it is, a block at a time: words that end, digits, white space and punctuation. No word has
/// begun before it.
#[inline(always)]
fn words(machine: impl Machine, bytes: &[u8], mut at: usize, sink: &mut impl Sink) -> usize {
    // The letters of a word are loaded together, so there have to be some bytes behind the last.
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<{ Block::SIZE + 8 }>()) {
        // A few letters or digits among other characters are not worth a block.
        if !block[..8].is_ascii() {
            break;
        }
        let Block { letters, digits, clear } = Block::new(machine, block);
        if clear == 0 {
            break;
        }
        // A word at the end of what is clear may go on.
        let end = clear - (letters << (64 - clear)).leading_ones();
        if end == 0 {
            break;
        }
        let mut rest = (letters | digits) & u64::MAX >> (64 - end);
        while rest != 0 {
            let start = rest.trailing_zeros();
            let run = (!(letters >> start)).trailing_zeros().min(8);
            let Some(&eight) = block.get(start as usize..).and_then(|from| from.first_chunk()) else { break };
            let eight = u64::from_le_bytes(eight);
            let mut units = pieces(eight, run);
            if run == 0 {
                units[0] = Unit(eight as u32 & 0xFF);
            }
            let length = run.max(1);
            sink.put_word(units, at + start as usize, length as usize);
            rest &= u64::MAX << start << length;
        }
        at += end as usize;
    }
    at
}

/// What the bytes of a block are, a bit each, the first byte in the lowest.
struct Block {
    letters: u64,
    digits: u64,
    /// So many bytes, the first ones, are letters, digits, white space or punctuation.
    clear: u32,
}

impl Block {
    const SIZE: usize = 64;

    #[inline(always)]
    fn new(machine: impl Machine, bytes: &[u8; Self::SIZE + 8]) -> Self {
        // Comparisons of all bytes at once; then a bit of each.
        let bits = |is: fn(u8) -> bool| {
            let mut all = [0; Self::SIZE];
            all.iter_mut().zip(bytes).for_each(|(is_it, &byte)| *is_it = u8::from(is(byte)));
            machine.bits::<0>(&all)
        };
        let letters = bits(|byte| (byte | 0x20).wrapping_sub(b'a') < 26);
        let digits = bits(|byte| byte.wrapping_sub(b'0') < 10);
        let unclear =
            bits(|byte| !((byte.wrapping_sub(b'\t') < 5) | (byte.wrapping_sub(b' ') < 0x7f - b' ')));
        Self { letters, digits, clear: unclear.trailing_zeros() }
    }
}

/// White space and punctuation of ASCII, which are no units.
#[inline]
fn ends_word(byte: u8) -> bool {
    matches!(byte, 9..=13 | b' '..=b'/' | b':'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// The units of a word of one to eight letters, the first of them in the lowest byte. The second is none if it has four or fewer.
#[inline(always)]
fn pieces(letters: u64, count: u32) -> [Unit; 2] {
    const FULL: u32 = LETTERS_A_UNIT as u32;
    // The first letter in the highest byte.
    let letters = (letters | 0x2020_2020_2020_2020).swap_bytes();
    let first = letters >> ((8 * (2 * FULL - count.min(FULL))) & 63);
    let second = (letters & 0xFFFF_FFFF) >> (8 * (2 * FULL - count.max(FULL)));
    [first as u32, second as u32].map(|bytes| {
        let twos = (bytes & 0x7F00_7F00) >> 1 | bytes & 0x007F_007F;
        Unit(PIECE | (twos & 0x3FFF_0000) >> 2 | twos & 0x3FFF)
    })
}

/// Letters that are not a unit yet.
#[derive(Default)]
struct Word {
    letters: [char; LETTERS_A_UNIT],
    count: usize,
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
            _ if ends_word(byte) => self.end_word(),
            // Controls are dropped, as if they were not there.
            _ => {}
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
            word.start = start;
        }
        word.letters[word.count] = c;
        word.end = end;
        word.count += 1;
        if word.count == LETTERS_A_UNIT {
            self.end_word();
        }
    }

    #[inline]
    fn end_word(&mut self) {
        let word = &mut self.word;
        if word.count > 0 {
            self.sink.put(Unit::piece(&word.letters[..word.count]), word.start, word.end);
            word.count = 0;
        }
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
