//! Stored documents near a stored one, page by page, in one collection or several.

use super::answer::Match;
use super::cursor::{Cursor, Position};
use super::document::{DEFAULT_LIMIT, Evidence};
use super::evidence::Pair;
use super::judge::Asking;
use super::pace::Pace;
use super::{Collection, DetectError, Filter};
use crate::verdict::{Judgement, Verdict};
use leitong_store::{Candidate, Found, Probe, Query, Rank, Stored, Want};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// How similar documents are listed.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarOptions {
    /// The largest distance, where it is to be less than the collection's.
    pub distance: Option<u32>,
    /// In which order.
    pub sort: Sort,
    /// Which stored documents count.
    pub filter: Filter,
    /// Most matches on a page, at least 1.
    pub limit: usize,
    /// Where to go on: [`SimilarPage::next`] of the page before.
    pub after: Option<Cursor>,
    /// The collections to search; the document's own where there is none. All need the same recipe.
    pub collections: Vec<String>,
    /// What each match carries beside its verdict.
    pub evidence: Evidence,
}

impl Default for SimilarOptions {
    fn default() -> Self {
        Self {
            distance: None,
            sort: Sort::Distance,
            filter: Filter::default(),
            limit: DEFAULT_LIMIT,
            after: None,
            collections: Vec::new(),
            evidence: Evidence::None,
        }
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The nearest first, then the oldest.
    #[default]
    Distance,
    /// The latest published first; those without a date last.
    Newest,
}

/// A page of similar documents.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarPage {
    /// The matches.
    pub matches: Vec<Match>,
    /// Where the next page begins; none if this is the last.
    pub next: Option<Cursor>,
}

/// Most candidates fetched at first.
const PAGE: usize = 256;

impl Collection {
    /// Stored documents near a stored one.
    ///
    /// Pages go on from a place in the order, not from a number: what stays unchanged while others write is neither left out
    /// nor shown twice.
    pub fn similar(&self, id: &str, options: &SimilarOptions) -> Result<SimilarPage, DetectError> {
        let asked = self.asked_document(id, options.evidence)?;
        let question = Cursor::question(self.name(), id);
        let after =
            options.after.as_ref().map(|cursor| cursor.position(question, options.sort)).transpose()?;
        let limit = options.limit.max(1);
        let mut lists = self.lists(&asked, options)?;
        let (mut found, more) = match options.sort {
            Sort::Distance => nearest(&mut lists, after, limit)?,
            Sort::Newest => newest(&mut lists, after, limit)?,
        };
        let next = found.last().filter(|_| more).map(|(last, _)| Cursor::new(question, last.clone()));
        let text = asked.record.text.as_deref();
        for list in &lists {
            let own =
                found.iter_mut().map(|(_, found)| found).filter(|m| m.collection == list.collection.name());
            let pairs = own.map(|found| Pair { text, found }).collect();
            list.collection.add_evidence(pairs, options.evidence)?;
        }
        Ok(SimilarPage { matches: found.into_iter().map(|(_, found)| found).collect(), next })
    }

    fn asked_document(&self, id: &str, evidence: Evidence) -> Result<Stored, DetectError> {
        let reads = evidence != Evidence::None || !self.settings().judge.takes_all();
        let want = if reads { Want::Text } else { Want::Record };
        let stored = self.store().get(self.name(), &[id], want)?.pop().flatten();
        let missing = || DetectError::NoDocument { collection: self.name().to_owned(), id: id.to_owned() };
        stored.ok_or_else(missing)
    }

    fn lists<'a>(
        &self,
        asked: &'a Stored,
        options: &'a SimilarOptions,
    ) -> Result<Vec<List<'a>>, DetectError> {
        let mut names: Vec<&str> = options.collections.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            names.push(self.name());
        }
        names.into_iter().map(|name| self.list(name, asked, options)).collect()
    }

    fn list<'a>(
        &self,
        name: &str,
        asked: &'a Stored,
        options: &'a SimilarOptions,
    ) -> Result<List<'a>, DetectError> {
        let own = name == self.name();
        let collection = if own { self.clone() } else { self.detector().open(name)? };
        if collection.recipe_digest() != self.recipe_digest() {
            let (collection, other) = (self.name().to_owned(), name.to_owned());
            return Err(DetectError::OtherRecipe { collection, other });
        }
        let within = collection.within(options.distance)?;
        let first = match options.sort {
            Sort::Distance => options.limit.max(1).saturating_add(1).min(PAGE),
            // All are looked at anyway.
            Sort::Newest => PAGE,
        };
        Ok(List {
            pace: Pace::new(first),
            probes: collection.probes(&asked.record.signals, within),
            except: own.then(|| asked.record.id.clone()),
            collection,
            asked,
            filter: &options.filter,
            after: None,
            buffer: VecDeque::new(),
            ended: false,
        })
    }
}

