//! What a segment looks like on disk, byte by byte.
//!
//! ```text
//! 0        magic, version, lengths, checksum of these          one chunk
//! chunk    sections, each from a chunk's start on, zero padded  the tables
//! foot     parameters of the layout · the list of sections · a checksum per chunk · a checksum of the foot
//! ```
//! Numbers are little-endian words of 64 bits, sections hold what [`Part`] says. A chunk has 4 KiB in small files and
//! 64 KiB in large ones. Opening reads head and foot; chunks are checked when they are first read ([`crate::memory`]).

use super::HammingError;
use crate::memory::{Buffer, MappedFile, Section, Storage};
use bytemuck::Pod;
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 16] = *b"leitong hamming\n";
const VERSION: u64 = 1;
const HEAD_WORDS: usize = 8;
/// Words of a section in the foot: kind, table, offset, bytes.
const SECTION_WORDS: usize = 4;

/// Chunks that are written at once.
const RUN_CHUNKS: usize = 16;
/// Bytes after which the disk is asked to begin writing.
const SYNC_EVERY: usize = 128 << 20;
/// Bytes that one thread copies at once.
const MEMORY_RUN: usize = 1 << 20;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The values, in the order of their ordinals.
    Values,
    /// Ordinals, relative to the segment's first.
    Ordinals,
    /// Lists of items with equal values.
    Twins,
    /// Where each bucket of a table starts.
    Directory(u32),
    /// The bits after the directory's, as a dense column.
    Near(u32),
    /// Which value an entry stands for.
    Rows(u32),
    /// All bits but the directory's, packed.
    Rests(u32),
    /// Which combinations of bits occur at all.
    Filter(u32),
}

impl Part {
    fn words(self) -> [u64; 2] {
        let (kind, table) = match self {
            Self::Values => (1, 0),
            Self::Ordinals => (2, 0),
            Self::Twins => (3, 0),
            Self::Directory(table) => (4, table),
            Self::Near(table) => (5, table),
            Self::Rows(table) => (6, table),
            Self::Rests(table) => (7, table),
            Self::Filter(table) => (8, table),
        };
        [kind, u64::from(table)]
    }
}

/// Takes the sections of a segment as they are made, in any order and piece by piece.
pub(crate) struct Output {
    target: Target,
    sections: Vec<Growing>,
}

enum Target {
    Memory,
    File { file: File, temporary: Temporary, path: PathBuf, shift: u32, end: u64, syncer: Syncer },
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

/// The sections of a finished segment, and the parameters of its layout.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) parameters: Vec<u64>,
    list: Vec<(PartWords, Storage, usize, usize)>,
    file: Option<(Arc<MappedFile>, PathBuf)>,
    /// The checksum of the foot; 0 in memory.
    pub(crate) identity: u64,
}

/// A [`Part`] as it is written.
type PartWords = [u64; 2];

impl Output {
    /// Sections stay in memory.
    pub(crate) fn memory() -> Self {
        Self { target: Target::Memory, sections: Vec::new() }
    }

    /// Sections go to a file, which gets its name when it is complete. `expected` bytes decide the chunk size.
    pub(crate) fn file(path: &Path, expected: u64) -> Result<Self, HammingError> {
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
            .map_err(|error| HammingError::io(&temporary.0, error))?;
        let syncer = Syncer::new(&file).map_err(|error| HammingError::io(&temporary.0, error))?;
        let target = Target::File { file, temporary, path: path.to_owned(), shift, end: 1 << shift, syncer };
        Ok(Self { target, sections: Vec::new() })
    }

