//! A process is killed again and again while it works on the same folder: nothing acknowledged may be lost, nothing may be
//! there by half, and damage would add up.

use crate::calls::{self, Event};
use crate::load::Plan;
use crate::observe::{backups, observe};
use crate::oracle::Oracle;
use crate::process::{self, End, Output};
use crate::{Random, amount, copy_folder, in_memory, on_disk, options, seed};
use leitong_store::StoreError;
use leitong_store::embedded::{Embedded, Options};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn on_a_disk() {
    Series::new(on_disk(), seed()).run(amount(100, 7));
}

#[test]
fn in_the_memory() {
    Series::new(in_memory(), seed().wrapping_add(1)).run(amount(200, 13));
}

/// A new store each time, killed while it is made.
#[test]
fn while_it_is_made() {
    let seed = seed().wrapping_add(2);
    let mut random = Random::new(seed);
    for round in 0..amount(200, 20) {
        let mut series = Series::new(in_memory(), random.next());
        let plan = Plan { seed: random.next(), now: 1, calls: u64::MAX, heavy: false, tidy: false };
        // Mostly before the first answer.
        let end = End::Started(Duration::from_micros(random.below(40_000)));
        series.go(plan, end, &format!("LEITONG_SEED={seed}, store {round}"));
    }
}

/// Rounds on one folder.
struct Series {
    place: TempDir,
    seed: u64,
    random: Random,
    oracle: Oracle,
    /// Calls that were answered, and that were not.
    calls: [usize; 2],
}

impl Series {
    fn new(place: TempDir, seed: u64) -> Self {
        Self { place, seed, random: Random::new(seed), oracle: Oracle::default(), calls: [0; 2] }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("db")
    }

    fn run(mut self, rounds: u32) {
        for round in 1..=rounds {
            self.round(round);
        }
        let [answered, open] = self.calls;
        println!("{rounds} rounds, {answered} calls answered, {open} not (LEITONG_SEED={})", self.seed);
    }

    fn round(&mut self, round: u32) {
        let (plan, end) = self.plan(round);
        self.go(plan, end, &format!("LEITONG_SEED={}, round {round}", self.seed));
    }

    /// Runs a process, ends it, and checks what it left.
    fn go(&mut self, plan: Plan, end: End, name: &str) {
        let output = process::run(&self.folder(), plan, end);
        let (events, mut wrong) = calls::parse(output.lines.iter().map(String::as_str));
        let answered = events.iter().filter(|event| event.answers.is_some()).count();
        self.calls[0] += answered;
        self.calls[1] += events.len() - answered;
        wrong.extend(ended_as_planned(&output, end));
        wrong.extend(self.check_backups(&events, plan.now));
        wrong.extend(self.check(&events, plan.now));
        let count = wrong.len();
        wrong.truncate(8);
        assert!(
            wrong.is_empty(),
            "{name}, {plan:?}, {end:?}: {count} violations in {:?}, the first: {wrong:#?}\n\
             the last lines: {:#?}",
            self.kept(),
            output.tail()
        );
    }

    fn plan(&mut self, round: u32) -> (Plan, End) {
        let random = &mut self.random;
        let mut plan = Plan {
            seed: random.next(),
            now: round.into(),
            calls: u64::MAX,
            heavy: random.one_in(8),
            tidy: random.one_in(3),
        };
        let mut after = |most: u64| Duration::from_micros(random.below(most * 1000));
        let end = match round % 10 {
            0 => End::Started(after(60)),
            1 => End::After("opened", after(10)),
            2 | 3 => End::After("closing", after(if plan.heavy { 100 } else { 20 })),
            4 => End::Closed,
            _ => End::After("ack", after(if plan.heavy { 1500 } else { 300 })),
        };
        if matches!(end, End::Closed | End::After("closing", _)) {
            plan.calls = 1 + self.random.below(60);
        }
        (plan, end)
    }

    /// What is there after a round, and whether it can be explained. Every other time it is looked at in a copy, so that the
    /// next round starts with what the kill left.
    fn check(&mut self, events: &[Event], now: i64) -> Vec<String> {
        let copy = self.place.path().join("copy");
        let folder = if now % 2 == 0 { self.folder() } else { copy.clone() };
        if folder == copy && self.folder().exists() {
            copy_folder(&self.folder(), &copy);
        }
        let (mut wrong, found) = match look(&folder, now, events) {
            Ok((found, wrong)) => (wrong, found),
            Err(error) => return vec![format!("{error}")],
        };
        wrong.extend(self.oracle.violations(events, &found, now));
        self.oracle.accept(events, found);
        if wrong.is_empty() && copy.exists() {
            std::fs::remove_dir_all(copy).unwrap();
        }
        wrong
    }

    /// A backup that was finished is a sound store; one that was not is that, or none at all.
    fn check_backups(&self, events: &[Event], now: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, documents) in backups(events) {
            let folder = self.place.path().join(name);
            match Embedded::open(&folder, Options { create: false, ..options(now) }) {
                Err(StoreError::NotAStore { .. }) if documents.is_none() => {}
                Err(error) => wrong.push(format!("{name}: {error}")),
                Ok(store) => {
                    let (found, odd) = observe(&store, &[]).unwrap();
                    wrong.extend(odd.into_iter().map(|odd| format!("{name}: {odd}")));
                    if documents.is_some_and(|documents| documents != found.len() as u64) {
                        wrong.push(format!("{name} has {} documents, not {documents:?}", found.len()));
                    }
                }
            }
            if wrong.is_empty() && folder.exists() {
                std::fs::remove_dir_all(folder).unwrap();
            }
        }
        wrong
    }

    /// Where the folder stays for whoever looks for the cause.
    fn kept(&mut self) -> PathBuf {
        self.place.disable_cleanup(true);
        self.place.path().to_owned()
    }
}

fn look(
    folder: &Path,
    now: i64,
    events: &[Event],
) -> Result<(crate::oracle::State, Vec<String>), StoreError> {
    let store = Embedded::open(folder, options(now))?;
    let seen = observe(&store, events)?;
    store.close()?;
    Ok(seen)
}

fn ended_as_planned(output: &Output, end: End) -> Option<String> {
    let well = match end {
        End::Closed => output.ended && output.says("closed"),
        End::After(what, _) => output.says(what),
        End::Started(_) => true,
    };
    (!well).then(|| format!("the process ended by itself, not as planned ({end:?})"))
}
