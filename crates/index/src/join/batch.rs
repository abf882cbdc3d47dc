//! Where the values of a join come from.

use super::JoinError;
use crate::Value;
use crate::memory::Buffer;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How many values are read at a time from a batch that is not in memory.
const BLOCK: usize = 4096;

/// Values by position, read from several threads at once and several times over.
pub trait Batch<V: Value>: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the values from position `from` on into `into`, which does not reach beyond the last.
    fn read(&self, from: usize, into: &mut [V]) -> io::Result<()>;

    /// All of them, where they lie in memory (or are mapped into it): spares the copying.
    fn whole(&self) -> Option<&[V]> {
        None
    }

    /// Whether reading again costs about as little as the first time. If not, the join makes a copy for itself, in
    /// memory or in its spill folder, and reads the batch once.
    fn reads_again(&self) -> bool {
        true
    }
}

impl<V: Value> Batch<V> for [V] {
    fn len(&self) -> usize {
        <[V]>::len(self)
    }

    fn read(&self, from: usize, into: &mut [V]) -> io::Result<()> {
        into.copy_from_slice(&self[from..from + into.len()]);
        Ok(())
    }

    fn whole(&self) -> Option<&[V]> {
        Some(self)
    }
}

impl<V: Value, B: Batch<V> + ?Sized> Batch<V> for &B {
    fn len(&self) -> usize {
        B::len(self)
    }

    fn read(&self, from: usize, into: &mut [V]) -> io::Result<()> {
        B::read(self, from, into)
    }

    fn whole(&self) -> Option<&[V]> {
        B::whole(self)
    }

    fn reads_again(&self) -> bool {
        B::reads_again(self)
    }
}

/// One batch, or two laid end to end: positions of the second go on where the first ends.
pub(super) struct Input<'a, V: Value> {
    pub(super) left: &'a dyn Batch<V>,
    pub(super) right: Option<&'a dyn Batch<V>>,
}

impl<V: Value> Input<'_, V> {
    /// How many in both.
    pub(super) fn len(&self) -> usize {
        self.left.len() + self.right.map_or(0, |right| right.len())
    }

    /// Hands out the values of a range, in order, some at a time: the position of the first, and they.
    pub(super) fn visit(&self, range: Range<usize>, mut see: impl FnMut(usize, &[V])) -> io::Result<()> {
        let border = self.left.len();
        visit_one(self.left, range.start.min(border)..range.end.min(border), &mut see)?;
        let Some(right) = self.right else { return Ok(()) };
        let rest = range.start.max(border) - border..range.end.max(border) - border;
        visit_one(right, rest, &mut |from, values: &[V]| see(border + from, values))
    }

    /// The value at one position.
    pub(super) fn at(&self, position: usize) -> io::Result<V> {
        let mut value = V::ZERO;
        self.visit(position..position + 1, |_, values| value = values[0])?;
        Ok(value)
    }
}

fn visit_one<V: Value>(
    batch: &dyn Batch<V>,
    range: Range<usize>,
    see: &mut impl FnMut(usize, &[V]),
) -> io::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    if let Some(values) = batch.whole() {
        see(range.start, &values[range]);
        return Ok(());
    }
    let mut block = vec![V::ZERO; range.len().min(BLOCK)];
    for from in range.clone().step_by(BLOCK) {
        let values = &mut block[..BLOCK.min(range.end - from)];
        batch.read(from, values)?;
        see(from, values);
    }
    Ok(())
}

/// A copy of a batch that is costly to read twice.
pub(super) enum Copy<V: Value> {
    Memory(Buffer<V>),
    File { file: File, len: usize },
}

impl<V: Value> Copy<V> {
    /// Copies a batch into memory if it takes at most `room` bytes, else into a nameless file in `folder`.
    pub(super) fn of(batch: &dyn Batch<V>, room: u64, folder: Option<&Path>) -> Result<Self, JoinError> {
        let len = batch.len();
        if (len * size_of::<V>()) as u64 <= room {
            let mut copy = Buffer::zeroed(len).map_err(JoinError::Allocate)?;
            for (i, block) in copy.chunks_mut(BLOCK).enumerate() {
                batch.read(i * BLOCK, block).map_err(JoinError::Read)?;
            }
            return Ok(Self::Memory(copy));
        }
        let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
        let spill = |source| JoinError::Spill { folder: folder.clone(), source };
        let mut file = tempfile::tempfile_in(&folder).map_err(spill)?;
        let mut block = [V::ZERO; BLOCK];
        for from in (0..len).step_by(BLOCK) {
            let values = &mut block[..BLOCK.min(len - from)];
            batch.read(from, values).map_err(JoinError::Read)?;
            file.write_all(bytemuck::cast_slice(values)).map_err(spill)?;
        }
        Ok(Self::File { file, len })
    }

    /// The bytes of memory it takes.
    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Memory(copy) => size_of_val::<[V]>(copy) as u64,
            Self::File { .. } => 0,
        }
    }
}

impl<V: Value> Batch<V> for Copy<V> {
    fn len(&self) -> usize {
        match self {
            Self::Memory(copy) => copy.len(),
            Self::File { len, .. } => *len,
        }
    }

    fn read(&self, from: usize, into: &mut [V]) -> io::Result<()> {
        match self {
            Self::Memory(copy) => copy.read(from, into),
            Self::File { file, .. } => {
                read_at(file, bytemuck::cast_slice_mut(into), (from * size_of::<V>()) as u64)
            }
        }
    }

    fn whole(&self) -> Option<&[V]> {
        match self {
            Self::Memory(copy) => Some(copy),
            Self::File { .. } => None,
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], from: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, from)
}

#[cfg(windows)]
fn read_at(file: &File, mut into: &mut [u8], mut from: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, from)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                into = &mut into[count..];
                from += count as u64;
            }
        }
    }
    Ok(())
}
