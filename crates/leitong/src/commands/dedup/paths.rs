//! Whether files can be written where they are to be, without one taking the place of another.

use crate::output::Failure;
use std::path::{Path, PathBuf};

/// Where a path leads, also if nothing is there yet.
fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
        path.file_name().map_or(parent.clone(), |name| parent.join(name))
    })
}

/// Refuses outputs that are inputs, each other, in the work folder, or no plain files.
pub(super) fn check(outputs: &[&Path], inputs: &[&Path], work: Option<&Path>) -> Result<(), Failure> {
    let refuse = |path: &Path, why: &str| Err(Failure::Input(format!("{}: {why}", path.display())));
    let inputs: Vec<PathBuf> = inputs.iter().map(|input| place(input)).collect();
    let mut seen: Vec<PathBuf> = Vec::new();
    for &output in outputs {
        let own = place(output);
        if inputs.contains(&own) {
            return refuse(output, "this is an input, and stays as it is; name another file to write to");
        }
        if seen.contains(&own) {
            return refuse(output, "two outputs have this name; give each its own");
        }
        if work.is_some_and(|work| own.starts_with(place(work))) {
            return refuse(output, "this is in the --work folder, which goes in the end; name another place");
        }
        if output.exists() && !output.is_file() {
            return refuse(output, "this is not a plain file; name another one to write to");
        }
        seen.push(own);
    }
    Ok(())
}
