//! Building the cells: partition by leading bits into parts that fit the second cache, sort each, write it out.
//!
//! The source is read once to count and once for each table and round. A round takes as many parts as the memory
//! ceiling allows, so that a billion values can be built in a fraction of their size.

use super::super::file::{Output, Part};
use super::super::segment::Source;
use super::super::{HammingError, TWIN};
use super::{Shape, TableShape};
use crate::Value;
use crate::memory::Buffer;
use rayon::prelude::*;
use std::ops::Range;

/// Values of a part, if they are spread evenly: with ordinals and a copy they fit the second cache.
const PART_ITEMS: u64 = 1 << 14;
const MOST_PART_BITS: u32 = 13;
/// Items read from the source at a time.
const READ: usize = 1 << 14;

/// Writes all sections and gives the layout's parameters.
pub(crate) fn write<V: Value>(
    source: &dyn Source<V>,
    shape: &Shape,
    memory: u64,
    output: &mut Output,
) -> Result<Vec<u64>, HammingError> {
    let threads = rayon::current_num_threads();
    let rows = source.rows();
    let ranges: Vec<Range<usize>> =
        (0..threads).map(|thread| rows * thread / threads..rows * (thread + 1) / threads).collect();
    let bits: Vec<u32> = shape.tables.iter().map(|table| part_bits(source.items(), table)).collect();
    let counts = ranges.par_iter().map(|range| count(source, range.clone(), shape, &bits)).collect::<Result<Vec<_>, _>>()?;
    for (index, table) in shape.tables.iter().enumerate() {
        let builder = Builder { source, table, bits: bits[index], ranges: &ranges, with_ordinals: index == 0 };
        let counts: Vec<&[u32]> = counts.iter().map(|counts| &*counts[index]).collect();
        builder.write(index as u32, &counts, memory, output)?;
    }
    Ok(shape.to_words())
}

/// How many leading bits make a part. The filter of a part must be a run of its own.
fn part_bits(items: u64, table: &TableShape) -> u32 {
    let bits = (items / PART_ITEMS).max(1).ilog2().min(MOST_PART_BITS).min(table.directory_bits);
    table.filter.map_or(bits, |filter| bits.min(filter.high + (filter.exact + filter.low).min(6) - 6))
}

/// Items by table and part, in one range of the source.
fn count<V: Value>(source: &dyn Source<V>, range: Range<usize>, shape: &Shape, bits: &[u32]) -> Result<Vec<Vec<u32>>, HammingError> {
    let mut counts: Vec<Vec<u32>> = bits.iter().map(|bits| vec![0; 1 << bits]).collect();
    for_each(source, range, |_, value| {
        for ((counts, table), &bits) in counts.iter_mut().zip(&shape.tables).zip(bits) {
            counts[value.window(table.start, bits) as usize] += 1;
        }
    })?;
    Ok(counts)
}

fn for_each<V: Value>(source: &dyn Source<V>, range: Range<usize>, mut item: impl FnMut(u32, V)) -> Result<(), HammingError> {
    let mut items = Vec::with_capacity(READ);
    for from in range.clone().step_by(READ) {
        items.clear();
        source.read(from..range.end.min(from + READ), &mut items)?;
        items.iter().for_each(|&(ordinal, value)| item(ordinal, value));
    }
    Ok(())
}

/// One table being built.
struct Builder<'a, V> {
    source: &'a dyn Source<V>,
    table: &'a TableShape,
    bits: u32,
    ranges: &'a [Range<usize>],
    with_ordinals: bool,
}

/// The items one thread has found for the parts of a round, part after part.
struct Share<V> {
    keys: Buffer<V>,
    ordinals: Buffer<u32>,
    /// Where each part of the round starts, and the end.
    starts: Vec<usize>,
}

/// What becomes of a part.
#[derive(Default)]
struct Built {
    /// Entries before each cell, counted from the part's first.
    directory: Vec<u32>,
    rests: Vec<u8>,
    ordinals: Vec<u32>,
    twins: Vec<u32>,
    filter: Vec<u64>,
}

