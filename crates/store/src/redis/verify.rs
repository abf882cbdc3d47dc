//! Whether the index says what the records say; and making it so.

use super::command::{Command, Effect};
use super::find::get_command;
use super::layout::{self, Layout, Part, VERSION};
use super::pages::{Holders, each_key};
use super::read;
use super::rooms::{self, Rooms};
use super::servers::Servers;
use crate::StoreError;
use crate::findings::Findings;
use crate::record::Record;
use crate::seam::Want;
use std::collections::{BTreeMap, BTreeSet};

/// Records that are read at a time.
const TOGETHER: usize = 4096;

/// What does not fit, and what would mend it.
#[derive(Default)]
struct Check {
    findings: Findings,
    /// Strings of the index that must be written anew.
    strings: BTreeSet<Vec<u8>>,
    mends: Vec<Command>,
}

/// Compares the index with the records, both ways; and, if it is to be mended, makes the index what the records say.
pub(crate) fn verify(servers: &Servers, rooms: &Rooms, mend: bool) -> Result<Findings, StoreError> {
    let mut check = Check::default();
    for layout in rooms.all(servers)? {
        let holders = Holders::now(servers)?;
        let room = expected(servers, &layout, &mut check.findings)?;
        compare_index(servers, &layout, &room, &mut check)?;
        compare_partitions(servers, &layout, &room, &mut check)?;
        holders.must_be_still(servers)?;
        let (strings, mends) = (std::mem::take(&mut check.strings), std::mem::take(&mut check.mends));
        if mend {
            let strings = strings.iter().map(|key| written(&room, key));
            servers.ask(&strings.chain(mends).collect::<Vec<_>>())?;
        }
    }
    Ok(check.findings)
}

/// Writes a string of the index as it should be: the entries in the order of their versions.
fn written(room: &Room, key: &[u8]) -> Command {
    let mut entries: Vec<&Vec<u8>> = room.strings.get(key).into_iter().flatten().collect();
    entries.sort_by_key(|entry| entry.len().checked_sub(VERSION).map(|start| &entry[start..]));
    match entries.is_empty() {
        true => Command::new(Effect::Again, &[b"DEL", key]),
        false => Command::new(
            Effect::Again,
            &[b"SET", key, &entries.into_iter().flatten().copied().collect::<Vec<u8>>()],
        ),
    }
}

/// What there should be.
#[derive(Default)]
struct Room {
    /// The entries of each string, with their versions.
    strings: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// When each version expires.
    records: BTreeMap<u64, Option<i64>>,
}

impl Room {
    fn put(&mut self, layout: &Layout, version: u64, record: &Record) {
        for entry in layout.entries(record) {
            let bytes = [&*entry.payload, &layout::pack(version)].concat();
            self.strings.entry(entry.key).or_default().insert(bytes);
        }
        self.records.insert(version, record.expires);
    }
}

fn expected(servers: &Servers, layout: &Layout, findings: &mut Findings) -> Result<Room, StoreError> {
    let keys = (0..layout.partitions).map(|partition| layout.part(partition, Part::Ids));
    let commands: Vec<Command> = keys.map(|key| Command::read(&[b"ZRANGE", &key, b"0", b"-1"])).collect();
    let mut members = Vec::new();
    for answer in servers.ask(&commands)? {
        members.extend(servers.reader().strings(answer)?.into_iter().flatten());
    }
    let parsed = members.iter().filter_map(|member| layout::parse_member(member));
    let ids: BTreeMap<u64, String> = parsed.map(|(id, version)| (version, id)).collect();
    if ids.values().collect::<BTreeSet<_>>().len() < members.len() {
        findings.wrong("an id is there twice".to_owned());
    }
    let (mut room, versions) = (Room::default(), ids.keys().copied().collect::<Vec<_>>());
    for part in versions.chunks(TOGETHER) {
        let records = read::by_version(servers, layout, &part.iter().copied().collect(), Want::Text)?;
        for version in part {
            let id = &ids[version];
            match records.get(version).map(|parts| parts.parse(servers.reader())).transpose()? {
                Some(record) if record.id == *id => {
                    findings.records += 1;
                    match records[version].has_its_text() {
                        Some(true) => findings.texts += 1,
                        Some(false) => findings.wrong(format!("the text of {id:?} is missing or broken")),
                        None => {}
                    }
                    room.put(layout, *version, &record);
                }
                Some(record) => {
                    findings.wrong(format!("{id:?} leads to the record of {:?}", record.id));
                }
                None => findings.wrong(format!("{id:?} has no record")),
            }
        }
    }
    Ok(room)
}

