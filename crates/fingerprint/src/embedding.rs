//! A dense vector of any model as a bit fingerprint, by seeded random hyperplanes (Charikar, 2002).
//!
//! Bit j tells on which side of hyperplane j the vector lies; the share of different bits estimates the angle
//! between two vectors. The hyperplanes are made from a seed, never stored: component i of plane j is the ones less
//! the zeros among 63 bits of a hash of (seed, j, i), which is close to normally distributed, never 0 (that would
//! favour a side for sparse vectors) and the same on every machine. Sums are in double precision in a fixed order, for the same reason.

use crate::Fingerprint;

/// A vector that has no direction.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingError {
    /// No components, or all of them zero.
    #[error("the vector is empty or all zeros: it has no direction to fingerprint")]
    NoDirection,
    /// A component that is no number.
    #[error("component {0} of the vector is not a finite number: check the model's output")]
    NotFinite(usize),
}

/// The fingerprint of a vector, `width` bits.
///
/// ```
/// use leitong_fingerprint::embedding::fingerprint;
/// let a = fingerprint(&[0.9, 0.1, -0.3], 64, 0)?;
/// let opposite = fingerprint(&[-0.9, -0.1, 0.3], 64, 0)?;
/// assert_eq!(a.distance(&opposite).unwrap(), 64);
/// # Ok::<(), leitong_fingerprint::embedding::EmbeddingError>(())
/// ```
pub fn fingerprint(vector: &[f32], width: u32, seed: u64) -> Result<Fingerprint, EmbeddingError> {
    if let Some(at) = vector.iter().position(|component| !component.is_finite()) {
        return Err(EmbeddingError::NotFinite(at));
    }
    if vector.iter().all(|&component| component == 0.0) {
        return Err(EmbeddingError::NoDirection);
    }
    let mut words = vec![0u64; width.div_ceil(64) as usize];
    for plane in 0..width {
        let start = mix(seed ^ mix(u64::from(plane) + 1));
        let components = vector.iter().enumerate();
        let side: f64 = components.map(|(i, &value)| f64::from(value) * normal(start, i as u64)).sum();
        if side > 0.0 {
            words[(plane / 64) as usize] |= 1 << (plane % 64);
        }
    }
    Ok(Fingerprint::from_words(width, &words))
}

fn normal(start: u64, i: u64) -> f64 {
    let bits = mix(start.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 1;
    2.0 * f64::from(bits.count_ones()) - 63.0
}

/// The finishing step of splitmix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_follows_the_angle() {
        for degrees in [0.0f64, 15.0, 45.0, 90.0, 135.0, 180.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let mut total = 0;
            for seed in 0..20 {
                let a = fingerprint(&[1.0, 0.0, 0.0], 256, seed).unwrap();
                let b = fingerprint(&[cos as f32, sin as f32, 0.0], 256, seed).unwrap();
                total += a.distance(&b).unwrap();
            }
            let share = f64::from(total) / (20.0 * 256.0);
            assert!((share - degrees / 180.0).abs() < 0.03, "{degrees} degrees: {share}");
        }
    }

    #[test]
    fn vectors_without_direction_are_refused() {
        assert_eq!(fingerprint(&[], 64, 0), Err(EmbeddingError::NoDirection));
        assert_eq!(fingerprint(&[0.0, -0.0], 64, 0), Err(EmbeddingError::NoDirection));
        assert_eq!(fingerprint(&[1.0, f32::NAN], 64, 0), Err(EmbeddingError::NotFinite(1)));
    }

    #[test]
    fn frozen() {
        let vector: Vec<f32> = (0..50).map(|i| (i * 37 % 11) as f32 - 5.0).collect();
        assert_eq!(fingerprint(&vector, 128, 42).unwrap().to_string(), FROZEN);
    }

    const FROZEN: &str = "fb6fa9ebdd8706c40608bf85d707302f";
}
