//! Backups: a copy of one moment, made while others write. A backup is a store like any other.
//!
//! A process that has the folder open makes backups for others too: they leave a request in the folder and wait.

use super::engine::Engine;
use super::layout::Tree;
use super::pulse::Pulse;
use super::{Embedded, Options, Shared, opening};
use crate::StoreError;
use crate::seam::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where requests of other processes are left.
const REQUESTS: &str = "requests";
/// How often a process that waits for a backup looks.
const PATIENCE: Duration = Duration::from_millis(200);

impl Embedded {
    /// Copies the store as it is now into a new folder, and counts the documents. Others may write meanwhile.
    pub fn backup(&self, target: &Path) -> Result<u64, StoreError> {
        self.shared.check()?;
        copy(&self.shared, target)
    }
}

/// Copies a store into a new folder, whether a process has it open or not, and counts the documents. `holder` is the name
/// of the program, as in [`Options`].
pub fn backup(path: &Path, target: &Path, holder: &str) -> Result<u64, StoreError> {
    let io = |error| StoreError::io(path, error);
    let target = std::path::absolute(target).map_err(io)?;
    let options = || Options { create: false, holder: holder.to_owned(), ..Options::default() };
    let mut request: Option<Asked> = None;
    loop {
        match Embedded::open(path, options()) {
            // Nobody has it, or no longer.
            Ok(store) => {
                drop(request);
                let documents = store.backup(&target)?;
                store.close()?;
                return Ok(documents);
            }
            Err(StoreError::InUse { .. }) => {}
            Err(error) => return Err(error),
        }
        let asked = match request.take() {
            Some(asked) => asked,
            None => Asked::new(path, &target)?,
        };
        for _ in 0..10 {
            std::thread::sleep(PATIENCE);
            if let Some(answer) = asked.answer() {
                return answer;
            }
        }
        request = Some(asked);
    }
}

/// A request, taken back when it is dropped.
struct Asked {
    request: PathBuf,
    folder: PathBuf,
}

impl Asked {
    fn new(path: &Path, target: &Path) -> Result<Self, StoreError> {
        let folder = path.join(REQUESTS);
        let io = |error| StoreError::io(&folder, error);
        fs::create_dir_all(&folder).map_err(io)?;
        let request = folder.join(format!("{}.backup", std::process::id()));
        // Under another name first: a request that is seen is complete.
        let new = folder.join(format!("{}.new", std::process::id()));
        fs::write(&new, target.as_os_str().as_encoded_bytes()).map_err(io)?;
        fs::rename(&new, &request).map_err(io)?;
        Ok(Self { request, folder: path.to_owned() })
    }

    fn answer(&self) -> Option<Result<u64, StoreError>> {
        let answer = fs::read_to_string(self.request.with_extension("answer")).ok()?;
        let failed = || StoreError::Stopped { path: self.folder.clone(), why: answer.trim().to_owned() };
        Some(answer.strip_prefix("done ").and_then(|count| count.trim().parse().ok()).ok_or_else(failed))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.request);
        let _ = fs::remove_file(self.request.with_extension("answer"));
    }
}

/// Makes the backups that other processes have asked for.
pub(super) fn serve(shared: &Shared) {
    let Ok(entries) = fs::read_dir(shared.path.join(REQUESTS)) else { return };
    for request in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if request.extension().is_none_or(|extension| extension != "backup") {
            continue;
        }
        let answer = match fs::read(&request).map_err(|error| StoreError::io(&request, error)) {
            Ok(target) => copy(shared, Path::new(&String::from_utf8_lossy(&target).into_owned())),
            Err(error) => Err(error),
        };
        let text = match answer {
            Ok(documents) => format!("done {documents}\n"),
            Err(error) => format!("the backup failed: {error}\n"),
        };
        let _ = fs::remove_file(&request);
        // Whoever asked looks for the whole file.
        let new = request.with_extension("answering");
        let _ = fs::write(&new, text).and_then(|()| fs::rename(&new, request.with_extension("answer")));
    }
}

fn copy(shared: &Shared, target: &Path) -> Result<u64, StoreError> {
    let io = |error| StoreError::io(target, error);
    fs::create_dir_all(target).map_err(io)?;
    if fs::read_dir(target).map_err(io)?.next().is_some() {
        let what = "the folder is not empty: a backup needs a new one".into();
        return Err(StoreError::NotAStore { path: target.to_owned(), what });
    }
    let (moment, commit) = {
        let view = shared.read();
        (view.moment.clone(), shared.commits.load(std::sync::atomic::Ordering::Relaxed))
    };
    let engine = Engine::open(target, 16 << 20)?;
    for tree in Tree::ALL {
        engine.fill(tree, &moment)?;
    }
    drop(engine);
    let (mut pulse, _) = Pulse::open(target)?;
    pulse.write(commit)?;
    pulse.sync()?;
    // Last: until now it was no store, and a backup that was interrupted must not be taken for one.
    opening::write_about(target)?;
    let options = Options {
        create: false,
        holder: "a backup".into(),
        clock: shared.clock.clone(),
        ..Options::default()
    };
    let store = Embedded::open(target, options)?;
    let mut documents = 0;
    for collection in store.collections()? {
        documents += store.count(&collection.name)?.documents;
    }
    store.close()?;
    Ok(documents)
}
