//! Fingerprints of images: the colour code of the documents, and a perceptual hash.
//!
//! Pure arithmetic over red, green and blue bytes; reading image files is the caller's business.

use crate::Fingerprint;

/// An image as rows of red, green, blue bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pixels<'a> {
    width: usize,
    height: usize,
    rgb: &'a [u8],
}

impl<'a> Pixels<'a> {
    /// `None` unless there is at least one pixel and exactly three bytes for each.
    #[must_use]
    pub fn new(width: usize, height: usize, rgb: &'a [u8]) -> Option<Self> {
        let pixels = width.checked_mul(height)?;
        (pixels > 0 && pixels.checked_mul(3)? == rgb.len()).then_some(Self { width, height, rgb })
    }

    /// The pixels of cell (column, row) when the image is cut into `columns` x `rows`; never none, also where the
    /// image has fewer pixels than cells.
    fn cell(
        &self,
        (column, columns): (usize, usize),
        (row, rows): (usize, usize),
    ) -> impl Iterator<Item = [u8; 3]> {
        let part = |size: usize, i: usize, of: usize| {
            let start = (size * i / of).min(size - 1);
            start..(size * (i + 1) / of).max(start + 1)
        };
        let (xs, ys) = (part(self.width, column, columns), part(self.height, row, rows));
        ys.flat_map(move |y| {
            let line = &self.rgb[(y * self.width + xs.start) * 3..(y * self.width + xs.end) * 3];
            line.as_chunks::<3>().0.iter().copied()
        })
    }
}

/// The letters of the eight colours, by red, green and blue as the bits 4, 2 and 1: black, blue, green, cyan, red,
/// magenta, yellow, white.
const LETTERS: [char; 8] = ['B', '.', 'X', 'o', 'O', '+', '@', '#'];

/// The colour code: one letter a block, row by row.
///
/// Every pixel is first reduced to one of eight colours, then the most frequent one stands for its block (the first
/// in the order of the letters among equals). The document counts true colours first and reduces then; on
/// photographs, where hardly two pixels are equal, that picks a pixel at random.
///
/// ```
/// use leitong_fingerprint::image::{Pixels, colour_code};
/// let red_and_blue = Pixels::new(2, 1, &[250, 10, 10, 0, 0, 200]).unwrap();
/// assert_eq!(colour_code(red_and_blue, 2, 1), "O.");
/// ```
#[must_use]
pub fn colour_code(pixels: Pixels<'_>, columns: usize, rows: usize) -> String {
    let mut code = String::with_capacity(columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let mut counts = [0usize; 8];
            for [red, green, blue] in pixels.cell((column, columns), (row, rows)) {
                counts[usize::from(red >> 7 << 2 | green >> 7 << 1 | blue >> 7)] += 1;
            }
            let most = (0..8).fold(0, |best, i| if counts[i] > counts[best] { i } else { best });
            code.push(LETTERS[most]);
        }
    }
    code
}

/// The share of equal cells of two colour codes; 0 when they have different sizes.
#[must_use]
pub fn colour_similarity(a: &str, b: &str) -> f64 {
    let (count_a, count_b) = (a.chars().count(), b.chars().count());
    if count_a != count_b || count_a == 0 {
        return 0.0;
    }
    a.chars().zip(b.chars()).filter(|(x, y)| x == y).count() as f64 / count_a as f64
}

/// A perceptual hash of 64 bits (difference hash): the image as 9 x 8 grey cells, one bit for each neighbouring pair
/// in a row, 1 where it gets brighter. Survives scaling, compression and changes of brightness. Whole numbers only,
/// so it is the same on every machine.
#[must_use]
pub fn perceptual_hash(pixels: Pixels<'_>) -> Fingerprint {
    let mut hash = 0u64;
    for row in 0..8 {
        let grey: [u64; 9] = std::array::from_fn(|column| {
            let (mut sum, mut count) = (0u64, 0u64);
            for [red, green, blue] in pixels.cell((column, 9), (row, 8)) {
                sum += 299 * u64::from(red) + 587 * u64::from(green) + 114 * u64::from(blue);
                count += 1;
            }
            sum / count.max(1)
        });
        for pair in grey.windows(2) {
            hash = hash << 1 | u64::from(pair[1] > pair[0]);
        }
    }
    Fingerprint::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradient(width: usize, height: usize, brighter: u8) -> Vec<u8> {
        let pixel = |i: usize| {
            let (x, y) = (i % width * 100 / width, i / width * 100 / height);
            [(x * 2) as u8, (y * 2) as u8, ((x * y) / 50) as u8].map(|c| c.saturating_add(brighter))
        };
        (0..width * height).flat_map(pixel).collect()
    }

    #[test]
    fn all_eight_letters() {
        let rgb: Vec<u8> =
            (0..8u8).flat_map(|i| [i >> 2 & 1, i >> 1 & 1, i & 1].map(|bit| bit * 255)).collect();
        let pixels = Pixels::new(8, 1, &rgb).unwrap();
        assert_eq!(colour_code(pixels, 8, 1), "B.XoO+@#");
        assert_eq!(colour_code(pixels, 16, 2).len(), 32, "more cells than pixels");
    }

    #[test]
    fn scaling_keeps_both_fingerprints() {
        let (small, large) = (gradient(90, 64, 0), gradient(450, 320, 0));
        let small = Pixels::new(90, 64, &small).unwrap();
        let large = Pixels::new(450, 320, &large).unwrap();
        let codes = (colour_code(small, 8, 8), colour_code(large, 8, 8));
        assert!(colour_similarity(&codes.0, &codes.1) > 0.95);
        assert!(perceptual_hash(small).distance(&perceptual_hash(large)).unwrap() <= 3);
    }

    #[test]
    fn brightness_keeps_the_perceptual_hash() {
        let (plain, brighter) = (gradient(90, 64, 0), gradient(90, 64, 30));
        let hash = |rgb: &[u8]| perceptual_hash(Pixels::new(90, 64, rgb).unwrap());
        assert!(hash(&plain).distance(&hash(&brighter)).unwrap() <= 3);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        assert!(Pixels::new(2, 2, &[0; 11]).is_none());
        assert!(Pixels::new(0, 5, &[]).is_none());
        assert!(Pixels::new(usize::MAX, usize::MAX, &[]).is_none());
        assert_eq!(colour_similarity("BB", "B"), 0.0);
    }
}
