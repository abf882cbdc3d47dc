//! What can go wrong in a run.

use std::path::{Path, PathBuf};

/// What can go wrong in a run over many documents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A file of the run cannot be read or written.
    #[error("{path}: {source}; is there room on that disk? --work names another folder", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the run is not as it was written.
    #[error("{path} is damaged; remove it and start again", path = path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
    },
    /// A text cannot be read again where it came from.
    #[error("{0}; has this input changed while it was read? start again")]
    Original(std::io::Error),
    /// More documents than can be numbered.
    #[error("more than {} documents in one run; split the input and use --against", u32::MAX)]
    TooMany,
    /// Whoever takes the results wants no more.
    #[error(transparent)]
    Output(Box<dyn std::error::Error + Send + Sync>),
}

impl BatchError {
    /// Of a file or folder. It is borrowed: this stands in every reading of a text, and nearly all go well.
    pub(super) fn at(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path) -> Self {
        Self::Damaged { path: path.to_owned() }
    }

    /// An error of whoever takes the results.
    pub fn output(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Output(Box::new(error))
    }
}
