//! Sentences, and the ones among them that say enough to be compared.
//!
//! Chinese sentences end at 。！？；… and at line breaks; Latin ones at `!`, `?` and at a full stop that is neither part of
//! a number (3.14), of a name (example.com), of an abbreviation (Dr., e.g., J.) nor of a list number (`1.` at the start).
//! Works on normalised text too, where NFKC has made ！？； ASCII and … three stops, and where capitals are gone. Where
//! sentences matter, normalise with [`Whitespace::Lines`](crate::normalize::Whitespace::Lines): otherwise a headline has
//! no end.
//!
//! Unicode's sentence boundaries (UAX #29) were rejected: they need capitals, and do not end at ； or a line break.

use std::ops::Range;

use crate::normalize::is_line_break;
use crate::segment::is_han;
use crate::span::Span;
use crate::tokenize::Token;

/// Abbreviations that a sentence rarely ends with, in lower case, without the last stop.
const ABBREVIATIONS: [&str; 30] = [
    "al", "approx", "ca", "cf", "co", "corp", "dept", "dr", "e.g", "ed", "eds", "eq", "fig", "figs", "gen",
    "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "no", "pp", "prof", "sr", "st", "vol", "vs", "viz",
];

/// A sentence with enough effective words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it stands in the text.
    pub span: Span,
    /// Which of the tokens lie in it.
    pub tokens: Range<usize>,
}

/// The sentences of `text`, with what ends them, without white space around them; none is empty.
#[must_use]
pub fn sentences(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        let end = if is_line_break(c) {
            Some(next)
        } else if is_terminator(c) {
            let run = next + prefix_len(&text[next..], is_terminator);
            if ends_sentence(text, start, at, run) {
                Some(run + prefix_len(&text[run..], is_closing))
            } else {
                at = run;
                continue;
            }
        } else {
            None
        };
        at = end.unwrap_or(next);
        if end.is_some() {
            push_trimmed(text, start, at, &mut found);
            start = at;
        }
    }
    push_trimmed(text, start, text.len(), &mut found);
    found
}

/// The sentences with at least `min_effective_words` of the tokens in them, which are those of the same text that a
/// filter left. A token that crosses the end of a sentence belongs to the one it starts in.
#[must_use]
pub fn blocks(sentences: &[Span], tokens: &[Token<'_>], min_effective_words: usize) -> Vec<Block> {
    let mut from = 0;
    let mut blocks = Vec::new();
    for &span in sentences {
        from += tokens[from..].partition_point(|token| token.span.start < span.start);
        let to = from + tokens[from..].partition_point(|token| token.span.start < span.end);
        if to - from >= min_effective_words {
            blocks.push(Block { span, tokens: from..to });
        }
        from = to;
    }
    blocks
}

fn push_trimmed(text: &str, start: usize, end: usize, found: &mut Vec<Span>) {
    let slice = &text[start..end];
    let trimmed = slice.trim_start();
    let start = end - trimmed.len();
    let len = trimmed.trim_end().len();
    if len > 0 {
        found.push(Span::new(start, start + len));
    }
}

fn prefix_len(text: &str, belongs: fn(char) -> bool) -> usize {
    text.len() - text.trim_start_matches(belongs).len()
}

fn is_terminator(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '；' | '…' | '｡' | '．' | '.' | '!' | '?' | ';' | '؟' | '۔' | '।')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '」' | '』' | '）' | ')' | '》' | '】' | ']' | '»' | '〉' | '〕')
}

/// Whether the run of terminators from `at` to `end` ends the sentence that began at `start`.
fn ends_sentence(text: &str, start: usize, at: usize, end: usize) -> bool {
    let before = text[start..at].chars().next_back();
    match &text[at..end] {
        // In Chinese a semicolon ends a clause that could stand alone; elsewhere it does not.
        ";" => before.is_some_and(|c| is_han(c) || is_closing(c)),
        "." | "．" => stop_ends_sentence(&text[start..at], before, &text[end..]),
        _ => true,
    }
}

