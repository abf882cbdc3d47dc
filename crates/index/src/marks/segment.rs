//! A part that no longer changes: postings sorted by mark, in a file or in memory.

use super::packed::Shape;
use super::{KIND, MarkError, Posting};
use crate::files::{self, Part, Sections};
use crate::memory::{Section, View};
use std::path::Path;

/// A document in a segment: its ordinal behind the segment's first, its number of marks, and the halves of its origin.
pub(super) type Row = [u32; 4];

/// Longer runs of a bucket are searched by halving.
const SCANNED: u32 = 32;
/// Documents announced at once.
const AHEAD: usize = 16;
/// Documents read at once.
const BLOCK: usize = 4096;

#[derive(Debug)]
pub(super) struct Segment {
    sections: Sections,
    /// What ordinals are relative to.
    base: u64,
    postings: u64,
    shape: Shape,
    documents: Section<Row>,
    directory: Section<u32>,
    words: Section<u64>,
}

impl Segment {
    pub(super) fn open(path: &Path) -> Result<Self, MarkError> {
        Self::from_sections(files::open(&KIND, path)?)
    }

    pub(super) fn from_sections(sections: Sections) -> Result<Self, MarkError> {
        let &[base, documents, postings, bucket_bits, row_bits] = &sections.parameters[..] else {
            return Err(sections.refused("its parameters are missing").into());
        };
        let shape = Shape { bucket_bits: bucket_bits as u32, row_bits: row_bits as u32 };
        let segment = Self {
            base,
            postings,
            shape,
            documents: sections.get(Part::Documents)?,
            directory: sections.get(Part::Directory(0))?,
            words: sections.get(Part::Postings)?,
            sections,
        };
        let fits = shape.is_sound()
            && postings <= u64::from(u32::MAX)
            && segment.documents.len() as u64 == documents
            && segment.directory.len() == shape.buckets() + 1
            && segment.words.len() == shape.words(postings);
        match fits {
            true => Ok(segment),
            false => {
                Err(segment.sections.refused("the lengths of its sections do not fit each other").into())
            }
        }
    }

    /// How many documents, with those deleted since.
    pub(super) fn documents(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn postings(&self) -> u64 {
        self.postings
    }

    pub(super) fn bytes(&self) -> u64 {
        self.sections.bytes()
    }

    /// A checksum of everything in its file; 0 in memory.
    pub(super) fn identity(&self) -> u64 {
        self.sections.identity
    }

    pub(super) fn verify(&self) -> Result<(), MarkError> {
        Ok(self.sections.verify()?)
    }

    /// Made ready for reading.
    #[inline]
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading {
            segment: self,
            documents: self.documents.view(),
            directory: self.directory.view(),
            words: self.words.view(),
        }
    }
}

/// A segment made ready for reading. A mark is looked up in steps, each of which announces what the next will read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    segment: &'a Segment,
    documents: View<'a, Row>,
    pub(super) directory: View<'a, u32>,
    pub(super) words: View<'a, u64>,
}

