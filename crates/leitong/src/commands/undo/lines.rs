//! Putting lines back.

use super::Undoing;
use crate::commands::dedup::format::Layout;
use crate::commands::dedup::journal::Entry;
use crate::input::raw::{self, Source, Wanted};
use crate::output::Failure;
use crate::output::file::{Closed, Output};

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// The output with what was removed, written and not yet in its place.
pub(super) fn merge(undoing: &Undoing<'_>) -> Result<Closed, Failure> {
    let journal = &undoing.journal;
    let source = Source::file(undoing.from.clone(), journal.head.format.shape());
    let wanted = Wanted::everything(&journal.head.text, BLOCK);
    let layout = Layout::like(journal.head.format, &source, &wanted);
    let mut out = Output::create(undoing.to)?;
    if !layout.header.is_empty() {
        out.put(&layout.header)?;
        out.put(layout.end.as_bytes())?;
    }
    let mut entries = journal.entries()?.peekable();
    let mut put_back = |before: u64, out: &mut Output| {
        let here =
            |entry: &Result<Entry, Failure>| entry.as_ref().map_or(true, |entry| entry.before <= before);
        while let Some(entry) = entries.next_if(here) {
            let entry = entry?;
            if undoing.wants(&entry) {
                out.put(entry.raw.unwrap_or_default().as_bytes())?;
                out.put(layout.end.as_bytes())?;
            }
        }
        Ok::<(), Failure>(())
    };
    let mut count = 0;
    raw::again(&source, &wanted, &mut |record| {
        put_back(count, &mut out)?;
        count += 1;
        out.put(record.raw)?;
        out.put(layout.end.as_bytes())
    })?;
    put_back(u64::MAX, &mut out)?;
    out.close()
}
