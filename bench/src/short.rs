//! Short texts: how many features a SimHash needs before it says anything.

use crate::candidate::Candidate;
use crate::data::Document;
use crate::near::{self, share};
use leitong_fingerprint::hash::own64;
use leitong_fingerprint::shingle::Shingles;
use leitong_text::sentence::sentences;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The bands of the number of features: each starts here and ends before the next.
pub const BANDS: [usize; 9] = [1, 2, 4, 8, 12, 16, 24, 32, 48];

/// Single sentences, all different, and each with one character exchanged.
#[derive(Debug)]
pub struct ShortTexts {
    texts: Vec<Document>,
    edited: Vec<Document>,
    bigrams: Vec<Shingles>,
}

/// What was seen of the texts of one band.
#[derive(Clone, Copy, Debug, Default)]
pub struct BandScore {
    /// How many texts.
    pub texts: usize,
    /// Of how many the edited twin is within 3 bits.
    pub found: usize,
    /// Pairs within 3 bits whose texts share less than half of their character pairs; the text with fewer features
    /// gives the band.
    pub unrelated_pairs: usize,
    /// Pairs within 3 bits that share half or more.
    pub alike_pairs: usize,
}

impl ShortTexts {
    /// Up to two sentences a document, of at most 80 characters.
    #[must_use]
    pub fn of(documents: &[Document]) -> Self {
        let normalizer = near::letters();
        let mut seen = BTreeSet::new();
        let mut texts = Vec::new();
        for document in documents {
            let mut chosen: Vec<(u64, &str)> = sentences(&document.text)
                .into_iter()
                .map(|span| &document.text[span.range()])
                .filter(|sentence| sentence.chars().count() <= 80)
                .map(|sentence| (own64(sentence.as_bytes()), sentence))
                .collect();
            chosen.sort_unstable();
            for (_, sentence) in chosen.into_iter().take(2) {
                let letters = normalizer.normalize(sentence).text;
                if !letters.is_empty() && seen.insert(letters) {
                    texts.push(Document { id: document.id.clone(), text: sentence.to_owned() });
                }
            }
        }
        let edited =
            texts.iter().map(|text| Document { id: text.id.clone(), text: exchange(&text.text) }).collect();
        let bigrams = near::shingles(&texts, 2);
        Self { texts, edited, bigrams }
    }

    /// Scores a candidate by bands.
    #[must_use]
    pub fn score(&self, candidate: &Candidate) -> [BandScore; BANDS.len()] {
        let features: Vec<usize> = self.texts.par_iter().map(|text| candidate.features(&text.text)).collect();
        let fingerprints = candidate.fingerprints(&self.texts);
        let edited = candidate.fingerprints(&self.edited);
        let mut bands = [BandScore::default(); BANDS.len()];
        for (at, &count) in features.iter().enumerate() {
            let Some(band) = band(count) else { continue };
            bands[band].texts += 1;
            let distance = near::distance(fingerprints[at], edited[at]);
            bands[band].found += usize::from(distance.is_some_and(|distance| distance <= 3));
        }
        for hit in near::among(&fingerprints, 3) {
            let Some(band) = band(features[hit.a].min(features[hit.b])) else { continue };
            if self.bigrams[hit.a].overlap(&self.bigrams[hit.b]).jaccard() < 0.5 {
                bands[band].unrelated_pairs += 1;
            } else {
                bands[band].alike_pairs += 1;
            }
        }
        bands
    }
}

impl BandScore {
    /// The share of texts whose edited twin is found.
    #[must_use]
    pub fn recall(self) -> f64 {
        share(self.found, self.texts)
    }
}

fn band(features: usize) -> Option<usize> {
    BANDS.iter().rposition(|&least| features >= least)
}

/// The sentence with its middle letter exchanged for another of the same script.
fn exchange(sentence: &str) -> String {
    let mut characters: Vec<char> = sentence.chars().collect();
    let letters: Vec<usize> = (0..characters.len()).filter(|&at| characters[at].is_alphanumeric()).collect();
    if let Some(&middle) = letters.get(letters.len() / 2) {
        characters[middle] = match characters[middle] {
            '0'..='8' => '9',
            '9' => '0',
            'q' | 'Q' => 'z',
            c if c.is_ascii() => 'q',
            '雷' => '同',
            _ => '雷',
        };
    }
    characters.into_iter().collect()
}
