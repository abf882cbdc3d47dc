//! The small layout: few tables, and in each cell the values themselves, packed, without the bits the cell implies.
//!
//! ```text
//! value      [ directory: which cell ][ rest, in whole bytes ]
//! table 0    rest rest rest … and, beside them, ordinals         the only place where ordinals are
//! table 1…   rest rest rest …                                    a match here is looked up in table 0
//! filter     a bit for every combination of some of these bits that occurs
//! ```
//! A search visits the cell of the query and the cells whose numbers differ in as many bits as the block may
//! ([`super::scheme`]). Nearly all of those hold nothing of use; the filter says so. The filter's line address is made
//! of bits that must agree and its place within the line of bits that may differ, so that most of the questions about one
//! query fall into one cache line.

pub(crate) mod build;
mod filter;
mod search;

use super::scheme::{Block, Condition, Rule, Scheme};
use super::{HammingError, TWIN};
use crate::Value;
use crate::files::{Part, Sections};
use crate::memory::{Section, View};
pub(crate) use filter::FilterShape;
pub(crate) use search::Scratch;

/// What the tables look like: all that is needed besides the sections.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) scheme: Scheme,
    pub(crate) tables: Vec<TableShape>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    /// Where the table's block starts.
    pub(crate) start: u32,
    pub(crate) directory_bits: u32,
    /// Leading bits of the directory that must agree.
    pub(crate) fixed_bits: u32,
    pub(crate) rest_bytes: usize,
    pub(crate) filter: Option<FilterShape>,
}

impl Shape {
    /// `tables` tables for about `items` values.
    pub(crate) fn new<V: Value>(items: u64, rule: Rule, tables: u32, filtered: bool) -> Self {
        let scheme = Scheme::new(rule, V::WIDTH, tables);
        let shape = |i: usize| {
            let block = scheme.blocks[i];
            let next = scheme.blocks[(i + 1) % scheme.blocks.len()];
            // Where the bits end that are fixed or may differ a little.
            let (fixed_bits, end) = match rule {
                Rule::Ring => (block.width, block.width + next.width),
                Rule::Share => (0, block.width),
            };
            let directory_bits = directory_bits(items, V::WIDTH, end);
            let fixed_bits = fixed_bits.min(directory_bits);
            let filter =
                if filtered { FilterShape::new(items, fixed_bits, directory_bits, end) } else { None };
            TableShape {
                start: block.start,
                directory_bits,
                fixed_bits,
                rest_bytes: rest_bytes::<V>(directory_bits),
                filter,
            }
        };
        let tables = (0..scheme.blocks.len()).map(shape).collect();
        Self { scheme, tables }
    }

    /// Bytes a value takes, roughly.
    pub(crate) fn bytes_per_item(&self, items: u64) -> f64 {
        let fixed: u64 = self
            .tables
            .iter()
            .map(|table| (4 << table.directory_bits) + table.filter.map_or(0, |f| f.bytes()))
            .sum();
        let packed: usize = self.tables.iter().map(|table| table.rest_bytes).sum();
        (packed + 4) as f64 + fixed as f64 / items.max(1) as f64
    }

    /// What a search is expected to cost, in cache lines fetched.
    pub(crate) fn cost(&self, items: u64, k: u32) -> f64 {
        let conditions = self.scheme.conditions(k);
        let table = |(condition, table): (&Option<Condition>, &TableShape)| {
            let Some(condition) = condition else { return 0.0 };
            let free = table.directory_bits - table.fixed_bits;
            let cell = items as f64 / 2_f64.powi(table.directory_bits as i32);
            let visit = 2.0 + 0.5 * (cell * table.rest_bytes as f64 / 64.0);
            match table.filter {
                Some(filter) if condition.radius == 1 => {
                    let full = (items as f64 / (8 * filter.bytes()) as f64).min(1.0);
                    let lines = 1 + filter.high.saturating_sub(table.fixed_bits);
                    f64::from(lines) + visit * (1.0 + full * f64::from(free))
                }
                _ => {
                    // The number of ways to choose up to `radius` of the free bits.
                    let (mut ways, mut cells) = (1.0, 1.0);
                    for i in 0..condition.radius.min(free) {
                        ways *= f64::from(free - i) / f64::from(i + 1);
                        cells += ways;
                    }
                    visit * cells
                }
            }
        };
        conditions.iter().zip(&self.tables).map(table).sum()
    }

