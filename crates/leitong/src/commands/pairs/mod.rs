//! `leitong pairs`: every two documents of which one is a duplicate of the other, or quotes it.

mod distance;

use super::batch::evidence::{self, Scores};
use super::batch::{BatchArgs, Extras, Job, Ranking, Skipped, Stages, fingerprints::Fingerprints, size};
use crate::output::file::Output;
use crate::output::paths::{self, Paths};
use crate::output::{self, Exit, Failure, in_line};
use leitong_detect::batch::{BatchError, Pair, Run};
use leitong_detect::verify::shared_passages;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  leitong pairs news.jsonl\n  leitong pairs news.jsonl.zst -o pairs.tsv --duplicates\n  \
    leitong pairs a.parquet b.parquet --json --passages -o pairs.jsonl.zst\n\n\
    Columns: the later document, the earlier one, what the later is to the earlier (exact, near, contains, contained: \
    duplicates; quotes: a passage is shared, the rest is not), the bits in which their SimHashes differ, Jaccard, and the larger \
    share of one text that the other has. With --judge distance all texts within --distance bits are near. Equal texts come first. Of more than 1,000 equal ones the others are paired with the \
    first only, unless --all-pairs is given."
)]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    /// Where to; compressed if the name ends in .gz or .zst [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave quotes out
    #[arg(long)]
    duplicates: bool,
    /// Say which passages both texts have (with --json)
    #[arg(long, requires = "json")]
    passages: bool,
    /// All pairs of equal texts, however many
    #[arg(long)]
    all_pairs: bool,
    /// What decides: what the texts share, or the distance of their SimHashes alone
    #[arg(long, value_enum, default_value_t, value_name = "JUDGE")]
    judge: Judge,
    /// The most bits in which SimHashes of near duplicates differ, with --judge distance [default: 3]
    #[arg(long, value_name = "K", requires = "judge")]
    distance: Option<u32>,
    /// Exit with 1 when there are duplicates
    #[arg(long)]
    fail_on_duplicate: bool,
    /// The recipe of the SimHash that distances are measured with
    #[arg(long, short, value_name = "NAME|FILE", default_value = leitong_detect::recipe::DEFAULT)]
    recipe: String,
    /// Print one JSON object a pair
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    batch: BatchArgs,
}

impl Args {
    fn within(&self) -> u32 {
        self.distance.unwrap_or(DISTANCE)
    }
}

/// What decides whether two texts are near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Judge {
    /// What is shared, how rare that is, and what differs
    #[default]
    Evidence,
    /// The distance of their SimHashes
    Distance,
}

/// The bits of `--judge distance` where nobody says.
const DISTANCE: u32 = 3;
/// Equal texts that are all paired with each other.
const PAIRED: usize = 1000;
/// Pairs that are written together.
const TOGETHER: usize = 4096;

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.distance.is_some() && args.judge != Judge::Distance {
        return Err(Failure::Usage(
            "--distance goes with --judge distance; evidence is not judged by distances".into(),
        ));
    }
    args.batch.use_threads();
    if let Some(output) = &args.output {
        let work = paths::work_folder(args.batch.named_work(), output);
        Paths { outputs: &[output], inputs: &args.inputs, work: Some(&work) }.check()?;
    }
    let fingerprints = Fingerprints::new(&args.recipe)?;
    let job = Job {
        args: &args.batch,
        inputs: &args.inputs,
        extras: Extras::default(),
        ranking: Ranking::First,
        source: None,
        against: None,
        quiet_out: args.output.is_some(),
    };
    let taken = job.take_in(args.batch.work(args.output.as_deref())?)?;
    let found = match &args.output {
        None => {
            let found = write(args, &taken.run, &fingerprints, &mut output::stdout())?;
            taken.stamps.check()?;
            found
        }
        Some(path) => {
            let mut file = Output::create(path)?;
            let found = write(args, &taken.run, &fingerprints, &mut file)?;
            taken.stamps.check()?;
            file.close()?.publish()?;
            found
        }
    };
    drop(taken.run);
    taken.work.remove();
    Ok(exit(args, found, &taken.skipped))
}

fn exit(args: &Args, duplicates: u64, skipped: &Skipped) -> Exit {
    match skipped.exit(args.batch.on_error()) {
        Exit::Fine if args.fail_on_duplicate && duplicates > 0 => Exit::Duplicates,
        exit => exit,
    }
}

/// Writes all pairs; how many duplicates there were.
fn write(args: &Args, run: &Run, fingerprints: &Fingerprints, out: &mut dyn Write) -> Result<u64, Failure> {
    let mut writer = Writer { args, run, fingerprints, out, waiting: Vec::new(), duplicates: 0, cut: 0 };
    for first in 0..run.count() {
        writer.equal(first)?;
    }
    if args.judge == Judge::Distance {
        distance::write(args, run, fingerprints, &mut writer)?;
        return writer.end();
    }
    let stages = Stages::new(args.output.is_some());
    run.pairs(&|stage, done, total| stages.reached(stage, done, total), &mut |pair| {
        writer.expand(&pair).map_err(BatchError::output)
    })?;
    writer.end()
}

