//! What can go wrong with a Hamming index.

use std::path::{Path, PathBuf};

/// What can go wrong with a Hamming index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HammingError {
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system has no memory left.
    #[error("no memory for {bytes} bytes ({source}): build with a lower memory ceiling, or into a file")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that is no segment, or a damaged or foreign one.
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
    /// A segment of another width.
    #[error("{}: it holds fingerprints of {found} bits, not of {expected}", path.display())]
    Width {
        /// The file.
        path: PathBuf,
        /// Its width.
        found: u64,
        /// The width asked for.
        expected: u32,
    },
    /// A search for more differing bits than the index was built for.
    #[error(
        "the index was built for distances up to {built}, {asked} was asked for: build it again for {asked}"
    )]
    TooFar {
        /// What was asked for.
        asked: u32,
        /// The most it can do.
        built: u32,
    },
    /// More items than a segment can number.
    #[error("{items} fingerprints are too many for one segment, the most is {most}: split the batch", most = super::MOST_ITEMS)]
    TooMany {
        /// How many there were.
        items: u64,
    },
    /// A width and distance for which there is no sensible index.
    #[error("fingerprints of {width} bits cannot be searched within {k} bits: nearly everything would match")]
    Senseless {
        /// The width.
        width: u32,
        /// The distance.
        k: u32,
    },
    /// A segment that is sound but not the one the index was written with.
    #[error("{}: it is not the file this index was written with: restore the whole folder, or build the index again", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A source gave an ordinal it does not have.
    #[error(
        "the source of a batch of {items} gave the ordinal {ordinal}: ordinals are the numbers below {items}, each once"
    )]
    Ordinal {
        /// What it gave.
        ordinal: u32,
        /// How many items it has.
        items: u64,
    },
    /// A merge ended in a way it never should.
    #[error("merging the index failed: {what}; please report this, and build the index again")]
    Merge {
        /// What is known.
        what: String,
    },
    /// Another process has the index open for writing.
    #[error("{}: the index is in use by another process ({holder}): stop it first", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who holds it, as far as is known.
        holder: String,
    },
}

impl HammingError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn memory(bytes: usize, source: std::io::Error) -> Self {
        Self::Memory { bytes, source }
    }
}

crate::files::from_file_error!(HammingError);
