//! `leitong bench join`.

use super::data::Data;
use super::{Common, by_width, median, peak_bytes};
use crate::output::Failure;
use leitong_index::Value;
use leitong_index::join::{Join, Pair, Repeat, Side, Sink};
use serde_json::{Map, Value as Json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Flags.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) common: Common,
    /// Threads; 0 for all cores
    #[arg(long, value_name = "T", default_value_t = 0)]
    threads: usize,
}

/// Takes pairs with their ordinals and keeps a checksum of them, as a user would who looks at each.
#[derive(Default)]
struct Checksum {
    sum: AtomicU64,
}

impl Sink for Checksum {
    fn pairs(&self, pairs: &[Pair]) -> ControlFlow<()> {
        let sum =
            pairs.iter().map(|pair| u64::from(pair.a) << 32 | u64::from(pair.b)).fold(0, u64::wrapping_add);
        self.sum.fetch_add(sum, Ordering::Relaxed);
        ControlFlow::Continue(())
    }

    fn repeats(&self, _: Side, repeats: &[Repeat]) -> ControlFlow<()> {
        let sum = repeats.iter().map(|repeat| u64::from(repeat.other)).fold(0, u64::wrapping_add);
        self.sum.fetch_add(sum, Ordering::Relaxed);
        ControlFlow::Continue(())
    }
}

pub(super) fn run(args: &Args) -> Result<Map<String, Json>, Failure> {
    by_width!(args.common.bits, measure(args))
}

fn measure<V: Value>(args: &Args) -> Result<Map<String, Json>, Failure> {
    let common = &args.common;
    let data = Data::<V>::open(&common.data, common.n)?;
    let join = Join { k: common.k, threads: args.threads, memory: common.memory, ..Join::default() };
    let (mut times, mut stats, mut checksum) = (Vec::new(), None, 0);
    for _ in 0..common.rounds.max(1) {
        let sink = Checksum::default();
        let time = Instant::now();
        stats = Some(join.pairs(&data, &sink)?);
        times.push(time.elapsed().as_secs_f64());
        checksum = sink.sum.into_inner();
    }
    let stats = stats.unwrap_or_default();
    let mut figures = common.figures("join", data.len() as u64);
    let more = [
        ("threads", Json::from(args.threads)),
        ("wall_s", median(times).into()),
        ("pairs", stats.pairs.into()),
        ("repeats", stats.repeats.into()),
        ("compared", stats.compared.into()),
        ("rounds", stats.rounds.into()),
        ("checksum", format!("{checksum:016x}").into()),
        ("peak_bytes", peak_bytes().into()),
    ];
    figures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Ok(figures)
}
