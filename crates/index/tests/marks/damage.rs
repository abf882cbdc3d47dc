//! Truncated, changed, missing and foreign files: a clear error, never a wrong answer.

use super::twin::{Twin, copy, files};
use leitong_index::marks::{MarkError, MarkIndex, Options, Posting};
use std::path::Path;

const OPTIONS: Options = Options { fresh: 75_000, background: false };

type Answers = (Vec<(usize, Posting)>, Vec<(u64, u64, u32)>);

/// Two segments, of which the first is much larger, and something deleted.
fn build(folder: &Path) -> Twin {
    let (index, mut twin) = (MarkIndex::open(folder, &OPTIONS).unwrap(), Twin::default());
    for (documents, size) in [(700_u64, 100_u32), (30, 20)] {
        for i in 0..documents {
            let mark = |m: u32| if m < 5 { m } else { (i as u32 * 100 + m).wrapping_mul(0x9e37_79b9) };
            let marks: Vec<u32> = (0..size).map(mark).collect();
            index.insert_at(twin.next, i, &marks).unwrap();
            twin.insert(twin.next, i, &marks);
        }
        index.flush().unwrap();
    }
    for ordinal in [3, 77, 705] {
        assert!(index.delete(ordinal).unwrap());
        twin.documents.remove(&ordinal);
    }
    index.flush().unwrap();
    assert_eq!(index.stats().segments, 2);
    twin
}

fn answers(folder: &Path, marks: &[u32]) -> Result<Answers, MarkError> {
    let index = MarkIndex::open(folder, &OPTIONS)?;
    let (mut found, mut all) = (Vec::new(), Vec::new());
    index.look_up(marks, 50, &mut |place, posting| found.push((place, posting)))?;
    index.for_each(&mut |ordinal, origin, marks| all.push((ordinal, origin, marks)))?;
    Ok((found, all))
}

fn merged(folder: &Path, marks: &[u32]) -> Result<Answers, MarkError> {
    MarkIndex::open(folder, &OPTIONS)?.merge()?;
    answers(folder, marks)
}

fn is_clear(error: &MarkError) -> bool {
    matches!(error, MarkError::Refused { .. } | MarkError::Broken { .. } | MarkError::Foreign { .. })
}

#[test]
fn a_flipped_bit_is_an_error_or_does_not_matter() {
    let (sound, damaged) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let twin = build(sound.path());
    let marks: Vec<u32> = twin.marks().into_iter().step_by(3).collect();
    let truth = answers(sound.path(), &marks).unwrap();
    assert_eq!(truth.0, twin.look_up(&marks, 50));
    for name in files(sound.path()) {
        let bytes = std::fs::read(sound.path().join(&name)).unwrap();
        let (mut refused, mut harmless) = (0, 0);
        let step = (bytes.len() / 40).max(1) | 1;
        for place in (0..64.min(bytes.len())).chain((64..bytes.len()).step_by(step)) {
            copy(sound.path(), damaged.path());
            let mut bytes = bytes.clone();
            bytes[place] ^= 1 << (place % 8);
            std::fs::write(damaged.path().join(&name), &bytes).unwrap();
            let check = |outcome: Result<Answers, MarkError>| match outcome {
                Ok(found) => {
                    assert!(found == truth, "{name}, byte {place}");
                    true
                }
                Err(error) => {
                    assert!(is_clear(&error), "{name}, byte {place}: {error}");
                    false
                }
            };
            let answered = check(answers(damaged.path(), &marks));
            let index = MarkIndex::open(damaged.path(), &OPTIONS);
            let verified = index.and_then(|index| index.verify()).is_ok();
            assert!(answered || !verified, "{name}, byte {place}: verify saw nothing");
            if place % 4 == 1 {
                check(merged(damaged.path(), &marks));
            }
            if verified { harmless += 1 } else { refused += 1 }
        }
        assert!(refused > 64 && harmless < refused, "{name}: {refused} refused, {harmless} harmless");
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let (sound, damaged) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let twin = build(sound.path());
    for name in files(sound.path()) {
        let bytes = std::fs::read(sound.path().join(&name)).unwrap();
        let lengths =
            (0..bytes.len()).step_by(bytes.len() / 60 + 1).chain([1, 8, 15, 16, 24, 63, 64, bytes.len() - 1]);
        for length in lengths {
            copy(sound.path(), damaged.path());
            std::fs::write(damaged.path().join(&name), &bytes[..length]).unwrap();
            let error = MarkIndex::open(damaged.path(), &OPTIONS).unwrap_err();
            assert!(is_clear(&error), "{name}, cut at {length}: {error}");
        }
        copy(sound.path(), damaged.path());
        std::fs::write(damaged.path().join(&name), [&bytes[..], &[0]].concat()).unwrap();
        assert!(is_clear(&MarkIndex::open(damaged.path(), &OPTIONS).unwrap_err()), "{name}, added to");
    }
    copy(sound.path(), damaged.path());
    twin.check(&MarkIndex::open(damaged.path(), &OPTIONS).unwrap());
}

#[test]
fn missing_and_foreign_files_are_named() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    build(one.path());
    let index = MarkIndex::open(other.path(), &OPTIONS).unwrap();
    for ordinal in 0..2 {
        index.insert_at(ordinal, 0, &[1, 2]).unwrap();
        index.flush().unwrap();
    }
    let second = MarkIndex::open(other.path(), &OPTIONS).unwrap_err();
    assert!(second.to_string().contains(&format!("process {}", std::process::id())), "{second}");
    drop(index);
    let segment = |folder: &Path| files(folder).into_iter().find(|name| name.ends_with(".segment")).unwrap();
    let (from, to) = (one.path().join(segment(one.path())), other.path().join(segment(other.path())));
    std::fs::copy(from, &to).unwrap();
    assert!(matches!(MarkIndex::open(other.path(), &OPTIONS), Err(MarkError::Foreign { .. })));
    std::fs::remove_file(&to).unwrap();
    assert!(matches!(MarkIndex::open(other.path(), &OPTIONS), Err(MarkError::Io { .. })));
    std::fs::remove_file(one.path().join("manifest")).unwrap();
    let error = MarkIndex::open(one.path(), &OPTIONS).unwrap_err().to_string();
    assert!(error.contains("no manifest"), "{error}");

    let hamming = tempfile::tempdir().unwrap();
    drop(
        leitong_index::hamming::Index::<u64>::open(hamming.path(), leitong_index::hamming::Options::new(3))
            .unwrap(),
    );
    let error = MarkIndex::open(hamming.path(), &OPTIONS).unwrap_err().to_string();
    assert!(error.contains("no manifest of a mark index"), "{error}");
}
