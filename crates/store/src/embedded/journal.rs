//! Journals the engine refuses: cut off where the damage begins, so that what stands before it is kept.
//!
//! The engine's own parser is asked: a journal in an otherwise empty database is read and checked, and its entries, which
//! belong to no tree there, are passed over. Any beginning of a journal that ends before the damage is accepted, so the longest one
//! is found by halving.

use crate::StoreError;
use fjall::Database;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Where journals are tried out.
const TRIAL: &str = "trial";

/// Cuts damaged journals off, keeps them aside under another name, and says so.
pub(super) fn mend(path: &Path, notices: &mut Vec<String>) -> Result<(), StoreError> {
    let trial = path.join(TRIAL);
    let mut mend = || -> io::Result<()> {
        for journal in journals(&path.join("documents"))? {
            let mut whole = fs::read(&journal)?;
            // Room that was taken in advance.
            whole.truncate(whole.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            if !accepts(&trial, &whole)? {
                let kept = longest(&trial, &whole)?;
                // Not beside the others, where the engine would find it.
                let aside = path.join("damaged-journals");
                fs::create_dir_all(&aside)?;
                fs::rename(&journal, aside.join(journal.file_name().unwrap_or_default()))?;
                fs::write(&journal, &whole[..kept])?;
                let (name, all) = (journal.strip_prefix(path).unwrap_or(&journal).display(), whole.len());
                let notice = format!(
                    "{name} is damaged; of its {all} bytes the first {kept} are used, and all are kept in {}",
                    aside.display()
                );
                notices.push(notice);
            }
        }
        Ok(())
    };
    let outcome = mend();
    let _ = fs::remove_dir_all(&trial);
    outcome.map_err(|error| StoreError::io(path, error))
}

fn journals(documents: &Path) -> io::Result<Vec<PathBuf>> {
    let all = fs::read_dir(documents)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "jnl")).collect())
}

/// How many bytes from the beginning the engine accepts. It accepts none at all, so there is an answer.
fn longest(trial: &Path, whole: &[u8]) -> io::Result<usize> {
    let (mut good, mut bad) = (0, whole.len());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if accepts(trial, &whole[..middle])? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// Whether the engine opens a database with this journal.
fn accepts(trial: &Path, journal: &[u8]) -> io::Result<bool> {
    if trial.exists() {
        fs::remove_dir_all(trial)?;
    }
    let open = || Database::builder(trial).worker_threads(1).open().map(drop);
    open().map_err(|error| io::Error::other(error.to_string()))?;
    let [own] = &journals(trial)?[..] else { return Err(io::Error::other("the engine made no journal")) };
    fs::write(own, journal)?;
    // Damaged bytes may make it panic.
    Ok(matches!(catch_unwind(AssertUnwindSafe(open)), Ok(Ok(()))))
}
