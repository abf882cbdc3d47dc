//! Shared passages on a terminal: equal text plain, differing text in colour.

use super::Failure;
use crate::commands::compare::Side;
use leitong_detect::compare::{Comparison, SharedPassage};
use std::io::Write;
use std::ops::Range;

/// Passages that are printed; the others are counted.
const MOST: usize = 12;
/// Characters of a passage that are printed.
const LONGEST: usize = 240;

/// Prints the longest passages in reading order, as they stand in either text.
pub(crate) fn write(out: &mut impl Write, a: &Side, b: &Side, found: &Comparison) -> Result<(), Failure> {
    let (chars_a, chars_b): (Vec<char>, Vec<char>) = (a.text.chars().collect(), b.text.chars().collect());
    let mut shown: Vec<&SharedPassage> = found.passages.iter().collect();
    shown.sort_by_key(|passage| std::cmp::Reverse(passage.matched));
    shown.truncate(MOST);
    shown.sort_by_key(|passage| passage.a.start);
    let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
    for passage in &shown {
        let (a, b) = (&passage.a, &passage.b);
        writeln!(
            out,
            "\n{bold}A {}-{}  B {}-{}{bold:#}  {dim}{} equal, {} differ{dim:#}",
            a.start, a.end, b.start, b.end, passage.matched, passage.differing
        )?;
        let equal_a = passage.equal.iter().map(|run| run.a.clone());
        let equal_b = passage.equal.iter().map(|run| run.b.clone());
        write_marked(out, "A", &chars_a, a, equal_a, anstyle::AnsiColor::Red)?;
        if passage.differing > 0 {
            write_marked(out, "B", &chars_b, b, equal_b, anstyle::AnsiColor::Green)?;
        }
    }
    if found.passages.len() > shown.len() {
        let rest = found.passages.len() - shown.len();
        writeln!(out, "\n{dim}and {rest} shorter passages; --html or --json shows all{dim:#}")?;
    }
    Ok(())
}

fn write_marked(
    out: &mut impl Write,
    name: &str,
    chars: &[char],
    passage: &Range<usize>,
    equal: impl Iterator<Item = Range<usize>>,
    colour: anstyle::AnsiColor,
) -> Result<(), Failure> {
    let style = colour.on_default().underline();
    let end = passage.end.min(passage.start + LONGEST);
    let text = |range: Range<usize>| -> String {
        let range = range.start.min(end)..range.end.min(end);
        chars[range].iter().map(|&c| if c.is_control() { ' ' } else { c }).collect()
    };
    write!(out, "  {name} ")?;
    let mut at = passage.start;
    for run in equal {
        let differing = text(at..run.start.max(at));
        if !differing.is_empty() {
            write!(out, "{style}{differing}{style:#}")?;
        }
        write!(out, "{}", text(run.start..run.end))?;
        at = run.end;
    }
    writeln!(out, "{}", if passage.end > end { "…" } else { "" })?;
    Ok(())
}
