//! The fast layout: a table per block, and in each bucket a dense column of the bits that come next.
//!
//! ```text
//! value      [ directory ][ near: 16 bits ][ the rest, looked at only in the values ]
//! bucket     near  near  near …     scanned, 16 or 32 at a time
//!            row   row   row  …     read where the near bits pass
//! ```
//! By the ring rule ([`super::scheme`]) a match has no difference in the block and at most one in the next: of two
//! random values 17 in 65,536 pass. What passes is compared with the value itself, found by its row, which is its
//! place in the order of ordinals. Equal values share one entry, so a pile of copies lengthens no bucket; a bucket that
//! grows long all the same (distinct values with a common block) is kept in order and searched by halving.

use super::groups::{self, Grouped};
use super::rows;
use super::scheme::{Condition, Rule, Scheme, is_first};
use super::{Found, HammingError, TWIN};
use crate::files::{Output, Part, Sections};
use crate::machine::columns::{PADDING, Scan, Test};
use crate::memory::{Section, View};
use crate::{Level, Value};

/// Bits in the near column.
pub(crate) const NEAR: u32 = 16;
/// A longer bucket is in order of its near bits, and searched by halving.
const LONG: usize = 4096;
/// Queries of a group.
const GROUP: usize = 32;

/// A segment in this layout.
#[derive(Debug)]
pub(crate) struct Columns<V> {
    pub(crate) sections: Sections,
    scheme: Scheme,
    values: Section<V>,
    twins: Section<u32>,
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    directory_bits: u32,
    directory: Section<u32>,
    near: Section<u16>,
    rows: Section<u32>,
}

/// Memory for searches, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buckets: Vec<(u32, u32)>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    query: u32,
    table: u32,
    /// Place in the table, then the row.
    place: u32,
}

/// Directory bits for `items` values in blocks of `width` bits: buckets of about one entry and more.
pub(crate) fn directory_bits(items: usize, width: u32) -> u32 {
    width.min(items.max(1).ilog2().clamp(1, 24))
}

pub(crate) fn scheme(width: u32, k: u32) -> Scheme {
    Scheme::new(Rule::Ring, width, (k + 1).max(2))
}

/// Bytes a value takes, roughly.
pub(crate) fn bytes_per_item<V: Value>(items: usize, k: u32) -> f64 {
    let tables = scheme(V::WIDTH, k).blocks;
    let directories: f64 =
        tables.iter().map(|block| 4.0 * f64::from(1 << directory_bits(items, block.width))).sum();
    size_of::<V>() as f64 + 6.0 * tables.len() as f64 + directories / items.max(1) as f64
}

/// Writes the sections for `values`, which are in order of their ordinals, and gives the layout's parameters.
pub(crate) fn write<V: Value>(values: &[V], k: u32, output: &mut Output) -> Result<Vec<u64>, HammingError> {
    let blocks = scheme(V::WIDTH, k).blocks;
    let (distinct, twins) = rows::distinct(values)?;
    output.whole(Part::Values, &[values])?;
    output.whole(Part::Twins, &[&twins])?;
    let bits: Vec<u32> = blocks.iter().map(|block| directory_bits(distinct.len(), block.width)).collect();
    let mut tables = rows::Tables::new(values, &distinct)?;
    for (table, (block, &bits)) in (0..).zip(blocks.iter().zip(&bits)) {
        let sorted = tables.sorted(block.start, bits, LONG)?;
        output.whole(Part::Directory(table), &[&sorted.directory])?;
        output.whole(Part::Near(table), &[&sorted.near, &[0; PADDING]])?;
        output.whole(Part::Rows(table), &[&sorted.rows])?;
    }
    Ok(bits.into_iter().map(u64::from).collect())
}

