//! Segments and manifests written by every released version are opened by this one.
//!
//! `formats/` holds one index of each version. To make one for a new version: `LEITONG_WRITE_FORMATS=folder cargo test
//! -p leitong-index --test hamming format`.

use leitong_index::hamming::{Build, Index, Layout, Options, Segment, Source};
use std::path::{Path, PathBuf};

fn values() -> Vec<u64> {
    (0..300_u64).map(|i| (i / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i % 3) << (i % 60)).collect()
}

const LAYOUTS: [(&str, Layout); 3] =
    [("columns", Layout::Columns), ("ring", Layout::Ring), ("cells", Layout::Cells)];

fn write(folder: &Path) {
    for (name, layout) in LAYOUTS {
        let build = Build { layout: Some(layout), ..Build::new(3) };
        build.to_file(&values()[..], &folder.join(format!("{name}.segment"))).unwrap();
    }
    let index =
        Index::<u64>::open(&folder.join("index"), Options { background: false, ..Options::new(3) }).unwrap();
    index.insert_many(&values()).unwrap();
    [0, 7, 299].iter().for_each(|&ordinal| assert!(index.delete(ordinal).unwrap()));
    index.flush().unwrap();
}

fn check(folder: &Path) {
    for (name, layout) in LAYOUTS {
        let segment = Segment::<u64>::open(&folder.join(format!("{name}.segment"))).unwrap();
        assert_eq!((segment.layout(), segment.items(), segment.k()), (layout, 300, 3));
        segment.verify().unwrap();
        let mut items = Vec::new();
        segment.read(0..segment.rows(), &mut items).unwrap();
        items.sort_unstable();
        assert_eq!(items, (0..).zip(values()).collect::<Vec<_>>());
    }
    // Opening locks and tidies the folder: a copy is enough.
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder.join("index")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let index = Index::<u64>::open(copy.path(), Options::new(3)).unwrap();
    assert_eq!((index.stats().items, index.stats().next), (297, 300));
    let found = index.find(values()[8], 0).unwrap();
    assert!(found.iter().any(|found| found.ordinal == 8));
    assert!(index.find(values()[7], 3).unwrap().iter().all(|found| found.ordinal != 7));
}

#[test]
fn every_released_format_is_read() {
    if let Some(folder) = std::env::var_os("LEITONG_WRITE_FORMATS") {
        write(Path::new(&folder));
    }
    let formats = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../formats");
    let mut versions = 0;
    for entry in std::fs::read_dir(&formats).unwrap() {
        let folder = entry.unwrap().path().join("hamming");
        if folder.is_dir() {
            check(&folder);
            versions += 1;
        }
    }
    assert!(versions > 0, "no samples in {}", formats.display());
}

#[test]
fn what_is_written_now_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    check(folder.path());
}
