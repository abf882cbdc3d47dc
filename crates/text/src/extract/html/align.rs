//! Lays an article's text over the visible text of the page it was taken from.
//!
//! Input: two texts of which the first is, but for white space and small changes, made of stretches of the
//! second in the same order. Output: the map from the first to the second.
//!
//! White space is left out of both. Short byte strings (seeds) of the article are looked up in the page; of
//! all their places the longest chain is kept in which both sides ascend (Hunt and Szymanski 1977), so that a
//! heading repeated in the navigation cannot lead the rest astray. Seeds are extended to both sides as far as
//! the texts agree, and shorter seeds are tried in the gaps. What then is left over has no source: it is very
//! short or was made up by the article parser.
//! A general diff was rejected, because its cost grows with all that the article leaves out.

use std::collections::HashMap;

use crate::span::{OffsetMap, Span};

/// Length of a seed and distance of one from the next, in bytes. The first seeds are eight Chinese characters
/// or some four English words; the second, half a heading, are used only between what the first have placed.
const SEEDS: [(usize, usize); 2] = [(24, 8), (8, 1)];

/// A seed that occurs more often than this on the page says little and costs much.
const MAX_PLACES: usize = 8;

/// A gap longer than this is no heading or caption but repetition; the short seeds would cost too much there.
const MAX_GAP: usize = 64 * 1024;

/// Maps `article` to `page`.
pub(super) fn align(article: &str, page: &str) -> OffsetMap {
    let from = Squeezed::new(article);
    let to = Squeezed::new(page);
    let matches = find_matches(&from.bytes, &to.bytes, &SEEDS);
    write_map(article, page, &from, &to, &matches)
}

/// A text without its white space.
struct Squeezed {
    bytes: Vec<u8>,
    /// For every word: where it starts in `bytes`, and where in the text.
    words: Vec<(usize, usize)>,
}

impl Squeezed {
    fn new(text: &str) -> Self {
        let mut squeezed = Self { bytes: Vec::with_capacity(text.len()), words: Vec::new() };
        for word in text.split_whitespace() {
            // A word is a slice of the text, so the distance of the two is its offset.
            let offset = word.as_ptr() as usize - text.as_ptr() as usize;
            squeezed.words.push((squeezed.bytes.len(), offset));
            squeezed.bytes.extend_from_slice(word.as_bytes());
        }
        squeezed
    }

    /// The index of the word that the byte at `at` lies in.
    fn word_at(&self, at: usize) -> usize {
        self.words.partition_point(|&(start, _)| start <= at).saturating_sub(1)
    }

    fn word_end(&self, word: usize) -> usize {
        self.words.get(word + 1).map_or(self.bytes.len(), |&(start, _)| start)
    }
}

/// Equal bytes in the squeezed texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Match {
    from: usize,
    to: usize,
    len: usize,
}

/// Equal stretches in ascending order on both sides, found with the first seeds and, in the gaps, the others.
fn find_matches(from: &[u8], to: &[u8], sizes: &[(usize, usize)]) -> Vec<Match> {
    let Some((&(len, step), smaller)) = sizes.split_first() else { return Vec::new() };
    let found = extend(&chain(&seeds(from, to, len, step)), from, to);
    if smaller.is_empty() {
        return found;
    }
    let mut matches = Vec::with_capacity(found.len());
    let mut done = Match { from: 0, to: 0, len: 0 };
    for next in found.into_iter().chain([Match { from: from.len(), to: to.len(), len: 0 }]) {
        let (from_gap, to_gap) = (done.from + done.len..next.from, done.to + done.len..next.to);
        if from_gap.len() <= MAX_GAP {
            let within = find_matches(&from[from_gap.clone()], &to[to_gap.clone()], smaller);
            let shift =
                |m: Match| Match { from: m.from + from_gap.start, to: m.to + to_gap.start, len: m.len };
            matches.extend(within.into_iter().map(shift));
        }
        matches.push(next);
        done = next;
    }
    matches
}

/// A place in the article and one in the page, in bytes of the squeezed texts.
type Pair = (u32, u32);

/// All places of all seeds, by ascending place in the article and then descending place in the page.
fn seeds(from: &[u8], to: &[u8], len: usize, step: usize) -> Vec<Pair> {
    let starts = || (0..from.len()).step_by(step).take_while(|at| at + len <= from.len());
    let mut places: HashMap<&[u8], Vec<u32>> = starts().map(|at| (&from[at..at + len], Vec::new())).collect();
    if places.is_empty() {
        return Vec::new();
    }
    for (at, window) in to.windows(len).enumerate() {
        if let Some(found) = places.get_mut(window)
            && found.len() <= MAX_PLACES
        {
            found.push(at as u32);
        }
    }
    let mut pairs = Vec::new();
    for at in starts() {
        if let Some(found) = places.get(&from[at..at + len])
            && found.len() <= MAX_PLACES
        {
            pairs.extend(found.iter().rev().map(|&place| (at as u32, place)));
        }
    }
    pairs
}

/// The longest chain of pairs that ascends on both sides.
fn chain(pairs: &[Pair]) -> Vec<Pair> {
    // `tails[n]` is the pair that ends the chain of n + 1 pairs with the smallest place in the page.
    let mut tails: Vec<u32> = Vec::new();
    let mut before: Vec<Option<u32>> = Vec::with_capacity(pairs.len());
    for (index, &(_, place)) in pairs.iter().enumerate() {
        let length = tails.partition_point(|&tail| pairs[tail as usize].1 < place);
        before.push(length.checked_sub(1).map(|shorter| tails[shorter]));
        if length == tails.len() {
            tails.push(index as u32);
        } else {
            tails[length] = index as u32;
        }
    }
    let mut chain = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(index) = next {
        chain.push(pairs[index as usize]);
        next = before[index as usize];
    }
    chain.reverse();
    chain
}

