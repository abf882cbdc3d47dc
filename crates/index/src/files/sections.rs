//! What a segment looks like on disk, byte by byte.
//!
//! ```text
//! 0        magic, version, lengths, checksum of these          one chunk
//! chunk    sections, each from a chunk's start on, zero padded  the tables
//! foot     parameters of the layout · the list of sections · a checksum per chunk · a checksum of the foot
//! ```
//! Numbers are little-endian words of 64 bits, sections hold what [`Part`] says. A chunk has 4 KiB in small files and
//! 64 KiB in large ones. Opening reads head and foot; chunks are checked when they are first read ([`crate::memory`]).

use super::{FileError, Kind};
use crate::memory::{Buffer, MappedFile, Section, Storage};
use bytemuck::Pod;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

const VERSION: u64 = 1;
const HEAD_WORDS: usize = 8;
/// Words of a section in the foot: kind, table, offset, bytes.
const SECTION_WORDS: usize = 4;

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
    /// Documents, in the order of their ordinals.
    Documents,
    /// Which documents have which mark.
    Postings,
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
            Self::Documents => (9, 0),
            Self::Postings => (10, 0),
        };
        [kind, u64::from(table)]
    }
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

/// The foot: see above. `sections` are part, offset and bytes.
pub(crate) fn foot(parameters: &[u64], sections: &[(Part, u64, u64)], sums: &[u64]) -> Vec<u8> {
    let mut words = vec![parameters.len() as u64];
    words.extend(parameters);
    words.push(sections.len() as u64);
    for (part, offset, bytes) in sections {
        words.extend(part.words());
        words.extend([offset, bytes]);
    }
    words.push(sums.len() as u64);
    words.extend(sums);
    with_checksum(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// The head of a file whose foot starts at `end` and has `foot` bytes.
pub(crate) fn head(kind: &Kind, shift: u32, end: u64, foot: u64) -> Vec<u8> {
    let words = [VERSION, u64::from(shift), end, foot, end + foot];
    with_checksum(kind.segment.into_iter().chain(words.into_iter().flat_map(u64::to_le_bytes)).collect())
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Opens a segment file: checks head and foot, maps the rest.
pub(crate) fn open(kind: &Kind, path: &Path) -> Result<Sections, FileError> {
    let refuse = |reason: String| FileError::Refused { path: path.to_owned(), reason };
    let io = |error| FileError::io(path, error);
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut head = [0; HEAD_WORDS * 8];
    if length < head.len() as u64 {
        return Err(refuse(format!("it has {length} bytes, too few for a segment")));
    }
    file.read_exact_at(&mut head, 0).map_err(io)?;
    if head[..16] != kind.segment {
        return Err(refuse(format!("it is no segment of a {}", kind.name)));
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
    /// Of sections that were never in a file, with the bytes used of each.
    pub(crate) fn in_memory(parameters: Vec<u64>, sections: Vec<(Part, Buffer<u8>, usize)>) -> Self {
        let section =
            |(part, buffer, bytes): (Part, _, _)| (part.words(), Storage::Buffer(Arc::new(buffer)), 0, bytes);
        Self { parameters, list: sections.into_iter().map(section).collect(), file: None, identity: 0 }
    }

    /// The section that holds `part`.
    pub(crate) fn get<T: Pod>(&self, part: Part) -> Result<Section<T>, FileError> {
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
    pub(crate) fn verify(&self) -> Result<(), FileError> {
        for (_, storage, offset, bytes) in &self.list {
            if let Some(section) = Section::<u8>::new(storage.clone(), *offset, *bytes) {
                section.view().expect_all();
            }
            self.sound()?;
        }
        Ok(())
    }

    /// The error for a segment that does not make sense.
    pub(crate) fn refused(&self, reason: &str) -> FileError {
        FileError::Refused {
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
    pub(crate) fn sound(&self) -> Result<(), FileError> {
        match &self.file {
            Some((file, path)) => match file.broken() {
                Some(offset) => Err(FileError::Broken { path: path.clone(), offset }),
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
