//! Which of several duplicates is kept: a number for each document, the smallest first.

use crate::input::raw::Doc;
use leitong_detect::detector::time;

/// Which fields of every record are wanted besides id and text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras(pub(crate) Vec<String>);

impl Extras {
    /// Where a field will stand.
    pub(crate) fn slot(&mut self, field: &str) -> usize {
        if let Some(at) = self.0.iter().position(|own| own == field) {
            return at;
        }
        self.0.push(field.to_owned());
        self.0.len() - 1
    }
}

/// How documents are preferred.
#[derive(Clone, Debug)]
pub(crate) enum Ranking {
    /// The one that comes first.
    First,
    /// The one with the longest text.
    Longest,
    /// The one with the latest date, in the first of these fields that has one.
    Newest(Vec<usize>),
    /// By the place of a field's value in a list.
    Listed(usize, Vec<String>),
    /// The one with the largest number in a field.
    Largest(usize),
}

impl Ranking {
    /// From the flags: `--keep`, `--date` and `--prefer`.
    pub(crate) fn new(keep: &str, date: Option<&str>, prefer: &[String], extras: &mut Extras) -> Self {
        match (keep, date, prefer) {
            ("first", ..) => Self::First,
            ("longest", ..) => Self::Longest,
            ("newest", Some(field), _) => Self::Newest(vec![extras.slot(field)]),
            ("newest", None, _) => Self::Newest(vec![extras.slot("published"), extras.slot("date")]),
            (field, _, []) => Self::Largest(extras.slot(field)),
            (field, _, listed) => Self::Listed(extras.slot(field), listed.to_vec()),
        }
    }

    pub(crate) fn is_first(&self) -> bool {
        matches!(self, Self::First)
    }

    /// The rank of a document. Those that lack the field come last.
    pub(crate) fn of(&self, doc: &Doc) -> u64 {
        let value = |at: usize| doc.extras.get(at).and_then(Option::as_deref).map(str::trim);
        match self {
            Self::First => 0,
            Self::Longest => u64::MAX - doc.text.chars().count() as u64,
            Self::Newest(fields) => {
                fields.iter().find_map(|&at| seconds(value(at)?)).map_or(u64::MAX, |time| {
                    // The order of whole numbers, turned around.
                    !(time as u64 ^ 1 << 63)
                })
            }
            Self::Listed(at, listed) => {
                let place = value(*at).and_then(|value| listed.iter().position(|one| one == value));
                place.unwrap_or(listed.len()) as u64
            }
            Self::Largest(at) => {
                let number = value(*at).and_then(|value| value.parse::<f64>().ok()).filter(|n| !n.is_nan());
                number.map_or(u64::MAX, |number| !ordered(number))
            }
        }
    }
}

fn seconds(text: &str) -> Option<i64> {
    let number = || text.parse::<f64>().ok().filter(|number| number.abs() < 9e15);
    time::seconds(text).or_else(|| number().map(|number| number.floor() as i64))
}

/// Bits that are in the order of the numbers.
fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranking: &Ranking, values: &[Option<&str>]) -> Vec<usize> {
        let rank = |&at: &usize| {
            let extras = vec![values[at].map(str::to_owned)];
            ranking.of(&Doc { extras, ..Doc::default() })
        };
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(rank);
        order
    }

    #[test]
    fn the_newest_first_and_what_has_no_date_last() {
        let dates = [Some("2023-05-01"), None, Some("2024-05-01T08:00:00+08:00"), Some("-5"), Some("soon")];
        assert_eq!(order(&Ranking::Newest(vec![0]), &dates), [2, 0, 3, 1, 4]);
    }

    #[test]
    fn the_largest_first() {
        let scores = [Some("-2.5"), Some("10"), None, Some("9"), Some("0"), Some("-1e9")];
        assert_eq!(order(&Ranking::Largest(0), &scores), [1, 3, 4, 0, 5, 2]);
    }

    #[test]
    fn those_of_the_list_first() {
        let sources = [Some("x"), Some("b"), None, Some("a")];
        let listed = Ranking::Listed(0, vec!["a".into(), "b".into()]);
        assert_eq!(order(&listed, &sources), [3, 1, 0, 2]);
    }

    #[test]
    fn the_longest_first() {
        let rank = |text: &str| Ranking::Longest.of(&Doc { text: text.into(), ..Doc::default() });
        assert!(rank("四个汉字") < rank("abc"));
    }
}
