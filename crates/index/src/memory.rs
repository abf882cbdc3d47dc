//! Large memory: zeroed buffers on huge pages.

use bytemuck::Pod;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

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
