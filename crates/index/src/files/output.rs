//! Writing a segment: sections grow piece by piece, in memory or in a file that gets its name when it is complete.

use super::sections::{self, Part, Sections};
use super::{FileError, Kind};
use crate::memory::Buffer;
use bytemuck::Pod;
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use xxhash_rust::xxh3::xxh3_64;

/// Chunks that are written at once.
const RUN_CHUNKS: usize = 16;
/// Bytes after which the disk is asked to begin writing.
const SYNC_EVERY: usize = 128 << 20;
/// Bytes that one thread copies at once.
const MEMORY_RUN: usize = 1 << 20;

/// Takes the sections of a segment as they are made, in any order and piece by piece.
pub(crate) struct Output {
    target: Target,
    sections: Vec<Growing>,
}

enum Target {
    Memory,
    File {
        kind: &'static Kind,
        file: File,
        temporary: Temporary,
        path: PathBuf,
        shift: u32,
        end: u64,
        syncer: Syncer,
    },
}

/// A file that is not complete yet: removed if it never is.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

struct Growing {
    part: Part,
    written: usize,
    place: Place,
}

enum Place {
    Memory(Buffer<u8>),
    /// The bytes of the chunk being filled, and the checksums of those before it.
    File {
        offset: u64,
        reserved: usize,
        pending: Vec<u8>,
        sums: Vec<u64>,
    },
}

impl Output {
    /// Sections stay in memory.
    pub(crate) fn memory() -> Self {
        Self { target: Target::Memory, sections: Vec::new() }
    }

    /// Sections go to a file, which gets its name when it is complete. `expected` bytes decide the chunk size.
    pub(crate) fn file(kind: &'static Kind, path: &Path, expected: u64) -> Result<Self, FileError> {
        let shift = if expected < 16 << 20 { 12 } else { 16 };
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = Temporary(temporary.into());
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary.0)
            .map_err(|error| FileError::io(&temporary.0, error))?;
        let syncer = Syncer::new(&file).map_err(|error| FileError::io(&temporary.0, error))?;
        let target =
            Target::File { kind, file, temporary, path: path.to_owned(), shift, end: 1 << shift, syncer };
        Ok(Self { target, sections: Vec::new() })
    }

    /// Opens a section for at most `bytes` bytes; what is not written of it takes no room.
    pub(crate) fn section(&mut self, part: Part, bytes: usize) -> Result<usize, FileError> {
        let place = match &mut self.target {
            Target::Memory => {
                Place::Memory(Buffer::zeroed(bytes).map_err(|error| FileError::memory(bytes, error))?)
            }
            Target::File { shift, end, .. } => {
                let offset = *end;
                *end += (bytes as u64).next_multiple_of(1 << *shift);
                Place::File {
                    offset,
                    reserved: bytes,
                    pending: Vec::with_capacity(1 << *shift),
                    sums: Vec::new(),
                }
            }
        };
        self.sections.push(Growing { part, written: 0, place });
        Ok(self.sections.len() - 1)
    }

    /// Adds items at the end of a section.
    pub(crate) fn append<T: Pod>(&mut self, section: usize, items: &[T]) -> Result<(), FileError> {
        self.append_all(section, std::iter::once(items))
    }

    /// Adds all pieces, one behind the other, at the end of a section. All threads share the work.
    pub(crate) fn append_all<'a, T: Pod>(
        &mut self,
        section: usize,
        pieces: impl Iterator<Item = &'a [T]>,
    ) -> Result<(), FileError> {
        let mut pieces: Vec<&[u8]> = pieces.map(bytemuck::cast_slice).collect();
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let growing = &mut self.sections[section];
        let written = growing.written;
        growing.written += bytes;
        match (&mut growing.place, &mut self.target) {
            (Place::Memory(buffer), _) => {
                let runs = buffer[written..written + bytes].par_chunks_mut(MEMORY_RUN).enumerate();
                runs.for_each(|(run, target)| gather(&pieces, run * MEMORY_RUN, target));
            }
            (
                Place::File { offset, reserved, pending, sums },
                Target::File { file, temporary, shift, syncer, .. },
            ) => {
                debug_assert!(growing.written <= *reserved, "{:?} outgrew its place", growing.part);
                pieces.insert(0, pending);
                let all = pending.len() + bytes;
                let whole = all >> *shift << *shift;
                let place = *offset + ((sums.len() as u64) << *shift);
                let added = write_chunks(file, place, &pieces, whole, 1 << *shift);
                sums.extend(added.map_err(|error| FileError::io(&temporary.0, error))?);
                syncer.note(whole);
                let mut rest = vec![0; all - whole];
                gather(&pieces, whole, &mut rest);
                *pending = rest;
            }
            (Place::File { .. }, Target::Memory) => {}
        }
        Ok(())
    }

    /// Writes a whole section.
    pub(crate) fn whole<T: Pod>(&mut self, part: Part, pieces: &[&[T]]) -> Result<(), FileError> {
        let section = self.section(part, pieces.iter().map(|piece| size_of_val(*piece)).sum())?;
        self.append_all(section, pieces.iter().copied())
    }

    /// How many items of `T` a section has so far.
    pub(crate) fn items<T>(&self, section: usize) -> usize {
        self.sections[section].written / size_of::<T>()
    }

    /// Closes the segment. A file is synced, named and opened.
    pub(crate) fn finish(self, parameters: Vec<u64>) -> Result<Sections, FileError> {
        match self.target {
            Target::Memory => {
                let list = self.sections.into_iter().filter_map(|growing| match growing.place {
                    Place::Memory(buffer) => Some((growing.part, buffer, growing.written)),
                    Place::File { .. } => None,
                });
                Ok(Sections::in_memory(parameters, list.collect()))
            }
            Target::File { kind, file, temporary, path, shift, end, syncer } => {
                finish_file(kind, &file, self.sections, &parameters, shift, end)
                    .and_then(|()| syncer.finish())
                    .and_then(|()| file.sync_all())
                    .and_then(|()| std::fs::rename(&temporary.0, &path))
                    // The name must be there before anything refers to it.
                    .and_then(|()| File::open(folder_of(&path))?.sync_all())
                    .map_err(|error| FileError::io(&temporary.0, error))?;
                sections::open(kind, &path)
            }
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Sends what has been written to the disk while more is made, so that little is left for the end.
struct Syncer {
    wake: SyncSender<()>,
    thread: JoinHandle<std::io::Result<()>>,
    unsynced: usize,
}

impl Syncer {
    fn new(file: &File) -> std::io::Result<Self> {
        let file = file.try_clone()?;
        let (wake, woken) = sync_channel(1);
        // A failure is reported to the first who asks, so it must not be passed over here.
        let thread =
            std::thread::Builder::new().spawn(move || woken.iter().try_for_each(|()| file.sync_data()))?;
        Ok(Self { wake, thread, unsynced: 0 })
    }

    fn note(&mut self, written: usize) {
        self.unsynced += written;
        // If the thread is still busy, the next call will do.
        if self.unsynced >= SYNC_EVERY && self.wake.try_send(()).is_ok() {
            self.unsynced = 0;
        }
    }

    fn finish(self) -> std::io::Result<()> {
        drop(self.wake);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("the thread that syncs the file panicked")))
    }
}

