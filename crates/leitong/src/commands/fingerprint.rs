//! `leitong fingerprint`: one line a document, in order.

use crate::input::{self, Document, InputArgs, Item};
use crate::output::value::{self, Format};
use crate::output::{self, Exit, Failure, Problems, Progress};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use leitong_detect::{Answer, FingerprintError, Fingerprinter, Kind, Recipe, recipe};
use rayon::prelude::*;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Documents, and bytes of text, that are worked on at a time.
const BATCH: (usize, usize) = (1024, 16 << 20);

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong fingerprint news/*.html --ids\n  \
    leitong fingerprint corpus.jsonl.zst --text body --json\n  \
    cat titles.txt | leitong fingerprint --recipe py-simhash\n  \
    echo '[\"雷同\",\"巧合\"]' | leitong fingerprint --tokens --recipe cms-redis\n  \
    leitong fingerprint --kind image photo.jpg\n\n\
    Without FILES every line of standard input is a text. Files are .jsonl, .ndjson, .csv, .tsv (also .gz, .zst), .parquet, \
    text, HTML, XML, Word, Excel, PDF, or folders of these. A document with too little evidence has no fingerprint: \
    - in text formats, null in JSON.")]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    files: Vec<PathBuf>,
    /// A built-in recipe or a recipe file
    #[arg(long, short, value_name = "NAME|FILE", default_value = recipe::DEFAULT)]
    recipe: String,
    /// What to make
    #[arg(long, short, value_parser = kinds(), default_value = "simhash")]
    kind: Kind,
    /// Width of SimHash and embedding fingerprints: 32, 64, 128, 256, 512 or 1024
    #[arg(long, value_name = "N")]
    bits: Option<u32>,
    /// Each input line is a JSON array of words (of numbers for embedding)
    #[arg(long)]
    tokens: bool,
    /// How fingerprints are printed
    #[arg(long, short, value_enum, default_value_t)]
    format: Format,
    /// The same as --format json
    #[arg(long)]
    json: bool,
    /// Print each document's id behind its fingerprint, after a tab
    #[arg(long)]
    ids: bool,
    /// Threads; 1 answers every line as soon as it is read
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    input: InputArgs,
}

/// Reads a kind by its name; the help lists them all.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let named = Kind::ALL.map(|kind| {
        let (name, about) = kind.describe();
        PossibleValue::new(name).help(about)
    });
    PossibleValuesParser::new(named)
        .map(|name| Kind::ALL.into_iter().find(|kind| kind.describe().0 == name).unwrap_or_default())
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut recipe = Recipe::open(&args.recipe)?;
    if let Some(bits) = args.bits {
        recipe = recipe.with_bits(bits)?;
    }
    let work = Work {
        fingerprinter: Fingerprinter::new(recipe)?,
        kind: args.kind,
        format: if args.json { Format::Json } else { args.format },
        ids: args.ids,
    };
    if let Some(threads) = args.threads {
        // Only fails when a pool exists already, and this is the first use.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let options = args.input.options();
    if work.kind == Kind::Image {
        if args.files.is_empty() {
            return Err(Failure::Input(
                "image fingerprints are made of files: name some, or a folder of them".into(),
            ));
        }
        return answer_all(&work, args.threads, input::raw_files(&args.files, &options), |work, item| {
            let (id, bytes) = item.map_err(Bad::Input)?;
            work.answer(&id, work.fingerprinter.image(&bytes))
        });
    }
    if args.tokens || work.kind == Kind::Embedding {
        let lines = input::raw_lines(&args.files, &options);
        return answer_all(&work, args.threads, lines, Work::answer_tokens);
    }
    answer_all(&work, args.threads, input::documents(&args.files, &options), Work::answer_document)
}

/// Why a document has no answer.
enum Bad {
    Input(input::InputError),
    Fingerprint { id: String, error: FingerprintError },
}

impl Bad {
    fn id(&self) -> &str {
        match self {
            Self::Input(error) => &error.id,
            Self::Fingerprint { id, .. } => id,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Input(error) => error.to_string(),
            Self::Fingerprint { id, error } => format!("{id}: {error}"),
        }
    }
}

/// Reads a batch, answers it on all cores, prints it in order, and so on.
fn answer_all<I: Send + Weight>(
    work: &Work,
    threads: Option<usize>,
    items: impl Iterator<Item = I>,
    answer: impl Fn(&Work, I) -> Result<String, Bad> + Sync,
) -> Result<Exit, Failure> {
    let mut problems = Problems::default();
    let mut inputs = 0;
    let mut out = output::stdout();
    let progress = Progress::new("documents");
    let mut items = items.peekable();
    while items.peek().is_some() {
        let batch = take_batch(&mut items, if threads == Some(1) { (1, 0) } else { BATCH });
        let count = batch.len() as u64;
        let answers: Vec<Result<String, Bad>> =
            batch.into_par_iter().map(|item| answer(work, item)).collect();
        for line in answers {
            match line {
                Ok(line) => writeln!(out, "{line}")?,
                Err(bad) => {
                    // A line for every document, so that the answers stay beside the questions.
                    writeln!(out, "{}", work.no_answer(&bad))?;
                    problems.report(&bad.message());
                }
            }
        }
        out.flush()?;
        inputs += count;
        progress.add(count);
    }
    drop(progress);
    Ok(problems.exit(inputs))
}

/// How many bytes an item holds, so that a batch stays small.
trait Weight {
    fn bytes(&self) -> usize;
}

impl Weight for Item {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |document| document.text.len())
    }
}

impl Weight for input::RawItem {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |(_, bytes)| bytes.len())
    }
}

fn take_batch<I: Weight>(items: &mut impl Iterator<Item = I>, (count, bytes): (usize, usize)) -> Vec<I> {
    let mut batch = Vec::new();
    let mut total = 0;
    for item in items {
        total += item.bytes();
        batch.push(item);
        if batch.len() >= count || total >= bytes {
            break;
        }
    }
    batch
}

struct Work {
    fingerprinter: Fingerprinter,
    kind: Kind,
    format: Format,
    ids: bool,
}

impl Work {
    fn answer_document(&self, item: Item) -> Result<String, Bad> {
        let Document { id, text, fields, .. } = item.map_err(Bad::Input)?;
        let prepared = self.fingerprinter.prepare(text).with_fields(fields);
        self.answer(&id, self.fingerprinter.fingerprint(self.kind, &prepared))
    }

    fn answer_tokens(&self, item: input::RawItem) -> Result<String, Bad> {
        let (id, bytes) = item.map_err(Bad::Input)?;
        let wrong = |what: &str, error: serde_json::Error| {
            let place = input::Place { file: id.clone(), line: None };
            let message =
                format!("the line is no JSON array of {what} ({error}); write it like {}", example(what));
            Bad::Input(input::InputError { place, id: id.clone(), message })
        };
        if self.kind == Kind::Embedding {
            let vector: Vec<f32> = serde_json::from_slice(&bytes).map_err(|error| wrong("numbers", error))?;
            return self.answer(&id, self.fingerprinter.embedding(&vector));
        }
        let tokens: Vec<String> = serde_json::from_slice(&bytes).map_err(|error| wrong("words", error))?;
        let prepared = self.fingerprinter.prepare_tokens(tokens);
        self.answer(&id, self.fingerprinter.fingerprint(self.kind, &prepared))
    }

    fn answer(&self, id: &str, answer: Result<Answer, FingerprintError>) -> Result<String, Bad> {
        let answer = answer.map_err(|error| Bad::Fingerprint { id: id.to_owned(), error })?;
        let settings = self.fingerprinter.recipe().settings();
        if self.format == Format::Json {
            return Ok(value::json(id, self.kind, &settings.name, &answer).to_string());
        }
        let lsb_first = self.kind == Kind::Simhash && settings.simhash.print_lsb_first;
        let text =
            answer.value.as_ref().map_or("-".to_owned(), |value| value::text(value, self.format, lsb_first));
        Ok(if self.ids { format!("{text}\t{id}") } else { text })
    }

    fn no_answer(&self, bad: &Bad) -> String {
        match (self.format, self.ids) {
            (Format::Json, _) => {
                json!({ "id": bad.id(), "fingerprint": null, "error": bad.message() }).to_string()
            }
            (_, true) => format!("-\t{}", bad.id()),
            (_, false) => "-".to_owned(),
        }
    }
}

fn example(what: &str) -> &'static str {
    if what == "numbers" { "[0.12, -0.5, 0.3]" } else { "[\"雷同\", \"巧合\"]" }
}
