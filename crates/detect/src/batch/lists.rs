//! Which documents share which marks: marks that only one document has are let go, and that is most of them.

use super::BatchError;
use super::spill::Spill;
use super::spool::Documents;
use leitong_store::Scoring;
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Partitions of marks, by their last bits: marks are chosen because they are small, so the first ones are not even.
const PARTITIONS: usize = 256;
const PARTITION_BITS: u32 = PARTITIONS.trailing_zeros();
/// Documents of a range, by the first bits of their ordinals.
pub(super) const RANGE: u32 = 1 << 14;

/// Numbers before the documents of a list: mark, documents, how many stand here, sources.
const HEAD: usize = 4;
/// Documents of a list that are read with its head, where lists are in a file: most have no more.
const TOGETHER: usize = 28;

/// A mark that several documents have.
pub(super) struct List<'l> {
    pub(super) mark: u32,
    /// How many have it.
    pub(super) documents: u32,
    /// The first of them.
    pub(super) first: &'l [u32],
    /// How many independent sources they are, if that has been counted.
    pub(super) sources: Option<u32>,
}

/// Numbers in memory as long as they fit, and those after them in a file.
pub(super) struct Lists {
    memory: Vec<u32>,
    most: usize,
    folder: PathBuf,
    file: Option<File>,
    length: u64,
}

impl Lists {
    /// In at most so many bytes of memory.
    fn new(memory: u64, folder: &Path) -> Self {
        let most = (memory / 4) as usize;
        Self { memory: Vec::new(), most, folder: folder.to_owned(), file: None, length: 0 }
    }

    /// Bytes of all of them.
    pub(super) fn size(&self) -> u64 {
        4 * self.length
    }

    fn append(&mut self, numbers: &[u32]) -> Result<u64, BatchError> {
        let at = self.length;
        self.length += numbers.len() as u64;
        let end = self.memory.len() + numbers.len();
        if self.file.is_some() || end > self.most {
            let written = self.write(numbers);
            written.map_err(BatchError::at(&self.folder))?;
            return Ok(at);
        }
        if end > self.memory.capacity() {
            // Twice as many, but no more than may be.
            let wanted = end.max((2 * self.memory.capacity()).min(self.most));
            self.memory.reserve_exact(wanted - self.memory.len());
        }
        self.memory.extend_from_slice(numbers);
        Ok(at)
    }

    fn write(&mut self, numbers: &[u32]) -> std::io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        file.write_all(&bytes)
    }

    /// Has the lists brought near that are asked for next: the loads do not wait for one another.
    pub(super) fn expect(&self, ats: impl Iterator<Item = u64>) {
        let first = |at: u64| self.memory.get(at as usize).copied().unwrap_or_default();
        std::hint::black_box(ats.fold(0, |seen, at| seen ^ first(at)));
    }

    /// The list at `at`.
    pub(super) fn get<'l>(&'l self, at: u64, room: &'l mut Vec<u32>) -> Result<List<'l>, BatchError> {
        let list = |head: &[u32], first: &'l [u32]| List {
            mark: head[0],
            documents: head[1],
            first,
            sources: Some(head[3]).filter(|&sources| sources > 0),
        };
        let own = self.memory.get(at as usize..).unwrap_or_default();
        let (Some(file), []) = (&self.file, own) else {
            return Ok(list(own, &own[HEAD..HEAD + own[2] as usize]));
        };
        let read = |from: u64, count: usize| {
            let mut bytes = vec![0; 4 * count];
            file.read_exact_at(&mut bytes, 4 * (from - self.memory.len() as u64))
                .map_err(BatchError::at(&self.folder))?;
            let numbers = bytes.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
            Ok::<Vec<u32>, BatchError>(numbers.collect())
        };
        let ahead = (HEAD + TOGETHER).min((self.length - at) as usize);
        *room = read(at, ahead)?;
        let head: [u32; HEAD] = [room[0], room[1], room[2], room[3]];
        let count = head[2] as usize;
        if HEAD + count > room.len() {
            let rest = read(at + room.len() as u64, HEAD + count - room.len())?;
            room.extend(rest);
        }
        Ok(list(&head, &room[HEAD..HEAD + count]))
    }

    /// Counts the independent sources of every list, once all origins are known; lists in a file are counted when asked for.
    pub(super) fn count_sources(&mut self, origins: &[u32]) {
        let (mut at, mut seen) = (0, Vec::new());
        while at < self.memory.len() {
            let end = at + HEAD + self.memory[at + 2] as usize;
            self.memory[at + 3] = distinct(&self.memory[at + HEAD..end], origins, &mut seen);
            at = end;
        }
    }
}

