//! `leitong bench hamming`.

use super::data::Data;
use super::{Common, by_width, median, peak_bytes};
use crate::output::Failure;
use leitong_index::Value;
use leitong_index::hamming::{Build, HammingError, Index, Layout, Options, Searcher, Segment, Source};
use rayon::prelude::*;
use serde_json::{Map, Value as Json};
use std::path::PathBuf;
use std::time::Instant;

/// Comparisons spent on checking the answers against a scan.
const CHECKED: u64 = 4_000_000_000;
/// Queries whose single time is taken.
const TIMED: usize = 50_000;

/// Flags.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) common: Common,
    /// How many queries, half of which have a match; fewer than 100,000 may fit the caches
    #[arg(long, value_name = "N", default_value = "200K", value_parser = super::count)]
    queries: u64,
    /// Threads that search; building takes all
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: usize,
    /// How the index is laid out; chosen by size, distance and --bytes-per-item if not given
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,
    /// The most bytes the index may take for a fingerprint
    #[arg(long, value_name = "BYTES")]
    bytes_per_item: Option<f64>,
    /// Build into this file, open it again and search it as mapped into memory
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The share of fingerprints that is added one by one and still in the mutable part, as 0.1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, conflicts_with = "file")]
    fresh: f64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutName {
    /// Dense columns: the fastest for millions
    Columns,
    /// Cells by the ring rule: the fastest for a hundred million
    Ring,
    /// Few tables of cells: the smallest
    Cells,
}

pub(super) fn run(args: &Args) -> Result<Map<String, Json>, Failure> {
    by_width!(args.common.bits, measure(args))
}

/// What is searched.
enum Subject<V: Value> {
    Segment(Box<Segment<V>>),
    Index(Index<V>),
}

impl<V: Value> Subject<V> {
    fn search(
        &self,
        searcher: &mut Searcher,
        queries: &[V],
        k: u32,
        mut found: impl FnMut(u32, u64),
    ) -> Result<(), HammingError> {
        match self {
            Self::Segment(segment) => {
                segment.search(searcher, queries, k, |query, ordinal, _| found(query, ordinal.into()))
            }
            Self::Index(index) => index.search(queries, k, |m| found(m.query, m.ordinal)),
        }
    }
}

fn measure<V: Value>(args: &Args) -> Result<Map<String, Json>, Failure> {
    let common = &args.common;
    let data = Data::<V>::open(&common.data, common.n)?;
    let queries = data.queries(args.queries as usize);
    let mut figures = common.figures("hamming", data.len() as u64);
    let (subject, data) = build(args, data, &mut figures)?;

    let sample = sample(data.len(), queries.len());
    let mut answers = Answers::default();
    let mut rates = Vec::new();
    for _ in 0..common.rounds.max(1) {
        let time = Instant::now();
        answers = answer(&subject, &queries, common.k, args.threads, &sample)?;
        rates.push(queries.len() as f64 / time.elapsed().as_secs_f64());
    }
    let times = single_times(&subject, &queries, common.k)?;
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let recall = recall(&data, &queries, &sample, answers.kept, common.k);
    let peak = peak_bytes();
    let more = [
        ("threads", Json::from(args.threads)),
        ("queries", queries.len().into()),
        ("found", answers.count.into()),
        ("queries_per_s", median(rates).round().into()),
        ("p50_us", at(0.5).into()),
        ("p99_us", at(0.99).into()),
        ("recall", recall.into()),
        ("peak_bytes", peak.into()),
    ];
    figures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Ok(figures)
}

/// Builds the index and notes time and size. What has to be known of the data later comes back.
fn build<V: Value>(
    args: &Args,
    data: Data<V>,
    figures: &mut Map<String, Json>,
) -> Result<(Subject<V>, Data<V>), Failure> {
    let build = Build {
        layout: args.layout.map(|name| match name {
            LayoutName::Columns => Layout::Columns,
            LayoutName::Ring => Layout::Ring,
            LayoutName::Cells => Layout::Cells,
        }),
        bytes_per_item: args.bytes_per_item,
        memory: args.common.memory,
        ..Build::new(args.common.k)
    };
    let items = data.len() as u64;
    let time = Instant::now();
    let (subject, bytes) = if args.fresh > 0.0 {
        let index = with_fresh(build, &data, args.fresh.min(1.0))?;
        let stats = index.stats();
        // Of the segment alone: the mutable part is made for change, not for size.
        let bytes = stats.bytes as f64 / (stats.items - stats.fresh).max(1) as f64 * items as f64;
        (Subject::Index(index), bytes as u64)
    } else {
        let segment = match &args.file {
            Some(file) => build.to_file(&data, file)?,
            None => build.in_memory(&data)?,
        };
        figures.insert("layout".into(), format!("{:?}", segment.layout()).to_lowercase().into());
        let bytes = segment.bytes();
        (Subject::Segment(Box::new(segment)), bytes)
    };
    figures.insert("build_s".into(), time.elapsed().as_secs_f64().into());
    figures.insert("bytes_per_item".into(), (bytes as f64 / items as f64).into());
    let Some(file) = &args.file else { return Ok((subject, data)) };
    drop(subject);
    let time = Instant::now();
    let segment = Segment::open(file)?;
    figures.insert("open_s".into(), time.elapsed().as_secs_f64().into());
    Ok((Subject::Segment(Box::new(segment)), data))
}

