//! The names of keys, and what stands under them. docs/redis.md draws it.

mod index;

pub(crate) use index::{Entry, Lookup, MarkEntry, mark_bucket, mark_lookup};

use crate::codec;
use crate::record::{Collection, Record};
use crate::redis::slots::{self, ENDS};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a version where it is stored, the highest first.
pub(crate) const VERSION: usize = 6;
/// Versions are below this.
pub(crate) const VERSIONS: u64 = 1 << (8 * VERSION);
/// The lowest bits of a version say in which partition its record is.
pub(crate) const PARTITION_BITS: u32 = 10;
/// Partitions of a collection: on one server, and in a cluster. Stored with the collection.
pub(crate) const PARTITIONS: [u32; 2] = [1, 256];
/// Copies of a string of fingerprints, of the first block and of each other one: the same.
pub(crate) const COPIES: [[usize; 2]; 2] = [[1, 1], [3, 2]];
/// A member of the expiries that is always there as long as the collection is.
pub(crate) const ALIVE: &[u8] = b"-";

/// The keys of everything that is not of one collection. They are in one slot.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// Name to settings, as JSON.
    pub(crate) fn collections(&self) -> Vec<u8> {
        format!("{{{}}}:collections", self.prefix).into_bytes()
    }

    /// How many collections there have ever been.
    pub(crate) fn numbers(&self) -> Vec<u8> {
        format!("{{{}}}:numbers", self.prefix).into_bytes()
    }

    /// Numbers of collections that have been destroyed, and of which keys may be left.
    pub(crate) fn dead(&self) -> Vec<u8> {
        format!("{{{}}}:dead", self.prefix).into_bytes()
    }

    /// What all keys of a collection match.
    pub(crate) fn patterns(&self, number: u32) -> [String; 2] {
        let Self { prefix } = self;
        [format!("{prefix}:{number}:*"), format!("{prefix}:{{{number}.*")]
    }
}

/// The keys of a collection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    prefix: String,
    /// What keys without a slot of their choice begin with.
    start: String,
    pub(crate) number: u32,
    pub(crate) partitions: u32,
    /// See [`COPIES`].
    copies: [usize; 2],
    pub(crate) collection: Collection,
    /// Whether it is being destroyed.
    pub(crate) closing: bool,
}

/// What stands in a partition.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// A sorted set of ids, each followed by its version.
    Ids,
    /// Version to record, without what follows.
    Records,
    /// Version to outline.
    Outlines,
    /// Version to text.
    Texts,
    /// Version to a whole record that is to be added.
    Tickets,
    /// Version to a whole record whose entries are still in the index.
    Graves,
}

impl Layout {
    pub(crate) fn new(
        names: &Names,
        number: u32,
        partitions: u32,
        copies: [usize; 2],
        collection: Collection,
    ) -> Self {
        let (prefix, start) = (names.prefix.clone(), format!("{}:{number}:", names.prefix));
        Self { prefix, start, number, partitions, copies, collection, closing: false }
    }

    /// As it is stored under the name of the collection.
    pub(crate) fn settings(&self) -> Vec<u8> {
        let json = codec::collection(self.number, &self.collection);
        let mut value: serde_json::Value = serde_json::from_slice(&json).unwrap_or_default();
        value["partitions"] = self.partitions.into();
        if self.has_copies() {
            value["copies"] = self.copies.to_vec().into();
        }
        if self.closing {
            value["closing"] = true.into();
        }
        value.to_string().into_bytes()
    }

    /// The inverse of [`Layout::settings`].
    pub(crate) fn parse(names: &Names, settings: &[u8]) -> Option<Self> {
        let (number, collection) = codec::parse_collection(settings)?;
        let value: serde_json::Value = serde_json::from_slice(settings).ok()?;
        let partitions = u32::try_from(value["partitions"].as_u64()?).ok()?;
        // Those that were made before there were copies have none.
        let said = |copies: &[usize; 2]| value.get("copies") == Some(&copies.to_vec().into());
        let copies = match value.get("copies") {
            Some(_) => *COPIES.iter().find(|copies| said(copies))?,
            None => [1, 1],
        };
        let known = (1..=1 << PARTITION_BITS).contains(&partitions);
        let closing = value["closing"].as_bool().unwrap_or_default();
        known.then(|| Self { closing, ..Self::new(names, number, partitions, copies, collection) })
    }