/// The sections of a table.
struct Target {
    directory: usize,
    rests: usize,
    ordinals: usize,
    twins: usize,
    filter: Option<usize>,
}

impl<V: Value> Builder<'_, V> {
    fn write(&self, index: u32, counts: &[&[u32]], memory: u64, output: &mut Output) -> Result<(), HammingError> {
        let items: usize = counts.iter().flat_map(|counts| *counts).map(|&count| count as usize).sum();
        let cells = 1 << self.table.directory_bits;
        let target = Target {
            directory: output.section(Part::Directory(index), (cells + 1) * 4)?,
            rests: output.section(Part::Rests(index), items * self.table.rest_bytes + size_of::<V>())?,
            ordinals: if self.with_ordinals { output.section(Part::Ordinals, items * 4)? } else { 0 },
            // A group of two twins takes three numbers.
            twins: if self.with_ordinals { output.section(Part::Twins, items * 6 + 4)? } else { 0 },
            filter: match self.table.filter {
                Some(filter) => Some(output.section(Part::Filter(index), filter.bytes() as usize)?),
                None => None,
            },
        };
        for round in rounds::<V>(counts, memory) {
            let shares = self.partition(counts, round.clone())?;
            // Parts are built in parallel and written in order, a few at a time.
            let batch = rayon::current_num_threads() * 16;
            let parts: Vec<usize> = (0..round.len()).collect();
            for parts in parts.chunks(batch) {
                let built: Vec<Built> = parts.par_iter().map(|&part| self.build(&shares, part, round.start + part)).collect();
                built.into_iter().try_for_each(|built| self.append(&target, built, output))?;
            }
        }
        let total = (output.items::<u8>(target.rests) / self.table.rest_bytes) as u32;
        output.append(target.directory, &[total])?;
        output.append(target.rests, &[V::ZERO])
    }

    /// Sorts the source's items into the parts of a round, every thread its own range of the source.
    fn partition(&self, counts: &[&[u32]], round: Range<usize>) -> Result<Vec<Share<V>>, HammingError> {
        let share = |(range, counts): (&Range<usize>, &&[u32])| {
            let mut starts = vec![0];
            let mut items = 0;
            for &count in &counts[round.clone()] {
                items += count as usize;
                starts.push(items);
            }
            let no_memory = |error| HammingError::memory(items * size_of::<V>(), error);
            let mut keys = Buffer::<V>::zeroed(items).map_err(no_memory)?;
            let mut ordinals = Buffer::<u32>::zeroed(if self.with_ordinals { items } else { 0 }).map_err(no_memory)?;
            let (key_slots, ordinal_slots): (&mut [V], &mut [u32]) = (&mut keys, &mut ordinals);
            let mut next = starts.clone();
            for_each(self.source, range.clone(), |ordinal, value| {
                let key = value.rotate_left(self.table.start);
                let part = (key.top(self.bits) as usize).wrapping_sub(round.start);
                if part < round.len() {
                    let place = next[part];
                    next[part] += 1;
                    key_slots[place] = key;
                    if self.with_ordinals {
                        ordinal_slots[place] = ordinal;
                    }
                }
            })?;
            Ok(Share { keys, ordinals, starts })
        };
        self.ranges.par_iter().zip(counts).map(share).collect()
    }

    /// Sorts one part and packs it. `part` counts within the round, `number` among all parts.
    fn build(&self, shares: &[Share<V>], part: usize, number: usize) -> Built {
        let bits = self.table.directory_bits;
        let cells = 1 << (bits - self.bits);
        let first_cell = (number << (bits - self.bits)) as u64;
        let mut entries: Vec<(V, u32)> = Vec::with_capacity(shares.iter().map(|s| s.starts[part + 1] - s.starts[part]).sum());
        for share in shares {
            let range = share.starts[part]..share.starts[part + 1];
            match self.with_ordinals {
                true => entries.extend(range.map(|i| (share.keys[i], share.ordinals[i]))),
                false => entries.extend(range.map(|i| (share.keys[i], 0))),
            }
        }
        sort_by_cell(&mut entries, |key| (key.top(bits) - first_cell) as usize, cells);

        let mut built = Built { directory: Vec::with_capacity(cells), ..Built::default() };
        built.rests.reserve(entries.len() * self.table.rest_bytes);
        if let Some(filter) = self.table.filter {
            built.filter = vec![0; (filter.bytes() >> self.bits).div_ceil(8) as usize];
        }
        let mut rows = 0;
        for group in entries.chunk_by(|a, b| a.0 == b.0) {
            let key = group[0].0;
            let cell = (key.top(bits) - first_cell) as usize;
            built.directory.resize(cell + 1, rows);
            built.rests.extend_from_slice(&bytemuck::bytes_of(&key)[..self.table.rest_bytes]);
            rows += 1;
            if self.with_ordinals {
                built.note_ordinals(group);
            }
            if let Some(filter) = self.table.filter {
                let address = filter.address(super::search::leading(key)) as usize & (built.filter.len() * 64 - 1);
                built.filter[address / 64] |= 1 << (address % 64);
            }
        }
        built.directory.resize(cells, rows);
        built
    }

    fn append(&self, target: &Target, mut built: Built, output: &mut Output) -> Result<(), HammingError> {
        let before = (output.items::<u8>(target.rests) / self.table.rest_bytes) as u32;
        built.directory.iter_mut().for_each(|start| *start += before);
        output.append(target.directory, &built.directory)?;
        output.append(target.rests, &built.rests)?;
        if self.with_ordinals {
            let twins = output.items::<u32>(target.twins) as u32;
            built.ordinals.iter_mut().filter(|entry| **entry & TWIN != 0).for_each(|entry| *entry += twins);
            output.append(target.ordinals, &built.ordinals)?;
            output.append(target.twins, &built.twins)?;
        }
        target.filter.map_or(Ok(()), |filter| output.append(filter, &built.filter))
    }
}

