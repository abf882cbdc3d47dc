//! Numbers in partitions, in memory as long as they fit and on disk beyond that.

use super::BatchError;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Numbers that belong to partitions.
pub(super) struct Spill {
    partitions: Vec<Vec<u64>>,
    /// Numbers in memory, and how many may be.
    held: usize,
    most: usize,
    folder: PathBuf,
    file: Option<File>,
    /// Bytes written.
    written: u64,
    /// Per partition the pieces in the file: where, how many numbers.
    pieces: Vec<Vec<(u64, usize)>>,
}

impl Spill {
    /// So many partitions, in at most so many bytes of memory; the rest is in a file without a name in `folder`.
    pub(super) fn new(partitions: usize, memory: u64, folder: &Path) -> Self {
        let most = (memory / 8).max(1 << 8) as usize;
        Self {
            partitions: vec![Vec::new(); partitions],
            held: 0,
            most,
            folder: folder.to_owned(),
            file: None,
            written: 0,
            pieces: vec![Vec::new(); partitions],
        }
    }

    /// With room for so many numbers, evenly spread.
    pub(super) fn expecting(mut self, numbers: u64) -> Self {
        let each = numbers.min(self.most as u64) as usize / self.partitions.len();
        self.partitions.iter_mut().for_each(|partition| partition.reserve(each + each / 16));
        self
    }

    #[inline]
    pub(super) fn push(&mut self, partition: usize, number: u64) -> Result<(), BatchError> {
        self.partitions[partition].push(number);
        self.held += 1;
        if self.held >= self.most { self.spill() } else { Ok(()) }
    }

    #[cold]
    fn spill(&mut self) -> Result<(), BatchError> {
        let mut write = || {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(tempfile::tempfile_in(&self.folder)?),
            };
            for (numbers, pieces) in self.partitions.iter_mut().zip(&mut self.pieces) {
                if numbers.is_empty() {
                    continue;
                }
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                file.write_all(&bytes)?;
                pieces.push((self.written, numbers.len()));
                self.written += bytes.len() as u64;
                // The memory is for other partitions now.
                *numbers = Vec::new();
            }
            Ok(())
        };
        write().map_err(BatchError::at(&self.folder))?;
        self.held = 0;
        Ok(())
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> u64 {
        let written = self.pieces.iter().flatten().map(|&(_, count)| count as u64).sum::<u64>();
        written + self.held as u64
    }

    /// Whether some of it is on disk.
    pub(super) fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// All numbers of a partition, in the order they came; its memory is given back.
    pub(super) fn take(&mut self, partition: usize) -> Result<Vec<u64>, BatchError> {
        let own = std::mem::take(&mut self.partitions[partition]);
        self.held -= own.len();
        if self.pieces[partition].is_empty() {
            return Ok(own);
        }
        let mut all = self.pieces_of(partition)?;
        all.extend(own);
        Ok(all)
    }

    /// All numbers of a partition, in the order they came.
    pub(super) fn read(&self, partition: usize) -> Result<Vec<u64>, BatchError> {
        let mut all = self.pieces_of(partition)?;
        all.extend_from_slice(&self.partitions[partition]);
        Ok(all)
    }

    fn pieces_of(&self, partition: usize) -> Result<Vec<u64>, BatchError> {
        let mut all = Vec::new();
        let Some(file) = &self.file else { return Ok(all) };
        for &(at, count) in &self.pieces[partition] {
            let mut bytes = vec![0; count * 8];
            file.read_exact_at(&mut bytes, at).map_err(BatchError::at(&self.folder))?;
            let (numbers, _) = bytes.as_chunks::<8>();
            all.extend(numbers.iter().map(|&number| u64::from_le_bytes(number)));
        }
        Ok(all)
    }
}