/// Whether a single full stop ends the sentence `so_far`, given what comes `after` it.
fn stop_ends_sentence(so_far: &str, before: Option<char>, after: &str) -> bool {
    let next = after.trim_start_matches(is_closing).chars().next();
    if before.is_some_and(is_han) {
        return true;
    }
    // example.com, 3.14, .5
    if next.is_some_and(|c| !c.is_whitespace() && !is_han(c)) {
        return false;
    }
    // "1." and "12." in front of an item of a list
    if so_far.trim().chars().all(|c| c.is_numeric() || c == '.' || c == '(') {
        return next.is_none();
    }
    let word = so_far.rsplit(|c: char| c.is_whitespace() || c == '(' || is_han(c)).next().unwrap_or_default();
    let word = word.to_lowercase();
    // J. Smith, U.S. troops: one letter after nothing or another stop
    let initial = word.rsplit('.').next().is_some_and(|last| {
        let mut letters = last.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    });
    next.is_none() || !(initial || ABBREVIATIONS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Tag, WordKind};
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|span| &text[span.range()]).collect()
    }

    #[test]
    fn chinese() {
        assert_eq!(
            split("如有雷同，绝非巧合。真的！？是；“对。”好……完"),
            ["如有雷同，绝非巧合。", "真的！？", "是；", "“对。”", "好……", "完"]
        );
        assert_eq!(
            split("第一句!第二句?第三;第四.第五..."),
            ["第一句!", "第二句?", "第三;", "第四.", "第五..."]
        );
        assert_eq!(split("标题\n  正文一\r\n\n正文二"), ["标题", "正文一", "正文二"]);
        assert_eq!(split("增长3.14%,见example.com。"), ["增长3.14%,见example.com。"]);
        assert_eq!(split("1.首先;2.其次。"), ["1.首先;", "2.其次。"]);
        assert_eq!(split("他用Word.然后走了。"), ["他用Word.", "然后走了。"]);
    }

    #[test]
    fn latin() {
        assert_eq!(
            split("It is so. dr. who came; he left! \"Why?\" ok"),
            ["It is so.", "dr. who came; he left!", "\"Why?\"", "ok"]
        );
        assert_eq!(
            split("Pi is 3.14. J. R. Smith of the U.S. army, e.g. here. End."),
            ["Pi is 3.14.", "J. R. Smith of the U.S. army, e.g. here.", "End."]
        );
        assert_eq!(split("1. First item. 2. Second item."), ["1. First item.", "2. Second item."]);
        assert_eq!(split("In 2024. Then (see fig. 3.) more"), ["In 2024.", "Then (see fig. 3.)", "more"]);
    }

    #[test]
    fn edges() {
        assert!(split("").is_empty() && split(" \n\t").is_empty());
        assert_eq!(split("。"), ["。"]);
        assert_eq!(split("."), ["."]);
        assert_eq!(split("no"), ["no"]);
        assert_eq!(split("This is no."), ["This is no."]);
    }

    #[test]
    fn short_sentences_are_noise() {
        let text = "雷同检测系统。嗯。查重";
        let token = |start, end| Token {
            text: &text[start..end],
            span: Span::new(start, end),
            tag: Tag::NONE,
            kind: WordKind::Word,
        };
        let tokens = [token(0, 6), token(6, 12), token(12, 18), token(27, 33)];
        let sentences = sentences(text);
        let found = |k| blocks(&sentences, &tokens, k).into_iter().map(|b| b.tokens).collect::<Vec<_>>();
        assert_eq!(found(3), vec![0..3]);
        assert_eq!(found(1), vec![0..3, 3..4]);
        assert_eq!(found(0), vec![0..3, 3..3, 3..4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Nothing but white space lies outside the sentences, and they ascend.
        #[test]
        fn nothing_is_lost(text in "([一二a1]|[.!;。…”)]|[ \\n]|\\PC){0,40}") {
            let mut end = 0;
            for span in sentences(&text) {
                let range = span.range();
                prop_assert!(range.start < range.end && text[end..range.start].trim().is_empty());
                prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
                end = range.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
