//! `leitong bench segment` and `leitong bench fingerprint`.

use super::{median, peak_bytes};
use crate::output::Failure;
use leitong_detect::{Fingerprinter, Kind, Recipe, Scratch, recipe};
use leitong_text::segment::{Settings, UserDictionary, Word};
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::path::PathBuf;
use std::time::Instant;

/// Text for those who bring none: a short news item, many times.
const EXAMPLE: &str = include_str!("../../../../../examples/original.txt");
const EXAMPLE_BYTES: usize = 16 << 20;

/// Flags.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A file of text, one document a line; a bundled example many times over if not given
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The recipe of fingerprints: a built-in name, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = recipe::DEFAULT)]
    recipe: String,
    /// Compute parts of speech when segmenting
    #[arg(long)]
    tags: bool,
    /// Threads, each with documents of its own
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: usize,
    /// How often to measure; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Print JSON, one object
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    fn documents(&self) -> Result<Vec<String>, Failure> {
        let Some(path) = &self.data else {
            let item = EXAMPLE.replace('\n', " ");
            return Ok(vec![item.clone(); EXAMPLE_BYTES / item.len()]);
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Input(format!("{}: {error}: --data takes a file of UTF-8 text", path.display()))
        })?;
        Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
    }

    /// Runs `work` over all documents, round after round.
    fn measure<S: Send>(
        &self,
        benchmark: &str,
        documents: &[String],
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, &str) -> u64 + Sync + Send,
    ) -> Result<Map<String, Json>, Failure> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.max(1))
            .build()
            .map_err(|error| Failure::Input(format!("cannot start {} threads: {error}", self.threads)))?;
        let (mut times, mut produced) = (Vec::new(), 0);
        for _ in 0..self.rounds.max(1) {
            let time = Instant::now();
            let run = || documents.par_iter().map_init(&scratch, |scratch, text| work(scratch, text)).sum();
            produced = pool.install(run);
            times.push(time.elapsed().as_secs_f64());
        }
        let (seconds, bytes) = (median(times), documents.iter().map(String::len).sum::<usize>());
        let figures = json!({
            "benchmark": benchmark,
            "documents": documents.len(),
            "bytes": bytes,
            "threads": self.threads.max(1),
            "produced": produced,
            "wall_s": seconds,
            "mb_per_s": bytes as f64 / seconds / 1e6,
            "docs_per_s": documents.len() as f64 / seconds,
            "peak_bytes": peak_bytes(),
        });
        Ok(figures.as_object().cloned().unwrap_or_default())
    }
}

/// Words of all documents.
pub(super) fn segment(args: &Args) -> Result<Map<String, Json>, Failure> {
    let documents = args.documents()?;
    let segmenter = Settings::default().build(UserDictionary::default(), args.tags);
    args.measure("segment", &documents, Vec::<Word>::new, |words, text| {
        segmenter.segment(text, words);
        words.len() as u64
    })
}

/// SimHash of all documents, from the text as it came.
pub(super) fn fingerprint(args: &Args) -> Result<Map<String, Json>, Failure> {
    let documents = args.documents()?;
    let fingerprinter = Fingerprinter::new(Recipe::open(&args.recipe)?)?;
    let mut figures = args.measure("fingerprint", &documents, Scratch::default, |scratch, text| {
        u64::from(match fingerprinter.simhash64(text, scratch) {
            Some(_) => true,
            // Too little evidence, or a recipe without a short way.
            None => fingerprinter
                .fingerprint(Kind::Simhash, &fingerprinter.prepare(text))
                .is_ok_and(|answer| answer.value.is_some()),
        })
    })?;
    figures.insert("recipe".into(), args.recipe.clone().into());
    Ok(figures)
}
