//! `leitong compare`: two documents side by side.

use crate::input::{self, DocumentArgs};
use crate::output::{self, Exit, Failure, html, passages};
use leitong_detect::compare::Comparison;
use leitong_detect::verdict::Verdict;
use leitong_detect::{Fingerprinter, Recipe, recipe};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong compare draft.docx published.html\n  \
    leitong compare a.txt b.txt --html report.html\n  \
    leitong compare --literal '如有雷同，纯属巧合' '如有雷同，绝非巧合'\n\n\
    Verdicts: exact, near, contains, contained are duplicates; quotes shares a passage; different shares nothing that \
    counts. Two texts alone do not tell which wording is common property.")]
pub(crate) struct Args {
    /// The first document; `-` is standard input
    a: PathBuf,
    /// The second document
    b: PathBuf,
    /// A and B are the texts themselves, not files
    #[arg(long)]
    literal: bool,
    /// A built-in recipe or a recipe file
    #[arg(long, short, value_name = "NAME|FILE", default_value = recipe::DEFAULT)]
    recipe: String,
    /// Write a page with both texts and their passages in colour
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Exit with 1 when one is a duplicate of the other
    #[arg(long)]
    fail_on_duplicate: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    documents: DocumentArgs,
}

/// One of the two documents.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let fingerprinter = Fingerprinter::new(Recipe::open(&args.recipe)?)?;
    let (a, b) = (side(args, &args.a, "A")?, side(args, &args.b, "B")?);
    let prepared = (fingerprinter.prepare(a.text.as_str()), fingerprinter.prepare(b.text.as_str()));
    let found = fingerprinter.compare(&prepared.0, &prepared.1);

    let mut out = output::stdout();
    if args.json {
        writeln!(out, "{}", as_json(&a, &b, &found))?;
    } else {
        write_signals(&mut out, &a, &b, &found)?;
        passages::write(&mut out, &a, &b, &found)?;
    }
    out.flush()?;
    if let Some(path) = &args.html {
        let rows = signal_rows(&found);
        std::fs::write(path, html::page(&a, &b, &found, &rows)).map_err(|error| {
            Failure::Input(format!(
                "cannot write {}: {error}; check the folder and the free space",
                path.display()
            ))
        })?;
    }
    let duplicate = found.judgement.verdict.is_duplicate();
    Ok(if duplicate && args.fail_on_duplicate { Exit::Duplicates } else { Exit::Fine })
}

fn side(args: &Args, path: &Path, name: &str) -> Result<Side, Failure> {
    if args.literal {
        let text = path.to_string_lossy().into_owned();
        if text.trim().is_empty() {
            return Err(Failure::Input(format!("{name} is empty; give a text")));
        }
        return Ok(Side { name: name.to_owned(), text });
    }
    let hint = if path.exists() || path.as_os_str() == "-" {
        ""
    } else {
        "; for texts instead of files add --literal"
    };
    let document = input::one_document(path, &args.documents.options())
        .map_err(|error| Failure::Input(format!("{error}{hint}")))?;
    Ok(Side { name: document.id, text: document.text })
}

fn as_json(a: &Side, b: &Side, found: &Comparison) -> Value {
    let range = |range: &std::ops::Range<usize>| json!([range.start, range.end]);
    let hex = |bits: &Option<leitong_fingerprint::Fingerprint>| bits.as_ref().map(ToString::to_string);
    let passages: Vec<Value> = found
        .passages
        .iter()
        .map(|passage| {
            json!({
                "a": range(&passage.a), "b": range(&passage.b),
                "matched": passage.matched, "differing": passage.differing,
            })
        })
        .collect();
    json!({
        "a": a.name, "b": b.name,
        "verdict": found.judgement.verdict.name(),
        "duplicate": found.judgement.verdict.is_duplicate(),
        "reason": found.judgement.reason,
        "distance": found.distance,
        "jaccard": found.shingles.jaccard(),
        "containment": found.containment(),
        "a_in_b": found.shingles.a_in_b(), "b_in_a": found.shingles.b_in_a(),
        "covered_a": found.covered.a, "covered_b": found.covered.b,
        "minhash": found.minhash,
        "cosine": found.cosine,
        "marks": { "a": found.marks.a, "b": found.marks.b, "shared": found.marks.shared },
        "simhash": { "a": hex(&found.simhash.a), "b": hex(&found.simhash.b) },
        "keywords": { "a": hex(&found.keywords.a), "b": hex(&found.keywords.b), "equal": keywords_equal(found) },
        "sentence_code": found.sentence_code,
        "letters": { "a": found.letters.a, "b": found.letters.b },
        "passages": passages,
    })
}

