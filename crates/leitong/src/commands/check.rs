//! `leitong check`: what is stored that is near these documents? One line each, in order.

use super::answers::{self, Answer, Bad};
use super::db::{self, CollectionArgs, DbArgs};
use super::feed::Feed;
use super::incoming;
use crate::input::{self, Document, InputArgs, Item};
use crate::output::{Exit, Failure, coloured, in_line, matches};
use anstyle::AnsiColor;
use leitong_detect::detector::{
    CheckOptions, Checked, Collection, DEFAULT_LIMIT, DocumentError, Evidence, Filter, Question,
};
use leitong_fingerprint::Fingerprint;
use serde_json::json;
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong check draft.docx --db news --evidence\n  \
    leitong check today.jsonl --db news --json --where 'published>=2024-05-01' --where source=新华社\n  \
    leitong check article.html --db news --fail-on-duplicate && ./publish article.html\n  \
    leitong fingerprint a.txt --ids | leitong check --fingerprint --db news\n\n\
    A document is never its own duplicate: what is stored under its id does not count. A filter is a field, one of = != < \
    <= > >= ~ (contains) and a value, or a field alone, which must be there.\n\n\
    Columns: new, duplicate, related or error; the id; the nearest document, the verdict, the distance, Jaccard, and how many \
    there are (+ where --limit left some out).")]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    db: DbArgs,
    #[command(flatten)]
    name: CollectionArgs,
    /// Exit with 1 when a document is a duplicate
    #[arg(long)]
    fail_on_duplicate: bool,
    /// Most matches of a document
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT as u64)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Only what is stored so counts; several must all hold
    #[arg(long = "where", value_name = "FILTER", value_parser = Filter::parse)]
    filters: Vec<Filter>,
    /// The most bits in which near duplicates differ, if less than the collection's
    #[arg(long, value_name = "K")]
    distance: Option<u32>,
    /// Say which passages both texts have
    #[arg(long)]
    evidence: bool,
    /// Each input line is a fingerprint in hexadecimal, with an id behind a tab if it has one
    #[arg(long)]
    fingerprint: bool,
    /// Print one JSON object a document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (inputs, options) = (args.inputs.clone(), args.input.options());
    db::with(&args.db, "check", false, |database| {
        let collection = database.collection(&args.name.collection)?;
        let filter = args.filters.iter().cloned().fold(Filter::default(), Filter::and);
        let evidence = if args.evidence { Evidence::Passages } else { Evidence::Scores };
        let options_of_check = CheckOptions { evidence, filter, distance: args.distance };
        let mut checking = Checking { collection, options: options_of_check, args, duplicates: 0 };
        let feed = if args.fingerprint {
            Feed::start(move || input::line_texts(&inputs, &options), incoming::bytes)?
        } else {
            Feed::start(move || input::documents(&inputs, &options), incoming::bytes)?
        };
        let exit = answers::print(feed, "documents", &|bad| failed(args.json, bad), &mut |batch| {
            checking.batch(batch)
        })?;
        let told = args.fail_on_duplicate && checking.duplicates > 0 && exit == Exit::Fine;
        Ok(if told { Exit::Duplicates } else { exit })
    })
}

fn failed(as_json: bool, bad: &Bad) -> String {
    if as_json {
        return json!({ "id": bad.id, "duplicate": null, "matches": [], "error": bad.message }).to_string();
    }
    format!("{}\t{}", coloured("error", AnsiColor::Red), in_line(&bad.id))
}

struct Checking<'a> {
    collection: Collection,
    options: CheckOptions,
    args: &'a Args,
    duplicates: u64,
}

impl Checking<'_> {
    fn batch(&mut self, items: Vec<Item>) -> Result<Vec<Answer>, Failure> {
        let questions = items.into_iter().map(|item| {
            let document = item?;
            let place = document.place.clone();
            let (id, question) = match self.args.fingerprint {
                true => by_fingerprint(document)?,
                false => by_text(document),
            };
            Ok(((id, place), Question { limit: self.args.limit as usize, ..question }))
        });
        let questions: Vec<_> = questions.collect();
        let (collection, options, args) = (&self.collection, &self.options, self.args);
        let duplicates = &mut self.duplicates;
        answers::in_order(
            questions.into_iter(),
            |questions| Ok(collection.check(questions, options)?),
            |(id, place), checked: Result<Checked, DocumentError>| {
                let checked = checked.map_err(|error| Bad::at(&place, id.clone(), error))?;
                *duplicates += u64::from(checked.duplicate());
                Ok(if args.json { as_json(&id, &checked) } else { columns(&id, &checked) })
            },
        )
    }
}

/// A line of standard input has no id of its own, so whatever is stored under its number is something else.
fn by_text(Document { id, text, anonymous, .. }: Document) -> (String, Question) {
    let own = (!anonymous).then(|| id.clone());
    (id, Question { id: own, text: Some(text), ..Question::default() })
}

/// A fingerprint, and behind a tab the id, as `leitong fingerprint --ids` prints them.
fn by_fingerprint(line: Document) -> Result<(String, Question), Bad> {
    let (hex, own) = match line.text.split_once('\t') {
        Some((hex, id)) => (hex.trim(), Some(id.to_owned())),
        None => (line.text.trim(), None),
    };
    let id = own.clone().unwrap_or(line.id);
    let fingerprint = hex.parse::<Fingerprint>().map_err(|error| {
        let message = match hex {
            "-" => "there is no fingerprint, the text has too little evidence; check the text itself".into(),
            _ => format!("{hex:?} is no fingerprint: {error}; without --fingerprint lines are texts"),
        };
        Bad::at(&line.place, id.clone(), message)
    })?;
    Ok((id, Question { id: own, fingerprint: Some(fingerprint), ..Question::default() }))
}

fn as_json(id: &str, checked: &Checked) -> String {
    let mut object = json!({
        "id": id,
        "duplicate": checked.duplicate(),
        "matches": matches::list(&checked.matches),
        "fingerprint": checked.simhash.as_ref().map(Fingerprint::to_string),
    });
    if checked.more {
        object["more"] = true.into();
    }
    object.to_string()
}

fn columns(id: &str, checked: &Checked) -> String {
    let (word, colour) = match (checked.duplicate(), checked.matches.is_empty()) {
        (true, _) => ("duplicate", AnsiColor::Red),
        (false, false) => ("related", AnsiColor::Yellow),
        (false, true) => ("new", AnsiColor::Green),
    };
    let columns = matches::columns(&checked.matches, checked.more);
    format!("{}\t{}{columns}{}", coloured(word, colour), in_line(id), matches::passages(&checked.matches))
}
