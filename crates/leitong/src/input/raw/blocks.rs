//! A stream in blocks of whole lines.

use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, Read};

/// Whole lines, and what comes after them.
pub(super) struct Block {
    /// Lines; the last one may lack its line break.
    pub(super) bytes: Vec<u8>,
    /// The number of the first line, from 1.
    pub(super) first: u64,
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
    carry: Vec<u8>,
    next_line: u64,
    /// In the middle of a line that is too long.
    skipping: bool,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    /// Blocks of about `size` bytes, with lines of at most `limit`.
    pub(super) fn new(input: R, size: usize, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { input, size, limit, carry: Vec::new(), next_line: 1, skipping: false, ended: false }
    }

    /// Reads up to `more` bytes behind what is there; says whether there was less.
    fn fill(&mut self, bytes: &mut Vec<u8>, more: usize) -> io::Result<bool> {
        bytes.reserve(more);
        let read = (&mut self.input).take(more as u64).read_to_end(bytes)?;
        Ok(read < more)
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        if self.ended {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.carry);
        let mut block = Block { bytes: Vec::new(), first: self.next_line, too_long: false, broken: None };
        loop {
            let seen = bytes.len();
            match self.fill(&mut bytes, self.size) {
                Ok(ended) => self.ended = ended,
                Err(error) => (self.ended, block.broken) = (true, Some(error)),
            }
            if self.skipping {
                match memchr(b'\n', &bytes) {
                    Some(at) => {
                        bytes.drain(..=at);
                        self.skipping = false;
                        // The line that was too long has a number too.
                        self.next_line += 1;
                        block.first = self.next_line;
                    }
                    None if self.ended => {
                        bytes.clear();
                        break;
                    }
                    None => {
                        bytes.clear();
                        continue;
                    }
                }
            }
            let from = seen.min(bytes.len());
            if let Some(at) = memrchr(b'\n', &bytes[from..]) {
                self.carry = bytes.split_off(from + at + 1);
                break;
            }
            if bytes.len() > self.limit {
                bytes.clear();
                (self.skipping, block.too_long) = (true, true);
                break;
            }
            if self.ended {
                break;
            }
        }
        if self.ended && block.broken.is_none() {
            bytes.append(&mut self.carry);
        } else if self.ended && !bytes.ends_with(b"\n") {
            // What was read of a line before reading failed is no line.
            bytes.clear();
        }
        self.next_line += count_lines(&bytes);
        block.bytes = bytes;
        Some(block)
    }
}

/// How many lines a block has.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    let open = !bytes.is_empty() && !bytes.ends_with(b"\n");
    memchr_iter(b'\n', bytes).count() as u64 + u64::from(open)
}

/// The lines of a block, without their line feeds.
pub(super) fn lines(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let (line, rest) = match memchr(b'\n', bytes) {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None => (bytes, &[][..]),
        };
        bytes = rest;
        Some(line)
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
        for block in Blocks::new(text, size, limit as u64) {
            let mut next = block.first;
            for line in lines(&block.bytes) {
                found.push((next, (line.len() <= limit).then(|| line.to_vec())));
                next += 1;
            }
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
            let blocks: Vec<Block> = Blocks::new(Torn(b"one\ntwo\nthr"), size, 100).collect();
            let bytes: Vec<u8> = blocks.iter().flat_map(|block| block.bytes.clone()).collect();
            assert_eq!(bytes, b"one\ntwo\n", "{size}");
            assert!(blocks.iter().rev().skip(1).all(|block| block.broken.is_none()));
            assert!(blocks.last().unwrap().broken.is_some());
        }
    }
}
