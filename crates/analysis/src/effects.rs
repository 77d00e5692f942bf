//! Computes the effect of each axis of a matrix, and the interactions of axes.
//!
//! Every combination of the axes' values is a cell, measured once in each block. An effect is a
//! contrast of the logarithms of the cells. It is formed *inside* a block and then averaged over
//! blocks, with an interval by Student's t. For complete blocks, this is the exact answer of the
//! mixed model with blocks as random effect. The source is Montgomery, "Design and Analysis of
//! Experiments", on the randomized complete block design. Changes from block to block do not affect
//! a contrast.
//!
//! Each value of an axis is compared with the first value of that axis. A main effect is the ratio
//! averaged over all values of the other axes. An interaction is the factor by which that ratio is
//! larger at another value of a second axis: a ratio of ratios. A simple effect is the ratio at one
//! value of the second axis. If a block lacks a cell, the contrasts that need the cell omit the
//! block. Lower bounds are handled as in [`mod@crate::compare`].
//!
//! This module does not compute interactions of three or more axes; the other effects are averages
//! over them.

use crate::autocorrelation;
use crate::compare::{Comparison, Finding, Metric, NotCompared, compare_paired};
use crate::multiple_comparisons::AdjustedFinding;
use measure::Known;

/// Minimum number of blocks for the interval of an effect. With two blocks, the interval extends
/// 12.7 standard errors to each side, so it cannot distinguish a realistic effect from chance.
pub const BLOCKS_MIN: usize = 3;

/// Axes of a matrix, with the number of values of each axis. The value of the last axis changes
/// fastest with the index of the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    levels: Vec<usize>,
}

/// A value of an axis, identified by the index of the axis and the index of the value. An effect
/// compares the other values of an axis with the first value, which has index 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisLevel {
    /// Index of the axis.
    pub axis: usize,
    /// Index of the value on that axis.
    pub level: usize,
}

/// Kind of an effect, with the values that the effect compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectContrast {
    /// Effect of a value compared with the first value of its axis, averaged over the other axes.
    Main(AxisLevel),
    /// Factor by which a value of one axis changes the effect of a value of another axis: a ratio
    /// of ratios.
    Interaction(AxisLevel, AxisLevel),
    /// Effect of a value compared with the first value of its axis, at one value of another axis.
    Simple(AxisLevel, AxisLevel),
}

/// An effect with its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub kind: EffectContrast,
    /// Comparison that contains the ratio of the effect. Here, `blocks` is the number of blocks
    /// that contain every cell of the effect.
    pub comparison: Comparison,
    /// Absolute logarithm of the ratio, divided by the root of the sum of the squared weights. In
    /// this unit, all effects have the same error if all cells have the same error. A half-normal
    /// plot shows this value (Daniel 1959).
    pub scaled: f64,
}

measure::word_enum! {
    /// Result for the interaction of two axes.
    pub enum Interaction {
        /// The axes interact by more than the margin.
        Matters = "matters",
        /// If the axes interact at all, the interaction is smaller than the margin.
        Negligible = "negligible",
        /// The result is uncertain.
        NotResolved = "not_resolved",
    }
}

impl Design {
    /// Creates a design from the number of values of each axis, which is at least 1.
    pub fn new(levels: Vec<usize>) -> Design {
        Design { levels }
    }

    /// Returns the number of cells.
    pub fn cells_count(&self) -> usize {
        self.levels.iter().product()
    }

    /// Returns the index of the cell whose values have the indexes `values` on their axes.
    pub fn cell(&self, values: &[usize]) -> usize {
        let axes = self.levels.iter().zip(values);
        axes.fold(0, |cell, (levels, value)| cell * levels + value)
    }

    /// Returns the index of a cell's value on each axis.
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

