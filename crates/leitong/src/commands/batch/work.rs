//! The folder a run works in: the engine's files, and columns that grow beside them.

use crate::output::Failure;
use leitong_detect::batch;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file that tells a work folder from any other.
const MARKER: &str = "leitong-work";

/// A folder of our own.
pub(crate) struct Work {
    pub(crate) folder: PathBuf,
    /// Held as long as the run goes on, so that no other uses the folder.
    lock: File,
    /// Removed with the command, whatever becomes of it.
    temporary: Option<tempfile::TempDir>,
}

fn failed(folder: &Path) -> impl Fn(std::io::Error) -> Failure + use<> {
    let folder = folder.display().to_string();
    move |error| {
        Failure::Input(format!("{folder}: cannot be worked in: {error}; name another folder with --work"))
    }
}

impl Work {
    /// The folder that was named, or one beside the output, or a temporary one.
    pub(crate) fn open(named: Option<&Path>, output: Option<&Path>) -> Result<Self, Failure> {
        match (named, output) {
            (Some(folder), _) => Self::at(folder.to_owned(), None),
            (None, Some(output)) => Self::at(PathBuf::from(format!("{}.work", output.display())), None),
            (None, None) => Self::temporary(&std::env::temp_dir()),
        }
    }

    /// One that goes with the command.
    pub(crate) fn temporary(inside: &Path) -> Result<Self, Failure> {
        let temporary =
            tempfile::Builder::new().prefix("leitong-").tempdir_in(inside).map_err(failed(inside))?;
        Self::at(temporary.path().to_owned(), Some(temporary))
    }

    fn at(folder: PathBuf, temporary: Option<tempfile::TempDir>) -> Result<Self, Failure> {
        let failed = failed(&folder);
        std::fs::create_dir_all(&folder).map_err(&failed)?;
        let marker = folder.join(MARKER);
        let is_empty = std::fs::read_dir(&folder).map_err(&failed)?.next().is_none();
        if !is_empty && !marker.is_file() {
            return Err(Failure::Input(format!(
                "{}: this folder holds other files; name a new or empty one with --work",
                folder.display()
            )));
        }
        let lock = OpenOptions::new().create(true).append(true).open(&marker).map_err(&failed)?;
        if lock.try_lock().is_err() {
            return Err(Failure::Input(format!(
                "{}: another run works here; wait for it, or name another folder with --work",
                folder.display()
            )));
        }
        Ok(Self { folder, lock, temporary })
    }

    /// Begins anew.
    pub(crate) fn clear(&self) -> Result<(), Failure> {
        let failed = failed(&self.folder);
        for entry in std::fs::read_dir(&self.folder).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            if entry.file_name() != MARKER {
                std::fs::remove_file(entry.path()).map_err(&failed)?;
            }
        }
        Ok(())
    }

    /// Removes it with everything in it.
    pub(crate) fn remove(self) {
        drop(self.lock);
        match self.temporary {
            Some(temporary) => drop(temporary),
            // What cannot be removed does no harm: the next run says what to do.
            None => drop(std::fs::remove_dir_all(&self.folder)),
        }
    }

    pub(crate) fn options(&self, memory: u64) -> batch::Options {
        batch::Options { folder: self.folder.clone(), memory }
    }

    /// A column, from its beginning.
    pub(crate) fn read(&self, name: &str) -> Result<BufReader<File>, Failure> {
        let path = self.folder.join(name);
        Ok(BufReader::with_capacity(1 << 18, File::open(&path).map_err(failed(&self.folder))?))
    }
}

/// Columns that only grow; what counts of them is noted at checkpoints.
pub(crate) struct Columns {
    folder: PathBuf,
    files: BTreeMap<&'static str, (BufWriter<File>, u64)>,
}

impl Columns {
    /// Opens columns and cuts them to what was noted.
    pub(crate) fn open(
        folder: &Path,
        names: &[&'static str],
        lengths: &BTreeMap<String, u64>,
    ) -> Result<Self, Failure> {
        let failed = failed(folder);
        let mut files = BTreeMap::new();
        for &name in names {
            let length = lengths.get(name).copied().unwrap_or(0);
            let file = OpenOptions::new().create(true).append(true).open(folder.join(name));
            let file = file.and_then(|file| file.set_len(length).map(|()| file)).map_err(&failed)?;
            files.insert(name, (BufWriter::with_capacity(1 << 16, file), length));
        }
        Ok(Self { folder: folder.to_owned(), files })
    }

    pub(crate) fn push(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), Failure> {
        if let Some((file, length)) = self.files.get_mut(name) {
            // The words for a failure are made when there is one: this is called for every document.
            file.write_all(bytes).map_err(|error| failed(&self.folder)(error))?;
            *length += bytes.len() as u64;
        }
        Ok(())
    }

    /// Puts everything into the files; how long each is.
    pub(crate) fn flush(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        let failed = failed(&self.folder);
        self.files
            .iter_mut()
            .map(|(name, (file, length))| {
                file.flush().map_err(&failed)?;
                Ok(((*name).to_owned(), *length))
            })
            .collect()
    }
}
