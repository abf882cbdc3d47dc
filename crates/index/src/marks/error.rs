//! What can go wrong with a mark index.

use std::path::PathBuf;

/// What can go wrong with a mark index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system has no memory left.
    #[error("no memory for {bytes} bytes ({source}): give the program more, or keep the index in a folder")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is no part of a mark index, or a damaged or foreign one.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checksum does not fit: the file changed after it was written.
    #[error(
        "{}: the checksum at byte {offset} does not fit, the file is damaged: build the index again from the documents",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        offset: usize,
    },
    /// A segment that is sound but not the one the index was written with.
    #[error("{}: it is not the file this index was written with: restore the whole folder, or build the index again", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another process has the index open for writing.
    #[error("{}: the index is in use by another process ({holder}): stop it first", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who holds it, as far as is known.
        holder: String,
    },
    /// An ordinal that is not behind all others.
    #[error(
        "document {ordinal} was to be added, but {next} is next: documents are added in ascending order, each once"
    )]
    Order {
        /// What was to be added.
        ordinal: u64,
        /// The least that can be.
        next: u64,
    },
    /// A merge ended in a way it never should.
    #[error("merging the index failed: {what}; please report this, and build the index again")]
    Merge {
        /// What is known.
        what: String,
    },
}

crate::files::from_file_error!(MarkError);
