//! Sorting rows for tables: which values are distinct, and which row stands in which bucket.
//!
//! A row is the place of a value in the order of ordinals. Equal values are represented by the first of their rows.

use super::columns::NEAR;
use super::partition::{Cut, Entry, Numbered, Parts, Reader, Sorter};
use super::segment::Source;
use super::{HammingError, TWIN};
use crate::Value;
use rayon::prelude::*;
use std::ops::Range;

/// The rows of all distinct values, marked [`TWIN`] where the value occurs again, and the list of those occurrences:
/// `[n, row × n, end × n, twins …]`, where the twins of the i-th row end at the i-th end.
pub(crate) fn distinct<V: Value>(values: &[V]) -> Result<(Vec<u32>, Vec<u32>), HammingError> {
    let mut rows: Vec<u32> = (0..values.len() as u32).collect();
    let repeated = repeated(values)?;
    if repeated.is_empty() {
        return Ok((rows, vec![0]));
    }
    let mut again = vec![false; values.len()];
    let (mut heads, mut ends, mut twins) = (Vec::new(), Vec::new(), Vec::new());
    for group in repeated.chunk_by(|a, b| a.0 == b.0) {
        heads.push(group[0].0);
        rows[group[0].0 as usize] |= TWIN;
        for &(_, row) in group {
            again[row as usize] = true;
            twins.push(row);
        }
        ends.push(twins.len() as u32);
    }
    rows.retain(|&row| !again[(row & !TWIN) as usize]);
    let list = [vec![heads.len() as u32], heads, ends, twins].concat();
    Ok((rows, list))
}

/// All rows whose value occurs before, each behind the first row with that value, in order.
fn repeated<V: Value>(values: &[V]) -> Result<Vec<(u32, u32)>, HammingError> {
    let source = &values;
    let reader = Reader::new(source);
    let cut = Cut::new(0, values.len() as u64, V::WIDTH - 1);
    let counts = reader.count(&[cut])?;
    let mut parts = Parts::new()?;
    parts.fill(&reader, cut, &counts[0], 0..cut.parts(), true)?;
    let of_part = |sorter: &mut Sorter<Numbered<V>>, part: usize| {
        sorter.sort(&parts, part, cut.bits, 0);
        let groups = sorter.entries.chunk_by(|a, b| a.key() == b.key()).filter(|group| group.len() > 1);
        groups
            .flat_map(|group| group[1..].iter().map(|entry| (group[0].ordinal(), entry.ordinal())))
            .collect()
    };
    let found: Vec<Vec<(u32, u32)>> =
        (0..cut.parts()).into_par_iter().map_init(Sorter::new, of_part).collect();
    let mut repeated = found.concat();
    repeated.par_sort_unstable();
    Ok(repeated)
}

/// The other rows with the value of `row`, ascending.
pub(crate) fn twins_of(list: &[u32], row: u32) -> &[u32] {
    let Some((&count, rest)) = list.split_first() else { return &[] };
    let (heads, rest) = rest.split_at(count as usize);
    let (ends, twins) = rest.split_at(count as usize);
    let Ok(place) = heads.binary_search(&row) else { return &[] };
    let start = if place == 0 { 0 } else { ends[place - 1] as usize };
    &twins[start..ends[place] as usize]
}

/// One table: rows in order of the directory's bits, with the bits behind them.
pub(crate) struct Sorted {
    pub(crate) directory: Vec<u32>,
    pub(crate) near: Vec<u16>,
    pub(crate) rows: Vec<u32>,
}

/// Sorts rows into tables, one after the other in the same memory.
pub(crate) struct Tables<'a, V> {
    rows: Rows<'a, V>,
    parts: Parts<V>,
}

/// Some rows, which may be marked [`TWIN`].
struct Rows<'a, V> {
    values: &'a [V],
    rows: &'a [u32],
}

impl<V: Value> Source<V> for Rows<'_, V> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn read(&self, range: Range<usize>, items: &mut Vec<(u32, V)>) -> Result<(), HammingError> {
        items.extend(self.rows[range].iter().map(|&row| (row, self.values[(row & !TWIN) as usize])));
        Ok(())
    }
}

