//! Large memory: zeroed buffers on huge pages, files mapped into memory, and the slices read from either.
//!
//! A mapped file is checked as it is read: each chunk's checksum is compared when the chunk is first asked for, so that
//! opening costs nothing and a flipped bit is found before it can give a wrong answer.
#![expect(unsafe_code, reason = "one memory map; see the note there")]

use crate::machine;
use bytemuck::Pod;
use memmap2::{Advice, Mmap, MmapMut, MmapOptions};
use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// A fixed number of items, zero at first, in memory of its own that asks for huge pages: random reads in hundreds of
/// megabytes spend a fifth of their time on address translation otherwise. Untouched pages take no memory.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    map: Option<MmapMut>,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// `len` zeros; an error when there is no address space left for them.
    pub(crate) fn zeroed(len: usize) -> std::io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        let map = if bytes == 0 {
            None
        } else {
            let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
            #[cfg(target_os = "linux")]
            let _ = map.advise(Advice::HugePage); // only a wish: kernels without huge pages refuse it
            Some(map)
        };
        Ok(Self { map, len, kind: PhantomData })
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.map.as_ref().map_or(&[], |map| bytemuck::cast_slice(&map[..self.len * size_of::<T>()]))
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes = self.len * size_of::<T>();
        self.map.as_mut().map_or(&mut [], |map| bytemuck::cast_slice_mut(&mut map[..bytes]))
    }
}

/// A list that grows, on huge pages.
#[derive(Debug)]
pub(crate) struct Growing<T> {
    buffer: Buffer<T>,
    len: usize,
}

impl<T: Pod> Growing<T> {
    pub(crate) fn new() -> Self {
        Self { buffer: Buffer { map: None, len: 0, kind: PhantomData }, len: 0 }
    }

    /// Appends an item; an error when there is no memory left.
    #[inline]
    pub(crate) fn push(&mut self, item: T) -> std::io::Result<()> {
        self.resize(self.len + 1)?;
        let last = self.len - 1;
        self[last] = item;
        Ok(())
    }

    /// Grows to `len` items, the new ones zero.
    pub(crate) fn resize(&mut self, len: usize) -> std::io::Result<()> {
        if len > self.buffer.len {
            let mut larger = Buffer::zeroed(len.max(self.buffer.len * 2).max(4096 / size_of::<T>()))?;
            larger[..self.len].copy_from_slice(self);
            self.buffer = larger;
        }
        self.len = len;
        Ok(())
    }

    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        let mut buffer = Buffer::zeroed(self.len)?;
        buffer.copy_from_slice(self);
        Ok(Self { buffer, len: self.len })
    }
}

impl<T: Pod> Deref for Growing<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.buffer[..self.len]
    }
}

impl<T: Pod> DerefMut for Growing<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let len = self.len;
        &mut self.buffer[..len]
    }
}

/// A file mapped into memory, with the checksum of every chunk of it.
#[derive(Debug)]
pub(crate) struct MappedFile {
    map: Mmap,
    /// A chunk has `1 << shift` bytes; chunks are counted from the start of the file.
    shift: u32,
    sums: Vec<u64>,
    checked: Vec<AtomicU64>,
    /// Offset of the first chunk found broken, plus one; 0 while all is well.
    broken: AtomicUsize,
}

impl MappedFile {
    /// Maps the whole file without reading it.
    pub(crate) fn map(file: &File) -> std::io::Result<Mmap> {
        // SAFETY: a mapping is undefined behaviour only if the file changes under it. Segment files are written under a
        // temporary name, renamed when complete and never written again; whoever else truncates one gets a bus error.
        let map = unsafe { MmapOptions::new().map(file)? };
        #[cfg(target_os = "linux")]
        {
            // Large pages where the file system has them; no reading ahead, because reads are scattered.
            let _ = map.advise(Advice::HugePage);
            let _ = map.advise(Advice::Random);
        }
        Ok(map)
    }

    /// `sums[i]` is the checksum of chunk `i`.
    pub(crate) fn new(map: Mmap, shift: u32, sums: Vec<u64>) -> Self {
        let checked = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { map, shift, sums, checked, broken: AtomicUsize::new(0) }
    }