fn keywords_equal(found: &Comparison) -> bool {
    found.keywords.a.is_some() && found.keywords.a == found.keywords.b
}

/// Every signal as a name, a value and an explanation.
fn signal_rows(found: &Comparison) -> Vec<[String; 3]> {
    let row = |name: &str, value: String, detail: String| [name.to_owned(), value, detail];
    let bits = found.simhash.a.as_ref().map_or(64, leitong_fingerprint::Fingerprint::width);
    let hex = |value: &Option<leitong_fingerprint::Fingerprint>| {
        value.as_ref().map_or("too little evidence".to_owned(), ToString::to_string)
    };
    let shingles = &found.shingles;
    vec![
        row(
            "SimHash distance",
            found.distance.map_or("-".into(), |distance| format!("{distance} of {bits}")),
            format!("{}  {}", hex(&found.simhash.a), hex(&found.simhash.b)),
        ),
        row(
            "Jaccard",
            format!("{:.3}", shingles.jaccard()),
            format!("{} and {} pieces, {} shared", shingles.a, shingles.b, shingles.shared),
        ),
        row("A in B", format!("{:.3}", shingles.a_in_b()), "share of A's pieces that B has".into()),
        row("B in A", format!("{:.3}", shingles.b_in_a()), "share of B's pieces that A has".into()),
        row(
            "MinHash",
            found.minhash.map_or("-".into(), |estimate| format!("{estimate:.3}")),
            "Jaccard as a short signature estimates it".into(),
        ),
        row(
            "Marks",
            format!("{}", found.marks.shared),
            format!("shared of {} and {}", found.marks.a, found.marks.b),
        ),
        row("Cosine", format!("{:.3}", found.cosine), "of the weighted words".into()),
        row(
            "Keywords",
            if keywords_equal(found) { "equal".into() } else { "differ".into() },
            "fingerprint of the heaviest words".into(),
        ),
        row("Sentence code", format!("{:.3}", found.sentence_code), "share of equal sentence ends".into()),
        row(
            "Passages",
            format!("{}", found.passages.len()),
            format!("cover {:.1} % of A and {:.1} % of B", found.covered.a * 100.0, found.covered.b * 100.0),
        ),
        row("Letters", format!("{} / {}", found.letters.a, found.letters.b), "in A / in B".into()),
    ]
}

fn write_signals(out: &mut impl Write, a: &Side, b: &Side, found: &Comparison) -> Result<(), Failure> {
    let colour = match found.judgement.verdict {
        Verdict::Different => anstyle::AnsiColor::Green,
        Verdict::Quotes => anstyle::AnsiColor::Yellow,
        _ => anstyle::AnsiColor::Red,
    };
    let (style, dim) = (colour.on_default().bold(), anstyle::Style::new().dimmed());
    writeln!(out, "{style}{}{style:#}  {}", found.judgement.verdict.name(), found.judgement.reason)?;
    writeln!(out, "{dim}A{dim:#} {}\n{dim}B{dim:#} {}\n", a.name, b.name)?;
    for [name, value, detail] in signal_rows(found) {
        writeln!(out, "  {name:<17} {value:>12}  {dim}{detail}{dim:#}")?;
    }
    Ok(())
}
