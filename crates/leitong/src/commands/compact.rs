//! `leitong compact`: gives back the space of what was removed, replaced or has expired.

use super::db::{self, DbArgs};
use super::stats::{bytes_below, size};
use crate::output::{self, Exit, Failure, Progress};
use serde_json::json;
use std::io::Write;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong compact --db news\n\n\
    Removes what has expired, rewrites documents and indexes without what is gone, and assigns the members of clusters anew \
    whose centres have expired. Not needed for correct answers; needs room for a second copy meanwhile. Of a Redis server or \
    cluster it removes what has expired, and what clients that are gone have left behind.")]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (before, after, mended) = match args.db.redis()? {
        Some(store) => {
            let bytes = || Ok::<_, Failure>(store.stats()?.servers.iter().map(|server| server.memory).sum());
            let before = bytes()?;
            let mended = compact(&args.db)?;
            // What others have left is noted at first, and finished when it was there for a whole lease.
            store.sweep_thoroughly()?;
            (before, bytes()?, mended)
        }
        None => {
            let folder = args.db.existing_folder()?;
            let before = bytes_below(&folder);
            let mended = compact(&args.db)?;
            (before, bytes_below(&folder), mended)
        }
    };
    let mut out = output::stdout();
    let db = args.db.name();
    if args.json {
        let object = json!({ "db": db, "bytes_before": before, "bytes": after, "clusters_mended": mended });
        writeln!(out, "{object}")?;
    } else {
        let db = output::in_line(&db);
        let (before, after) = (size(before), size(after));
        writeln!(out, "compacted\t{db}\t{before} before, {after} now\t{mended} clusters mended")?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// How many clusters had to be mended.
fn compact(db: &DbArgs) -> Result<u64, Failure> {
    db::with(db, "compact", false, |database| {
        let _progress = Progress::waiting("compacting");
        let mut mended = 0;
        for collection in database.detector.collections()? {
            // One that this version cannot open can still be compacted.
            if collection.settings.is_some() {
                mended += database.detector.open(&collection.name)?.mend_clusters()?;
            }
        }
        database.embedded.as_ref().map_or(Ok(()), |store| store.compact())?;
        Ok(mended)
    })
}
