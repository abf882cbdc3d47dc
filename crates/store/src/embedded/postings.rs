//! Which records have a key: lists of versions.
//!
//! Most keys belong to one record, so the list stands in one entry, the head, that a filter of the engine answers for when
//! there is none. A long list is moved out in chunks, so that adding to it does not write all of it again.
//!
//! ```text
//! head     number of chunks · the youngest versions, ascending: the first, then differences
//! chunk    the same without the number; its key ends with its last version
//! ```

use super::engine::Read;
use super::layout::{self, Tree};
use super::stage::Stage;
use crate::StoreError;
use crate::codec::{put_number, take_number};

/// Versions in a head before they become a chunk.
const FULL: usize = 256;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Head {
    pub(super) chunks: u64,
    pub(super) versions: Vec<u64>,
}

impl Head {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, self.chunks);
        put_versions(&mut bytes, &self.versions);
        bytes
    }

    pub(super) fn parse(mut bytes: &[u8]) -> Option<Self> {
        Some(Self { chunks: take_number(&mut bytes)?, versions: parse_versions(bytes)? })
    }
}

fn put_versions(bytes: &mut Vec<u8>, versions: &[u64]) {
    let mut before = 0;
    for &version in versions {
        put_number(bytes, version.saturating_sub(before));
        before = version;
    }
}

/// The inverse: versions ascend, each once.
pub(super) fn parse_versions(mut bytes: &[u8]) -> Option<Vec<u64>> {
    let mut versions: Vec<u64> = Vec::new();
    while !bytes.is_empty() {
        let step = take_number(&mut bytes)?;
        let next = versions.last().map_or(Some(step), |last| last.checked_add(step).filter(|_| step > 0))?;
        versions.push(next);
    }
    Some(versions)
}

fn head_of(read: &impl Read, key: &[u8]) -> Result<Option<Head>, StoreError> {
    let Some(bytes) = read.get(Tree::Keys, key)? else { return Ok(None) };
    Head::parse(&bytes).map(Some).ok_or_else(|| damaged(read))
}

fn damaged(read: &impl Read) -> StoreError {
    StoreError::Damaged { path: read.folder().to_owned(), what: "a list of records cannot be read".into() }
}

/// Calls `each` with every version in the list.
pub(super) fn for_each(read: &impl Read, key: &[u8], each: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
    let Some(head) = head_of(read, key)? else { return Ok(()) };
    head.versions.into_iter().for_each(&mut *each);
    if head.chunks > 0 {
        read.scan(Tree::Keys, key, key, &mut |chunk, bytes| {
            if layout::is_chunk(chunk) {
                parse_versions(bytes).ok_or_else(|| damaged(read))?.into_iter().for_each(&mut *each);
            }
            Ok(true)
        })?;
    }
    Ok(())
}

/// Whether a version is in the list.
pub(super) fn contains(read: &impl Read, key: &[u8], version: u64) -> Result<bool, StoreError> {
    let Some(head) = head_of(read, key)? else { return Ok(false) };
    let mut there = head.versions.binary_search(&version).is_ok();
    if !there && head.chunks > 0 {
        read.scan(Tree::Keys, key, &layout::postings_chunk(key, version), &mut |_, bytes| {
            let versions = parse_versions(bytes).ok_or_else(|| damaged(read))?;
            there = versions.binary_search(&version).is_ok();
            Ok(false)
        })?;
    }
    Ok(there)
}

/// Adds a version younger than all in the list.
pub(super) fn insert(stage: &mut Stage, key: &[u8], version: u64) -> Result<(), StoreError> {
    let mut head = head_of(stage, key)?.unwrap_or_default();
    if let (true, Some(&last)) = (head.versions.len() >= FULL, head.versions.last()) {
        let mut bytes = Vec::new();
        put_versions(&mut bytes, &head.versions);
        stage.put(Tree::Keys, layout::postings_chunk(key, last), bytes);
        head = Head { chunks: head.chunks + 1, versions: Vec::new() };
    }
    head.versions.push(version);
    stage.put(Tree::Keys, key, head.bytes());
    Ok(())
}

/// Takes a version out.
pub(super) fn remove(stage: &mut Stage, key: &[u8], version: u64) -> Result<(), StoreError> {
    let Some(mut head) = head_of(stage, key)? else { return Ok(()) };
    if let Ok(place) = head.versions.binary_search(&version) {
        head.versions.remove(place);
    } else {
        head.chunks = head.chunks.saturating_sub(u64::from(remove_from_chunk(stage, key, version)?));
    }
    if head.versions.is_empty() && head.chunks == 0 {
        stage.delete(Tree::Keys, key);
    } else {
        stage.put(Tree::Keys, key, head.bytes());
    }
    Ok(())
}

/// Whether the chunk is empty now, and gone.
fn remove_from_chunk(stage: &mut Stage, key: &[u8], version: u64) -> Result<bool, StoreError> {
    let mut chunk = None;
    let unchanged: &Stage = stage;
    unchanged.scan(Tree::Keys, key, &layout::postings_chunk(key, version), &mut |own, bytes| {
        chunk = Some((own.to_vec(), parse_versions(bytes).ok_or_else(|| damaged(unchanged))?));
        Ok(false)
    })?;
    let Some((own, mut versions)) = chunk else { return Ok(false) };
    versions.retain(|&other| other != version);
    if versions.is_empty() {
        stage.delete(Tree::Keys, own);
        return Ok(true);
    }
    // The key stays: it is an upper bound of the versions, and that is what it is looked for by.
    let mut bytes = Vec::new();
    put_versions(&mut bytes, &versions);
    stage.put(Tree::Keys, own, bytes);
    Ok(false)
}
