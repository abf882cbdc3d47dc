//! The list of an index's segments: the one file that says what belongs to it.
//!
//! ```text
//! magic · version · two settings · end · number of segments · { first ordinal, end, file number, its checksum } ×
//! number of chunks · { chunk, 1024 words of the deleted bitmap } × · checksum
//! ```
//! All little-endian words of 64 bits. It is replaced as a whole, by renaming, so it is either the old or the new one.

use super::deleted::Deleted;
use super::{FileError, Kind};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const VERSION: u64 = 1;

/// What the manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// What the index was made for: its kind knows.
    pub(crate) settings: [u64; 2],
    /// The first ordinal that is in no segment yet.
    pub(crate) end: u64,
    pub(crate) segments: Vec<Listed>,
}

/// A segment as the manifest knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) ordinals: Range<u64>,
    pub(crate) file: u64,
    /// The checksum of its foot, and so of everything in it: another index's file is not taken for it.
    pub(crate) identity: u64,
}

pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("manifest")
}

/// Where it is written before it takes the other's place.
pub(super) fn temporary(folder: &Path) -> PathBuf {
    folder.join("manifest.tmp")
}

pub(crate) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.segment"))
}

impl Manifest {
    /// Writes it to disk, for good: the folder is synced too.
    pub(crate) fn write(&self, kind: &Kind, folder: &Path, deleted: &Deleted) -> Result<(), FileError> {
        let [one, other] = self.settings;
        let mut words = vec![VERSION, one, other, self.end, self.segments.len() as u64];
        for listed in &self.segments {
            words.extend([listed.ordinals.start, listed.ordinals.end, listed.file, listed.identity]);
        }
        // What lies behind the end will be given again, to something else.
        deleted.below(self.end).append_to(&mut words);
        let mut bytes = kind.manifest.to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        let (temporary, path) = (temporary(folder), path(folder));
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| FileError::io(&path, error))
    }

    /// Reads it; `None` where there is none.
    pub(crate) fn read(kind: &Kind, folder: &Path) -> Result<Option<(Self, Deleted)>, FileError> {
        let path = path(folder);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileError::io(&path, error)),
        };
        let refuse = |reason: &str| FileError::Refused { path: path.clone(), reason: reason.into() };
        let Some(behind) = bytes.strip_prefix(&kind.manifest) else {
            return Err(refuse(&format!("it is no manifest of a {}", kind.name)));
        };
        let (words, rest) = behind.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if words.first().is_some_and(|&version| version != VERSION) {
            return Err(refuse("it was written by a newer program: use that one"));
        }
        let damaged =
            || refuse("it is damaged: delete the folder and build the index again from the documents");
        let sound = rest.is_empty() && words.last() == Some(&xxh3_64(&bytes[..bytes.len() - 8]));
        if !sound {
            return Err(damaged());
        }
        Self::parse(&words[1..words.len() - 1]).map(Some).ok_or_else(damaged)
    }

    fn parse(words: &[u64]) -> Option<(Self, Deleted)> {
        let (&[one, other, end, count], rest) = words.split_first_chunk()?;
        let (segments, rest) = rest.split_at_checked((count as usize).checked_mul(4)?)?;
        let (segments, _) = segments.as_chunks::<4>();
        let listed = |&[from, to, file, identity]: &[u64; 4]| Listed { ordinals: from..to, file, identity };
        let segments = segments.iter().map(listed).collect();
        Some((Self { settings: [one, other], end, segments }, Deleted::parse(rest)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { segment: [0; 16], manifest: *b"0123456789abcdef", name: "test" };

    #[test]
    fn reads_back_what_it_wrote_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(&KIND, folder.path()).unwrap().map(|read| read.0), None);
        let listed = |ordinals, file| Listed { ordinals, file, identity: 77 + file };
        let manifest =
            Manifest { settings: [64, 3], end: 99, segments: vec![listed(0..70, 1), listed(70..99, 5)] };
        let mut deleted = Deleted::default();
        assert!([3, 98, 70_000].iter().all(|&ordinal| deleted.insert(ordinal)));
        manifest.write(&KIND, folder.path(), &deleted).unwrap();
        let (read, read_deleted) = Manifest::read(&KIND, folder.path()).unwrap().unwrap();
        assert_eq!(read, manifest);
        assert_eq!(read_deleted.iter().collect::<Vec<_>>(), [3, 98], "70,000 lies behind the end");

        let bytes = std::fs::read(path(folder.path())).unwrap();
        for damage in 0..bytes.len() {
            if damage % 97 == 0 || damage < 100 {
                let mut bytes = bytes.clone();
                bytes[damage] ^= 4;
                std::fs::write(path(folder.path()), &bytes).unwrap();
                assert!(
                    matches!(Manifest::read(&KIND, folder.path()), Err(FileError::Refused { .. })),
                    "byte {damage}"
                );
                std::fs::write(path(folder.path()), &bytes[..damage]).unwrap();
                assert!(
                    matches!(Manifest::read(&KIND, folder.path()), Err(FileError::Refused { .. })),
                    "cut at {damage}"
                );
            }
        }
    }
}
