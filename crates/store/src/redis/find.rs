//! Finding: one round trip for all strings of the index that questions look at, the reckoning here, one for the records.

mod reading;

pub(crate) use reading::{Strings, get_command};

use super::command::{Command, Reader};
use super::layout::{self, Layout, Lookup, MarkEntry, Part, mark_bucket, mark_lookup};
use super::read::{self, expired_command};
use super::servers::Servers;
use crate::StoreError;
use crate::marks::{Origins, Scoring, Tally};
use crate::rank::{self, Hits};
use crate::record::Record;
use crate::seam::{Found, Query, Rank, Sources, Want};
use leitong_index::marks::Posting;
use reading::{Reading, of};
use redis::Value;
use std::collections::{BTreeSet, HashMap};

/// Looks at most, where documents are replaced faster than they are read.
const LOOKS: u32 = 16;
/// Questions that are answered together: what all of many find would fill the memory, and marks are in long strings.
const ASKED: usize = 64;
const ASKED_BY_MARKS: usize = 16;

/// What the probes of a question look at.
#[derive(Debug)]
pub(crate) struct Looks {
    lookups: Vec<Lookup>,
    /// Marks and their strings, for each probe for marks.
    marks: Vec<Vec<(u32, Vec<u8>)>>,
}

impl Looks {
    pub(crate) fn of(layout: &Layout, query: &Query) -> Self {
        Self { lookups: Lookup::of(layout, &query.probes), marks: mark_lookup(layout, &query.probes) }
    }

    /// The strings looked at.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        let marks = self.marks.iter().flatten().map(|(_, key)| key);
        self.lookups.iter().map(|lookup| &lookup.key).chain(marks)
    }

    /// The versions in strings that can make a difference: what is near, and the oldest that have a mark.
    pub(crate) fn versions(&self, strings: &Strings, scoring: Scoring) -> BTreeSet<u64> {
        let near = self.lookups.iter().flat_map(|lookup| lookup.hits(of(strings, &lookup.key)));
        let marks = self.marks.iter().flatten().flat_map(|(hash, key)| {
            let postings = MarkEntry::postings(of(strings, key), *hash);
            postings.into_iter().take(2 * scoring.used).map(|posting| posting.ordinal)
        });
        near.map(|(version, _)| version).chain(marks).collect()
    }

    /// Those of `others`, which are no records, that might be found if they were. What is hidden is not there at all.
    pub(crate) fn related(
        &self,
        strings: &Strings,
        others: &BTreeSet<u64>,
        hidden: &[u64],
        scoring: Scoring,
    ) -> BTreeSet<u64> {
        let near = self.lookups.iter().flat_map(|lookup| lookup.hits(of(strings, &lookup.key)));
        let mut related: BTreeSet<u64> =
            near.map(|(version, _)| version).filter(|version| others.contains(version)).collect();
        for marks in &self.marks {
            // Of each: the most that the marks it shares can weigh, their number, and how many it has.
            let mut shares: HashMap<u64, (u32, u32, u32)> = HashMap::new();
            for (hash, key) in marks {
                let postings = MarkEntry::postings(of(strings, key), *hash);
                let is_record = |posting: &Posting| {
                    !others.contains(&posting.ordinal) && hidden.binary_search(&posting.ordinal).is_err()
                };
                let weight = scoring.weight(postings.iter().filter(|posting| is_record(posting)).count());
                let mut records = 0;
                for posting in &postings {
                    records += usize::from(is_record(posting));
                    if records == scoring.used {
                        break;
                    }
                    if others.contains(&posting.ordinal) {
                        let (sum, count, _) = shares.get(&posting.ordinal).copied().unwrap_or_default();
                        shares.insert(posting.ordinal, (sum + weight, count + 1, posting.marks));
                    }
                }
            }
            related.extend(shares.into_iter().filter_map(|(version, (sum, count, own))| {
                let marks = own.min(marks.len() as u32);
                (sum >= scoring.need(marks) || scoring.may_be_spared(count, marks)).then_some(version)
            }));
        }
        related
    }

    /// What strings have of what is asked for, the best first. Whatever is hidden is not there.
    pub(crate) fn ranks(&self, strings: &Strings, hidden: &[u64], scoring: Scoring) -> Vec<Rank> {
        let mut hits = Hits::default();
        for lookup in &self.lookups {
            for (version, distance) in lookup.hits(of(strings, &lookup.key)) {
                if lookup.is_key { hits.key(version) } else { hits.near(version, distance) }
            }
        }
        for marks in &self.marks {
            let mut tally = Tally::new(scoring, marks.len(), hidden);
            for (place, (hash, key)) in marks.iter().enumerate() {
                let postings = MarkEntry::postings(of(strings, key), *hash).into_iter();
                postings.take(tally.most()).for_each(|posting| tally.see(place, posting));
            }
            tally.proposed().into_iter().for_each(|(version, count)| hits.marks(version, count));
        }
        let mut ranks = hits.ranks();
        ranks.retain(|rank| hidden.binary_search(&rank.version).is_err());
        ranks
    }
}

