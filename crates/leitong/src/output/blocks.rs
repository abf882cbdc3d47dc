//! Writing files that may be larger than memory: large blocks, written by a thread of their own, past the cache of the system where it
//! lets us. What is written is read again much later, if at all, and would drive from the cache what is still needed; and to find
//! memory for it and to copy it there costs a system more than to write it.

use super::file::Seal;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use xxhash_rust::xxh3::Xxh3;

/// Bytes written at once.
const BLOCK: usize = 1 << 20;
/// Where memory must begin that is written without a copy.
const ALIGNMENT: usize = 1 << 12;
/// Blocks that may wait to be written while another is filled.
const WAITING: usize = 2;

/// A file that is written from its beginning to its end.
pub(super) struct Blocks {
    block: Block,
    state: State,
}

enum State {
    /// Until the first block is full.
    Small(Box<Place>),
    Large(Worker),
    /// It could not be written, and somebody has been told.
    Broken,
}

struct Worker {
    full: SyncSender<Block>,
    empty: Receiver<Block>,
    thread: JoinHandle<io::Result<Box<Place>>>,
}

struct Block {
    /// More than a block, so that one that is aligned fits.
    room: Box<[u8]>,
    from: usize,
    filled: usize,
}

impl Block {
    fn new() -> Self {
        let room = vec![0; BLOCK + ALIGNMENT].into_boxed_slice();
        let from = room.as_ptr().align_offset(ALIGNMENT);
        Self { room, from, filled: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.room[self.from..self.from + self.filled]
    }

    /// Takes as many bytes as there is room for.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(BLOCK - self.filled);
        let at = self.from + self.filled;
        self.room[at..at + count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        count
    }
}

/// A file, and what has been written to it.
struct Place {
    file: File,
    /// The same file, past the cache.
    direct: Option<File>,
    bytes: u64,
    digest: Xxh3,
}

impl Place {
    /// Writes what comes next.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        let at = self.bytes;
        self.bytes += bytes.len() as u64;
        if let Some(direct) = self.direct.as_ref().filter(|_| bytes.len() == BLOCK) {
            match direct.write_all_at(bytes, at) {
                // This file system wants something else of such blocks, or none of them.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
                {
                    self.direct = None;
                }
                done => return done,
            }
        }
        self.file.write_all_at(bytes, at)
    }
}

/// Opens a file for writing past the cache, if the system and the file system can.
fn open_direct(path: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        File::options().write(true).custom_flags(flags).open(path).ok()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

impl Worker {
    fn start(mut place: Box<Place>) -> io::Result<Self> {
        let (full, to_write) = sync_channel::<Block>(WAITING);
        let (written, empty) = sync_channel(WAITING + 1);
        for _ in 0..WAITING {
            let _ = written.send(Block::new());
        }
        let work = move || {
            for mut block in to_write {
                place.write(block.bytes())?;
                block.filled = 0;
                // Nobody wants it back at the end.
                let _ = written.send(block);
            }
            Ok(place)
        };
        let thread = std::thread::Builder::new().name("output".into()).spawn(work)?;
        Ok(Self { full, empty, thread })
    }

    /// Writes what it has, and gives the file back.
    fn end(self) -> io::Result<Box<Place>> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(gone()))
    }

    /// Why it has ended before.
    fn why(self) -> io::Error {
        self.end().err().unwrap_or_else(gone)
    }
}

fn gone() -> io::Error {
    io::Error::other("writing it has ended before")
}

impl Blocks {
    /// Of a file that is not there yet, or is written over.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let place =
            Place { file: File::create(path)?, direct: open_direct(path), bytes: 0, digest: Xxh3::new() };
        Ok(Self { block: Block::new(), state: State::Small(Box::new(place)) })
    }

    /// Has a full block written, and goes on with an empty one.
    fn pass_on(&mut self) -> io::Result<()> {
        let worker = match std::mem::replace(&mut self.state, State::Broken) {
            State::Small(place) => Worker::start(place)?,
            State::Large(worker) => worker,
            State::Broken => return Err(gone()),
        };
        // If none is given back or taken, it has ended.
        let Ok(empty) = worker.empty.recv() else { return Err(worker.why()) };
        let full = std::mem::replace(&mut self.block, empty);
        if worker.full.send(full).is_err() {
            return Err(worker.why());
        }
        self.state = State::Large(worker);
        Ok(())
    }

    /// Writes the rest and makes sure that all of it is on the disk.
    pub(super) fn finish(self) -> io::Result<Seal> {
        let mut place = match self.state {
            State::Small(place) => place,
            State::Large(worker) => worker.end()?,
            State::Broken => return Err(gone()),
        };
        place.write(self.block.bytes())?;
        place.file.sync_all()?;
        Ok(Seal { bytes: place.bytes, xxh3: format!("{:032x}", place.digest.digest128()) })
    }
}

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.filled == BLOCK {
            self.pass_on()?;
        }
        Ok(self.block.take(bytes))
    }

    /// Nothing: what is not finished is not there.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, direct: bool, bytes: &[u8], step: usize) -> io::Result<Seal> {
        let mut blocks = Blocks::create(path)?;
        if let (State::Small(place), false) = (&mut blocks.state, direct) {
            place.direct = None;
        }
        bytes.chunks(step).try_for_each(|part| blocks.write_all(part))?;
        blocks.finish()
    }

    #[test]
    fn a_file_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> =
            (0..5 * BLOCK as u32).flat_map(|n| n.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 4097] {
            for (direct, step) in [(true, 1000), (true, 3 * BLOCK), (false, 65_537)] {
                let seal = write(&path, direct, &bytes[..length], step).unwrap();
                assert!(std::fs::read(&path).unwrap() == bytes[..length], "{length} in steps of {step}");
                assert_eq!(seal, Seal::of(&path).unwrap());
                assert_eq!(seal.bytes, length as u64);
            }
        }
    }

    #[test]
    fn a_file_system_that_refuses_a_block_gets_it_through_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..BLOCK as u32).flat_map(u32::to_le_bytes).collect();
        let mut blocks = Blocks::create(&path).unwrap();
        // Most file systems take no memory past the cache that begins at an odd place.
        blocks.block.from += 1;
        for part in bytes.chunks(BLOCK) {
            let State::Small(place) = &mut blocks.state else { panic!("it is written here") };
            blocks.block.filled = 0;
            blocks.block.take(part);
            place.write(blocks.block.bytes()).unwrap();
            if place.direct.is_some() {
                println!("skipped: output::a_file_system_that_refuses_a_block (this one takes every block)");
                return;
            }
        }
        blocks.block.filled = 0;
        let seal = blocks.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(seal, Seal::of(&path).unwrap());
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        for length in [10, BLOCK + 1, 20 * BLOCK] {
            let error = write(full, false, &vec![7; length], 1 << 16).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{length}: {error}");
        }
    }
}