    /// Opens a section for at most `bytes` bytes; what is not written of it takes no room.
    pub(crate) fn section(&mut self, part: Part, bytes: usize) -> Result<usize, HammingError> {
        let place = match &mut self.target {
            Target::Memory => {
                Place::Memory(Buffer::zeroed(bytes).map_err(|error| HammingError::memory(bytes, error))?)
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
    pub(crate) fn append<T: Pod>(&mut self, section: usize, items: &[T]) -> Result<(), HammingError> {
        self.append_all(section, std::iter::once(items))
    }

    /// Adds all pieces, one behind the other, at the end of a section. All threads share the work.
    pub(crate) fn append_all<'a, T: Pod>(
        &mut self,
        section: usize,
        pieces: impl Iterator<Item = &'a [T]>,
    ) -> Result<(), HammingError> {
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
                sums.extend(added.map_err(|error| HammingError::io(&temporary.0, error))?);
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
    pub(crate) fn whole<T: Pod>(&mut self, part: Part, pieces: &[&[T]]) -> Result<(), HammingError> {
        let section = self.section(part, pieces.iter().map(|piece| size_of_val(*piece)).sum())?;
        self.append_all(section, pieces.iter().copied())
    }

    /// How many items of `T` a section has so far.
    pub(crate) fn items<T>(&self, section: usize) -> usize {
        self.sections[section].written / size_of::<T>()
    }

    /// Closes the segment. A file is synced, named and opened.
    pub(crate) fn finish(self, parameters: Vec<u64>) -> Result<Sections, HammingError> {
        match self.target {
            Target::Memory => {
                let list = self.sections.into_iter().filter_map(|growing| match growing.place {
                    Place::Memory(buffer) => {
                        Some((growing.part.words(), Storage::Buffer(Arc::new(buffer)), 0, growing.written))
                    }
                    Place::File { .. } => None,
                });
                Ok(Sections { parameters, list: list.collect(), file: None, identity: 0 })
            }
            Target::File { mut file, temporary, path, shift, end, syncer } => {
                finish_file(&mut file, self.sections, parameters, shift, end)
                    .and_then(|()| syncer.finish())
                    .and_then(|()| file.sync_all())
                    .and_then(|()| std::fs::rename(&temporary.0, &path))
                    // The name must be there before anything refers to it.
                    .and_then(|()| File::open(folder_of(&path))?.sync_all())
                    .map_err(|error| HammingError::io(&temporary.0, error))?;
                open(&path)
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

fn finish_file(
    file: &mut File,
    sections: Vec<Growing>,
    parameters: Vec<u64>,
    shift: u32,
    end: u64,
) -> std::io::Result<()> {
    let chunk = 1_u64 << shift;
    let mut chunk_sums = vec![0; (end / chunk) as usize];
    let mut foot = vec![parameters.len() as u64];
    foot.extend(parameters);
    foot.push(sections.len() as u64);
    for growing in sections {
        let Place::File { offset, mut pending, mut sums, .. } = growing.place else { continue };
        if !pending.is_empty() {
            pending.resize(chunk as usize, 0);
            file.write_all_at(&pending, offset + sums.len() as u64 * chunk)?;
            sums.push(xxh3_64(&pending));
        }
        let first = (offset / chunk) as usize;
        chunk_sums[first..first + sums.len()].copy_from_slice(&sums);
        foot.extend(growing.part.words());
        foot.extend([offset, growing.written as u64]);
    }
    foot.push(chunk_sums.len() as u64);
    foot.extend(chunk_sums);
    foot.push(xxh3_64(bytemuck::cast_slice(&foot)));
    let foot: &[u8] = bytemuck::cast_slice(&foot);
    file.write_all_at(foot, end)?;

    let mut head = Vec::with_capacity(HEAD_WORDS * 8);
    head.write_all(&MAGIC)?;
    for word in [VERSION, u64::from(shift), end, foot.len() as u64, end + foot.len() as u64] {
        head.write_all(&word.to_le_bytes())?;
    }
    let sum = xxh3_64(&head);
    head.write_all(&sum.to_le_bytes())?;
    file.write_all_at(&head, 0)
}

/// Opens a segment file: checks head and foot, maps the rest.
pub(crate) fn open(path: &Path) -> Result<Sections, HammingError> {
    let refuse = |reason: String| HammingError::Refused { path: path.to_owned(), reason };
    let io = |error| HammingError::io(path, error);
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut head = [0; HEAD_WORDS * 8];
    if length < head.len() as u64 {
        return Err(refuse(format!("it has {length} bytes, too few for a segment")));
    }
    file.read_exact_at(&mut head, 0).map_err(io)?;
    if head[..16] != MAGIC {
        return Err(refuse("it is no segment of a Hamming index".into()));
    }
    let words = read_words(&head[16..]);
    let [version, shift, end, foot_length, whole, sum] = words[..] else {
        return Err(refuse("its head is damaged".into()));
    };
    if version != VERSION {
        return Err(refuse(format!(
            "it has format version {version}, this program reads version {VERSION}: use the program that wrote it, or build the index again"
        )));
    }
    if sum != xxh3_64(&head[..HEAD_WORDS * 8 - 8]) || !(10..=24).contains(&shift) {
        return Err(refuse("its head is damaged".into()));
    }
    if whole != length {
        return Err(refuse(format!("it has {length} bytes instead of {whole}: it was cut off or added to")));
    }
    if end.checked_add(foot_length) != Some(length) {
        return Err(refuse("its head is damaged".into()));
    }
    let mut foot = vec![0; foot_length as usize];
    file.read_exact_at(&mut foot, end).map_err(io)?;
    let foot = read_words(&foot);
    let (parameters, sections, sums) =
        read_foot(&foot).ok_or_else(|| refuse("its foot is damaged".into()))?;
    let identity = foot.last().copied().unwrap_or_default();

    let map = MappedFile::map(&file).map_err(io)?;
    let mapped = Arc::new(MappedFile::new(map, shift as u32, sums));
    let list = sections
        .chunks_exact(SECTION_WORDS)
        .map(|s| ([s[0], s[1]], Storage::File(Arc::clone(&mapped)), s[2] as usize, s[3] as usize))
        .collect();
    Ok(Sections { parameters, list, file: Some((mapped, path.to_owned())), identity })
}

fn read_words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        .collect()
}

/// Parameters, sections and checksums; `None` if the foot is not what was written.
fn read_foot(foot: &[u64]) -> Option<(Vec<u64>, Vec<u64>, Vec<u64>)> {
    let (sum, mut rest) = foot.split_last()?;
    let bytes: Vec<u8> = rest.iter().flat_map(|word| word.to_le_bytes()).collect();
    if xxh3_64(&bytes) != *sum {
        return None;
    }
    let mut list = |size: usize| {
        let (count, behind) = rest.split_first()?;
        let (items, behind) = behind.split_at_checked((*count as usize).checked_mul(size)?)?;
        rest = behind;
        Some(items.to_vec())
    };
    Some((list(1)?, list(SECTION_WORDS)?, list(1)?))
}

impl Sections {
    /// The section that holds `part`.
    pub(crate) fn get<T: Pod>(&self, part: Part) -> Result<Section<T>, HammingError> {
        let missing = || self.refused(&format!("its section {part:?} is missing or does not fit"));
        let (_, storage, offset, bytes) =
            self.list.iter().find(|s| s.0 == part.words()).ok_or_else(missing)?;
        Section::new(storage.clone(), *offset, bytes / size_of::<T>()).ok_or_else(missing)
    }

    /// Whether there is such a section.
    pub(crate) fn has(&self, part: Part) -> bool {
        self.list.iter().any(|section| section.0 == part.words())
    }

    /// Reads everything once and compares all checksums.
    pub(crate) fn verify(&self) -> Result<(), HammingError> {
        for (_, storage, offset, bytes) in &self.list {
            if let Some(section) = Section::<u8>::new(storage.clone(), *offset, *bytes) {
                section.view().expect_all();
            }
            self.sound()?;
        }
        Ok(())
    }

    /// The error for a segment that does not make sense.
    pub(crate) fn refused(&self, reason: &str) -> HammingError {
        HammingError::Refused {
            path: self.path().unwrap_or(Path::new("(memory)")).to_owned(),
            reason: reason.into(),
        }
    }

    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(_, path)| path.as_path())
    }

    /// An error once a broken chunk has been met.
    #[inline]
    pub(crate) fn sound(&self) -> Result<(), HammingError> {
        match &self.file {
            Some((file, path)) => match file.broken() {
                Some(offset) => Err(HammingError::Broken { path: path.clone(), offset }),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Bytes of all sections.
    pub(crate) fn bytes(&self) -> u64 {
        self.list.iter().map(|section| section.3 as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_are_laid_end_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let pieces: Vec<Vec<u8>> = [0, 1, 4095, 4096, 4097, 3, 70_000, 0, 200_000, 5]
            .map(|len| (0..len).map(|i| (i * 7 + len) as u8).collect())
            .into();
        for output in [Output::memory(), Output::file(&folder.path().join("small"), 0).unwrap()] {
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
