//! Cutting many values into parts by their leading bits, and sorting a part within the second cache.
//!
//! A value sorted at random into hundreds of megabytes costs a cache miss and often a page walk. Sorted into a few
//! thousand parts, each with a small group in the cache that is written out when it is full, it costs neither.

use super::HammingError;
use super::segment::Source;
use crate::machine::scatter;
use crate::memory::Buffer;
use crate::{Level, Value};
use rayon::prelude::*;
use std::ops::Range;

/// Items gathered in the cache before they are written to their part: a cache line of ordinals.
const GROUP: usize = 16;
/// Items read from the source at a time.
const READ: usize = 1 << 12;
/// Values of a part, if they are spread evenly: with ordinals and a copy they fit the second cache.
pub(crate) const PART_ITEMS: u64 = 1 << 14;
/// More parts than this, and their groups no longer fit the second cache.
const MOST_PART_BITS: u32 = 13;

/// The parts of one table: the `bits` bits from bit `start` on tell a value's part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) start: u32,
    pub(crate) bits: u32,
}

impl Cut {
    /// Parts of about [`PART_ITEMS`], cut by at most `most` bits.
    pub(crate) fn new(start: u32, items: u64, most: u32) -> Self {
        Self { start, bits: (items / PART_ITEMS).max(1).ilog2().min(MOST_PART_BITS).min(most) }
    }

    pub(crate) fn parts(self) -> usize {
        1 << self.bits
    }
}

/// A source that is read by all threads, each its own range.
pub(crate) struct Reader<'a, V> {
    source: &'a dyn Source<V>,
    ranges: Vec<Range<usize>>,
}

impl<'a, V: Value> Reader<'a, V> {
    pub(crate) fn new(source: &'a dyn Source<V>) -> Self {
        let (rows, threads) = (source.rows(), rayon::current_num_threads());
        let ranges =
            (0..threads).map(|thread| rows * thread / threads..rows * (thread + 1) / threads).collect();
        Self { source, ranges }
    }

    /// How many items fall into which part, for each of the cuts; the source is read once.
    pub(crate) fn count(&self, cuts: &[Cut]) -> Result<Vec<Counts>, HammingError> {
        let count = |range: &Range<usize>| {
            let mut counts: Vec<Vec<u32>> = cuts.iter().map(|cut| vec![0; cut.parts()]).collect();
            self.for_each(range.clone(), |_, value| {
                for (counts, cut) in counts.iter_mut().zip(cuts) {
                    counts[value.window(cut.start, cut.bits) as usize] += 1;
                }
            })?;
            Ok(counts)
        };
        let by_range = self.ranges.par_iter().map(count).collect::<Result<Vec<_>, HammingError>>()?;
        let mut by_cut: Vec<Counts> = cuts.iter().map(|_| Counts { by_range: Vec::new() }).collect();
        for counts in by_range {
            counts.into_iter().zip(&mut by_cut).for_each(|(counts, cut)| cut.by_range.push(counts));
        }
        Ok(by_cut)
    }

    #[inline(always)]
    fn for_each(&self, range: Range<usize>, mut item: impl FnMut(u32, V)) -> Result<(), HammingError> {
        let mut items = Vec::with_capacity(READ);
        for from in range.clone().step_by(READ) {
            items.clear();
            self.source.read(from..range.end.min(from + READ), &mut items)?;
            items.iter().for_each(|&(ordinal, value)| item(ordinal, value));
        }
        Ok(())
    }
}

/// How many items each range of the source has for each part.
pub(crate) struct Counts {
    by_range: Vec<Vec<u32>>,
}

impl Counts {
    pub(crate) fn parts(&self) -> usize {
        self.by_range.first().map_or(0, Vec::len)
    }

    pub(crate) fn items(&self, part: usize) -> usize {
        self.by_range.iter().map(|counts| counts[part] as usize).sum()
    }

    pub(crate) fn all_items(&self) -> usize {
        (0..self.parts()).map(|part| self.items(part)).sum()
    }

    /// Places that the items of a part take: whole groups for each range, so that groups lie on cache lines.
    fn places(&self, part: usize) -> usize {
        self.by_range.iter().map(|counts| (counts[part] as usize).next_multiple_of(GROUP)).sum()
    }

