//! Whether the fields that flags name are there: a name that is mistyped would decide nothing, without a word.

use super::batch::{Ranking, Taken};
use crate::input::raw::{self, Read, Shape, Source, Wanted};
use crate::output::{Failure, warn};
use std::collections::BTreeSet;
use std::io::Read as _;

/// Records of a source, and sources, that are looked at to say which fields there are; and fields that are named.
const RECORDS: usize = 100;
const SOURCES: usize = 20;
const NAMED: usize = 40;

/// A flag and the field it names.
pub(crate) type Flag<'f> = (&'static str, &'f str);

/// The field that `--keep` names, if it is one.
pub(crate) fn of_keep(keep: &str) -> Option<Flag<'_>> {
    (!matches!(keep, "first" | "longest" | "newest")).then_some(("--keep", keep))
}

/// Whether these can be read only once they have been copied.
pub(crate) fn need_copies(sources: &[Source]) -> bool {
    sources.iter().any(Source::needs_copy)
}

/// Reads on until every field has been seen in a record; an error if one is in none.
pub(crate) fn check(flags: &[Flag<'_>], sources: &[Source], options: &raw::Wanted) -> Result<(), Failure> {
    let extras: Vec<String> = flags.iter().map(|(_, field)| (*field).to_owned()).collect();
    let wanted = Wanted { extras, read: None, ..options.clone() };
    let (mut missing, mut is_empty): (BTreeSet<usize>, bool) = ((0..flags.len()).collect(), true);
    for source in sources {
        // A document that is a file has a title, and no other fields.
        let has_fields = match source.shape {
            Shape::Document => flags.iter().any(|(_, field)| *field == "title"),
            Shape::Lines => false,
            _ => true,
        };
        if missing.is_empty() {
            break;
        }
        if !has_fields {
            is_empty = false;
            continue;
        }
        raw::documents(source, &wanted, 0, &mut |batch| {
            for read in batch {
                if let Read::Document(doc) = read {
                    is_empty = false;
                    missing.retain(|&at| doc.extras.get(at).is_none_or(Option::is_none));
                }
            }
            !missing.is_empty()
        });
    }
    match missing.first() {
        Some(&at) if !is_empty => {
            let (flag, field) = flags[at];
            Err(Failure::Input(format!(
                "{flag} {field}: no record has anything in the field {field:?}; {}",
                there(sources, &wanted)
            )))
        }
        // Where nothing can be read there is nothing to decide either.
        _ => Ok(()),
    }
}

/// Which fields there are, in words.
fn there(sources: &[Source], wanted: &Wanted) -> String {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let records = sources.iter().filter(|source| !matches!(source.shape, Shape::Document | Shape::Lines));
    for source in records.take(SOURCES) {
        let mut left = RECORDS;
        // Ends with an error when there were enough, and that is no news.
        let _ = raw::again(source, wanted, &mut |record| {
            let object = (record.object)().and_then(|object| serde_json::from_str(&object).ok());
            if let Some(serde_json::Value::Object(fields)) = object {
                names.extend(fields.into_iter().map(|(name, _)| name));
            }
            left -= 1;
            if left == 0 { Err(Failure::ClosedPipe) } else { Ok(()) }
        });
    }
    if names.is_empty() {
        return "these inputs have no fields".into();
    }
    let listed: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = if names.len() > NAMED { ", ..." } else { "" };
    format!("the fields are {}{more}", listed.join(", "))
}

/// Warns where a field is there and decides nothing all the same.
pub(crate) fn warn_if_idle(ranking: &Ranking, taken: &Taken) -> Result<(), Failure> {
    let (last, what) = match ranking {
        Ranking::First | Ranking::Longest => return Ok(()),
        Ranking::Newest(_) => (u64::MAX, "a date that --keep newest could go by; name its field with --date"),
        Ranking::Largest(_) => (
            u64::MAX,
            "a number in the field of --keep; if it holds names, list the best of them with --prefer",
        ),
        Ranking::Listed(_, listed) => {
            (listed.len() as u64, "one of the values of --prefer in the field of --keep")
        }
    };
    let mut ranks = taken.work.read("ranks")?;
    let mut rank = [0; 8];
    if taken.run.count() == 0 {
        return Ok(());
    }
    while ranks.read_exact(&mut rank).is_ok() {
        if u64::from_le_bytes(rank) != last {
            return Ok(());
        }
    }
    warn(&format!("no document has {what}; of duplicates the first stays"));
    Ok(())
}
