//! The mutable part: fingerprints added since the last segment was made.
//!
//! As in [`super::columns`] there is a table per block of the ring rule, and a column of near bits to scan, but in pages
//! of one cache line each, so that a bucket can grow:
//!
//! ```text
//! page       near × 10 (16 bits each) · row × 10 (32 bits each) · next page and number of entries (32 bits)
//! ```
//! The first page of bucket `b` is page `b`, so a search needs no directory. Only first pages have room; a full one is
//! moved behind and starts anew. Equal values have one entry and are chained by their rows.

use super::columns::{self, NEAR};
use super::groups::{self, Grouped};
use super::scheme::{Condition, Scheme, is_first};
use super::{Found, HammingError};
use crate::machine::columns::{Scan, Test};
use crate::memory::Growing;
use crate::{Level, Value, machine};

/// Entries of a page.
const ENTRIES: usize = 10;
/// Bits of the last word of a page that count its entries; the others are the number of the next page.
const COUNT_BITS: u32 = 4;
/// A table gets more buckets when they have more entries than this on average.
const CROWDED: usize = 8;
/// Bits of the next block that may number buckets too. A search then visits the neighbours in these bits as well, which
/// pays only when buckets of the block alone have more than [`LONG`] entries.
const NEIGHBOUR_BITS: u32 = 4;
const LONG: usize = 60;
/// Queries of a group.
const GROUP: usize = 16;

/// Eight words: one cache line, as the buffer starts on one.
type Page = [u64; 8];

/// The mutable part. Rows are numbered in the order of insertion.
#[derive(Debug)]
pub(crate) struct Fresh<V> {
    scheme: Scheme,
    values: Growing<V>,
    /// The next row with the same value, plus one; 0 at the end.
    twins: Growing<u32>,
    /// Rows that have an entry: the first of each value.
    distinct: usize,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    start: u32,
    /// Leading bits of a bucket's number that must agree; the others may differ as the near bits may.
    exact_bits: u32,
    /// Most bits a bucket's number can have.
    most_bits: u32,
    bits: u32,
    pages: Growing<Page>,
}

/// Memory for searches, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    visits: Vec<Visit>,
    later: Vec<Visit>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    query: u32,
    table: u16,
    /// Whether the bucket is a neighbour's, so that the one difference is spent.
    neighbour: bool,
    page: u32,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    query: u32,
    table: u32,
    row: u32,
}

impl<V: Value> Fresh<V> {
    pub(crate) fn new(k: u32) -> Result<Self, HammingError> {
        let scheme = columns::scheme(V::WIDTH, k);
        let table = |i: usize| {
            let (block, next) = (scheme.blocks[i], scheme.blocks[(i + 1) % scheme.blocks.len()]);
            let exact_bits = block.width.min(20);
            let more = if exact_bits == block.width { NEIGHBOUR_BITS.min(next.width) } else { 0 };
            Table::new(block.start, exact_bits, exact_bits + more, 4.min(exact_bits))
        };
        let tables =
            (0..scheme.blocks.len()).map(table).collect::<std::io::Result<_>>().map_err(no_memory)?;
        Ok(Self { scheme, values: Growing::new(), twins: Growing::new(), distinct: 0, tables })
    }

    pub(crate) fn values(&self) -> &[V] {
        &self.values
    }

    pub(crate) fn try_clone(&self) -> Result<Self, HammingError> {
        let table = |table: &Table| Ok(Table { pages: table.pages.try_clone()?, ..*table });
        let tables: std::io::Result<_> = self.tables.iter().map(table).collect();
        Ok(Self {
            scheme: self.scheme.clone(),
            values: self.values.try_clone().map_err(no_memory)?,
            twins: self.twins.try_clone().map_err(no_memory)?,
            distinct: self.distinct,
            tables: tables.map_err(no_memory)?,
        })
    }

    /// Adds a value. After an error nothing has been added.
    pub(crate) fn insert(&mut self, value: V) -> Result<(), HammingError> {
        let row = self.values.len() as u32;
        let equal = self.row_of(value);
        if equal.is_none() {
            self.make_room().map_err(no_memory)?;
        }
        self.twins.push(0).map_err(no_memory)?;
        if let Err(error) = self.values.push(value) {
            let _ = self.twins.resize(row as usize);
            return Err(no_memory(error));
        }
        if let Some(first) = equal {
            self.twins[row as usize] = self.twins[first as usize];
            self.twins[first as usize] = row + 1;
        } else {
            self.distinct += 1;
            self.tables.iter_mut().for_each(|table| table.insert(value, row));
        }
        Ok(())
    }

    /// Makes sure that one more entry finds room in every table, with more buckets where they are crowded.
    fn make_room(&mut self) -> std::io::Result<()> {
        for table in &mut self.tables {
            let bits = table.bits_for(self.distinct);
            if bits > table.bits {
                let mut larger = Table::new(table.start, table.exact_bits, table.most_bits, bits)?;
                for row in table.rows() {
                    larger.reserve()?;
                    larger.insert(self.values[row as usize], row);
                }
                *table = larger;
            }
            table.reserve()?;
        }
        Ok(())
    }

