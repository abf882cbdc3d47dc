//! The folder of a store: whether it is one, of which version, and who has it.

use super::Options;
use crate::StoreError;
use leitong_index::lock::lock_folder;
use std::fs::{self, File};
use std::path::Path;

/// The file that says that a folder is a store, and its name until it is whole.
const ABOUT: &str = "leitong.json";
const ABOUT_NEW: &str = "leitong.json.new";
/// The version of everything in the folder. Whatever was written in an older one is read as it is; a folder becomes one of
/// this version when it is opened, so that older programs refuse it instead of stumbling over what is new.
const FORMAT: u64 = 2;

/// Makes sure that the folder is a store, and that nobody else has it.
pub(super) fn enter(
    path: &Path,
    options: &Options,
    repair: bool,
    notices: &mut Vec<String>,
) -> Result<File, StoreError> {
    let io = |error| StoreError::io(path, error);
    let about = path.join(ABOUT);
    let exists = about.try_exists().map_err(io)?;
    if !repair && super::repair::is_exchanging(path) {
        let what = "a repair was interrupted; it has to be run again".into();
        return Err(StoreError::Damaged { path: path.to_owned(), what });
    }
    if !exists {
        let wrong = |what: &str| StoreError::NotAStore { path: path.to_owned(), what: what.into() };
        if !options.create {
            return Err(wrong("there is no database here: check the path, or add documents to make one"));
        }
        fs::create_dir_all(path).map_err(io)?;
        let foreign = |entry: &fs::DirEntry| entry.file_name() != "lock" && entry.file_name() != ABOUT_NEW;
        if fs::read_dir(path).map_err(io)?.filter_map(Result::ok).any(|entry| foreign(&entry)) {
            return Err(wrong("the folder holds other files and no database: choose an empty or a new one"));
        }
    }
    let holder = format!("{} (process {})", options.holder, std::process::id());
    let lock = match lock_folder(path, &holder).map_err(io)? {
        Ok(lock) => lock,
        Err(holder) => return Err(StoreError::InUse { path: path.to_owned(), holder }),
    };
    let is_current = if exists { check_format(&about) } else { Ok(false) };
    match is_current.and_then(|current| if current { Ok(()) } else { write_about(path) }) {
        Err(error @ StoreError::Damaged { .. }) if repair => {
            notices.push(error.to_string());
            write_about(path)?;
        }
        other => other?,
    }
    Ok(lock)
}

/// Written before anything else, under another name first: a half-made store is a store.
pub(super) fn write_about(path: &Path) -> Result<(), StoreError> {
    let text = format!(
        "{{\"format\":{FORMAT},\"about\":\"a database of Leitong; its layout is in docs/store.md\"}}\n"
    );
    let write = || {
        let new = path.join(ABOUT_NEW);
        fs::write(&new, &text)?;
        File::open(&new)?.sync_all()?;
        fs::rename(&new, path.join(ABOUT))?;
        File::open(path)?.sync_all()
    };
    write().map_err(|error| StoreError::io(path, error))
}

/// Whether it is the present format, not an older one.
fn check_format(about: &Path) -> Result<bool, StoreError> {
    let text = fs::read(about).map_err(|error| StoreError::io(about, error))?;
    let value: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    match value.and_then(|value| value["format"].as_u64()) {
        Some(format @ 1..=FORMAT) => Ok(format == FORMAT),
        Some(other) => Err(StoreError::NotAStore {
            path: about.to_owned(),
            what: format!(
                "format {other} is not known to this version, which writes {FORMAT}: use a later one"
            ),
        }),
        None => {
            let path = about.parent().unwrap_or(about).to_owned();
            Err(StoreError::Damaged { path, what: format!("{ABOUT} is not as it was written") })
        }
    }
}
