//! One pass over a text with a compiled table.
//!
//! Text that does not change is not touched character by character: it is only looked at, and copied in one
//! piece when something else turns up.

use super::nfkc;
use super::table::{Entry, Table};
use crate::machine::{self, Machine, Work};
use crate::span::{OffsetMap, Span};

/// Who takes note of where everything came from.
pub(super) trait Places {
    /// As [`OffsetMap::push_linear`].
    fn linear(&mut self, source: Span);
    /// As [`OffsetMap::push_whole`].
    fn whole(&mut self, derived_len: usize, source: Span);
}

impl Places for OffsetMap {
    #[inline]
    fn linear(&mut self, source: Span) {
        self.push_linear(source);
    }

    #[inline]
    fn whole(&mut self, derived_len: usize, source: Span) {
        self.push_whole(derived_len, source);
    }
}

/// Nobody wants to know.
pub(super) struct Nowhere;

impl Places for Nowhere {
    fn linear(&mut self, _: Span) {}

    fn whole(&mut self, _: usize, _: Span) {}
}

/// Appends the normal form of `text` to `out`, which is empty. `NEWER`: see [`machine::run`].
pub(super) fn run<const NEWER: bool>(table: &Table, text: &str, out: &mut String, places: &mut impl Places) {
    out.reserve(text.len());
    machine::run::<NEWER>(Pass { table, text, out, places, copied: 0, mapped: 0, space: None });
}

impl<P: Places> Work for Pass<'_, P> {
    #[inline(always)]
    fn run(mut self, machine: impl Machine) {
        let mut at = 0;
        loop {
            at = skip_unchanged(machine, self.table, self.text.as_bytes(), at);
            let Some(c) = self.text[at..].chars().next() else { break };
            at = self.change(c, at);
        }
        // White space still waiting is at the end of the text, where there is to be none.
        self.flush(self.text.len());
    }
}

/// The first offset at or after `at` of a character that does not stay as it is.
#[inline(always)]
fn skip_unchanged(machine: impl Machine, table: &Table, bytes: &[u8], mut at: usize) -> usize {
    // Decoded by hand: this loop is most of the work, and `chars()` would build a `char` and its offset anew.
    loop {
        while let Some(sixteen) = bytes.get(at..).and_then(|rest| rest.first_chunk())
            && let Some(four) = machine.four_of_three(sixteen)
        {
            let [a, b, c, d] = four.map(|code| u32::from(table.changes(code as u16)));
            let changes = a | b << 1 | c << 2 | d << 3;
            if changes != 0 {
                return at + 3 * changes.trailing_zeros() as usize;
            }
            at += 12;
        }
        match bytes[at..] {
            [a, b, c, ..] if a & 0xF0 == 0xE0 => {
                let code = u16::from(a) << 12 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F);
                if table.changes(code) {
                    return at;
                }
                at += 3;
            }
            [a, ..] if a < 0x80 => {
                if table.changes(u16::from(a)) {
                    return at;
                }
                at += 1;
            }
            [a, b, ..] if a & 0xE0 == 0xC0 => {
                if table.changes(u16::from(a & 0x1F) << 6 | u16::from(b & 0x3F)) {
                    return at;
                }
                at += 2;
            }
            [a, b, c, d, ..] => {
                let [a, b, c, d] = [a & 0x07, b & 0x3F, c & 0x3F, d & 0x3F].map(u32::from);
                match char::from_u32(a << 18 | b << 12 | c << 6 | d) {
                    Some(c) if table.entry(c) == Entry::Unchanged => at += 4,
                    _ => return at,
                }
            }
            _ => return at,
        }
    }
}

struct Pass<'a, P> {
    table: &'a Table,
    text: &'a str,
    out: &'a mut String,
    places: &'a mut P,
    /// Text from here on is not copied yet.
    copied: usize,
    /// Text from here on is not in the map yet; at most `copied`, as characters may be exchanged for others
    /// of the same length without a break in the map.
    mapped: usize,
    /// White space seen and not written yet. Everything before it is copied and mapped.
    space: Option<Space>,
}

#[derive(Clone, Copy)]
struct Space {
    source: Span,
    line: bool,
}

impl Space {
    fn character(self) -> char {
        if self.line { '\n' } else { ' ' }
    }
}

