//! The documents of a run, as they were read: three files that only ever grow, so that a run that was killed goes on from
//! the last checkpoint.
//!
//! ```text
//! texts      id · text, one document after the other; of a text that can be read where it came from the id alone
//! marks      the marks of each document as they come, 4 bytes each
//! documents  an entry of 48 bytes each: where its id begins, where its text came from, lengths, number of marks and units,
//!            digest of its units
//! state      how much of each file counts (JSON, replaced as a whole)
//! ```

use super::{BatchError, Incoming, Originals, Spot};
use crate::verify::{Reader, Reading};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, IoSlice, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of an entry.
const ENTRY: usize = 48;
/// Of these files.
const FORMAT: u32 = 2;
/// Documents a thread reads at a time.
const AT_A_TIME: usize = 32;

/// The place of a text that is copied.
const COPIED: u64 = u64::MAX;

/// What is known of a document without its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: u64,
    /// Where the record of the text is in the inputs; [`COPIED`] if the text stands behind the id.
    pub(super) place: u64,
    pub(super) id: u32,
    /// Bytes of the text, or of the record it is read from.
    pub(super) text: u32,
    /// All of them, equal ones too.
    pub(super) marks: u32,
    pub(super) units: u32,
    /// Equal for texts with the same units in the same order.
    pub(super) digest: u128,
}

impl Entry {
    fn bytes(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.at.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.place.to_le_bytes());
        for (nth, number) in [self.id, self.text, self.marks, self.units].into_iter().enumerate() {
            bytes[16 + 4 * nth..20 + 4 * nth].copy_from_slice(&number.to_le_bytes());
        }
        bytes[32..].copy_from_slice(&self.digest.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; ENTRY]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let wide = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        let digest = u128::from(wide(32)) | u128::from(wide(40)) << 64;
        let (id, text, marks, units) = (number(16), number(20), number(24), number(28));
        Self { at: wide(0), place: wide(8), id, text, marks, units, digest }
    }

    /// Where the text can be read, if it is not copied.
    fn spot(&self) -> Option<Spot> {
        (self.place != COPIED).then_some(Spot { place: self.place, length: self.text })
    }
}

/// How much of the files counts, and what the reader of the input wants to remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// [`FORMAT`]; what an older version left is begun anew.
    format: u32,
    pub(super) documents: u64,
    pub(super) texts: u64,
    pub(super) marks: u64,
    pub(super) complete: bool,
    pub(super) note: String,
}

/// Takes documents in.
pub(super) struct Spool {
    folder: PathBuf,
    /// Texts are long enough to be written as they are.
    texts: File,
    marks: BufWriter<File>,
    documents: BufWriter<File>,
    pub(super) state: State,
}

/// A document as it is taken in.
struct Taken {
    entry: Entry,
    marks: Vec<u8>,
}

impl Spool {
    /// Opens the files of a folder, made if need be, and goes on behind the last checkpoint.
    pub(super) fn open(folder: &Path) -> Result<Self, BatchError> {
        std::fs::create_dir_all(folder).map_err(BatchError::at(folder))?;
        let path = folder.join("state");
        let state = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<State>(&bytes).ok());
        let state = state.filter(|state| state.format == FORMAT).unwrap_or_default();
        let open = |name: &str, length: u64| {
            let path = folder.join(name);
            let file = OpenOptions::new().create(true).append(true).open(&path);
            let file =
                file.and_then(|file| file.set_len(length).map(|()| file)).map_err(BatchError::at(&path))?;
            Ok::<_, BatchError>(file)
        };
        let gathered = |file| BufWriter::with_capacity(1 << 18, file);
        Ok(Self {
            texts: open("texts", state.texts)?,
            marks: gathered(open("marks", state.marks)?),
            documents: gathered(open("documents", state.documents * ENTRY as u64)?),
            folder: folder.to_owned(),
            state,
        })
    }

    /// Takes documents in, in order. The work is done on all cores.
    pub(super) fn push(&mut self, documents: &[Incoming]) -> Result<(), BatchError> {
        let take = |documents: &[Incoming]| {
            let mut bench = Bench::default();
            documents.iter().map(|document| bench.take(document)).collect::<Vec<_>>()
        };
        let taken: Vec<Taken> = documents.par_chunks(AT_A_TIME).flat_map_iter(take).collect();
        let written = self.write_texts(documents);
        written.map_err(BatchError::at(&self.folder))?;
        for (document, mut taken) in documents.iter().zip(taken) {
            taken.entry.at = self.state.texts;
            let written = self.write(&taken);
            written.map_err(BatchError::at(&self.folder))?;
            self.state.texts += (document.id.len() + document.copied().len()) as u64;
            self.state.marks += taken.marks.len() as u64;
            self.state.documents += 1;
        }
        Ok(())
    }

    /// Ids, and texts that are copied, without gathering them first.
    fn write_texts(&mut self, documents: &[Incoming]) -> std::io::Result<()> {
        let parts = documents.iter().flat_map(|document| [&*document.id, document.copied()]);
        let mut parts: Vec<IoSlice<'_>> = parts.map(|part| IoSlice::new(part.as_bytes())).collect();
        let mut rest = &mut parts[..];
        // Empty ones do not count as written.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match self.texts.write_vectored(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&mut self, taken: &Taken) -> std::io::Result<()> {
        self.marks.write_all(&taken.marks)?;
        self.documents.write_all(&taken.entry.bytes())
    }

    /// Writes down how far it has come.
    pub(super) fn checkpoint(&mut self, note: &str, complete: bool) -> Result<(), BatchError> {
        self.state.note = note.to_owned();
        (self.state.complete, self.state.format) = (complete, FORMAT);
        let saved = self.save();
        saved.map_err(BatchError::at(&self.folder))
    }

    fn save(&mut self) -> std::io::Result<()> {
        for file in [&mut self.marks, &mut self.documents] {
            file.flush()?;
        }
        let bytes = serde_json::to_vec(&self.state).map_err(std::io::Error::other)?;
        std::fs::write(self.folder.join("state.new"), bytes)?;
        std::fs::rename(self.folder.join("state.new"), self.folder.join("state"))
    }

    /// What was taken in, to be read.
    pub(super) fn finish(mut self, originals: Option<Arc<dyn Originals>>) -> Result<Documents, BatchError> {
        let note = std::mem::take(&mut self.state.note);
        self.checkpoint(&note, true)?;
        Documents::open(&self.folder, self.state.documents, originals)
    }
}

