//! Whether files can be written where they are to be, without one taking the place of another.

use super::Failure;
use super::file::target;
use std::path::{Path, PathBuf};

/// What a command reads and writes.
pub(crate) struct Paths<'p> {
    pub(crate) outputs: &'p [&'p Path],
    /// Files and folders; `-` is standard input.
    pub(crate) inputs: &'p [PathBuf],
    /// The folder it works in and removes.
    pub(crate) work: Option<&'p Path>,
}

/// Where a path leads, also if nothing is there yet.
fn place(path: &Path) -> PathBuf {
    let path = target(path).unwrap_or_else(|_| path.to_owned());
    match (path.canonicalize(), path.file_name()) {
        (Ok(place), _) => place,
        (Err(_), Some(name)) => place(folder_of(&path)).join(name),
        (Err(_), None) => path,
    }
}

/// The folder that a command with this output works in.
pub(crate) fn work_folder(named: Option<&Path>, output: &Path) -> PathBuf {
    named.map_or_else(|| PathBuf::from(format!("{}.work", output.display())), Path::to_owned)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refuse(path: &Path, why: &str) -> Result<(), Failure> {
    Err(Failure::Input(format!("{}: {why}", path.display())))
}

impl Paths<'_> {
    /// Refuses outputs that are inputs, in folders that are inputs, each other, in the work folder, no plain files, or in folders that are not there.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let named = self.inputs.iter().filter(|input| input.as_os_str() != "-");
        let inputs: Vec<(&PathBuf, PathBuf)> = named.map(|input| (input, place(input))).collect();
        let work = self.work.map(|work| (work, place(work)));
        let mut seen: Vec<PathBuf> = Vec::new();
        for &output in self.outputs {
            let own = place(output);
            for (input, place) in &inputs {
                if *place == own && !place.is_dir() {
                    return refuse(
                        output,
                        "this is an input, and stays as it is; name another file to write to",
                    );
                }
                if place.is_dir() && own.starts_with(place) {
                    let why = format!(
                        "this is in the folder {}, which is an input, and would be read with it; name a place outside of it",
                        input.display()
                    );
                    return refuse(output, &why);
                }
            }
            if seen.contains(&own) {
                return refuse(output, "two outputs have this name; give each its own");
            }
            if work.as_ref().is_some_and(|(_, work)| own.starts_with(work)) {
                return refuse(
                    output,
                    "this is in the --work folder, which goes in the end; name another place",
                );
            }
            if output.exists() && !output.is_file() {
                return refuse(output, "this is not a plain file; name another one to write to");
            }
            let behind = target(output).unwrap_or_else(|_| output.to_owned());
            let folder = folder_of(&behind);
            if !folder.is_dir() {
                let why = format!("there is no folder {}; make it, or name another output", folder.display());
                return refuse(output, &why);
            }
            seen.push(own);
        }
        let Some((work, of_work)) = work else { return Ok(()) };
        for (input, place) in inputs {
            let folder = input.display();
            if place.is_dir() && of_work.starts_with(&place) {
                let why = format!(
                    "this folder to work in is in {folder}, which is an input; name another with --work"
                );
                return refuse(work, &why);
            }
            if place.starts_with(&of_work) {
                let why = format!(
                    "this is in {}, the folder to work in, which goes in the end; name another with --work",
                    work.display()
                );
                return refuse(input, &why);
            }
        }
        Ok(())
    }
}