impl Built {
    fn note_ordinals<V>(&mut self, group: &[(V, u32)]) {
        if let [(_, only)] = group {
            self.ordinals.push(*only);
        } else {
            self.ordinals.push(TWIN | self.twins.len() as u32);
            self.twins.push(group.len() as u32);
            self.twins.extend(group.iter().map(|entry| entry.1));
        }
    }
}

/// Counting sort by cell, then each cell by key and ordinal.
fn sort_by_cell<V: Value>(entries: &mut Vec<(V, u32)>, cell: impl Fn(V) -> usize, cells: usize) {
    let mut edges = vec![0_u32; cells + 1];
    for entry in &*entries {
        edges[cell(entry.0) + 1] += 1;
    }
    for i in 1..edges.len() {
        edges[i] += edges[i - 1];
    }
    let mut next = edges.clone();
    let mut sorted = vec![(V::ZERO, 0); entries.len()];
    for &entry in &*entries {
        let place = &mut next[cell(entry.0)];
        sorted[*place as usize] = entry;
        *place += 1;
    }
    for edge in edges.windows(2) {
        sorted[edge[0] as usize..edge[1] as usize].sort_unstable();
    }
    *entries = sorted;
}

/// Ranges of parts whose items fit the memory together; a part that does not is a round of its own.
fn rounds<V>(counts: &[&[u32]], memory: u64) -> Vec<Range<usize>> {
    let parts = counts.first().map_or(0, |counts| counts.len());
    let mut rounds = Vec::new();
    let (mut start, mut bytes) = (0, 0_u64);
    for part in 0..parts {
        let items: u64 = counts.iter().map(|counts| u64::from(counts[part])).sum();
        let more = items * (size_of::<V>() as u64 + 4);
        if bytes > 0 && bytes + more > memory {
            rounds.push(start..part);
            (start, bytes) = (part, 0);
        }
        bytes += more;
    }
    rounds.push(start..parts);
    rounds
}
