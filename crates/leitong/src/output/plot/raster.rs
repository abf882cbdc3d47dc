//! Lines with smooth edges, and letters of squares.

use super::{Align, Colour, Place, font};
use image::{ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// Pixels for a unit of the picture.
const SCALE: f64 = 2.0;

pub(super) struct Canvas(RgbImage);

impl Canvas {
    pub(super) fn new(width: u32, height: u32) -> Self {
        let scaled = |length: u32| length * SCALE as u32;
        Self(RgbImage::from_pixel(scaled(width), scaled(height), Rgb([255; 3])))
    }

    /// Every pixel is covered by as much of the line as is nearer than half its width.
    pub(super) fn line(&mut self, points: &[Place], width: f64, colour: Colour) {
        let radius = width * SCALE / 2.0;
        for pair in points.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|(x, y)| (x * SCALE, y * SCALE));
            let range = |low: f64, high: f64, most: u32| {
                ((low - radius - 1.0).max(0.0) as u32)..((high + radius + 2.0).max(0.0) as u32).min(most)
            };
            for y in range(a.1.min(b.1), a.1.max(b.1), self.0.height()) {
                for x in range(a.0.min(b.0), a.0.max(b.0), self.0.width()) {
                    let covered = radius + 0.5 - distance((f64::from(x) + 0.5, f64::from(y) + 0.5), a, b);
                    self.blend(x, y, covered.clamp(0.0, 1.0), colour);
                }
            }
        }
    }

    /// The letters are capitals; a character that has no letter here is left out.
    pub(super) fn text(&mut self, at: Place, size: f64, align: Align, colour: Colour, text: &str) {
        let dot = (size * SCALE / 11.0).round().max(1.0) as i64;
        let width = text.chars().count() as i64 * 6 * dot - dot;
        let start = (at.0 * SCALE) as i64
            - match align {
                Align::Start => 0,
                Align::Middle => width / 2,
                Align::End => width,
            };
        let top = (at.1 * SCALE) as i64 - 7 * dot;
        for (place, c) in (0..).zip(text.chars()) {
            for (row, line) in (0..).zip(font::glyph(c)) {
                for column in (0..5).filter(|column| line >> (4 - column) & 1 == 1) {
                    self.square(start + (place * 6 + column) * dot, top + row * dot, dot, colour);
                }
            }
        }
    }

    fn square(&mut self, left: i64, top: i64, side: i64, colour: Colour) {
        for y in top..top + side {
            for x in left..left + side {
                if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
                    && x < self.0.width()
                    && y < self.0.height()
                {
                    self.blend(x, y, 1.0, colour);
                }
            }
        }
    }

    fn blend(&mut self, x: u32, y: u32, share: f64, Colour(red, green, blue): Colour) {
        let pixel = self.0.get_pixel_mut(x, y);
        for (old, new) in pixel.0.iter_mut().zip([red, green, blue]) {
            *old = (f64::from(*old) * (1.0 - share) + f64::from(new) * share).round() as u8;
        }
    }

    pub(super) fn png(&self) -> Result<Vec<u8>, image::ImageError> {
        let mut bytes = Cursor::new(Vec::new());
        self.0.write_to(&mut bytes, ImageFormat::Png)?;
        Ok(bytes.into_inner())
    }
}

/// How far a point is from a stretch.
fn distance(point: Place, a: Place, b: Place) -> f64 {
    let (along, across) = ((b.0 - a.0, b.1 - a.1), (point.0 - a.0, point.1 - a.1));
    let length = along.0 * along.0 + along.1 * along.1;
    let share = if length == 0.0 {
        0.0
    } else {
        ((across.0 * along.0 + across.1 * along.1) / length).clamp(0.0, 1.0)
    };
    (across.0 - share * along.0).hypot(across.1 - share * along.1)
}
