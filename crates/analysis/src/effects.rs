//! What each axis of a matrix does, and whether axes interact.
//!
//! Every combination of the axes' values is a cell, measured once in each block. An effect is a
//! contrast of the logarithms of the cells, formed *inside* a block and then averaged over blocks
//! with an interval by Student's t: for complete blocks that is the exact answer of the mixed model
//! with blocks as random effect (Montgomery, "Design and Analysis of Experiments", on the
//! randomized complete block design), and what changes from block to block is in no contrast.
//!
//! Each value of an axis is compared with the axis's first. A main effect is the ratio averaged
//! over all values of the other axes; an interaction is how many times larger that ratio is with
//! another value of a second axis, a ratio of ratios; a simple effect is the ratio where the second
//! axis has one value. A block that lacks a cell is left out of the contrasts that need it. Lower
//! bounds go the way of [`mod@crate::compare`].
//!
//! Interactions of three axes and more are not looked at: they are averaged over.

use crate::autocorrelation;
use crate::compare::{Comparison, Finding, Metric, NotCompared, compare_paired};
use crate::multiple_comparisons::Judged;
use measure::Known;

/// Fewer blocks than this give no interval of an effect: by two it is 12.7 standard errors wide on
/// each side, and whether it is that of this matrix or of chance nobody could tell.
pub const BLOCKS_MIN: usize = 3;

/// The axes of a matrix: how many values each has. Cells are numbered with the last axis the
/// fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    levels: Vec<usize>,
}

/// A value of an axis, both by number. The first value of each axis, 0, is the one that the others
/// are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of the axis.
    pub axis: usize,
    /// Number of its value.
    pub level: usize,
}

/// What an effect is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a value against the first of its axis, averaged over the other axes.
    Main(Level),
    /// Of a value of one axis on the effect of a value of another: a ratio of ratios.
    Interaction(Level, Level),
    /// Of a value against the first of its axis, where another axis has one value.
    Simple(Level, Level),
}

/// What an effect comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// What it is of.
    pub kind: Kind,
    /// Its ratio; `blocks` is how many had every cell that it needs.
    pub comparison: Comparison,
    /// |ln ratio| in units in which all effects have the same error if the cells have: for a
    /// half-normal plot (Daniel 1959).
    pub scaled: f64,
}

measure::word_enum! {
    /// Whether two axes interact.
    pub enum Interaction {
        /// They do, by more than the margin.
        Matters = "matters",
        /// If they do, then by less than the margin.
        Negligible = "negligible",
        /// It cannot be told.
        NotResolved = "not_resolved",
    }
}

impl Design {
    /// Axes with so many values each; none has none.
    pub fn new(levels: Vec<usize>) -> Design {
        Design { levels }
    }

    /// How many cells there are.
    pub fn cells_count(&self) -> usize {
        self.levels.iter().product()
    }

    /// The number of a cell, by the number of its value on each axis.
    pub fn cell(&self, values: &[usize]) -> usize {
        let axes = self.levels.iter().zip(values);
        axes.fold(0, |cell, (levels, value)| cell * levels + value)
    }

    /// The numbers of a cell's values.
    fn values(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut values: Vec<usize> = self
            .levels
            .iter()
            .rev()
            .map(|levels| {
                let value = rest % levels;
                rest /= levels;
                value
            })
            .collect();
        values.reverse();
        values
    }

    /// Every main effect, then every interaction, then every simple effect.
    pub fn kinds(&self) -> Vec<Kind> {
        let levels = |axis: usize, first: usize| {
            (first..self.levels[axis]).map(move |level| Level { axis, level })
        };
        let axes = 0..self.levels.len();
        let mut kinds: Vec<Kind> =
            axes.clone().flat_map(|a| levels(a, 1)).map(Kind::Main).collect();
        for one in axes.clone() {
            for other in one + 1..self.levels.len() {
                let pairs = levels(one, 1).flat_map(|a| levels(other, 1).map(move |b| (a, b)));
                kinds.extend(pairs.map(|(a, b)| Kind::Interaction(a, b)));
            }
        }
        for one in axes.clone() {
            for other in axes.clone().filter(|other| *other != one) {
                let pairs = levels(one, 1).flat_map(|a| levels(other, 0).map(move |b| (a, b)));
                kinds.extend(pairs.map(|(a, b)| Kind::Simple(a, b)));
            }
        }
        kinds
    }

