//! Reading records: by id, by version, and all of them in order.

use super::command::{Command, Reader};
use super::layout::{self, ALIVE, Layout, Part};
use super::scripts;
use super::servers::Servers;
use crate::record::{Record, Stored};
use crate::seam::{Count, Want};
use crate::{StoreError, codec};
use redis::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Ids that are asked for together when all are scanned.
const SCANNED: usize = 1000;
/// Records that one command asks for: a server does nothing else meanwhile.
const ASKED: usize = 256;

/// Expired records that are taken out at once.
pub(crate) const SWEPT: usize = 1000;

/// Bytes of a record as they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Everything but the outline and the text.
    pub(crate) record: Vec<u8>,
    /// May be empty.
    pub(crate) outline: Vec<u8>,
    /// Empty if there is none.
    pub(crate) text: Vec<u8>,
}

impl Parts {
    pub(crate) fn of(record: &Record) -> Self {
        let mut bytes = codec::record(record);
        // The outline comes last, so everything else is what there would be without it.
        let mut bare = record.clone();
        bare.signals.outline = Default::default();
        let outline = bytes.split_off(codec::record(&bare).len());
        let text = record.text.as_deref().map(codec::text).unwrap_or_default();
        Self { record: bytes, outline, text }
    }

    /// The record, without its text.
    pub(crate) fn parse(&self, reader: Reader<'_>) -> Result<Record, StoreError> {
        let record = if self.outline.is_empty() {
            codec::parse_record(&self.record)
        } else {
            codec::parse_whole(&[&*self.record, &self.outline].concat())
        };
        record.ok_or_else(|| reader.foreign("a record cannot be read, or was written by a later version"))
    }

    /// Whether the text is there that the record has; nothing if it has none.
    pub(crate) fn has_its_text(&self) -> Option<bool> {
        codec::text_length(&self.record).map(|_| codec::parse_text(&self.text).is_some())
    }

    fn parse_with_text(&self, reader: Reader<'_>) -> Result<Record, StoreError> {
        let mut record = self.parse(reader)?;
        if codec::text_length(&self.record).is_some() {
            let text = codec::parse_text(&self.text);
            let missing = || reader.foreign(format!("the text of {:?} is missing", record.id));
            record.text = Some(text.ok_or_else(missing)?);
        }
        Ok(record)
    }
}

/// The records of ids or versions.
fn read_command(layout: &Layout, partition: u32, want: Want, by: &[u8], what: &[Vec<u8>]) -> Command {
    let keys =
        [Part::Ids, Part::Records, Part::Outlines, Part::Texts].map(|part| layout.part(partition, part));
    let want: &[u8] = match want {
        Want::Record => b"r",
        Want::Outline => b"o",
        Want::Text => b"t",
    };
    let arguments: Vec<&[u8]> = [want, by].into_iter().chain(what.iter().map(Vec::as_slice)).collect();
    Command::script(
        super::command::Effect::None,
        &scripts::READ,
        &keys.each_ref().map(Vec::as_slice),
        &arguments,
    )
}

fn read_answer(reader: Reader<'_>, answer: Value) -> Result<Option<(u64, Parts)>, StoreError> {
    if answer == Value::Nil {
        return Ok(None);
    }
    let mut parts = reader.strings(answer)?.into_iter().map(Option::unwrap_or_default);
    let mut next = || parts.next().unwrap_or_default();
    let version = layout::unpack(&next()).ok_or_else(|| reader.foreign("a version that is none"))?;
    Ok(Some((version, Parts { record: next(), outline: next(), text: next() })))
}

/// Asking for records by their ids, as a part of something larger.
#[derive(Debug)]
pub(crate) struct ById {
    pub(crate) commands: Vec<Command>,
    /// Which ids each command asks for.
    places: Vec<Vec<usize>>,
    number: usize,
}

impl ById {
    pub(crate) fn new(layout: &Layout, ids: &[&str], want: Want) -> Self {
        let mut of_partition: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, id) in ids.iter().enumerate() {
            of_partition.entry(layout.partition_of(id)).or_default().push(at);
        }
        let (mut commands, mut asked) = (Vec::new(), Vec::new());
        for (partition, places) in &of_partition {
            for places in places.chunks(ASKED) {
                let ranges: Vec<Vec<u8>> = places.iter().flat_map(|&at| layout::range_of(ids[at])).collect();
                commands.push(read_command(layout, *partition, want, b"i", &ranges));
                asked.push(places.to_vec());
            }
        }
        Self { commands, places: asked, number: ids.len() }
    }

    /// The bytes of the records, in the order of the ids, expired or not.
    pub(crate) fn answer(
        &self,
        reader: Reader<'_>,
        answers: impl Iterator<Item = Value>,
    ) -> Result<Vec<Option<(u64, Parts)>>, StoreError> {
        let mut found = vec![None; self.number];
        for (places, answer) in self.places.iter().zip(answers) {
            for (&at, answer) in places.iter().zip(reader.list(answer)?) {
                found[at] = read_answer(reader, answer)?;
            }
        }
        Ok(found)
    }
}

