//! Putting rows back.

use super::Undoing;
use crate::commands::dedup::kept::{Table, rows_beside};
use crate::input::raw::{self, Shape, Source};
use crate::output::Failure;
use crate::output::file::Closed;
use crate::output::rows::{Group, Reader};
use parquet::file::reader::FileReader;
use std::path::PathBuf;

/// The files rows are taken from: what stays, and what went.
const STAYS: usize = 0;
const WENT: usize = 1;

fn open(path: PathBuf) -> Result<Reader, Failure> {
    raw::open_parquet(&Source::file(path, Shape::Parquet)).map_err(|error| Failure::Input(error.to_string()))
}

/// The output with what was removed, written and not yet in its place.
pub(super) fn merge(undoing: &Undoing<'_>) -> Result<Closed, Failure> {
    let stays = open(undoing.from.clone())?;
    let went = open(rows_beside(&undoing.journal.path))?;
    let mut table = Table::create(undoing.to)?;
    table.begin(&stays)?;
    let mut entries = undoing.journal.entries()?.peekable();
    let (mut row, mut taken) = (0, 0);
    let groups = stays.metadata().row_groups();
    // What stood behind the last row that stays is in the last group, or in one of its own.
    for at in 0..groups.len().max(1) {
        let mut group = Group::starting(vec![row, taken]);
        let end = row + groups.get(at).map_or(0, |group| group.num_rows().unsigned_abs());
        let is_last = at + 1 >= groups.len();
        loop {
            let here = |before: u64| before <= row && (before < end || is_last);
            while let Some(entry) =
                entries.next_if(|entry| entry.as_ref().map_or(true, |one| here(one.before)))
            {
                group.push(WENT, undoing.wants(&entry?));
                taken += 1;
            }
            if row >= end {
                break;
            }
            group.push(STAYS, true);
            row += 1;
        }
        table.write(&[&stays, &went], &group)?;
    }
    table.close()
}

/// The rows that are not put back.
pub(super) fn rest(undoing: &Undoing<'_>) -> Result<Closed, Failure> {
    let path = rows_beside(&undoing.journal.path);
    let went = open(path.clone())?;
    let mut table = Table::create(&path)?;
    table.begin(&went)?;
    let mut entries = undoing.journal.entries()?;
    let mut start = 0;
    for of_file in went.metadata().row_groups() {
        let count = of_file.num_rows().unsigned_abs();
        let mut group = Group::starting(vec![start]);
        for entry in entries.by_ref().take(count as usize) {
            group.push(0, !undoing.wants(&entry?));
        }
        table.write(&[&went], &group)?;
        start += count;
    }
    table.close()
}
