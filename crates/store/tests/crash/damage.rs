//! Every file of a store is damaged in every way. What was stored is still there, or whoever opens and checks is told;
//! and repairing ends well or says why not.

use crate::calls::{Call, Caller, How, MARK, parse};
use crate::documents::{Doc, Size, collection, new_seed, of_record};
use crate::load::Plan;
use crate::observe::observe;
use crate::oracle::{Oracle, State};
use crate::process::{self, End, Process, Read, writer};
use crate::{Random, amount, copy_folder, in_memory, open, options, seed};
use leitong_store::embedded::{Embedded, Options, repair};
use leitong_store::{Store, StoreError, Want};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

const FOLDER: &str = "LEITONG_DAMAGED_FOLDER";
const KNOWN: &str = "LEITONG_DAMAGED_KNOWN";
const THINGS: &str = "LEITONG_DAMAGED_THINGS";
/// A case that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// The time that it is.
const NOW: i64 = 3;
/// Notices that say that something was made again, not that something is lost.
const HARMLESS: [&str; 2] = ["an index of collection", "the file pulse"];

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Truncated(u64),
    Flipped(u64),
    Emptied,
    Removed,
}

impl Damage {
    fn name(self) -> &'static str {
        match self {
            Self::Truncated(_) => "truncated",
            Self::Flipped(_) => "bit flipped",
            Self::Emptied => "emptied",
            Self::Removed => "removed",
        }
    }

    fn apply(self, file: &Path) {
        match self {
            Self::Truncated(length) => {
                fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
            }
            Self::Flipped(bit) => {
                let mut bytes = fs::read(file).unwrap();
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
                fs::write(file, bytes).unwrap();
            }
            Self::Emptied => fs::write(file, []).unwrap(),
            Self::Removed => fs::remove_file(file).unwrap(),
        }
    }
}

#[test]
fn every_file() {
    let seed = seed();
    let place = in_memory();
    let known = make(place.path(), seed);
    fs::write(place.path().join("known"), write_state(&known)).unwrap();
    let cases = cases(&place.path().join("db"), &mut Random::new(seed));
    let next = Mutex::new(cases.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (place, next, done) = (place.path(), &next, &done);
            scope.spawn(move || {
                while let Some((file, damage)) = { next.lock().unwrap().next() } {
                    let outcome = run_case(place, worker, file, *damage);
                    done.lock().unwrap().push((file.clone(), *damage, outcome));
                }
            });
        }
    });
    report(&done.into_inner().unwrap(), seed);
}

/// A store written in several sessions, the last of them ended by a kill, and what is in it.
fn make(place: &Path, seed: u64) -> State {
    let folder = place.join("db");
    let mut oracle = Oracle::default();
    let mut random = Random::new(seed);
    for (session, documents) in [(1, 1500), (2, 700)] {
        let lines = Mutex::new(String::new());
        let write = |line: &str| lines.lock().unwrap().push_str(line);
        let store = open(&folder, session);
        store.create(&collection()).unwrap();
        fill(&Caller::new(&store, &folder, &write), documents, session, &mut random);
        if session == 1 {
            store.compact().unwrap();
        }
        let (events, _) = parse(lines.lock().unwrap().lines());
        let (found, wrong) = observe(&store, &[]).unwrap();
        assert_eq!((wrong, oracle.violations(&events, &found, session)), (vec![], vec![]));
        oracle.accept(&events, found);
        store.close().unwrap();
    }
    let plan = Plan { seed, now: NOW, calls: 40, heavy: false, tidy: false };
    let output = process::run(&folder, plan, End::After("closing", Duration::ZERO));
    let (events, failed) = parse(output.lines.iter().map(String::as_str));
    // Looked at in a copy: what the kill left is what is to be damaged.
    copy_folder(&folder, &place.join("copy"));
    let store = open(&place.join("copy"), NOW);
    let (found, wrong) = observe(&store, &[]).unwrap();
    assert_eq!((failed, wrong, oracle.violations(&events, &found, NOW)), (vec![], vec![], vec![]));
    found
}

/// Adds some, replaces some, removes some.
fn fill(caller: &Caller<'_>, documents: u64, session: i64, random: &mut Random) {
    let mut doc = |number: u64| {
        let size = if random.one_in(10) { Size::Book } else { Size::Page };
        Doc { id: format!("bulk-{number}"), seed: new_seed(random, size, 0) }
    };
    let first = (session as u64 - 1) * 1200;
    for start in (first..first + documents).step_by(100) {
        let docs = (start..start + 100).map(&mut doc).collect();
        caller.call(&Call::Add(How::Replace, docs), &[]).unwrap();
    }
    let gone = (first..first + documents).step_by(17).map(|number| format!("bulk-{number}")).collect();
    caller.call(&Call::Remove(gone), &[]).unwrap();
}

