//! The verifier on stored documents: texts are fetched, copies make one source, rare passages decide.

use super::judge::{Asking, Judged, by_distance};
use super::pace::TextPace;
use super::{Collection, DetectError};
use crate::verdict::{Judgement, Verdict};
use crate::verify::{
    Evidence, FULL, Reader, Reading, Scratch, Sketch, evidence, is_copy, reason, rule, sketch_evidence,
    weight,
};
use leitong_fingerprint::marks::Mark;
use leitong_store::{Candidate, Outline, Rank, Signals, Sources, Want};
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Most texts of candidates in memory at a time.
const TEXTS: usize = 1024;
/// Cases up to this number are not worth the threads.
const FEW: usize = 4;

/// What is known of a document's content.
enum Content {
    Text(Reading),
    Sketch(Sketch),
}

/// A document that can be verified, and what its marks weigh.
struct Asked {
    content: Content,
    /// The hashes of its marks, each once, ascending.
    hashes: Vec<u32>,
    /// The digest of its letters.
    exact: Option<u128>,
}

thread_local! {
    static BENCH: RefCell<(Reader, Scratch)> = RefCell::default();
}

pub(super) fn outline(reading: &Reading, keeps_text: bool) -> Outline {
    let mut marks: Vec<leitong_store::Mark> =
        reading.marks.iter().map(|mark| leitong_store::Mark { hash: mark.hash, at: mark.at }).collect();
    marks.sort_unstable_by_key(|mark| (mark.at, mark.hash));
    // Numbers are read from the text again where it is kept.
    let numbers = if keeps_text { Vec::new() } else { Sketch::of(reading).numbers };
    Outline { marks, units: reading.units.len() as u32, numbers }
}

fn sketch(outline: &Outline) -> Sketch {
    let mut marks: Vec<Mark> =
        outline.marks.iter().map(|mark| Mark { hash: mark.hash, at: mark.at }).collect();
    marks.sort_unstable();
    Sketch { marks, units: outline.units, numbers: outline.numbers.clone() }
}

impl Content {
    fn of(text: Option<&str>, signals: &Signals) -> Option<Self> {
        match text {
            Some(text) => {
                let mut reading = Reading::default();
                BENCH.with_borrow_mut(|(reader, _)| reader.read(text, &mut reading));
                // Many are kept at a time, and reading takes room for more than there turns out to be.
                reading.units.shrink_to_fit();
                reading.marks.shrink_to_fit();
                Some(Self::Text(reading))
            }
            None if signals.outline.marks.is_empty() => None,
            None => Some(Self::Sketch(sketch(&signals.outline))),
        }
    }

    fn marks(&self) -> &[Mark] {
        match self {
            Self::Text(reading) => &reading.marks,
            Self::Sketch(sketch) => &sketch.marks,
        }
    }

    /// What two documents have in common, and whether the texts were there to tell. `same` says that the digests of their
    /// letters are equal.
    fn compare(&self, other: &Self, weights: &[u32], same: bool) -> (Evidence, bool) {
        let (mut found, by_text) = self.compare_contents(other, weights);
        if same && !by_text {
            (found.equal, found.matched) = (true, found.a);
            (found.rare, found.runs) = (f64::from(found.a), 1);
        }
        (found, by_text)
    }

    fn compare_contents(&self, other: &Self, weights: &[u32]) -> (Evidence, bool) {
        match (self, other) {
            (Self::Text(own), Self::Text(other)) => {
                BENCH.with_borrow_mut(|(_, scratch)| (evidence(own, other, weights, scratch), true))
            }
            (Self::Text(own), Self::Sketch(other)) => {
                (sketch_evidence(&Sketch::of(own), other, weights), false)
            }
            (Self::Sketch(own), Self::Text(other)) => {
                (sketch_evidence(own, &Sketch::of(other), weights), false)
            }
            (Self::Sketch(own), Self::Sketch(other)) => (sketch_evidence(own, other, weights), false),
        }
    }
}

impl Asked {
    fn new(asking: &Asking<'_>) -> Option<Self> {
        let content = Content::of(asking.text, asking.signals)?;
        let mut hashes: Vec<u32> = content.marks().iter().map(|mark| mark.hash).collect();
        hashes.dedup();
        Some(Self { content, hashes, exact: asking.signals.exact })
    }

    /// What it has in common with each candidate whose content is known, all marks weighing the same.
    fn compare_all(&self, found: &[Candidate], contents: &Contents) -> Vec<Option<(Evidence, bool)>> {
        let compare = |one: &Candidate| {
            Some(self.content.compare(contents.get(&one.rank.version)?, &[], self.is_same(one)))
        };
        found.iter().map(compare).collect()
    }

    fn is_same(&self, candidate: &Candidate) -> bool {
        self.exact.is_some() && self.exact == candidate.record.signals.exact
    }

    /// What each of its marks weighs, given how many sources have each hash; nothing where all weigh the same.
    fn weights(&self, sources: &[u32]) -> Vec<u32> {
        let of_hashes: Vec<u32> = sources.iter().map(|&sources| weight(sources)).collect();
        if of_hashes.iter().all(|&weight| weight == FULL) {
            return Vec::new();
        }
        let of_mark = |mark: &Mark| {
            self.hashes
                .binary_search(&mark.hash)
                .ok()
                .and_then(|at| of_hashes.get(at))
                .copied()
                .unwrap_or(FULL)
        };
        self.content.marks().iter().map(of_mark).collect()
    }
}

/// Contents by versions.
type Contents = BTreeMap<u64, Content>;

