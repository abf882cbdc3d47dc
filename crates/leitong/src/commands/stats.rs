//! `leitong stats`: what a database holds.

use super::db::{self, Database, DbArgs};
use crate::output::{self, Exit, Failure};
use leitong_detect::detector::CollectionInfo;
use leitong_store::embedded::{CollectionStats, Stats};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong stats --db news\n  leitong stats --db news --json")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (collections, stats) = db::with(&args.db, "stats", false, |database: &Database| {
        let collections = database.detector.collections()?;
        let stats = database.embedded.as_ref().map(|store| store.stats()).transpose()?;
        Ok((collections, stats))
    })?;
    let total = stats.is_some().then(|| bytes_below(Path::new(&*args.db.name())));
    let mut out = output::stdout();
    if args.json {
        writeln!(out, "{}", as_json(&args.db.name(), &collections, stats.as_ref(), total))?;
    } else {
        write_text(&mut out, &args.db.name(), &collections, stats.as_ref(), total)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn of<'s>(stats: Option<&'s Stats>, name: &str) -> Option<&'s CollectionStats> {
    stats?.collections.iter().find(|collection| collection.name == name)
}

fn as_json(db: &str, collections: &[CollectionInfo], stats: Option<&Stats>, total: Option<u64>) -> Value {
    let documents: u64 = collections.iter().map(|collection| collection.count.documents).sum();
    let collection = |info: &CollectionInfo| {
        let settings = info.settings.as_ref();
        let indexes = of(stats, &info.name).map_or(&[][..], |own| &own.indexes);
        let indexes: Vec<Value> = indexes.iter().map(index_json).collect();
        json!({
            "name": info.name,
            "documents": info.count.documents,
            "versions": info.count.next_version,
            "recipe": settings.map(|settings| settings.recipe.settings().name.clone()),
            "digest": info.recipe.to_string(),
            "distance": settings.map(|settings| settings.distance),
            "texts_kept": settings.map(|settings| settings.keep_texts),
            "judge": settings.map(|settings| json!(settings.judge)),
            "indexes": indexes,
        })
    };
    let collections: Vec<Value> = collections.iter().map(collection).collect();
    let mut object = json!({ "db": db, "documents": documents, "collections": collections });
    if let Some(stats) = stats {
        let [keys, records, texts] = stats.tree_bytes;
        object["bytes"] = json!({
            "keys": keys, "records": records, "texts": texts, "documents": stats.document_bytes,
            "indexes": index_bytes(stats), "total": total,
        });
    }
    object
}

fn index_json(index: &leitong_index::hamming::Stats) -> Value {
    json!({
        "fingerprints": index.items, "fresh": index.fresh, "deleted": index.deleted,
        "segments": index.segments, "bytes": index.bytes,
    })
}

fn index_bytes(stats: &Stats) -> u64 {
    let indexes = stats.collections.iter().flat_map(|collection| &collection.indexes);
    indexes.map(|index| index.bytes).sum()
}

fn write_text(
    out: &mut impl Write,
    db: &str,
    collections: &[CollectionInfo],
    stats: Option<&Stats>,
    total: Option<u64>,
) -> Result<(), Failure> {
    let bold = anstyle::Style::new().bold();
    for info in collections {
        let settings = info.settings.as_ref();
        let unknown = || "unknown: made by another version".to_owned();
        let recipe = settings.map_or_else(unknown, |own| own.recipe.settings().name.clone());
        let distance = settings.map_or_else(unknown, |own| own.distance.to_string());
        let texts =
            settings.map_or_else(unknown, |own| if own.keep_texts { "kept" } else { "not kept" }.into());
        let name = output::in_line(&info.name);
        writeln!(out, "{bold}collection {name}{bold:#}")?;
        writeln!(out, "  documents   {}", info.count.documents)?;
        writeln!(out, "  versions    {}", info.count.next_version)?;
        writeln!(out, "  recipe      {recipe} ({})", info.recipe)?;
        writeln!(out, "  distance    {distance}")?;
        writeln!(out, "  texts       {texts}")?;
        let indexes = of(stats, &info.name).map_or(&[][..], |own| &own.indexes);
        for (index, of_what) in indexes.iter().zip(["documents", "centres"]) {
            let (items, segments, fresh) = (index.items, index.segments, index.fresh);
            let bytes = size(index.bytes);
            let segments = format!("{segments} segments of {bytes}, {fresh} outside of them");
            writeln!(out, "  index       {items} fingerprints of {of_what}: {segments}")?;
        }
    }
    if collections.is_empty() {
        writeln!(out, "{}: no collection yet; the first `leitong add` makes one", output::in_line(db))?;
    }
    if let (Some(stats), Some(total)) = (stats, total) {
        let [keys, records, texts] = stats.tree_bytes;
        writeln!(out, "{bold}on disk {}{bold:#}", output::in_line(db))?;
        writeln!(out, "  ids, keys   {}", size(keys))?;
        writeln!(out, "  records     {}", size(records))?;
        writeln!(out, "  texts       {}", size(texts))?;
        writeln!(out, "  documents   {} with journals", size(stats.document_bytes))?;
        writeln!(out, "  indexes     {}", size(index_bytes(stats)))?;
        writeln!(out, "  in all      {}", size(total))?;
    }
    Ok(())
}

/// Bytes as people read them.
pub(super) fn size(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}

/// The bytes of all files below a folder. What goes away meanwhile does not count.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_below(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(bytes).sum()
}
