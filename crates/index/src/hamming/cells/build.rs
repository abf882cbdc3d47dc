//! Building the cells: partition by leading bits into parts that fit the second cache, sort each, write it out.
//!
//! The source is read once to count and once for each table and round. A round takes as many parts as the memory
//! ceiling allows, so that a billion values can be built in a fraction of their size.

use super::super::partition::{Bare, Counts, Cut, Entry, Numbered, PART_ITEMS, Parts, Reader, Sorter};
use super::super::segment::Source;
use super::super::{HammingError, TWIN};
use super::{Shape, TableShape};
use crate::Value;
use crate::files::{Output, Part};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Parts that are built before they are written, for each thread: enough that no thread waits long for another.
const BATCH: usize = 16;

/// Writes all sections and gives the layout's parameters.
pub(crate) fn write<V: Value>(
    source: &dyn Source<V>,
    shape: &Shape,
    memory: u64,
    output: &mut Output,
) -> Result<Vec<u64>, HammingError> {
    let reader = Reader::new(source);
    let cuts: Vec<Cut> = shape.tables.iter().map(|table| cut(source.items(), table)).collect();
    let counts = reader.count(&cuts)?;
    let mut parts = Parts::new()?;
    for (index, ((table, &cut), counts)) in shape.tables.iter().zip(&cuts).zip(&counts).enumerate() {
        let mut builder = Builder { reader: &reader, table, cut, counts, parts: &mut parts };
        match index {
            0 => builder.write::<Numbered<V>>(index as u32, memory, output)?,
            _ => builder.write::<Bare<V>>(index as u32, memory, output)?,
        }
    }
    Ok(shape.to_words())
}

/// Which leading bits make a part. The filter of a part must be a run of its own.
fn cut(items: u64, table: &TableShape) -> Cut {
    let most = table.filter.map_or(table.directory_bits, |filter| {
        table.directory_bits.min(filter.high + (filter.exact + filter.low).min(6) - 6)
    });
    Cut::new(table.start, items, most)
}

/// One table being built.
struct Builder<'a, V> {
    reader: &'a Reader<'a, V>,
    table: &'a TableShape,
    cut: Cut,
    counts: &'a Counts,
    parts: &'a mut Parts<V>,
}

/// What becomes of a part. The memory is used again for the next.
#[derive(Default)]
struct Built {
    /// Distinct values.
    rows: u32,
    /// Entries before each cell, counted from the part's first until the parts before it are known.
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
    /// Ordinals and twins, which only the first table has.
    ordinals: Option<[usize; 2]>,
    filter: Option<usize>,
}

