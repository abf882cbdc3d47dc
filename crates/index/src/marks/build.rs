//! One segment of several parts that follow each other.

use super::cursor::Cursor;
use super::packed::{Packer, Shape};
use super::part::{Live, Part};
use super::segment::{Row, Segment};
use super::{KIND, MarkError};
use crate::files::{self, Deleted, Output};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Items gathered before they are written.
const BATCH: usize = 1 << 15;

/// Makes one segment of the parts, without what has been deleted; `None` if nothing is left. In a file if there is a path.
/// It ends with an error soon after it is told to stop.
pub(super) fn merge(
    parts: &[Part],
    deleted: &Deleted,
    path: Option<&Path>,
    stop: &AtomicBool,
) -> Result<Option<Segment>, MarkError> {
    let mut lives = Vec::new();
    let (mut documents, mut postings) = (0, 0);
    for part in parts {
        let live = Live::new(part, deleted, documents as u32)?;
        (documents, postings) = (documents + live.documents, postings + live.postings);
        lives.push(live);
    }
    if documents == 0 {
        return Ok(None);
    }
    let shape = Shape::new(postings, documents);
    let mut output = match path {
        Some(path) => Output::file(&KIND, path, documents * 16 + postings * 4)?,
        None => Output::memory(),
    };
    let base = write_documents(parts, deleted, documents, &mut output)?;
    let cursors = parts.iter().zip(&lives).map(|(part, live)| Cursor::new(&part.body, live)).collect();
    let mut writer = Writer::new(shape, postings, &mut output, stop)?;
    merge_postings(cursors, &mut writer)?;
    writer.finish()?;
    let parameters = vec![base, documents, postings, shape.bucket_bits.into(), shape.row_bits.into()];
    Ok(Some(Segment::from_sections(output.finish(parameters)?)?))
}

/// Gives the ordinal of the first.
fn write_documents(
    parts: &[Part],
    deleted: &Deleted,
    documents: u64,
    output: &mut Output,
) -> Result<u64, MarkError> {
    let section = output.section(files::Part::Documents, documents as usize * size_of::<Row>())?;
    let mut rows: Vec<Row> = Vec::with_capacity(BATCH);
    let mut base = None;
    for part in parts {
        part.body.for_each(&mut |document| {
            if deleted.contains(document.ordinal) {
                return Ok(());
            }
            let offset = document.ordinal - *base.get_or_insert(document.ordinal);
            rows.push([
                offset as u32,
                document.marks,
                document.origin as u32,
                (document.origin >> 32) as u32,
            ]);
            if rows.len() == BATCH {
                output.append(section, &rows)?;
                rows.clear();
            }
            Ok(())
        })?;
    }
    output.append(section, &rows)?;
    Ok(base.unwrap_or_default())
}

/// Mark by mark, each of the oldest part first: rows ascend then, because those of a part lie behind those of the last.
fn merge_postings(mut cursors: Vec<Cursor<'_>>, writer: &mut Writer<'_>) -> Result<(), MarkError> {
    let mut heads = cursors.iter_mut().map(Cursor::next).collect::<Result<Vec<u64>, _>>()?;
    while let Some(&least) = heads.iter().min()
        && least != u64::MAX
    {
        for (head, cursor) in heads.iter_mut().zip(&mut cursors) {
            while *head >> 32 == least >> 32 && *head != u64::MAX {
                writer.push((*head >> 32) as u32, *head as u32)?;
                *head = cursor.next()?;
            }
        }
    }
    Ok(())
}

/// Writes postings in their order, and where each bucket begins.
struct Writer<'a> {
    output: &'a mut Output,
    stop: &'a AtomicBool,
    shape: Shape,
    words: usize,
    packer: Packer,
    directory: usize,
    places: Vec<u32>,
    buckets: usize,
    postings: u32,
}

impl<'a> Writer<'a> {
    fn new(
        shape: Shape,
        postings: u64,
        output: &'a mut Output,
        stop: &'a AtomicBool,
    ) -> Result<Self, MarkError> {
        let directory =
            output.section(files::Part::Directory(0), (shape.buckets() + 1) * size_of::<u32>())?;
        let words = output.section(files::Part::Postings, shape.words(postings) * size_of::<u64>())?;
        let (packer, places) = (Packer::new(shape), Vec::new());
        Ok(Self { output, stop, shape, words, packer, directory, places, buckets: 0, postings: 0 })
    }

    #[inline]
    fn push(&mut self, mark: u32, row: u32) -> Result<(), MarkError> {
        self.begin_buckets(self.shape.bucket(mark))?;
        self.packer.push(mark, row);
        self.postings += 1;
        if self.packer.words.len() >= BATCH {
            self.output.append(self.words, &self.packer.words)?;
            self.packer.words.clear();
            if self.stop.load(Ordering::Relaxed) {
                return Err(MarkError::Merge { what: "the index was closed meanwhile".into() });
            }
        }
        Ok(())
    }

    /// Notes that the buckets up to this one begin here.
    #[inline]
    fn begin_buckets(&mut self, last: usize) -> Result<(), MarkError> {
        while self.buckets <= last {
            self.places.push(self.postings);
            self.buckets += 1;
            if self.places.len() == BATCH {
                self.output.append(self.directory, &self.places)?;
                self.places.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), MarkError> {
        // One more: where the last one ends.
        self.begin_buckets(self.shape.buckets())?;
        self.packer.finish();
        self.output.append(self.words, &self.packer.words)?;
        self.output.append(self.directory, &self.places)?;
        Ok(())
    }
}