/// The command that gives the version of an id.
pub(crate) fn version_command(layout: &Layout, id: &str) -> Command {
    let ([first, last], key) = (layout::range_of(id), layout.part(layout.partition_of(id), Part::Ids));
    Command::read(&[b"ZRANGEBYLEX", &key, &first, &last, b"LIMIT", b"0", b"1"])
}

pub(crate) fn version_answer(reader: Reader<'_>, answer: Value) -> Result<Option<u64>, StoreError> {
    let member = reader.strings(answer)?.into_iter().flatten().next();
    let parse = |member: Vec<u8>| layout::parse_member(&member).map(|(_, version)| version);
    member.map(|member| parse(member).ok_or_else(|| reader.foreign("an id that is none"))).transpose()
}

/// A search: what is asked, and what has to be read for it.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    layout: &'a Layout,
    scoring: Scoring,
    now: i64,
    queries: &'a [Query],
    /// Versions that are no candidates, in order.
    judged: &'a [u64],
    pub(crate) looks: Vec<Looks>,
    reading: Reading<'a>,
}

/// What a search has read.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) strings: Strings,
    /// In order.
    expired: Vec<u64>,
    /// For each question, the version of the document that asks, expired or not.
    own: Vec<Option<u64>>,
}

impl Sight {
    /// The version of the document that asks, if it has one that has not expired.
    pub(crate) fn own(&self, question: usize) -> Option<u64> {
        let own = self.own.get(question).copied().flatten();
        own.filter(|own| self.expired.binary_search(own).is_err())
    }

