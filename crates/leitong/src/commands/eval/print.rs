//! What was measured, as a table and as JSON.

use super::Measured;
use super::curve::Point;
use super::score::{BITS, Signal, bits};
use crate::commands::batch::size;
use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::io::Write;

pub(super) fn write(measured: &Measured, as_json: bool) -> Result<(), Failure> {
    let mut out = output::stdout();
    if as_json {
        writeln!(out, "{}", object(measured))?;
    } else {
        table(&mut out, measured)?;
    }
    out.flush()?;
    Ok(())
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn point(signal: Signal, point: &Point) -> Value {
    let threshold = match signal {
        Signal::Verdict => signal.threshold(point.threshold).into(),
        Signal::Distance => bits(point.threshold).into(),
        _ => rounded(point.threshold).into(),
    };
    let threshold: Value = threshold;
    json!({
        "threshold": threshold,
        "precision": rounded(point.precision), "recall": rounded(point.recall), "f1": rounded(point.f1()),
    })
}

fn object(measured: &Measured) -> Value {
    let signals: Vec<Value> = measured
        .curves
        .iter()
        .map(|(signal, curve)| {
            json!({
                "signal": signal.name(),
                "suggested": curve.suggested(measured.precision).map(|own| point(*signal, &own)),
                "best": curve.best().map(|own| point(*signal, &own)),
                "curve": curve.0.iter().map(|own| point(*signal, own)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "documents": measured.documents,
        "true_pairs": measured.positives,
        "true_pairs_found": measured.found,
        "true_pairs_overlooked": measured.overlooked,
        "other_pairs_known": measured.negatives,
        "contradictions": measured.contradictions,
        "self_pairs": measured.self_pairs,
        "pairs": measured.pairs,
        "precision": measured.precision,
        "signals": signals,
    })
}

/// Thresholds of the long table.
fn thresholds(signal: Signal) -> Vec<f64> {
    match signal {
        Signal::Verdict => vec![1.0, 0.75, 0.5, 0.25],
        Signal::Distance => {
            [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 24.0].map(|bits| 1.0 - bits / BITS).into()
        }
        _ => (1..20).rev().step_by(2).map(|step| f64::from(step) / 20.0).collect(),
    }
}

fn table(out: &mut impl Write, measured: &Measured) -> Result<(), Failure> {
    let Measured { documents, positives, found, overlooked, pairs, precision, .. } = measured;
    let dim = anstyle::Style::new().dimmed();
    let bold = anstyle::Style::new().bold();
    writeln!(
        out,
        "{}, {}, {found} of them found by the run, {} measured",
        size::count(u64::from(*documents), "document", "documents"),
        size::count(*positives, "true pair", "true pairs"),
        size::count(*pairs, "pair", "pairs")
    )?;
    if *overlooked > 0 {
        let (pairs, were, they) = match overlooked {
            1 => ("true pair", "was", "it"),
            _ => ("true pairs", "were", "they"),
        };
        writeln!(
            out,
            "{overlooked} {pairs} {were} never compared, though {they} would have been called duplicates"
        )?;
    }
    if measured.contradictions + measured.self_pairs > 0 {
        writeln!(
            out,
            "left out: {} of the truth that {} the opposite of an earlier one, {} that {} a document with itself",
            size::count(measured.contradictions, "line", "lines"),
            if measured.contradictions == 1 { "says" } else { "say" },
            measured.self_pairs,
            if measured.self_pairs == 1 { "pairs" } else { "pair" }
        )?;
    }
    match measured.negatives {
        Some(1) => writeln!(out, "1 pair is labelled as none; only labelled pairs count")?,
        Some(count) => writeln!(out, "{count} pairs are labelled as none; only labelled pairs count")?,
        None => writeln!(out, "every pair that the truth does not name is taken for none")?,
    }
    writeln!(
        out,
        "\n{bold}highest recall at a precision of {precision} or more{bold:#}\n{dim}{:<12} {:>10} {:>9} {:>9} {:>9}   {:>10} {:>9}{dim:#}",
        "signal", "threshold", "precision", "recall", "F1", "best F1 at", "F1"
    )?;
    for (signal, curve) in &measured.curves {
        let suggested = match curve.suggested(*precision) {
            Some(own) => columns(*signal, &own),
            None => format!("{:>10} {:>9} {:>9} {:>9}", "none", "-", "-", "-"),
        };
        let best = curve.best().map_or(format!("{:>10} {:>9}", "-", "-"), |own| {
            format!("{:>10} {:>9.4}", signal.threshold(own.threshold), own.f1())
        });
        writeln!(out, "{:<12} {suggested}   {best}", signal.name())?;
    }
    writeln!(
        out,
        "\n{bold}by threshold{bold:#}\n{dim}{:<12} {:>10} {:>9} {:>9} {:>9}{dim:#}",
        "signal", "threshold", "precision", "recall", "F1"
    )?;
    for (signal, curve) in &measured.curves {
        for own in thresholds(*signal).into_iter().filter_map(|threshold| curve.at(threshold)) {
            writeln!(out, "{:<12} {}", signal.name(), columns(*signal, &own))?;
        }
    }
    let means = match measured.negatives {
        Some(_) => {
            "All labelled pairs were compared, also those that the run did not find; only the verdict counts these as missed."
        }
        None => {
            "A threshold is applied to the pairs that the run found, whatever their verdict; pairs that it did not find count as missed."
        }
    };
    writeln!(out, "\n{dim}{means}{dim:#}")?;
    suggestion(out, measured)
}

fn columns(signal: Signal, point: &Point) -> String {
    let (precision, recall, f1) = (point.precision, point.recall, point.f1());
    format!("{:>10} {precision:>9.4} {recall:>9.4} {f1:>9.4}", signal.threshold(point.threshold))
}

/// The best of all suggestions, in words.
fn suggestion(out: &mut impl Write, measured: &Measured) -> Result<(), Failure> {
    let all = measured
        .curves
        .iter()
        .filter_map(|(signal, curve)| Some((*signal, curve.suggested(measured.precision)?)));
    // Of equal ones the first: the verdict needs no threshold.
    let best = all.fold(None, |best: Option<(Signal, Point)>, next| match best {
        Some(best) if best.1.recall >= next.1.recall => Some(best),
        _ => Some(next),
    });
    match best {
        None => writeln!(out, "No signal reaches a precision of {}.", measured.precision)?,
        Some((signal, point)) => writeln!(
            out,
            "Suggested: {} {}, which finds {:.1} % of the true pairs, and {:.2} % of what it finds is true.",
            signal.name(),
            signal.threshold(point.threshold),
            point.recall * 100.0,
            point.precision * 100.0
        )?,
    }
    Ok(())
}
