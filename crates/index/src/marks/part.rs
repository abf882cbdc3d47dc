//! The parts of an index that no longer change.

use super::fresh::Fresh;
use super::segment::Segment;
use super::{MarkError, Posting};
use crate::files::Deleted;
use std::ops::Range;
use std::sync::Arc;

/// A part that no longer changes, and the ordinals it answers for.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) ordinals: Range<u64>,
    pub(super) body: Body,
    /// The number of its file, where it has one.
    pub(super) file: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Fresh(Arc<Fresh>),
    Segment(Arc<Segment>),
}

impl Body {
    pub(super) fn documents(&self) -> u64 {
        match self {
            Self::Fresh(fresh) => fresh.documents().len() as u64,
            Self::Segment(segment) => segment.documents() as u64,
        }
    }

    pub(super) fn postings(&self) -> u64 {
        match self {
            Self::Fresh(fresh) => fresh.postings(),
            Self::Segment(segment) => segment.postings(),
        }
    }

    /// Whether it has a document of this ordinal, deleted or not.
    pub(super) fn has(&self, ordinal: u64) -> Result<bool, MarkError> {
        match self {
            Self::Fresh(fresh) => Ok(fresh.has(ordinal)),
            Self::Segment(segment) => segment.reading().has(ordinal),
        }
    }

    /// Calls `each` with all documents, by row.
    pub(super) fn for_each(
        &self,
        each: &mut impl FnMut(Posting) -> Result<(), MarkError>,
    ) -> Result<(), MarkError> {
        match self {
            Self::Fresh(fresh) => fresh.documents().iter().try_for_each(|document| each(*document)),
            Self::Segment(segment) => segment.reading().for_each(each),
        }
    }
}

impl Part {
    pub(super) fn is_frozen(&self) -> bool {
        matches!(self.body, Body::Fresh(_))
    }

    /// What merging it costs.
    pub(super) fn size(&self) -> u64 {
        self.body.documents() + self.body.postings()
    }
}

/// Which rows of a part go into a merged one, and which rows they are there.
#[derive(Debug)]
pub(super) struct Live {
    /// A bit for each row, with the number of rows before each word; nothing while all rows live.
    words: Vec<(u64, u32)>,
    /// The first row in the merged part.
    first: u32,
    pub(super) documents: u64,
    pub(super) postings: u64,
}

impl Live {
    /// Of a part whose rows begin at `first` in the merged one.
    pub(super) fn new(part: &Part, deleted: &Deleted, first: u32) -> Result<Self, MarkError> {
        let mut live = Self {
            words: Vec::new(),
            first,
            documents: part.body.documents(),
            postings: part.body.postings(),
        };
        if deleted.count_in(part.ordinals.clone()) == 0 {
            return Ok(live);
        }
        live.words.resize((live.documents as usize).div_ceil(64), (0, 0));
        let (mut row, mut documents, mut postings) = (0, 0, 0);
        part.body.for_each(&mut |document| {
            if row % 64 == 0 {
                live.words[row / 64].1 = documents as u32;
            }
            if !deleted.contains(document.ordinal) {
                live.words[row / 64].0 |= 1 << (row % 64);
                documents += 1;
                postings += u64::from(document.marks);
            }
            row += 1;
            Ok(())
        })?;
        (live.documents, live.postings) = (documents, postings);
        Ok(live)
    }

    /// Where a row stands in the merged part; `None` if it goes.
    #[inline]
    pub(super) fn row(&self, row: u32) -> Option<u32> {
        if self.words.is_empty() {
            return Some(self.first + row);
        }
        let &(word, before) = self.words.get(row as usize / 64)?;
        let bit = 1_u64 << (row % 64);
        (word & bit != 0).then(|| self.first + before + (word & (bit - 1)).count_ones())
    }
}