impl<V: Value> Columns<V> {
    /// From the sections of a segment; `bits` are the layout's parameters.
    pub(crate) fn open(sections: Sections, bits: &[u64], k: u32) -> Result<Self, HammingError> {
        let scheme = scheme(V::WIDTH, k);
        if bits.len() != scheme.blocks.len() || bits.iter().any(|&bits| bits > 32) {
            return Err(sections.refused("its tables do not fit its width").into());
        }
        let tables = (0..).zip(bits).map(|(table, &bits)| {
            Ok(Table {
                directory_bits: bits as u32,
                directory: sections.get(Part::Directory(table))?,
                near: sections.get(Part::Near(table))?,
                rows: sections.get(Part::Rows(table))?,
            })
        });
        let tables = tables.collect::<Result<Vec<_>, HammingError>>()?;
        let (values, twins): (_, Section<u32>) = (sections.get(Part::Values)?, sections.get(Part::Twins)?);
        if !tables.iter().all(Table::fits) {
            return Err(sections.refused("the lengths of its sections do not fit each other").into());
        }
        twins.view().expect_all();
        sections.sound()?;
        Ok(Self { sections, scheme, values, twins, tables })
    }

    /// The values in order, checked.
    pub(crate) fn values(&self) -> Result<&[V], HammingError> {
        let view = self.values.view();
        view.expect_all();
        self.sections.sound()?;
        Ok(view.items)
    }

    /// Finds everything within `k` bits of each query.
    pub(crate) fn find(
        &self,
        level: Level,
        queries: &[V],
        k: u32,
        scratch: &mut Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        let views: Vec<TableView<'_>> = self.tables.iter().map(Table::view).collect();
        let conditions = self.scheme.conditions(k);
        let search = Search {
            columns: self,
            tables: &views,
            values: self.values.view(),
            twins: self.twins.view(),
            conditions: &conditions,
            tests: conditions.iter().zip(&self.tables).map(|(c, t)| test::<V>(c, t.directory_bits)).collect(),
            k,
        };
        groups::search(level, &search, queries, scratch, found)
    }
}

/// The near column's test for one table; the query's bits are filled in later.
pub(crate) fn test<V: Value>(condition: &Option<Condition>, directory_bits: u32) -> Test {
    let Some(condition) = condition else { return Test { query: 0, exact: 0, near: 0 } };
    let mut test = Test { query: 0, exact: 0, near: 0 };
    for bit in 0..NEAR.min(V::WIDTH - directory_bits) {
        let place = 1 << (NEAR - 1 - bit);
        let from_start = directory_bits + bit;
        let near_from = (condition.near_start + V::WIDTH - condition.start) % V::WIDTH;
        if from_start < condition.exact {
            test.exact |= place;
        } else if (near_from..near_from + condition.near).contains(&from_start) {
            if condition.radius == 0 { test.exact |= place } else { test.near |= place }
        }
    }
    test
}

#[derive(Clone, Copy)]
struct TableView<'a> {
    bits: u32,
    directory: View<'a, u32>,
    near: View<'a, u16>,
    rows: View<'a, u32>,
}

impl Table {
    /// Whether the sections have the lengths they need.
    fn fits(&self) -> bool {
        self.directory.len() == (1 << self.directory_bits) + 1 && self.near.len() == self.rows.len() + PADDING
    }

    fn view(&self) -> TableView<'_> {
        TableView {
            bits: self.directory_bits,
            directory: self.directory.view(),
            near: self.near.view(),
            rows: self.rows.view(),
        }
    }
}

struct Search<'a, V> {
    columns: &'a Columns<V>,
    tables: &'a [TableView<'a>],
    values: View<'a, V>,
    twins: View<'a, u32>,
    conditions: &'a [Option<Condition>],
    tests: Vec<Test>,
    k: u32,
}

