//! Small pictures of lines, dots and words: as SVG, and the same as PNG.

mod font;
mod raster;

use crate::output::html::escape;
use std::fmt::Write;

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

/// Where a text stands beside its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Start,
    Middle,
    End,
}

/// A place, from the upper left corner.
pub(crate) type Place = (f64, f64);

#[derive(Clone, Debug)]
enum Shape {
    Line { points: Vec<Place>, width: f64, colour: Colour },
    Dot { at: Place, radius: f64, colour: Colour },
    Text { at: Place, size: f64, align: Align, colour: Colour, text: String },
}

/// A picture on white.
pub(crate) struct Picture {
    width: u32,
    height: u32,
    shapes: Vec<Shape>,
}

impl Picture {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    pub(crate) fn line(&mut self, points: &[Place], width: f64, colour: Colour) {
        if points.len() > 1 {
            self.shapes.push(Shape::Line { points: points.to_vec(), width, colour });
        }
    }

    pub(crate) fn dot(&mut self, at: Place, radius: f64, colour: Colour) {
        self.shapes.push(Shape::Dot { at, radius, colour });
    }

    /// `at` is on the base line.
    pub(crate) fn text(&mut self, at: Place, size: f64, align: Align, colour: Colour, text: &str) {
        self.shapes.push(Shape::Text { at, size, align, colour, text: text.to_owned() });
    }

    pub(crate) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"system-ui, sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        for shape in &self.shapes {
            let _ = match shape {
                Shape::Line { points, width, colour } => {
                    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    writeln!(
                        out,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
                        points.join(" "),
                        hex(*colour)
                    )
                }
                Shape::Dot { at: (x, y), radius, colour } => {
                    writeln!(
                        out,
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\"/>",
                        hex(*colour)
                    )
                }
                Shape::Text { at: (x, y), size, align, colour, text } => {
                    let anchor = match align {
                        Align::Start => "start",
                        Align::Middle => "middle",
                        Align::End => "end",
                    };
                    writeln!(
                        out,
                        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
                        hex(*colour),
                        escape(text)
                    )
                }
            };
        }
        out.push_str("</svg>\n");
        out
    }

    /// Twice as large, for sharp screens.
    pub(crate) fn png(&self) -> Result<Vec<u8>, image::ImageError> {
        let mut canvas = raster::Canvas::new(self.width, self.height);
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, width, colour } => canvas.line(points, *width, *colour),
                Shape::Dot { at, radius, colour } => canvas.line(&[*at, *at], 2.0 * radius, *colour),
                Shape::Text { at, size, align, colour, text } => {
                    canvas.text(*at, *size, *align, *colour, text);
                }
            }
        }
        canvas.png()
    }
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: Colour = Colour(0, 0, 0);

    fn picture() -> Picture {
        let mut picture = Picture::new(100, 60);
        picture.line(&[(10.0, 30.0), (90.0, 30.0)], 2.0, BLACK);
        picture.dot((50.0, 15.0), 4.0, Colour(200, 0, 0));
        picture.text((5.0, 55.0), 12.0, Align::Start, BLACK, "f1 < 0.5");
        picture
    }

    #[test]
    fn the_same_in_both_forms() {
        let svg = picture().svg();
        assert!(svg.contains("points=\"10.0,30.0 90.0,30.0\"") && svg.contains("f1 &lt; 0.5"), "{svg}");
        let png = image::load_from_memory(&picture().png().unwrap()).unwrap().to_rgb8();
        assert_eq!(png.dimensions(), (200, 120));
        assert_eq!(png.get_pixel(100, 60).0, [0, 0, 0], "on the line");
        assert_eq!(png.get_pixel(100, 80).0, [255, 255, 255], "beside it");
        assert_eq!(png.get_pixel(100, 30).0, [200, 0, 0], "in the dot");
        let ink = (0..200).flat_map(|x| (90..112).map(move |y| (x, y)));
        assert!(ink.filter(|&(x, y)| png.get_pixel(x, y).0[0] < 128).count() > 50, "letters");
    }
}