    /// Consecutive parts that take at most `bytes` together; a part that takes more stands alone.
    pub(crate) fn rounds<V>(&self, bytes: u64, with_ordinals: bool) -> Vec<Range<usize>> {
        let item = (size_of::<V>() + if with_ordinals { 4 } else { 0 }) as u64;
        let groups = (self.by_range.len() * GROUP) as u64;
        let mut rounds = Vec::new();
        let (mut start, mut taken) = (0, 0);
        for part in 0..self.parts() {
            let more = (self.places(part) as u64 + groups) * item;
            if part > start && taken + more > bytes {
                rounds.push(start..part);
                (start, taken) = (part, 0);
            }
            taken += more;
        }
        rounds.push(start..self.parts());
        rounds
    }
}

/// The items of some parts, part by part. The memory is kept from one round to the next.
pub(crate) struct Parts<V> {
    keys: Buffer<V>,
    ordinals: Buffer<u32>,
    /// Where the items of each part and range start, and how many there are.
    pieces: Vec<(usize, usize)>,
    ranges: usize,
}

/// Where one range of the source writes the items of each part.
type Stretches<'a, V> = Vec<(&'a mut [V], &'a mut [u32])>;

/// Items of one part on their way to memory.
#[derive(Clone)]
struct Group<V> {
    keys: [V; GROUP],
    ordinals: [u32; GROUP],
}

impl<V: Value> Parts<V> {
    pub(crate) fn new() -> Result<Self, HammingError> {
        let no_memory = |error| HammingError::memory(0, error);
        let (keys, ordinals) = (Buffer::zeroed(0).map_err(no_memory)?, Buffer::zeroed(0).map_err(no_memory)?);
        Ok(Self { keys, ordinals, pieces: Vec::new(), ranges: 0 })
    }

    /// Reads the source and keeps what belongs to the parts of `round`, rotated so that the cut's bits lead.
    pub(crate) fn fill(
        &mut self,
        reader: &Reader<'_, V>,
        cut: Cut,
        counts: &Counts,
        round: Range<usize>,
        with_ordinals: bool,
    ) -> Result<(), HammingError> {
        let places = round.clone().map(|part| counts.places(part)).sum();
        make_room(&mut self.keys, places)?;
        make_room(&mut self.ordinals, if with_ordinals { places } else { 0 })?;
        self.ranges = reader.ranges.len();
        self.pieces.clear();
        let mut stretches: Vec<Stretches<'_, V>> = reader.ranges.iter().map(|_| Vec::new()).collect();
        let (mut keys, mut ordinals): (&mut [V], &mut [u32]) = (&mut self.keys, &mut self.ordinals);
        let mut start = 0;
        for part in round.clone() {
            for (counts, stretches) in counts.by_range.iter().zip(&mut stretches) {
                let count = counts[part] as usize;
                let taken = count.next_multiple_of(GROUP);
                let ordinals_taken = if with_ordinals { taken } else { 0 };
                stretches.push((
                    keys.split_off_mut(..taken).unwrap_or_default(),
                    ordinals.split_off_mut(..ordinals_taken).unwrap_or_default(),
                ));
                self.pieces.push((start, count));
                start += taken;
            }
        }
        let ranges = reader.ranges.par_iter().zip(stretches);
        ranges.into_par_iter().try_for_each(|(range, stretches)| match with_ordinals {
            true => scatter_range::<V, true>(reader, range.clone(), cut, round.start, stretches),
            false => scatter_range::<V, false>(reader, range.clone(), cut, round.start, stretches),
        })
    }

    /// The keys of a part, counted from the round's first, and their ordinals where they are kept, in the source's
    /// order; one piece per range.
    pub(crate) fn part(&self, part: usize) -> impl Iterator<Item = (&[V], &[u32])> + Clone {
        self.pieces[part * self.ranges..(part + 1) * self.ranges].iter().map(|&(start, len)| {
            (&self.keys[start..start + len], self.ordinals.get(start..start + len).unwrap_or_default())
        })
    }

    pub(crate) fn items(&self, part: usize) -> usize {
        self.pieces[part * self.ranges..(part + 1) * self.ranges].iter().map(|piece| piece.1).sum()
    }
}

/// Replaces a buffer that is too small, and one that is needed no more. What it held is lost.
fn make_room<T: bytemuck::Pod>(buffer: &mut Buffer<T>, len: usize) -> Result<(), HammingError> {
    if len > buffer.len() || len == 0 {
        // The old one goes first: there may not be room for both.
        *buffer = Buffer::zeroed(0).map_err(|error| HammingError::memory(0, error))?;
        *buffer = Buffer::zeroed(len).map_err(|error| HammingError::memory(len * size_of::<T>(), error))?;
    }
    Ok(())
}