impl<V: Value> Grouped<V> for Search<'_, V> {
    type Scratch = Scratch;

    fn size(&self) -> usize {
        GROUP
    }

    /// Each step announces what the next will read, for all queries of the group, so that the memory works on all of
    /// them at once.
    #[inline(always)]
    fn group<S: Scan>(
        &self,
        queries: &[V],
        first: usize,
        scratch: &mut Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        self.announce_buckets(queries);
        self.columns.sections.sound()?;
        self.read_buckets(queries, scratch);
        self.columns.sections.sound()?;
        self.scan_buckets::<S>(queries, scratch);
        self.columns.sections.sound()?;
        self.read_rows(scratch);
        self.columns.sections.sound()?;
        for candidate in &scratch.candidates {
            let value = self.values.items[(candidate.place & !TWIN) as usize];
            let error = value.xor(queries[candidate.query as usize]);
            let distance = error.ones();
            if distance <= self.k && is_first(self.conditions, candidate.table as usize, error) {
                let query = first as u32 + candidate.query;
                found(Found { query, ordinal: candidate.place & !TWIN, distance });
                if candidate.place & TWIN != 0 {
                    for &ordinal in rows::twins_of(self.twins.items, candidate.place & !TWIN) {
                        found(Found { query, ordinal, distance });
                    }
                }
            }
        }
        Ok(())
    }
}

impl<V: Value> Search<'_, V> {
    #[inline(always)]
    fn start(&self, table: usize) -> u32 {
        self.columns.scheme.blocks[table].start
    }

    #[inline(always)]
    fn announce_buckets(&self, queries: &[V]) {
        for query in queries {
            for (index, table) in self.tables.iter().enumerate() {
                table.directory.expect_at(query.window(self.start(index), table.bits) as usize, 1);
            }
        }
    }

    #[inline(always)]
    fn read_buckets(&self, queries: &[V], scratch: &mut Scratch) {
        scratch.buckets.clear();
        for query in queries {
            for (index, table) in self.tables.iter().enumerate() {
                let bucket = query.window(self.start(index), table.bits) as usize;
                let (from, to) = (table.directory.items[bucket], table.directory.items[bucket + 1]);
                scratch.buckets.push((from, to));
                table.near.expect(from as usize, to as usize);
            }
        }
    }

    #[inline(always)]
    fn scan_buckets<S: Scan>(&self, queries: &[V], scratch: &mut Scratch) {
        scratch.candidates.clear();
        let mut buckets = scratch.buckets.iter();
        for (query, value) in (0..).zip(queries) {
            for (index, table) in self.tables.iter().enumerate() {
                let Some(&(from, to)) = buckets.next() else { return };
                let near = value.window(self.start(index) + table.bits, NEAR.min(V::WIDTH)) as u16;
                let test = Test { query: near, ..self.tests[index] };
                let candidates = &mut scratch.candidates;
                let pass = |place: usize| {
                    table.rows.expect_at(place, 0);
                    candidates.push(Candidate { query, table: index as u32, place: place as u32 });
                };
                if (to - from) as usize > LONG {
                    search_long(table.near.items, from as usize, to as usize, test, pass);
                } else {
                    S::scan(table.near.items, from as usize, to as usize, test, pass);
                }
            }
        }
    }

    #[inline(always)]
    fn read_rows(&self, scratch: &mut Scratch) {
        for candidate in &mut scratch.candidates {
            candidate.place = self.tables[candidate.table as usize].rows.items[candidate.place as usize];
            self.values.expect_at((candidate.place & !TWIN) as usize, 0);
        }
    }
}

/// The long way for long buckets: their entries are in order, so each of the few numbers that pass is looked up.
#[cold]
fn search_long(column: &[u16], from: usize, to: usize, test: Test, mut pass: impl FnMut(usize)) {
    let column = &column[from..to];
    let fixed = test.exact | test.near;
    // The free bits are the lowest: what agrees in all others stands together.
    let free = (1_u32 << fixed.trailing_zeros().min(16)) - 1;
    let mut look_up = |number: u16| {
        let (low, high) = (u32::from(number) & !free, u32::from(number) | free);
        let start = column.partition_point(|&entry| u32::from(entry) < low);
        let end = start + column[start..].partition_point(|&entry| u32::from(entry) <= high);
        (start..end).for_each(|place| pass(from + place));
    };
    look_up(test.query);
    for bit in (0..16).map(|bit| 1 << bit).filter(|bit| test.near & bit != 0) {
        look_up(test.query ^ bit);
    }
}