    /// A key without a slot of its choice.
    fn key(&self, what: &str) -> Vec<u8> {
        [self.start.as_bytes(), what.as_bytes()].concat()
    }

    /// The key of a string of the index: its kind, and numbers in hexadecimal. A question names several, and formatting them
    /// was a quarter of what its client did.
    fn index_key(&self, kind: u8, numbers: &[u32]) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.start.len() + 24);
        key.extend_from_slice(self.start.as_bytes());
        key.push(kind);
        for (at, number) in numbers.iter().enumerate() {
            if at > 0 {
                key.push(b'.');
            }
            let last = number.checked_ilog2().unwrap_or_default() / 4;
            key.extend(
                (0..=last).rev().map(|digit| b"0123456789abcdef"[(number >> (4 * digit) & 15) as usize]),
            );
        }
        key
    }

    /// How many versions have been given.
    pub(crate) fn versions(&self) -> Vec<u8> {
        self.key("versions")
    }

    /// When which version expires, and [`ALIVE`].
    pub(crate) fn expiries(&self) -> Vec<u8> {
        self.key("expiries")
    }

    /// One of the [`ENDS`] many keys that are there only as long as [`ALIVE`] is, evenly spread, so that every master has one.
    /// Where strings have one copy there are none.
    pub(crate) fn sign(&self, number: usize) -> Option<Vec<u8>> {
        let end = ENDS.get(number).filter(|_| self.has_copies())?;
        Some(self.key(&format!("alive.{end}")))
    }

    /// All of them.
    pub(crate) fn signs(&self) -> impl Iterator<Item = Vec<u8>> {
        (0..ENDS.len()).filter_map(|number| self.sign(number))
    }

    /// Whether some strings stand more than once.
    pub(crate) fn has_copies(&self) -> bool {
        self.copies != [1, 1]
    }

    /// How often the strings of a block stand.
    fn copies_of(&self, place: u16) -> usize {
        self.copies[usize::from(place > 0)]
    }

    /// A key of a partition; they are all in one slot.
    pub(crate) fn part(&self, partition: u32, part: Part) -> Vec<u8> {
        let what = match part {
            Part::Ids => "ids",
            Part::Records => "records",
            Part::Outlines => "outlines",
            Part::Texts => "texts",
            Part::Tickets => "tickets",
            Part::Graves => "graves",
        };
        format!("{}:{{{}.{partition}}}:{what}", self.prefix, self.number).into_bytes()
    }

    /// Where an id belongs.
    pub(crate) fn partition_of(&self, id: &str) -> u32 {
        (xxh3_64(id.as_bytes()) % u64::from(self.partitions)) as u32
    }

    /// Where a version belongs.
    pub(crate) fn partition_in(&self, version: u64) -> u32 {
        (version & ((1 << PARTITION_BITS) - 1)) as u32
    }

    /// What the keys of all strings of the index match.
    pub(crate) fn index_patterns(&self) -> [String; 3] {
        ["n*", "k*", "m*"].map(|kind| String::from_utf8_lossy(&self.key(kind)).into_owned())
    }

    /// Bytes of an entry of a string, by its key; none if it is no string of the index.
    pub(crate) fn entry_size(&self, key: &[u8]) -> Option<usize> {
        index::entry_size(self, key)
    }

    /// The entries of a record in the index; each is followed by the version there.
    pub(crate) fn entries(&self, record: &Record) -> Vec<Entry> {
        index::entries(self, record)
    }
}