    /// Returns every main effect, followed by every interaction and every simple effect.
    pub fn kinds(&self) -> Vec<EffectContrast> {
        let levels = |axis: usize, first: usize| {
            (first..self.levels[axis]).map(move |level| AxisLevel { axis, level })
        };
        let axes = 0..self.levels.len();
        let mut kinds: Vec<EffectContrast> =
            axes.clone().flat_map(|a| levels(a, 1)).map(EffectContrast::Main).collect();
        for one in axes.clone() {
            for other in one + 1..self.levels.len() {
                let pairs = levels(one, 1).flat_map(|a| levels(other, 1).map(move |b| (a, b)));
                kinds.extend(pairs.map(|(a, b)| EffectContrast::Interaction(a, b)));
            }
        }
        for one in axes.clone() {
            for other in axes.clone().filter(|other| *other != one) {
                let pairs = levels(one, 1).flat_map(|a| levels(other, 0).map(move |b| (a, b)));
                kinds.extend(pairs.map(|(a, b)| EffectContrast::Simple(a, b)));
            }
        }
        kinds
    }

    /// Returns the weight that the logarithm of each cell has in the contrast. The weights add up
    /// to 0.
    fn weights(&self, kind: EffectContrast) -> Vec<f64> {
        let side = |values: &[usize], at: AxisLevel| match values[at.axis] {
            level if level == at.level => 1.0,
            0 => -1.0,
            _ => 0.0,
        };
        let is_at =
            |values: &[usize], at: AxisLevel| f64::from(u8::from(values[at.axis] == at.level));
        let weight = |cell: usize| {
            let values = self.values(cell);
            match kind {
                EffectContrast::Main(a) => side(&values, a) / self.others_count(&[a]),
                EffectContrast::Interaction(a, b) => {
                    side(&values, a) * side(&values, b) / self.others_count(&[a, b])
                }
                EffectContrast::Simple(a, b) => {
                    side(&values, a) * is_at(&values, b) / self.others_count(&[a, b])
                }
            }
        };
        (0..self.cells_count()).map(weight).collect()
    }

    /// Returns the number of combinations of values of the axes that are not in `named`.
    fn others_count(&self, named: &[AxisLevel]) -> f64 {
        let of_named: usize = named.iter().map(|at| self.levels[at.axis]).product();
        (self.cells_count() / of_named) as f64
    }
}

/// Returns the positions on a half-normal plot (Daniel 1959). These are the sizes to expect of
/// `count` effects that are only noise, in standard deviations and in rising order.
pub fn half_normal(count: usize) -> Vec<f64> {
    let at =
        |i: usize| autocorrelation::normal_quantile(0.5 + 0.5 * (i as f64 + 0.5) / count as f64);
    (0..count).map(at).collect()
}

/// Returns every effect of a matrix. The effects for which no ratio could be computed are returned
/// in a separate list.
pub fn effects(
    design: &Design,
    blocks: &[Vec<Option<Known>>],
    metric: Metric,
) -> (Vec<Effect>, Vec<(EffectContrast, NotCompared)>) {
    let (mut found, mut inconclusive) = (Vec::new(), Vec::new());
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
            Err(why) => inconclusive.push((kind, why)),
        }
    }
    (found, inconclusive)
}

/// Returns the two values that a contrast compares in one block, as a pair for [`compare_paired`]:
/// first the divisor, then the dividend. Returns `None` if a cell of the contrast is missing.
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
    /// Returns true if the effect has an interval: see [`BLOCKS_MIN`].
    pub fn has_interval(&self) -> bool {
        self.comparison.blocks >= BLOCKS_MIN
    }

    /// Returns the finding of a main or simple effect, judged together with the other effects.
    pub fn finding(&self, judged: &AdjustedFinding) -> Finding {
        if self.has_interval() {
            judged.finding
        } else {
            Finding::Inconclusive
        }
    }

    /// Returns the result for an interaction, judged together with the other interactions. An
    /// interaction below the margin is never important, even if it is certain.
    pub fn interaction(&self, judged: &AdjustedFinding, metric: Metric) -> Interaction {
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
