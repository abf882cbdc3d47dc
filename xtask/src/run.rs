//! Running cargo, and counting what its tests say.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(crate) type Outcome<T> = Result<T, String>;

/// Runs cargo in the repository's root; its output goes to ours.
pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome<()> {
    let status =
        command(arguments, environment).status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}

fn command(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    println!("\n--- cargo {}", arguments.join(" "));
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(arguments).envs(environment.iter().copied()).current_dir(super::root());
    command
}

/// What passed, what failed, what was skipped and why.
#[derive(Default)]
pub(crate) struct Tally {
    passed: u64,
    failed: Vec<String>,
    skipped: Vec<String>,
    /// What the tests that failed said.
    said: String,
}

impl Tally {
    /// Counts a check that is not a cargo test.
    pub(crate) fn add(&mut self, name: &str, outcome: Outcome<()>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(message) => self.failed.push(format!("{name}: {message}")),
        }
    }

    /// Counts what a line of a test program says.
    fn read(&mut self, line: &str, part: Part) {
        if line.starts_with("skipped: ") {
            self.skipped.push(line.to_owned());
        } else if part == Part::Failures {
            self.said += line;
            self.said.push('\n');
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failed.push(name.to_owned());
        } else if line.starts_with("test result: ") {
            self.passed += number_before(line, " passed");
        }
    }

    /// Prints the result, with all that tests which failed have said: nobody should search for it. An error when anything failed.
    pub(crate) fn report(&self) -> Outcome<()> {
        println!("\n{}", self.said);
        for reason in &self.skipped {
            println!("{reason}");
        }
        for failure in &self.failed {
            println!("failed: {failure}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len());
        self.outcome()
    }

    fn outcome(&self) -> Outcome<()> {
        if self.failed.is_empty() { Ok(()) } else { Err("not everything passed".into()) }
    }
}

/// Runs `cargo test`. Tests that lack something print `skipped: NAME (WHY)` and return: they are counted as skipped,
/// not as passed.
pub(crate) fn cargo_test(arguments: &[&str], environment: &[(&str, &str)]) -> Outcome<Tally> {
    let started = Instant::now();
    let mut with_output = arguments.to_vec();
    with_output.extend(["--no-fail-fast", "--", "--show-output"]);
    let mut child = command(&with_output, environment)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    let output = child.stdout.take().ok_or("cargo has no output")?;
    let (mut tally, mut part) = (Tally::default(), Part::Tests);
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| format!("cannot read cargo's output: {error}"))?;
        part = part.before(&line);
        if part != Part::Successes {
            println!("{line}");
        }
        tally.read(&line, part);
    }
    let status = child.wait().map_err(|error| format!("cargo did not end: {error}"))?;
    if !status.success() && tally.failed.is_empty() {
        tally.failed.push("cargo test itself (see above)".into());
    }
    tally.passed = tally.passed.saturating_sub(tally.skipped.len() as u64);
    println!("\ncargo test took {} s", started.elapsed().as_secs());
    Ok(tally)
}

/// The parts of what a test program prints. What tests that passed have to say is of no interest to anybody, except that they
/// were skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Tests,
    Successes,
    Failures,
}

impl Part {
    /// The part that a line belongs to, behind lines of this part.
    fn before(self, line: &str) -> Self {
        match line {
            "successes:" => Self::Successes,
            "failures:" => Self::Failures,
            _ if line.starts_with("test result: ") => Self::Tests,
            _ => self,
        }
    }
}

fn number_before(line: &str, what: &str) -> u64 {
    let before = line.split(what).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_off_cargos_own_line() {
        let line = "test result: ok. 47 passed; 0 failed; 1 ignored; 0 measured";
        assert_eq!((number_before(line, " passed"), number_before(line, " ignored")), (47, 1));
        assert_eq!(number_before("nothing", " passed"), 0);
    }

    #[test]
    fn what_failed_is_said_and_what_was_skipped_counts() {
        let printed = "test a ... ok\ntest b ... FAILED\n\nsuccesses:\n\n---- a stdout ----\nskipped: a (no server)\nhello\n\n\
                       successes:\n    a\n\nfailures:\n\n---- b stdout ----\nbroken here\n\nfailures:\n    b\n\n\
                       test result: FAILED. 1 passed; 1 failed";
        let (mut tally, mut part) = (Tally::default(), Part::Tests);
        for line in printed.lines() {
            part = part.before(line);
            tally.read(line, part);
        }
        assert_eq!((tally.passed, tally.failed, tally.skipped.len()), (1, vec!["b".to_owned()], 1));
        assert!(tally.said.contains("broken here") && !tally.said.contains("hello"));
    }

    #[test]
    fn a_failure_fails_the_whole() {
        let mut tally = Tally::default();
        tally.add("good", Ok(()));
        assert!(tally.outcome().is_ok());
        tally.add("bad", Err("broken".into()));
        assert!(tally.outcome().is_err());
    }
}
