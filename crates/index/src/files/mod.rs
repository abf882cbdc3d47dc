//! How an index lies in a folder: segment files in checked chunks, the manifest that lists them, what has been deleted,
//! and who holds the folder. Both kinds of index are written this way; what a segment's sections hold is theirs.

mod deleted;
mod error;
mod folder;
mod manifest;
mod output;
mod sections;

pub(crate) use deleted::Deleted;
pub(crate) use error::{FileError, from_file_error};
pub(crate) use folder::{Folder, lock, refuse_segments};
pub(crate) use manifest::{Listed, Manifest, segment_path};
pub(crate) use output::Output;
pub(crate) use sections::{Part, Sections, open};

/// What tells the files of one kind of index from another's.
#[derive(Debug)]
pub(crate) struct Kind {
    /// How a segment begins.
    pub(crate) segment: [u8; 16],
    /// How a manifest begins.
    pub(crate) manifest: [u8; 16],
    /// For people.
    pub(crate) name: &'static str,
}

/// Does something on so many threads of its own, as many as the machine has if 0; the text says what went wrong with them.
///
/// For what is done while a lock is held: a worker of the caller's pool that waits for its share of the work could pick
/// up another call that wants the lock.
pub(crate) fn apart<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())?;
    let outcome = std::thread::scope(|scope| scope.spawn(|| pool.install(work)).join());
    outcome.map_err(|_| "building a segment panicked".into())
}
