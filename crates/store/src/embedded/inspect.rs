//! What the engine takes on trust. It deletes a tree whose file `current` is missing, believes a list of tables that has
//! changed, begins at nothing without a journal, and cannot go on where making it was interrupted. So these are looked at
//! before it opens.
//!
//! ```text
//! documents/version                the last file that is made: before it nothing was stored
//! documents/N.jnl                  journals, always one at least
//! documents/keyspaces/N/current    number of a version (8 bytes) · xxh3 of its file (16 bytes) · 0
//! documents/keyspaces/N/vV         the tables of version V
//! ```

use super::journal;
use crate::StoreError;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// The least bytes of a file `version`.
const MARKER: u64 = 4;
const CURRENT: usize = 25;
/// Checksums that differ in fewer bits are the same one, damaged; those of two files differ in 64, more or less.
const ALIKE: u32 = 24;

/// Says what is wrong; to repair, mends what can be mended. What was left by an interrupted making is cleared away.
pub(super) fn inspect(path: &Path, repair: bool, notices: &mut Vec<String>) -> Result<(), StoreError> {
    let documents = path.join("documents");
    let io = |error| StoreError::io(&documents, error);
    if !documents.try_exists().map_err(io)? {
        return Ok(());
    }
    let trees = entries(&documents.join("keyspaces")).map_err(io)?;
    let stored = trees.iter().any(|tree| has_files(tree));
    let inspection = Inspection { path, repair, notices };
    if fs::metadata(documents.join("version")).map_or(0, |version| version.len()) < MARKER {
        if stored {
            return Err(inspection.damaged("documents/version is missing or cut short: restore a backup"));
        }
        return fs::remove_dir_all(&documents).map_err(io);
    }
    inspection.all(&documents, &trees, stored)
}

struct Inspection<'i> {
    path: &'i Path,
    repair: bool,
    notices: &'i mut Vec<String>,
}

impl Inspection<'_> {
    fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path.to_owned(), what: what.into() }
    }

    fn all(mut self, documents: &Path, trees: &[PathBuf], stored: bool) -> Result<(), StoreError> {
        let io = |error| StoreError::io(documents, error);
        // It holds nothing, and the engine does not open without.
        fs::File::options().append(true).create(true).open(documents.join("lock")).map_err(io)?;
        let is_journal = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jnl");
        if stored && !entries(documents).map_err(io)?.iter().any(is_journal) {
            self.mend("the journal in documents is missing, and with it the last documents".into(), || {
                fs::write(documents.join("0.jnl"), [])
            })?;
        }
        let other = |tree: &PathBuf| !tree.ends_with("0") && tree.join("current").exists();
        let others = trees.iter().any(other);
        for tree in trees {
            if tree.join("current").exists() || has_files(tree) || (tree.ends_with("0") && others) {
                self.tree(tree)?;
            }
        }
        if self.repair { journal::mend(self.path, self.notices) } else { Ok(()) }
    }

    /// Mends what can be mended, or says that it is damaged.
    fn mend(&mut self, what: String, mend: impl FnOnce() -> io::Result<()>) -> Result<(), StoreError> {
        if !self.repair {
            return Err(self.damaged(what));
        }
        mend().map_err(|error| StoreError::io(self.path, error))?;
        self.notices.push(what);
        Ok(())
    }

    /// Whether `current` names a version that is as it was written.
    fn tree(&mut self, tree: &Path) -> Result<(), StoreError> {
        let name = tree.strip_prefix(self.path).unwrap_or(tree).join("current").display().to_string();
        let current = read(&tree.join("current")).map_err(|error| StoreError::io(tree, error))?;
        let named = current.as_deref().filter(|bytes| bytes.len() == CURRENT).and_then(|bytes| {
            let (version, rest) = bytes.split_first_chunk()?;
            Some((u64::from_le_bytes(*version), u128::from_le_bytes(*rest.first_chunk()?)))
        });
        let file = |version| read(&tree.join(format!("v{version}"))).ok().flatten();
        let Some((version, expected, bytes)) = named.and_then(|(v, sum)| Some((v, sum, file(v)?))) else {
            let Some((version, bytes)) = newest(tree) else {
                return Err(
                    self.damaged(format!("no list of tables is left beside {name}: restore a backup"))
                );
            };
            return self
                .mend(format!("{name} is missing or changed"), || write_current(tree, version, &bytes));
        };
        match (xxh3_128(&bytes) ^ expected).count_ones() {
            0 => Ok(()),
            1..ALIKE => self.mend(format!("{name} has changed"), || write_current(tree, version, &bytes)),
            _ => Err(self.damaged(format!(
                "{} is not as it was written: restore a backup",
                name.replace("current", &format!("v{version}"))
            ))),
        }
    }
}

/// The newest version that is there, and its file.
fn newest(tree: &Path) -> Option<(u64, Vec<u8>)> {
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix('v')?.parse::<u64>().ok();
    let version = entries(tree).ok()?.iter().filter_map(number).max()?;
    Some((version, fs::read(tree.join(format!("v{version}"))).ok()?))
}

fn write_current(tree: &Path, version: u64, bytes: &[u8]) -> io::Result<()> {
    let sum = xxh3_128(bytes).to_le_bytes();
    fs::write(tree.join("current"), [&version.to_le_bytes()[..], &sum, &[0]].concat())
}

/// A file, if there is one.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// What is in a folder; nothing if there is none.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Whether a tree has tables or values in files.
fn has_files(tree: &Path) -> bool {
    ["tables", "blobs"].iter().any(|folder| entries(&tree.join(folder)).is_ok_and(|files| !files.is_empty()))
}
