//! `leitong recipes`: what there is, and what a recipe says.

use crate::output::{self, Exit, Failure};
use leitong_detect::{Recipe, recipe};
use serde_json::json;
use std::io::Write;

/// Flags.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    leitong recipes\n  \
    leitong recipes --show leitong-1 > mine.toml    start one of your own; keep only what you change\n  \
    leitong recipes --show mine.toml                see it complete, with its digest")]
pub(crate) struct Args {
    /// Print a recipe in full: a built-in name, or a file
    #[arg(long, value_name = "NAME|FILE")]
    show: Option<String>,
    /// Print JSON, one object a recipe
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut out = output::stdout();
    if let Some(name) = &args.show {
        let recipe = Recipe::open(name)?;
        if args.json {
            let settings = serde_json::to_value(recipe.settings()).unwrap_or_default();
            writeln!(out, "{}", json!({ "digest": recipe.digest().to_string(), "settings": settings }))?;
        } else {
            writeln!(out, "# digest {}", recipe.digest())?;
            write!(out, "{}", recipe.to_toml())?;
        }
    } else {
        let bold = anstyle::Style::new().bold();
        for name in recipe::names() {
            let recipe = Recipe::built_in(name)?;
            let (about, digest) = (&recipe.settings().about, recipe.digest().to_string());
            let is_default = name == recipe::DEFAULT;
            if args.json {
                writeln!(
                    out,
                    "{}",
                    json!({ "name": name, "about": about, "digest": digest, "default": is_default })
                )?;
            } else {
                writeln!(out, "{bold}{name:<16}{bold:#} {about}")?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}
