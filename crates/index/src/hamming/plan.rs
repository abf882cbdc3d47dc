//! Which layout suits how many fingerprints, which width and which distance.

use super::HammingError;
use super::cells::Shape;
use super::columns;
use super::scheme::Rule;
use super::segment::{Build, Layout};
use crate::Value;

/// Numbers of the layouts in segment files.
pub(crate) const COLUMNS: u64 = 1;
pub(crate) const RING: u64 = 2;
pub(crate) const CELLS: u64 = 3;

/// What will be built.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Columns { k: u32 },
    Cells(Shape),
}

impl Choice {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Columns { .. } => COLUMNS,
            Self::Cells(shape) if shape.scheme.rule == Rule::Ring => RING,
            Self::Cells(_) => CELLS,
        }
    }

    pub(crate) fn bytes_per_item<V: Value>(&self, items: u64) -> f64 {
        match self {
            Self::Columns { k } => columns::bytes_per_item::<V>(items as usize, *k),
            Self::Cells(shape) => shape.bytes_per_item(items),
        }
    }

    /// What a search is expected to cost, in cache lines fetched.
    fn cost<V: Value>(&self, items: u64, k: u32) -> f64 {
        match self {
            Self::Columns { k: built } => {
                let blocks = columns::scheme(V::WIDTH, *built).blocks;
                let lines = |width: u32| {
                    let bucket =
                        items as f64 / 2_f64.powi(columns::directory_bits(items as usize, width) as i32);
                    // In a run lines come faster than alone.
                    1.0 + 0.5 * (bucket * 2.0 / 64.0)
                };
                blocks.iter().map(|block| lines(block.width)).sum()
            }
            Self::Cells(shape) => shape.cost(items, k),
        }
    }
}

/// The cheapest choice within the limits; the smallest where none is.
pub(crate) fn choose<V: Value>(items: u64, build: &Build) -> Result<Choice, HammingError> {
    let k = build.k;
    if k >= V::WIDTH / 2 {
        return Err(HammingError::Senseless { width: V::WIDTH, k });
    }
    let mut choices = Vec::new();
    let wanted = |layout| build.layout.is_none_or(|forced| forced == layout);
    // Building columns takes all values and their order at once.
    let fits = items.saturating_mul(4 * size_of::<V>() as u64 + 32) <= build.memory;
    if wanted(Layout::Columns) && (fits || build.layout.is_some()) {
        choices.push(Choice::Columns { k });
    }
    if wanted(Layout::Ring) && (k + 1) * 4 <= V::WIDTH {
        choices.push(Choice::Cells(Shape::new::<V>(items, Rule::Ring, (k + 1).max(2), true)));
    }
    if wanted(Layout::Cells) {
        let most = (k + 1).clamp(2, 16).min(V::WIDTH / 4);
        choices.extend(
            (1..=most).map(|tables| Choice::Cells(Shape::new::<V>(items, Rule::Share, tables, true))),
        );
    }
    let limit = build.bytes_per_item.unwrap_or(f64::INFINITY);
    let bytes = |choice: &Choice| choice.bytes_per_item::<V>(items);
    let cost = |choice: &Choice| choice.cost::<V>(items, k);
    // A choice that saves its bytes by visiting millions of cells is none.
    let least = choices.iter().map(cost).fold(f64::INFINITY, f64::min);
    choices.retain(|choice| cost(choice) <= 100.0 * least);
    let within = choices.iter().filter(|choice| bytes(choice) <= limit);
    let cheapest = within.min_by(|a, b| cost(a).total_cmp(&cost(b)));
    let chosen = cheapest.or_else(|| choices.iter().min_by(|a, b| bytes(a).total_cmp(&bytes(b))));
    chosen.cloned().ok_or(HammingError::Senseless { width: V::WIDTH, k })
}
