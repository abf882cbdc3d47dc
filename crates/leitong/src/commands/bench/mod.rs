//! `leitong bench`: how fast is it here? One object of figures.

mod corpus;
mod data;
mod dedup;
mod hamming;
mod join;
mod text;

use crate::output::{self, Exit, Failure};
use serde_json::{Map, Value as Json, json};
use std::io::Write;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong bench hamming --n 10M                      search 10 million made fingerprints\n  \
    leitong bench hamming --n 10M --k 7 --bits 128     wider ones, farther apart\n  \
    leitong bench hamming --n 1G --data streamed --file big.segment --memory 6G\n  \
    leitong bench join --n 100M --json                 all near pairs of 100 million\n  \
    leitong bench fingerprint --data texts.txt         megabytes and documents a second\n  \
    leitong bench dedup --n 200K --threads 1           documents a second, memory, copies found and wrongly removed")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Build a Hamming index and search it
    Hamming(hamming::Args),
    /// Find all near pairs of a batch
    Join(join::Args),
    /// Cut texts into words
    Segment(text::Args),
    /// Make SimHash fingerprints of texts
    Fingerprint(text::Args),
    /// Remove duplicates from made documents with planted copies
    Dedup(dedup::Args),
}

/// What both need: which fingerprints.
#[derive(clap::Args)]
struct Common {
    /// How many fingerprints; K, M and G are thousand, million and billion
    #[arg(long, value_name = "N", default_value = "1M", value_parser = count)]
    n: u64,
    /// The largest distance, in bits
    #[arg(long, value_name = "K", default_value_t = 3)]
    k: u32,
    /// Width of a fingerprint
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = width)]
    bits: u32,
    /// uniform, skew, pileup or streamed (made anew whenever read, never held); or a file of raw little-endian numbers
    #[arg(long, value_name = "KIND|FILE", default_value = "uniform")]
    data: String,
    /// Memory for working, besides the data and the index; K, M and G as in 4G
    #[arg(long, value_name = "SIZE", default_value = "8G", value_parser = size)]
    memory: u64,
    /// How often to measure; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Print JSON, one object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (figures, json) = match &args.what {
        What::Hamming(args) => (hamming::run(args)?, args.common.json),
        What::Join(args) => (join::run(args)?, args.common.json),
        What::Segment(args) => (text::segment(args)?, args.json),
        What::Fingerprint(args) => (text::fingerprint(args)?, args.json),
        What::Dedup(args) => (dedup::run(args)?, args.json),
    };
    let mut out = output::stdout();
    if json {
        writeln!(out, "{}", Json::Object(figures))?;
    } else {
        for (name, value) in &figures {
            writeln!(out, "{name:<18} {}", readable(value))?;
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// Figures as people like them: no quotes, few digits.
fn readable(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            if number.abs() >= 1000.0 { format!("{number:.0}") } else { format!("{number:.4}") }
        }
        other => other.to_string(),
    }
}

impl Common {
    /// The figures every benchmark starts with.
    fn figures(&self, benchmark: &str, items: u64) -> Map<String, Json> {
        let described =
            json!({ "benchmark": benchmark, "n": items, "k": self.k, "bits": self.bits, "data": self.data });
        described.as_object().cloned().unwrap_or_default()
    }
}

/// The most memory this process has had, in bytes; `None` where the system does not tell.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The middle one.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

fn count(text: &str) -> Result<u64, String> {
    scaled(text, 1000)
}

fn size(text: &str) -> Result<u64, String> {
    scaled(text.trim_end_matches(['B', 'b']), 1024)
}

fn scaled(text: &str, kilo: u64) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], kilo),
        Some((at, 'm' | 'M')) => (&text[..at], kilo.pow(2)),
        Some((at, 'g' | 'G')) => (&text[..at], kilo.pow(3)),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number
        .filter(|&number| number > 0)
        .ok_or_else(|| "a whole number above 0 is needed, such as 500K or 10M".into())
}

fn width(text: &str) -> Result<u32, String> {
    let bits = text.parse().ok().filter(|bits| leitong_fingerprint::bits::WIDTHS.contains(bits));
    bits.ok_or_else(|| "fingerprints have 32, 64, 128, 256, 512 or 1024 bits".into())
}

/// Calls a function generic in the type of a fingerprint with the one of this width.
macro_rules! by_width {
    ($bits:expr, $function:ident($($argument:expr),*)) => {
        match $bits {
            32 => $function::<u32>($($argument),*),
            64 => $function::<u64>($($argument),*),
            128 => $function::<u128>($($argument),*),
            256 => $function::<[u64; 4]>($($argument),*),
            512 => $function::<[u64; 8]>($($argument),*),
            _ => $function::<[u64; 16]>($($argument),*),
        }
    };
}
use by_width;