    /// What is not there for a question, and `more`, in order.
    pub(crate) fn hidden(&self, question: usize, more: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let own = self.own.get(question).copied().flatten();
        let mut hidden: Vec<u64> = self.expired.iter().copied().chain(own).chain(more).collect();
        hidden.sort_unstable();
        hidden
    }
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        layout: &'a Layout,
        scoring: Scoring,
        now: i64,
        queries: &'a [Query],
        judged: &'a [u64],
    ) -> Self {
        let looks: Vec<Looks> = queries.iter().map(|query| Looks::of(layout, query)).collect();
        let mut reading = Reading::new(layout, scoring);
        for looks in &looks {
            looks.lookups.iter().for_each(|lookup| reading.add(lookup));
            looks.marks.iter().flatten().for_each(|(hash, key)| reading.add_mark(*hash, key.clone()));
        }
        Self { layout, scoring, now, queries, judged, looks, reading }
    }

    /// Reads what is asked for, and before it `first`; nothing if the collection has been destroyed.
    pub(crate) fn see(
        &self,
        servers: &Servers,
        first: Option<Command>,
    ) -> Result<(Value, Option<Sight>), StoreError> {
        let with_first = first.is_some();
        let own = self.queries.iter().filter_map(|query| query.except.as_deref());
        let own: Vec<Command> = own.map(|id| version_command(self.layout, id)).collect();
        // Only marks count those that have expired: all others are looked at one by one.
        let by_marks = self.queries.iter().any(Query::asks_for_marks);
        let expired = by_marks.then(|| expired_command(self.layout, self.now));
        let map = servers.map();
        let slot = |command: &Command| command.slot;
        let strings = self.reading.commands(&map, expired.iter().chain(&own).map(slot));
        let alive = || reading::alive_command(self.layout, &map, own.iter().chain(&strings).map(slot));
        let expired = expired.unwrap_or_else(alive);
        let commands = first.into_iter().chain([expired]).chain(own).chain(strings);
        let mut answers = servers.ask(&commands.collect::<Vec<_>>())?.into_iter();
        let reader = servers.reader();
        let mut next = || answers.next().unwrap_or_default();
        let first = if with_first { next() } else { Value::Nil };
        let expired = match by_marks {
            true => read::expired(reader, next())?,
            false => reading::is_alive(servers, self.layout, &next())?.then(Vec::new),
        };
        let Some(expired) = expired else { return Ok((first, None)) };
        let own = |query: &Query| match query.except {
            Some(_) => version_answer(reader, next()),
            None => Ok(None),
        };
        let own = self.queries.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        let strings = self.reading.strings(servers, answers, expired.len())?;
        Ok((first, Some(Sight { strings, expired, own })))
    }

    /// For each question what it finds, the best first. `more` are versions that are not to be seen either.
    pub(crate) fn ranks(&self, sight: &Sight, more: &BTreeSet<u64>) -> Vec<Vec<Rank>> {
        let ranks = |(question, looks): (usize, &Looks)| {
            let hidden = sight.hidden(question, more.iter().copied());
            let mut ranks = looks.ranks(&sight.strings, &hidden, self.scoring);
            ranks.retain(|rank| self.judged.binary_search(&rank.version).is_err());
            ranks
        };
        self.looks.iter().enumerate().map(ranks).collect()
    }

    /// The candidates of each question, and the versions that are in the index and have no record: those that are pending, and
    /// those whose record has been removed or replaced since the index was read.
    pub(crate) fn pages(
        &self,
        servers: &Servers,
        ranks: Vec<Vec<Rank>>,
    ) -> Result<(Vec<Found>, BTreeSet<u64>), StoreError> {
        let mut records: HashMap<u64, Option<Record>> = HashMap::new();
        loop {
            let questions = self.queries.iter().zip(&ranks);
            let wanted: BTreeSet<u64> =
                questions.flat_map(|(query, ranks)| self.wanted(query, ranks, &records)).collect();
            if wanted.is_empty() {
                break;
            }
            let found = read::by_version(servers, self.layout, &wanted, Want::Record)?;
            for version in wanted {
                let record = found.get(&version).map(|parts| parts.parse(servers.reader())).transpose()?;
                records.insert(version, record);
            }
        }
        let page = |(query, ranks): (&Query, Vec<Rank>)| {
            rank::page(ranks, query.after, query.limit, |version| {
                let record = records.get(&version).and_then(Option::as_ref);
                Ok(record.filter(|record| self.is_candidate(query, record)).cloned())
            })
        };
        let found = self.queries.iter().zip(ranks).map(page).collect::<Result<_, StoreError>>()?;
        let gone = records.iter().filter(|(_, record)| record.is_none()).map(|(version, _)| *version);
        Ok((found, gone.collect()))
    }

    /// Reads and answers; nothing if the collection has been destroyed.
    fn answer(&self, servers: &Servers) -> Result<Option<Vec<Found>>, StoreError> {
        let mut gone = BTreeSet::new();
        for round in 1.. {
            let (_, Some(sight)) = self.see(servers, None)? else { return Ok(None) };
            let (found, missed) = self.pages(servers, self.ranks(&sight, &gone))?;
            // In the place of one that was replaced meanwhile there is another, which only a new look shows.
            let pending = self.pending(servers, &missed)?;
            if missed.len() == pending.len() || round == LOOKS {
                return Ok(Some(found));
            }
            let missed: BTreeSet<u64> = missed.difference(&pending).copied().collect();
            // Not those that have been committed since.
            let records = read::by_version(servers, self.layout, &missed, Want::Record)?;
            gone.extend(missed.into_iter().filter(|version| !records.contains_key(version)));
        }
        Ok(None)
    }

    /// Those of the versions that are still to be added, which only happens in a cluster.
    fn pending(&self, servers: &Servers, versions: &BTreeSet<u64>) -> Result<BTreeSet<u64>, StoreError> {
        if self.layout.partitions == 1 || versions.is_empty() {
            return Ok(BTreeSet::new());
        }
        let ticket = |&version: &u64| {
            let key = self.layout.part(self.layout.partition_in(version), Part::Tickets);
            Command::read(&[b"HEXISTS", &key, &layout::pack(version)])
        };
        let answers = servers.ask(&versions.iter().map(ticket).collect::<Vec<_>>())?;
        let mut pending = BTreeSet::new();
        for (&version, answer) in versions.iter().zip(answers) {
            if servers.reader().number(answer)? == 1 {
                pending.insert(version);
            }
        }
        Ok(pending)
    }

    fn is_candidate(&self, query: &Query, record: &Record) -> bool {
        query.except.as_ref() != Some(&record.id) && record.expires.is_none_or(|expires| expires > self.now)
    }

    /// Versions of which the records must be known to fill a page, as far as it can be said now.
    fn wanted(&self, query: &Query, ranks: &[Rank], records: &HashMap<u64, Option<Record>>) -> Vec<u64> {
        let behind = |rank: &&Rank| query.after.is_none_or(|after| **rank > after);
        let (mut missing, mut wanted) = (query.limit.saturating_add(1), Vec::new());
        for rank in ranks.iter().filter(behind) {
            if missing == 0 {
                break;
            }
            match records.get(&rank.version) {
                None => wanted.push(rank.version),
                Some(Some(record)) if self.is_candidate(query, record) => {}
                Some(_) => continue,
            }
            missing -= 1;
        }
        wanted
    }
}