/// The key of a string that stands more than once, with one of the [`ENDS`].
pub(crate) fn with_end(key: &[u8], end: usize) -> Vec<u8> {
    [key, b".", ENDS[end].as_bytes()].concat()
}

/// The keys of all copies of a string, by what they have in common.
pub(crate) fn copies(key: Vec<u8>, number: usize) -> Vec<Vec<u8>> {
    match number {
        1 => vec![key],
        _ => slots::ends(slots::of(&with_end(&key, 0)), number).map(|end| with_end(&key, end)).collect(),
    }
}

/// The version that is the so manieth of a collection, in a partition.
pub(crate) fn version(count: u64, partition: u32) -> u64 {
    count << PARTITION_BITS | u64::from(partition)
}

/// The count that a version was made of.
pub(crate) fn count(version: u64) -> u64 {
    version >> PARTITION_BITS
}

/// A version as it is stored; the order of bytes is the order of versions.
pub(crate) fn pack(version: u64) -> [u8; VERSION] {
    let [_, _, bytes @ ..] = version.to_be_bytes();
    bytes
}

/// The inverse of [`pack`].
pub(crate) fn unpack(bytes: &[u8]) -> Option<u64> {
    (bytes.len() == VERSION).then(|| bytes.iter().fold(0, |version, &byte| version << 8 | u64::from(byte)))
}

/// An id so that no other begins with it and that the order of bytes stays.
pub(crate) fn escaped(id: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(id.len() + 2 + VERSION);
    for &byte in id.as_bytes() {
        bytes.push(byte);
        bytes.extend((byte == 0).then_some(0xff));
    }
    bytes.extend([0, 1]);
    bytes
}

/// What a member of [`Part::Ids`] holds: an id and a version.
pub(crate) fn parse_member(member: &[u8]) -> Option<(String, u64)> {
    let (id, version) = member.split_at_checked(member.len().checked_sub(VERSION)?)?;
    let mut bytes = Vec::with_capacity(id.len());
    let mut rest = id.strip_suffix(&[0, 1])?.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(byte);
        if byte == 0 && rest.next() != Some(&0xff) {
            return None;
        }
    }
    Some((String::from_utf8(bytes).ok()?, unpack(version)?))
}

/// The first and the last member that an id can have, as ranges of members are asked for.
pub(crate) fn range_of(id: &str) -> [Vec<u8>; 2] {
    let first = [b"[", &*escaped(id)].concat();
    let last = [&*first, &[0xff; VERSION]].concat();
    [first, last]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_go_there_and_back() {
        let version = version(5, 300);
        assert_eq!(unpack(&pack(version)), Some(5 << 10 | 300));
        assert!(pack(255) < pack(256));
        assert_eq!(unpack(b"12345"), None);
    }

    proptest! {
        #[test]
        fn keys_of_the_index_are_in_hexadecimal(a: u32, b in 0..20_u32) {
            let collection = Collection { name: "c".into(), recipe: [0; 16], about: String::new(), spaces: vec![] };
            let key = Layout::new(&Names::new("p"), 7, 1, COPIES[0], collection).index_key(b'n', &[a, b]);
            prop_assert_eq!(String::from_utf8(key).unwrap(), format!("p:7:n{a:x}.{b:x}"));
        }

        #[test]
        fn ids_keep_their_order(a in "[\0\u{1}a-c文]{1,5}", b in "[\0\u{1}a-c文]{1,5}", version in 0..VERSIONS) {
            let member = |id: &str| [&*escaped(id), &pack(version)].concat();
            prop_assert_eq!(parse_member(&member(&a)), Some((a.clone(), version)));
            prop_assert_eq!(member(&a).cmp(&member(&b)), a.as_bytes().cmp(b.as_bytes()));
            let [first, last] = range_of(&a);
            let inside = |member: &[u8]| &first[1..] <= member && member <= &last[1..];
            prop_assert!(inside(&member(&a)));
            prop_assert_eq!(inside(&member(&b)), a == b);
        }
    }
}
