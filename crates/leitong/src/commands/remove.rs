//! `leitong remove`: takes documents out of a database.

use super::answers::{self, Bad};
use super::db::{self, CollectionArgs, DbArgs};
use super::ids::IdArgs;
use crate::output::{Exit, Failure, coloured, in_line};
use anstyle::AnsiColor;
use leitong_detect::detector::DocumentError;
use serde_json::json;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong remove news-1 news-2 --db news\n  \
    leitong remove --db news -- -an-id-with-a-dash\n  \
    cat withdrawn.txt | leitong remove - --db news --json\n\n\
    An id that is not there is no error. The members of a cluster whose centre is removed are assigned anew.")]
pub(crate) struct Args {
    #[command(flatten)]
    ids: IdArgs,
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    name: CollectionArgs,
    /// Print one JSON object an id
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    db::with(&args.db, "remove", false, |database| {
        let collection = database.collection(&args.name.collection)?;
        answers::print(args.ids.feed()?, "ids", &|bad| failed(args.json, bad), &mut |batch| {
            answers::in_order(
                batch.into_iter().map(|item| Ok(item.map(|(id, place)| ((id.clone(), place), id))?)),
                |ids| {
                    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                    Ok(collection.remove(&ids)?)
                },
                |(id, place), removed: Result<Option<u64>, DocumentError>| {
                    let removed = removed.map_err(|error| Bad::at(&place, id.clone(), error))?.is_some();
                    if args.json {
                        return Ok(json!({ "id": id, "removed": removed }).to_string());
                    }
                    let (word, colour) =
                        if removed { ("removed", AnsiColor::Green) } else { ("absent", AnsiColor::Yellow) };
                    Ok(format!("{}\t{}", coloured(word, colour), in_line(&id)))
                },
            )
        })
    })
}

fn failed(as_json: bool, bad: &Bad) -> String {
    if as_json {
        return json!({ "id": bad.id, "removed": false, "error": bad.message }).to_string();
    }
    format!("{}\t{}", coloured("error", AnsiColor::Red), in_line(&bad.id))
}
