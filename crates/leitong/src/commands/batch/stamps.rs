//! Whether inputs are what they were when reading began: they are read more than once, and what is judged, told and copied must
//! be the same.

use crate::input::raw::Source;
use crate::output::Failure;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a plain file had when reading began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Device and number, for files that are replaced.
    file: (u64, u64),
}

impl Stamp {
    /// Of a plain file; pipes have none.
    fn of(path: &Path) -> Option<Self> {
        let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Self {
            bytes: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            file: (file.dev(), file.ino()),
        })
    }
}

/// Says that an input has changed, and which, where that is known.
pub(crate) fn changed(path: Option<&Path>) -> Failure {
    let which = path.map_or("an input".into(), |path| format!("{}: this input", path.display()));
    Failure::Input(format!("{which} has changed while it was read; no file was written, start again"))
}

/// What all inputs had.
pub(crate) struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

impl Stamps {
    pub(super) fn of(sources: &[Source]) -> Self {
        let stamp = |source: &Source| (source.path.clone(), Stamp::of(&source.path));
        Self(sources.iter().filter(|source| !source.is_stdin()).map(stamp).collect())
    }

    /// Whether all inputs still have it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.0.iter().find(|(path, then)| Stamp::of(path) != *then) {
            Some((path, _)) => Err(changed(Some(path))),
            None => Ok(()),
        }
    }
}