/// An index whose last items are still in the mutable part.
fn with_fresh<V: Value>(build: Build, data: &Data<V>, share: f64) -> Result<Index<V>, Failure> {
    let index = Index::in_memory(Options { build, fresh: usize::MAX, background: false })?;
    let settled = data.len() - (data.len() as f64 * share) as usize;
    let mut items = Vec::new();
    data.read(0..data.len(), &mut items)?;
    let values: Vec<V> = items.into_iter().map(|item| item.1).collect();
    index.insert_batch(&values[..settled])?;
    for value in &values[settled..] {
        index.insert(*value)?;
    }
    Ok(index)
}

/// What a pass over all queries gave.
#[derive(Default)]
struct Answers {
    count: u64,
    /// Query and ordinal of the answers that will be checked.
    kept: Vec<(u32, u64)>,
    /// So that every ordinal is looked at.
    sum: u64,
}

/// Searches all queries; the answers to those in the sample are kept.
fn answer<V: Value>(
    subject: &Subject<V>,
    queries: &[V],
    k: u32,
    threads: usize,
    sample: &Sample,
) -> Result<Answers, HammingError> {
    let share = queries.len().div_ceil(threads.max(1)).max(1);
    let search = |(chunk, queries): (usize, &[V])| {
        let first = (chunk * share) as u32;
        let mut answers = Answers::default();
        subject.search(&mut Searcher::new(), queries, k, |query, ordinal| {
            answers.count += 1;
            answers.sum = answers.sum.wrapping_add(ordinal);
            if sample.has(first + query) {
                answers.kept.push((first + query, ordinal));
            }
        })?;
        Ok(answers)
    };
    if threads <= 1 {
        return search((0, queries));
    }
    let all: Result<Vec<Answers>, HammingError> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            queries.chunks(share).enumerate().map(|chunk| scope.spawn(move || search(chunk))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    Ok(all?.into_iter().fold(Answers::default(), |mut all, one| {
        all.count += one.count;
        all.sum = all.sum.wrapping_add(one.sum);
        all.kept.extend(one.kept);
        all
    }))
}

/// Microseconds of single queries, ascending.
fn single_times<V: Value>(subject: &Subject<V>, queries: &[V], k: u32) -> Result<Vec<f64>, HammingError> {
    let mut searcher = Searcher::new();
    let mut times = Vec::with_capacity(TIMED);
    for query in queries.iter().take(TIMED) {
        let time = Instant::now();
        subject.search(&mut searcher, std::slice::from_ref(query), k, |_, ordinal| {
            std::hint::black_box(ordinal);
        })?;
        times.push(time.elapsed().as_nanos() as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// Every `step`-th query is checked against a scan.
struct Sample {
    step: u32,
}

impl Sample {
    fn has(&self, query: u32) -> bool {
        query.is_multiple_of(self.step)
    }
}

/// As many queries as a scan can afford.
fn sample(items: usize, queries: usize) -> Sample {
    let affordable = (CHECKED / items as u64).max(10).min(queries as u64).max(1) as usize;
    Sample { step: queries.div_ceil(affordable).max(1) as u32 }
}

/// The share of right answers among all that a scan or the index gives to the sample: 1 says that nothing is missing and
/// nothing is wrong.
fn recall<V: Value>(
    data: &Data<V>,
    queries: &[V],
    sample: &Sample,
    mut given: Vec<(u32, u64)>,
    k: u32,
) -> f64 {
    let sample: Vec<u32> = (0..queries.len() as u32).step_by(sample.step as usize).collect();
    const CHUNK: usize = 1 << 16;
    let mut truth: Vec<(u32, u64)> = (0..data.len().div_ceil(CHUNK))
        .into_par_iter()
        .flat_map_iter(|chunk| {
            let range = chunk * CHUNK..data.len().min((chunk + 1) * CHUNK);
            let values: Vec<V> = range.clone().map(|i| data.get(i)).collect();
            let scan = |&query: &u32| {
                leitong_index::scan::find(&values, queries[query as usize], k)
                    .map(|(place, _)| (query, (range.start + place) as u64))
                    .collect::<Vec<_>>()
            };
            sample.iter().flat_map(scan).collect::<Vec<_>>()
        })
        .collect();
    truth.sort_unstable();
    given.sort_unstable();
    let once =
        given.iter().zip(given.iter().skip(1).map(Some).chain([None])).filter(|(a, next)| Some(*a) != *next);
    let right = once.filter(|(answer, _)| truth.binary_search(answer).is_ok()).count();
    let all = truth.len() + given.len() - right;
    if all == 0 { 1.0 } else { right as f64 / all as f64 }
}
