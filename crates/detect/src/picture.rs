//! Image files to pixels, within bounds.

use image::{ImageReader, Limits};
use std::io::Cursor;

/// Largest side of an image, and the memory a decoder may take: far above photographs, far below a bomb.
const LARGEST_SIDE: u32 = 30_000;
const LARGEST_MEMORY: u64 = 512 << 20;

pub(crate) struct Decoded {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) rgb: Vec<u8>,
}

/// Decodes an image; transparent parts are laid on white, as a browser shows them.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded, String> {
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(LARGEST_SIDE);
    limits.max_image_height = Some(LARGEST_SIDE);
    limits.max_alloc = Some(LARGEST_MEMORY);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| error.to_string())?;
    let rgba = image.into_rgba8();
    let (width, height) = (rgba.width() as usize, rgba.height() as usize);
    let on_white = |colour: u8, alpha: u8| {
        let (colour, alpha) = (u32::from(colour), u32::from(alpha));
        ((colour * alpha + 255 * (255 - alpha)) / 255) as u8
    };
    let rgb = rgba.pixels().flat_map(|pixel| {
        let [red, green, blue, alpha] = pixel.0;
        [red, green, blue].map(|colour| on_white(colour, alpha))
    });
    Ok(Decoded { width, height, rgb: rgb.collect() })
}