    pub(crate) fn to_words(&self) -> Vec<u64> {
        let mut words = vec![u64::from(self.scheme.rule == Rule::Ring), self.tables.len() as u64];
        for (block, table) in self.scheme.blocks.iter().zip(&self.tables) {
            words.extend([block.start, block.width, table.directory_bits, table.fixed_bits].map(u64::from));
            words.extend(table.filter.map_or([0; 4], FilterShape::to_words));
        }
        words
    }

    pub(crate) fn from_words<V: Value>(words: &[u64]) -> Option<Self> {
        let (&[ring, count], rest) = words.split_first_chunk()?;
        let (rest, more) = rest.as_chunks::<8>();
        if rest.len() as u64 != count || !more.is_empty() || count == 0 || ring > 1 {
            return None;
        }
        let blocks = rest
            .iter()
            .map(|words| Block { start: words[0] as u32, width: words[1] as u32 })
            .collect::<Vec<_>>();
        let tables = rest.iter().map(|&[start, _, bits, fixed, f0, f1, f2, f3]| {
            (start < u64::from(V::WIDTH) && bits <= 32 && bits < u64::from(V::WIDTH) && fixed <= bits).then(
                || TableShape {
                    start: start as u32,
                    directory_bits: bits as u32,
                    fixed_bits: fixed as u32,
                    rest_bytes: rest_bytes::<V>(bits as u32),
                    filter: FilterShape::from_words([f0, f1, f2, f3]),
                },
            )
        });
        let rule = if ring == 1 { Rule::Ring } else { Rule::Share };
        Some(Self { scheme: Scheme { rule, blocks }, tables: tables.collect::<Option<_>>()? })
    }
}

/// About eight values a cell; one bit more if that saves a byte.
fn directory_bits(items: u64, width: u32, end: u32) -> u32 {
    let bits = items.max(16).ilog2().saturating_sub(3).clamp(1, 28).min(end).min(width - 1);
    if (width - bits) % 8 == 1 && bits < end { bits + 1 } else { bits }
}

fn rest_bytes<V: Value>(directory_bits: u32) -> usize {
    (V::WIDTH - directory_bits).div_ceil(8) as usize
}

/// A segment in this layout.
#[derive(Debug)]
pub(crate) struct Cells<V> {
    pub(crate) sections: Sections,
    shape: Shape,
    tables: Vec<Table<V>>,
    ordinals: Section<u32>,
    twins: Section<u32>,
}

#[derive(Debug)]
struct Table<V> {
    shape: TableShape,
    directory: Section<u32>,
    rests: Section<u8>,
    filter: Option<Section<u64>>,
    /// The bits that are in the rest.
    rest_mask: V,
}

impl<V: Value> Cells<V> {
    /// From the sections of a segment; `words` are the layout's parameters.
    pub(crate) fn open(sections: Sections, words: &[u64]) -> Result<Self, HammingError> {
        let Some(shape) = Shape::from_words::<V>(words) else {
            return Err(sections.refused("its tables do not fit its width").into());
        };
        let tables = (0..).zip(&shape.tables).map(|(table, &shape)| {
            let filter = shape.filter.map(|_| sections.get(Part::Filter(table))).transpose()?;
            Ok(Table {
                shape,
                directory: sections.get(Part::Directory(table))?,
                rests: sections.get(Part::Rests(table))?,
                filter,
                rest_mask: V::low_mask(V::WIDTH - shape.directory_bits),
            })
        });
        let tables = tables.collect::<Result<_, HammingError>>()?;
        let (ordinals, twins): (Section<u32>, _) =
            (sections.get(Part::Ordinals)?, sections.get(Part::Twins)?);
        let cells = Self { sections, shape, tables, ordinals, twins };
        if cells.tables.iter().all(|table| table.fits(cells.rows())) {
            Ok(cells)
        } else {
            Err(cells.sections.refused("the lengths of its sections do not fit each other").into())
        }
    }

    /// How many distinct values there are.
    pub(crate) fn rows(&self) -> usize {
        self.ordinals.view().items.len()
    }