impl Collection {
    pub(super) fn verify<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
    ) -> Result<Vec<Judged>, DetectError> {
        let mut judged = Vec::with_capacity(cases.len());
        let (mut pace, mut rest) = (TextPace::new(TEXTS), cases);
        while !rest.is_empty() {
            // As many cases as have few enough candidates together; one at least.
            let mut count = 0;
            let fits = |case: &&(Asking<'a>, &'a [Candidate])| {
                count += case.1.len();
                count <= pace.limit(TEXTS)
            };
            let (together, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let contents = self.contents(together.iter().flat_map(|(_, found)| *found), &mut pace)?;
            judged.extend(self.verify_some(together, &contents)?);
            rest = others;
        }
        Ok(judged)
    }

    /// For each document, the version of the first of the group of copies that it belongs to.
    pub(super) fn copies<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
    ) -> Result<Vec<Option<u64>>, DetectError> {
        let contents =
            self.contents(cases.iter().flat_map(|(_, found)| *found), &mut TextPace::new(TEXTS))?;
        Ok(each(cases, |(asking, found)| {
            let asked = if found.is_empty() { None } else { Asked::new(asking) }?;
            origin(found, &asked.compare_all(found, &contents))
        }))
    }

    fn verify_some<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
        contents: &Contents,
    ) -> Result<Vec<Judged>, DetectError> {
        let first = each(cases, |(asking, found)| {
            let asked = if found.is_empty() { None } else { Asked::new(asking) }?;
            let compared = asked.compare_all(found, contents);
            let origin = asking.origin.or_else(|| origin(found, &compared));
            Some((asked, compared, origin))
        });
        let questions: Vec<Sources> = first
            .iter()
            .flatten()
            .map(|(asked, _, origin)| Sources { marks: asked.hashes.clone(), origin: *origin, except: None })
            .collect();
        let mut sources = self.store().sources(self.name(), &questions)?.into_iter();
        let first: Vec<_> = first
            .into_iter()
            .map(|first| first.map(|first| (first, sources.next().unwrap_or_default())))
            .collect();
        let within = self.settings().distance;
        let second = |at: usize| {
            let (asking, found) = &cases[at];
            let Some(((asked, compared, origin), sources)) = &first[at] else {
                let judgements = found.iter().map(|one| by_distance(*asking, one, within)).collect();
                return Judged { judgements, origin: None };
            };
            let weights = asked.weights(sources);
            let judge = |(one, compared): (&Candidate, &Option<(Evidence, bool)>)| match compared {
                // A document of which only the fingerprint is known, or that is gone.
                None => by_distance(*asking, one, within),
                Some(_) if one.rank.keys.0 == 0 => {
                    Judgement::new(Verdict::Different, "no mark is shared".into())
                }
                Some((evidence, by_text)) if weights.is_empty() => judgement(evidence, *by_text),
                Some(_) => contents.get(&one.rank.version).map_or_else(
                    || by_distance(*asking, one, within),
                    |content| {
                        let (evidence, by_text) =
                            asked.content.compare(content, &weights, asked.is_same(one));
                        judgement(&evidence, by_text)
                    },
                ),
            };
            Judged { judgements: found.iter().zip(compared).map(judge).collect(), origin: *origin }
        };
        let places: Vec<usize> = (0..cases.len()).collect();
        Ok(each(&places, |&at| second(at)))
    }

    /// The contents of candidates, as far as they are kept and have not been replaced meanwhile.
    fn contents<'a>(
        &self,
        candidates: impl Iterator<Item = &'a Candidate>,
        pace: &mut TextPace,
    ) -> Result<Contents, DetectError> {
        let mut ids: Vec<&str> = candidates.map(|candidate| candidate.record.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut contents = Contents::new();
        let mut rest = &ids[..];
        while !rest.is_empty() {
            let (together, others) = rest.split_at(pace.limit(rest.len()));
            let stored = self.store().get(self.name(), together, Want::Text)?;
            let stored: Vec<_> = stored.into_iter().flatten().collect();
            pace.read(stored.iter().map(|one| one.record.text.as_ref().map_or(0, String::len)));
            let read = each(&stored, |one| {
                Some((one.version, Content::of(one.record.text.as_deref(), &one.record.signals)?))
            });
            contents.extend(read.into_iter().flatten());
            rest = others;
        }
        Ok(contents)
    }
}

/// The origin of the best copy among candidates.
fn origin(found: &[Candidate], compared: &[Option<(Evidence, bool)>]) -> Option<u64> {
    let strengths = found.iter().zip(compared).filter_map(|(one, compared)| {
        let strength = is_copy(&compared.as_ref()?.0)?;
        Some((strength, one.record.origin.unwrap_or(one.rank.version), one.rank.version))
    });
    // The strongest; of equals the oldest.
    let best = strengths.max_by(|x, y| x.0.total_cmp(&y.0).then(y.2.cmp(&x.2)));
    best.map(|(_, origin, _)| origin)
}

fn judgement(evidence: &Evidence, by_text: bool) -> Judgement {
    let ruling = rule(evidence);
    let mut reason = reason(evidence, ruling);
    if !by_text {
        reason.push_str(" (judged by marks: a text is not kept)");
    }
    Judgement { verdict: ruling.verdict, reason, scores: Some(evidence.scores()) }
}

/// Does something with every item, on all cores if there are more than a few.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    match items.len() <= FEW {
        true => items.iter().map(work).collect(),
        false => items.par_iter().map(work).collect(),
    }
}

/// The distance that is shown: in how many bits the fingerprints differ, whoever found the candidate.
pub(super) fn shown_distance(asking: &Signals, candidate: &Candidate) -> Option<u32> {
    if candidate.rank.distance != Rank::FAR {
        return Some(candidate.rank.distance);
    }
    let space = leitong_store::Space::DOCUMENTS;
    asking.near(space)?.distance(candidate.record.signals.near(space)?).ok()
}
