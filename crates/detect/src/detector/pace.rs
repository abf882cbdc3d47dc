//! How much to ask a store for at a time.
//!
//! A store ranks all that a question finds anew for every page, so pages of one size would make a long list quadratic.
//! Pages grow instead, as far as memory allows.

use leitong_store::{Candidate, Record};
use serde_json::{Map, Value};

/// Most candidates in one call, whatever it asks.
pub(super) const MOST_CANDIDATES: usize = 1 << 16;
/// Bytes the records of one page should have at most, going by those of the page before.
const PAGE_BYTES: usize = 32 << 20;
/// Bytes of texts that are together in memory, as far as it is known how long they are.
pub(super) const TEXT_BYTES: usize = 16 << 20;
/// Texts fetched in one call where they are read one after the other: more at a time are not faster.
pub(super) const TEXTS: usize = 16;

/// The size of the next page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(usize);

impl Pace {
    /// Begins with pages of this size.
    pub(super) fn new(first: usize) -> Self {
        Self(first.clamp(1, MOST_CANDIDATES))
    }

    /// How many candidates to ask for.
    pub(super) fn limit(self) -> usize {
        self.0
    }

    /// To be told of every page.
    pub(super) fn grow(&mut self, page: &[Candidate]) {
        let bytes: usize = page.iter().map(|candidate| held(&candidate.record)).sum();
        let fitting = PAGE_BYTES.saturating_mul(page.len()) / bytes.max(1);
        self.0 = self.0.saturating_mul(4).min(fitting).clamp(1, MOST_CANDIDATES);
    }
}

/// How many texts to fetch next. How long they are is not known before: it goes by the last, down at once and up slowly.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPace {
    next: usize,
    most: usize,
}

impl TextPace {
    /// At most this many at a time.
    pub(super) fn new(most: usize) -> Self {
        Self { next: TEXTS.min(most), most }
    }

    /// How many to fetch, of those there are.
    pub(super) fn limit(self, there: usize) -> usize {
        self.next.min(there)
    }

    /// How many can be dealt with together that need so many texts each; one at least.
    pub(super) fn fitting(self, needed: impl Iterator<Item = usize>) -> usize {
        let sums = needed.scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        sums.take_while(|sum| *sum <= self.next).count().max(1)
    }

    /// To be told the lengths of the texts of every call.
    pub(super) fn read(&mut self, lengths: impl Iterator<Item = usize>) {
        let (count, bytes) = lengths.fold((0usize, 0), |(count, bytes), length| (count + 1, bytes + length));
        let fitting = TEXT_BYTES.saturating_mul(count.max(1)) / bytes.max(1);
        self.next = fitting.min(self.next * 2).clamp(1, self.most);
    }
}

/// How many of these calls for candidates can be made as one.
pub(super) fn together(limits: impl Iterator<Item = usize>) -> usize {
    let sums = limits.scan(0usize, |sum, limit| {
        *sum = sum.saturating_add(limit);
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= MOST_CANDIDATES).count().max(1)
}

/// The length of a record's text.
pub(super) fn text_length(record: &Record) -> usize {
    record.text.as_ref().map_or(0, String::len)
}

/// About how much memory a record without its text takes.
fn held(record: &Record) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    size_of::<Record>()
        + record.id.len()
        + text(&record.title)
        + text(&record.source)
        + held_by_fields(&record.metadata)
}

fn held_by_fields(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| name.len() + held_by_value(value)).sum()
}

fn held_by_value(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(held_by_value).sum(),
            Value::Object(fields) => held_by_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_store::Rank;
    use std::cmp::Reverse;

    fn page(count: usize, title: usize) -> Vec<Candidate> {
        let rank = Rank { distance: 0, keys: Reverse(0), version: 0 };
        let record = Record { title: Some("x".repeat(title)), ..Record::default() };
        vec![Candidate { rank, record }; count]
    }

    #[test]
    fn pages_grow_as_far_as_memory_allows() {
        let mut pace = Pace::new(32);
        let mut limits = Vec::new();
        for _ in 0..7 {
            limits.push(pace.limit());
            pace.grow(&page(8, 10));
        }
        assert_eq!(limits, [32, 128, 512, 2048, 8192, 32768, 65536]);
        pace.grow(&page(8, 1 << 20));
        assert_eq!(pace.limit(), 31, "a megabyte each");
        pace.grow(&page(1, 64 << 20));
        assert_eq!(pace.limit(), 1, "one at least");
        pace.grow(&[]);
        assert_eq!(pace.limit(), 1);
    }

    #[test]
    fn the_longer_texts_are_the_fewer_are_read() {
        let mut pace = TextPace::new(64);
        let mut limits = Vec::new();
        for length in [10, 10, 10, 10, 1 << 30, 1 << 22, 1 << 22, 1 << 22, 0] {
            limits.push(pace.limit(1000));
            pace.read([length; 2].into_iter());
        }
        assert_eq!(limits, [16, 32, 64, 64, 64, 1, 2, 4, 4]);
        assert_eq!(pace.limit(3), 3, "no more than there are");
        pace.read(std::iter::empty());
        assert_eq!(pace.limit(1000), 16);
    }

    #[test]
    fn calls_go_together_up_to_the_limit() {
        assert_eq!(together([1 << 15, 1 << 15, 1].into_iter()), 2);
        assert_eq!(together([1 << 20, 1].into_iter()), 1, "one at least");
        assert_eq!(together([usize::MAX, usize::MAX].into_iter()), 1);
        assert_eq!(together([5; 3].into_iter()), 3);
    }
}
