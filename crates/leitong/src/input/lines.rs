//! Lines of bounded length.

use super::{Document, InputError, Item, Options, Place};
use std::io::{BufRead, BufReader, Read};

/// Why a line cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("the line is longer than {0} MiB; split the text, or raise --max-text")]
    TooLong(u64),
    #[error(
        "byte {0} of the line is not valid UTF-8; convert it (iconv -f gb18030 -t utf-8): only of plain files, HTML and the like is the encoding detected"
    )]
    Encoding(usize),
    #[error("reading failed: {0}; the rest of this input is lost")]
    Read(#[from] std::io::Error),
}

/// The lines of a stream, none longer than a limit. A line that is too long is passed over without being kept.
pub(crate) struct BoundedLines<R> {
    reader: BufReader<R>,
    limit: u64,
    ended: bool,
}

impl<R: Read> BoundedLines<R> {
    /// `limit` in bytes.
    pub(crate) fn new(reader: R, limit: u64) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, reader), limit, ended: false }
    }

    fn next_line(&mut self) -> Result<Option<String>, LineError> {
        let mut line = Vec::new();
        let read = (&mut self.reader).take(self.limit + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        } else if read as u64 > self.limit {
            drop(line);
            self.skip_rest_of_line()?;
            return Err(LineError::TooLong(self.limit >> 20));
        }
        String::from_utf8(line)
            .map(Some)
            .map_err(|error| LineError::Encoding(error.utf8_error().valid_up_to() + 1))
    }

    fn skip_rest_of_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            if let Some(at) = buffer.iter().position(|&byte| byte == b'\n') {
                self.reader.consume(at + 1);
                return Ok(());
            }
            let length = buffer.len();
            self.reader.consume(length);
        }
    }
}

impl<R: Read> Iterator for BoundedLines<R> {
    type Item = Result<String, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let line = self.next_line().transpose();
        self.ended = matches!(line, None | Some(Err(LineError::Read(_))));
        line
    }
}

/// Every line of a stream as a text; its id is its number, and in a file its place.
pub(super) fn texts<R: Read>(
    input: R,
    name: String,
    options: &Options,
) -> impl Iterator<Item = Item> + use<R> {
    let anonymous = name == super::STDIN;
    BoundedLines::new(input, options.extract.max_text).zip(1..).map(move |(line, number)| {
        let place = Place::line(&name, number);
        let id = if anonymous { number.to_string() } else { place.to_string() };
        let fail = |message: String| InputError { place: place.clone(), id: id.clone(), message };
        let text = line.map_err(|error| fail(error.to_string()))?;
        if text.trim().is_empty() {
            return Err(fail("the line is empty; give a text, or remove the line".into()));
        }
        Ok(Document { id, text, anonymous, place, ..Document::default() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], limit: u64) -> Vec<Result<String, String>> {
        BoundedLines::new(text, limit).map(|line| line.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn bad_lines_do_not_stop_the_good_ones() {
        let found = lines(b"one\r\n\xff\n\nlonger than the limit\nfive", 8);
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], Ok("one".into()));
        assert!(found[1].as_ref().is_err_and(|message| message.starts_with("byte 1 ")));
        assert_eq!(found[2], Ok(String::new()));
        assert!(found[3].as_ref().is_err_and(|message| message.contains("longer than")));
        assert_eq!(found[4], Ok("five".into()));
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_fine() {
        assert_eq!(lines(b"12345678\nx", 8), [Ok("12345678".into()), Ok("x".into())]);
        assert_eq!(lines(b"12345678", 8), [Ok("12345678".into())]);
        assert!(lines(b"123456789", 8)[0].is_err());
    }
}
