//! The default: Chinese by dictionary, every other script by Unicode's boundaries.
//!
//! jieba leaves a Russian or Korean sentence in single letters, and Unicode's rules leave a Chinese one in single
//! characters; so each gets what it understands. A run of jieba's own character class (Han, ASCII letters and
//! digits, `+#&._%-`) that holds a Han character goes to jieba whole, because its dictionary has words such as T恤
//! and 3D打印; everything else goes to Unicode. So inside such a run the words are exactly jieba's, and
//! between runs they may differ (numbers and Latin words on their own, rows of spaces).

use super::{Chinese, Segment, UnicodeWords, Word, is_han};
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
}

impl Segment for Mixed {
    fn segment(&self, text: &str, words: &mut Vec<Word>) {
        words.clear();
        let mut done = 0;
        while let Some(han) = next_han_run(text, done) {
            self.unicode.append(text, Span { start: done as u32, end: han.start }, words);
            self.chinese.append(text, han, words);
            done = han.end as usize;
        }
        self.unicode.append(text, Span::new(done, text.len()), words);
    }
}

/// The first run at or after `from` of jieba's class with a Han character in it.
fn next_han_run(text: &str, from: usize) -> Option<Span> {
    let is_ours = |c: char| is_han(c) || is_ascii_of_jieba(c);
    let first = from + text[from..].find(is_han)?;
    let start = text[from..first].trim_end_matches(is_ascii_of_jieba).len() + from;
    let end = text[first..].find(|c| !is_ours(c)).map_or(text.len(), |len| first + len);
    Some(Span::new(start, end))
}

fn is_ascii_of_jieba(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
}
