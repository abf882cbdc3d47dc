//! The keys of another system: a library of fingerprints as a CMS keeps it in Redis.
//!
//! For each of the four blocks of 16 bits of a fingerprint there is a set `{cms}-duplicate-<block in binary>`, and every set of a
//! fingerprint has the member `<fingerprint in decimal>-<id>`. Such a library can be read, to be taken over, and written, for
//! programs that go on with it.

use super::address::Address;
use super::command::{Command, Effect};
use super::pages::{Holders, each_key, each_page};
use super::servers::Servers;
use crate::StoreError;
use std::collections::BTreeSet;

/// What the keys of the original begin with.
pub const PREFIX: &str = "{cms}-duplicate-";
/// Members that are asked for at a time.
const PAGE: &str = "1000";

/// A document of such a library: all that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Its SimHash.
    pub fingerprint: u64,
}

/// A library of fingerprints in the keys of that CMS.
#[derive(Debug)]
pub struct Library {
    servers: Servers,
    prefix: Vec<u8>,
}

impl Library {
    /// Opens an address as [`Redis::open`](super::Redis::open) does. `prefix` is what its keys begin with, usually [`PREFIX`].
    pub fn open(address: &str, prefix: &str) -> Result<Self, StoreError> {
        Ok(Self { servers: Servers::open(Address::parse(address)?)?, prefix: prefix.as_bytes().to_vec() })
    }

    /// Calls `each` with pages of all entries, in no certain order, and `bad` with everything under these keys that is none. An
    /// entry comes once for each fingerprint that its id has, also where it is missing in some of its sets. It is an error if a
    /// server was started again meanwhile, or keys were moved, for then some may not have been seen.
    pub fn read<E: From<StoreError>>(
        &self,
        each: &mut dyn FnMut(Vec<Entry>) -> Result<(), E>,
        bad: &mut dyn FnMut(&str),
    ) -> Result<(), E> {
        let holders = Holders::now(&self.servers)?;
        let sets = self.sets(bad)?;
        for &block in &sets {
            let key = self.key(block);
            let scan = |cursor: &[u8]| {
                let command = Command::read(&[b"SSCAN", &key, cursor, b"COUNT", PAGE.as_bytes()]);
                self.servers.ask_one(command)
            };
            each_page(self.servers.reader(), &scan, &mut |members| {
                let entries = self.entries(&sets, block, members, bad)?;
                if entries.is_empty() { Ok(()) } else { each(entries) }
            })?;
        }
        Ok(holders.must_be_still(&self.servers)?)
    }

    /// Writes entries into their sets. Other fingerprints of the same ids stay.
    pub fn add(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let mut commands = Vec::new();
        for entry in entries {
            let member = format!("{}-{}", entry.fingerprint, entry.id);
            for block in blocks(entry.fingerprint) {
                commands.push(Command::new(Effect::Again, &[b"SADD", &self.key(block), member.as_bytes()]));
            }
        }
        self.servers.ask(&commands).map(drop)
    }

