//! Backups: a copy of one moment, made while others write. A backup is a store like any other.
//!
//! A process that has the folder open makes backups for others too: they leave a request in the folder and wait.

use super::engine::Engine;
use super::layout::Tree;
use super::pulse::Pulse;
use super::{Embedded, Options, Shared, folder};
use crate::StoreError;
use crate::seam::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where requests of other processes are left.
const REQUESTS: &str = "requests";
/// How often a process that waits for a backup looks.
const PATIENCE: Duration = Duration::from_millis(200);
/// A request nobody has repeated for so long is nobody's any more.
const FORGOTTEN: Duration = Duration::from_secs(10);

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
    let target = std::path::absolute(target).map_err(|error| StoreError::io(target, error))?;
    let options = || Options { create: false, holder: holder.to_owned(), ..Options::default() };
    let mut request: Option<Asked> = None;
    loop {
        let opened = Embedded::open(path, options());
        // The process that had it may have answered before it ended.
        if let Some(answer) = request.as_ref().and_then(Asked::answer) {
            return answer;
        }
        match opened {
            Ok(store) => {
                drop(request);
                let documents = store.backup(&target)?;
                store.close()?;
                return Ok(documents);
            }
            Err(StoreError::InUse { .. }) => {}
            Err(error) => return Err(error),
        }
        match &request {
            Some(asked) => asked.insist(),
            None => request = Some(Asked::new(path, &target)?),
        }
        std::thread::sleep(PATIENCE);
    }
}

/// A request, taken back when it is dropped.
struct Asked {
    request: PathBuf,
    folder: PathBuf,
    target: Vec<u8>,
}

impl Asked {
    fn new(path: &Path, target: &Path) -> Result<Self, StoreError> {
        let folder = path.join(REQUESTS);
        fs::create_dir_all(&folder).map_err(|error| StoreError::io(&folder, error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        // Processes of two containers may have the same number.
        let request = folder.join(format!("{}-{now}.backup", std::process::id()));
        let asked = Self { request, folder: path.to_owned(), target: bytes_of(target) };
        asked.write().map_err(|error| StoreError::io(&folder, error))?;
        Ok(asked)
    }

    /// Under another name first: a request that is seen is complete.
    fn write(&self) -> std::io::Result<()> {
        let new = self.request.with_extension("new");
        fs::write(&new, &self.target)?;
        fs::rename(&new, &self.request)
    }

    /// Says that somebody still waits, as long as nobody has begun.
    fn insist(&self) {
        if self.request.exists() {
            let _ = self.write();
        }
    }

    fn answer(&self) -> Option<Result<u64, StoreError>> {
        let answer = fs::read_to_string(self.request.with_extension("answer")).ok()?;
        let failed = || StoreError::Backup { path: self.folder.clone(), why: answer.trim().to_owned() };
        Some(answer.strip_prefix("done ").and_then(|count| count.trim().parse().ok()).ok_or_else(failed))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        for extension in ["backup", "begun", "answer", "new"] {
            let _ = fs::remove_file(self.request.with_extension(extension));
        }
    }
}

/// Makes the backups that other processes have asked for and still wait for.
pub(super) fn serve(shared: &Shared) {
    let Ok(entries) = fs::read_dir(shared.path.join(REQUESTS)) else { return };
    for request in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if request.extension().is_none_or(|extension| extension != "backup") {
            continue;
        }
        let age = request
            .metadata()
            .and_then(|about| about.modified())
            .map(|time| time.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > FORGOTTEN) {
            let _ = fs::remove_file(&request);
            continue;
        }
        let begun = request.with_extension("begun");
        let target = fs::rename(&request, &begun).and_then(|()| fs::read(&begun));
        let answer = match target.map_err(|error| StoreError::io(&request, error)) {
            Ok(target) => copy(shared, &path_of(target)),
            Err(error) => Err(error),
        };
        let text = match answer {
            Ok(documents) => format!("done {documents}\n"),
            Err(error) => format!("{error}\n"),
        };
        // Whoever asked looks for the whole file.
        let new = request.with_extension("answering");
        let _ = fs::write(&new, text).and_then(|()| fs::rename(&new, request.with_extension("answer")));
        let _ = fs::remove_file(&begun);
    }
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
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
    folder::write_about(target)?;
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
