//! `leitong add`: stores documents, one line each, in order.

use super::answers::{self, Answer, Bad};
use super::db::{self, DbArgs, SettingsArgs};
use super::feed::{Feed, Pace};
use super::incoming;
use crate::input::{self, InputArgs, Item};
use crate::output::{Exit, Failure, coloured, in_line, matches, time};
use anstyle::AnsiColor;
use leitong_detect::detector::{
    Added, Assigned, Collection, Document, DocumentError, Evidence, Match, Outcome, When,
};
use leitong_detect::recipe;
use leitong_fingerprint::Fingerprint;
use leitong_store::Clock;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong add news.jsonl --db news                        store, replace what has the same id\n  \
    leitong add today/*.html --db news --unless-duplicate   store what nothing stored is near to\n  \
    leitong add corpus.parquet --db news --cluster          every document joins the nearest centre\n  \
    tail -f feed.jsonl | leitong add - --stdin jsonl --db news --unless-duplicate --json\n\n\
    Of records the fields id, text (or html), title, source, published (or date) and expires are used; all others are kept \
    as metadata. Times are 2024-05-01, 2024-05-01T08:00:00+08:00, or seconds since 1970. The id of a file is its path; \
    lines of standard input are numbered on from what is stored.\n\n\
    A line is printed when its document is on disk: whatever stops the command, what has been printed is stored. Columns: \
    stored, replaced, exists, duplicate or error; the id; for a duplicate the nearest document, the verdict, the distance, \
    Jaccard and how many there are.")]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    db: DbArgs,
    /// Store a document only if nothing near it is stored
    #[arg(long)]
    unless_duplicate: bool,
    /// Store a document only if there is none of its id
    #[arg(long, conflicts_with = "unless_duplicate")]
    new: bool,
    /// Put every document into the cluster of the nearest centre, or make it a centre
    #[arg(long, conflicts_with_all = ["unless_duplicate", "new"])]
    cluster: bool,
    /// Exit with 1 when a document was a duplicate
    #[arg(long, requires = "unless_duplicate")]
    fail_on_duplicate: bool,
    /// How long documents stay that do not say when they expire: 90s, 15m, 12h, 30d, 4w
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    ttl: Option<i64>,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Print one JSON object a document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (inputs, options) = (args.inputs.clone(), args.input.options());
    db::with(&args.db, "add", true, |database| {
        let collection = database.collection_for(&args.settings, recipe::DEFAULT)?;
        let when = match (args.unless_duplicate, args.new) {
            (true, _) => When::UnlessDuplicate,
            (_, true) => When::New,
            _ => When::Replace,
        };
        let numbers = incoming::Numbers::new(&collection)?;
        let mut adding = Adding { collection, args, when, numbers, duplicates: 0 };
        let pace = if input::lie_in_files(&inputs) { Pace::WholeBatches } else { Pace::AsTheyCome };
        let feed = Feed::start(move || input::documents(&inputs, &options), incoming::bytes)?.at(pace);
        let exit = answers::print(feed, "documents", &|bad| adding_failed(args.json, bad), &mut |batch| {
            adding.batch(batch)
        })?;
        let told = args.fail_on_duplicate && adding.duplicates > 0 && exit == Exit::Fine;
        Ok(if told { Exit::Duplicates } else { exit })
    })
}

fn adding_failed(as_json: bool, bad: &Bad) -> String {
    if as_json {
        return json!({ "id": bad.id, "stored": false, "matches": [], "error": bad.message }).to_string();
    }
    format!("{}\t{}", coloured("error", AnsiColor::Red), in_line(&bad.id))
}

struct Adding<'a> {
    collection: Collection,
    args: &'a Args,
    when: When,
    numbers: incoming::Numbers,
    duplicates: u64,
}

/// What became of a document.
enum Done {
    Added(Added),
    Assigned(Assigned),
}

impl Adding<'_> {
    fn batch(&mut self, mut items: Vec<Item>) -> Result<Vec<Answer>, Failure> {
        self.numbers.give(&self.collection, &mut items)?;
        let expires = self.args.ttl.map(|ttl| Clock::default().now().saturating_add(ttl));
        let ready = items.into_iter().map(|item| {
            let document = item?;
            let (id, place) = (document.id.clone(), document.place.clone());
            match incoming::document(document, expires) {
                Ok(document) => Ok(((id, place), document)),
                Err(message) => Err(Bad::at(&place, id, message)),
            }
        });
        let (collection, when, cluster) = (&self.collection, self.when, self.args.cluster);
        let (as_json, duplicates) = (self.args.json, &mut self.duplicates);
        answers::in_order(
            ready,
            |documents| store(collection, documents, when, cluster),
            |(id, place), done: Result<Done, DocumentError>| {
                let done = done.map_err(|error| Bad::at(&place, id, error))?;
                *duplicates += u64::from(done.is_duplicate());
                Ok(if as_json { done.json().to_string() } else { done.columns() })
            },
        )
    }
}

fn store(
    collection: &Collection,
    documents: Vec<Document>,
    when: When,
    cluster: bool,
) -> Result<Vec<Result<Done, DocumentError>>, Failure> {
    Ok(if cluster {
        collection.assign(documents)?.into_iter().map(|one| one.map(Done::Assigned)).collect()
    } else {
        let added = collection.add(documents, when, Evidence::Scores)?;
        added.into_iter().map(|one| one.map(Done::Added)).collect()
    })
}

impl Done {
    fn is_duplicate(&self) -> bool {
        matches!(self, Self::Added(Added { outcome: Outcome::Duplicate { .. }, .. }))
    }

    fn json(&self) -> Value {
        let answer = |id: &str, stored: bool, found: &[Match]| json!({ "id": id, "stored": stored, "matches": matches::list(found) });
        match self {
            Self::Assigned(Assigned { id, version, centre, distance }) => {
                let mut object = answer(id, true, &[]);
                object["cluster"] = json!({ "centre": centre, "distance": distance });
                object["version"] = (*version).into();
                object
            }
            Self::Added(Added { id, simhash, outcome }) => {
                let mut object = match outcome {
                    Outcome::Stored { .. } => answer(id, true, &[]),
                    Outcome::Exists { .. } => answer(id, false, &[]),
                    Outcome::Duplicate { matches } => answer(id, false, matches),
                };
                object["fingerprint"] = simhash.as_ref().map(Fingerprint::to_string).into();
                match outcome {
                    Outcome::Stored { version, replaced } => {
                        object["replaced"] = replaced.is_some().into();
                        object["version"] = (*version).into();
                    }
                    Outcome::Exists { .. } => object["exists"] = true.into(),
                    Outcome::Duplicate { .. } => {}
                }
                object
            }
        }
    }

    fn columns(&self) -> String {
        let (green, yellow, red) = (AnsiColor::Green, AnsiColor::Yellow, AnsiColor::Red);
        match self {
            Self::Assigned(assigned) => {
                let (id, centre) = (in_line(&assigned.id), in_line(&assigned.centre));
                format!("{}\t{id}\t{centre}\t{}", coloured("stored", green), assigned.distance)
            }
            Self::Added(Added { id, outcome, .. }) => {
                let id = in_line(id);
                match outcome {
                    Outcome::Stored { replaced: None, .. } => format!("{}\t{id}", coloured("stored", green)),
                    Outcome::Stored { .. } => format!("{}\t{id}", coloured("replaced", green)),
                    Outcome::Exists { .. } => format!("{}\t{id}", coloured("exists", yellow)),
                    Outcome::Duplicate { matches } => {
                        format!("{}\t{id}{}", coloured("duplicate", red), matches::columns(matches, false))
                    }
                }
            }
        }
    }
}