/// The postings `from .. to`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl<'a> Reading<'a> {
    /// An error once something damaged has been read: ask before using anything.
    #[inline]
    pub(super) fn sound(&self) -> Result<(), MarkError> {
        Ok(self.segment.sections.sound()?)
    }

    pub(super) fn postings(&self) -> u32 {
        self.segment.postings as u32
    }

    pub(super) fn shape(&self) -> Shape {
        self.segment.shape
    }

    /// The error for a segment that does not make sense although its checksums fit.
    pub(super) fn refused(&self, reason: &str) -> MarkError {
        self.segment.sections.refused(reason).into()
    }

    /// First step.
    #[inline]
    pub(super) fn announce(&self, mark: u32) {
        self.directory.expect_at(self.segment.shape.bucket(mark), 1);
    }

    /// Second step: all postings that begin like the mark. Nothing where the directory makes no sense; it is damaged then.
    #[inline]
    pub(super) fn bucket(&self, mark: u32) -> Span {
        let bucket = self.segment.shape.bucket(mark);
        let (from, to) = (self.directory.items[bucket], self.directory.items[bucket + 1]);
        if from >= to || u64::from(to) > self.segment.postings {
            return Span::default();
        }
        self.expect_words(from, to);
        Span { from, to }
    }

    #[inline]
    pub(super) fn expect_words(&self, from: u32, to: u32) {
        let (first, end) = self.segment.shape.words_of(from, to);
        self.words.expect(first, end);
    }

    /// Third step: from the mark's first posting on; nothing if it has none.
    #[inline]
    pub(super) fn narrow(&self, mark: u32, span: Span) -> Span {
        let (shape, words) = (self.segment.shape, self.words.items);
        let (rest, Span { mut from, to }) = (shape.rest(mark), span);
        let mut least = to;
        while least - from > SCANNED {
            let middle = from + (least - from) / 2;
            if shape.get(words, middle).0 < rest { from = middle + 1 } else { least = middle }
        }
        while from < to {
            let (found, row) = shape.get(words, from);
            if found == rest {
                self.expect_document(row);
                return Span { from, to };
            }
            if found > rest {
                break;
            }
            from += 1;
        }
        Span::default()
    }

    #[inline]
    fn expect_document(&self, row: u32) {
        // A row that is not there comes from a damaged posting.
        if (row as usize) < self.documents.items.len() {
            self.documents.expect_at(row as usize, 0);
        }
    }

    /// Last step: the documents of a narrowed mark, oldest first, until `more` says no.
    #[inline]
    pub(super) fn gather(
        &self,
        mark: u32,
        span: Span,
        more: &mut impl FnMut(Posting) -> bool,
    ) -> Result<(), MarkError> {
        let (shape, words) = (self.segment.shape, self.words.items);
        let rest = shape.rest(mark);
        let mut at = span.from;
        let mut rows = [0; AHEAD];
        loop {
            let mut count = 0;
            while count < AHEAD && at < span.to {
                let (found, row) = shape.get(words, at);
                if found != rest {
                    break;
                }
                self.expect_document(row);
                rows[count] = row;
                (count, at) = (count + 1, at + 1);
            }
            self.sound()?;
            for &row in &rows[..count] {
                if !more(self.document(row as usize)?) {
                    return Ok(());
                }
            }
            if count < AHEAD {
                return Ok(());
            }
        }
    }

    /// A document that has been announced.
    #[inline]
    fn document(&self, row: usize) -> Result<Posting, MarkError> {
        let Some(&[ordinal, marks, low, high]) = self.documents.items.get(row) else {
            return Err(self.refused("a posting points to no document"));
        };
        let origin = u64::from(high) << 32 | u64::from(low);
        Ok(Posting { ordinal: self.segment.base + u64::from(ordinal), origin, marks })
    }

    /// Calls `each` with all documents, by row.
    pub(super) fn for_each(
        &self,
        each: &mut impl FnMut(Posting) -> Result<(), MarkError>,
    ) -> Result<(), MarkError> {
        let rows = self.documents.items.len();
        for from in (0..rows).step_by(BLOCK) {
            let to = rows.min(from + BLOCK);
            self.documents.expect(from, to);
            self.sound()?;
            (from..to).try_for_each(|row| each(self.document(row)?))?;
        }
        Ok(())
    }

    /// Whether it has a document of this ordinal.
    pub(super) fn has(&self, ordinal: u64) -> Result<bool, MarkError> {
        let Some(offset) =
            ordinal.checked_sub(self.segment.base).and_then(|offset| u32::try_from(offset).ok())
        else {
            return Ok(false);
        };
        let (mut from, mut to) = (0, self.documents.items.len());
        while from < to {
            let middle = from + (to - from) / 2;
            self.documents.expect_at(middle, 0);
            if self.documents.items[middle][0] < offset { from = middle + 1 } else { to = middle }
        }
        self.sound()?;
        Ok(self.documents.items.get(from).is_some_and(|row| row[0] == offset))
    }
}
