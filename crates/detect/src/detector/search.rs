//! From questions to matches: find, filter, judge, page by page until there are enough.

use super::answer::Match;
use super::document::Evidence;
use super::evidence::Pair;
use super::judge::Asking;
use super::pace::{self, Pace};
use super::verify::shown_distance;
use super::{Collection, DetectError, Filter};
use crate::verdict::{Judgement, Verdict};
use leitong_store::{Candidate, Probe, Query, Rank, Signals};

/// Candidates asked for beyond the limit, so that a filter or a judge that declines does not cost another round.
const SPARE: usize = 32;
/// Most candidates in the first round of one question.
const MOST_AT_FIRST: usize = 4096;

/// A question to the store.
pub(super) struct Search<'a> {
    pub(super) asking: Asking<'a>,
    pub(super) probes: Vec<Probe>,
    pub(super) except: Option<&'a str>,
    pub(super) limit: usize,
}

/// How far a question has been answered.
struct Progress<'a> {
    search: Search<'a>,
    pace: Pace,
    after: Option<Rank>,
    matches: Vec<Match>,
    more: bool,
    done: bool,
}

impl<'a> Progress<'a> {
    fn new(search: Search<'a>, spare: usize) -> Self {
        let done = search.probes.is_empty();
        // Whoever is judged by evidence is judged beside all others: a copy among them changes what is rare.
        let by_marks = search.probes.iter().any(|probe| matches!(probe, Probe::Marks(_)));
        let spare = if by_marks { MOST_AT_FIRST } else { spare };
        let pace = Pace::new(search.limit.saturating_add(spare).min(MOST_AT_FIRST));
        Self { search, pace, after: None, matches: Vec::new(), more: false, done }
    }

    fn query(&self) -> Query {
        Query {
            probes: self.search.probes.clone(),
            except: self.search.except.map(str::to_owned),
            after: self.after,
            limit: self.pace.limit(),
        }
    }

    fn take(&mut self, candidate: Candidate, judgement: Judgement, collection: &str) {
        if judgement.verdict == Verdict::Different {
            return;
        }
        if self.matches.len() == self.search.limit {
            (self.more, self.done) = (true, true);
        } else {
            let asking = self.search.asking.signals;
            self.matches.push(Match::new(collection, asking, candidate, judgement));
        }
    }
}

impl Match {
    pub(super) fn new(
        collection: &str,
        asking: &Signals,
        candidate: Candidate,
        judgement: Judgement,
    ) -> Self {
        let distance = shown_distance(asking, &candidate);
        let Candidate { rank, record } = candidate;
        Self {
            collection: collection.to_owned(),
            id: record.id,
            verdict: judgement.verdict,
            distance,
            jaccard: judgement.scores.map(|scores| scores.jaccard),
            containment: judgement.scores.map(|scores| scores.containment()),
            scores: judgement.scores,
            title: record.title,
            source: record.source,
            published: record.published,
            version: rank.version,
            rule: judgement.reason,
            passages: None,
            no_evidence: None,
        }
    }
}

/// How much a match says: whole documents before quotes, and then by what is shared.
fn strength(judgement: &Judgement) -> f64 {
    let class = match judgement.verdict {
        Verdict::Exact => 3.0,
        verdict if verdict.is_duplicate() => 2.0,
        Verdict::Quotes => 1.0,
        _ => 0.0,
    };
    10.0 * class + judgement.scores.map_or(1.0, |scores| scores.jaccard + scores.containment())
}

impl Collection {
    /// The matches of each question, and whether there are more.
    pub(super) fn search(
        &self,
        searches: Vec<Search<'_>>,
        filter: &Filter,
        evidence: Evidence,
    ) -> Result<Vec<(Vec<Match>, bool)>, DetectError> {
        // Without a filter the first candidates are the matches; one more tells whether there are more.
        let spare = if filter.is_empty() && self.settings().judge.takes_all() { 1 } else { SPARE };
        let mut all: Vec<Progress<'_>> =
            searches.into_iter().map(|search| Progress::new(search, spare)).collect();
        loop {
            let mut open: Vec<_> = all.iter_mut().filter(|one| !one.done).collect();
            if open.is_empty() {
                break;
            }
            let mut rest = &mut open[..];
            while !rest.is_empty() {
                let count = pace::together(rest.iter().map(|one| one.pace.limit()));
                let (group, others) = rest.split_at_mut(count);
                self.round(group, filter)?;
                rest = others;
            }
        }
        let pairs = all.iter_mut().flat_map(|one| {
            let text = one.search.asking.text;
            one.matches.iter_mut().map(move |found| Pair { text, found })
        });
        self.add_evidence(pairs.collect(), evidence)?;
        Ok(all.into_iter().map(|one| (one.matches, one.more)).collect())
    }

    fn round(&self, open: &mut [&mut Progress<'_>], filter: &Filter) -> Result<(), DetectError> {
        let queries: Vec<Query> = open.iter().map(|one| one.query()).collect();
        let mut found = self.store().find(self.name(), &queries)?;
        for (one, found) in open.iter_mut().zip(&mut found) {
            one.after = found.candidates.last().map(|last| last.rank).or(one.after);
            one.done = !found.more || found.candidates.is_empty();
            one.pace.grow(&found.candidates);
            found.candidates.retain(|candidate| filter.holds(&candidate.record));
        }
        let cases = open.iter().zip(&found).map(|(one, found)| (one.search.asking, &found.candidates[..]));
        let judged = self.judge(&cases.collect::<Vec<_>>())?;
        for ((one, found), judged) in open.iter_mut().zip(found).zip(judged) {
            let mut judged: Vec<_> = found.candidates.into_iter().zip(judged.judgements).collect();
            if self.settings().judge.uses_marks() {
                judged.sort_by(|x, y| strength(&y.1).total_cmp(&strength(&x.1)));
            }
            for (candidate, judgement) in judged {
                one.take(candidate, judgement, self.name());
            }
        }
        Ok(())
    }
}
