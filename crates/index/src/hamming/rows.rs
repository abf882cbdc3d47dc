//! Sorting rows for tables: which values are distinct, and which row stands in which bucket.
//!
//! A row is the place of a value in the order of ordinals. Equal values are represented by the first of their rows.

use super::TWIN;
use super::columns::NEAR;
use crate::Value;
use rayon::prelude::*;

/// The rows of all distinct values, marked [`TWIN`] where the value occurs again, and the list of those occurrences:
/// `[n, row × n, end × n, twins …]`, where the twins of the i-th row end at the i-th end.
pub(crate) fn distinct<V: Value>(values: &[V]) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<(V, u32)> = values.par_iter().zip(0..values.len() as u32).map(|(&v, row)| (v, row)).collect();
    order.par_sort_unstable();
    let mut rows: Vec<u32> = (0..values.len() as u32).collect();
    let mut groups: Vec<&[(V, u32)]> = order.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1).collect();
    if groups.is_empty() {
        return (rows, vec![0]);
    }
    groups.sort_unstable_by_key(|group| group[0].1);
    let mut again = vec![false; values.len()];
    let (mut heads, mut ends, mut twins) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        heads.push(group[0].1);
        rows[group[0].1 as usize] |= TWIN;
        for &(_, row) in &group[1..] {
            again[row as usize] = true;
            twins.push(row);
        }
        ends.push(twins.len() as u32);
    }
    rows.retain(|&row| !again[(row & !TWIN) as usize]);
    let list = [vec![heads.len() as u32], heads, ends, twins].concat();
    (rows, list)
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

/// Sorts `rows` by `bits` bits from `start` on. Buckets longer than `long` are in order of their near bits too.
pub(crate) fn sorted<V: Value>(values: &[V], rows: &[u32], start: u32, bits: u32, long: usize) -> Sorted {
    let value = |row: &u32| values[(row & !TWIN) as usize];
    let bucket = |value: V| value.window(start, bits) as usize;
    let mut directory = vec![0_u32; (1 << bits) + 1];
    for row in rows {
        directory[bucket(value(row)) + 1] += 1;
    }
    for i in 1..directory.len() {
        directory[i] += directory[i - 1];
    }
    let mut next = directory.clone();
    let (mut near, mut placed) = (vec![0; rows.len()], vec![0; rows.len()]);
    for row in rows {
        let value = value(row);
        let place = &mut next[bucket(value)];
        near[*place as usize] = value.window(start + bits, NEAR) as u16;
        placed[*place as usize] = *row;
        *place += 1;
    }
    for edges in directory.windows(2) {
        let range = edges[0] as usize..edges[1] as usize;
        if range.len() > long {
            let mut bucket: Vec<(u16, u32)> = range.clone().map(|i| (near[i], placed[i])).collect();
            bucket.sort_unstable();
            for (i, (bits, row)) in range.zip(bucket) {
                (near[i], placed[i]) = (bits, row);
            }
        }
    }
    Sorted { directory, near, rows: placed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distinct_rows_and_their_twins_are_all_rows(values in prop::collection::vec(0..20_u64, 0..60)) {
            let (rows, twins) = distinct(&values);
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
