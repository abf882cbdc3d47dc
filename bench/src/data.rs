//! The shared data: where it lies and how it is read. None of it is part of the project.

use leitong_text::extract::{Format, Options, extract};
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// Errors of the benchmarks are only shown, never told apart.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A document of a set.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its name in the set.
    pub id: String,
    /// Its text; of an HTML page the article.
    pub text: String,
}

/// A file of the shared data: `$LEITONG_SHARED/data`, or `../shared/data` beside the workspace.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("LEITONG_SHARED").map_or_else(beside, PathBuf::from);
    shared.join("data").join(name)
}

/// The content of a file, decompressed where its name ends in `.zst`.
pub fn read(name: &str) -> Result<Box<dyn Read + Send>> {
    let path = path(name);
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !name.ends_with(".zst") {
        return Ok(Box::new(file));
    }
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(27)?;
    Ok(Box::new(decoder))
}

/// The documents of a JSONL file.
pub fn documents(name: &str) -> Result<Vec<Document>> {
    documents_of(read(name)?)
}

/// Documents from lines of JSON with `id` and `text`; where `format` is `html`, the text is the article.
pub fn documents_of(reader: impl Read) -> Result<Vec<Document>> {
    let line = |line: std::io::Result<String>| -> Result<Document> {
        let row: Value = serde_json::from_str(&line?)?;
        let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let (id, mut text) = (field("id"), field("text"));
        if row["format"] == "html" {
            let options = Options { format: Some(Format::Html), ..Options::default() };
            text = extract(text.as_bytes(), None, &options)?.text;
        }
        Ok(Document { id, text })
    };
    BufReader::new(reader).lines().map(line).collect()
}

/// The rows of a tab-separated table, without its head.
pub fn rows(reader: impl Read) -> Result<Vec<Vec<String>>> {
    let lines = BufReader::new(reader).lines().skip(1);
    lines.map(|line| Ok(line?.split('\t').map(str::to_owned).collect())).collect()
}

/// The files of a `.tar.zst` archive by name.
pub fn archive(name: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(read(name)?).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            files.insert(path, content);
        }
    }
    Ok(files)
}

/// The file of an archive, or what is missing.
pub fn member<'a>(files: &'a BTreeMap<String, Vec<u8>>, name: &str) -> Result<&'a [u8]> {
    Ok(files.get(name).ok_or_else(|| format!("the archive has no {name}"))?)
}

/// Where each document stands, by its id.
#[must_use]
pub fn positions(documents: &[Document]) -> BTreeMap<&str, usize> {
    documents.iter().enumerate().map(|(at, document)| (document.id.as_str(), at)).collect()
}