/// How many different origins documents have.
pub(super) fn distinct(documents: &[u32], origins: &[u32], seen: &mut Vec<u32>) -> u32 {
    seen.clear();
    seen.extend(documents.iter().map(|&document| origins[document as usize]));
    seen.sort_unstable();
    seen.dedup();
    seen.len() as u32
}

/// Instead of where a list is: the one earlier document that has the mark too. It cannot be common then, and needs no list.
pub(super) const ONE_EARLIER: u64 = 1 << 47;

/// The lists of a run, and for every document where those of its marks are that an earlier one has too.
pub(super) struct Shared {
    pub(super) lists: Lists,
    /// By range of documents: the document in the range (16 bits), and where a list is or what stands for it (48 bits).
    pub(super) of_documents: Spill,
    pub(super) sizes: Sizes,
    /// How many documents stand in lists that an earlier one stands in too.
    pub(super) listed: u64,
}

/// How many different marks each document has.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    marks: Vec<u32>,
    /// Two bits for each: [`Sizes::least_in_common`] less one. This is asked, in no order, of all that share anything with a document:
    /// two bits of each of a million are near, a number of each is not.
    least: Vec<u8>,
}

impl Sizes {
    /// The most that two bits can say.
    const MOST: u32 = 4;

    fn new(marks: Vec<u32>, scoring: &Scoring) -> Self {
        let bits = |part: &[u32]| {
            let two = |(at, &marks): (usize, &u32)| ((Self::bounded(marks, scoring) - 1) as u8) << (2 * at);
            part.iter().enumerate().map(two).sum()
        };
        Self { least: marks.chunks(4).map(bits).collect(), marks }
    }

    /// How many marks a document has in common at the least with one that has so many, if one of both is proposed for the other; up to
    /// a bound.
    pub(super) fn bounded(marks: u32, scoring: &Scoring) -> u32 {
        scoring.least_in_common(marks).min(Self::MOST)
    }

    /// The same of a document, by the scoring that all were noted with.
    pub(super) fn least_in_common(&self, document: u32) -> u32 {
        1 + u32::from(self.least[document as usize / 4] >> (2 * (document % 4)) & 3)
    }

    pub(super) fn of(&self, document: u32) -> u32 {
        self.marks[document as usize]
    }
}

/// What one partition of marks gives.
#[derive(Default)]
struct Part {
    lists: Vec<u32>,
    /// A document and where its list is in `lists`.
    entries: Vec<(u32, u32)>,
    /// Two documents that have a mark nobody else has, the earlier one first.
    pairs: Vec<(u32, u32)>,
    /// Documents that have a mark more than once, as often as they have it too often.
    repeated: Vec<u32>,
}