/// The answers to questions; nothing if the collection has been destroyed.
pub(crate) fn find(
    servers: &Servers,
    layout: &Layout,
    scoring: Scoring,
    now: i64,
    queries: &[Query],
    judged: &[u64],
) -> Result<Option<Vec<Found>>, StoreError> {
    let mut all = Vec::with_capacity(queries.len());
    let together = if queries.iter().any(Query::asks_for_marks) { ASKED_BY_MARKS } else { ASKED };
    // Without a question it is asked whether there is a collection.
    for part in queries.chunks(together).chain(queries.is_empty().then_some(queries)) {
        let search = Search::new(layout, scoring, now, part, judged);
        let Some(found) = search.answer(servers)? else { return Ok(None) };
        all.extend(found);
    }
    Ok(Some(all))
}

/// How many sources marks have; nothing if the collection has been destroyed.
pub(crate) fn sources(
    servers: &Servers,
    layout: &Layout,
    scoring: Scoring,
    now: i64,
    questions: &[Sources],
) -> Result<Option<Vec<Vec<u32>>>, StoreError> {
    let mut all = Vec::with_capacity(questions.len());
    for part in questions.chunks(ASKED_BY_MARKS).chain(questions.is_empty().then_some(questions)) {
        let mut reading = Reading::new(layout, scoring);
        let hashes = part.iter().flat_map(|question| &question.marks);
        hashes.for_each(|&hash| reading.add_mark(hash, mark_bucket(layout, hash)));
        let own = part.iter().filter_map(|question| question.except.as_deref());
        let mut commands = vec![expired_command(layout, now)];
        commands.extend(own.map(|id| version_command(layout, id)));
        commands.extend(reading.commands(&servers.map(), std::iter::empty()));
        let (reader, mut answers) = (servers.reader(), servers.ask(&commands)?.into_iter());
        let mut next = || answers.next().unwrap_or_default();
        let Some(expired) = read::expired(reader, next())? else { return Ok(None) };
        let own = |question: &Sources| match question.except {
            Some(_) => version_answer(reader, next()),
            None => Ok(None),
        };
        let own = part.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        let strings = reading.strings(servers, answers, expired.len())?;
        for (question, own) in part.iter().zip(own) {
            let mut hidden: Vec<u64> = expired.iter().copied().chain(own).collect();
            hidden.sort_unstable();
            all.push(count_origins(layout, scoring, question, &strings, &hidden));
        }
    }
    Ok(Some(all))
}

fn count_origins(
    layout: &Layout,
    scoring: Scoring,
    question: &Sources,
    strings: &Strings,
    hidden: &[u64],
) -> Vec<u32> {
    let mut origins = Origins::new(scoring, question, hidden);
    let (marks, most) = (origins.marks.clone(), origins.most());
    for (place, hash) in marks.into_iter().enumerate() {
        let postings = MarkEntry::postings(of(strings, &mark_bucket(layout, hash)), hash);
        postings.into_iter().take(most).for_each(|posting| origins.see(place, posting));
    }
    origins.answer(question)
}
