//! All postings of a part in ascending order, for a merge.

use super::MarkError;
use super::fresh::{Fresh, SHARDS};
use super::part::{Body, Live};
use super::segment::Reading;

/// Postings read at once.
const BLOCK: u32 = 1 << 13;
/// Buckets whose places are read at once.
const BUCKETS: usize = 1 << 12;

/// Walks the postings of one part, without those of deleted documents, rows numbered as in the merged part.
pub(super) struct Cursor<'a> {
    source: Source<'a>,
    live: &'a Live,
    /// The mark above the row.
    buffer: Vec<u64>,
    at: usize,
}

enum Source<'a> {
    Fresh { fresh: &'a Fresh, shard: usize },
    Segment(Walk<'a>),
}

impl<'a> Cursor<'a> {
    pub(super) fn new(body: &'a Body, live: &'a Live) -> Self {
        let source = match body {
            Body::Fresh(fresh) => Source::Fresh { fresh, shard: 0 },
            Body::Segment(segment) => Source::Segment(Walk::new(segment.reading())),
        };
        Self { source, live, buffer: Vec::new(), at: 0 }
    }

    /// The next posting, the mark above the row; the largest number when there are no more, which no posting can be.
    #[inline]
    pub(super) fn next(&mut self) -> Result<u64, MarkError> {
        while self.at == self.buffer.len() {
            if !self.refill()? {
                return Ok(u64::MAX);
            }
        }
        self.at += 1;
        Ok(self.buffer[self.at - 1])
    }

    fn refill(&mut self) -> Result<bool, MarkError> {
        self.buffer.clear();
        self.at = 0;
        let more = match &mut self.source {
            Source::Fresh { fresh, shard } if *shard < SHARDS => {
                fresh.shard(*shard, &mut self.buffer);
                *shard += 1;
                true
            }
            Source::Fresh { .. } => false,
            Source::Segment(walk) => walk.read(&mut self.buffer)?,
        };
        let live = self.live;
        self.buffer.retain_mut(|posting| {
            let row = live.row(*posting as u32);
            *posting = *posting >> 32 << 32 | u64::from(row.unwrap_or_default());
            row.is_some()
        });
        Ok(more)
    }
}

/// Where in a segment the reading has come to.
struct Walk<'a> {
    reading: Reading<'a>,
    posting: u32,
    bucket: usize,
    /// Where the bucket ends.
    end: u32,
}

impl<'a> Walk<'a> {
    fn new(reading: Reading<'a>) -> Self {
        // Before the first bucket, as it were: the first posting enters it.
        Self { reading, posting: 0, bucket: usize::MAX, end: 0 }
    }

    /// Appends the next postings; false when there are none left.
    fn read(&mut self, into: &mut Vec<u64>) -> Result<bool, MarkError> {
        let block = self.posting..self.reading.postings().min(self.posting.saturating_add(BLOCK));
        if block.is_empty() {
            return Ok(false);
        }
        self.reading.expect_words(block.start, block.end);
        self.reading.sound()?;
        let (shape, words) = (self.reading.shape(), self.reading.words.items);
        self.posting = block.end;
        for posting in block {
            while posting >= self.end {
                self.next_bucket()?;
            }
            let (rest, row) = shape.get(words, posting);
            into.push(u64::from(shape.mark(self.bucket, rest)) << 32 | u64::from(row));
        }
        Ok(true)
    }

    fn next_bucket(&mut self) -> Result<(), MarkError> {
        let directory = self.reading.directory;
        let bucket = self.bucket.wrapping_add(1);
        if bucket.is_multiple_of(BUCKETS) {
            directory.expect(bucket, directory.items.len().min(bucket + BUCKETS + 1));
            self.reading.sound()?;
        }
        match directory.items.get(bucket + 1) {
            Some(&end) => (self.bucket, self.end) = (bucket, end),
            None => return Err(self.reading.refused("a posting lies in no bucket")),
        }
        Ok(())
    }
}
