//! Truncated, changed and foreign segment files: a clear error, never a wrong answer.

use leitong_index::hamming::{Build, HammingError, Layout, Searcher, Segment};
use std::path::Path;

fn values() -> Vec<u64> {
    let value = |i: u64| (i / 3 * 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i % 2) << (i % 64);
    (0..3000).map(value).collect()
}

fn answers(path: &Path, queries: &[u64]) -> Result<Vec<(u32, u32, u32)>, HammingError> {
    let segment = Segment::<u64>::open(path)?;
    let mut found = Vec::new();
    segment.search(&mut Searcher::new(), queries, 3, |query, ordinal, distance| {
        found.push((query, ordinal, distance));
    })?;
    found.sort_unstable();
    Ok(found)
}

#[test]
fn a_flipped_bit_is_an_error_or_does_not_matter() {
    let (folder, values) = (tempfile::tempdir().unwrap(), values());
    for layout in [Layout::Columns, Layout::Ring, Layout::Cells] {
        let path = folder.path().join("sound");
        Build { layout: Some(layout), ..Build::new(3) }.to_file(&values[..], &path).unwrap();
        let truth = answers(&path, &values).unwrap();
        assert!(truth.len() > values.len());
        let bytes = std::fs::read(&path).unwrap();
        let damaged = folder.path().join("damaged");
        let (mut refused, mut unnoticed) = (0, 0);
        // Every byte of the head, and places all over the rest.
        let places = (0..64).chain((64..bytes.len()).step_by(1009));
        for place in places {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1 << (place % 8);
            std::fs::write(&damaged, &bytes).unwrap();
            match answers(&damaged, &values) {
                // A byte no answer depends on: padding, or what these queries do not touch.
                Ok(found) => assert_eq!(found, truth, "{layout:?}, byte {place}"),
                Err(HammingError::Refused { .. } | HammingError::Broken { .. }) => refused += 1,
                Err(other) => panic!("{layout:?}, byte {place}: {other}"),
            }
            let found_when_verifying = Segment::<u64>::open(&damaged).and_then(|segment| segment.verify());
            if found_when_verifying.is_ok() {
                // Between the head and the first section, or behind one: nothing is ever read there.
                unnoticed += 1;
                assert!(answers(&damaged, &values).is_ok());
            }
        }
        assert!(refused > 100, "{layout:?}: only {refused} refused");
        assert!(unnoticed < refused / 4, "{layout:?}: {unnoticed} changes were not noticed by verify");
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let (folder, values) = (tempfile::tempdir().unwrap(), values());
    let path = folder.path().join("sound");
    Build::new(3).to_file(&values[..], &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(997).chain([1, 15, 16, 63, 64, bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(matches!(Segment::<u64>::open(&path), Err(HammingError::Refused { .. })), "cut at {length}");
    }
    std::fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    let error = Segment::<u64>::open(&path).unwrap_err().to_string();
    assert!(error.contains("instead of"), "{error}");
}

#[test]
fn foreign_files_are_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign");
    std::fs::write(&path, "id\ttext\n".repeat(100)).unwrap();
    let error = Segment::<u64>::open(&path).unwrap_err().to_string();
    assert!(error.contains("no segment") && error.contains("foreign"), "{error}");
    Build::new(3).to_file(&[1_u128, 2, 3][..], &path).unwrap();
    let error = Segment::<u64>::open(&path).unwrap_err().to_string();
    assert!(error.contains("128 bits, not of 64"), "{error}");
    assert!(matches!(Segment::<u64>::open(&folder.path().join("none")), Err(HammingError::Io { .. })));
}