impl Incoming {
    /// What is copied of its text.
    fn copied(&self) -> &str {
        if self.spot.is_some() { "" } else { &self.text }
    }
}

/// Puts numbers as bytes in the place of what was there.
fn put_bytes(numbers: impl ExactSizeIterator<Item = u32>, bytes: &mut Vec<u8>) {
    bytes.resize(4 * numbers.len(), 0);
    let (places, _) = bytes.as_chunks_mut::<4>();
    places.iter_mut().zip(numbers).for_each(|(place, number)| *place = number.to_le_bytes());
}

/// What a thread needs to take documents in.
#[derive(Default)]
struct Bench {
    reader: Reader,
    reading: Reading,
    units: Vec<u8>,
}

impl Bench {
    fn take(&mut self, document: &Incoming) -> Taken {
        let Incoming { id, text, spot } = document;
        let Self { reader, reading, units } = self;
        reader.read_in_order(text, reading);
        put_bytes(reading.units.iter().map(|unit| unit.value()), units);
        let mut marks = Vec::new();
        put_bytes(reading.marks.iter().map(|mark| mark.hash), &mut marks);
        let entry = Entry {
            at: 0,
            place: spot.map_or(COPIED, |spot| spot.place),
            id: id.len() as u32,
            text: spot.map_or(text.len() as u32, |spot| spot.length),
            marks: (marks.len() / 4) as u32,
            units: reading.units.len() as u32,
            digest: xxh3_128(units),
        };
        Taken { entry, marks }
    }
}

/// The documents of a run.
pub(super) struct Documents {
    pub(super) folder: PathBuf,
    texts: File,
    originals: Option<Arc<dyn Originals>>,
    pub(super) entries: Vec<Entry>,
}

impl Documents {
    fn open(folder: &Path, count: u64, originals: Option<Arc<dyn Originals>>) -> Result<Self, BatchError> {
        let at = BatchError::at(folder);
        let read = || {
            let mut file = BufReader::new(File::open(folder.join("documents"))?);
            let mut entries = Vec::with_capacity(count as usize);
            let mut bytes = [0; ENTRY];
            for _ in 0..count {
                file.read_exact(&mut bytes)?;
                entries.push(Entry::parse(&bytes));
            }
            Ok((File::open(folder.join("texts"))?, entries))
        };
        let (texts, entries) = read().map_err(at)?;
        Ok(Self { folder: folder.to_owned(), texts, originals, entries })
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The text of a document.
    pub(super) fn text(&self, ordinal: u32) -> Result<String, BatchError> {
        Ok(self.read(ordinal, &mut Vec::new())?.into_owned())
    }

    /// The text of a document, in memory that is used again.
    pub(super) fn read<'r>(&self, ordinal: u32, room: &'r mut Vec<u8>) -> Result<Cow<'r, str>, BatchError> {
        let entry = &self.entries[ordinal as usize];
        if let Some(spot) = entry.spot() {
            let originals = self.originals.as_ref().ok_or_else(|| BatchError::damaged(&self.folder))?;
            return originals.text(spot, room).map_err(BatchError::Original);
        }
        room.resize(entry.text as usize, 0);
        let at = entry.at + u64::from(entry.id);
        self.texts.read_exact_at(room, at).map_err(BatchError::at(&self.folder))?;
        let text = simdutf8::basic::from_utf8(room).map_err(|_| BatchError::damaged(&self.folder))?;
        Ok(Cow::Borrowed(text))
    }

    /// The id of a document.
    pub(super) fn id(&self, ordinal: u32) -> Result<String, BatchError> {
        let entry = &self.entries[ordinal as usize];
        let mut bytes = vec![0; entry.id as usize];
        self.texts.read_exact_at(&mut bytes, entry.at).map_err(BatchError::at(&self.folder))?;
        String::from_utf8(bytes).map_err(|_| BatchError::damaged(&self.folder))
    }

    /// Calls `each` with the marks of every document, in order, equal ones too.
    pub(super) fn each_marks(
        &self,
        mut each: impl FnMut(u32, u32) -> Result<(), BatchError>,
    ) -> Result<(), BatchError> {
        let at = BatchError::at(&self.folder);
        let mut file = BufReader::with_capacity(1 << 18, File::open(self.folder.join("marks")).map_err(&at)?);
        let mut bytes = Vec::new();
        for (ordinal, entry) in self.entries.iter().enumerate() {
            bytes.resize(4 * entry.marks as usize, 0);
            file.read_exact(&mut bytes).map_err(&at)?;
            for mark in bytes.chunks_exact(4) {
                each(ordinal as u32, u32::from_le_bytes([mark[0], mark[1], mark[2], mark[3]]))?;
            }
        }
        Ok(())
    }
}