impl<P: Places> Pass<'_, P> {
    /// Deals with the character `c` at `at`, which changes, and answers where to go on.
    #[inline]
    fn change(&mut self, c: char, at: usize) -> usize {
        let end = at + c.len_utf8();
        let entry = self.table.entry(c);
        if entry == Entry::JoinsPrevious {
            let start = self.text[self.copied..at].char_indices().next_back();
            let start = start.map_or(at, |(i, _)| self.copied + i);
            return self.cluster(start, end);
        }
        if self.joins(end).is_some() {
            return self.cluster(at, end);
        }
        match entry {
            Entry::Unchanged | Entry::JoinsPrevious => {}
            Entry::Other(to) if to.len_utf8() == end - at => {
                self.copy_to(at);
                self.write_space();
                self.out.push(to);
                self.copied = end;
            }
            Entry::Other(to) => {
                self.flush(at);
                self.write_space();
                self.out.push(to);
                self.places.whole(to.len_utf8(), Span::new(at, end));
                self.resume(end);
            }
            Entry::Several => {
                self.flush(at);
                let table = self.table;
                for to in table.several(c).chars() {
                    self.write(to, Span::new(at, end));
                }
                self.resume(end);
            }
            Entry::Dropped => {
                self.flush(at);
                self.resume(end);
            }
            Entry::Space | Entry::Line => {
                let space = Space { source: Span::new(at, end), line: entry == Entry::Line };
                if c != space.character() || !self.stands_alone(at, end) {
                    self.flush(at);
                    self.wait_with(space);
                    self.resume(end);
                }
            }
        }
        end
    }

    /// Whether the white space from `at` to `end` is single and between characters that stay. Then, if it is
    /// already what it would be collapsed to, it need not interrupt the copying.
    fn stands_alone(&self, at: usize, end: usize) -> bool {
        let after = self.text[end..].chars().next();
        self.space.is_none()
            && (self.copied < at || !self.out.is_empty())
            && after.is_some_and(|c| self.table.entry(c) == Entry::Unchanged)
    }

    /// Normalises the cluster from `start` to the end of what joins it, the slow way.
    #[cold]
    fn cluster(&mut self, start: usize, mut end: usize) -> usize {
        while let Some(c) = self.joins(end) {
            end += c.len_utf8();
        }
        self.flush(start);
        let source = Span::new(start, end);
        let table = self.table;
        for c in nfkc::compose(&self.text[start..end]) {
            table.after_nfkc(c, |c| self.write(c, source));
        }
        self.resume(end);
        end
    }

    /// The character at `at`, if it may join the one before it.
    #[inline]
    fn joins(&self, at: usize) -> Option<char> {
        if self.text.as_bytes().get(at).is_none_or(u8::is_ascii) {
            return None;
        }
        let c = self.text[at..].chars().next()?;
        // The bit first: it is at hand, and the entry seldom is.
        if u16::try_from(u32::from(c)).is_ok_and(|code| !self.table.changes(code)) {
            return None;
        }
        (self.table.entry(c) == Entry::JoinsPrevious).then_some(c)
    }

    /// Writes one character of several that stand for `source`.
    fn write(&mut self, c: char, source: Span) {
        if self.table.collapses() && c.is_whitespace() {
            self.wait_with(Space { source, line: self.table.space(c) == Entry::Line });
        } else {
            self.write_space();
            self.out.push(c);
            self.places.whole(c.len_utf8(), source);
        }
    }

    fn wait_with(&mut self, more: Space) {
        self.space = Some(match self.space {
            None => more,
            Some(space) => Space {
                source: Span { start: space.source.start, end: more.source.end },
                line: space.line || more.line,
            },
        });
    }

    /// Writes the white space that waits, now that something follows it; at the start of the text it is let go.
    #[inline]
    fn write_space(&mut self) {
        let Some(space) = self.space.take() else { return };
        if self.out.is_empty() {
            return;
        }
        let to = space.character();
        self.out.push(to);
        if self.text[space.source.range()].chars().eq([to]) {
            self.places.linear(space.source);
        } else {
            self.places.whole(1, space.source);
        }
    }

    /// Copies what is not copied yet, up to `at`.
    #[inline]
    fn copy_to(&mut self, at: usize) {
        if self.copied < at {
            self.write_space();
            self.out.push_str(&self.text[self.copied..at]);
        }
    }

    /// Copies and maps everything up to `at`.
    #[inline]
    fn flush(&mut self, at: usize) {
        self.copy_to(at);
        self.places.linear(Span::new(self.mapped, at));
    }

    /// Goes on at `at`: what lies before it has been dealt with.
    #[inline]
    fn resume(&mut self, at: usize) {
        self.copied = at;
        self.mapped = at;
    }
}
