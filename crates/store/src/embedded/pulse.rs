//! The number of the last commit that was acknowledged, in a file of its own.
//!
//! The engine repairs a damaged journal by cutting it off, and says nothing. The pulse is written after each commit, without
//! waiting for the disk: it may be older than the documents after a power failure, never newer. A newer one means that
//! something acknowledged is missing.

use crate::StoreError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug)]
pub(super) struct Pulse {
    path: PathBuf,
    file: File,
}

/// What the file said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// The last commit acknowledged.
    Commit(u64),
    /// There is no file.
    Missing,
    /// There is a file and nothing in it: whoever made it did not come to write.
    Empty,
    /// The file is not as it was written.
    Unreadable,
}

impl Pulse {
    pub(super) fn open(folder: &Path) -> Result<(Self, Beat), StoreError> {
        let path = folder.join("pulse");
        let io = |error| StoreError::io(&path, error);
        let existed = path.try_exists().map_err(io)?;
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let beat = match existed {
            false => Beat::Missing,
            true if bytes.is_empty() => Beat::Empty,
            true => parse(&bytes).map_or(Beat::Unreadable, Beat::Commit),
        };
        Ok((Self { path, file }, beat))
    }

    pub(super) fn write(&mut self, commit: u64) -> Result<(), StoreError> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&commit.to_le_bytes());
        bytes[8..].copy_from_slice(&xxh3_64(&commit.to_le_bytes()).to_le_bytes());
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&bytes));
        written.map_err(|error| StoreError::io(&self.path, error))
    }

    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|error| StoreError::io(&self.path, error))
    }
}

fn parse(bytes: &[u8]) -> Option<u64> {
    let (commit, checksum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(commit).to_le_bytes() == *checksum).then(|| u64::from_le_bytes(*commit))
}