impl<V: Value> Builder<'_, V> {
    fn write<E: Entry<V>>(
        &mut self,
        index: u32,
        memory: u64,
        output: &mut Output,
    ) -> Result<(), HammingError> {
        let target = self.sections::<E>(index, output)?;
        let batches = self.batches();
        let working = batches.iter().map(|batch| self.batch_bytes::<E>(batch.clone())).max().unwrap_or(0);
        let sorters = Mutex::new(Vec::new());
        let mut built = Vec::new();
        for round in self.counts.rounds::<V>(memory.saturating_sub(working), E::NUMBERED) {
            self.parts.fill(self.reader, self.cut, self.counts, round.clone(), E::NUMBERED)?;
            for batch in &batches {
                let numbers = batch.start.max(round.start)..batch.end.min(round.end);
                if !numbers.is_empty() {
                    self.build::<E>(numbers, round.start, &sorters, &mut built);
                    self.append(&target, &mut built, output)?;
                }
            }
        }
        let total = (output.items::<u8>(target.rests) / self.table.rest_bytes) as u32;
        output.append(target.directory, &[total])?;
        Ok(output.append(target.rests, &[V::ZERO])?)
    }

    fn sections<E: Entry<V>>(&self, index: u32, output: &mut Output) -> Result<Target, HammingError> {
        let items = self.counts.all_items();
        let cells = 1 << self.table.directory_bits;
        let mut section = |part, bytes| output.section(part, bytes);
        Ok(Target {
            directory: section(Part::Directory(index), (cells + 1) * 4)?,
            rests: section(Part::Rests(index), items * self.table.rest_bytes + size_of::<V>())?,
            ordinals: match E::NUMBERED {
                // A group of two twins takes three numbers.
                true => Some([section(Part::Ordinals, items * 4)?, section(Part::Twins, items * 6 + 4)?]),
                false => None,
            },
            filter: match self.table.filter {
                Some(filter) => Some(section(Part::Filter(index), filter.bytes() as usize)?),
                None => None,
            },
        })
    }

    /// Parts that are built together, in parallel, and then written: a few, or one that is very large.
    fn batches(&self) -> Vec<Range<usize>> {
        let most_parts = rayon::current_num_threads() * BATCH;
        let most_items = most_parts * PART_ITEMS as usize * 2;
        let mut batches = Vec::new();
        let (mut start, mut items) = (0, 0);
        for part in 0..self.counts.parts() {
            let more = self.counts.items(part);
            if part > start && (part - start == most_parts || items + more > most_items) {
                batches.push(start..part);
                (start, items) = (part, 0);
            }
            items += more;
        }
        batches.push(start..self.counts.parts());
        batches
    }

    /// Memory for building a batch, at most.
    fn batch_bytes<E: Entry<V>>(&self, batch: Range<usize>) -> u64 {
        // An ordinal, and one and a half places among the twins.
        let numbers = if E::NUMBERED { 10 } else { 0 };
        // Sections that go to a file are copied once more.
        let item = Sorter::<E>::bytes_per_item() + 2 * (self.table.rest_bytes + numbers);
        let fixed = (4 << self.table.directory_bits) + self.table.filter.map_or(0, |filter| filter.bytes());
        let items: usize = batch.clone().map(|part| self.counts.items(part)).sum();
        (items * item) as u64 + 2 * (fixed >> self.cut.bits) * batch.len() as u64
    }

    /// Builds the parts of a batch, given by their numbers among all parts.
    fn build<E: Entry<V>>(
        &self,
        numbers: Range<usize>,
        first: usize,
        sorters: &Mutex<Vec<Sorter<E>>>,
        built: &mut Vec<Built>,
    ) {
        built.resize_with(numbers.len(), Built::default);
        built.par_iter_mut().zip(numbers).for_each(|(built, number)| {
            let mut sorter = lock(sorters).pop().unwrap_or_else(Sorter::new);
            sorter.sort(self.parts, number - first, self.cut.bits, self.table.directory_bits - self.cut.bits);
            self.pack(&sorter.entries, built);
            lock(sorters).push(sorter);
        });
    }

    /// Packs the sorted entries of a part.
    fn pack<E: Entry<V>>(&self, entries: &[E], built: &mut Built) {
        let bits = self.table.directory_bits;
        let cells = 1_usize << (bits - self.cut.bits);
        built.clear(cells, entries.len() * self.table.rest_bytes + size_of::<V>());
        if let Some(filter) = self.table.filter {
            built.filter.resize((filter.bytes() >> self.cut.bits).div_ceil(8) as usize, 0);
        }
        let (directory, rests, filter) = (&mut *built.directory, &mut *built.rests, &mut *built.filter);
        let (mut next_cell, mut row, mut place) = (0, 0, 0);
        while let Some(&entry) = entries.get(place) {
            let key = entry.key();
            // Whole values are written, each over the superfluous bytes of the one before.
            let from = row * self.table.rest_bytes;
            rests[from..from + size_of::<V>()].copy_from_slice(bytemuck::bytes_of(&key));
            let cell = key.top(bits) as usize & (cells - 1);
            while next_cell <= cell {
                directory[next_cell] = row as u32;
                next_cell += 1;
            }
            if let Some(shape) = self.table.filter {
                let address = shape.address(super::search::leading(key)) as usize & (filter.len() * 64 - 1);
                filter[address / 64] |= 1 << (address % 64);
            }
            let start = place;
            place += 1;
            while entries.get(place).is_some_and(|other| other.key() == key) {
                place += 1;
            }
            if E::NUMBERED {
                note_ordinals(&entries[start..place], &mut built.ordinals, &mut built.twins);
            }
            row += 1;
        }
        directory[next_cell..].fill(row as u32);
        built.rests.truncate(row * self.table.rest_bytes);
        built.rows = row as u32;
    }

    fn append(&self, target: &Target, built: &mut [Built], output: &mut Output) -> Result<(), HammingError> {
        let mut rows = (output.items::<u8>(target.rests) / self.table.rest_bytes) as u32;
        let mut twins = target.ordinals.map_or(0, |[_, twins]| output.items::<u32>(twins) as u32);
        let before: Vec<(u32, u32)> = built
            .iter()
            .map(|built| {
                let before = (rows, twins);
                (rows, twins) = (rows + built.rows, twins + built.twins.len() as u32);
                before
            })
            .collect();
        built.par_iter_mut().zip(before).for_each(|(built, (rows, twins))| built.move_behind(rows, twins));
        output.append_all(target.directory, built.iter().map(|built| &*built.directory))?;
        output.append_all(target.rests, built.iter().map(|built| &*built.rests))?;
        if let Some([ordinals, twins]) = target.ordinals {
            output.append_all(ordinals, built.iter().map(|built| &*built.ordinals))?;
            output.append_all(twins, built.iter().map(|built| &*built.twins))?;
        }
        target
            .filter
            .map_or(Ok(()), |filter| Ok(output.append_all(filter, built.iter().map(|built| &*built.filter))?))
    }
}

