//! Whole files as documents, and folders of them.

use super::{Document, Fields, InputError, Item, Options, Place, records};
use leitong_text::extract;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file as one document; its id is its path.
pub(super) fn file(path: &Path, options: &extract::Options) -> Item {
    let place = || Place::file(path);
    let bytes = read_bounded(path, options.max_input).map_err(|error| InputError::new(place(), error))?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    document(&bytes, name.as_deref(), place(), options)
}

/// A stream as one document.
pub(super) fn stream(input: impl Read, options: &extract::Options) -> Item {
    let place = || Place { file: super::STDIN.into(), line: None };
    let limit = options.max_input;
    let mut bytes = Vec::new();
    input
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| InputError::new(place(), format!("reading failed: {error}")))?;
    document(&bytes, None, place(), options).map(|document| Document { anonymous: true, ..document })
}

fn document(bytes: &[u8], name: Option<&str>, place: Place, options: &extract::Options) -> Item {
    match extract::extract(bytes, name, options) {
        Ok(found) => {
            let fields = Fields { title: found.title.unwrap_or_default(), ..Fields::default() };
            Ok(Document { id: place.file.clone(), text: found.text, fields, place, ..Document::default() })
        }
        Err(error) => Err(InputError::new(place, error)),
    }
}

/// The bytes of a file, refused before they are read where the file is larger than the limit.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("the file is larger than {} MiB; split it, or raise --max-text", limit >> 20);
    let explain = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "permission denied; make it readable, or run as another user".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    };
    let file = File::open(path).map_err(explain)?;
    let length = file.metadata().map_err(explain)?.len();
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // A pipe or a file that grows may hold more than its length said.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(explain)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// The documents of every file below a folder.
pub(super) fn folder(path: &Path, options: &Options) -> Box<dyn Iterator<Item = Item>> {
    let options = options.clone();
    Box::new(paths_below(path).flat_map(move |next| -> Box<dyn Iterator<Item = Item>> {
        match next {
            Err(error) => Box::new(std::iter::once(Err(error))),
            Ok(path) => match records::Kind::of_path(&path) {
                Some(kind) => records::open(&path, kind, &options),
                None => Box::new(std::iter::once(file(&path, &options.extract))),
            },
        }
    }))
}

/// Every file below a folder, in the order of their paths; hidden ones, links, and what would never end (pipes, devices) are left out.
pub(super) fn paths_below(folder: &Path) -> impl Iterator<Item = Result<PathBuf, InputError>> + use<> {
    let mut pending = vec![folder.to_owned()];
    std::iter::from_fn(move || {
        loop {
            let next = pending.pop()?;
            if !next.is_dir() {
                return Some(Ok(next));
            }
            match children(&next) {
                Ok(mut inside) => {
                    inside.reverse();
                    pending.append(&mut inside);
                }
                Err(error) => {
                    let message = format!("the folder cannot be read: {error}; check its permissions");
                    return Some(Err(InputError::new(Place::file(&next), message)));
                }
            }
        }
    })
}

fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_file() || kind.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