/// The bytes of the records of these ids, expired or not.
pub(crate) fn by_id(
    servers: &Servers,
    layout: &Layout,
    ids: &[&str],
    want: Want,
) -> Result<Vec<Option<(u64, Parts)>>, StoreError> {
    let question = ById::new(layout, ids, want);
    question.answer(servers.reader(), servers.ask(&question.commands)?.into_iter())
}

/// The bytes of the records of these versions.
pub(crate) fn by_version(
    servers: &Servers,
    layout: &Layout,
    versions: &BTreeSet<u64>,
    want: Want,
) -> Result<HashMap<u64, Parts>, StoreError> {
    let mut of_partition: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    for &version in versions {
        let partition = layout.partition_in(version);
        of_partition.entry(partition).or_default().push(layout::pack(version).to_vec());
    }
    let (mut commands, mut asked) = (Vec::new(), Vec::new());
    for (&partition, versions) in &of_partition {
        for versions in versions.chunks(ASKED) {
            commands.push(match want {
                // The usual case is worth the faster way: there is one part, so nothing can change between two.
                Want::Record => {
                    let key = layout.part(partition, Part::Records);
                    let start: [&[u8]; 2] = [b"HMGET", &key];
                    let parts: Vec<&[u8]> =
                        start.into_iter().chain(versions.iter().map(Vec::as_slice)).collect();
                    Command::read(&parts)
                }
                Want::Outline | Want::Text => read_command(layout, partition, want, b"v", versions),
            });
            asked.push(versions);
        }
    }
    let (reader, mut found) = (servers.reader(), HashMap::new());
    for (versions, answer) in asked.into_iter().zip(servers.ask(&commands)?) {
        for (version, answer) in versions.iter().zip(reader.list(answer)?) {
            found.extend(match want {
                Want::Record => {
                    let record = reader.bytes(answer)?.map(|record| Parts { record, ..Parts::default() });
                    layout::unpack(version).zip(record)
                }
                Want::Outline | Want::Text => read_answer(reader, answer)?,
            });
        }
    }
    Ok(found)
}

/// Whether the collection is there at all.
pub(crate) fn alive_command(layout: &Layout) -> Command {
    Command::read(&[b"ZSCORE", &layout.expiries(), ALIVE])
}

pub(crate) fn is_alive(answer: &Value) -> bool {
    *answer != Value::Nil
}

/// What has expired, and whether the collection is there at all.
pub(crate) fn expired_command(layout: &Layout, now: i64) -> Command {
    let now = now.to_string();
    Command::read(&[b"ZRANGEBYSCORE", &layout.expiries(), b"-inf", now.as_bytes()])
}

/// Some of what has expired, behind the first so many.
pub(crate) fn some_expired(
    servers: &Servers,
    layout: &Layout,
    now: i64,
    behind: usize,
) -> Result<Vec<u64>, StoreError> {
    // The first is no version: it says that the collection is there.
    let (now, behind, most) = (now.to_string(), (behind + 1).to_string(), SWEPT.to_string());
    let limit: [&[u8]; 3] = [b"LIMIT", behind.as_bytes(), most.as_bytes()];
    let range: [&[u8]; 4] = [b"ZRANGEBYSCORE", &layout.expiries(), b"-inf", now.as_bytes()];
    let answer = servers.ask_one(Command::read(&[&range[..], &limit].concat()))?;
    let members = servers.reader().strings(answer)?.into_iter().flatten();
    Ok(members.filter_map(|member| layout::unpack(&member)).collect())
}

/// The versions that have expired, in order; none if the collection has been destroyed.
pub(crate) fn expired(reader: Reader<'_>, answer: Value) -> Result<Option<Vec<u64>>, StoreError> {
    let members: Vec<Vec<u8>> = reader.strings(answer)?.into_iter().flatten().collect();
    if members.first().is_none_or(|member| member != ALIVE) {
        return Ok(None);
    }
    let mut versions: Vec<u64> = members.iter().filter_map(|member| layout::unpack(member)).collect();
    versions.sort_unstable();
    Ok(Some(versions))
}

fn stored(
    reader: Reader<'_>,
    version: u64,
    parts: &Parts,
    want: Want,
    now: i64,
) -> Result<Option<Stored>, StoreError> {
    let record = if want == Want::Text { parts.parse_with_text(reader)? } else { parts.parse(reader)? };
    let visible = record.expires.is_none_or(|expires| expires > now);
    Ok(visible.then_some(Stored { version, record }))
}

