//! The verifier on stored documents: texts are fetched, copies make one source, rare passages decide.

use super::judge::{Asking, Judged, by_distance};
use super::order::Mate;
use super::pace::TextPace;
use super::{Collection, DetectError};
use crate::verdict::{Judgement, Verdict};
use crate::verify::{
    BestCopy, Evidence, FULL, Reader, Reading, Scratch, Sketch, evidence, reason, rule, sketch_evidence,
    weight,
};
use leitong_fingerprint::marks::Mark;
use leitong_store::{Candidate, Outline, Rank, Signals, Sources, Stored, Want};
use rayon::prelude::*;
use std::cell::RefCell;
use std::cmp::Reverse;
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
/// A document that asks, and its candidates.
type Case<'a> = (Asking<'a>, &'a [Candidate]);

/// What is stored of documents that are judged.
#[derive(Default)]
struct Known {
    contents: Contents,
    /// What is stored under the ids of those who ask: the digest of the letters, and the origin.
    own: BTreeMap<String, (Option<u128>, u64)>,
}

impl Known {
    /// What is stored of the document that asks: the origin if it is the same text, and else the id under which another is
    /// stored, which does not count beside it.
    fn own(&self, asking: &Asking<'_>) -> (Option<u64>, Option<String>) {
        let Some((id, (exact, origin))) = asking.id.and_then(|id| self.own.get_key_value(id)) else {
            return (None, None);
        };
        match exact.is_some() && *exact == asking.signals.exact {
            true => (Some(*origin), None),
            false => (None, Some(id.clone())),
        }
    }
}

