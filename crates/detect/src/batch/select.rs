//! What stays, and what goes because of what.
//!
//! Groups are stars: whatever goes names one that stays and was compared with it. Documents are looked at in the order of
//! preference. One goes if it is near, or contained in, one that stays; of a contained and its container the container
//! stays, also when the contained came first, and whoever went because of the contained is looked at again.

use super::run::Run;
use super::{BatchError, Progress, Stage};
use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// What becomes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays,
    /// It goes, for it is a duplicate of this one, which stays.
    Goes(u32),
}

/// What becomes of every document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// By ordinal.
    pub fates: Vec<Fate>,
    /// Pairs that were found: all, and those that are duplicates.
    pub pairs: (u64, u64),
}

/// A neighbour, and what the document is to it.
#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    verdict: Verdict,
}

struct Choosing<'r> {
    run: &'r Run,
    /// By document: duplicates among the firsts of their classes.
    edges: BTreeMap<u32, Vec<Edge>>,
    fates: Vec<Fate>,
    decided: Vec<bool>,
    /// Who went because of whom.
    because: BTreeMap<u32, Vec<u32>>,
}

/// Whether a document goes for one that stays, given what it is to it.
fn yields(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Exact | Verdict::Near | Verdict::Contained)
}

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Contains => Verdict::Contained,
        Verdict::Contained => Verdict::Contains,
        same => same,
    }
}

impl Run {
    /// Chooses what stays. `preference` orders documents, the smallest first, and ties by input; without it the first stay.
    /// `each` is told every pair found, as far as it was looked into ([`super::Pair::weighed`]).
    pub fn select(
        &self,
        preference: Option<&[u64]>,
        progress: Progress<'_>,
        each: &mut dyn FnMut(super::Pair) -> Result<(), BatchError>,
    ) -> Result<Selection, BatchError> {
        let count = self.count() as usize;
        let mut edges: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
        let (mut all, mut duplicates) = (0, 0);
        self.judged(false, progress, &mut |pair| {
            all += 1;
            if pair.ruling.verdict.is_duplicate() {
                duplicates += 1;
                let verdict = pair.ruling.verdict;
                edges.entry(pair.a).or_default().push(Edge { to: pair.b, verdict });
                edges.entry(pair.b).or_default().push(Edge { to: pair.a, verdict: turned(verdict) });
            }
            each(pair)
        })?;
        let rank = |ordinal: u32| (preference.map_or(0, |rank| rank[ordinal as usize]), ordinal);
        // Of equal texts the preferred one stands for all.
        let mut best: Vec<u32> = (0..self.count()).collect();
        for ordinal in 0..self.count() {
            let of_class = &mut best[self.first(ordinal) as usize];
            *of_class = std::cmp::min_by_key(*of_class, ordinal, |&at| rank(at));
        }
        let best = |first: u32| best[first as usize];
        let mut order: Vec<u32> = edges.keys().copied().collect();
        order.sort_unstable_by_key(|&first| rank(best(first)));
        let mut choosing = Choosing {
            run: self,
            edges,
            fates: vec![Fate::Stays; count],
            decided: vec![false; count],
            because: BTreeMap::new(),
        };
        let total = order.len() as u64;
        for (done, document) in order.into_iter().enumerate() {
            if done % 1000 == 0 {
                progress(Stage::Choosing, done as u64, total);
            }
            choosing.decide(document)?;
        }
        let fates = (0..self.count()).map(|ordinal| {
            let first = self.first(ordinal);
            match choosing.fates[first as usize] {
                Fate::Goes(keeper) => Fate::Goes(best(keeper)),
                Fate::Stays if ordinal == best(first) => Fate::Stays,
                Fate::Stays => Fate::Goes(best(first)),
            }
        });
        let fates = fates.collect();
        Ok(Selection { fates, pairs: (all, duplicates) })
    }
}

impl Choosing<'_> {
    fn decide(&mut self, document: u32) -> Result<(), BatchError> {
        self.decided[document as usize] = true;
        match self.keeper(document)? {
            Some(keeper) => self.goes(document, keeper),
            None => self.stays(document)?,
        }
        Ok(())
    }

    fn goes(&mut self, document: u32, keeper: u32) {
        self.fates[document as usize] = Fate::Goes(keeper);
        self.because.entry(keeper).or_default().push(document);
    }

    fn is_kept(&self, document: u32) -> bool {
        self.decided[document as usize] && self.fates[document as usize] == Fate::Stays
    }

    /// One that stays and that the document goes for.
    fn keeper(&self, document: u32) -> Result<Option<u32>, BatchError> {
        let edges = self.edges.get(&document).map_or(&[][..], Vec::as_slice);
        let direct = edges.iter().find(|edge| yields(edge.verdict) && self.is_kept(edge.to));
        if let Some(edge) = direct {
            return Ok(Some(edge.to));
        }
        // A duplicate of something that went may be one of what that went for; only a comparison tells.
        let mut tried: Vec<u32> = edges.iter().map(|edge| edge.to).collect();
        for edge in edges.iter().filter(|edge| yields(edge.verdict) && self.decided[edge.to as usize]) {
            let Fate::Goes(keeper) = self.fates[edge.to as usize] else { continue };
            if keeper == document || tried.contains(&keeper) || !self.is_kept(keeper) {
                continue;
            }
            tried.push(keeper);
            if yields(self.run.judge(document, keeper)?.ruling.verdict) {
                return Ok(Some(keeper));
            }
        }
        Ok(None)
    }

    /// A document that stays takes the place of those it contains.
    fn stays(&mut self, document: u32) -> Result<(), BatchError> {
        self.fates[document as usize] = Fate::Stays;
        let contained: Vec<u32> = self.edges.get(&document).map_or(Vec::new(), |edges| {
            let inside = |edge: &&Edge| edge.verdict == Verdict::Contains && self.is_kept(edge.to);
            edges.iter().filter(inside).map(|edge| edge.to).collect()
        });
        for inside in contained {
            let orphans = self.because.remove(&inside).unwrap_or_default();
            self.goes(inside, document);
            for orphan in orphans {
                self.decide_again(orphan, document)?;
            }
        }
        Ok(())
    }

    /// One that went for something that now goes itself.
    fn decide_again(&mut self, orphan: u32, container: u32) -> Result<(), BatchError> {
        self.fates[orphan as usize] = Fate::Stays;
        self.decided[orphan as usize] = false;
        let keeper = if yields(self.run.judge(orphan, container)?.ruling.verdict) {
            Some(container)
        } else {
            self.keeper(orphan)?
        };
        self.decided[orphan as usize] = true;
        if let Some(keeper) = keeper {
            self.goes(orphan, keeper);
        }
        Ok(())
    }
}
