//! `leitong cluster`: which documents belong together, each group around one of them.

use super::batch::evidence::{self, Scores};
use super::batch::{BatchArgs, Extras, Found, Job, Ranking, Taken, fingerprints::Fingerprints};
use super::fields;
use crate::input::raw::{self, Wanted};
use crate::output::file::Output;
use crate::output::paths::{self, Paths};
use crate::output::{self, Exit, Failure, in_line};
use leitong_detect::batch::Fate;
use rayon::prelude::*;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  leitong cluster news.jsonl -o clusters.tsv\n  \
    leitong cluster news.parquet --json --groups --keep longest\n\n\
    A line for every document, in order. Columns: the document, the number of its cluster, the centre, the bits in which their \
    SimHashes differ; what the document is to its centre, Jaccard, and the larger share of one text that the other has (- for the \
    centre itself). Every member was compared with its centre: clusters are stars, never chains.")]
pub(crate) struct Args {
    /// Files or folders; `-` or none is standard input
    inputs: Vec<PathBuf>,
    /// Where to; compressed if the name ends in .gz or .zst [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out documents that are alone
    #[arg(long)]
    groups: bool,
    /// Which of several duplicates is the centre: first, longest, newest, or a field with a number
    #[arg(long, value_name = "first|longest|newest|FIELD", default_value = "first")]
    keep: String,
    /// The recipe of the SimHash that distances are measured with
    #[arg(long, short, value_name = "NAME|FILE", default_value = leitong_detect::recipe::DEFAULT)]
    recipe: String,
    /// Print one JSON object a document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    batch: BatchArgs,
}

/// Documents that are written together.
const TOGETHER: u32 = 4096;

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    args.batch.use_threads();
    if let Some(output) = &args.output {
        let work = paths::work_folder(args.batch.named_work(), output);
        Paths { outputs: &[output], inputs: &args.inputs, work: Some(&work) }.check()?;
    }
    let flags: Vec<fields::Flag<'_>> = fields::of_keep(&args.keep).into_iter().collect();
    let options = args.batch.input.options();
    let (sources, _) = raw::expand(&args.inputs, &options);
    let is_late = fields::need_copies(&sources);
    if !is_late {
        let wanted = Wanted { options, extras: Vec::new(), block: args.batch.block(), read: None };
        fields::check(&flags, &sources, &wanted)?;
    }
    let fingerprints = Fingerprints::new(&args.recipe)?;
    let mut extras = Extras::default();
    let ranking = Ranking::new(&args.keep, None, &[], &mut extras);
    let job = Job {
        args: &args.batch,
        inputs: &args.inputs,
        extras,
        ranking,
        source: None,
        against: None,
        quiet_out: args.output.is_some(),
    };
    let taken = job.take_in(args.batch.work(args.output.as_deref())?)?;
    if is_late && let Err(failure) = fields::check(&flags, &taken.sources, &taken.wanted) {
        drop(taken.run);
        taken.work.remove();
        return Err(failure);
    }
    fields::warn_if_idle(&job.ranking, &taken)?;
    let (selection, found) = taken.select(args.batch.memory() / 16)?;
    let clusters = Clusters::new(args, &taken, &found, &selection.fates);
    match &args.output {
        None => {
            clusters.write(&fingerprints, &mut output::stdout())?;
            taken.stamps.check()?;
        }
        Some(path) => {
            let mut file = Output::create(path)?;
            clusters.write(&fingerprints, &mut file)?;
            taken.stamps.check()?;
            file.close()?.publish()?;
        }
    }
    let Taken { run, work, skipped, .. } = taken;
    drop(run);
    work.remove();
    Ok(skipped.exit(args.batch.on_error()))
}

struct Clusters<'c> {
    args: &'c Args,
    taken: &'c Taken,
    found: &'c Found,
    fates: &'c [Fate],
    /// By document: the number of its cluster, in the order of the first member, from 1; and how many it has.
    numbers: Vec<u32>,
    sizes: Vec<u32>,
}

fn centre(fates: &[Fate], document: u32) -> u32 {
    match fates[document as usize] {
        Fate::Stays => document,
        Fate::Goes(centre) => centre,
    }
}

impl<'c> Clusters<'c> {
    fn new(args: &'c Args, taken: &'c Taken, found: &'c Found, fates: &'c [Fate]) -> Self {
        let (mut numbers, mut sizes) = (vec![0; fates.len()], vec![0; fates.len()]);
        let mut next = 0;
        for document in 0..fates.len() as u32 {
            let centre = centre(fates, document) as usize;
            sizes[centre] += 1;
            if sizes[centre] == 1 {
                next += 1;
                numbers[centre] = next;
            }
        }
        Self { args, taken, found, fates, numbers, sizes }
    }

    fn write(&self, fingerprints: &Fingerprints, out: &mut dyn Write) -> Result<(), Failure> {
        let count = self.fates.len() as u32;
        for from in (0..count).step_by(TOGETHER as usize) {
            let some = from..count.min(from + TOGETHER);
            let moved = some.clone().filter(|&document| centre(self.fates, document) != document);
            let both = moved.flat_map(|document| [document, centre(self.fates, document)]);
            let hashes = fingerprints.of(&self.taken.run, both)?;
            let line = |document: u32| {
                let distance = hashes.distance(document, centre(self.fates, document));
                self.line(document, distance)
            };
            let lines: Vec<String> = some.into_par_iter().map(line).collect::<Result<_, Failure>>()?;
            for line in lines {
                out.write_all(line.as_bytes())?;
            }
        }
        out.flush()?;
        Ok(())
    }

    fn line(&self, document: u32, distance: Option<u32>) -> Result<String, Failure> {
        let centre = centre(self.fates, document);
        let (number, size) = (self.numbers[centre as usize], self.sizes[centre as usize]);
        if self.args.groups && size < 2 {
            return Ok(String::new());
        }
        let run = &self.taken.run;
        let (id, of_centre) = (run.id(document)?, run.id(centre)?);
        let pair = if centre == document { None } else { Some(self.found.pair(run, document, centre)?) };
        if self.args.json {
            let mut object = json!({
                "id": id, "cluster": number, "centre": of_centre, "size": size,
                "distance": if pair.is_none() { Some(0) } else { distance },
            });
            if let Some(pair) = pair {
                object["verdict"] = pair.ruling.verdict.name().into();
                evidence::add(&mut object, &pair);
            }
            return Ok(format!("{object}\n"));
        }
        let (id, of_centre) = (in_line(&id).into_owned(), in_line(&of_centre).into_owned());
        let distance = distance.map_or("-".into(), |distance| distance.to_string());
        Ok(match pair {
            None => format!("{id}\t{number}\t{of_centre}\t0\t-\t-\t-\n"),
            Some(pair) => {
                let (verdict, scores) = (pair.ruling.verdict.name(), Scores::of(&pair.evidence));
                let (jaccard, containment) = (scores.jaccard, scores.containment());
                format!(
                    "{id}\t{number}\t{of_centre}\t{distance}\t{verdict}\t{jaccard:.3}\t{containment:.3}\n"
                )
            }
        })
    }
}