/// The matches in one collection, in the order of ranks, fetched as they are needed.
struct List<'a> {
    collection: Collection,
    asked: &'a Stored,
    filter: &'a Filter,
    probes: Vec<Probe>,
    except: Option<String>,
    pace: Pace,
    after: Option<Rank>,
    buffer: VecDeque<(Candidate, Judgement)>,
    ended: bool,
}

impl List<'_> {
    /// The next match, without taking it.
    fn peek(&mut self) -> Result<Option<&Candidate>, DetectError> {
        while self.buffer.is_empty() && !self.ended && !self.probes.is_empty() {
            self.fetch()?;
        }
        Ok(self.buffer.front().map(|(candidate, _)| candidate))
    }

    fn take(&mut self) -> Option<(Candidate, Judgement)> {
        self.buffer.pop_front()
    }

    fn fetch(&mut self) -> Result<(), DetectError> {
        let (probes, except) = (self.probes.clone(), self.except.clone());
        let query = Query { probes, except, after: self.after, limit: self.pace.limit() };
        let found = self.collection.store().find(self.collection.name(), &[query])?;
        let Found { mut candidates, more } = found.into_iter().next().unwrap_or_default();
        self.ended = !more || candidates.is_empty();
        self.after = candidates.last().map(|last| last.rank).or(self.after);
        self.pace.grow(&candidates);
        candidates.retain(|candidate| self.filter.holds(&candidate.record));
        let record = &self.asked.record;
        let origin = self.except.is_some().then(|| record.origin.unwrap_or(self.asked.version));
        let (id, text) = (self.except.as_deref(), record.text.as_deref());
        let asking = Asking { id, signals: &record.signals, text, origin };
        let judged = self.collection.judge(&[(asking, &candidates[..])])?.pop().unwrap_or_default();
        let matches = candidates.into_iter().zip(judged.judgements);
        self.buffer.extend(matches.filter(|(_, judgement)| judgement.verdict != Verdict::Different));
        Ok(())
    }
}

type Page = (Vec<(Position, Match)>, bool);

/// Merges lists by rank, and names where ranks are equal.
fn nearest(lists: &mut [List<'_>], after: Option<Position>, limit: usize) -> Result<Page, DetectError> {
    if let Some(Position::Distance { rank, collection }) = after {
        for list in &mut *lists {
            // Those that come later in the alphabet may still have one of the same rank.
            let later = *list.collection.name() > *collection;
            list.after = if later { before(rank) } else { Some(rank) };
        }
    }
    let mut page = Vec::new();
    loop {
        let mut best: Option<(Rank, usize)> = None;
        for (at, list) in lists.iter_mut().enumerate() {
            let next = list.peek()?.map(|candidate| (candidate.rank, at));
            best = [best, next].into_iter().flatten().min();
        }
        let Some((rank, at)) = best else { return Ok((page, false)) };
        if page.len() == limit {
            return Ok((page, true));
        }
        let list = &mut lists[at];
        if let Some((candidate, judgement)) = list.take() {
            let collection = list.collection.name().to_owned();
            let found = Match::new(&collection, &list.asked.record.signals, candidate, judgement);
            page.push((Position::Distance { rank, collection }, found));
        }
    }
}

/// A rank directly before another: nothing lies between them.
fn before(rank: Rank) -> Option<Rank> {
    let Rank { distance, keys: Reverse(keys), version } = rank;
    match (version, distance) {
        (1.., _) => Some(Rank { version: version - 1, ..rank }),
        (0, _) if keys < u32::MAX => Some(Rank { distance, keys: Reverse(keys + 1), version: u64::MAX }),
        (0, 1..) => Some(Rank { distance: distance - 1, keys: Reverse(0), version: u64::MAX }),
        _ => None,
    }
}

/// The latest of all matches behind a place. All have to be looked at, but only a page is kept.
fn newest(lists: &mut [List<'_>], after: Option<Position>, limit: usize) -> Result<Page, DetectError> {
    let after = match after {
        Some(Position::Newest { published, version, collection }) => {
            Some((Reverse(published), Reverse(version), collection))
        }
        _ => None,
    };
    let mut kept = BTreeMap::new();
    let mut more = false;
    let asking = lists.first().map(|list| &list.asked.record.signals);
    for list in lists {
        let collection = list.collection.name().to_owned();
        while list.peek()?.is_some() {
            let Some((candidate, judgement)) = list.take() else { break };
            let key =
                (Reverse(candidate.record.published), Reverse(candidate.rank.version), collection.clone());
            if after.as_ref().is_some_and(|after| key <= *after) {
                continue;
            }
            kept.insert(key, (candidate, judgement));
            if kept.len() > limit {
                kept.pop_last();
                more = true;
            }
        }
    }
    let page = kept.into_iter().filter_map(
        |((Reverse(published), Reverse(version), collection), (candidate, why))| {
            let found = Match::new(&collection, asking?, candidate, why);
            Some((Position::Newest { published, version, collection }, found))
        },
    );
    Ok((page.collect(), more))
}
