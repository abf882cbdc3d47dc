//! The parts of the store against their slow twins: bytes there and back, staged changes against a map, postings against a set.

use super::engine::{Engine, Read};
use super::layout::{self, Tree};
use super::postings;
use super::stage::Stage;
use crate::codec;
use crate::record::{Key, Mark, Outline, Record, Signals, Space};
use leitong_fingerprint::Fingerprint;
use proptest::prelude::*;
use serde_json::json;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    let widths = prop::sample::select(leitong_fingerprint::bits::WIDTHS.to_vec());
    (widths, prop::collection::vec(any::<u64>(), 16))
        .prop_map(|(width, words)| Fingerprint::from_words(width, &words))
}

fn outline() -> impl Strategy<Value = Outline> {
    let mark =
        (any::<u32>(), prop_oneof![0..1000_u32, any::<u32>()]).prop_map(|(hash, at)| Mark { hash, at });
    // Not in order: a codec is not asked whether that makes sense.
    (prop::collection::vec(mark, 0..6), any::<u32>(), prop::collection::vec(any::<u64>(), 0..3))
        .prop_map(|(marks, units, numbers)| Outline { marks, units, numbers })
}

fn record() -> impl Strategy<Value = Record> {
    let near = prop::collection::vec((any::<u8>().prop_map(Space), fingerprint()), 0..3);
    let key = (any::<u8>(), any::<u64>()).prop_map(|(kind, value)| Key { kind, value });
    let signals = (near, prop::collection::vec(key, 0..5), any::<Option<u128>>(), outline())
        .prop_map(|(near, keys, exact, outline)| Signals { near, keys, exact, outline });
    let texts = (".{1,80}", any::<Option<String>>(), any::<Option<String>>());
    let times = any::<(Option<i64>, Option<i64>, Option<u64>)>();
    let metadata = prop::collection::btree_map("[a-z雷同]{0,4}", any::<i32>(), 0..4);
    (texts, signals, times, prop::option::of((".{1,20}", any::<u32>())), metadata).prop_map(
        |((id, title, source), signals, (published, expires, origin), cluster, metadata)| Record {
            metadata: metadata.into_iter().map(|(name, value)| (name, json!([value, "值"]))).collect(),
            ..Record { id, signals, title, source, published, expires, cluster, origin, ..Record::default() }
        },
    )
}

proptest! {
    #[test]
    fn records_come_back(record in record()) {
        let bytes = codec::record(&record);
        prop_assert_eq!(codec::parse_whole(&bytes), Some(record.clone()));
        let signals = Signals { outline: Outline::default(), ..record.signals.clone() };
        prop_assert_eq!(codec::parse_record(&bytes), Some(Record { signals, ..record }));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), tag in 0..17_u8) {
        let _ = codec::parse_record(&bytes);
        let _ = codec::parse_whole(&[&[1, 1, 1, 65, tag, bytes.len() as u8][..], &bytes].concat());
        let _ = codec::Counters::parse(&bytes);
        let _ = codec::parse_text(&bytes);
        let _ = codec::parse_text(&[&[1][..], &bytes].concat());
        let _ = postings::Head::parse(&bytes);
        let _ = codec::parse_collection(&bytes);
    }

    #[test]
    fn texts_come_back(text in any::<String>(), times in 1..40_usize) {
        let text = text.repeat(times);
        prop_assert_eq!(codec::parse_text(&codec::text(&text)), Some(text));
    }

    #[test]
    fn numbers_come_back(number in prop_oneof![any::<u64>(), 0..300_u64], rest in any::<u8>()) {
        let mut bytes = Vec::new();
        codec::put_number(&mut bytes, number);
        bytes.push(rest);
        let mut left = &bytes[..];
        prop_assert_eq!(codec::take_number(&mut left), Some(number));
        prop_assert_eq!(left, &[rest]);
    }

    #[test]
    fn times_are_in_order(times in prop::collection::vec(any::<i64>(), 2..20)) {
        let mut by_key = times.clone();
        by_key.sort_by_key(|&time| layout::expiry(7, time, 0));
        let mut by_time = times;
        by_time.sort_unstable();
        prop_assert_eq!(by_key, by_time);
    }
}

/// Stored bytes never change their meaning.
#[test]
fn records_are_frozen() {
    let record = Record {
        id: "雷同-1".into(),
        signals: Signals {
            near: vec![(Space(0), Fingerprint::from(0x0123_4567_89ab_cdef_u64))],
            keys: vec![Key { kind: 1, value: 2 }],
            exact: Some(3),
            outline: Outline {
                marks: vec![Mark { hash: 0x0102_0304, at: 5 }, Mark { hash: 6, at: 205 }],
                units: 300,
                numbers: vec![7],
            },
        },
        title: Some("t".into()),
        source: Some("s".into()),
        published: Some(1),
        expires: Some(-1),
        cluster: Some(("c".into(), 2)),
        origin: Some(8),
        metadata: [("a".to_owned(), json!(1))].into_iter().collect(),
        text: Some("text".into()),
    };
    let hex: String = codec::record(&record).iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        "01",
        "0108e99bb7e5908c2d31",
        "090900efcdab8967452301",
        "0a09010200000000000000",
        "081003000000000000000000000000000000",
        "020174",
        "030173",
        "04080100000000000000",
        "0508ffffffffffffffff",
        "0b080400000000000000",
        "06050200000063",
        "07077b2261223a317d",
        "0f080800000000000000",
        "0d02ac02",
        "0e080700000000000000",
        "0c0b0504030201c80106000000",
    ];
    assert_eq!(hex, parts.concat());
    assert_eq!(codec::text_length(&codec::record(&record)), Some(4));
    assert_eq!(codec::text("短"), ["\0".as_bytes(), "短".as_bytes()].concat());
}