struct Writer<'w> {
    args: &'w Args,
    run: &'w Run,
    fingerprints: &'w Fingerprints,
    out: &'w mut dyn Write,
    waiting: Vec<Pair>,
    duplicates: u64,
    cut: u64,
}

impl Writer<'_> {
    /// Writes what waits; how many duplicates there were.
    fn end(mut self) -> Result<u64, Failure> {
        self.flush()?;
        self.out.flush()?;
        if self.cut > 0 {
            let (cut, most) = (size::count(self.cut, "document", "documents"), PAIRED);
            let are = if self.cut == 1 { "is" } else { "are" };
            output::note(&format!(
                "{cut} whose text {most} others have {are} paired with the first of them only; --all-pairs lists all"
            ));
        }
        Ok(self.duplicates)
    }

    /// Members of a class that are paired with everything.
    fn paired<'c>(&self, class: &'c [u32]) -> &'c [u32] {
        if self.args.all_pairs { class } else { &class[..class.len().min(PAIRED)] }
    }

    /// The pairs of equal texts.
    fn equal(&mut self, first: u32) -> Result<(), Failure> {
        if self.run.first(first) != first {
            return Ok(());
        }
        let class = self.run.equals(&first);
        if class.len() < 2 {
            return Ok(());
        }
        let class = class.to_vec();
        let all = self.paired(&class).len();
        let pair = self.run.judge(class[1], class[0])?;
        for (at, &a) in class.iter().enumerate().skip(1) {
            let earlier = if at < all { &class[..at] } else { &class[..1] };
            for &b in earlier {
                self.push(Pair { a, b, ..pair })?;
            }
        }
        self.cut += (class.len() - all) as u64;
        Ok(())
    }

    /// The pairs of all texts that are equal to those of a pair.
    fn expand(&mut self, pair: &Pair) -> Result<(), Failure> {
        if self.args.duplicates && !pair.ruling.verdict.is_duplicate() {
            return Ok(());
        }
        let (of_a, of_b) = (self.run.equals(&pair.a).to_vec(), self.run.equals(&pair.b).to_vec());
        for &a in self.paired(&of_a) {
            for &b in self.paired(&of_b) {
                self.push(if a > b { Pair { a, b, ..*pair } } else { evidence::turned(pair, b, a) })?;
            }
        }
        Ok(())
    }

    fn push(&mut self, pair: Pair) -> Result<(), Failure> {
        self.duplicates += u64::from(pair.ruling.verdict.is_duplicate());
        self.waiting.push(pair);
        if self.waiting.len() >= TOGETHER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let pairs = std::mem::take(&mut self.waiting);
        let run = self.run;
        let both = |pair: &Pair| [run.first(pair.a), run.first(pair.b)];
        let hashes = self.fingerprints.of(run, pairs.iter().flat_map(both))?;
        let lines = Lines { args: self.args, run };
        let line = |pair: &Pair| {
            let [a, b] = both(pair);
            lines.of(pair, hashes.distance(a, b))
        };
        let lines: Vec<String> = pairs.par_iter().map(line).collect::<Result<_, Failure>>()?;
        for line in lines {
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// Writes single pairs.
struct Lines<'l> {
    args: &'l Args,
    run: &'l Run,
}

impl Lines<'_> {
    fn of(&self, pair: &Pair, distance: Option<u32>) -> Result<String, Failure> {
        if self.args.json { self.json(pair, distance) } else { self.columns(pair, distance) }
    }

    fn json(&self, pair: &Pair, distance: Option<u32>) -> Result<String, Failure> {
        let mut object = json!({
            "a": self.run.id(pair.a)?,
            "b": self.run.id(pair.b)?,
            "verdict": pair.ruling.verdict.name(),
            "distance": distance,
        });
        evidence::add(&mut object, pair);
        if let (Judge::Distance, false, Some(bits)) = (self.args.judge, pair.evidence.equal, distance) {
            object["rule"] = format!(
                "the SimHashes differ in {} (at most {})",
                size::count(bits.into(), "bit", "bits"),
                self.args.within()
            )
            .into();
        }
        if self.args.passages {
            let (a, b) = (self.run.text(pair.a)?, self.run.text(pair.b)?);
            object["passages"] = evidence::passages(&shared_passages(&a, &b));
        }
        Ok(format!("{}\n", Value::to_string(&object)))
    }

    fn columns(&self, pair: &Pair, distance: Option<u32>) -> Result<String, Failure> {
        let (a, b) = (self.run.id(pair.a)?, self.run.id(pair.b)?);
        let scores = Scores::of(&pair.evidence);
        let distance = distance.map_or("-".into(), |distance| distance.to_string());
        Ok(format!(
            "{}\t{}\t{}\t{distance}\t{:.3}\t{:.3}\n",
            in_line(&a),
            in_line(&b),
            pair.ruling.verdict.name(),
            scores.jaccard,
            scores.containment()
        ))
    }
}