    /// The blocks that have a set.
    fn sets(&self, bad: &mut dyn FnMut(&str)) -> Result<BTreeSet<u16>, StoreError> {
        let mut sets = BTreeSet::new();
        // The prefix may have letters that mean something in a pattern.
        let mut pattern = Vec::new();
        for byte in &self.prefix {
            if b"*?[]\\^".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        pattern.push(b'*');
        each_key(&self.servers, &pattern, &mut |keys| {
            let blocks: Vec<u16> = keys.iter().filter_map(|key| self.block_of(key)).collect();
            let kind = |&block: &u16| Command::read(&[b"TYPE", &self.key(block)]);
            let kinds = self.servers.ask(&blocks.iter().map(kind).collect::<Vec<_>>())?;
            for (block, kind) in blocks.into_iter().zip(kinds) {
                match self.servers.reader().bytes(kind)?.as_deref() {
                    Some(b"set") => _ = sets.insert(block),
                    // Gone by now.
                    Some(b"none") => {}
                    kind => {
                        let kind = String::from_utf8_lossy(kind.unwrap_or_default());
                        bad(&format!("{}: a {kind}, not a set", String::from_utf8_lossy(&self.key(block))));
                    }
                }
            }
            Ok(())
        })?;
        Ok(sets)
    }

    /// The entries among the members of one of the sets, but for those that another of them has shown.
    fn entries(
        &self,
        sets: &BTreeSet<u16>,
        block: u16,
        members: Vec<Vec<u8>>,
        bad: &mut dyn FnMut(&str),
    ) -> Result<Vec<Entry>, StoreError> {
        let (mut entries, mut questions, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            let Some(entry) = entry(&member).filter(|entry| blocks(entry.fingerprint).contains(&block))
            else {
                let (key, member) = (self.key(block), String::from_utf8_lossy(&member));
                bad(&format!(
                    "{}: {member:?} is no fingerprint of this set with an id",
                    String::from_utf8_lossy(&key)
                ));
                continue;
            };
            // The first of its sets that has it shows it: nothing has to be remembered.
            let earlier = blocks(entry.fingerprint).into_iter().take_while(|earlier| *earlier != block);
            for earlier in earlier.filter(|earlier| sets.contains(earlier)) {
                questions.push(Command::read(&[b"SISMEMBER", &self.key(earlier), &member]));
                asked.push(entries.len());
            }
            entries.push(Some(entry));
        }
        for (at, answer) in asked.into_iter().zip(self.servers.ask(&questions)?) {
            if self.servers.reader().number(answer)? > 0 {
                entries[at] = None;
            }
        }
        Ok(entries.into_iter().flatten().collect())
    }

    fn key(&self, block: u16) -> Vec<u8> {
        [&self.prefix[..], format!("{block:016b}").as_bytes()].concat()
    }

    fn block_of(&self, key: &[u8]) -> Option<u16> {
        let digits = std::str::from_utf8(key.strip_prefix(&self.prefix[..])?).ok()?;
        let plain = digits.len() == 16 && digits.bytes().all(|digit| digit == b'0' || digit == b'1');
        u16::from_str_radix(digits, 2).ok().filter(|_| plain)
    }
}

/// The blocks of a fingerprint, each once, the most significant first.
fn blocks(fingerprint: u64) -> Vec<u16> {
    let mut blocks = Vec::with_capacity(4);
    for shift in [48, 32, 16, 0] {
        let block = (fingerprint >> shift) as u16;
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    }
    blocks
}

/// A member as an entry. An id may have a `-` of its own; a number may be written as a signed one.
fn entry(member: &[u8]) -> Option<Entry> {
    let member = std::str::from_utf8(member).ok()?;
    let sign = usize::from(member.starts_with('-'));
    let (number, id) = member.split_at(sign + member[sign..].find('-')?);
    let fingerprint = match number.parse() {
        Ok(fingerprint) => fingerprint,
        Err(_) => number.parse::<i64>().ok()?.cast_unsigned(),
    };
    let id = id[1..].to_owned();
    crate::validate_id(&id).is_ok().then_some(Entry { id, fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_as_they_are_written() {
        let read = |member: &str| entry(member.as_bytes()).map(|entry| (entry.fingerprint, entry.id));
        assert_eq!(read("17-a"), Some((17, "a".to_owned())));
        assert_eq!(read("18446744073709551615-2019-08-01"), Some((u64::MAX, "2019-08-01".to_owned())));
        assert_eq!(read("-1-x"), Some((u64::MAX, "x".to_owned())));
        assert_eq!(read("17--"), Some((17, "-".to_owned())));
        for bad in ["", "-", "17", "17-", "x-a", "99999999999999999999-a", "--1-a"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn equal_blocks_are_one() {
        assert_eq!(blocks(0x0001_0002_0003_0004), [1, 2, 3, 4]);
        assert_eq!(blocks(0x0007_0007_0000_0007), [7, 0]);
    }
}