    /// Where the first broken chunk lies, if one has been met.
    pub(crate) fn broken(&self) -> Option<usize> {
        self.broken.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Checks the chunks of `from .. to` that have not been checked before.
    #[inline(always)]
    fn check(&self, from: usize, to: usize) {
        for chunk in from >> self.shift..=(to - 1) >> self.shift {
            let done = self
                .checked
                .get(chunk / 64)
                .is_some_and(|word| word.load(Ordering::Relaxed) >> (chunk % 64) & 1 == 1);
            if !done {
                self.check_chunk(chunk);
            }
        }
    }

    #[cold]
    fn check_chunk(&self, chunk: usize) {
        let from = chunk << self.shift;
        let to = ((chunk + 1) << self.shift).min(self.map.len());
        let sound = self
            .map
            .get(from..to)
            .zip(self.sums.get(chunk))
            .is_some_and(|(bytes, &sum)| xxh3_64(bytes) == sum);
        if sound {
            self.checked[chunk / 64].fetch_or(1 << (chunk % 64), Ordering::Relaxed);
        } else {
            let _ = self.broken.compare_exchange(0, from + 1, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Items of one kind in a buffer or in a mapped file.
#[derive(Debug)]
pub(crate) struct Section<T> {
    storage: Storage,
    /// Of the first item, in bytes.
    offset: usize,
    len: usize,
    kind: PhantomData<T>,
}

#[derive(Clone, Debug)]
pub(crate) enum Storage {
    Buffer(Arc<Buffer<u8>>),
    File(Arc<MappedFile>),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Buffer(buffer) => buffer,
            Self::File(file) => &file.map,
        }
    }
}

impl<T: Pod> Section<T> {
    /// `len` items from byte `offset` on; `None` where they do not lie inside, or not on their alignment.
    pub(crate) fn new(storage: Storage, offset: usize, len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let slice = storage.bytes().get(offset..offset.checked_add(bytes)?)?;
        // Nothing lies on no alignment.
        if len > 0 {
            bytemuck::try_cast_slice::<u8, T>(slice).ok()?;
        }
        Some(Self { storage, offset, len, kind: PhantomData })
    }

    /// How many items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// For reading many items: the way back to the bytes is walked once.
    #[inline]
    pub(crate) fn view(&self) -> View<'_, T> {
        let bytes = &self.storage.bytes()[self.offset..self.offset + self.len * size_of::<T>()];
        let file = match &self.storage {
            Storage::Buffer(_) => None,
            Storage::File(file) => Some(&**file),
        };
        let items = if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) };
        View { items, file, offset: self.offset }
    }
}

/// A section made ready for reading. What is read must be announced first ([`View::expect`]): that checks it, if it
/// comes from a file, and fetches it into the cache.
#[derive(Clone, Copy)]
pub(crate) struct View<'a, T> {
    pub(crate) items: &'a [T],
    file: Option<&'a MappedFile>,
    offset: usize,
}

/// Lines of a longer range fetched ahead; the processor's own prefetcher follows from there.
const LINES_AHEAD: usize = 16;
const LINE: usize = 64;

impl<'a, T> View<'a, T> {
    /// Announces `items[from .. to]`.
    #[inline(always)]
    pub(crate) fn expect(&self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        if let Some(file) = self.file {
            let size = size_of::<T>();
            file.check(
                self.offset + from * size,
                (self.offset + to * size).max(self.offset + from * size + 1),
            );
        }
        let step = (LINE / size_of::<T>()).max(1);
        let mut item = from;
        while item < to.min(from + LINES_AHEAD * step) {
            machine::prefetch(self.items, item);
            item += step;
        }
        machine::prefetch(self.items, to.min(from + LINES_AHEAD * step) - 1);
    }

    /// Checks everything.
    pub(crate) fn expect_all(&self) {
        self.expect(0, self.items.len());
    }

    /// Announces one item, and `more` after it.
    #[inline(always)]
    pub(crate) fn expect_at(&self, index: usize, more: usize) {
        if let Some(file) = self.file {
            let size = size_of::<T>();
            file.check(self.offset + index * size, self.offset + (index + more + 1) * size);
        }
        machine::prefetch(self.items, index);
    }
}
