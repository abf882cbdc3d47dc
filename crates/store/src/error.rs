//! What can go wrong in a store, and what to do about it.

use crate::Space;
use leitong_index::hamming::HammingError;
use leitong_index::marks::MarkError;
use std::path::{Path, PathBuf};

/// What can go wrong in a store. An error never hides that something acknowledged is lost: see `Damaged`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An id or a name without a character.
    #[error("an id must not be empty: give every document one")]
    EmptyId,
    /// Something beyond its limit.
    #[error("the {what} has {bytes} bytes; at most {most} can be stored: shorten it")]
    TooLong {
        /// What.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// Metadata inside metadata inside metadata.
    #[error("the metadata has more than {most} levels inside each other: make it flatter")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// No such collection.
    #[error(
        "there is no collection {name:?}: add documents to it first, or check the name with `leitong stats`"
    )]
    NoCollection {
        /// What was asked for.
        name: String,
    },
    /// A collection with another recipe or other spaces.
    #[error(
        "the collection {name:?} was made with {stored}, not with {asked}: fingerprints made or compared in two ways do not go \
         together; use the collection as it was made, or another one"
    )]
    OtherCollection {
        /// Its name.
        name: String,
        /// What it was made with: recipe, widths and distances.
        stored: String,
        /// What was asked for.
        asked: String,
    },
    /// A fingerprint in a space that the collection does not have.
    #[error("the collection {collection:?} has no space {}: this record or query belongs to another kind", space.0)]
    NoSpace {
        /// The collection.
        collection: String,
        /// The space.
        space: Space,
    },
    /// A record or a collection that names a space twice.
    #[error("space {} is named twice: a record has one fingerprint in each", space.0)]
    Twice {
        /// The space.
        space: Space,
    },
    /// A fingerprint of another width than the space's.
    #[error("fingerprints of space {} have {expected} bits, this has {found}: make it with the collection's recipe", space.0)]
    Width {
        /// The space.
        space: Space,
        /// Its width.
        expected: u32,
        /// The fingerprint's.
        found: u32,
    },
    /// A distance beyond what the collection was made for.
    #[error(
        "the collection was made for distances up to {built}, not {asked}: ask for less, or make one with a larger --distance"
    )]
    TooFar {
        /// What was asked for.
        asked: u32,
        /// What it was made for.
        built: u32,
    },
    /// A distance that means nothing.
    #[error("a distance of {within} among {width} bits would find nearly everything: use one below {}", width / 2)]
    Senseless {
        /// The width.
        width: u32,
        /// The distance.
        within: u32,
    },
    /// Another process, or another part of this one, has the store open.
    #[error("{path} is in use by {holder}: stop that process or use it, one process at a time can open a folder", path = path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who has it, as far as is known.
        holder: String,
    },
    /// Not a store, or one of a later version.
    #[error("{path}: {what}", path = path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// Something that had been stored cannot be read, or is missing.
    #[error("{path} is damaged: {what}; `leitong check-db --db {path}` says more, and --repair mends what can be mended", path = path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}{remedy}", path = path.display(), remedy = remedy(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An earlier write failed, so nothing is written or answered any more. What was acknowledged is safe.
    #[error("{path} answers no more since a write failed ({why}): mend the cause and open it again; nothing acknowledged is lost", path = path.display())]
    Stopped {
        /// The folder.
        path: PathBuf,
        /// What the first failure was.
        why: String,
    },
    /// The process that has the store open could not make a backup.
    #[error("no backup of {path} was made: {why}", path = path.display())]
    Backup {
        /// The folder.
        path: PathBuf,
        /// What went wrong there.
        why: String,
    },
    /// The address of a server that cannot be one.
    #[error("{address}: {what}")]
    Address {
        /// As it was given, without a password.
        address: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A server does not answer. Nothing was changed.
    #[error("{server} does not answer ({why}): check that it runs, its address and the network")]
    Unreachable {
        /// Its address, without a password.
        server: String,
        /// What was tried, and how it failed.
        why: String,
    },
    /// A server that answers, but not with what was asked for. Nothing was changed.
    #[error("{server}: {what}")]
    Refused {
        /// Its address, without a password.
        server: String,
        /// What it said and what to do about it.
        what: String,
    },
    /// A server that went away in the middle of a change.
    #[error(
        "{server} went away while it was changing something ({why}): the change may have been made or not; ask, or make it again"
    )]
    Uncertain {
        /// Its address, without a password.
        server: String,
        /// How it failed.
        why: String,
    },
    /// What a server gave back is not what was stored there.
    #[error("{server}: {what}; something else may write to the same keys or index")]
    Foreign {
        /// Its address, without a password.
        server: String,
        /// What it is.
        what: String,
    },
    /// The index of fingerprints failed.
    #[error(transparent)]
    Index(HammingError),
    /// The index of marks failed.
    #[error(transparent)]
    Marks(MarkError),
}

impl From<HammingError> for StoreError {
    fn from(error: HammingError) -> Self {
        match error {
            // With what to do about it.
            HammingError::Io { path, source } => Self::Io { path, source },
            other => Self::Index(other),
        }
    }
}

impl From<MarkError> for StoreError {
    fn from(error: MarkError) -> Self {
        match error {
            MarkError::Io { path, source } => Self::Io { path, source },
            other => Self::Marks(other),
        }
    }
}

impl StoreError {
    /// A failed file operation.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The same where a change may have been made before: that nothing was changed must not be said then.
    pub(crate) fn after_a_change(self) -> Self {
        match self {
            Self::Unreachable { server, why } | Self::Refused { server, what: why } => {
                Self::Uncertain { server, why }
            }
            other => other,
        }
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room on the disk and try again",
        ErrorKind::PermissionDenied => "; check who owns the folder and its permissions",
        ErrorKind::ReadOnlyFilesystem => "; a database must be on a disk that can be written",
        ErrorKind::NotADirectory => "; there is a file in its place: choose another folder",
        ErrorKind::NotFound => "; check the path",
        _ => "",
    }
}