/// Changes to a few keys, some of them written in between.
#[derive(Clone, Debug)]
enum Change {
    Put(u8, u8),
    Delete(u8),
    Write,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..30_u8, any::<u8>()).prop_map(|(key, value)| Change::Put(key, value)),
        3 => (0..30_u8).prop_map(Change::Delete),
        1 => Just(Change::Write),
    ]
}

fn folder() -> tempfile::TempDir {
    let fast = std::path::Path::new("/dev/shm");
    if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.unwrap()
}

/// What a scan gives, up to a number of entries.
fn scanned(read: &impl Read, prefix: &[u8], from: &[u8], most: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    let scan = read.scan(Tree::Keys, prefix, from, &mut |key, value| {
        all.push((key.to_vec(), value.to_vec()));
        Ok(all.len() < most)
    });
    scan.unwrap();
    all
}

#[test]
fn staged_changes_are_as_in_a_map() {
    let folder = folder();
    let engine = Engine::open(folder.path(), 1 << 20).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let rounds = Cell::new(0_u16);
    let strategy = (prop::collection::vec(change(), 0..60), 0..30_u8, 1..8_usize);
    let outcome = runner.run(&strategy, |(changes, from, most)| {
        let round = rounds.get() + 1;
        rounds.set(round);
        let key = |key: u8| [&round.to_be_bytes()[..], &[key / 6, key % 6]].concat();
        let (mut stage, mut map) = (Stage::new(engine.moment()), BTreeMap::new());
        for change in changes {
            match change {
                Change::Put(at, value) => {
                    stage.put(Tree::Keys, key(at), [value]);
                    map.insert(key(at), vec![value]);
                }
                Change::Delete(at) => {
                    stage.delete(Tree::Keys, key(at));
                    map.remove(&key(at));
                }
                Change::Write => {
                    engine.commit(stage.into_changes()).unwrap();
                    stage = Stage::new(engine.moment());
                }
            }
        }
        for at in 0..30 {
            prop_assert_eq!(stage.get(Tree::Keys, &key(at)).unwrap(), map.get(&key(at)).cloned());
        }
        let (prefix, from) = (&key(from)[..3], key(from));
        let expected = map.range(from.clone()..).take_while(|entry| entry.0.starts_with(prefix)).take(most);
        let expected: Vec<_> = expected.map(|(key, value)| (key.clone(), value.clone())).collect();
        prop_assert_eq!(scanned(&stage, prefix, &from, most), expected);
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn postings_are_a_set() {
    let folder = folder();
    let engine = Engine::open(folder.path(), 1 << 20).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(30));
    // Steps are long, so that lists are moved out in chunks.
    let step = prop_oneof![
        3 => (1..400_u64).prop_map(Ok),
        2 => prop::collection::vec(any::<prop::sample::Index>(), 1..200).prop_map(Err),
    ];
    let rounds = Cell::new(0);
    let outcome = runner.run(&prop::collection::vec(step, 1..12), |steps| {
        let round = rounds.get() + 1;
        rounds.set(round);
        let head = layout::postings(round, Key { kind: 1, value: 7 });
        let neighbour = layout::postings(round, Key { kind: 1, value: 8 });
        let (mut stage, mut set, mut next) = (Stage::new(engine.moment()), BTreeSet::new(), 0);
        postings::insert(&mut stage, &neighbour, 5).unwrap();
        for step in steps {
            match step {
                Ok(more) => {
                    for version in (next..next + 3 * more).step_by(3) {
                        postings::insert(&mut stage, &head, version).unwrap();
                        set.insert(version);
                    }
                    next += 3 * more;
                }
                Err(places) => {
                    for place in places.iter().filter(|_| next > 0) {
                        let version = place.index(next as usize) as u64;
                        set.remove(&version);
                        postings::remove(&mut stage, &head, version).unwrap();
                    }
                }
            }
            engine.commit(stage.into_changes()).unwrap();
            stage = Stage::new(engine.moment());
            let mut listed = Vec::new();
            postings::for_each(&stage, &head, &mut |version| listed.push(version)).unwrap();
            listed.sort_unstable();
            prop_assert_eq!(&listed, &set.iter().copied().collect::<Vec<_>>());
            for version in (0..next).step_by(17) {
                prop_assert_eq!(postings::contains(&stage, &head, version).unwrap(), set.contains(&version));
            }
        }
        set.iter().for_each(|&version| postings::remove(&mut stage, &head, version).unwrap());
        prop_assert_eq!(scanned(&stage, &head, &head, 9), vec![], "nothing is left of an empty list");
        prop_assert_eq!(scanned(&stage, &neighbour, &neighbour, 9).len(), 1);
        Ok(())
    });
    outcome.unwrap();
}
