//! What can go wrong with the files of an index; each kind of index reports it as an error of its own.

use std::path::{Path, PathBuf};

/// What can go wrong with the files of an index.
#[derive(Debug)]
pub(crate) enum FileError {
    Io { path: PathBuf, source: std::io::Error },
    Memory { bytes: usize, source: std::io::Error },
    Refused { path: PathBuf, reason: String },
    Broken { path: PathBuf, offset: usize },
    InUse { path: PathBuf, holder: String },
}

impl FileError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn memory(bytes: usize, source: std::io::Error) -> Self {
        Self::Memory { bytes, source }
    }
}

/// The same, as an error with variants of the same names.
macro_rules! from_file_error {
    ($error:ident) => {
        impl From<crate::files::FileError> for $error {
            fn from(error: crate::files::FileError) -> Self {
                use crate::files::FileError;
                match error {
                    FileError::Io { path, source } => Self::Io { path, source },
                    FileError::Memory { bytes, source } => Self::Memory { bytes, source },
                    FileError::Refused { path, reason } => Self::Refused { path, reason },
                    FileError::Broken { path, offset } => Self::Broken { path, offset },
                    FileError::InUse { path, holder } => Self::InUse { path, holder },
                }
            }
        }
    };
}
pub(crate) use from_file_error;