fn scatter_range<V: Value, const WITH_ORDINALS: bool>(
    reader: &Reader<'_, V>,
    range: Range<usize>,
    cut: Cut,
    first: usize,
    mut stretches: Stretches<'_, V>,
) -> Result<(), HammingError> {
    let level = Level::best();
    let mut filled = vec![0_u32; stretches.len()];
    let mut groups = vec![Group { keys: [V::ZERO; GROUP], ordinals: [0; GROUP] }; stretches.len()];
    reader.for_each(range, |ordinal, value| {
        let key = value.rotate_left(cut.start);
        let part = (key.top(cut.bits) as usize).wrapping_sub(first);
        let Some(filled) = filled.get_mut(part) else { return };
        let place = *filled as usize;
        *filled += 1;
        let group = &mut groups[part];
        group.keys[place % GROUP] = key;
        if WITH_ORDINALS {
            group.ordinals[place % GROUP] = ordinal;
        }
        if place % GROUP == GROUP - 1 {
            let (keys, ordinals) = &mut stretches[part];
            scatter::stream(level, &group.keys, &mut keys[place + 1 - GROUP..=place]);
            if WITH_ORDINALS {
                scatter::stream(level, &group.ordinals, &mut ordinals[place + 1 - GROUP..=place]);
            }
        }
    })?;
    for ((&count, group), (keys, ordinals)) in filled.iter().zip(&groups).zip(&mut stretches) {
        let (start, end) = (count as usize / GROUP * GROUP, count as usize);
        keys[start..end].copy_from_slice(&group.keys[..end - start]);
        if WITH_ORDINALS {
            ordinals[start..end].copy_from_slice(&group.ordinals[..end - start]);
        }
    }
    scatter::finish();
    Ok(())
}

/// What is sorted: a key alone, or with its ordinal.
pub(crate) trait Entry<V>: Copy + Ord + Send + Sync {
    /// Whether there is an ordinal.
    const NUMBERED: bool;

    /// The `place`-th of a piece.
    fn of(keys: &[V], ordinals: &[u32], place: usize) -> Self;
    fn key(self) -> V;
    /// 0 where it is not known.
    fn ordinal(self) -> u32;
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bare<V>(V);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Numbered<V>(V, u32);

impl<V: Value> Entry<V> for Bare<V> {
    const NUMBERED: bool = false;

    #[inline(always)]
    fn of(keys: &[V], _: &[u32], place: usize) -> Self {
        Self(keys[place])
    }

    #[inline(always)]
    fn key(self) -> V {
        self.0
    }

    #[inline(always)]
    fn ordinal(self) -> u32 {
        0
    }
}

impl<V: Value> Entry<V> for Numbered<V> {
    const NUMBERED: bool = true;

    #[inline(always)]
    fn of(keys: &[V], ordinals: &[u32], place: usize) -> Self {
        Self(keys[place], ordinals[place])
    }

    #[inline(always)]
    fn key(self) -> V {
        self.0
    }

    #[inline(always)]
    fn ordinal(self) -> u32 {
        self.1
    }
}

/// Memory for sorting parts, to be used again.
pub(crate) struct Sorter<E> {
    pub(crate) entries: Vec<E>,
    /// Where each bucket ends.
    ends: Vec<u32>,
}

/// Buckets of more entries are sorted by the library, one by one.
const SMALL_BUCKET: u32 = 32;
/// A part larger than this is rare; memory for it is not kept.
const KEPT: usize = 1 << 20;

impl<E: Copy + Ord> Sorter<E> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), ends: Vec::new() }
    }

    /// Bytes that sorting takes for each item of a part.
    pub(crate) const fn bytes_per_item() -> usize {
        size_of::<E>() + size_of::<u32>()
    }

    /// Sorts the items of a part by the `bits` bits after the first `skipped`, those that agree in them by key and
    /// ordinal. A counting sort, with as many more bits as leave an entry or two in each bucket if that is the order
    /// of keys: then everything is nearly in its place.
    pub(crate) fn sort<V: Value>(&mut self, parts: &Parts<V>, part: usize, skipped: u32, bits: u32)
    where
        E: Entry<V>,
    {
        if self.entries.len() > KEPT {
            *self = Self::new();
        }
        let items = parts.items(part);
        // Lists of words are ordered by their least significant word.
        let leading_bits_first = V::from_top(1, 1) > V::ZERO.flip(0);
        let more = if leading_bits_first {
            (items >> bits).max(1).ilog2().min(V::WIDTH.min(64) - skipped - bits)
        } else {
            0
        };
        let (all, mask) = (skipped + bits + more, (1 << (bits + more)) - 1);
        let bucket = |key: V| key.top(all) as usize & mask;
        let ends = &mut self.ends;
        ends.clear();
        ends.resize(1 << (bits + more), 0);
        for (keys, _) in parts.part(part) {
            keys.iter().for_each(|&key| ends[bucket(key)] += 1);
        }
        let (mut start, mut largest) = (0, 0);
        for end in ends.iter_mut() {
            largest = largest.max(*end);
            // For now where the bucket starts: filling it moves this to its end.
            start += std::mem::replace(end, start);
        }
        let Some((keys, ordinals)) = parts.part(part).find(|piece| !piece.0.is_empty()) else {
            return self.entries.clear();
        };
        self.entries.resize(items, E::of(keys, ordinals, 0));
        for (keys, ordinals) in parts.part(part) {
            for place in 0..keys.len() {
                let next = &mut ends[bucket(keys[place])];
                self.entries[*next as usize] = E::of(keys, ordinals, place);
                *next += 1;
            }
        }
        if leading_bits_first && largest <= SMALL_BUCKET {
            insertion_sort(&mut self.entries);
        } else {
            let mut start = 0;
            for &end in &self.ends {
                self.entries[start..end as usize].sort_unstable();
                start = end as usize;
            }
        }
    }
}

