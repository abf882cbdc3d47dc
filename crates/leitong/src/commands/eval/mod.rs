//! `leitong eval`: how well signals tell true pairs from others, at every threshold, on documents whose truth is known.
//!
//! ```text
//! documents ─▶ run ─▶ pairs found, and true pairs that were not, judged ─▶ scores ─▶ a curve for each signal ─▶ table, JSON, picture
//! truth ───────────────────────────────────────────────────────────────────▲
//! ```

mod curve;
mod picture;
mod print;
mod score;
mod truth;

use super::batch::{BatchArgs, Extras, Job, Ranking};
use crate::output::paths::Paths;
use crate::output::{Exit, Failure, note};
use curve::Curve;
use score::Signal;
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong eval --corpus news.jsonl --truth pairs.tsv\n  \
    leitong eval --corpus a.jsonl b.parquet --truth clusters.csv --plot curves.svg --precision 0.995\n\n\
    The truth is a table or JSON lines with the fields a and b (or id_a and id_b), and if wanted label, where 0, false, no or \
    different says that the two are no duplicates; or with the fields id and cluster. A table without such a header is two columns \
    of ids, and a third with labels. Of lines that contradict each other the first counts, a pair of a document with itself never; \
    both are named and counted, and the exit code is then 3 (with --on-error skip 0). If any pair is labelled as no duplicate, only labelled pairs count; otherwise every other pair \
    is taken for none.\n\n\
    Signals: the verdict (as dedup gives it), Jaccard and containment as aligned, the distance of SimHashes, and the share of marks of \
    the text with fewer. For each the threshold with the highest recall at the precision asked for is suggested. A threshold \
    is applied to the pairs that the run finds; where only labelled pairs count, to all of these.")]
pub(crate) struct Args {
    /// The documents: files or folders
    #[arg(long, value_name = "DOCS", required = true, num_args = 1..)]
    corpus: Vec<PathBuf>,
    /// The pairs or clusters that are true
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// The precision that a suggested threshold has to reach
    #[arg(long, value_name = "SHARE", default_value_t = 0.99, value_parser = share)]
    precision: f64,
    /// Draw the curves: .svg or .png
    #[arg(long, value_name = "FILE", value_parser = picture::path)]
    plot: Option<PathBuf>,
    /// Print one JSON object, with all points of all curves
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    batch: BatchArgs,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("{text:?} is no share: write a number above 0, up to 1")),
    }
}

/// What was measured.
struct Measured {
    documents: u32,
    /// True pairs, those of them that the run found, and those that it did not though the verifier calls them duplicates.
    positives: u64,
    found: u64,
    overlooked: u64,
    /// Pairs that are known to be none; nothing if all others are taken for none.
    negatives: Option<u64>,
    /// Lines of the truth that do not count: they say the opposite of an earlier one, or pair a document with itself.
    contradictions: u64,
    self_pairs: u64,
    /// Pairs that count.
    pairs: u64,
    precision: f64,
    curves: Vec<(Signal, Curve)>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    args.batch.use_threads();
    if let Some(plot) = &args.plot {
        let inputs: Vec<PathBuf> = args.corpus.iter().chain([&args.truth]).cloned().collect();
        Paths { outputs: &[plot], inputs: &inputs, work: args.batch.named_work() }.check()?;
    }
    let truth = truth::read(&args.truth)?;
    let job = Job {
        args: &args.batch,
        inputs: &args.corpus,
        extras: Extras::default(),
        ranking: Ranking::First,
        source: None,
        against: None,
        quiet_out: false,
    };
    let mut taken = job.take_in(args.batch.work(None)?)?;
    let known =
        truth.resolve(&taken.run, &mut |error| taken.skipped.report(&error, args.batch.on_error()))?;
    if known.positives() == 0 {
        return Err(Failure::Input(format!(
            "{}: no pair of it is true and in the corpus, so there is nothing to measure; are the ids those of the corpus?",
            args.truth.display()
        )));
    }
    let scored = score::all(&taken.run, &known)?;
    taken.stamps.check()?;
    let measured = Measured {
        documents: taken.run.count(),
        positives: known.positives(),
        found: scored.found,
        overlooked: scored.overlooked,
        negatives: known.negatives(),
        contradictions: known.contradictions,
        self_pairs: known.self_pairs,
        pairs: scored.rows.len() as u64,
        precision: args.precision,
        curves: Signal::ALL.map(|signal| (signal, Curve::new(scored.of(signal), known.positives()))).into(),
    };
    print::write(&measured, args.json)?;
    if let Some(path) = &args.plot {
        picture::write(path, &measured)?;
        note(&format!("the curves are in {}", path.display()));
    }
    drop(taken.run);
    taken.work.remove();
    Ok(taken.skipped.exit(args.batch.on_error()))
}
