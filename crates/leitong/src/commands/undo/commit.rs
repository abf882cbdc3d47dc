//! New files in the place of several old ones, so that a kill in between can be made good.
//!
//! All files are written under other names first. Then JOURNAL.undo says which takes the place of which: with it the undo is decided, and whoever
//! finds it carries it out. Before that everything is as it was.

use crate::output::file::{Closed, Output, Seal, replace};
use crate::output::{Failure, json_line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

/// The version of the layout of [`Plan`].
const VERSION: u32 = 1;

/// What is to be done, and for whom.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    leitong_undo: u32,
    /// The ids that were asked for; none for all.
    pub(super) only: BTreeSet<String>,
    /// What the one who asked is told.
    pub(super) restored: u64,
    pub(super) output: String,
    moves: Vec<Move>,
    removes: Vec<PathBuf>,
}

/// A file that takes the place of another.
#[derive(Debug, Serialize, Deserialize)]
struct Move {
    from: PathBuf,
    to: PathBuf,
    /// Of the file itself.
    seal: Seal,
    /// Of what it replaces, where that matters.
    was: Option<Seal>,
}

/// Where the plan of an undo stands as long as it is not carried out.
pub(crate) fn plan_beside(journal: &Path) -> PathBuf {
    let mut path = journal.as_os_str().to_owned();
    path.push(".undo");
    path.into()
}

impl Plan {
    pub(super) fn new(only: BTreeSet<String>, restored: u64, output: String) -> Self {
        Self { leitong_undo: VERSION, only, restored, output, moves: Vec::new(), removes: Vec::new() }
    }

    /// A file is to take its place, where `was` stands now.
    pub(super) fn publish(&mut self, file: &Closed, was: Option<&Seal>) -> Result<(), Failure> {
        let (from, to) = file.ways();
        let (from, to) = (absolute(from)?, absolute(to)?);
        self.moves.push(Move { from, to, seal: file.seal.clone(), was: was.cloned() });
        Ok(())
    }

    /// A file is to go.
    pub(super) fn remove(&mut self, path: &Path) -> Result<(), Failure> {
        self.removes.push(absolute(path)?);
        Ok(())
    }

    /// Decides it: from here on it is carried out, now or by the next who comes.
    pub(super) fn decide(&self, journal: &Path, files: Vec<Closed>) -> Result<(), Failure> {
        let mut plan = Output::create(&plan_beside(journal))?;
        plan.put(&json_line(self)?)?;
        plan.close()?.publish()?;
        files.into_iter().for_each(Closed::leave);
        Ok(())
    }

    /// Carries it out, as far as that has not happened. `step` is told before each step.
    pub(super) fn carry_out(
        &self,
        journal: &Path,
        step: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for one in self.moves.iter().filter(|one| one.from.exists()) {
            step()?;
            replace(&one.from, &one.to)?;
        }
        for path in self.removes.iter().map(PathBuf::as_path).chain([&*plan_beside(journal)]) {
            step()?;
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether all files are what they were when it was decided.
    fn check(&self, journal: &Path) -> Result<(), Failure> {
        let of = |path: &Path| Seal::of(path).ok();
        for one in &self.moves {
            let (new, old) = (of(&one.from), of(&one.to));
            let seal = Some(&one.seal);
            let is_done = new.is_none() && old.as_ref() == seal;
            let is_ready = new.as_ref() == seal && (one.was.is_none() || one.was == old);
            if !(is_done || is_ready) {
                return Err(Failure::Input(format!(
                    "{}: an undo was interrupted here, and since then {} has been changed, so it cannot be finished; bring the files \
                     back as they were, or remove {} to give it up",
                    journal.display(),
                    one.to.display(),
                    plan_beside(journal).display()
                )));
            }
        }
        Ok(())
    }
}

/// Finishes an undo that was interrupted, if there is one.
pub(super) fn finish(journal: &Path) -> Result<Option<Plan>, Failure> {
    let path = plan_beside(journal);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::Input(format!("{}: cannot be read: {error}", path.display()))),
    };
    let plan: Plan = serde_json::from_slice(&bytes).ok().filter(|plan: &Plan| plan.leitong_undo <= VERSION).ok_or_else(
        || {
            Failure::Input(format!(
                "{}: this is not what an interrupted `leitong undo` leaves, or a newer one left it; use that one, or move the file away",
                path.display()
            ))
        },
    )?;
    plan.check(journal)?;
    plan.carry_out(journal, &mut || Ok(()))?;
    Ok(Some(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path, content: &str) -> Closed {
        let mut file = Output::create(path).unwrap();
        file.put(content.as_bytes()).unwrap();
        file.close().unwrap()
    }

    #[test]
    fn interrupted_before_any_step_it_can_be_finished() {
        let mut steps = 0;
        for stop in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            for name in ["out", "journal", "rows"] {
                std::fs::write(at(name), "old").unwrap();
            }
            let mut plan = Plan::new(BTreeSet::new(), 1, "out".into());
            let files = vec![written(&at("out"), "new"), written(&at("journal"), "new journal")];
            plan.publish(&files[0], Some(&Seal::of(&at("out")).unwrap())).unwrap();
            plan.publish(&files[1], None).unwrap();
            plan.remove(&at("rows")).unwrap();
            plan.decide(&at("journal"), files).unwrap();
            let mut left = stop;
            let outcome = plan.carry_out(&at("journal"), &mut || {
                left -= 1;
                if left < 0 { Err(Failure::ClosedPipe) } else { Ok(()) }
            });
            if outcome.is_ok() {
                break;
            }
            steps += 1;
            assert!(finish(&at("journal")).unwrap().is_some(), "{stop}");
            let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
            assert_eq!((read("out").as_str(), read("journal").as_str()), ("new", "new journal"), "{stop}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "{stop}: nothing else is there");
            assert!(finish(&at("journal")).unwrap().is_none());
        }
        assert_eq!(steps, 4);
    }
}
