//! `leitong get`: stored documents by their ids.

use super::answers::{self, Bad};
use super::db::{self, CollectionArgs, DbArgs};
use super::ids::IdArgs;
use crate::output::{Exit, Failure, coloured, in_line, matches};
use anstyle::AnsiColor;
use leitong_detect::detector::DocumentError;
use leitong_store::{Stored, Want};
use serde_json::json;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong get news-1 --db news --text\n  \
    leitong get news-1 news-2 --db news --json\n  \
    cut -f3 matches.tsv | leitong get - --db news --json\n\n\
    An id that is not there is an error: exit code 3, and in JSON a line with \"found\": false.")]
pub(crate) struct Args {
    #[command(flatten)]
    ids: IdArgs,
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    name: CollectionArgs,
    /// Print the texts too, where they are kept
    #[arg(long)]
    text: bool,
    /// Print one JSON object a document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let want = if args.text { Want::Text } else { Want::Record };
    db::with(&args.db, "get", false, |database| {
        let collection = database.collection(&args.name.collection)?;
        let name = collection.name();
        answers::print(args.ids.feed()?, "documents", &|bad| failed(args.json, bad), &mut |batch| {
            answers::in_order(
                batch.into_iter().map(|item| Ok(item.map(|(id, place)| ((id.clone(), place), id))?)),
                |ids| {
                    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                    Ok(collection.get(&ids, want)?)
                },
                |(id, place), found: Result<Option<Stored>, DocumentError>| {
                    let found = found.map_err(|error| Bad::at(&place, id.clone(), error))?;
                    let missing = || {
                        let message =
                            format!("there is no document {id:?} in the collection {name:?}; check the id");
                        Bad { id: id.clone(), message }
                    };
                    let found = found.ok_or_else(missing)?;
                    Ok(if args.json { matches::stored(&found).to_string() } else { shown(&found) })
                },
            )
        })
    })
}

fn failed(as_json: bool, bad: &Bad) -> String {
    if as_json {
        return json!({ "id": bad.id, "found": false, "error": bad.message }).to_string();
    }
    format!("{}\t{}\n", coloured("error", AnsiColor::Red), in_line(&bad.id))
}

/// Rows of a name and a value, the text, and an empty line.
fn shown(found: &Stored) -> String {
    let dim = anstyle::Style::new().dimmed();
    let mut lines = String::new();
    for (name, value) in matches::rows(found) {
        lines.push_str(&format!("{dim}{name:<10}{dim:#} {value}\n"));
    }
    if let Some(text) = &found.record.text {
        lines.push_str(&format!("\n{}\n", text.trim_end()));
    }
    lines
}
