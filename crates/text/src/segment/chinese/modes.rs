//! Full mode and search mode: more words than the best path has, as jieba's `cut_all` and `cut_for_search` give them.

use super::layout::{SINGLE_WEIGHT_SHIFT, WEIGHT_OF_ONE, is_han};
use super::{Chinese, Dictionary};
use crate::span::Span;

impl Chinese {
    /// Every word of the dictionary in `text`, overlapping ones too, by start and length: full mode. Runs of ASCII
    /// letters and digits are one word, all else outside Han is a word a character; a Han character that is part of no
    /// word is left out.
    #[must_use]
    pub fn cut_all(&self, text: &str) -> Vec<Span> {
        let dictionary = self.dictionary();
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let run = |is: fn(char) -> bool| text[at..].find(|c| !is(c)).map_or(text.len(), |len| at + len);
            let end = match c {
                _ if is_han(u32::from(c)) => run(|c| is_han(u32::from(c))),
                _ if is_joined(c) => run(is_joined),
                _ => at + c.len_utf8(),
            };
            if is_han(u32::from(c)) {
                all_words(dictionary, text, Span::new(at, end), &mut words);
            } else {
                words.push(Span::new(at, end));
            }
            at = end;
        }
        words
    }

    /// The words of `text`, each after the words of two and three characters inside it: search mode. Of a compound such
    /// as `WES-5.4.5`, the parts with letters come first.
    #[must_use]
    pub fn cut_for_search(&self, text: &str) -> Vec<Span> {
        let dictionary = self.dictionary();
        let mut offsets = Vec::new();
        self.cut_offsets(text, &mut offsets);
        let mut words = Vec::with_capacity(offsets.len());
        let mut boundaries = Vec::new();
        for pair in offsets.windows(2) {
            let (start, end) = (pair[0] as usize, pair[1] as usize);
            parts_of_compound(text, start, end, &mut words);
            boundaries.clear();
            boundaries.extend(text[start..end].char_indices().map(|(at, _)| start + at));
            boundaries.push(end);
            for length in [2, 3].into_iter().filter(|length| boundaries.len() - 1 > *length) {
                let grams = boundaries.windows(length + 1).map(|gram| (gram[0], gram[length]));
                let known = grams.filter(|&(start, end)| dictionary.has(&text[start..end]));
                words.extend(known.map(|(start, end)| Span::new(start, end)));
            }
            words.push(Span::new(start, end));
        }
        words
    }
}

fn is_joined(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '\n')
}

/// The words of a run of Han characters.
fn all_words(dictionary: &Dictionary, text: &str, run: Span, words: &mut Vec<Span>) {
    let han = &text[run.range()];
    let codes: Vec<u16> = han.chars().map(|c| dictionary.code(c)).collect();
    let mut boundaries: Vec<usize> = han.char_indices().map(|(at, _)| run.start as usize + at).collect();
    boundaries.push(run.end as usize);
    let mut lengths = Vec::new();
    for at in 0..codes.len() {
        lengths.clear();
        let single = dictionary.singles[usize::from(codes[at])].about as usize >> SINGLE_WEIGHT_SHIFT;
        if single > WEIGHT_OF_ONE {
            lengths.push(1);
        }
        dictionary.each_prefix(&codes[at..], |length, _| lengths.push(length));
        if let Some(own) = &dictionary.own {
            own.each_prefix(&text[boundaries[at]..run.end as usize], |length, _, _| lengths.push(length));
            lengths.sort_unstable();
        }
        words.extend(lengths.iter().map(|&length| Span::new(boundaries[at], boundaries[at + length])));
    }
}

/// The parts of a word with connectors in it that could be looked for on their own.
fn parts_of_compound(text: &str, start: usize, end: usize, words: &mut Vec<Span>) {
    let is_connector = |c: char| matches!(c, '.' | '_' | '-');
    let mut at = start;
    if text[start..end].contains(is_connector) {
        for part in text[start..end].split(is_connector) {
            if part.len() >= 2 && part.bytes().any(|b| b.is_ascii_alphabetic()) {
                words.push(Span::new(at, at + part.len()));
            }
            at += part.len() + 1;
        }
    }
}
