//! The lists of single documents, looked up by range.

use super::BatchError;
use super::lists::{RANGE, Shared};
use std::sync::{Arc, Mutex, PoisonError};

/// Ranges kept ready where not all fit into memory.
const FEW: usize = 4;
/// Documents in them.
pub(super) const AT_ONCE: u64 = FEW as u64 * RANGE as u64;

/// The lists of the documents of a range.
pub(super) struct Range {
    /// Where those of each document begin, and where the last end.
    starts: Vec<u32>,
    lists: Vec<u64>,
}

impl Range {
    fn new(numbers: &[u64]) -> Self {
        // Two places ahead: while the numbers are put in order, the place before becomes where the next begin.
        let mut starts = vec![0_u32; RANGE as usize + 2];
        for number in numbers {
            starts[(number >> 48) as usize + 2] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut lists = vec![0; numbers.len()];
        for number in numbers {
            let next = &mut starts[(number >> 48) as usize + 1];
            lists[*next as usize] = number & ((1 << 48) - 1);
            *next += 1;
        }
        Self { starts, lists }
    }

    /// Where the lists of a document are.
    pub(super) fn of(&self, ordinal: u32) -> &[u64] {
        let at = (ordinal % RANGE) as usize;
        &self.lists[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Ranges that were asked for lately.
#[derive(Default)]
pub(super) struct Ranges {
    ready: Mutex<Vec<(u32, Arc<Range>)>>,
}

impl Ranges {
    /// The range of this number.
    pub(super) fn of(&self, shared: &Shared, number: u32) -> Result<Arc<Range>, BatchError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = ready.iter().position(|(own, _)| *own == number) {
            let found = ready.remove(at);
            ready.push(found.clone());
            return Ok(found.1);
        }
        let made = Arc::new(Range::new(&shared.of_documents.read(number as usize)?));
        if ready.len() >= FEW && shared.of_documents.is_on_disk() {
            ready.remove(0);
        }
        ready.push((number, Arc::clone(&made)));
        Ok(made)
    }
}
