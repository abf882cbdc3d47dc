//! Where everything stands: the keys of the three trees. docs/store.md draws them.
//!
//! Numbers in keys are big-endian, so that the order of keys is the order of numbers.

use crate::record::Key;

/// The trees. Each is flushed on its own, so each has its own chain of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tree {
    /// What leads to records: catalogue, counters, ids, postings, expiries, deletions.
    Keys,
    /// Records without their texts, by collection and version. Only ever appended to, and deleted from.
    Records,
    /// Texts, by collection and version.
    Texts,
}

impl Tree {
    pub(super) const ALL: [Self; 3] = [Self::Keys, Self::Records, Self::Texts];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Records => "records",
            Self::Texts => "texts",
        }
    }
}

/// What stands first in a key of [`Tree::Keys`].
const COLLECTION: u8 = b'C';
const COUNTERS: u8 = b'M';
const ID: u8 = b'I';
const POSTINGS: u8 = b'K';
const EXPIRY: u8 = b'E';
const GONE: u8 = b'G';
const DESTROYED: u8 = b'D';
const NUMBERS: u8 = b'N';
const CHAIN: u8 = b'Z';

/// Collections are numbered from 0 and numbers never used again; this one is the chain's.
pub(super) const NO_COLLECTION: u32 = u32::MAX;

fn key(first: u8, collection: u32, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(5 + rest.len());
    key.push(first);
    key.extend_from_slice(&collection.to_be_bytes());
    key.extend_from_slice(rest);
    key
}

/// A collection by its name.
pub(super) fn collection(name: &str) -> Vec<u8> {
    [&[COLLECTION], name.as_bytes()].concat()
}

/// All collections.
pub(super) fn collections() -> [u8; 1] {
    [COLLECTION]
}

/// The number the next collection will have.
pub(super) fn next_number() -> [u8; 1] {
    [NUMBERS]
}

/// A collection's counters.
pub(super) fn counters(collection: u32) -> Vec<u8> {
    key(COUNTERS, collection, &[])
}

/// The version of an id.
pub(super) fn id(collection: u32, id: &str) -> Vec<u8> {
    key(ID, collection, id.as_bytes())
}

/// The records that have a key: the head of the list.
pub(super) fn postings(collection: u32, Key { kind, value }: Key) -> Vec<u8> {
    let mut rest = [kind; 9];
    rest[1..].copy_from_slice(&value.to_be_bytes());
    key(POSTINGS, collection, &rest)
}

/// An older part of the list, by the last version in it.
pub(super) fn postings_chunk(head: &[u8], last: u64) -> Vec<u8> {
    [head, &last.to_be_bytes()].concat()
}

/// Whether a key is that of a chunk, not of a head.
pub(super) fn is_chunk(key: &[u8]) -> bool {
    key.len() == 5 + 9 + 8
}

/// When a version expires.
pub(super) fn expiry(collection: u32, seconds: i64, version: u64) -> Vec<u8> {
    let mut rest = [0; 16];
    // With the sign turned over, negative times come first.
    rest[..8].copy_from_slice(&(seconds as u64 ^ 1 << 63).to_be_bytes());
    rest[8..].copy_from_slice(&version.to_be_bytes());
    key(EXPIRY, collection, &rest)
}

/// A version that was deleted, until the index has written that down.
pub(super) fn gone(collection: u32, version: u64) -> Vec<u8> {
    key(GONE, collection, &version.to_be_bytes())
}

/// A collection whose records are still to be removed.
pub(super) fn destroyed(collection: u32) -> Vec<u8> {
    key(DESTROYED, collection, &[])
}

/// The prefixes of everything a collection has in [`Tree::Keys`], but for its name.
pub(super) fn prefixes(collection: u32) -> [Vec<u8>; 5] {
    [COUNTERS, ID, POSTINGS, EXPIRY, GONE].map(|first| key(first, collection, &[]))
}

/// All ids of a collection.
pub(super) fn ids(collection: u32) -> Vec<u8> {
    key(ID, collection, &[])
}

/// All postings of a collection.
pub(super) fn all_postings(collection: u32) -> Vec<u8> {
    key(POSTINGS, collection, &[])
}

/// All expiries of a collection.
pub(super) fn expiries(collection: u32) -> Vec<u8> {
    key(EXPIRY, collection, &[])
}

/// All deletions of a collection that the index may not know yet.
pub(super) fn all_gone(collection: u32) -> Vec<u8> {
    key(GONE, collection, &[])
}

/// All collections whose records are still to be removed.
pub(super) fn all_destroyed() -> [u8; 1] {
    [DESTROYED]
}

/// A link of a tree's chain of commits.
pub(super) fn link(tree: Tree, commit: u64) -> Vec<u8> {
    let mut key = chain(tree);
    key.extend_from_slice(&commit.to_be_bytes());
    key
}

/// All links of a tree's chain.
pub(super) fn chain(tree: Tree) -> Vec<u8> {
    match tree {
        Tree::Keys => vec![CHAIN],
        Tree::Records | Tree::Texts => NO_COLLECTION.to_be_bytes().to_vec(),
    }
}

/// A record or a text.
pub(super) fn version(collection: u32, version: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&collection.to_be_bytes());
    key[4..].copy_from_slice(&version.to_be_bytes());
    key
}

/// The number at the end of a key.
pub(super) fn last_number(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The collection's number in a key that has one.
pub(super) fn collection_of(key: &[u8]) -> Option<u32> {
    key.get(1..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
