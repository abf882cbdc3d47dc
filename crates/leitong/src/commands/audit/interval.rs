//! How sure a share is that was counted in a sample.

/// The bounds between which the true share lies in 95 of 100 samples (Wilson, 1927).
pub(super) fn wilson(hits: u64, all: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, share) = (all as f64, hits as f64 / all as f64);
    let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn published_values() {
        // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (hits, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (found_low, found_high) = wilson(hits, all);
            assert!((found_low - low).abs() < 1e-4 && (found_high - high).abs() < 1e-4, "{hits} of {all}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }
}
