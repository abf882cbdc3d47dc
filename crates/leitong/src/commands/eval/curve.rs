//! Precision and recall at every threshold.

/// What a threshold gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Pairs with this score or a higher one are called duplicates.
    pub(super) threshold: f64,
    pub(super) precision: f64,
    pub(super) recall: f64,
}

impl Point {
    pub(super) fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 { 2.0 * self.precision * self.recall / sum } else { 0.0 }
    }
}

/// A point for every score that occurs, the highest first. What has no score is never called a duplicate.
pub(super) struct Curve(pub(super) Vec<Point>);

impl Curve {
    /// From scores of pairs and whether they are true; there may be true ones without a score.
    pub(super) fn new(mut scored: Vec<(f64, bool)>, positives: u64) -> Self {
        scored.retain(|(score, _)| *score > 0.0);
        scored.sort_by(|x, y| y.0.total_cmp(&x.0));
        let (mut right, mut called) = (0_u64, 0_u64);
        let mut points = Vec::new();
        for same in scored.chunk_by(|x, y| x.0 == y.0) {
            called += same.len() as u64;
            right += same.iter().filter(|(_, same)| *same).count() as u64;
            points.push(Point {
                threshold: same[0].0,
                precision: right as f64 / called as f64,
                recall: right as f64 / positives.max(1) as f64,
            });
        }
        Self(points)
    }

    /// The highest F1; of equal ones that with the highest threshold.
    pub(super) fn best(&self) -> Option<Point> {
        self.highest(Point::f1, |_| true)
    }

    /// The highest recall at this precision; of equal ones that with the highest threshold.
    pub(super) fn suggested(&self, precision: f64) -> Option<Point> {
        self.highest(|point| point.recall, |point| point.precision >= precision && point.recall > 0.0)
    }

    fn highest(&self, key: impl Fn(&Point) -> f64, fits: impl Fn(&Point) -> bool) -> Option<Point> {
        let mut best: Option<Point> = None;
        for point in self.0.iter().filter(|point| fits(point)) {
            if best.is_none_or(|best| key(point) > key(&best)) {
                best = Some(*point);
            }
        }
        best
    }

    /// What this threshold gives; nothing where no pair has such a score.
    pub(super) fn at(&self, threshold: f64) -> Option<Point> {
        let count = self.0.partition_point(|point| point.threshold >= threshold - 1e-6);
        count.checked_sub(1).map(|last| Point { threshold, ..self.0[last] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        Curve::new(vec![(0.9, true), (0.9, true), (0.5, false), (0.7, true), (0.0, true), (0.4, true)], 6)
    }

    #[test]
    fn a_point_for_every_score() {
        let points = curve().0;
        let rounded: Vec<(f64, f64, f64)> =
            points.iter().map(|p| (p.threshold, p.precision, (p.recall * 6.0).round())).collect();
        assert_eq!(rounded, [(0.9, 1.0, 2.0), (0.7, 1.0, 3.0), (0.5, 0.75, 3.0), (0.4, 0.8, 4.0)]);
    }

    #[test]
    fn suggestions() {
        let suggested = |precision| curve().suggested(precision).map(|point| point.threshold);
        assert_eq!((suggested(1.0), suggested(0.8), suggested(0.75)), (Some(0.7), Some(0.4), Some(0.4)));
        assert_eq!(curve().best().map(|point| point.threshold), Some(0.4));
        assert_eq!(Curve::new(vec![(0.5, false)], 3).suggested(0.5), None);
        assert_eq!(Curve::new(Vec::new(), 3).best(), None);
    }

    #[test]
    fn any_threshold_can_be_asked() {
        let recall = |threshold| curve().at(threshold).map(|point| (point.recall * 6.0).round());
        assert_eq!(
            (recall(0.95), recall(0.9), recall(0.6), recall(0.1)),
            (None, Some(2.0), Some(3.0), Some(4.0))
        );
    }
}
