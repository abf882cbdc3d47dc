//! The index: strings of entries of one size, each ended by a version, that are only appended to and cut.
//!
//! Which string an entry is in is a part of what it says, so it need not be said again: of a fingerprint of 64 bits only the
//! 48 others stand in the string of one of its blocks.

use super::{Layout, VERSION, VERSIONS};
use crate::blocks::{Block, Blocks};
use crate::marks::probed;
use crate::rank::distinct_keys;
use crate::record::{Key, Record, Space, SpaceSettings};
use crate::seam::Probe;
use leitong_fingerprint::Fingerprint;
use leitong_index::marks::Posting;
use xxhash_rust::xxh3::xxh3_64;

/// Lower bits of a mark's hash that stand in its entry; the others say which string.
const LOW_BITS: u32 = 12;
/// Bits of an entry for how many marks a document has.
const MARKS_BITS: u32 = 32 - LOW_BITS;
const MOST_MARKS: u32 = (1 << MARKS_BITS) - 1;
/// In the place of an origin: the document is its own.
const OWN: u64 = VERSIONS - 1;
/// Bytes of the entry of a mark, without its version.
const MARK: usize = 4 + VERSION;

/// What a record has in a string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    /// Without the version.
    pub(crate) payload: Vec<u8>,
}

/// A string that is looked through for what is near, or the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// Without what tells its copies apart, if it has several.
    pub(crate) key: Vec<u8>,
    pub(crate) copies: usize,
    pub(crate) payload: Vec<u8>,
    /// In how many bits what is in this string differs from what is asked for, before entries are looked at.
    pub(crate) base: u32,
    pub(crate) within: u32,
    /// Whether it is a key that is looked up: a distance says nothing then.
    pub(crate) is_key: bool,
}

impl Lookup {
    /// All that one probe looks up. Marks are another matter.
    pub(crate) fn of(layout: &Layout, probes: &[Probe]) -> Vec<Self> {
        let mut lookups = Vec::new();
        for probe in probes {
            if let Probe::Near { space, fingerprint, within } = probe
                && let Ok(settings) = layout.collection.space(*space)
            {
                lookups.extend(near(layout, settings, fingerprint, *within));
            }
        }
        lookups.extend(distinct_keys(probes).into_iter().map(|key| {
            let Entry { key, payload } = key_entry(layout, key);
            Self { key, copies: 1, payload, base: 0, within: 0, is_key: true }
        }));
        lookups
    }

    /// Bytes of an entry.
    pub(crate) fn size(&self) -> usize {
        self.payload.len() + VERSION
    }

    /// Whatever a string has within the distance: version and distance, each once.
    pub(crate) fn hits(&self, string: &[u8]) -> Vec<(u64, u32)> {
        let hit = |entry: &[u8]| {
            let (payload, version) = entry.split_at(self.payload.len());
            let distance = self.base + distance(payload, &self.payload);
            (distance <= self.within).then(|| Some((super::unpack(version)?, distance)))?
        };
        let mut hits: Vec<(u64, u32)> = string.chunks_exact(self.size()).filter_map(hit).collect();
        hits.sort_unstable();
        hits.dedup();
        hits
    }
}

fn distance(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn near(layout: &Layout, settings: &SpaceSettings, fingerprint: &Fingerprint, within: u32) -> Vec<Lookup> {
    let blocks = Blocks::of(settings);
    let own = blocks.keys(fingerprint);
    let lookup = |block: Block| {
        let Entry { key, payload } = near_entry(layout, settings.space, blocks, block, fingerprint);
        // What is left out of the entries has to be counted all the same.
        let left_out = blocks.bytes(block.place).is_some();
        let same = own.iter().find(|own| own.place == block.place).map_or(0, |own| own.value);
        let base = if left_out { (block.value ^ same).count_ones() } else { 0 };
        Lookup { key, copies: layout.copies_of(block.place), payload, base, within, is_key: false }
    };
    blocks.probes(fingerprint).into_iter().map(lookup).collect()
}

/// All entries of a record, in all copies.
pub(super) fn entries(layout: &Layout, record: &Record) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (space, fingerprint) in &record.signals.near {
        if let Ok(settings) = layout.collection.space(*space) {
            let blocks = Blocks::of(settings);
            for block in blocks.keys(fingerprint) {
                let Entry { key, payload } = near_entry(layout, *space, blocks, block, fingerprint);
                let copies = super::copies(key, layout.copies_of(block.place));
                entries.extend(copies.into_iter().map(|key| Entry { key, payload: payload.clone() }));
            }
        }
    }
    let mut keys = record.signals.keys.clone();
    keys.sort_unstable();
    keys.dedup();
    entries.extend(keys.into_iter().map(|key| key_entry(layout, key)));
    let hashes = record.signals.outline.hashes();
    let number = u32::try_from(hashes.len()).map_or(MOST_MARKS, |number| number.min(MOST_MARKS));
    let origin = record.origin.map_or(OWN, |origin| origin % VERSIONS);
    entries.extend(hashes.into_iter().map(|hash| {
        let low = hash & ((1 << LOW_BITS) - 1);
        let payload = [&(low << MARKS_BITS | number).to_be_bytes()[..], &super::pack(origin)].concat();
        Entry { key: mark_bucket(layout, hash), payload }
    }));
    entries
}

