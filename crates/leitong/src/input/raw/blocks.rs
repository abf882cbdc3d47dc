//! A stream in blocks of whole lines.

use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, Read};
use std::ops::Range;

/// Whole lines, and what comes after them.
pub(super) struct Block<'b> {
    /// Lines; the last one may lack its line break.
    pub(super) bytes: &'b [u8],
    /// Where they begin in the stream.
    pub(super) at: u64,
    /// The number of the first line, from 1.
    pub(super) first: u64,
    /// The number of the line behind them.
    pub(super) next: u64,
    /// After them comes a line that is too long to be kept.
    pub(super) too_long: bool,
    /// After them nothing can be read.
    pub(super) broken: Option<io::Error>,
}

/// Reads blocks.
pub(super) struct Blocks<R> {
    input: R,
    size: usize,
    limit: usize,
    /// Memory for every block, one after the other: clearing new memory would cost as much as looking for lines.
    room: Vec<u8>,
    /// What was read and has not been given out.
    carry: Range<usize>,
    /// Where in the stream the memory begins.
    at: u64,
    next_line: u64,
    /// In the middle of a line that is too long.
    skipping: bool,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    /// Blocks of about `size` bytes, with lines of at most `limit`.
    pub(super) fn new(input: R, size: usize, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (room, carry) = (Vec::new(), 0..0);
        Self { input, size, limit, room, carry, at: 0, next_line: 1, skipping: false, ended: false }
    }

    /// Reads as many bytes as a block has behind the first `filled`, which grow; says whether there were fewer.
    fn fill(&mut self, filled: &mut usize) -> io::Result<bool> {
        let end = *filled + self.size;
        if self.room.len() < end {
            self.room.resize(end, 0);
        }
        while *filled < end {
            match self.input.read(&mut self.room[*filled..end]) {
                Ok(0) => return Ok(true),
                Ok(count) => *filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Moves what has not been given out to the front, and gives back what an uncommonly long line has taken; how much it is.
    fn begin(&mut self) -> usize {
        let carry = std::mem::take(&mut self.carry);
        let filled = carry.len();
        self.at += carry.start as u64;
        self.room.copy_within(carry, 0);
        if self.room.len() > 8 * (self.size + filled) {
            self.room.truncate(filled);
            self.room.shrink_to_fit();
        }
        filled
    }

    /// The next block.
    pub(super) fn next(&mut self) -> Option<Block<'_>> {
        if self.ended {
            return None;
        }
        let (mut filled, mut whole) = (self.begin(), 0);
        let (mut first, mut too_long, mut broken) = (self.next_line, false, None);
        loop {
            let seen = filled;
            match self.fill(&mut filled) {
                Ok(ended) => self.ended = ended,
                Err(error) => (self.ended, broken) = (true, Some(error)),
            }
            if self.skipping {
                let Some(at) = memchr(b'\n', &self.room[..filled]) else {
                    self.at += filled as u64;
                    filled = 0;
                    if self.ended { break } else { continue }
                };
                self.room.copy_within(at + 1..filled, 0);
                self.at += at as u64 + 1;
                filled -= at + 1;
                self.skipping = false;
                // The line that was too long has a number too.
                self.next_line += 1;
                first = self.next_line;
            }
            let from = seen.min(filled);
            if let Some(at) = memrchr(b'\n', &self.room[from..filled]) {
                whole = from + at + 1;
                break;
            }
            if filled > self.limit {
                self.at += filled as u64;
                filled = 0;
                (self.skipping, too_long) = (true, true);
                break;
            }
            if self.ended {
                break;
            }
        }
        // The last line may lack its line break; but what was read of one before reading failed is no line.
        if self.ended && broken.is_none() {
            whole = filled;
        }
        self.carry = whole..filled;
        let bytes = &self.room[..whole];
        self.next_line += count_lines(bytes);
        Some(Block { bytes, at: self.at, first, next: self.next_line, too_long, broken })
    }
}

/// How many lines a block has.
fn count_lines(bytes: &[u8]) -> u64 {
    let open = !bytes.is_empty() && !bytes.ends_with(b"\n");
    memchr_iter(b'\n', bytes).count() as u64 + u64::from(open)
}

/// The lines of a block, without their line feeds, and where each begins.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(from..).filter(|rest| !rest.is_empty())?;
        let (at, end) = (from, memchr(b'\n', rest).unwrap_or(rest.len()));
        from += end + 1;
        Some((at, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader of single lines would say: the line's number and content, nothing for one too long.
    fn plain(text: &[u8], limit: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        (1..).zip(lines).map(|(at, line)| (at, (line.len() <= limit).then(|| line.to_vec()))).collect()
    }

    fn in_blocks(text: &[u8], size: usize, limit: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut found = Vec::new();
        let mut blocks = Blocks::new(text, size, limit as u64);
        while let Some(block) = blocks.next() {
            let mut next = block.first;
            for (at, line) in lines(block.bytes) {
                let at = block.at as usize + at;
                assert_eq!(&text[at..at + line.len()], line, "where it stands");
                found.push((next, (line.len() <= limit).then(|| line.to_vec())));
                next += 1;
            }
            assert_eq!(next, block.next);
            if block.too_long {
                found.push((next, None));
            }
        }
        found
    }

    #[test]
    fn blocks_of_any_size_hold_the_same_lines() {
        let texts: [&[u8]; 9] = [
            b"",
            b"\n",
            b"a",
            b"a\nb\nc\n",
            b"\n\na\n\nlonger than five\nb",
            b"0123456789012345678901234567890123456789\nx\n",
            b"x\n0123456789012345678901234567890123456789",
            b"12345\n123456\n1234567\n\n\n12345",
            b"0123456789\n0123456789\n0123456789\n1\n",
        ];
        for text in texts {
            for size in 1..50 {
                for limit in [5, 8, 100] {
                    assert_eq!(in_blocks(text, size, limit), plain(text, limit), "{size} {limit} {text:?}");
                }
            }
        }
    }

    /// Gives some bytes and then an error.
    struct Torn(&'static [u8]);

    impl Read for Torn {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("torn")),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn what_was_whole_before_an_error_is_kept() {
        for size in 1..20 {
            let mut blocks = Blocks::new(Torn(b"one\ntwo\nthr"), size, 100);
            let (mut bytes, mut broken) = (Vec::new(), Vec::new());
            while let Some(block) = blocks.next() {
                bytes.extend_from_slice(block.bytes);
                broken.push(block.broken.is_some());
            }
            assert_eq!(bytes, b"one\ntwo\n", "{size}");
            assert_eq!(broken.iter().position(|broken| *broken), Some(broken.len() - 1), "only the last is");
        }
    }
}