/// What is done to which file. Files that were written last have more to lose.
fn cases(folder: &Path, random: &mut Random) -> Vec<(PathBuf, Damage)> {
    let mut cases = Vec::new();
    for (file, length) in files(folder) {
        let name = file.to_string_lossy();
        let last = ["jnl", "pulse", "index/", "current"].iter().any(|part| name.contains(part));
        let flips = if last { amount(12, 2) } else { amount(5, 1) };
        cases.extend([(file.clone(), Damage::Emptied), (file.clone(), Damage::Removed)]);
        if length > 0 {
            cases.extend((0..flips).map(|_| (file.clone(), Damage::Flipped(random.below(8 * length)))));
            // Where most files say what they are.
            cases.extend(
                [0, length - 1].map(|byte| (file.clone(), Damage::Flipped(8 * byte + random.below(8)))),
            );
            let cuts = if last { 3 } else { 1 };
            cases.extend((0..cuts).map(|_| (file.clone(), Damage::Truncated(random.below(length)))));
        }
    }
    let keep = amount(1, 4) as usize;
    cases.into_iter().step_by(keep).collect()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, u64>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                walk(root, &entry.path(), all);
            } else {
                let path = entry.path().strip_prefix(root).unwrap().to_owned();
                all.insert(path, entry.metadata().unwrap().len());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(folder, folder, &mut all);
    all
}

/// What came of a case: what opening and checking said, and what repairing did.
struct Outcome {
    looked: String,
    repaired: String,
    /// What repairing does to a copy that nobody has opened before.
    repaired_first: String,
}

fn run_case(place: &Path, worker: u32, file: &Path, damage: Damage) -> Outcome {
    let [looked, repaired] = run_child(place, worker, file, damage, ["look ", "repair "]);
    let [repaired_first] = run_child(place, worker, file, damage, ["repair "]);
    Outcome { looked, repaired, repaired_first }
}

/// Damages a copy and has a child do some things with it; what it says of each.
fn run_child<const N: usize>(
    place: &Path,
    worker: u32,
    file: &Path,
    damage: Damage,
    things: [&str; N],
) -> [String; N] {
    let folder = place.join(format!("case-{worker}"));
    copy_folder(&place.join("db"), &folder);
    damage.apply(&folder.join(file));
    let (known, what) = (place.join("known"), things.concat());
    let environment: [(&str, &OsStr); 3] =
        [(FOLDER, folder.as_ref()), (KNOWN, known.as_ref()), (THINGS, what.as_ref())];
    let mut process = Process::start("damage::child", &environment);
    let late = process.read(LIMIT, None) == Read::Late;
    let output = process.end();
    let outcomes = things.map(|thing| {
        let line = output.lines.iter().find_map(|line| line.strip_prefix(MARK)?.strip_prefix(thing));
        let ended = || if late { "WRONG: hangs".into() } else { "WRONG: the process died".into() };
        line.map_or_else(ended, |line| line.trim().to_owned())
    });
    fs::remove_dir_all(&folder).unwrap();
    outcomes
}

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
    let all =
        if there { store.scan(crate::documents::NAME, None, usize::MAX, Want::Text)? } else { Vec::new() };
    for stored in all {
        let doc = of_record(&stored.record).filter(|doc| doc.record() == stored.record);
        match doc {
            Some(doc) => _ = found.insert(doc.id, (stored.version, doc.seed)),
            None => wrong.push(format!("changed: {:?}", stored.record.id)),
        }
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
        Ok(lost) if !named => format!("WRONG: lost and not named: {lost:?} {mended:?}"),
        Ok(lost) => format!("mended, lost what was named: {lost:?} {mended:?}"),
    }
}

fn write_state(state: &State) -> String {
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

/// Counts the outcomes, and fails if there is a wrong one.
fn report(done: &[(PathBuf, Damage, Outcome)], seed: u64) {
    let mut table: BTreeMap<(String, &str, &str), u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, damage, outcome) in done {
        let Outcome { looked, repaired, repaired_first } = outcome;
        for (what, said) in [("open, check", looked), ("then repair", repaired), ("repair", repaired_first)] {
            let kind = said.split_once([':', ',']).map_or(said.as_str(), |(kind, _)| kind);
            *table.entry((what.to_owned(), damage.name(), kind)).or_default() += 1;
            if said.starts_with("WRONG") {
                wrong.push(format!("{} {damage:?}, {what}: {said}", file.display()));
            }
        }
    }
    println!("{} cases (LEITONG_SEED={seed})", done.len());
    table
        .iter()
        .for_each(|((what, damage, kind), count)| println!("{count:5}  {what:15} {damage:12} {kind}"));
    if let Some(path) = std::env::var_os("LEITONG_DAMAGE_LOG") {
        let line = |(file, damage, outcome): &(PathBuf, Damage, Outcome)| {
            let Outcome { looked, repaired, repaired_first } = outcome;
            format!("{} {damage:?}\n    {looked}\n    {repaired}\n    {repaired_first}\n", file.display())
        };
        fs::write(path, done.iter().map(line).collect::<String>()).unwrap();
    }
    assert!(wrong.is_empty(), "LEITONG_SEED={seed}: {} wrong outcomes: {wrong:#?}", wrong.len());
}
