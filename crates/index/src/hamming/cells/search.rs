//! Searching the cells.

use super::super::groups::{self, Grouped};
use super::super::scheme::{Condition, is_first};
use super::super::{Found, HammingError};
use super::{Cells, FilterShape, TableView, each_ordinal};
use crate::machine::columns::Scan;
use crate::memory::View;
use crate::{Level, Value};

/// Queries of a group, and the most cells they may visit together: a large distance has thousands of
/// cells for each query.
const GROUP: usize = 16;
const MOST_VISITS: usize = 1 << 14;

/// Memory for searches, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    visits: Vec<Visit>,
    /// Of table 0, by place: what to look up, or what has been found.
    matches: Vec<Match>,
}

/// A cell to be looked into.
#[derive(Clone, Copy, Debug)]
struct Visit {
    query: u16,
    table: u16,
    /// The bits in which the cell's number differs from the query's.
    flips: u32,
    from: u32,
    to: u32,
}

#[derive(Clone, Copy, Debug)]
struct Match {
    query: u16,
    distance: u16,
    /// Place in table 0, or [`UNKNOWN`] with the visit's place in `from`/`to`.
    row: u32,
    from: u32,
    to: u32,
    /// Which match of another table this is: its error is in `errors`.
    error: u32,
}

const UNKNOWN: u32 = u32::MAX;

struct Search<'a, V> {
    cells: &'a Cells<V>,
    tables: Vec<TableView<'a, V>>,
    ordinals: View<'a, u32>,
    twins: View<'a, u32>,
    conditions: &'a [Option<Condition>],
    /// For each table the flips to try besides none.
    flips: Vec<Vec<u32>>,
    k: u32,
}

impl<V: Value> Cells<V> {
    /// Finds everything within `k` bits of each query.
    pub(crate) fn find(
        &self,
        level: Level,
        queries: &[V],
        k: u32,
        scratch: &mut Scratch,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        let conditions = self.shape.scheme.conditions(k);
        let flips = conditions.iter().zip(&self.shape.tables).map(|(condition, table)| {
            let radius = condition.map_or(0, |condition| condition.radius);
            flips(table.directory_bits - table.fixed_bits, radius)
        });
        let search = Search {
            cells: self,
            tables: self.tables.iter().map(super::Table::view).collect(),
            ordinals: self.ordinals.view(),
            twins: self.twins.view(),
            conditions: &conditions,
            flips: flips.collect(),
            k,
        };
        let mut work = Work { scratch: std::mem::take(scratch), errors: Vec::new() };
        let outcome = groups::search(level, &search, queries, &mut work, found);
        *scratch = work.scratch;
        outcome
    }
}

/// All numbers of `bits` bits with 1 to `radius` of them set.
fn flips(bits: u32, radius: u32) -> Vec<u32> {
    let mut all = vec![0];
    let mut last = 0..1;
    for _ in 0..radius {
        for i in last.clone() {
            let flipped: u32 = all[i];
            let free = if flipped == 0 { bits } else { flipped.trailing_zeros() };
            all.extend((0..free).map(|bit| flipped | 1 << bit));
        }
        last = last.end..all.len();
    }
    all.remove(0);
    all
}

/// What a group works with.
struct Work<V> {
    scratch: Scratch,
    /// In which bits matches of other tables than the first differ from their queries.
    errors: Vec<V>,
}

