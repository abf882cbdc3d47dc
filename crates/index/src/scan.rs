//! The naive ways: compare with everything. They are the truth every fast path is tested against.

use crate::Value;

/// The positions and distances of all values within `k` bits of `query`, in order.
pub fn find<V: Value>(values: &[V], query: V, k: u32) -> impl Iterator<Item = (usize, u32)> + '_ {
    values
        .iter()
        .enumerate()
        .map(move |(position, value)| (position, value.distance(query)))
        .filter(move |&(_, distance)| distance <= k)
}

/// All pairs of positions `(smaller, larger, distance)` within `k` bits, in order.
pub fn pairs<V: Value>(values: &[V], k: u32) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
    values.iter().enumerate().flat_map(move |(a, &value)| {
        find(&values[a + 1..], value, k).map(move |(offset, distance)| (a, a + 1 + offset, distance))
    })
}

/// All pairs of a position in `left` and one in `right` within `k` bits, in order.
pub fn pairs_between<'a, V: Value>(
    left: &'a [V],
    right: &'a [V],
    k: u32,
) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
    left.iter()
        .enumerate()
        .flat_map(move |(a, &value)| find(right, value, k).map(move |(b, distance)| (a, b, distance)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_examples_of_the_specification() {
        assert_eq!(find(&[0b10101_u32], 0b00110, 3).collect::<Vec<_>>(), [(0, 3)]);
        assert_eq!(find(&[0b10101101_u32], 0b10100011, 2).count(), 0);
        assert_eq!(pairs(&[1_u64, 0, 3, 1], 1).count(), 5);
        assert_eq!(
            pairs_between(&[1_u64, 7], &[0, 3], 1).collect::<Vec<_>>(),
            [(0, 0, 1), (0, 1, 1), (1, 1, 1)]
        );
    }
}