/// See [`Layout::entry_size`].
pub(super) fn entry_size(layout: &Layout, key: &[u8]) -> Option<usize> {
    let own = std::str::from_utf8(key.strip_prefix(layout.key("").as_slice())?).ok()?;
    let mut parts = own.get(1..)?.split('.').map(|part| u16::from_str_radix(part, 16).ok());
    match own.as_bytes().first()? {
        b'n' => {
            let space = Space(u8::try_from(parts.next()??).ok()?);
            let settings = layout.collection.space(space).ok()?;
            let said = Blocks::of(settings).bytes(parts.next()??).map_or(0, |said| said.len());
            Some(settings.width as usize / 8 - said + VERSION)
        }
        b'k' => Some(8 + VERSION),
        b'm' => Some(MarkEntry::SIZE),
        _ => None,
    }
}

fn near_entry(
    layout: &Layout,
    space: Space,
    blocks: Blocks,
    block: Block,
    fingerprint: &Fingerprint,
) -> Entry {
    let Block { place, value } = block;
    let key = layout.index_key(b'n', &[space.0.into(), place.into(), value.into()]);
    let words = fingerprint.words().iter().rev().flat_map(|word| word.to_be_bytes());
    let bytes = fingerprint.width() as usize / 8;
    let mut payload: Vec<u8> = words.skip(fingerprint.words().len() * 8 - bytes).collect();
    if let Some(said) = blocks.bytes(place) {
        payload.drain(said);
    }
    Entry { key, payload }
}

fn key_entry(layout: &Layout, Key { kind, value }: Key) -> Entry {
    let payload = value.to_be_bytes().to_vec();
    let bucket = xxh3_64(&payload) & 0xffff;
    Entry { key: layout.index_key(b'k', &[kind.into(), bucket as u32]), payload }
}

/// The string of a mark.
pub(crate) fn mark_bucket(layout: &Layout, hash: u32) -> Vec<u8> {
    layout.index_key(b'm', &[hash >> LOW_BITS])
}

/// The marks of each probe for marks, and the string of each.
pub(crate) fn mark_lookup(layout: &Layout, probes: &[Probe]) -> Vec<Vec<(u32, Vec<u8>)>> {
    let with_key = |hash: u32| (hash, mark_bucket(layout, hash));
    probed(probes).map(|marks| marks.into_iter().map(with_key).collect()).collect()
}

/// The documents of a mark.
#[derive(Debug)]
pub(crate) struct MarkEntry;

impl MarkEntry {
    /// Bytes, with the version.
    pub(crate) const SIZE: usize = MARK + VERSION;

    /// The documents in a string that have a mark, the oldest first, each once.
    pub(crate) fn postings(string: &[u8], hash: u32) -> Vec<Posting> {
        let low = hash & ((1 << LOW_BITS) - 1);
        let posting = |entry: &[u8]| {
            let (payload, version) = entry.split_at(MARK);
            let (head, origin) = payload.split_first_chunk()?;
            let head = u32::from_be_bytes(*head);
            let (ordinal, origin) = (super::unpack(version)?, super::unpack(origin)?);
            let origin = if origin == OWN { ordinal } else { origin };
            (head >> MARKS_BITS == low).then_some(Posting { ordinal, origin, marks: head & MOST_MARKS })
        };
        let mut postings: Vec<Posting> = string.chunks_exact(Self::SIZE).filter_map(posting).collect();
        postings.sort_unstable_by_key(|posting| posting.ordinal);
        postings.dedup();
        postings
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COPIES, Names, copies as copies_of, pack};
    use super::*;
    use crate::record::{Collection, Mark};
    use crate::redis::slots;
    use proptest::prelude::*;

    fn layout(width: u32, within: u32, copies: [usize; 2]) -> Layout {
        let spaces = vec![SpaceSettings { space: Space::DOCUMENTS, width, within }];
        let collection = Collection { name: "c".into(), recipe: [0; 16], about: String::new(), spaces };
        Layout::new(&Names::new("p"), 7, 1, copies, collection)
    }