impl<V: Value> Grouped<V> for Search<'_, V> {
    type Scratch = Work<V>;

    fn size(&self) -> usize {
        let visits: usize = self.flips.iter().map(Vec::len).sum();
        (MOST_VISITS / (visits + 1)).clamp(1, GROUP)
    }

    /// Each step announces what the next will read, for all queries of the group.
    #[inline(always)]
    fn group<S: Scan>(
        &self,
        queries: &[V],
        first: usize,
        work: &mut Work<V>,
        found: &mut impl FnMut(Found),
    ) -> Result<(), HammingError> {
        let Work { scratch, errors } = work;
        self.announce(queries);
        self.cells.sections.sound()?;
        self.choose_cells(queries, scratch);
        self.cells.sections.sound()?;
        self.read_cells(scratch);
        self.cells.sections.sound()?;
        self.scan_cells(queries, scratch, errors);
        self.cells.sections.sound()?;
        self.look_up(scratch);
        self.cells.sections.sound()?;
        self.find_rows(queries, scratch, errors);
        self.cells.sections.sound()?;
        for found_row in scratch.matches.iter().filter(|found| found.row != UNKNOWN) {
            let entry = self.ordinals.items[found_row.row as usize];
            self.cells.expect_twins(entry)?;
            let query = first as u32 + u32::from(found_row.query);
            let distance = u32::from(found_row.distance);
            each_ordinal(entry, self.twins.items, |ordinal| found(Found { query, ordinal, distance }));
        }
        Ok(())
    }
}

