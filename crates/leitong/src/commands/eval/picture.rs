//! The curves as a picture.

use super::Measured;
use super::curve::{Curve, Point};
use super::score::Signal;
use crate::output::Failure;
use crate::output::plot::{Align, Colour, Picture};
use std::path::{Path, PathBuf};

const INK: Colour = Colour(0x1d, 0x22, 0x28);
const SOFT: Colour = Colour(0x65, 0x70, 0x7c);
const GRID: Colour = Colour(0xe4, 0xe5, 0xe6);
/// Width and height of the picture and of each chart.
const SIZE: (u32, u32) = (1040, 500);
const CHART: (f64, f64) = (420.0, 340.0);
const TOP: f64 = 60.0;
/// Points of a curve that are drawn.
const POINTS: usize = 400;

/// Whether a picture can be written under this name.
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match extension(&path).as_str() {
        "svg" | "png" => Ok(path),
        _ => Err(format!("{text:?}: the name has to end in .svg or .png")),
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
}

pub(super) fn write(path: &Path, measured: &Measured) -> Result<(), Failure> {
    let picture = draw(measured);
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::Input(format!(
            "cannot write {}: {error}; check the folder and the free space",
            path.display()
        ))
    };
    let bytes = match extension(path).as_str() {
        "png" => picture.png().map_err(|error| cannot(&error))?,
        _ => picture.svg().into_bytes(),
    };
    std::fs::write(path, bytes).map_err(|error| cannot(&error))
}

fn colour(signal: Signal) -> Colour {
    match signal {
        Signal::Verdict => INK,
        Signal::Jaccard => Colour(0x0f, 0x76, 0x6e),
        Signal::Containment => Colour(0xc2, 0x6a, 0x09),
        Signal::Distance => Colour(0x43, 0x38, 0xca),
        Signal::Marks => Colour(0xbe, 0x18, 0x5d),
    }
}

/// A chart from 0 to 1; upwards from `low`.
struct Chart {
    left: f64,
    low: f64,
}

impl Chart {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + x * CHART.0, TOP + (1.0 - y) / (1.0 - self.low) * CHART.1)
    }

    fn frame(&self, picture: &mut Picture, title: &str, below: &str) {
        for step in 0..=5 {
            let share = f64::from(step) / 5.0;
            let up = self.low + share * (1.0 - self.low);
            let colour = if step == 0 { SOFT } else { GRID };
            picture.line(&[self.place(0.0, up), self.place(1.0, up)], 1.0, colour);
            picture.line(&[self.place(share, self.low), self.place(share, 1.0)], 1.0, colour);
            let ((x, _), (_, y)) = (self.place(share, 1.0), self.place(0.0, up));
            picture.text((x, TOP + CHART.1 + 18.0), 12.0, Align::Middle, SOFT, &format!("{share:.1}"));
            let digits = if self.low == 0.0 { 1 } else { 2 };
            picture.text((self.left - 8.0, y + 4.0), 12.0, Align::End, SOFT, &format!("{up:.digits$}"));
        }
        let middle = self.left + CHART.0 / 2.0;
        picture.text((self.left, TOP - 16.0), 15.0, Align::Start, INK, title);
        picture.text((middle, TOP + CHART.1 + 38.0), 12.0, Align::Middle, SOFT, below);
    }
}

fn draw(measured: &Measured) -> Picture {
    let mut picture = Picture::new(SIZE.0, SIZE.1);
    let (left, right) = (Chart { left: 60.0, low: floor(measured) }, Chart { left: 580.0, low: 0.0 });
    left.frame(&mut picture, "precision by recall", "recall");
    right.frame(&mut picture, "F1 by threshold", "threshold (distance: 1 - bits / 64)");
    for (at, (signal, curve)) in measured.curves.iter().enumerate() {
        let colour = colour(*signal);
        let points = thinned(curve);
        let precision: Vec<(f64, f64)> = points.iter().map(|p| left.place(p.recall, p.precision)).collect();
        let f1: Vec<(f64, f64)> = points.iter().map(|p| right.place(p.threshold, p.f1())).collect();
        picture.line(&precision, 2.0, colour);
        if *signal == Signal::Verdict {
            // Four steps, and nothing between them.
            precision.iter().chain(&f1).for_each(|&at| picture.dot(at, 3.5, colour));
        } else {
            picture.line(&f1, 2.0, colour);
        }
        if let Some(own) = curve.suggested(measured.precision) {
            picture.dot(left.place(own.recall, own.precision), 5.5, colour);
            picture.dot(right.place(own.threshold, own.f1()), 5.5, colour);
        }
        let (x, y) = (60.0 + 190.0 * at as f64, f64::from(SIZE.1) - 26.0);
        picture.line(&[(x, y - 4.0), (x + 22.0, y - 4.0)], 3.0, colour);
        picture.text((x + 30.0, y), 13.0, Align::Start, INK, signal.name());
    }
    let note = format!("large dots: highest recall at precision {} or more", measured.precision);
    picture.text((f64::from(SIZE.0) - 40.0, 24.0), 12.0, Align::End, SOFT, &note);
    picture
}

/// Where the chart of precision begins, so that curves near the top can be told apart.
fn floor(measured: &Measured) -> f64 {
    let all = measured.curves.iter().flat_map(|(_, curve)| &curve.0).map(|point| point.precision);
    let lowest = all.fold(1.0, f64::min);
    [0.9, 0.5].into_iter().find(|&floor| floor <= lowest).unwrap_or(0.0)
}

/// As many points as can be told apart; the first and the last are among them.
fn thinned(curve: &Curve) -> Vec<Point> {
    let step = curve.0.len().div_ceil(POINTS).max(1);
    let mut points: Vec<Point> = curve.0.iter().step_by(step).copied().collect();
    points.extend(curve.0.last().filter(|last| points.last() != Some(last)).copied());
    points
}
