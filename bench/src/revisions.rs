//! Real revisions of real pages, and pairs that only look alike.

use crate::candidate::Candidate;
use crate::data::{self, Document, Result};
use crate::edits::add_within;
use crate::near::{self, FARTHEST, share};
use std::collections::BTreeMap;

/// Pages in several versions: all pairs are looked at.
#[derive(Debug)]
pub struct Revisions {
    /// The name of the set.
    pub name: &'static str,
    /// The documents.
    pub documents: Vec<Document>,
    /// True pairs by label: `1`, or `weak` for those that have little in common.
    pairs: BTreeMap<String, Vec<(usize, usize)>>,
}

/// How well one candidate does on revisions.
#[derive(Clone, Debug, Default)]
pub struct RevisionScore {
    /// The share of the true pairs within each distance, by label.
    pub recall: BTreeMap<String, [f64; 4]>,
    /// The share of pairs within each distance that are versions of one page.
    pub precision: [f64; 4],
}

impl Revisions {
    /// Reads a set: `lctt_revisions`, `mdn_revisions_zh` or `mdn_revisions_en`.
    pub fn read(name: &'static str) -> Result<Self> {
        let documents = data::documents(&format!("{name}_docs.jsonl.zst"))?;
        let places = data::positions(&documents);
        let mut pairs = BTreeMap::<String, Vec<(usize, usize)>>::new();
        for row in data::rows(data::read(&format!("{name}_pairs.tsv"))?)? {
            if let (Some(&a), Some(&b)) = (places.get(row[0].as_str()), places.get(row[1].as_str())) {
                pairs.entry(row[2].clone()).or_default().push((a, b));
            }
        }
        Ok(Self { name, pairs, documents })
    }

    /// Scores a candidate, given its fingerprints of the documents.
    #[must_use]
    pub fn score(&self, fingerprints: &[Option<u64>]) -> RevisionScore {
        let recall =
            self.pairs.iter().map(|(label, pairs)| (label.clone(), within(pairs, fingerprints))).collect();
        let (mut all, mut right) = ([0; 4], [0; 4]);
        for hit in near::among(fingerprints, FARTHEST) {
            add_within(&mut all, Some(hit.distance));
            if self.page(hit.a) == self.page(hit.b) {
                add_within(&mut right, Some(hit.distance));
            }
        }
        RevisionScore { recall, precision: std::array::from_fn(|at| share(right[at], all[at])) }
    }

    /// The page a document is a version of: its id without the last part.
    fn page(&self, at: usize) -> &str {
        let id = &self.documents[at].id;
        id.rsplit_once('-').map_or(id, |(page, _)| page)
    }
}

/// Pairs under labels, where only the pairs themselves count.
#[derive(Debug)]
pub struct LabelledPairs {
    documents: Vec<Document>,
    pairs: BTreeMap<String, Vec<(usize, usize)>>,
}

impl LabelledPairs {
    /// Reads a set of `labelled_small.tar.zst`; the label stands in the column of that number.
    pub fn read(files: &BTreeMap<String, Vec<u8>>, name: &str, label: usize) -> Result<Self> {
        let documents = data::documents_of(data::member(files, &format!("{name}/docs.jsonl"))?)?;
        let places = data::positions(&documents);
        let mut pairs = BTreeMap::<String, Vec<(usize, usize)>>::new();
        for row in data::rows(data::member(files, &format!("{name}/pairs.tsv"))?)? {
            if let (Some(&a), Some(&b)) = (places.get(row[0].as_str()), places.get(row[1].as_str())) {
                pairs.entry(row[label].clone()).or_default().push((a, b));
            }
        }
        Ok(Self { pairs, documents })
    }

    /// The share of pairs within each distance, by label.
    #[must_use]
    pub fn score(&self, candidate: &Candidate) -> BTreeMap<String, [f64; 4]> {
        let fingerprints = candidate.fingerprints(&self.documents);
        self.pairs.iter().map(|(label, pairs)| (label.clone(), within(pairs, &fingerprints))).collect()
    }
}

fn within(pairs: &[(usize, usize)], fingerprints: &[Option<u64>]) -> [f64; 4] {
    let mut counts = [0; 4];
    for &(a, b) in pairs {
        add_within(&mut counts, near::distance(fingerprints[a], fingerprints[b]));
    }
    counts.map(|count| share(count, pairs.len()))
}
