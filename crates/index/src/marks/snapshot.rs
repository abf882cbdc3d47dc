//! An index as it was at one moment.

use super::look_up::{Reading, look_up};
use super::part::Part;
use super::{MarkError, Posting};
use crate::files::Deleted;

/// An index as it was at one moment. Reading it takes no lock, and nothing that happens later shows in it.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) parts: Vec<Part>,
    pub(super) deleted: Deleted,
    pub(super) next: u64,
}

impl Snapshot {
    /// As [`super::MarkIndex::look_up`].
    pub fn look_up(
        &self,
        marks: &[u32],
        most: usize,
        each: &mut dyn FnMut(usize, Posting),
    ) -> Result<(), MarkError> {
        let readings: Vec<Reading<'_>> = self.parts.iter().map(Reading::of).collect();
        look_up(&readings, &self.deleted, marks, most, each)
    }

    /// As [`super::MarkIndex::for_each`].
    pub fn for_each(&self, each: &mut dyn FnMut(u64, u64, u32)) -> Result<(), MarkError> {
        for part in &self.parts {
            part.body.for_each(&mut |document| {
                if !self.deleted.contains(document.ordinal) {
                    each(document.ordinal, document.origin, document.marks);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The ordinal behind all that had been seen.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }
}