    /// The row that represents a value. Every table has it, so all are walked in step until one ends: values with a common
    /// beginning crowd one table, not all.
    fn row_of(&self, value: V) -> Option<u32> {
        let mut places: Vec<(&Table, u32)> =
            self.tables.iter().map(|table| (table, table.bucket(value))).collect();
        loop {
            for (table, page) in &mut places {
                let near = value.window(table.start + table.bits, NEAR) as u16;
                let (entries, next) = read(&table.pages[*page as usize]);
                let mut rows = entries.filter(|entry| entry.0 == near).map(|entry| entry.1);
                if let Some(row) = rows.find(|&row| self.values[row as usize] == value) {
                    return Some(row);
                }
                *page = next?;
            }
        }
    }

    /// Finds everything within `k` bits of each query; ordinals are rows.
    pub(crate) fn find(
        &self,
        level: Level,
        queries: &[V],
        k: u32,
        scratch: &mut Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        if self.values.is_empty() {
            return Ok(());
        }
        let conditions = self.scheme.conditions(k);
        let tests: Vec<[Test; 2]> = conditions
            .iter()
            .zip(&self.tables)
            .map(|(condition, table)| {
                let test = columns::test::<V>(condition, table.bits);
                [test, Test { exact: test.exact | test.near, near: 0, ..test }]
            })
            .collect();
        let pages: Vec<&[Page]> = self.tables.iter().map(|table| &*table.pages).collect();
        let search = Search {
            fresh: self,
            values: &self.values,
            pages: &pages,
            conditions: &conditions,
            tests: &tests,
            k,
        };
        groups::search(level, &search, queries, scratch, found)
    }
}

fn no_memory(error: std::io::Error) -> HammingError {
    HammingError::memory(0, error)
}

/// The entries of a page, near bits and row, and the page that follows.
#[inline(always)]
fn read(page: &Page) -> (impl Iterator<Item = (u16, u32)>, Option<u32>) {
    let halves: &[u16; 32] = bytemuck::cast_ref(page);
    let words: &[u32; 16] = bytemuck::cast_ref(page);
    let (count, next) = unpack(words[15]);
    ((0..count).map(|i| (halves[i], words[ENTRIES / 2 + i])), next)
}

#[inline(always)]
fn unpack(word: u32) -> (usize, Option<u32>) {
    let next = word >> COUNT_BITS;
    ((word & ((1 << COUNT_BITS) - 1)) as usize, (next != 0).then_some(next))
}

impl Table {
    fn new(start: u32, exact_bits: u32, most_bits: u32, bits: u32) -> std::io::Result<Self> {
        let mut pages = Growing::new();
        pages.resize(1 << bits)?;
        Ok(Self { start, exact_bits, most_bits, bits, pages })
    }

    /// How many bits buckets should have for so many entries.
    fn bits_for(&self, entries: usize) -> u32 {
        if self.bits < self.exact_bits && entries > CROWDED << self.bits {
            (self.bits + 2).min(self.exact_bits)
        } else if self.bits == self.exact_bits && entries > LONG << self.bits {
            self.most_bits
        } else {
            self.bits
        }
    }

    #[inline(always)]
    fn bucket<V: Value>(&self, value: V) -> u32 {
        value.window(self.start, self.bits) as u32
    }

    /// All rows in the table.
    fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.pages.iter().flat_map(|page| read(page).0.map(|entry| entry.1))
    }

    /// Memory for one more page, so that [`Table::insert`] cannot fail.
    fn reserve(&mut self) -> std::io::Result<()> {
        let pages = self.pages.len();
        self.pages.resize(pages + 1)?;
        self.pages.resize(pages)
    }

    fn insert<V: Value>(&mut self, value: V, row: u32) {
        let bucket = self.bucket(value) as usize;
        let mut page = self.pages[bucket];
        let (mut count, _) = unpack(bytemuck::cast_ref::<_, [u32; 16]>(&page)[15]);
        if count == ENTRIES {
            let behind = self.pages.len() as u32;
            let _ = self.pages.push(page); // there is room for it
            page = Page::default();
            bytemuck::cast_mut::<_, [u32; 16]>(&mut page)[15] = behind << COUNT_BITS;
            count = 0;
        }
        bytemuck::cast_mut::<_, [u16; 32]>(&mut page)[count] =
            value.window(self.start + self.bits, NEAR) as u16;
        let words: &mut [u32; 16] = bytemuck::cast_mut(&mut page);
        words[ENTRIES / 2 + count] = row;
        words[15] += 1;
        self.pages[bucket] = page;
    }
}

struct Search<'a, V> {
    fresh: &'a Fresh<V>,
    values: &'a [V],
    pages: &'a [&'a [Page]],
    conditions: &'a [Option<Condition>],
    /// For the query's own bucket, and for its neighbours.
    tests: &'a [[Test; 2]],
    k: u32,
}

