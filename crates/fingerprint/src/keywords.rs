//! Keyword ("semantic") fingerprints: a few words stand for the text, and equal means duplicate.
//!
//! The words are chosen by the caller (heaviest by TF-IDF, most frequent, the author's own, a paragraph, a few
//! fields); here they are put into character order, joined and hashed, so that their order in the text does not
//! matter. [`imatch`] makes I-Match signatures (Chowdhury 2002; several lexicons, Kołcz 2004).

use crate::Fingerprint;
use crate::hash::{Algorithm, Units};
use crate::weight::{Idf, Term};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Joins parts so that no two different lists of parts give the same text.
const SEPARATOR: &str = "\u{1f}";

/// The fingerprint of a set of terms; `None` for no terms.
///
/// ```
/// use leitong_fingerprint::{hash::Algorithm, keywords};
/// let a = keywords::of_terms(["华联", "开业"], Algorithm::Md5);
/// assert_eq!(a, keywords::of_terms(["开业", "华联", "开业"], Algorithm::Md5));
/// ```
pub fn of_terms<'a>(terms: impl IntoIterator<Item = &'a str>, hash: Algorithm) -> Option<Fingerprint> {
    let mut terms: Vec<&str> = terms.into_iter().collect();
    terms.sort_unstable();
    terms.dedup();
    join_and_hash(terms, hash)
}

/// The fingerprint of terms with their counts: the `n` most frequent words of the text, smaller ones first among
/// equals.
#[must_use]
pub fn of_most_frequent(terms: &[Term<'_>], n: usize, hash: Algorithm) -> Option<Fingerprint> {
    let mut terms: Vec<(&str, u64)> = terms.iter().map(|term| (term.text, term.count)).collect();
    terms.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    terms.truncate(n);
    terms.sort_unstable();
    join_and_hash(terms.iter().map(|(term, count)| format!("{term}:{count}")), hash)
}

/// The fingerprint of parts whose order counts: a paragraph, a sentence, or title, author and date. Parts that
/// are missing are empty; `None` when all are.
pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>, hash: Algorithm) -> Option<Fingerprint> {
    let parts: Vec<&str> = parts.into_iter().collect();
    if parts.iter().all(|part| part.is_empty()) { None } else { join_and_hash(parts, hash) }
}

fn join_and_hash<S: AsRef<str>>(parts: impl IntoIterator<Item = S>, hash: Algorithm) -> Option<Fingerprint> {
    let mut joined = String::new();
    for part in parts {
        joined.push_str(part.as_ref());
        joined.push_str(SEPARATOR);
    }
    (!joined.is_empty()).then(|| hash.hash(&joined, Units::Utf8))
}

/// Which words an I-Match signature looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImatchBand {
    /// Lowest IDF, in thousandths: what is more common says nothing.
    pub lowest: u32,
    /// Highest IDF, in thousandths: what is rarer is often a slip of the pen.
    pub highest: u32,
    /// How many signatures: the first uses the whole band, each other one a random two thirds of it.
    pub lexicons: u32,
}

/// The I-Match signatures of a text, one a lexicon; two texts are duplicates when they agree in one of them. A
/// lexicon that has none of the words gives none.
#[must_use]
pub fn imatch(terms: &[Term<'_>], idf: &Idf, band: ImatchBand, hash: Algorithm) -> Vec<Option<Fingerprint>> {
    let inside = |term: &&Term<'_>| (band.lowest..=band.highest).contains(&idf.of(term.text));
    let words: Vec<&str> = terms.iter().filter(inside).map(|term| term.text).collect();
    (0..band.lexicons)
        .map(|lexicon| of_terms(words.iter().copied().filter(|word| in_lexicon(word, lexicon)), hash))
        .collect()
}

/// Lexicon 0 has every word; each other one has two thirds of them, the same for every text.
fn in_lexicon(word: &str, lexicon: u32) -> bool {
    lexicon == 0 || xxh3_64_with_seed(word.as_bytes(), u64::from(lexicon)) >= u64::MAX / 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::{Occurrence, Scheme, TagBoosts, Weighing};
    use proptest::prelude::*;

    fn terms<'a>(words: &[&'a str]) -> Vec<Term<'a>> {
        let weighing = Weighing {
            scheme: Scheme::Count,
            idf: &Idf::default(),
            boosts: &TagBoosts::default(),
            top: None,
        };
        weighing.weigh(&words.iter().map(|text| Occurrence { text, tag: "" }).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn word_order_does_not_matter(
            (words, shuffled) in prop::collection::vec("[雷同检测]{1,3}", 1..30)
                .prop_flat_map(|words| (Just(words.clone()), Just(words).prop_shuffle()))
        ) {
            let a: Vec<&str> = words.iter().map(String::as_str).collect();
            let b: Vec<&str> = shuffled.iter().map(String::as_str).collect();
            for hash in [Algorithm::Md5, Algorithm::Murmur64a, Algorithm::Lookup3Wide] {
                prop_assert_eq!(of_terms(a.clone(), hash), of_terms(b.clone(), hash));
                prop_assert_eq!(of_most_frequent(&terms(&a), 8, hash), of_most_frequent(&terms(&b), 8, hash));
                let band = ImatchBand { lowest: 0, highest: 20_000, lexicons: 4 };
                let idf = Idf::default();
                prop_assert_eq!(imatch(&terms(&a), &idf, band, hash), imatch(&terms(&b), &idf, band, hash));
            }
        }
    }

    #[test]
    fn nothing_has_no_fingerprint() {
        assert_eq!(of_terms([], Algorithm::Md5), None);
        assert_eq!(of_parts(["", ""], Algorithm::Md5), None);
        assert_ne!(of_parts(["a", ""], Algorithm::Md5), of_parts(["", "a"], Algorithm::Md5));
    }

    #[test]
    fn counts_are_part_of_the_frequent_form() {
        let (a, b) = (terms(&["a", "a", "b"]), terms(&["a", "b", "b"]));
        assert_ne!(of_most_frequent(&a, 8, Algorithm::Md5), of_most_frequent(&b, 8, Algorithm::Md5));
    }

    #[test]
    fn imatch_forgives_a_word_outside_the_band_and_one_missing_word_in_some_lexicon() {
        let idf = Idf::parse("的 0.5\n开业 6\n华联 7\n质疑 6\n声音 5\n决策者 8\n周围 5\n").unwrap();
        let band = ImatchBand { lowest: 2000, highest: 9000, lexicons: 8 };
        let all = ["开业", "华联", "质疑", "声音", "决策者", "周围"];
        let full = imatch(&terms(&all), &idf, band, Algorithm::Md5);
        let stop_word = imatch(&terms(&[&all[..], &["的"]].concat()), &idf, band, Algorithm::Md5);
        assert_eq!(full, stop_word);
        let one_less = imatch(&terms(&all[..5]), &idf, band, Algorithm::Md5);
        assert_ne!(full[0], one_less[0]);
        assert!(full.iter().zip(&one_less).any(|(a, b)| a == b));
    }
}
