//! `leitong articles`: fingerprints as fields of the articles in an index that somebody else keeps, and searching there.

use crate::input::{self, Document, InputArgs};
use crate::output::{self, Exit, Failure, Problems, in_line};
use leitong_detect::{Fingerprinter, Kind, Recipe, Value, recipe};
use leitong_store::opensearch::articles::{Articles, Fields, Near, WITHIN, Which};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Give articles the fingerprints of their texts, where they have none or another
    Fill(FillArgs),
    /// List the articles that are near these documents
    Near(NearArgs),
}

/// Where articles are, and what their fields are called.
#[derive(clap::Args)]
struct IndexArgs {
    /// The server: opensearch+http://HOST:PORT, elasticsearch+https://USER:PASSWORD@HOST:PORT …
    #[arg(long, value_name = "ADDRESS", env = "LEITONG_DB", hide_env_values = true)]
    at: String,
    /// An index of articles; several may be named
    #[arg(long, value_name = "NAME", required = true)]
    index: Vec<String>,
    /// The four fields of the blocks, 16 bits each, the most significant first; missing ones are made
    #[arg(long, value_name = "FIELD", num_args = 4, value_delimiter = ',')]
    #[arg(default_values_t = Fields::default().blocks)]
    blocks: Vec<String>,
    /// The recipe the fingerprints are made by: the same for all articles of an index
    #[arg(long, short, value_name = "NAME|FILE", default_value = recipe::DEFAULT)]
    recipe: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `fill`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong articles fill --at opensearch+http://127.0.0.1:9200 --index news --content title --content body\n  \
    leitong articles fill --at elasticsearch+http://127.0.0.1:9200 --index news --changed\n\n\
    Only the blocks and a digest of the text are written, each article in the state in which it was read. An article that is written anew loses \
    both with it and is found by the next run; after updates of parts use --changed, which reads all articles and writes \
    those whose text has another digest.")]
struct FillArgs {
    #[command(flatten)]
    index: IndexArgs,
    /// A field with text of the article, such as body.content; several are put together
    #[arg(long, value_name = "FIELD", default_value = "content")]
    content: Vec<String>,
    /// The field of the text's digest
    #[arg(long, value_name = "FIELD", default_value_t = Fields::default().digest)]
    digest: String,
    /// Look at all articles, not only at those without a digest
    #[arg(long)]
    changed: bool,
    /// Look at these articles only
    #[arg(long, value_name = "ID", conflicts_with = "changed")]
    only: Vec<String>,
}

/// Flags of `near`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong articles near draft.docx --at opensearch+http://127.0.0.1:9200 --index news --index archive --date publish_date\n\n\
    A document does not find itself: an article with its id is left out. Columns: near or none; the id of the document; the article, its index, the \
    distance and its date.")]
struct NearArgs {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    index: IndexArgs,
    /// The most bits in which fingerprints differ
    #[arg(long, value_name = "K", default_value_t = WITHIN, value_parser = clap::value_parser!(u32).range(0..=i64::from(WITHIN)))]
    distance: u32,
    /// A field with a date: the newest come first, not the nearest
    #[arg(long, value_name = "FIELD")]
    date: Option<String>,
    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Fill(args) => fill(args),
        Command::Near(args) => near(args),
    }
}

impl IndexArgs {
    fn open(&self, more: Fields) -> Result<Articles, Failure> {
        let blocks: [String; 4] = self.blocks.clone().try_into().map_err(|_| {
            Failure::Usage(
                "--blocks takes four fields, such as --blocks simhash_a,simhash_b,simhash_c,simhash_d".into(),
            )
        })?;
        Ok(Articles::open(&self.at, Fields { blocks, ..more })?)
    }

    fn fingerprinter(&self) -> Result<Fingerprinter, Failure> {
        let recipe = Recipe::open(&self.recipe)?;
        let bits = recipe.settings().simhash.bits;
        if bits != 64 {
            let name = &self.recipe;
            return Err(Failure::Input(format!(
                "{name}: fingerprints of {bits} bits; articles have four blocks of 16"
            )));
        }
        Ok(Fingerprinter::new(recipe)?)
    }
}

/// The SimHash of a text, if it has enough to go by.
fn simhash(fingerprinter: &Fingerprinter, text: &str) -> Option<u64> {
    match fingerprinter.fingerprint(Kind::Simhash, &fingerprinter.prepare(text)).ok()?.value? {
        Value::Bits(fingerprint) => Some(fingerprint.low64()),
        _ => None,
    }
}

fn fill(args: &FillArgs) -> Result<Exit, Failure> {
    let IndexArgs { index: indices, json: as_json, .. } = &args.index;
    let more = Fields { text: args.content.clone(), digest: args.digest.clone(), ..Fields::default() };
    let (articles, fingerprinter) = (args.index.open(more)?, args.index.fingerprinter()?);
    let only: Vec<&str> = args.only.iter().map(String::as_str).collect();
    let which = match (&only[..], args.changed) {
        ([], false) => Which::Missing,
        ([], true) => Which::All,
        (ids, _) => Which::Ids(ids),
    };
    let mut out = output::stdout();
    for index in indices {
        articles.attach(index)?;
        let filled = articles.fill(index, which, &|text| simhash(&fingerprinter, text))?;
        let (read, written, missed) = (filled.read, filled.written, filled.missed);
        if *as_json {
            writeln!(
                out,
                "{}",
                json!({ "index": index, "read": read, "written": written, "missed": missed })
            )?;
        } else {
            let index = in_line(index);
            writeln!(out, "filled\t{index}\t{read} read, {written} written, {missed} changed meanwhile")?;
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn near(args: &NearArgs) -> Result<Exit, Failure> {
    let more = Fields { published: args.date.clone(), ..Fields::default() };
    let (articles, fingerprinter) = (args.index.open(more)?, args.index.fingerprinter()?);
    let indices: Vec<&str> = args.index.index.iter().map(String::as_str).collect();
    let (mut problems, mut out, mut asked) = (Problems::default(), output::stdout(), 0);
    for document in input::documents(&args.inputs, &args.input.options()) {
        asked += 1;
        let Document { id, text, .. } = match document {
            Ok(document) => document,
            Err(error) => {
                problems.report(&error);
                continue;
            }
        };
        let mut found = match simhash(&fingerprinter, &text) {
            Some(fingerprint) => articles.near(&indices, fingerprint, args.distance)?,
            None => Vec::new(),
        };
        found.retain(|near| near.id != id);
        write_near(&mut out, args.index.json, &id, &found)?;
    }
    out.flush()?;
    Ok(problems.exit(asked))
}

fn write_near(out: &mut impl Write, as_json: bool, id: &str, found: &[Near]) -> Result<(), Failure> {
    if as_json {
        let matches: Vec<_> = found
            .iter()
            .map(|near| {
                json!({ "id": near.id, "index": near.index, "distance": near.distance, "published": near.published })
            })
            .collect();
        writeln!(out, "{}", json!({ "id": id, "matches": matches }))?;
        return Ok(());
    }
    let id = in_line(id);
    if found.is_empty() {
        writeln!(out, "none\t{id}")?;
    }
    for near in found {
        let (other, index) = (in_line(&near.id), in_line(&near.index));
        let date = near
            .published
            .as_ref()
            .map_or_else(String::new, |date| date.as_str().map_or_else(|| date.to_string(), str::to_owned));
        writeln!(out, "near\t{id}\t{other}\t{index}\t{}\t{date}", near.distance)?;
    }
    Ok(())
}
