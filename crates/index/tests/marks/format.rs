//! Indexes written by every released version are opened by this one.
//!
//! `formats/` holds one index of each version. To make one for a new version: `LEITONG_WRITE_FORMATS=folder cargo test
//! -p leitong-index --test marks format`.

use super::twin::{Twin, copy};
use leitong_index::marks::{MarkIndex, Options};
use std::path::{Path, PathBuf};

/// Two segments, and something deleted in each; the last ordinals are left out.
fn write(folder: &Path, twin: &mut Twin) {
    let index = MarkIndex::open(folder, &Options { fresh: 6000, background: false }).unwrap();
    for documents in [300_u64, 20] {
        for i in 0..documents {
            let ordinal = twin.next + i % 2;
            let origin = if i % 10 == 0 { ordinal } else { ordinal / 2 + ((i % 3) << 33) };
            let own = (0..i % 25).map(|m| (ordinal * 32 + m) as u32).map(|m| m.wrapping_mul(0x9e37_79b9));
            let marks: Vec<u32> = own.chain([0, (i % 7) as u32, u32::MAX]).collect();
            index.insert_at(ordinal, origin, &marks).unwrap();
            twin.insert(ordinal, origin, &marks);
        }
        index.flush().unwrap();
    }
    let gone: Vec<u64> = twin.documents.keys().copied().step_by(50).chain([twin.next - 1]).collect();
    for ordinal in gone {
        assert!(index.delete(ordinal).unwrap());
        twin.documents.remove(&ordinal);
    }
    twin.next += 5;
    index.skip_to(twin.next).unwrap();
    index.flush().unwrap();
    assert_eq!((index.stats().segments, index.stats().deleted), (2, 8));
}

fn check(folder: &Path, twin: &Twin) {
    // Opening locks and tidies the folder: a copy is enough.
    let own = tempfile::tempdir().unwrap();
    copy(folder, own.path());
    let index = MarkIndex::open(own.path(), &Options::default()).unwrap();
    index.verify().unwrap();
    twin.check(&index);
    index.merge().unwrap();
    twin.check(&index);
}

#[test]
fn every_released_format_is_read() {
    let (folder, mut twin) = (tempfile::tempdir().unwrap(), Twin::default());
    write(folder.path(), &mut twin);
    check(folder.path(), &twin);
    if let Some(target) = std::env::var_os("LEITONG_WRITE_FORMATS") {
        write(Path::new(&target), &mut Twin::default());
    }
    let formats = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../formats");
    let mut versions = 0;
    for entry in std::fs::read_dir(&formats).unwrap() {
        let folder = entry.unwrap().path().join("marks");
        if folder.is_dir() {
            check(&folder, &twin);
            versions += 1;
        }
    }
    assert!(versions > 0, "no samples in {}", formats.display());
}
