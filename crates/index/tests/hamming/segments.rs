//! A segment in any layout answers as the scan does.

use leitong_index::hamming::{Build, HammingError, Layout, Searcher, Segment, Source};
use leitong_index::{Level, Value, scan};
use proptest::prelude::*;

/// Values near a few centres, so that there are matches at every distance, some equal ones, and some strangers.
fn clustered<V: Value>(seeds: &[[u64; 16]], picks: &[(u8, Vec<u16>)]) -> Vec<V> {
    picks
        .iter()
        .map(|(centre, flips)| {
            let centre = V::from_words(&seeds[*centre as usize % seeds.len()]);
            flips.iter().fold(centre, |value, &bit| value.flip(u32::from(bit) % V::WIDTH))
        })
        .collect()
}

fn picks(most: usize) -> impl Strategy<Value = Vec<(u8, Vec<u16>)>> {
    prop::collection::vec((0..6_u8, prop::collection::vec(any::<u16>(), 0..6)), 0..most)
}

fn found<V: Value>(segment: &Segment<V>, level: Level, queries: &[V], k: u32) -> Vec<(u32, u32, u32)> {
    let mut all = Vec::new();
    segment
        .search(&mut Searcher::at(level), queries, k, |query, ordinal, distance| {
            all.push((query, ordinal, distance));
        })
        .unwrap();
    all.sort_unstable();
    all
}

fn expected<V: Value>(values: &[V], queries: &[V], k: u32) -> Vec<(u32, u32, u32)> {
    (0..)
        .zip(queries)
        .flat_map(|(i, &query)| {
            scan::find(values, query, k).map(move |(place, distance)| (i, place as u32, distance))
        })
        .collect()
}

const LAYOUTS: [Layout; 3] = [Layout::Columns, Layout::Ring, Layout::Cells];

fn agrees<V: Value>(values: &[V], queries: &[V], k: u32) {
    let folder = tempfile::tempdir().unwrap();
    let build = |layout| Build { layout, memory: 2000, ..Build::new(k) };
    for layout in LAYOUTS.map(Some).into_iter().chain([None]) {
        let segment = match build(layout).in_memory(values) {
            Err(HammingError::Senseless { .. }) => continue,
            other => other.unwrap(),
        };
        let path = folder.path().join(format!("{layout:?}"));
        let written = build(layout).to_file(values, &path).unwrap();
        let opened = Segment::<V>::open(&path).unwrap();
        assert_eq!(opened.items(), values.len() as u64);
        for asked in [0, k / 2, k] {
            let truth = expected(values, queries, asked);
            for &level in Level::available() {
                assert_eq!(
                    found(&segment, level, queries, asked),
                    truth,
                    "{layout:?} {level:?} k {asked} of {k}"
                );
            }
            assert_eq!(found(&written, Level::best(), queries, asked), truth);
            assert_eq!(found(&opened, Level::best(), queries, asked), truth);
        }
        let mut items = Vec::new();
        opened.read(0..opened.rows(), &mut items).unwrap();
        items.sort_unstable();
        assert_eq!(items, (0..).zip(values.iter().copied()).collect::<Vec<(u32, V)>>());
        opened.verify().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_layout_equals_the_scan(
        seeds in prop::collection::vec(any::<[u64; 16]>(), 1..6),
        stored in picks(150),
        asked in picks(40),
        k in 0..=7_u32,
    ) {
        fn of<V: Value>(seeds: &[[u64; 16]], stored: &[(u8, Vec<u16>)], asked: &[(u8, Vec<u16>)], k: u32) {
            agrees::<V>(&clustered(seeds, stored), &clustered(seeds, asked), k);
        }
        of::<u32>(&seeds, &stored, &asked, k);
        of::<u64>(&seeds, &stored, &asked, k);
        of::<u128>(&seeds, &stored, &asked, k);
        of::<[u64; 4]>(&seeds, &stored, &asked, k);
        of::<[u64; 8]>(&seeds, &stored, &asked, k);
        of::<[u64; 16]>(&seeds, &stored, &asked, k);
    }
}

/// A few ten thousand values: directories, filters and parts of a size that matters, and buckets long enough to be
/// searched by halving.
#[test]
fn larger_segments_equal_the_scan() {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let mut values: Vec<u64> = Vec::new();
    for i in 0..60_000_usize {
        let drawn = next();
        values.push(match drawn % 8 {
            0 if i > 0 => {
                (0..next() % 5).fold(values[next() as usize % i], |value, _| value ^ 1 << (next() % 64))
            }
            // One block in common: a bucket of thousands.
            1 => drawn << 16 | 0xbeef,
            _ => drawn,
        });
    }
    let queries: Vec<u64> = (0..600)
        .map(|i| values[i * 97] ^ 1 << (i % 64) ^ (next() & next() & next() & next() & next()))
        .collect();
    for k in [1, 3, 4, 6] {
        for layout in LAYOUTS {
            let segment = Build { layout: Some(layout), ..Build::new(k) }.in_memory(&values[..]).unwrap();
            for &level in Level::available() {
                assert_eq!(
                    found(&segment, level, &queries, k),
                    expected(&values, &queries, k),
                    "{layout:?} {level:?} {k}"
                );
            }
        }
    }
}
