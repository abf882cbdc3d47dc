//! `leitong hash`: words in, hashes out.

use crate::input::BoundedLines;
use crate::output::{self, Exit, Failure, Problems};
use leitong_fingerprint::hash::{Algorithm, Units};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Longest word, in bytes: words are short, and memory is bounded.
const LONGEST: u64 = 64 << 20;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    echo 雷同 | leitong hash --algorithm fnv1a-64 --utf16\n  \
    leitong hash --algorithm md5 words.txt\n\n\
    SDBM, RS, JS, PJW and ELF are the 64-bit forms of hashes published with 32 bits: the same recurrences and constants \
    modulo 2^64, with the bit positions of PJW and ELF scaled to the word.")]
pub(crate) struct Args {
    /// Files with one word a line; `-` or none is standard input
    files: Vec<PathBuf>,
    /// The hash: fnv1-N, fnv1a-N (N = 32 to 1024), mul1000003-7, mul1000003-12, md5, murmur64a, murmur3-128,
    /// lookup3, lookup3-64, sdbm, rs, js, pjw, elf or xxh3
    #[arg(long, short, value_name = "NAME")]
    algorithm: Algorithm,
    /// Hash UTF-16 code units instead of UTF-8 bytes, as Java programs do
    #[arg(long)]
    utf16: bool,
    /// Print one JSON object a word
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let units = if args.utf16 { Units::Utf16 } else { Units::Utf8 };
    let mut files = args.files.clone();
    if files.is_empty() {
        files.push("-".into());
    }
    let mut problems = Problems::default();
    let mut words = 0;
    let mut out = output::stdout();
    for path in files {
        let name = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
        let input: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(std::io::stdin())
        } else {
            match File::open(&path) {
                Ok(file) => Box::new(file),
                Err(error) => {
                    words += 1;
                    problems.report(&format!("{name}: cannot be read: {error}; check the path"));
                    continue;
                }
            }
        };
        for (line, number) in BoundedLines::new(input, LONGEST).zip(1u64..) {
            words += 1;
            match line {
                Ok(word) => {
                    let hash = args.algorithm.hash(&word, units).to_string();
                    if args.json {
                        let algorithm = args.algorithm.to_string();
                        writeln!(out, "{}", json!({ "word": word, "algorithm": algorithm, "hash": hash }))?;
                    } else {
                        writeln!(out, "{hash}")?;
                    }
                }
                Err(error) => {
                    // A line for every word, so that the answers stay beside the questions.
                    if args.json {
                        writeln!(
                            out,
                            "{}",
                            json!({ "line": number, "hash": null, "error": error.to_string() })
                        )?;
                    } else {
                        writeln!(out, "-")?;
                    }
                    problems.report(&format!("{name}, line {number}: {error}"));
                }
            }
        }
    }
    out.flush()?;
    Ok(problems.exit(words))
}