/// Copies what lies from `start` on when the pieces are laid end to end.
fn gather(pieces: &[&[u8]], mut start: usize, mut target: &mut [u8]) {
    for piece in pieces {
        let behind = &piece[start.min(piece.len())..];
        start -= piece.len() - behind.len();
        let (now, later) = target.split_at_mut(behind.len().min(target.len()));
        now.copy_from_slice(&behind[..now.len()]);
        target = later;
    }
}

/// Writes the first `bytes` bytes of the pieces, whole chunks, and gives the chunks' checksums.
fn write_chunks(
    file: &File,
    place: u64,
    pieces: &[&[u8]],
    bytes: usize,
    chunk: usize,
) -> std::io::Result<Vec<u64>> {
    let run = chunk * RUN_CHUNKS;
    let write = |start: usize| {
        let mut run = vec![0; run.min(bytes - start)];
        gather(pieces, start, &mut run);
        file.write_all_at(&run, place + start as u64)?;
        Ok(run.chunks(chunk).map(xxh3_64).collect())
    };
    let starts: Vec<usize> = (0..bytes).step_by(run).collect();
    let sums: Vec<Vec<u64>> = starts.into_par_iter().map(write).collect::<std::io::Result<_>>()?;
    Ok(sums.concat())
}

/// Writes what is still pending, then foot and head.
fn finish_file(
    kind: &Kind,
    file: &File,
    sections: Vec<Growing>,
    parameters: &[u64],
    shift: u32,
    end: u64,
) -> std::io::Result<()> {
    let chunk = 1_u64 << shift;
    let mut chunk_sums = vec![0; (end / chunk) as usize];
    let mut listed = Vec::new();
    for growing in sections {
        let Place::File { offset, mut pending, mut sums, .. } = growing.place else { continue };
        if !pending.is_empty() {
            pending.resize(chunk as usize, 0);
            file.write_all_at(&pending, offset + sums.len() as u64 * chunk)?;
            sums.push(xxh3_64(&pending));
        }
        let first = (offset / chunk) as usize;
        chunk_sums[first..first + sums.len()].copy_from_slice(&sums);
        listed.push((growing.part, offset, growing.written as u64));
    }
    let foot = sections::foot(parameters, &listed, &chunk_sums);
    file.write_all_at(&foot, end)?;
    file.write_all_at(&sections::head(kind, shift, end, foot.len() as u64), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: Kind = Kind { segment: *b"0123456789abcdef", manifest: [0; 16], name: "test" };

    #[test]
    fn pieces_of_any_length_are_laid_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let pieces: Vec<Vec<u8>> = [0, 1, 4095, 4096, 4097, 3, 70_000, 0, 200_000, 5]
            .map(|len| (0..len).map(|i| (i * 7 + len) as u8).collect())
            .into();
        for output in [Output::memory(), Output::file(&KIND, &folder.path().join("small"), 0).unwrap()] {
            let mut output = output;
            let (one, other) = (
                output.section(Part::Values, 1 << 20).unwrap(),
                output.section(Part::Twins, 1 << 20).unwrap(),
            );
            for pieces in pieces.chunks(3) {
                output.append_all(one, pieces.iter().map(|piece| &**piece)).unwrap();
                pieces.iter().for_each(|piece| output.append(other, piece).unwrap());
            }
            let sections = output.finish(vec![1, 2]).unwrap();
            for part in [Part::Values, Part::Twins] {
                assert!(sections.get::<u8>(part).unwrap().view().items == pieces.concat());
            }
            sections.verify().unwrap();
            assert_eq!(sections.bytes(), 2 * pieces.concat().len() as u64);
        }
    }
}