/// The records of these ids; nothing if the collection has been destroyed.
pub(crate) fn get(
    servers: &Servers,
    layout: &Layout,
    ids: &[&str],
    want: Want,
    now: i64,
) -> Result<Option<Vec<Option<Stored>>>, StoreError> {
    let found = by_id(servers, layout, ids, want)?;
    // Whatever was found was there; only where nothing was it matters why.
    let complete = !found.is_empty() && found.iter().all(Option::is_some);
    if !complete && !is_alive(&servers.ask_one(alive_command(layout))?) {
        return Ok(None);
    }
    let one = |found: Option<(u64, Parts)>| match found {
        Some((version, parts)) => stored(servers.reader(), version, &parts, want, now),
        None => Ok(None),
    };
    found.into_iter().map(one).collect::<Result<_, _>>().map(Some)
}

/// Records in the order of ids; nothing if the collection has been destroyed.
pub(crate) fn scan(
    servers: &Servers,
    layout: &Layout,
    after: Option<&str>,
    limit: usize,
    want: Want,
    now: i64,
) -> Result<Option<Vec<Stored>>, StoreError> {
    if !is_alive(&servers.ask_one(alive_command(layout))?) {
        return Ok(None);
    }
    let mut after = after.map(str::to_owned);
    let mut all = Vec::new();
    while all.len() < limit {
        let (ids, end) = next_ids(servers, layout, after.as_deref(), limit - all.len())?;
        for part in ids.chunks(SCANNED) {
            let versions = part.iter().map(|(_, version)| *version).collect();
            let records = by_version(servers, layout, &versions, want)?;
            // One that was replaced in between is there under its id.
            let lost = part.iter().filter(|(_, version)| !records.contains_key(version));
            let lost: Vec<&str> = lost.map(|(id, _)| id.as_str()).collect();
            let mut found_again = by_id(servers, layout, &lost, want)?.into_iter();
            for (_, version) in part {
                let found = match records.get(version) {
                    Some(parts) => Some((*version, parts.clone())),
                    None => found_again.next().flatten(),
                };
                if let Some((version, parts)) = found {
                    all.extend(stored(servers.reader(), version, &parts, want, now)?);
                }
            }
        }
        match (end, ids.into_iter().next_back()) {
            (false, Some((id, _))) => after = Some(id),
            _ => break,
        }
    }
    all.truncate(limit);
    Ok(Some(all))
}

/// Some ids behind one, in order, and whether these are the last.
fn next_ids(
    servers: &Servers,
    layout: &Layout,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<(String, u64)>, bool), StoreError> {
    // Ids are spread evenly: some more than its share from each.
    let partitions = layout.partitions as usize;
    let most = (limit.min(SCANNED) / partitions * 2).clamp(limit.min(16), SCANNED);
    let from = after.map_or_else(
        || b"-".to_vec(),
        |id| {
            let [_, mut last] = layout::range_of(id);
            last[0] = b'(';
            last
        },
    );
    let number = most.to_string();
    let of_partition = |partition| {
        let key = layout.part(partition, Part::Ids);
        Command::read(&[b"ZRANGEBYLEX", &key, &from, b"+", b"LIMIT", b"0", number.as_bytes()])
    };
    let answers = servers.ask(&(0..layout.partitions).map(of_partition).collect::<Vec<_>>())?;
    let (mut ids, mut bound): (_, Option<String>) = (Vec::new(), None);
    for answer in answers {
        let members = servers.reader().strings(answer)?;
        let full = members.len() == most;
        for (at, member) in members.iter().flatten().enumerate() {
            let parsed = layout::parse_member(member);
            let (id, version) = parsed.ok_or_else(|| servers.reader().foreign("an id that is none"))?;
            if full && at + 1 == most && bound.as_ref().is_none_or(|bound| id < *bound) {
                // Behind the last that one partition has given there may be others of it.
                bound = Some(id.clone());
            }
            ids.push((id, version));
        }
    }
    ids.sort_unstable();
    if let Some(bound) = &bound {
        ids.retain(|(id, _)| id <= bound);
    }
    Ok((ids, bound.is_none()))
}

/// How much there is; nothing if the collection has been destroyed.
pub(crate) fn count(servers: &Servers, layout: &Layout, now: i64) -> Result<Option<Count>, StoreError> {
    let reader = servers.reader();
    let mut commands = vec![Command::read(&[b"GET", &layout.versions()]), expired_command(layout, now)];
    let cards = (0..layout.partitions).map(|partition| layout.part(partition, Part::Ids));
    commands.extend(cards.map(|key| Command::read(&[b"ZCARD", &key])));
    let mut answers = servers.ask(&commands)?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    let given = reader.number(next())? as u64;
    let Some(expired) = expired(reader, next())? else { return Ok(None) };
    let mut documents = 0;
    for answer in answers {
        documents += reader.number(answer)? as u64;
    }
    let expired = by_version(servers, layout, &expired.into_iter().collect(), Want::Record)?;
    let documents = documents.saturating_sub(expired.len() as u64);
    Ok(Some(Count { documents, next_version: layout::version(given + 1, 0) }))
}