/// Grows every seed to both sides without running into its neighbours, and joins those that meet.
fn extend(chain: &[Pair], from: &[u8], to: &[u8]) -> Vec<Match> {
    let mut matches: Vec<Match> = Vec::new();
    for &(at, place) in chain {
        let (at, place) = (at as usize, place as usize);
        let (from_start, to_start) = matches.last().map_or((0, 0), |m| (m.from + m.len, m.to + m.len));
        // Covered by the last one already, or crossing it.
        if at < from_start || place < to_start {
            continue;
        }
        let back = common_suffix(&from[from_start..at], &to[to_start..place]);
        let len = back + common_prefix(&from[at..], &to[place..]);
        let (start, end) = whole_characters(from, at - back, at - back + len);
        matches.push(Match { from: start, to: place - back + (start + back - at), len: end - start });
    }
    matches
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Narrows a range so that it cuts no character in two.
fn whole_characters(bytes: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    let starts_inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    while start < end && starts_inside(start) {
        start += 1;
    }
    while end > start && starts_inside(end) {
        end -= 1;
    }
    (start, end)
}

/// Writes the map word by word; what no match covers, and white space that differs, has an empty source.
fn write_map(article: &str, page: &str, from: &Squeezed, to: &Squeezed, matches: &[Match]) -> OffsetMap {
    let mut map = OffsetMap::default();
    let mut source_at = 0;
    let mut place = |map: &mut OffsetMap, up_to: usize, source: Option<Span>| {
        let open = up_to - source.map_or(0, Span::len) - map.derived_len();
        if open > 0 {
            // White space between two stretches is the same on both sides more often than not.
            let same = source.is_some_and(|source| {
                let start = source_at;
                let end = source.start as usize;
                page.get(start..end) == article.get(map.derived_len()..map.derived_len() + open)
            });
            if same {
                map.push_linear(Span::new(source_at, source_at + open));
            } else {
                map.push_whole(open, Span::new(source_at, source_at));
            }
        }
        if let Some(source) = source {
            map.push_linear(source);
            source_at = source.end as usize;
        }
    };
    for found in matches {
        let mut done = 0;
        while done < found.len {
            let (a, b) = (found.from + done, found.to + done);
            let (word_a, word_b) = (from.word_at(a), to.word_at(b));
            let len = (found.len - done).min(from.word_end(word_a) - a).min(to.word_end(word_b) - b);
            let offset_a = from.words[word_a].1 + (a - from.words[word_a].0);
            let offset_b = to.words[word_b].1 + (b - to.words[word_b].0);
            place(&mut map, offset_a + len, Some(Span::new(offset_b, offset_b + len)));
            done += len;
        }
    }
    place(&mut map, article.len(), None);
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sources<'a>(article: &str, page: &'a str, parts: &[&str]) -> Vec<&'a str> {
        let map = align(article, page);
        assert_eq!(map.derived_len(), article.len());
        let source = |part: &&str| {
            let start = article.find(*part).unwrap();
            &page[map.to_source(Span::new(start, start + part.len())).range()]
        };
        parts.iter().map(source).collect()
    }

    const BODY: &str = "the first paragraph of the article, long enough to be found\nthe second paragraph, \
        which is also long enough to be found by its seeds";

    #[test]
    fn finds_the_article_in_the_page() {
        let page = format!("Home\nNews\nthe second\n{}\nthe end", BODY.replace('\n', "\nadvertisement\n"));
        let parts = ["the first paragraph", "found\nthe", "by its seeds", "the second"];
        let expected = ["the first paragraph", "found\nadvertisement\nthe", "by its seeds", "the second"];
        assert_eq!(sources(BODY, &page, &parts), expected);
    }

    #[test]
    fn what_the_page_does_not_hold_has_no_source() {
        let article = BODY.replace('\n', "\nwords that nobody wrote\n");
        assert_eq!(sources(&article, BODY, &["words that nobody wrote"]), [""]);
        assert_eq!(sources("short", "other", &["short"]), [""]);
        assert_eq!(align("", "x").derived_len(), 0);
    }

    #[test]
    fn equal_stretches_keep_their_order() {
        let page = format!("{}\nend", "one line of an article that is repeated\n".repeat(5));
        let article = "one line of an article that is repeated\n".repeat(5);
        let map = align(&article, &page);
        for (start, _) in article.match_indices("one line") {
            assert_eq!(map.to_source(Span::new(start, start + 8)), Span::new(start, start + 8));
        }
    }

    proptest! {
        #[test]
        fn mapped_characters_are_equal(
            lines in prop::collection::vec("[a-c中文 ]{0,60}", 1..12),
            kept in prop::collection::vec(any::<bool>(), 12),
        ) {
            let page = lines.join("\n");
            let kept: Vec<&str> =
                lines.iter().zip(kept).filter(|(_, kept)| *kept).map(|(line, _)| line.as_str()).collect();
            let article = kept.join(" ");
            let map = align(&article, &page);
            prop_assert_eq!(map.derived_len(), article.len());
            for (start, c) in article.char_indices() {
                let source = map.to_source(Span::new(start, start + c.len_utf8()));
                let source = &page[source.range()];
                prop_assert!(source.is_empty() || source == c.encode_utf8(&mut [0; 4]));
            }
        }
    }
}
