//! Two texts side by side: every signal, the shared passages and a verdict with its reason.

use crate::fingerprinter::Fingerprinter;
use crate::prepared::Prepared;
use crate::value::Value;
use crate::verdict::Judgement;
use crate::verify::{Reading, Scratch, evidence, reason, rule, shared_passages};
use leitong_fingerprint::Fingerprint;
use leitong_fingerprint::distance::{Overlap, cosine};
use std::ops::Range;

/// A value of either text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Both<T> {
    /// The first text's.
    pub a: T,
    /// The second text's.
    pub b: T,
}

/// A passage that both texts have, in code points of the texts as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPassage {
    /// Where it stands in the first.
    pub a: Range<usize>,
    /// Where it stands in the second.
    pub b: Range<usize>,
    /// Units that are equal.
    pub matched: usize,
    /// Units that differ.
    pub differing: usize,
    /// The stretches inside it that are equal, in both texts; what lies between them differs.
    pub equal: Vec<Both<Range<usize>>>,
}

/// Everything that can be said of two texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The verdict and its reason.
    pub judgement: Judgement,
    /// SimHash, where there is enough evidence.
    pub simhash: Both<Option<Fingerprint>>,
    /// Bits in which they differ.
    pub distance: Option<u32>,
    /// Shingles: members and shared ones.
    pub shingles: Overlap,
    /// Jaccard as MinHash estimates it.
    pub minhash: Option<f64>,
    /// Winnowing marks: distinct ones and shared ones.
    pub marks: Overlap,
    /// Cosine of the weighted words.
    pub cosine: f64,
    /// Keyword fingerprints.
    pub keywords: Both<Option<Fingerprint>>,
    /// Sentence feature codes: the share of places that are equal.
    pub sentence_code: f64,
    /// The shared passages.
    pub passages: Vec<SharedPassage>,
    /// The share of the first text's units in passages, and of the second's.
    pub covered: Both<f64>,
    /// Letters and digits of each text.
    pub letters: Both<usize>,
}

impl Comparison {
    /// The larger of the two shares: how much of one text the other holds.
    #[must_use]
    pub fn containment(&self) -> f64 {
        self.shingles.a_in_b().max(self.shingles.b_in_a())
    }
}

impl Fingerprinter {
    /// Compares two documents that were prepared with this recipe.
    #[must_use]
    pub fn compare(&self, a: &Prepared<'_>, b: &Prepared<'_>) -> Comparison {
        let simhash = Both { a: self.bits_of(a), b: self.bits_of(b) };
        let distance = simhash.a.as_ref().zip(simhash.b.as_ref()).and_then(|(x, y)| x.distance(y).ok());
        let minhash = self.minhash_signature(a).zip(self.minhash_signature(b)).map(|(x, y)| x.similarity(&y));
        let (text_a, text_b) = (a.plain_text(), b.plain_text());
        let found = evidence(&Reading::of(&text_a), &Reading::of(&text_b), &[], &mut Scratch::default());
        let (ruling, scores) = (rule(&found), found.scores());
        Comparison {
            judgement: Judgement {
                verdict: ruling.verdict,
                reason: reason(&found, ruling),
                scores: Some(scores),
            },
            shingles: self.shingle_set(a).overlap(&self.shingle_set(b)),
            marks: Overlap::of_sorted(&self.mark_hashes(a), &self.mark_hashes(b)),
            cosine: self.cosine(a, b),
            keywords: Both { a: self.keyword_bits(a), b: self.keyword_bits(b) },
            sentence_code: same_places(&self.code(a), &self.code(b)),
            passages: shared_passages(&text_a, &text_b),
            covered: Both { a: scores.a_in_b, b: scores.b_in_a },
            letters: Both { a: a.letters().text.chars().count(), b: b.letters().text.chars().count() },
            simhash,
            distance,
            minhash,
        }
    }

    /// The passages that both documents have: what [`Fingerprinter::compare`] gives, without the rest.
    #[must_use]
    pub fn shared_passages(&self, a: &Prepared<'_>, b: &Prepared<'_>) -> Vec<SharedPassage> {
        shared_passages(&a.plain_text(), &b.plain_text())
    }

    fn bits_of(&self, document: &Prepared<'_>) -> Option<Fingerprint> {
        as_bits(self.simhash(document).value)
    }

    fn keyword_bits(&self, document: &Prepared<'_>) -> Option<Fingerprint> {
        as_bits(self.fingerprint(crate::Kind::Keywords, document).ok()?.value)
    }

    fn mark_hashes(&self, document: &Prepared<'_>) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.marks(document).iter().map(|mark| mark.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    fn cosine(&self, a: &Prepared<'_>, b: &Prepared<'_>) -> f64 {
        let (tokens_a, tokens_b) = (a.tokens(), b.tokens());
        let vector = |tokens| -> Vec<(&str, u64)> {
            let mut terms: Vec<_> =
                self.keyword_terms(tokens).iter().map(|term| (term.text, term.weight)).collect();
            terms.sort_unstable();
            terms
        };
        cosine(&vector(&tokens_a), &vector(&tokens_b))
    }
}

fn as_bits(value: Option<Value>) -> Option<Fingerprint> {
    match value {
        Some(Value::Bits(bits)) => Some(bits),
        Some(Value::Several(several)) => several.into_iter().flatten().next(),
        _ => None,
    }
}

/// The share of equal characters, place by place, of the longer code.
fn same_places(a: &str, b: &str) -> f64 {
    let longer = a.chars().count().max(b.chars().count());
    let same = a.chars().zip(b.chars()).filter(|(x, y)| x == y).count();
    if longer == 0 { 0.0 } else { same as f64 / longer as f64 }
}

#[cfg(test)]
mod tests {
    use crate::{Fingerprinter, Recipe};

    #[test]
    fn passages_point_into_the_original() {
        let fingerprinter = Fingerprinter::new(Recipe::built_in("leitong-1").unwrap()).unwrap();
        let (a, b) =
            ("　　ＡＢＣ：如有雷同，純屬巧合！請勿對號入座。", "甲乙丙丁。如有雷同,纯属虚构!请勿对号入座.完");
        let found = fingerprinter.compare(&fingerprinter.prepare(a), &fingerprinter.prepare(b));
        let slice = |text: &str, range: &std::ops::Range<usize>| -> String {
            text.chars().skip(range.start).take(range.len()).collect()
        };
        assert_eq!(found.passages.len(), 1);
        let passage = &found.passages[0];
        assert_eq!(slice(a, &passage.a), "如有雷同，純屬巧合！請勿對號入座");
        assert_eq!(slice(b, &passage.b), "如有雷同,纯属虚构!请勿对号入座");
        let equal: Vec<String> = passage.equal.iter().map(|run| slice(b, &run.b)).collect();
        assert_eq!(equal, ["如有雷同,纯属", "请勿对号入座"]);
    }
}