impl Shared {
    /// Finds the marks that several documents have, and how many different ones each has. `copies` tells how many documents an
    /// ordinal stands for; none: not one.
    pub(super) fn find(
        documents: &Documents,
        copies: &[u32],
        scoring: &Scoring,
        memory: u64,
    ) -> Result<Self, BatchError> {
        let expected = documents.entries.iter().map(|entry| u64::from(entry.marks)).sum();
        let mut marks = Spill::new(PARTITIONS, memory / 4, &documents.folder).expecting(expected);
        documents.each_marks(|ordinal, mark| match copies[ordinal as usize] {
            0 => Ok(()),
            _ => marks.push(mark as usize % PARTITIONS, u64::from(mark) << 32 | u64::from(ordinal)),
        })?;
        let ranges = documents.len().div_ceil(RANGE) as usize;
        let mut shared = Self {
            lists: Lists::new(memory / 2, &documents.folder),
            of_documents: Spill::new(ranges, memory / 8, &documents.folder),
            sizes: Sizes::default(),
            listed: 0,
        };
        let mut sizes: Vec<u32> = documents.entries.iter().map(|entry| entry.marks).collect();
        let threads = rayon::current_num_threads();
        let mut rooms = vec![Vec::new(); threads];
        for first in (0..PARTITIONS).step_by(threads) {
            let together: Vec<Vec<u64>> = (first..PARTITIONS.min(first + threads))
                .map(|at| marks.take(at))
                .collect::<Result<_, _>>()?;
            let parts: Vec<Part> = together
                .into_par_iter()
                .zip(&mut rooms)
                .map(|(numbers, room)| part(numbers, room, copies, scoring))
                .collect();
            for part in parts {
                part.repeated.iter().for_each(|&ordinal| sizes[ordinal as usize] -= 1);
                shared.take(&part)?;
            }
        }
        Ok(Self { sizes: Sizes::new(sizes, scoring), ..shared })
    }

    fn take(&mut self, part: &Part) -> Result<(), BatchError> {
        let base = self.lists.append(&part.lists)?;
        self.listed += part.entries.len() as u64;
        part.entries.iter().try_for_each(|&(ordinal, at)| self.note(ordinal, base + u64::from(at)))?;
        part.pairs.iter().try_for_each(|&(one, other)| self.note(other, ONE_EARLIER | u64::from(one)))
    }

    fn note(&mut self, ordinal: u32, what: u64) -> Result<(), BatchError> {
        self.of_documents.push((ordinal / RANGE) as usize, u64::from(ordinal % RANGE) << 48 | what)
    }
}

/// Sorts numbers of one partition by mark; those of one mark stay in the order they came, that of documents.
fn sort(numbers: &mut Vec<u64>, other: &mut Vec<u64>) {
    const BITS: u32 = 12;
    other.resize(numbers.len(), 0);
    for pass in 0..2 {
        let digit =
            |number: u64| (number >> (32 + PARTITION_BITS + BITS * pass)) as usize & ((1 << BITS) - 1);
        let mut starts = vec![0_u32; 1 << BITS];
        numbers.iter().for_each(|&number| starts[digit(number)] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for &number in &*numbers {
            let place = &mut starts[digit(number)];
            other[*place as usize] = number;
            *place += 1;
        }
        std::mem::swap(numbers, other);
    }
}

fn part(mut numbers: Vec<u64>, room: &mut Vec<u64>, copies: &[u32], scoring: &Scoring) -> Part {
    sort(&mut numbers, room);
    let mut part = Part::default();
    // A mark that a document has twice stands there twice, one behind the other.
    numbers.dedup_by(|next, number| {
        let twice = next == number;
        if twice {
            part.repeated.push(*number as u32);
        }
        twice
    });
    for list in numbers.chunk_by(|a, b| a >> 32 == b >> 32).filter(|list| list.len() > 1) {
        let documents: usize = list.iter().map(|&number| copies[number as u32 as usize] as usize).sum();
        if let (&[one, other], true) = (list, documents <= scoring.rare as usize) {
            part.pairs.push((one as u32, other as u32));
            continue;
        }
        let at = part.lists.len() as u32;
        let first = &list[..list.len().min(scoring.long)];
        part.lists.extend([
            (list[0] >> 32) as u32,
            // One more than are counted of the others.
            documents.min(scoring.long + 1) as u32,
            first.len() as u32,
            0,
        ]);
        part.lists.extend(first.iter().map(|&number| number as u32));
        // The first has nobody before it to be a copy of.
        part.entries.extend(list[1..].iter().map(|&number| (number as u32, at)));
    }
    part
}
