//! What two texts have in common, where it is asked for.

use super::answer::{Match, NoEvidence};
use super::document::Evidence;
use super::pace::TextPace;
use super::{Collection, DetectError};
use leitong_store::Want;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A match and the text that asked.
pub(super) struct Pair<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) found: &'a mut Match,
}

/// Most texts of matches in memory at a time: enough for all cores.
const TEXTS: usize = 256;

impl Collection {
    /// Adds evidence to matches in this collection.
    pub(super) fn add_evidence(
        &self,
        mut pairs: Vec<Pair<'_>>,
        evidence: Evidence,
    ) -> Result<(), DetectError> {
        if evidence == Evidence::None {
            return Ok(());
        }
        let (mut pace, mut rest) = (TextPace::new(TEXTS), &mut pairs[..]);
        while !rest.is_empty() {
            let (pairs, others) = rest.split_at_mut(pace.limit(rest.len()));
            rest = others;
            let texts = self.texts_of(pairs)?;
            pace.read(texts.values().map(String::len));
            pairs.par_iter_mut().for_each(|pair| {
                let text = texts.get(&pair.found.version).map(String::as_str);
                self.compare(pair, text, evidence);
            });
        }
        Ok(())
    }

    fn texts_of(&self, pairs: &[Pair<'_>]) -> Result<BTreeMap<u64, String>, DetectError> {
        let asked = pairs.iter().filter(|pair| pair.text.is_some());
        let mut ids: Vec<&str> = asked.map(|pair| pair.found.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let stored = self.store().get(self.name(), &ids, Want::Text)?;
        Ok(stored.into_iter().flatten().filter_map(|one| Some((one.version, one.record.text?))).collect())
    }

    fn compare(&self, pair: &mut Pair<'_>, text: Option<&str>, evidence: Evidence) {
        let found = &mut *pair.found;
        let (asked, text) = match (pair.text, text) {
            (Some(asked), Some(text)) => (asked, text),
            (None, _) => return found.no_evidence = Some(NoEvidence::AskedWithoutText),
            (_, None) => return found.no_evidence = Some(NoEvidence::MatchWithoutText),
        };
        let fingerprinter = self.fingerprinter();
        let (a, b) = (fingerprinter.prepare(asked), fingerprinter.prepare(text));
        // A verdict by evidence has its scores already.
        if found.scores.is_none() {
            let shingles = fingerprinter.shingle_set(&a).overlap(&fingerprinter.shingle_set(&b));
            found.jaccard = Some(shingles.jaccard());
            found.containment = Some(shingles.a_in_b().max(shingles.b_in_a()));
        }
        if evidence == Evidence::Passages {
            found.passages = Some(fingerprinter.shared_passages(&a, &b));
        }
    }
}
