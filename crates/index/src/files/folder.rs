//! The folder of an index: who holds it, and which files are its own.

use super::FileError;
use super::manifest::{self, Manifest};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) next_file: AtomicU64,
    pub(crate) _lock: File,
}

impl Folder {
    /// Removes segment files for which `gone` holds.
    pub(crate) fn remove(&self, gone: impl Fn(u64) -> bool) -> Result<(), FileError> {
        let io = |error| FileError::io(&self.path, error);
        for entry in std::fs::read_dir(&self.path).map_err(io)? {
            let path = entry.map_err(io)?.path();
            if segment_number(&path).is_some_and(&gone) {
                std::fs::remove_file(&path).map_err(|error| FileError::io(&path, error))?;
            }
        }
        Ok(())
    }

    /// Removes what an interrupted merge has left behind.
    pub(crate) fn remove_strangers(&self, manifest: &Manifest) -> Result<(), FileError> {
        self.remove(|file| !manifest.segments.iter().any(|segment| segment.file == file))?;
        let manifest = manifest::temporary(&self.path);
        match std::fs::remove_file(&manifest) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(FileError::io(&manifest, error))
            }
            _ => Ok(()),
        }
    }
}

/// The number of a segment's file, complete or not; `None` for other files, which are left alone.
fn segment_number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_suffix(".tmp").unwrap_or(name).strip_suffix(".segment")?;
    (digits.len() >= 8).then(|| digits.parse().ok())?
}

/// Without a manifest there must be no segments: they would be somebody's whole index.
pub(crate) fn refuse_segments(folder: &Path) -> Result<(), FileError> {
    let io = |error| FileError::io(folder, error);
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if segment_number(&path).is_some() {
            let reason =
                "it is a segment, but the folder has no manifest: restore it, or choose an empty folder";
            return Err(FileError::Refused { path, reason: reason.into() });
        }
    }
    Ok(())
}

/// One process at a time may have the index open.
pub(crate) fn lock(folder: &Path) -> Result<File, FileError> {
    let process = format!("process {}", std::process::id());
    match crate::lock::lock_folder(folder, &process).map_err(|error| FileError::io(folder, error))? {
        Ok(file) => Ok(file),
        Err(holder) => Err(FileError::InUse { path: folder.to_owned(), holder }),
    }
}