    fn record(fingerprint: Fingerprint) -> Record {
        let mut record = Record { id: "a".into(), ..Record::default() };
        record.signals.near.push((Space::DOCUMENTS, fingerprint));
        record
    }

    #[test]
    fn the_usual_fingerprint_takes_twelve_bytes_a_block() {
        let entries = layout(64, 3, COPIES[0]).entries(&record(0x0123_4567_89ab_cdef_u64.into()));
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[1].key, b"p:7:n0.1.4567");
        assert_eq!(entries[1].payload, [0x01, 0x23, 0x89, 0xab, 0xcd, 0xef]);
    }

    #[test]
    fn three_copies_of_the_first_block_and_two_of_the_others() {
        let layout = layout(64, 3, COPIES[1]);
        let mut record = record(0x0123_4567_89ab_cdef_u64.into());
        record.signals.keys = vec![Key { kind: 1, value: 5 }];
        let entries = layout.entries(&record);
        assert_eq!(entries.len(), 3 + 3 * 2 + 1, "a key has no copy");
        assert_eq!(entries[3].key, b"p:7:n0.1.4567.1bz");
        assert_eq!(entries[4].key, b"p:7:n0.1.4567.fjl", "half of all slots apart");
        assert_eq!(slots::of(&entries[3].key) ^ slots::of(&entries[4].key), slots::SLOTS as u16 / 2);
        assert!(entries[..9].iter().all(|entry| layout.entry_size(&entry.key) == Some(12)));
        assert_eq!(Layout::parse(&Names::new("p"), &layout.settings()), Some(layout));
    }

    #[test]
    fn marks_and_keys() {
        let layout = layout(64, 3, COPIES[0]);
        let mut record = Record { id: "a".into(), origin: Some(9), ..Record::default() };
        record.signals.keys = vec![Key { kind: 1, value: 5 }; 2];
        record.signals.outline.marks = [7, u32::MAX, 7].map(|hash| Mark { hash, at: 0 }).into();
        let entries = layout.entries(&record);
        assert_eq!(entries.len(), 3, "each once");
        let string = [&*entries[2].payload, &pack(77)].concat();
        let posting = Posting { ordinal: 77, origin: 9, marks: 2 };
        assert_eq!(MarkEntry::postings(&string, u32::MAX), [posting]);
        assert_eq!(MarkEntry::postings(&string, u32::MAX - 1), [], "another mark of the same string");
        let lookup = &Lookup::of(&layout, &[Probe::Key(Key { kind: 1, value: 5 })])[0];
        let string = [&*entries[0].payload, &pack(3), &entries[0].payload, &pack(3)].concat();
        assert_eq!((lookup.key.clone(), lookup.hits(&string)), (entries[0].key.clone(), vec![(3, 0)]));
    }

    fn settings() -> impl Strategy<Value = (u32, u32)> {
        prop::sample::select(&leitong_fingerprint::bits::WIDTHS[..])
            .prop_flat_map(|width| (Just(width), 0..(width / 2).min(12)))
    }

    proptest! {
        /// Whatever was left out, distances are those of whole fingerprints, and all that is near is found.
        #[test]
        fn what_is_near_is_found_at_its_distance(
            (width, within) in settings(),
            words in prop::collection::vec(any::<u64>(), 16),
            flips in prop::collection::vec(any::<u32>(), 0..16),
            copies in prop::sample::select(&COPIES[..]),
        ) {
            let layout = layout(width, within, copies);
            let asked = Fingerprint::from_words(width, &words);
            let mut words = asked.words().to_vec();
            for flip in flips {
                let bit = flip % width;
                words[bit as usize / 64] ^= 1 << (bit % 64);
            }
            let stored = Fingerprint::from_words(width, &words);
            let distance = asked.distance(&stored).unwrap();
            let entries = layout.entries(&record(stored));
            let probe = Probe::Near { space: Space::DOCUMENTS, fingerprint: asked, within };
            let expected = if distance <= within { vec![(5, distance)] } else { vec![] };
            // Whichever copy of each is read.
            for choice in 0..3 {
                let mut hits = Vec::new();
                for lookup in Lookup::of(&layout, std::slice::from_ref(&probe)) {
                    let key = &copies_of(lookup.key.clone(), lookup.copies)[choice % lookup.copies];
                    for entry in entries.iter().filter(|entry| entry.key == *key) {
                        hits.extend(lookup.hits(&[&*entry.payload, &pack(5)].concat()));
                    }
                }
                hits.dedup();
                prop_assert_eq!(&hits, &expected);
            }
        }
    }
}