    /// Calls `found` with the relative ordinals and values of the rows `from..to` of table 0, in its order.
    pub(crate) fn read(
        &self,
        from: usize,
        to: usize,
        mut found: impl FnMut(u32, V),
    ) -> Result<(), HammingError> {
        let table = self.tables[0].view();
        let (ordinals, twins) = (self.ordinals.view(), self.twins.view());
        table.expect_rests(from as u32, to as u32);
        ordinals.expect(from, to);
        self.sections.sound()?;
        let mut cell = self.cell_of(from)?;
        for row in from..to {
            while self.cell_end(cell)? <= row {
                cell += 1;
            }
            let key = table.rest(row).xor(V::from_top(cell as u64, table.shape.directory_bits));
            let value = key.rotate_right(table.shape.start);
            self.expect_twins(ordinals.items[row])?;
            each_ordinal(ordinals.items[row], twins.items, |ordinal| found(ordinal, value));
        }
        Ok(())
    }

    /// The cell of table 0 that a row stands in.
    fn cell_of(&self, row: usize) -> Result<usize, HammingError> {
        let (mut low, mut high) = (0, 1 << self.tables[0].shape.directory_bits);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.cell_end(middle)? <= row { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The row behind the last of a cell of table 0, checked.
    fn cell_end(&self, cell: usize) -> Result<usize, HammingError> {
        let directory = self.tables[0].directory.view();
        directory.expect_at(cell + 1, 0);
        self.sections.sound()?;
        let end = directory
            .items
            .get(cell + 1)
            .ok_or_else(|| self.sections.refused("its directory does not fit"))?;
        Ok(*end as usize)
    }

    /// Announces the list of twins that an entry of `ordinals` leads to, if it does.
    #[inline(always)]
    fn expect_twins(&self, entry: u32) -> Result<(), HammingError> {
        if entry & TWIN == 0 {
            return Ok(());
        }
        let (place, twins) = ((entry & !TWIN) as usize, self.twins.view());
        twins.expect_at(place, 0);
        self.sections.sound()?;
        twins.expect(place, place + 1 + twins.items[place] as usize);
        Ok(self.sections.sound()?)
    }
}

/// The ordinal of an entry, or those of all its twins: `[count, ordinal × count]` from the marked place on.
#[inline(always)]
fn each_ordinal(entry: u32, twins: &[u32], mut found: impl FnMut(u32)) {
    if entry & TWIN == 0 {
        found(entry);
    } else {
        let list = &twins[(entry & !TWIN) as usize..];
        list[1..=list[0] as usize].iter().for_each(|&ordinal| found(ordinal));
    }
}

#[derive(Clone, Copy)]
struct TableView<'a, V> {
    shape: TableShape,
    directory: View<'a, u32>,
    rests: View<'a, u8>,
    filter: Option<View<'a, u64>>,
    rest_mask: V,
}

impl<V: Value> Table<V> {
    /// Whether the sections have the lengths that so many rows need.
    fn fits(&self, rows: usize) -> bool {
        let filter_bytes = self.shape.filter.map_or(0, FilterShape::bytes);
        self.directory.len() == (1 << self.shape.directory_bits) + 1
            && self.rests.len() == rows * self.shape.rest_bytes + size_of::<V>()
            && self.filter.as_ref().map_or(0, Section::len) as u64 * 8 == filter_bytes
    }

    fn view(&self) -> TableView<'_, V> {
        TableView {
            shape: self.shape,
            directory: self.directory.view(),
            rests: self.rests.view(),
            filter: self.filter.as_ref().map(Section::view),
            rest_mask: self.rest_mask,
        }
    }
}

impl<V: Value> TableView<'_, V> {
    /// The packed bits of an entry. Whole values are read, into the padding if need be, and masked.
    #[inline(always)]
    fn rest(&self, row: usize) -> V {
        let from = row * self.shape.rest_bytes;
        bytemuck::pod_read_unaligned::<V>(&self.rests.items[from..from + size_of::<V>()]).and(self.rest_mask)
    }

    /// The first of the rows `from..to`, which are in order, whose rest is not below `rest`; `to` if there is none.
    #[inline(always)]
    fn first_not_below(&self, mut from: u32, mut to: u32, rest: V) -> u32 {
        while to - from > 16 {
            let middle = from.midpoint(to);
            if self.rest(middle as usize) < rest { from = middle + 1 } else { to = middle }
        }
        (from..to).find(|&row| self.rest(row as usize) >= rest).unwrap_or(to)
    }

    #[inline(always)]
    fn expect_rests(&self, from: u32, to: u32) {
        let bytes = self.shape.rest_bytes;
        self.rests.expect(from as usize * bytes, to as usize * bytes);
    }
}