impl Built {
    /// Makes room for another part.
    fn clear(&mut self, cells: usize, rest_bytes: usize) {
        self.directory.resize(cells, 0);
        if self.rests.capacity() > 4 * rest_bytes + (1 << 20) {
            // After a part that was very large.
            *self = Self { directory: std::mem::take(&mut self.directory), ..Self::default() };
        }
        self.rests.resize(rest_bytes, 0);
        self.ordinals.clear();
        self.twins.clear();
        self.filter.clear();
    }

    /// Counts from the table's first row and twin instead of the part's.
    fn move_behind(&mut self, rows: u32, twins: u32) {
        self.directory.iter_mut().for_each(|start| *start += rows);
        self.ordinals.iter_mut().filter(|entry| **entry & TWIN != 0).for_each(|entry| *entry += twins);
    }
}

/// Notes the ordinals of all entries with one key.
#[inline]
fn note_ordinals<V, E: Entry<V>>(group: &[E], ordinals: &mut Vec<u32>, twins: &mut Vec<u32>) {
    if let [only] = group {
        ordinals.push(only.ordinal());
    } else {
        ordinals.push(TWIN | twins.len() as u32);
        twins.push(group.len() as u32);
        twins.extend(group.iter().map(|entry| entry.ordinal()));
    }
}

/// What a thread left behind when it panicked is as good as new: sorters are cleared before use.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::super::scheme::Rule;
    use super::*;

    /// A fifth of the values share a few prefixes, and a twentieth are all equal.
    fn skewed(count: u64) -> Vec<u64> {
        let mix = |i: u64| {
            let mixed = (i ^ i >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        (0..count)
            .map(|i| match (i % 20, mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) {
                (0, _) => 42 << 40,
                (1..=4, value) => value >> 16 | mix(value % 10) << 48,
                (_, value) => value,
            })
            .collect()
    }

    /// All sections, as bytes.
    fn sections(values: &[u64], shape: &Shape, memory: u64) -> Vec<Vec<u8>> {
        let mut output = Output::memory();
        let parameters = write(&values, shape, memory, &mut output).unwrap();
        let sections = output.finish(parameters).unwrap();
        let tables = (0..shape.tables.len() as u32)
            .flat_map(|t| [Part::Directory(t), Part::Rests(t), Part::Filter(t)]);
        let present = tables.chain([Part::Ordinals, Part::Twins]).filter(|&part| sections.has(part));
        present.map(|part| sections.get::<u8>(part).unwrap().view().items.to_vec()).collect()
    }

    #[test]
    fn many_rounds_give_what_one_gives() {
        let values = skewed(300_000);
        for (rule, tables) in [(Rule::Ring, 4), (Rule::Share, 2)] {
            let shape = Shape::new::<u64>(values.len() as u64, rule, tables, true);
            let whole = sections(&values, &shape, 1 << 30);
            for memory in [0, 1 << 20, 6 << 20] {
                assert!(sections(&values, &shape, memory) == whole, "{rule:?} in {memory} bytes");
            }
        }
    }

    #[test]
    fn a_round_and_a_batch_fit_the_memory() {
        let values = skewed(300_000);
        let source = &&values[..];
        let shape = Shape::new::<u64>(values.len() as u64, Rule::Ring, 4, true);
        let (reader, table) = (Reader::new(source), &shape.tables[0]);
        let cut = cut(values.len() as u64, table);
        let counts = &reader.count(&[cut]).unwrap()[0];
        let builder = Builder { reader: &reader, table, cut, counts, parts: &mut Parts::new().unwrap() };
        let batches = builder.batches();
        assert!(batches.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(batches.iter().map(|batch| batch.len()).sum::<usize>(), cut.parts());
        let working =
            batches.into_iter().map(|batch| builder.batch_bytes::<Numbered<u64>>(batch)).max().unwrap();
        let memory = working + 12 * values.len() as u64 / 3;
        for round in counts.rounds::<u64>(memory - working, true) {
            let items: usize = round.clone().map(|part| counts.items(part)).sum();
            assert!(round.len() == 1 || 12 * items as u64 + working <= memory);
        }
    }
}