impl<V: Value> Grouped<V> for Search<'_, V> {
    type Scratch = Scratch;

    fn size(&self) -> usize {
        GROUP
    }

    #[inline(always)]
    fn group<S: Scan>(
        &self,
        queries: &[V],
        first: usize,
        scratch: &mut Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        scratch.visits.clear();
        scratch.candidates.clear();
        for (query, &value) in (0..).zip(queries) {
            for (table, index) in self.fresh.tables.iter().zip(0..) {
                let own = Visit { query, table: index, neighbour: false, page: table.bucket(value) };
                machine::prefetch(self.pages[index as usize], own.page as usize);
                scratch.visits.push(own);
                for bit in 0..table.bits.saturating_sub(table.exact_bits) {
                    let page = own.page ^ 1 << bit;
                    machine::prefetch(self.pages[index as usize], page as usize);
                    scratch.visits.push(Visit { neighbour: true, page, ..own });
                }
            }
        }
        // Page after page, for all queries of the group together.
        while !scratch.visits.is_empty() {
            self.scan_pages::<S>(queries, scratch);
            std::mem::swap(&mut scratch.visits, &mut scratch.later);
        }
        for candidate in &scratch.candidates {
            let error = self.values[candidate.row as usize].xor(queries[candidate.query as usize]);
            let distance = error.ones();
            if distance <= self.k && is_first(self.conditions, candidate.table as usize, error) {
                let query = first as u32 + candidate.query;
                let mut row = candidate.row + 1;
                while row != 0 {
                    found(Found { query, ordinal: row - 1, distance });
                    row = self.fresh.twins[row as usize - 1];
                }
            }
        }
        Ok(())
    }
}

impl<V: Value> Search<'_, V> {
    #[inline(always)]
    fn scan_pages<S: Scan>(&self, queries: &[V], scratch: &mut Scratch) {
        scratch.later.clear();
        for visit in &scratch.visits {
            let (pages, index) = (self.pages[visit.table as usize], visit.table as usize);
            let table = &self.fresh.tables[index];
            let page = &pages[visit.page as usize];
            let words: &[u32; 16] = bytemuck::cast_ref(page);
            let (count, next) = unpack(words[15]);
            if let Some(next) = next {
                machine::prefetch(pages, next as usize);
                scratch.later.push(Visit { page: next, ..*visit });
            }
            let near = queries[visit.query as usize].window(table.start + table.bits, NEAR) as u16;
            let halves: &[[u16; 16]; 2] = bytemuck::cast_ref(page);
            let test = Test { query: near, ..self.tests[index][usize::from(visit.neighbour)] };
            let mut passed = S::pass(&halves[0], test) & ((1 << count) - 1);
            while passed != 0 {
                let row = words[ENTRIES / 2 + passed.trailing_zeros() as usize];
                machine::prefetch(self.values, row as usize);
                scratch.candidates.push(Candidate { query: visit.query, table: visit.table.into(), row });
                passed &= passed - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan;
    use proptest::prelude::*;

    fn agrees<V: Value>(numbers: &[u64], k: u32) {
        let values: Vec<V> = numbers.iter().map(|&n| V::from_words(&[n, n, n, n])).collect();
        let mut fresh = Fresh::<V>::new(k).unwrap();
        values.iter().for_each(|&value| fresh.insert(value).unwrap());
        let copy = fresh.try_clone().unwrap();
        assert_eq!(fresh.values(), values);
        let queries = &values[..values.len().min(50)];
        let truth: Vec<Found> = (0..)
            .zip(queries)
            .flat_map(|(query, &value)| {
                scan::find(&values, value, k).map(move |(row, distance)| Found {
                    query,
                    ordinal: row as u32,
                    distance,
                })
            })
            .collect();
        for &level in Level::available() {
            for fresh in [&fresh, &copy] {
                let mut found = Vec::new();
                fresh.find(level, queries, k, &mut Scratch::default(), &mut |f| found.push(f)).unwrap();
                found.sort_unstable();
                assert_eq!(found, truth);
            }
        }
    }

    /// Enough for buckets of the block alone to be too long.
    #[test]
    fn many_values_make_buckets_of_neighbours() {
        let numbers: Vec<u64> = (0..20_000_u64)
            .map(|i| (i / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i % 3) << (i % 61))
            .collect();
        agrees::<u64>(&numbers, 7);
        agrees::<u32>(&numbers, 3);
        let mut fresh = Fresh::<u64>::new(7).unwrap();
        numbers.iter().for_each(|&number| fresh.insert(number).unwrap());
        assert!(fresh.tables.iter().all(|table| table.bits == table.exact_bits + NEIGHBOUR_BITS));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn equals_the_scan(numbers in prop::collection::vec(prop_oneof![0..64_u64, any::<u64>(), (0..8_u64).prop_map(|n| n << 60)], 0..400), k in 0..=7_u32) {
            agrees::<u32>(&numbers, k);
            agrees::<u64>(&numbers, k);
            agrees::<u128>(&numbers, k);
            agrees::<[u64; 4]>(&numbers, k);
        }
    }
}