/// For what is nearly sorted.
fn insertion_sort<E: Copy + Ord>(entries: &mut [E]) {
    for place in 1..entries.len() {
        let entry = entries[place];
        let mut hole = place;
        while hole > 0 && entry < entries[hole - 1] {
            entries[hole] = entries[hole - 1];
            hole -= 1;
        }
        entries[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rounds by `memory`, each sorted part by part, against a plain sort.
    fn agrees<V: Value>(values: &[V], cut: Cut, memory: u64, bits: u32) {
        let source = &values;
        let reader = Reader::new(source);
        let counts = reader.count(&[cut]).unwrap().remove(0);
        assert_eq!(counts.all_items(), values.len());
        let mut parts = Parts::new().unwrap();
        let mut sorter = Sorter::<Numbered<V>>::new();
        let mut bare = Sorter::<Bare<V>>::new();
        let mut found = Vec::new();
        let mut next = 0;
        for round in counts.rounds::<V>(memory, true) {
            assert_eq!(round.start, next);
            next = round.end;
            parts.fill(&reader, cut, &counts, round.clone(), true).unwrap();
            for part in 0..round.len() {
                sorter.sort(&parts, part, cut.bits, bits);
                found.extend(sorter.entries.iter().map(|entry| (entry.key(), entry.ordinal())));
            }
            parts.fill(&reader, cut, &counts, round.clone(), false).unwrap();
            for part in 0..round.len() {
                bare.sort(&parts, part, cut.bits, bits);
                let before = found.len() - (part..round.len()).map(|part| parts.items(part)).sum::<usize>();
                assert!(
                    bare.entries
                        .iter()
                        .map(|entry| entry.key())
                        .eq(found[before..].iter().take(parts.items(part)).map(|entry| entry.0))
                );
            }
        }
        assert_eq!(next, cut.parts());
        let mut expected: Vec<(V, u32)> =
            values.iter().map(|value| value.rotate_left(cut.start)).zip(0..).collect();
        expected.sort_by_key(|&(key, ordinal)| (key.top(cut.bits + bits), key, ordinal));
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn parts_and_their_order_equal_a_plain_sort(
            words in prop::collection::vec(any::<[u64; 4]>(), 0..400),
            copies in prop::collection::vec((any::<prop::sample::Index>(), 0..60_usize), 0..6),
            start in 0..32_u32,
            bits in 0..6_u32,
            more in 0..8_u32,
            memory in 0..20_000_u64,
        ) {
            let mut words = words;
            for (original, count) in copies.iter().filter(|_| !words.is_empty()).collect::<Vec<_>>() {
                let original = *original.get(&words);
                words.extend((0..*count).map(|_| original));
            }
            fn of<V: Value>(words: &[[u64; 4]], cut: Cut, memory: u64, more: u32) {
                agrees::<V>(&words.iter().map(|words| V::from_words(words)).collect::<Vec<_>>(), cut, memory, more);
            }
            let cut = Cut { start, bits };
            of::<u32>(&words, cut, memory, more);
            of::<u64>(&words, cut, memory, more);
            of::<[u64; 4]>(&words, cut, memory, more);
        }
    }
}
