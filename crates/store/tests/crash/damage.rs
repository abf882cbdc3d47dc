//! Every file of a store is damaged in every way. What was stored is still there, or whoever opens and checks is told;
//! and repairing ends well or says why not.

use crate::calls::{Call, Caller, How, MARK, parse};
use crate::documents::{Doc, Size, collection, new_seed};
use crate::load::Plan;
use crate::observe::observe;
use crate::oracle::{Oracle, State};
use crate::process::{self, End, Process, Read, writer};
use crate::verdict::{FOLDER, KNOWN, NOW, THINGS, write_state};
use crate::{Random, amount, copy_folder, in_memory, open, seed};
use leitong_store::Store;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

const FILLED: &str = "LEITONG_FILLED_FOLDER";
/// Documents of the large store, at most, and how often it is tried to make one.
const TOMES: u64 = 400;
const TRIES: u32 = 20;
/// A case that takes longer hangs; on a machine with much else to do some take a minute.
const LIMIT: Duration = Duration::from_secs(120);

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
    let cases = cases(&place.path().join("db"), &mut Random::new(seed));
    run_all(place.path(), &known, &cases, seed);
}

/// With so much in it that there is more than one journal: a hole between two of them must show.
#[test]
fn several_journals() {
    if std::env::var_os("LEITONG_QUICK").is_some() {
        println!("skipped: several_journals (a large store, and LEITONG_QUICK is set)");
        return;
    }
    let (seed, place) = (seed(), in_memory());
    let known = make_large(place.path());
    let mut random = Random::new(seed);
    let mut cases = Vec::new();
    for (file, length) in journals(&place.path().join("db")) {
        let file = Path::new("documents").join(file);
        let cut = Damage::Truncated(random.below(length));
        let flips = [random.below(8 * length), random.below(800)].map(Damage::Flipped);
        cases.extend(
            [Damage::Emptied, Damage::Removed, cut, flips[0], flips[1]].map(|damage| (file.clone(), damage)),
        );
    }
    run_all(place.path(), &known, &cases, seed);
}

/// Runs all cases on copies of the store `db` of a folder, two at a time.
fn run_all(place: &Path, known: &State, cases: &[(PathBuf, Damage)], seed: u64) {
    fs::write(place.join("known"), write_state(known)).unwrap();
    let next = Mutex::new(cases.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, done) = (&next, &done);
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

/// Texts of more bytes than a journal takes, stored by a process that is killed while the first journal is still needed.
fn make_large(place: &Path) -> State {
    let folder = place.join("db");
    for _ in 0..TRIES {
        let _ = fs::remove_dir_all(&folder);
        let mut process = Process::start("damage::filler", &[(FILLED, folder.as_os_str())]);
        while process.read(LIMIT, Some("ack")) == Read::Line && journals(&folder).len() < 2 {}
        let output = process.end();
        if journals(&folder).len() < 2 {
            continue;
        }
        let (events, failed) = parse(output.lines.iter().map(String::as_str));
        copy_folder(&folder, &place.join("copy"));
        let (found, wrong) = observe(&open(&place.join("copy"), NOW), &[]).unwrap();
        fs::remove_dir_all(place.join("copy")).unwrap();
        assert_eq!(
            (failed, wrong, Oracle::default().violations(&events, &found, NOW)),
            (vec![], vec![], vec![])
        );
        return found;
    }
    panic!("{TRIES} times the process was killed too late, when there was one journal only");
}

/// The journals of a store.
fn journals(folder: &Path) -> Vec<(PathBuf, u64)> {
    let is_journal = |(file, _): &(PathBuf, u64)| file.extension().is_some_and(|end| end == "jnl");
    files(&folder.join("documents")).into_iter().filter(is_journal).collect()
}

#[test]
fn filler() {
    let Some(folder) = std::env::var_os(FILLED).map(PathBuf::from) else { return };
    let write = writer();
    let store = open(&folder, NOW);
    store.create(&collection()).unwrap();
    let caller = Caller::new(&store, &folder, &write);
    let mut random = Random::new(1);
    for number in 0..TOMES {
        let doc = Doc { id: format!("tome-{number}"), seed: new_seed(&mut random, Size::Tome, 0) };
        caller.call(&Call::Add(How::Replace, vec![doc]), &[]).unwrap();
    }
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
        let size = match random.below(30) {
            0 => Size::Book,
            1..8 => Size::Page,
            _ => Size::Short,
        };
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
        let last = last && !name.ends_with("lock");
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
        // A file may go while a process works on the folder.
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(root, &entry.path(), all);
            } else {
                let path = entry.path().strip_prefix(root).unwrap().to_owned();
                all.extend(entry.metadata().ok().map(|about| (path, about.len())));
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
    repaired_first: Option<String>,
}

fn run_case(place: &Path, worker: u32, file: &Path, damage: Damage) -> Outcome {
    let [looked, repaired] = run_child(place, worker, file, damage, ["look ", "repair "]);
    // What has been opened is no longer as it was damaged.
    let again = matches!(damage, Damage::Emptied | Damage::Removed | Damage::Truncated(_));
    let repaired_first =
        again.then(|| run_child(place, worker, file, damage, ["repair "])).map(|[said]| said);
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
    let mut process = Process::start("verdict::child", &environment);
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

/// Counts the outcomes, and fails if there is a wrong one.
fn report(done: &[(PathBuf, Damage, Outcome)], seed: u64) {
    let mut table: BTreeMap<(String, &str, &str), u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, damage, outcome) in done {
        let Outcome { looked, repaired, repaired_first } = outcome;
        let first = repaired_first.iter().map(|said| ("repair", said));
        for (what, said) in [("open, check", looked), ("then repair", repaired)].into_iter().chain(first) {
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
            format!("{} {damage:?}\n    {looked}\n    {repaired}\n    {repaired_first:?}\n", file.display())
        };
        fs::write(path, done.iter().map(line).collect::<String>()).unwrap();
    }
    assert!(wrong.is_empty(), "LEITONG_SEED={seed}: {} wrong outcomes: {wrong:#?}", wrong.len());
}
