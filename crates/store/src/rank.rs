//! From the hits of all probes of a query to its candidates: each record once, in the order of [`Rank`].

use crate::record::{Key, Record};
use crate::seam::{Candidate, Found, Probe, Rank};
use std::cmp::Reverse;

/// What the probes of one query hit, in any order. Emptied by [`Hits::ranks`], so that one serves many queries.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// Version, distance and number of keys of each hit.
    hits: Vec<(u64, u32, u32)>,
}

impl Hits {
    /// A fingerprint of this version is this near.
    pub(crate) fn near(&mut self, version: u64, distance: u32) {
        self.hits.push((version, distance, 0));
    }

    /// This version has a probed key. To be called once for each version and distinct key: a key that is probed twice, or
    /// that a record has twice, counts once ([`distinct_keys`]).
    pub(crate) fn key(&mut self, version: u64) {
        self.hits.push((version, Rank::FAR, 1));
    }

    /// This version was proposed for having so many of a probe's marks.
    pub(crate) fn marks(&mut self, version: u64, count: u32) {
        self.hits.push((version, Rank::FAR, count));
    }

    /// Every version that was hit, once, with its least distance and the number of its keys; the best first.
    pub(crate) fn ranks(&mut self) -> Vec<Rank> {
        self.hits.sort_unstable();
        let of_one = |hits: &[(u64, u32, u32)]| Rank {
            distance: hits[0].1,
            keys: Reverse(hits.iter().map(|hit| hit.2).sum()),
            version: hits[0].0,
        };
        let mut ranks: Vec<Rank> = self.hits.chunk_by(|a, b| a.0 == b.0).map(of_one).collect();
        ranks.sort_unstable();
        self.hits.clear();
        ranks
    }
}

/// The keys that are probed, each once.
pub(crate) fn distinct_keys(probes: &[Probe]) -> Vec<Key> {
    let key = |probe: &Probe| match probe {
        Probe::Key(key) => Some(*key),
        Probe::Near { .. } | Probe::Marks(_) => None,
    };
    let mut keys: Vec<Key> = probes.iter().filter_map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The page of candidates behind `after`. `record` gives the record of a version without its text, or none if it is no
/// candidate: it has expired, has been judged, or is the one that asks. It is called for those of the page and for what
/// tells whether there are more.
pub(crate) fn page<E>(
    ranks: Vec<Rank>,
    after: Option<Rank>,
    limit: usize,
    mut record: impl FnMut(u64) -> Result<Option<Record>, E>,
) -> Result<Found, E> {
    let mut found = Found::default();
    for rank in ranks.into_iter().filter(|rank| after.is_none_or(|after| *rank > after)) {
        let Some(record) = record(rank.version)? else { continue };
        if found.candidates.len() == limit {
            found.more = true;
            break;
        }
        found.candidates.push(Candidate { rank, record });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn rank(distance: u32, keys: u32, version: u64) -> Rank {
        Rank { distance, keys: Reverse(keys), version }
    }

    #[test]
    fn each_version_once_with_its_best() {
        let mut hits = Hits::default();
        hits.near(7, 3);
        hits.key(4);
        hits.near(5, 2);
        hits.key(7);
        hits.near(7, 1);
        hits.key(7);
        hits.key(3);
        hits.key(4);
        hits.near(2, 2);
        hits.key(5);
        let expected =
            [rank(1, 2, 7), rank(2, 1, 5), rank(2, 0, 2), rank(Rank::FAR, 2, 4), rank(Rank::FAR, 1, 3)];
        assert_eq!(hits.ranks(), expected, "nearest first, then more keys, then the oldest");
        assert_eq!(hits.ranks(), [], "hits belong to one query");
    }

    #[test]
    fn a_key_probed_twice_is_one() {
        let [a, b] = [Key { kind: 1, value: 9 }, Key { kind: 2, value: 9 }];
        let probes = [b, a, b, a].map(Probe::Key);
        assert_eq!(distinct_keys(&probes), [a, b]);
    }

    #[test]
    fn pages_meet_without_gap() {
        let all: Vec<Rank> = (0..10).map(|version| rank(version as u32 / 3, 0, version)).collect();
        let even = |version: u64| {
            Ok::<_, Infallible>(
                version.is_multiple_of(2).then(|| Record { id: version.to_string(), ..Record::default() }),
            )
        };
        for limit in 1..7 {
            let (mut after, mut seen) = (None, Vec::new());
            loop {
                let found = page(all.clone(), after, limit, even).unwrap();
                seen.extend(found.candidates.iter().map(|candidate| candidate.rank.version));
                assert!(found.candidates.len() <= limit, "pages of {limit}");
                assert_eq!(found.more, seen.len() < 5, "pages of {limit}, {seen:?} seen");
                if !found.more {
                    break;
                }
                after = found.candidates.last().map(|candidate| candidate.rank);
            }
            assert_eq!(seen, [0, 2, 4, 6, 8], "pages of {limit}");
        }
    }

    #[test]
    fn a_page_of_none_says_whether_there_are_any() {
        let none = |_| Ok::<_, Infallible>(None);
        let some = |_| Ok::<_, Infallible>(Some(Record::default()));
        let ranks = vec![rank(0, 0, 0)];
        assert!(page(ranks.clone(), None, 0, some).unwrap().more);
        assert!(!page(ranks, None, 0, none).unwrap().more);
    }
}
