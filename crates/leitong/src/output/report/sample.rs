//! The scores of all pairs that were found; of a sample of documents where there are too many.

use crate::commands::batch::evidence::Scores;
use leitong_detect::batch::{Fate, Pair};
use leitong_detect::verdict::Verdict;

/// Pairs that a page holds.
const MOST: usize = 200_000;
/// Says that there is no distance.
const NONE: u8 = u8::MAX;

/// A pair as the page knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scored {
    a: u32,
    b: u32,
    /// In hundredths, rounded down: a threshold in hundredths then decides as the score itself would.
    jaccard: u8,
    containment: u8,
    verdict: u8,
}

/// Pairs of all documents whose hash is below a limit, so that all pairs of a document are there or none.
pub(crate) struct Sample {
    pairs: Vec<Scored>,
    limit: u64,
    most: usize,
    /// All that were found.
    pub(super) found: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self::of(MOST)
    }
}

/// Spreads numbers evenly (the finaliser of SplitMix64).
pub(crate) fn spread(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn hundredths(share: f64) -> u8 {
    // A hair more, for shares that are whole hundredths but not as binary fractions.
    (share * 100.0 + 1e-9).clamp(0.0, 100.0) as u8
}

impl Sample {
    fn of(most: usize) -> Self {
        Self { pairs: Vec::new(), limit: u64::MAX, most, found: 0 }
    }

    /// Takes a pair, if its later document is in the sample.
    pub(crate) fn push(&mut self, pair: &Pair) {
        self.found += 1;
        if spread(pair.a.into()) > self.limit {
            return;
        }
        let scores = Scores::of(&pair.evidence);
        self.pairs.push(Scored {
            a: pair.a,
            b: pair.b,
            jaccard: hundredths(scores.jaccard),
            containment: hundredths(scores.containment()),
            verdict: match pair.ruling.verdict {
                Verdict::Exact => 0,
                Verdict::Near => 1,
                Verdict::Contains | Verdict::Contained => 2,
                Verdict::Quotes | Verdict::Different => 3,
            },
        });
        while self.pairs.len() > self.most {
            self.limit /= 2;
            let limit = self.limit;
            self.pairs.retain(|pair| spread(pair.a.into()) <= limit);
        }
    }

    /// How many there are here.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Which part of all documents it is.
    pub(super) fn share(&self) -> f64 {
        self.limit as f64 / u64::MAX as f64
    }

    fn is_whole(&self) -> bool {
        self.limit == u64::MAX
    }

    /// The documents in it.
    pub(super) fn documents(&self) -> impl Iterator<Item = u32> {
        self.pairs.iter().flat_map(|pair| [pair.a, pair.b])
    }

    /// Twelve bytes a pair: who would go, whom for, scores, distance, verdict; by who would go. Where all pairs are there, documents
    /// are numbered in the order of preference: those that stay come first.
    pub(super) fn bytes(&self, fates: &[Fate], distance: impl Fn(u32, u32) -> Option<u32>) -> Vec<u8> {
        let numbers = if self.is_whole() { preferred(fates) } else { (0..fates.len() as u32).collect() };
        let mut rows: Vec<[u32; 3]> = (0..)
            .zip(&self.pairs)
            .map(|(at, pair)| {
                let (a, b) = (numbers[pair.a as usize], numbers[pair.b as usize]);
                [a.max(b), a.min(b), at]
            })
            .collect();
        rows.sort_unstable();
        let mut bytes = Vec::with_capacity(12 * rows.len());
        for [goes, stays, at] in rows {
            let pair = &self.pairs[at as usize];
            let distance = distance(pair.a, pair.b).map_or(NONE, |bits| bits.min(NONE as u32 - 1) as u8);
            bytes.extend(goes.to_le_bytes());
            bytes.extend(stays.to_le_bytes());
            bytes.extend([pair.jaccard, pair.containment, distance, pair.verdict]);
        }
        bytes
    }
}

fn preferred(fates: &[Fate]) -> Vec<u32> {
    let mut numbers = vec![0; fates.len()];
    let stays = |&at: &usize| fates[at] == Fate::Stays;
    let order = (0..fates.len()).filter(stays).chain((0..fates.len()).filter(|at| !stays(at)));
    for (number, document) in (0..).zip(order) {
        numbers[document] = number;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_detect::verify::{Evidence, Rule, Ruling};

    fn pair(a: u32, b: u32) -> Pair {
        let evidence = Evidence { a: 100, b: 100, matched: 80, runs: 1, ..Evidence::default() };
        Pair { a, b, ruling: Ruling { verdict: Verdict::Near, rule: Rule::Shared }, evidence, weighed: true }
    }

    #[test]
    fn a_document_has_all_its_pairs_or_none() {
        let mut sample = Sample::of(1000);
        for a in 1..5000 {
            (0..3).for_each(|b| sample.push(&pair(a + 3, b)));
        }
        assert_eq!(sample.found, 3 * 4999);
        assert!(
            sample.len() <= 1000 && sample.len() > 300 && sample.len().is_multiple_of(3),
            "{}",
            sample.len()
        );
        let guess = sample.len() as f64 / sample.share();
        assert!((guess / sample.found as f64 - 1.0).abs() < 0.2, "{guess}");
    }

    #[test]
    fn whole_hundredths_stay_what_they_are() {
        for n in 0..=100_u8 {
            assert_eq!(hundredths(f64::from(n) / 100.0), n);
        }
        assert_eq!(hundredths(0.7999), 79);
    }

    #[test]
    fn who_stays_is_asked_first() {
        let mut sample = Sample::default();
        sample.push(&pair(1, 0));
        let bytes = sample.bytes(&[Fate::Goes(1), Fate::Stays], |_, _| None);
        assert_eq!(bytes[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[8..], [65, 80, 255, 1]);
    }
}
