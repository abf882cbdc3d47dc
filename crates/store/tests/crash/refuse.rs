//! Folders that cannot be opened: the error says why and what to do, and nothing is changed.

use crate::calls::MARK;
use crate::documents::collection;
use crate::load::Plan;
use crate::process::{self, Read, writer};
use crate::{in_memory, open, options};
use leitong_store::embedded::{Embedded, Options};
use leitong_store::{Store, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const FOLDER: &str = "LEITONG_OPENED_FOLDER";

/// Everything in a folder, with what files hold.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.insert(entry.path(), None);
            all.extend(contents(&entry.path()));
        } else {
            all.insert(entry.path(), Some(fs::read(entry.path()).unwrap()));
        }
    }
    all
}

/// A store that was closed.
pub(crate) fn make(folder: &Path) {
    let store = open(folder, 1);
    store.create(&collection()).unwrap();
    store.close().unwrap();
}

fn refused(folder: &Path, create: bool) -> StoreError {
    Embedded::open(folder, Options { create, ..options(1) }).err().expect("it cannot be opened")
}

/// The error names the folder and all of this, and nothing was changed.
#[track_caller]
fn assert_refused(folder: &Path, create: bool, words: &[&str]) {
    let parent = folder.parent().unwrap();
    let before = contents(parent);
    let text = refused(folder, create).to_string();
    for word in words.iter().chain([&&*folder.to_string_lossy()]) {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    assert_eq!(before, contents(parent), "opening changed something, though it failed: {text}");
}

#[test]
fn no_store() {
    let place = in_memory();
    let folder = place.path().join("db");
    assert_refused(&folder, false, &["no database here", "check the path"]);
    fs::create_dir(&folder).unwrap();
    assert_refused(&folder, false, &["no database here", "check the path"]);
    fs::write(folder.join("holiday.txt"), "mine").unwrap();
    assert_refused(&folder, true, &["other files", "choose an empty or a new one"]);
    assert_refused(&folder, false, &["no database here"]);
}

#[test]
fn an_empty_folder_becomes_a_store() {
    let place = in_memory();
    make(place.path());
    assert_eq!(open(place.path(), 1).collections().unwrap(), [collection()]);
}

/// A crash while the engine's folder is made leaves files that it would stumble over.
#[test]
fn a_half_made_store_is_made_again() {
    for made in ["lock", "0.jnl", "version"] {
        let place = in_memory();
        make(place.path());
        let documents = place.path().join("documents");
        fs::remove_dir_all(&documents).unwrap();
        fs::remove_file(place.path().join("pulse")).unwrap();
        fs::create_dir_all(documents.join("keyspaces")).unwrap();
        fs::write(documents.join(made), []).unwrap();
        make(place.path());
    }
}

#[test]
fn a_lock_that_is_missing_is_made_again() {
    let place = in_memory();
    make(place.path());
    fs::remove_file(place.path().join("documents/lock")).unwrap();
    make(place.path());
}

#[test]
fn a_file_in_its_place() {
    let place = in_memory();
    let folder = place.path().join("db");
    fs::write(&folder, "mine").unwrap();
    for create in [false, true] {
        assert_refused(&folder, create, &["there is a file in its place", "choose another"]);
    }
}

#[test]
fn another_format() {
    let place = in_memory();
    let folder = place.path().join("db");
    make(&folder);
    let about = folder.join("leitong.json");
    let text = fs::read_to_string(&about).unwrap();
    fs::write(&about, text.replace("\"format\":2", "\"format\":3")).unwrap();
    let before = contents(&folder.join("documents"));
    let error = refused(&folder, true).to_string();
    assert!(error.contains("format 3") && error.contains("use a later one"), "{error}");
    assert_eq!(before, contents(&folder.join("documents")));
}

#[test]
fn in_use_by_another_process() {
    let place = in_memory();
    let folder = place.path().join("db");
    let plan = Plan { seed: 1, now: 1, calls: u64::MAX, heavy: false, tidy: false };
    let mut process = process::start(&folder, plan);
    assert_eq!(process.read(Duration::from_secs(60), Some("ack")), Read::Line);
    let error = refused(&folder, true);
    let (text, id) = (error.to_string(), format!("a crash test (process {})", process.id()));
    assert!(matches!(error, StoreError::InUse { .. }) && text.contains(&id), "no {id:?} in: {text}");
    process.end();
    open(&folder, 1);
}

#[test]
fn in_use_by_this_process() {
    let place = in_memory();
    let store = open(place.path(), 1);
    assert!(matches!(refused(place.path(), true), StoreError::InUse { .. }));
    store.close().unwrap();
    open(place.path(), 1);
}

/// Opens a folder and says what came of it.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let said = match Embedded::open(&folder, options(1)) {
        Ok(_) => "opened".into(),
        Err(error) => format!("refused {error}"),
    };
    writer()(&format!("{MARK}{said}\n"));
}

/// This binary as user nobody.
fn as_nobody(arguments: &[&str], folder: &Path) -> std::io::Result<Output> {
    Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .env(FOLDER, folder)
        .output()
}

#[test]
fn a_folder_of_somebody_else() {
    let place = in_memory();
    let folder = place.path().join("db");
    if !as_nobody(&["--list"], &folder).is_ok_and(|output| output.status.success()) {
        println!("skipped: a_folder_of_somebody_else (this binary cannot be run as user nobody)");
        return;
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    make(&folder);
    let before = contents(&folder);
    let output = as_nobody(&["--exact", "refuse::child", "--nocapture"], &folder).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in ["@ refused", &*folder.to_string_lossy(), "check who owns the folder"] {
        assert!(text.contains(word), "no {word:?} in: {text}");
    }
    assert_eq!(before, contents(&folder), "opening changed something, though it failed");
}
