//! What a process leaves behind that ends in the middle of something.

use super::twin::{Twin, copy, files};
use leitong_index::marks::{MarkIndex, Options};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const OPTIONS: Options = Options { fresh: 1_000_000, background: false };

fn add(index: &MarkIndex, twin: &mut Twin, documents: u64) {
    for _ in 0..documents {
        let marks = marks_of(twin.next);
        index.insert_at(twin.next, twin.next / 2, &marks).unwrap();
        twin.insert(twin.next, twin.next / 2, &marks);
    }
}

fn marks_of(document: u64) -> Vec<u32> {
    (0..document % 40)
        .map(|i| if i < 3 { i as u32 } else { (document * 64 + i) as u32 ^ 0x5555_0000 })
        .collect()
}

/// Every order of what a flush and a merge do: all files of before and after, with the manifest of either.
#[test]
fn between_any_two_steps_it_is_one_state_or_the_other() {
    let (folder, before, after) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (index, mut twin) = (MarkIndex::open(folder.path(), &OPTIONS).unwrap(), Twin::default());
    for merge in [false, true, false, false, true] {
        copy(folder.path(), before.path());
        let old = twin.clone();
        add(&index, &mut twin, 100);
        let gone = twin.next / 3;
        assert_eq!(index.delete(gone).unwrap(), twin.documents.remove(&gone).is_some());
        if merge {
            index.merge().unwrap();
        } else {
            index.flush().unwrap();
        }
        copy(folder.path(), after.path());
        for (manifest, expected) in [(&before, &old), (&after, &twin)] {
            let crashed = tempfile::tempdir().unwrap();
            for all in [&before, &after] {
                for name in files(all.path()) {
                    std::fs::copy(all.path().join(&name), crashed.path().join(&name)).unwrap();
                }
            }
            std::fs::copy(manifest.path().join("manifest"), crashed.path().join("manifest")).unwrap();
            std::fs::write(crashed.path().join("manifest.tmp"), "half").unwrap();
            std::fs::write(crashed.path().join("00000099.segment.tmp"), "half").unwrap();
            std::fs::write(crashed.path().join("20240101.tmp"), "mine").unwrap();
            let reopened = MarkIndex::open(crashed.path(), &OPTIONS).unwrap();
            expected.check(&reopened);
            let mut names = files(manifest.path());
            names.push("20240101.tmp".into());
            names.sort();
            assert_eq!(files(crashed.path()), names);
            let mut more = expected.clone();
            add(&reopened, &mut more, 30);
            reopened.flush().unwrap();
            drop(reopened);
            more.check(&MarkIndex::open(crashed.path(), &OPTIONS).unwrap());
        }
    }
}

/// A process that is killed over and over.
#[test]
fn killed_at_any_moment_it_goes_on_from_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    let rounds = if std::env::var_os("LEITONG_QUICK").is_some() { 4 } else { 12 };
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "crash::writes_until_it_is_killed"])
            .env("MARKS_CRASH", folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + round * 37_u64 % 190));
        child.kill().unwrap();
        child.wait().unwrap();
        let index = MarkIndex::open(folder.path(), &OPTIONS).unwrap();
        index.verify().unwrap();
        assert!(index.next() >= last);
        last = index.next();
        // Deletions after the last flush may be lost: repeat them.
        (0..last).filter(|ordinal| ordinal % 7 == 3).for_each(|ordinal| _ = index.delete(ordinal).unwrap());
        let mut twin = Twin::default();
        (0..last).filter(|o| o % 7 != 3).for_each(|o| twin.insert(o, o / 2, &marks_of(o)));
        twin.next = last;
        twin.check(&index);
    }
    assert!(last > 0, "it never came to write anything");
}

#[test]
#[ignore = "killed by the test above"]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os("MARKS_CRASH") else { return };
    let index = MarkIndex::open(Path::new(&folder), &Options { fresh: 400, background: true }).unwrap();
    for ordinal in index.next().. {
        index.insert_at(ordinal, ordinal / 2, &marks_of(ordinal)).unwrap();
        if ordinal % 7 == 3 {
            index.delete(ordinal).unwrap();
        }
        // The twin is slow: on a quick machine there would be too much to compare.
        std::thread::sleep(Duration::from_micros(400));
        match ordinal % 100 {
            30 => index.flush().unwrap(),
            90 => index.merge().unwrap(),
            _ => {}
        }
    }
}