impl Collection {
    pub(super) fn verify(&self, cases: &[Case<'_>]) -> Result<Vec<Judged>, DetectError> {
        let mut judged = Vec::with_capacity(cases.len());
        let (mut pace, mut rest) = (TextPace::new(TEXTS), cases);
        while !rest.is_empty() {
            let (together, others) = rest.split_at(pace.fitting(rest.iter().map(|(_, found)| found.len())));
            let known = self.known(together, &mut pace)?;
            judged.extend(self.verify_some(together, &known)?);
            rest = others;
        }
        Ok(judged)
    }

    /// What each of these documents is a copy of, if it is one.
    pub(super) fn originals(&self, all: &[Newcomer<'_>]) -> Result<Vec<Option<Original>>, DetectError> {
        let mut is_read = vec![false; all.len()];
        for (at, one) in all.iter().enumerate() {
            is_read[at] |= !(one.found.is_empty() && one.mates.is_empty());
            one.mates.iter().for_each(|mate| is_read[mate.place] = true);
        }
        let places: Vec<usize> = (0..all.len()).collect();
        let read = |at: usize| Content::of(all[at].asking.text, all[at].asking.signals);
        let own: Vec<Option<Content>> = each(&places, |&at| if is_read[at] { read(at) } else { None });
        let mut originals = Vec::with_capacity(all.len());
        let (mut pace, mut rest) = (TextPace::new(TEXTS), &places[..]);
        while !rest.is_empty() {
            let (together, others) = rest.split_at(pace.fitting(rest.iter().map(|&at| all[at].found.len())));
            let cases: Vec<Case<'_>> = together.iter().map(|&at| (all[at].asking, all[at].found)).collect();
            let known = self.known(&cases, &mut pace)?;
            originals.extend(each(together, |&at| original(all, at, &own, &known.contents)));
            rest = others;
        }
        Ok(originals)
    }

    fn verify_some(&self, cases: &[Case<'_>], known: &Known) -> Result<Vec<Judged>, DetectError> {
        let contents = &known.contents;
        let first = each(cases, |(asking, found)| {
            let asked = if found.is_empty() { None } else { Asked::new(asking) }?;
            let compared = asked.compare_all(found, contents);
            // One that is stored already has its place among the sources.
            let (stored, except) = known.own(asking);
            let origin = asking.origin.or(stored).or_else(|| origin(found, &compared));
            Some((asked, compared, origin, except))
        });
        let questions: Vec<Sources> = first
            .iter()
            .flatten()
            .map(|(asked, _, origin, except)| Sources {
                marks: asked.hashes.clone(),
                origin: *origin,
                except: except.clone(),
            })
            .collect();
        let mut sources = self.store().sources(self.name(), &questions)?.into_iter();
        let first: Vec<_> = first
            .into_iter()
            .map(|first| first.map(|first| (first, sources.next().unwrap_or_default())))
            .collect();
        let within = self.settings().distance;
        let second = |at: usize| {
            let (asking, found) = &cases[at];
            let Some(((asked, compared, origin, _), sources)) = &first[at] else {
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

    /// What is stored of candidates and of those who have some, as far as it is kept and has not been replaced meanwhile.
    fn known(&self, cases: &[Case<'_>], pace: &mut TextPace) -> Result<Known, DetectError> {
        let cases = cases.iter().filter(|(_, found)| !found.is_empty());
        let mut asking: Vec<&str> = cases.clone().filter_map(|(asking, _)| asking.id).collect();
        asking.sort_unstable();
        let candidates = cases.flat_map(|(_, found)| *found).map(|candidate| candidate.record.id.as_str());
        let mut ids: Vec<&str> = candidates.chain(asking.iter().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut known = Known::default();
        let mut rest = &ids[..];
        while !rest.is_empty() {
            let (together, others) = rest.split_at(pace.limit(rest.len()));
            let stored = self.store().get(self.name(), together, Want::Text)?;
            let stored: Vec<_> = stored.into_iter().flatten().collect();
            pace.read(stored.iter().map(|one| one.record.text.as_ref().map_or(0, String::len)));
            let read = each(&stored, |one| {
                Some((one.version, Content::of(one.record.text.as_deref(), &one.record.signals)?))
            });
            known.contents.extend(read.into_iter().flatten());
            let own = stored.into_iter().filter(|one| asking.binary_search(&one.record.id.as_str()).is_ok());
            known.own.extend(own.map(|Stored { version, record }| {
                (record.id, (record.signals.exact, record.origin.unwrap_or(version)))
            }));
            rest = others;
        }
        Ok(known)
    }
}

/// The origin of the best copy among candidates.
fn origin(found: &[Candidate], compared: &[Option<(Evidence, bool)>]) -> Option<u64> {
    let mut copies: Vec<(&Candidate, &Evidence)> = found
        .iter()
        .zip(compared)
        .filter(|(one, _)| one.rank.keys.0 > 0)
        .filter_map(|(one, compared)| Some((one, &compared.as_ref()?.0)))
        .collect();
    // Candidates that are near by fingerprint come first: here it is by marks alone, as where documents are stored.
    copies.sort_unstable_by_key(|(one, _)| (one.rank.keys, one.rank.version));
    let mut best = BestCopy::default();
    copies.into_iter().all(|(one, evidence)| best.look(evidence, one));
    best.found().map(origin_of)
}

/// The origin of a stored document.
fn origin_of(candidate: &Candidate) -> u64 {
    candidate.record.origin.unwrap_or(candidate.rank.version)
}

/// A document that is to be stored with others, and what it may be a copy of.
pub(super) struct Newcomer<'a> {
    pub(super) asking: Asking<'a>,
    /// What is stored.
    pub(super) found: &'a [Candidate],
    /// Those before it.
    pub(super) mates: Vec<Mate>,
}

/// What a document is a copy of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Original {
    /// Something stored, with this origin.
    Stored(u64),
    /// Another that is to be stored with it, by its place.
    Mate(usize),
}

fn original(
    all: &[Newcomer<'_>],
    at: usize,
    own: &[Option<Content>],
    contents: &Contents,
) -> Option<Original> {
    let (one, content) = (&all[at], own[at].as_ref()?);
    let stored = one.found.iter().map(|other| {
        let (content, exact) = (contents.get(&other.rank.version), other.record.signals.exact);
        ((other.rank.keys, false, other.rank.version), content, exact, Original::Stored(origin_of(other)))
    });
    let mates = one.mates.iter().map(|mate| {
        let (content, exact) = (own[mate.place].as_ref(), all[mate.place].asking.signals.exact);
        ((Reverse(mate.shared), true, mate.place as u64), content, exact, Original::Mate(mate.place))
    });
    let mut others: Vec<_> = stored.chain(mates).collect();
    others.sort_unstable_by_key(|&(order, ..)| order);
    let mut best = BestCopy::default();
    for (_, other, exact, original) in others {
        let same = exact.is_some() && exact == one.asking.signals.exact;
        let Some(found) = other.map(|other| content.compare(other, &[], same).0) else { continue };
        if !best.look(&found, original) {
            break;
        }
    }
    best.found()
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
