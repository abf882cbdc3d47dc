//! What a damaged store says, and whether that will do: looked at by a process of its own, which may die of it.

use crate::calls::MARK;
use crate::documents::{NAME, of_record};
use crate::options;
use crate::oracle::State;
use crate::process::writer;
use leitong_store::embedded::{Embedded, Options, repair};
use leitong_store::{Record, Store, StoreError, Want};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const FOLDER: &str = "LEITONG_DAMAGED_FOLDER";
pub(crate) const KNOWN: &str = "LEITONG_DAMAGED_KNOWN";
pub(crate) const THINGS: &str = "LEITONG_DAMAGED_THINGS";
/// The time that it is.
pub(crate) const NOW: i64 = 3;
/// Notices that say that something was made again, not that something is lost.
const HARMLESS: [&str; 2] = ["an index of collection", "the file pulse"];

/// Looks at a damaged store, and repairs it.
#[test]
fn child() {
    let (Some(folder), Some(known)) = (std::env::var_os(FOLDER), std::env::var_os(KNOWN)) else { return };
    let (folder, known) = (PathBuf::from(folder), read_state(&fs::read_to_string(known).unwrap()));
    let write = writer();
    let line = |what: &str, said: String| write(&format!("{MARK}{what} {}\n", said.replace('\n', " ")));
    if std::env::var(THINGS).is_ok_and(|things| things.contains("look")) {
        line("look", look(&folder, &known));
    }
    line("repair", mend(&folder, &known));
}

fn existing() -> Options {
    Options { create: false, ..options(NOW) }
}

/// What opening and checking say.
fn look(folder: &Path, known: &State) -> String {
    let store = match Embedded::open(folder, existing()) {
        Ok(store) => store,
        Err(error) => return refused(folder, "opening", &error),
    };
    let notices = store.notices();
    let problems = match store.verify(&mut |_| {}) {
        Ok(findings) => findings.problems,
        Err(error) => return refused(folder, "checking", &error),
    };
    if !problems.is_empty() {
        return format!("told: {problems:?}");
    }
    let loud = notices.iter().any(|notice| !HARMLESS.iter().any(|harmless| notice.starts_with(harmless)));
    match (differences(&store, known), notices.is_empty()) {
        (Err(error), _) => format!("WRONG: checking found nothing, reading says {error}"),
        (Ok(lost), _) if !lost.is_empty() && !loud => {
            format!("WRONG: silently lost or changed: {lost:?} {notices:?}")
        }
        (Ok(_), true) => "intact".into(),
        (Ok(_), false) => format!("noticed: {notices:?}"),
    }
}

/// Whether an error says where, and what to do.
fn refused(folder: &Path, when: &str, error: &StoreError) -> String {
    let text = error.to_string();
    let clear = match error {
        StoreError::Damaged { .. } => text.contains(&format!("check-db --db {}`", folder.display())),
        StoreError::NotAStore { .. } => text.contains(&*folder.to_string_lossy()),
        _ => false,
    };
    if clear {
        format!("refused {when}: {text}")
    } else {
        format!("WRONG: an unclear error {when}: {error:?}: {text}")
    }
}

/// Documents that are missing, are other than they were, or were never there.
fn differences(store: &Embedded, known: &State) -> Result<Vec<String>, StoreError> {
    let mut found = State::new();
    let mut wrong = Vec::new();
    let there = !store.collections()?.is_empty();
    let all = if there { store.scan(NAME, None, usize::MAX, Want::Text)? } else { Vec::new() };
    for stored in all {
        let Some(doc) = of_record(&stored.record) else {
            wrong.push(format!("changed: {:?}", stored.record.id));
            continue;
        };
        let made = doc.record();
        if stored.record != made {
            let but_for_text = stored.record == Record { text: None, ..made };
            wrong.push(format!(
                "{}: {:?}",
                if but_for_text { "without its text" } else { "changed" },
                doc.id
            ));
        }
        found.insert(doc.id, (stored.version, doc.seed));
    }
    let missing = known.iter().filter(|(id, there)| found.get(*id) != Some(*there));
    wrong.extend(missing.map(|(id, _)| format!("missing: {id:?}")));
    let stray = found.keys().filter(|id| !known.contains_key(*id));
    wrong.extend(stray.map(|id| format!("back again: {id:?}")));
    wrong.truncate(5);
    Ok(wrong)
}

/// What repairing does, and what is then there.
fn mend(folder: &Path, known: &State) -> String {
    let (mended, findings) = match repair(folder, existing(), &mut |_| {}) {
        Ok(done) => done,
        Err(error) => return refused(folder, "repairing", &error),
    };
    if findings.problem_count > 0 {
        return format!("WRONG: repaired, and still: {:?}", findings.problems);
    }
    let store = match Embedded::open(folder, existing()) {
        Ok(store) => store,
        Err(error) => return format!("WRONG: repaired, and cannot be opened: {error}"),
    };
    let problems = store.verify(&mut |_| {}).map(|findings| findings.problems);
    let notices = store.notices();
    if !matches!(&problems, Ok(problems) if problems.is_empty()) || !notices.is_empty() {
        return format!("WRONG: repaired, and still: {problems:?} {notices:?}");
    }
    let named = mended.iter().any(|line| !HARMLESS.iter().any(|harmless| line.starts_with(harmless)));
    match differences(&store, known) {
        Err(error) => format!("WRONG: repaired, and cannot be read: {error}"),
        Ok(lost) if lost.is_empty() => "mended, all there".into(),
        Ok(lost) if lost.iter().any(|lost| lost.starts_with("changed")) => format!("WRONG: {lost:?}"),
        // A record does not say that it had a text, so that the trees end differently is all there is to tell.
        Ok(lost) if named && lost.iter().any(|lost| lost.starts_with("without")) => {
            format!("mended without texts: {lost:?} {mended:?}")
        }
        Ok(lost) if !named => format!("WRONG: lost and not named: {lost:?} {mended:?}"),
        Ok(lost) => format!("mended, lost what was named: {lost:?} {mended:?}"),
    }
}

pub(crate) fn write_state(state: &State) -> String {
    state.iter().fold(String::new(), |mut text, (id, (version, seed))| {
        let _ = writeln!(text, "{id} {version} {seed}");
        text
    })
}

fn read_state(text: &str) -> State {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].to_owned(), (words[1].parse().unwrap(), words[2].parse().unwrap()))
    };
    text.lines().map(entry).collect()
}