/// Compares all strings of the index with what should be in them.
fn compare_index(
    servers: &Servers,
    layout: &Layout,
    room: &Room,
    check: &mut Check,
) -> Result<(), StoreError> {
    let mut seen = BTreeSet::new();
    for pattern in layout.index_patterns() {
        each_key(servers, pattern.as_bytes(), &mut |keys| {
            let keys: Vec<Vec<u8>> = keys.into_iter().filter(|key| seen.insert(key.clone())).collect();
            let answers = servers.ask(&keys.iter().map(|key| get_command(key)).collect::<Vec<_>>())?;
            for (key, answer) in keys.iter().zip(answers) {
                let string = servers.reader().bytes(answer)?.unwrap_or_default();
                compare_string(layout, room, key, &string, check);
            }
            Ok(())
        })?;
    }
    for key in room.strings.keys().filter(|key| !seen.contains(*key)) {
        check.findings.wrong(format!("{}: all entries are missing", String::from_utf8_lossy(key)));
        check.strings.insert(key.clone());
    }
    Ok(())
}

fn compare_string(layout: &Layout, room: &Room, key: &[u8], string: &[u8], check: &mut Check) {
    let name = String::from_utf8_lossy(key);
    let before = check.findings.problem_count;
    match layout.entry_size(key).filter(|size| string.len().is_multiple_of(*size)) {
        None => check.findings.wrong(format!("{name}: {} bytes are no entries", string.len())),
        Some(size) => {
            let mut missing = room.strings.get(key).cloned().unwrap_or_default();
            for entry in string.chunks(size).filter(|entry| !missing.remove(*entry)) {
                let version = layout::unpack(&entry[size - VERSION..]).unwrap_or_default();
                check.findings.wrong(format!("{name}: an entry of version {version} too many"));
            }
            missing.iter().for_each(|_| check.findings.wrong(format!("{name}: an entry is missing")));
        }
    }
    if check.findings.problem_count > before {
        check.strings.insert(key.to_vec());
    }
}

/// What is not an index must belong to a record, too.
fn compare_partitions(
    servers: &Servers,
    layout: &Layout,
    room: &Room,
    check: &mut Check,
) -> Result<(), StoreError> {
    let parts = [Part::Records, Part::Outlines, Part::Texts, Part::Tickets, Part::Graves];
    let keys = (0..layout.partitions).flat_map(|partition| parts.map(|part| layout.part(partition, part)));
    let keys: Vec<Vec<u8>> = keys.collect();
    let commands: Vec<Command> = keys.iter().map(|key| Command::read(&[b"HKEYS", key])).collect();
    for (key, answer) in keys.iter().zip(servers.ask(&commands)?) {
        // A dash stands for the highest version that was removed.
        let versions = servers.reader().strings(answer)?.into_iter().flatten();
        for version in versions.filter(|version| version != b"-") {
            if layout::unpack(&version).is_none_or(|version| !room.records.contains_key(&version)) {
                let key_name = String::from_utf8_lossy(key);
                check.findings.wrong(format!("{key_name}: {version:?} belongs to no record"));
                check.mends.push(Command::new(Effect::Again, &[b"HDEL", key, &version]));
            }
        }
    }
    compare_expiries(servers, layout, room, check)
}

fn compare_expiries(
    servers: &Servers,
    layout: &Layout,
    room: &Room,
    check: &mut Check,
) -> Result<(), StoreError> {
    compare_signs(servers, layout, check)?;
    let key = layout.expiries();
    let expiries = servers.ask_one(Command::read(&[b"ZRANGE", &key, b"0", b"-1"]))?;
    let expiries = servers.reader().strings(expiries)?;
    let there: BTreeSet<u64> =
        expiries.iter().flatten().filter_map(|member| layout::unpack(member)).collect();
    for version in there.iter().filter(|version| room.records.get(version).copied().flatten().is_none()) {
        check.findings.wrong(format!("version {version} expires and is not there"));
        check.mends.push(Command::new(Effect::Again, &[b"ZREM", &key, &layout::pack(*version)]));
    }
    let expires = room.records.iter().filter_map(|(version, expires)| Some((version, (*expires)?)));
    for (version, expires) in expires.filter(|(version, _)| !there.contains(version)) {
        check.findings.wrong(format!("version {version} expires, and nothing says so"));
        let (expires, version) = (expires.to_string(), layout::pack(*version));
        check.mends.push(Command::new(Effect::Again, &[b"ZADD", &key, expires.as_bytes(), &version]));
    }
    Ok(())
}

/// What says that the collection is there must be there too.
fn compare_signs(servers: &Servers, layout: &Layout, check: &mut Check) -> Result<(), StoreError> {
    let keys: Vec<Vec<u8>> = layout.signs().collect();
    let mut commands = vec![read::alive_command(layout)];
    commands.extend(keys.iter().map(|key| get_command(key)));
    let mends = std::iter::once(rooms::alive(layout)).chain(keys.iter().map(|key| rooms::sign(key)));
    let names = std::iter::once(layout.expiries()).chain(keys.iter().cloned());
    for ((answer, mend), name) in servers.ask(&commands)?.into_iter().zip(mends).zip(names) {
        if !read::is_alive(&answer) {
            let name = String::from_utf8_lossy(&name);
            check.findings.wrong(format!("{name}: does not say that the collection is there"));
            check.mends.push(mend);
        }
    }
    Ok(())
}
