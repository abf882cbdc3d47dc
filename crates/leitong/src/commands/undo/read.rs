//! A journal, read as often as needed.

use crate::commands::dedup::journal::{Entry, Head, Tail, VERSION};
use crate::input;
use crate::output::Failure;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A journal that is whole.
pub(super) struct Journal {
    pub(super) path: PathBuf,
    pub(super) head: Head,
    pub(super) tail: Tail,
}

impl Journal {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::Input(format!("{}: {why}", path.display()));
        let mut lines = lines(path)?;
        let first = lines.next().transpose()?.unwrap_or_default();
        let version =
            serde_json::from_str::<Value>(&first).ok().and_then(|line| line["leitong_journal"].as_u64());
        let head = match version {
            None => return Err(wrong("this is no journal; `leitong dedup` writes one beside its output")),
            Some(version) if version > u64::from(VERSION) => {
                return Err(wrong("this journal was written by a newer leitong; use that one"));
            }
            Some(_) => serde_json::from_str::<Head>(&first).map_err(|error| wrong(&error.to_string()))?,
        };
        let (mut last, mut count) = (String::new(), 0_u64);
        for line in lines {
            last = line?;
            count += 1;
        }
        let cut = "the journal is cut short; bring it back from where it was whole";
        let tail = serde_json::from_str::<Tail>(&last).map_err(|_| wrong(cut))?;
        if tail.removed + 1 != count {
            return Err(wrong(cut));
        }
        Ok(Self { path: path.to_owned(), head, tail })
    }

    /// Every document that was removed, in order.
    pub(super) fn each(&self, mut each: impl FnMut(Entry) -> Result<(), Failure>) -> Result<(), Failure> {
        self.entries()?.try_for_each(|entry| each(entry?))
    }

    pub(super) fn entries(&self) -> Result<impl Iterator<Item = Result<Entry, Failure>> + use<>, Failure> {
        let path = self.path.display().to_string();
        let entries = lines(&self.path)?.zip(1_u64..).skip(1).take(self.tail.removed as usize);
        Ok(entries.map(move |(line, number)| {
            serde_json::from_str(&line?)
                .map_err(|error| Failure::Input(format!("{path}, line {number}: this is no entry: {error}")))
        }))
    }

    /// What `dedup` wrote: where it was, or else beside the journal.
    pub(super) fn output(&self) -> Result<PathBuf, Failure> {
        let named = PathBuf::from(&self.tail.output);
        let beside = named.file_name().map(|name| self.path.with_file_name(name));
        let found = [Some(named.clone()), beside].into_iter().flatten().find(|path| path.is_file());
        found.ok_or_else(|| {
            Failure::Input(format!(
                "{}: what `leitong dedup` wrote is no longer there, nor beside the journal; bring it back",
                named.display()
            ))
        })
    }
}

fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String, Failure>> + use<>, Failure> {
    let input = input::open_compressed(path).map_err(|error| Failure::Input(error.to_string()))?;
    let name = path.display().to_string();
    let failed = move |error| Failure::Input(format!("{name}: cannot be read: {error}"));
    Ok(BufReader::with_capacity(1 << 18, input).lines().map(move |line| line.map_err(&failed)))
}
