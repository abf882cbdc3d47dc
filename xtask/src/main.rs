//! The project's chores: `cargo xtask test` proves a change, on a fresh machine too.
//!
//! Everything a test needs is installed and started here, so that the README's one command is enough. What cannot be
//! had is skipped by name and listed at the end, never silently passed over.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

mod links;
mod run;

use run::{Outcome, cargo, cargo_test};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::servers::{Kind, install_browser, install_redis, install_search, install_security};

const HELP: &str = "\
Usage: cargo xtask <command>

  test           every test: units, properties, documents, the binary, the docs
  test --quick   the everyday part, a few minutes
  check          formatting, lints and documentation, warnings denied
  servers        gets what tests start: Redis, OpenSearch 2 and 3, Elasticsearch 7, 8 and 9, Chromium
  bench          the benchmarks, on ../shared/data (release build)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => test(false),
        ["test", "--quick"] => test(true),
        ["check"] => check(),
        ["servers"] => servers(Kind::ALL.as_slice()),
        ["bench"] => bench(),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

fn check() -> Outcome<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"], &[])?;
    documentation()
}

fn documentation() -> Outcome<()> {
    cargo(&["doc", "--workspace", "--no-deps", "--locked"], &[("RUSTDOCFLAGS", "-D warnings")])
}

fn test(quick: bool) -> Outcome<()> {
    // The everyday part does without those that take minutes to download and to start.
    servers(if quick { &[] } else { &Kind::ALL })?;
    let quick_flag: &[(&str, &str)] = if quick { &[("LEITONG_QUICK", "1")] } else { &[] };
    let mut tally = cargo_test(&["test", "--workspace", "--locked"], quick_flag)?;
    tally.add("links in the documents", links::check(&root()));
    if !quick {
        tally.add("documentation without warnings", documentation());
    }
    tally.report()
}

/// Installs servers. What cannot be had is said; the tests that need it say that they are skipped.
fn servers(kinds: &[Kind]) -> Outcome<()> {
    let redis = std::iter::once(("redis", install_redis()));
    let search = kinds.iter().map(|kind| (kind.name(), install_search(*kind)));
    let browser = (!kinds.is_empty()).then(|| ("chromium", install_browser()));
    let security = kinds.contains(&Kind::OpenSearch2).then(|| ("opensearch-2-security", install_security()));
    for (name, installed) in redis.chain(search).chain(security).chain(browser) {
        match installed {
            Ok(()) => println!("{name}: installed"),
            Err(why) => println!("{name}: not to be had ({why})"),
        }
    }
    Ok(())
}

fn bench() -> Outcome<()> {
    for bin in ["stages", "recipes"] {
        cargo(&["run", "--release", "--locked", "--package", "leitong-bench", "--bin", bin], &[])?;
    }
    Ok(())
}
