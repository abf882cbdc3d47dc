//! Who is near whom: plain scans over all pairs, exact for every distance. Thirty thousand by twenty thousand
//! fingerprints are compared in a second or two, so nothing cleverer is needed here.

use leitong_fingerprint::shingle::Shingles;
use leitong_text::normalize::{Normalizer, Options, Punctuation, Whitespace};
use rayon::prelude::*;

use crate::data::Document;

/// The distances that the tables show.
pub const DISTANCES: [u32; 4] = [0, 3, 6, 10];

/// The largest of [`DISTANCES`].
pub const FARTHEST: u32 = 10;

/// Two texts that share this much of their five-character shingles look alike: not "unrelated", whatever the truth of
/// the set says.
pub const LOOK_ALIKE: f64 = 0.3;

/// A pair of positions and their distance in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Position of the query, or of the earlier document.
    pub a: usize,
    /// Position of the indexed document.
    pub b: usize,
    /// Bits that differ.
    pub distance: u32,
}

/// The distance of two fingerprints, if both exist.
#[must_use]
pub fn distance(a: Option<u64>, b: Option<u64>) -> Option<u32> {
    Some((a? ^ b?).count_ones())
}

/// Every pair of a query and an indexed fingerprint within `farthest` bits.
#[must_use]
pub fn between(queries: &[Option<u64>], index: &[Option<u64>], farthest: u32) -> Vec<Hit> {
    let (places, values) = present(index);
    let hits = |(a, query): (usize, &Option<u64>)| {
        query.map(|q| scan(a, q, &values, &places, farthest)).unwrap_or_default()
    };
    queries.par_iter().enumerate().flat_map_iter(hits).collect()
}

/// Every pair among the fingerprints within `farthest` bits, the earlier one first.
#[must_use]
pub fn among(fingerprints: &[Option<u64>], farthest: u32) -> Vec<Hit> {
    let (places, values) = present(fingerprints);
    let hits = |at: usize| scan(places[at], values[at], &values[at + 1..], &places[at + 1..], farthest);
    (0..values.len()).into_par_iter().flat_map_iter(hits).collect()
}

fn present(fingerprints: &[Option<u64>]) -> (Vec<usize>, Vec<u64>) {
    fingerprints.iter().enumerate().filter_map(|(at, fingerprint)| Some((at, (*fingerprint)?))).unzip()
}

fn scan(a: usize, query: u64, values: &[u64], places: &[usize], farthest: u32) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (value, &b) in values.iter().zip(places) {
        let distance = (query ^ value).count_ones();
        if distance <= farthest {
            hits.push(Hit { a, b, distance });
        }
    }
    hits
}

/// The normaliser that leaves letters and digits alone.
#[must_use]
pub fn letters() -> Normalizer {
    let options =
        Options { punctuation: Punctuation::Drop, whitespace: Whitespace::Drop, ..Options::default() };
    Normalizer::new(options)
}

/// The shingles of `n` characters of documents, after all normalising: how alike two texts really are.
#[must_use]
pub fn shingles(documents: &[Document], n: usize) -> Vec<Shingles> {
    let letters = letters();
    let of = |document: &Document| Shingles::of_characters(&letters.normalize(&document.text).text, n);
    documents.par_iter().map(of).collect()
}

/// Whether two texts look alike.
#[must_use]
pub fn look_alike(a: &Shingles, b: &Shingles) -> bool {
    a.overlap(b).jaccard() >= LOOK_ALIKE
}

/// `part` of `whole`, zero of nothing.
#[must_use]
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
