//! `leitong distance`: the Hamming distance of two fingerprints.

use crate::output::{self, Exit, Failure};
use leitong_fingerprint::Fingerprint;
use serde_json::json;
use std::io::Write;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leitong distance a734380886636d9e a734380886636d9f")]
pub(crate) struct Args {
    /// A fingerprint in hexadecimal
    a: String,
    /// Another one of the same width
    b: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let parse = |text: &str| {
        text.parse::<Fingerprint>()
            .map_err(|error| Failure::Input(format!("{text:?} is no fingerprint: {error}")))
    };
    let (a, b) = (parse(&args.a)?, parse(&args.b)?);
    let distance = a.distance(&b).map_err(|error| Failure::Input(error.to_string()))?;
    let mut out = output::stdout();
    if args.json {
        writeln!(out, "{}", json!({ "distance": distance, "bits": a.width() }))?;
    } else {
        writeln!(out, "{distance}")?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