    /// The weight of each cell's logarithm; they add up to 0.
    fn weights(&self, kind: Kind) -> Vec<f64> {
        let side = |values: &[usize], at: Level| match values[at.axis] {
            level if level == at.level => 1.0,
            0 => -1.0,
            _ => 0.0,
        };
        let is_at = |values: &[usize], at: Level| f64::from(u8::from(values[at.axis] == at.level));
        let weight = |cell: usize| {
            let values = self.values(cell);
            match kind {
                Kind::Main(a) => side(&values, a) / self.others_count(&[a]),
                Kind::Interaction(a, b) => {
                    side(&values, a) * side(&values, b) / self.others_count(&[a, b])
                }
                Kind::Simple(a, b) => {
                    side(&values, a) * is_at(&values, b) / self.others_count(&[a, b])
                }
            }
        };
        (0..self.cells_count()).map(weight).collect()
    }

    /// How many combinations the axes have that are not named.
    fn others_count(&self, named: &[Level]) -> f64 {
        let of_named: usize = named.iter().map(|at| self.levels[at.axis]).product();
        (self.cells_count() / of_named) as f64
    }
}

/// What the sizes of so many effects that are none are expected to be, smallest first, in their
/// standard deviations: the places on a half-normal plot (Daniel 1959).
pub fn half_normal(count: usize) -> Vec<f64> {
    let at =
        |i: usize| autocorrelation::normal_quantile(0.5 + 0.5 * (i as f64 + 0.5) / count as f64);
    (0..count).map(at).collect()
}

/// Every effect of a matrix, and those that have no ratio. `blocks` holds for each block one value
/// for each cell, none where it was not measured or may not be used.
pub fn effects(
    design: &Design,
    blocks: &[Vec<Option<Known>>],
    metric: Metric,
) -> (Vec<Effect>, Vec<(Kind, NotCompared)>) {
    let (mut found, mut untold) = (Vec::new(), Vec::new());
    for kind in design.kinds() {
        let weights = design.weights(kind);
        let sides = blocks.iter().filter_map(|cells| sides(&weights, cells));
        match compare_paired(&sides.collect::<Vec<_>>(), metric) {
            Ok(comparison) => {
                let length = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
                let scaled = comparison.ratio.ln().abs() / length;
                found.push(Effect {
                    kind,
                    comparison,
                    scaled,
                });
            }
            Err(why) => untold.push((kind, why)),
        }
    }
    (found, untold)
}

/// The two sides of a contrast in one block, as a pair that [`compare_paired`] takes: what it is
/// divided by, and what is divided. None if a cell that it needs is not there.
fn sides(weights: &[f64], cells: &[Option<Known>]) -> Option<(Known, Known)> {
    let mut logs = [0.0; 2];
    let mut bounds = [false; 2];
    for (weight, cell) in weights.iter().zip(cells).filter(|(weight, _)| **weight != 0.0) {
        let value = (*cell).filter(|value| value.least().is_finite() && value.least() > 0.0)?;
        let side = usize::from(*weight > 0.0);
        logs[side] += weight.abs() * value.least().ln();
        bounds[side] |= value.is_at_least();
    }
    let known = |side: usize| {
        if bounds[side] {
            Known::AtLeast(logs[side].exp())
        } else {
            Known::Exactly(logs[side].exp())
        }
    };
    Some((known(0), known(1)))
}

impl Effect {
    /// Whether it has an interval: see [`BLOCKS_MIN`].
    pub fn has_interval(&self) -> bool {
        self.comparison.blocks >= BLOCKS_MIN
    }

    /// What a main or simple effect says among the others.
    pub fn finding(&self, judged: &Judged) -> Finding {
        if self.has_interval() {
            judged.finding
        } else {
            Finding::Inconclusive
        }
    }

    /// What an interaction says among the others. One of less than the margin is never said to
    /// matter, however sure it is.
    pub fn interaction(&self, judged: &Judged, metric: Metric) -> Interaction {
        let is_large = self.comparison.ratio.ln().abs() > metric.margin.ln_1p();
        match self.finding(judged) {
            Finding::Equivalent => Interaction::Negligible,
            finding if finding.is_difference() && is_large => Interaction::Matters,
            _ => Interaction::NotResolved,
        }
    }
}

#[cfg(test)]
mod tests;