/// The places of one part in the table.
struct Stretch<'a> {
    directory: &'a mut [u32],
    near: &'a mut [u16],
    rows: &'a mut [u32],
    /// Entries before it.
    first: u32,
}

impl<'a, V: Value> Tables<'a, V> {
    pub(crate) fn new(values: &'a [V], rows: &'a [u32]) -> Result<Self, HammingError> {
        Ok(Self { rows: Rows { values, rows }, parts: Parts::new()? })
    }

    /// Sorts by `bits` bits from `start` on. Buckets longer than `long` are in order of their near bits too.
    pub(crate) fn sorted(&mut self, start: u32, bits: u32, long: usize) -> Result<Sorted, HammingError> {
        let count = self.rows.rows.len();
        let reader = Reader::new(&self.rows);
        let cut = Cut::new(start, count as u64, bits);
        let counts = reader.count(&[cut])?;
        self.parts.fill(&reader, cut, &counts[0], 0..cut.parts(), true)?;
        let mut directory = vec![0; (1 << bits) + 1];
        let (mut near, mut rows) = (vec![0; count], vec![0; count]);
        directory[1 << bits] = count as u32;

        let mut stretches = Vec::with_capacity(cut.parts());
        let mut directories = directory.chunks_exact_mut(1 << (bits - cut.bits));
        let (mut near_left, mut rows_left): (&mut [u16], &mut [u32]) = (&mut near, &mut rows);
        let mut first = 0;
        for (part, directory) in (0..cut.parts()).zip(&mut directories) {
            let items = self.parts.items(part);
            let near = near_left.split_off_mut(..items).unwrap_or_default();
            let rows = rows_left.split_off_mut(..items).unwrap_or_default();
            stretches.push(Stretch { directory, near, rows, first });
            first += items as u32;
        }
        stretches
            .into_par_iter()
            .enumerate()
            .for_each(|(part, stretch)| stretch.fill(&self.parts, part, bits, long));
        Ok(Sorted { directory, near, rows })
    }
}

impl Stretch<'_> {
    /// A counting sort, which keeps the order of the rows.
    fn fill<V: Value>(self, parts: &Parts<V>, part: usize, bits: u32, long: usize) {
        let bucket = |key: V| key.top(bits) as usize & (self.directory.len() - 1);
        let mut next = vec![0_u32; self.directory.len()];
        for (keys, _) in parts.part(part) {
            keys.iter().for_each(|&key| next[bucket(key)] += 1);
        }
        let mut start = 0;
        for next in &mut next {
            start += std::mem::replace(next, start);
        }
        for (keys, rows) in parts.part(part) {
            for (&key, &row) in keys.iter().zip(rows) {
                let place = &mut next[bucket(key)];
                self.near[*place as usize] = key.window(bits, NEAR) as u16;
                self.rows[*place as usize] = row;
                *place += 1;
            }
        }
        let mut start = 0;
        for (directory, &end) in self.directory.iter_mut().zip(&next) {
            *directory = self.first + start;
            let bucket = start as usize..end as usize;
            if bucket.len() > long {
                sort_bucket(&mut self.near[bucket.clone()], &mut self.rows[bucket]);
            }
            start = end;
        }
    }
}

fn sort_bucket(near: &mut [u16], rows: &mut [u32]) {
    let mut entries: Vec<(u16, u32)> = near.iter().copied().zip(rows.iter().copied()).collect();
    entries.sort_unstable();
    for ((near, row), entry) in near.iter_mut().zip(rows).zip(entries) {
        (*near, *row) = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distinct_rows_and_their_twins_are_all_rows(values in prop::collection::vec(0..20_u64, 0..60)) {
            let (rows, twins) = distinct(&values).unwrap();
            let mut all = Vec::new();
            for &row in &rows {
                let others = twins_of(&twins, row & !TWIN);
                prop_assert_eq!(row & TWIN != 0, !others.is_empty());
                prop_assert!(others.iter().all(|&other| other > row & !TWIN && values[other as usize] == values[(row & !TWIN) as usize]));
                all.push(row & !TWIN);
                all.extend(others);
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..values.len() as u32).collect::<Vec<_>>());
        }
    }
}