impl<V: Value> Search<'_, V> {
    #[inline(always)]
    fn tables(&self) -> impl Iterator<Item = (usize, &TableView<'_, V>)> {
        self.tables.iter().enumerate().filter(|(i, _)| self.conditions[*i].is_some())
    }

    /// The cells of the queries, and the filter's lines for all their neighbours.
    #[inline(always)]
    fn announce(&self, queries: &[V]) {
        for &query in queries {
            for (index, table) in self.tables() {
                let key = query.rotate_left(table.shape.start);
                table.directory.expect_at(key.top(table.shape.directory_bits) as usize, 1);
                if let (Some(filter), Some(shape), 1) =
                    (&table.filter, table.shape.filter, self.radius(index))
                {
                    let address = shape.address(leading(key));
                    filter.expect_at((address >> 6) as usize, 0);
                    for bit in 0..shape.high - table.shape.fixed_bits {
                        let neighbour = address ^ 1 << (bit + shape.exact + shape.low);
                        filter.expect_at((neighbour >> 6) as usize, 0);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn radius(&self, table: usize) -> u32 {
        self.conditions[table].map_or(0, |condition| condition.radius)
    }

    /// The cell of each query, and those neighbours the filter does not rule out.
    #[inline(always)]
    fn choose_cells(&self, queries: &[V], scratch: &mut Scratch) {
        scratch.visits.clear();
        for (query, &value) in (0..).zip(queries) {
            for (index, table) in self.tables() {
                let key = value.rotate_left(table.shape.start);
                let cell = key.top(table.shape.directory_bits) as u32;
                // The cell's number is kept where its edges will be.
                let visit = Visit { query, table: index as u16, flips: 0, from: cell, to: 0 };
                scratch.visits.push(visit);
                let mut neighbour = |flips: u32| {
                    scratch.visits.push(Visit { flips, from: cell ^ flips, ..visit });
                    table.directory.expect_at((cell ^ flips) as usize, 1);
                };
                match (&table.filter, table.shape.filter, self.radius(index)) {
                    (Some(filter), Some(shape), 1) => {
                        let free = table.shape.directory_bits - table.shape.fixed_bits;
                        for_each_neighbour(filter.items, shape, shape.address(leading(key)), free, neighbour);
                    }
                    _ => self.flips[index].iter().for_each(|&flips| neighbour(flips)),
                }
            }
        }
    }

    #[inline(always)]
    fn read_cells(&self, scratch: &mut Scratch) {
        for visit in &mut scratch.visits {
            let table = &self.tables[visit.table as usize];
            let cell = visit.from as usize;
            (visit.from, visit.to) = (table.directory.items[cell], table.directory.items[cell + 1]);
            table.expect_rests(visit.from, visit.to);
        }
    }

    #[inline(always)]
    fn scan_cells(&self, queries: &[V], scratch: &mut Scratch, errors: &mut Vec<V>) {
        scratch.matches.clear();
        errors.clear();
        for visit in &scratch.visits {
            let table = &self.tables[visit.table as usize];
            let bits = table.shape.directory_bits;
            let rest = queries[visit.query as usize].rotate_left(table.shape.start).and(table.rest_mask);
            let flipped = visit.flips.count_ones();
            for row in visit.from..visit.to {
                let differing = table.rest(row as usize).xor(rest);
                let distance = differing.ones() + flipped;
                if distance > self.k {
                    continue;
                }
                let error =
                    differing.xor(V::from_top(u64::from(visit.flips), bits)).rotate_right(table.shape.start);
                if is_first(self.conditions, visit.table as usize, error) {
                    self.note(visit, row, distance, error, queries, &mut scratch.matches, errors);
                }
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the body of the loop above, cut out to be read")]
    fn note(
        &self,
        visit: &Visit,
        row: u32,
        distance: u32,
        error: V,
        queries: &[V],
        matches: &mut Vec<Match>,
        errors: &mut Vec<V>,
    ) {
        let (query, distance) = (visit.query, distance as u16);
        if visit.table == 0 {
            self.ordinals.expect_at(row as usize, 0);
            matches.push(Match { query, distance, row, from: 0, to: 0, error: 0 });
        } else {
            let value = queries[query as usize].xor(error);
            let shape = self.tables[0].shape;
            let cell = value.rotate_left(shape.start).top(shape.directory_bits) as u32;
            self.tables[0].directory.expect_at(cell as usize, 1);
            matches.push(Match {
                query,
                distance,
                row: UNKNOWN,
                from: cell,
                to: 0,
                error: errors.len() as u32,
            });
            errors.push(error);
        }
    }

    /// Matches of other tables: where their values lie in table 0.
    #[inline(always)]
    fn look_up(&self, scratch: &mut Scratch) {
        let table = &self.tables[0];
        for found in scratch.matches.iter_mut().filter(|found| found.row == UNKNOWN) {
            let cell = found.from as usize;
            (found.from, found.to) = (table.directory.items[cell], table.directory.items[cell + 1]);
            table.expect_rests(found.from, found.to);
        }
    }

    #[inline(always)]
    fn find_rows(&self, queries: &[V], scratch: &mut Scratch, errors: &[V]) {
        let table = &self.tables[0];
        for found in scratch.matches.iter_mut().filter(|found| found.row == UNKNOWN) {
            let value = queries[found.query as usize].xor(errors[found.error as usize]);
            let rest = value.rotate_left(table.shape.start).and(table.rest_mask);
            let row = table.first_not_below(found.from, found.to, rest);
            if row < found.to && table.rest(row as usize) == rest {
                found.row = row;
                self.ordinals.expect_at(row as usize, 0);
            }
        }
    }
}

/// The leading 64 bits of a key.
#[inline(always)]
pub(super) fn leading<V: Value>(key: V) -> u64 {
    if V::WIDTH >= 64 { key.top(64) } else { key.top(V::WIDTH) << (64 - V::WIDTH) }
}

/// The flips of one bit, among the directory's last `free`, after which the filter still has an entry.
#[inline(always)]
fn for_each_neighbour(
    filter: &[u64],
    shape: FilterShape,
    address: u64,
    free: u32,
    mut visit: impl FnMut(u32),
) {
    let occurs = |address: u64| filter[(address >> 6) as usize] >> (address & 63) & 1 == 1;
    let unknown = shape.unknown();
    if unknown > 0 && occurs(address) {
        (0..unknown).for_each(|bit| visit(1 << bit));
    }
    for bit in 0..shape.low {
        if occurs(address ^ 1 << bit) {
            visit(1 << (bit + unknown));
        }
    }
    for bit in 0..free - unknown - shape.low {
        if occurs(address ^ 1 << (bit + shape.exact + shape.low)) {
            visit(1 << (bit + shape.low + unknown));
        }
    }
}
