//! Effects of the axes of a matrix, in `findings.json`.

use crate::looks::LooksHow;
use analysis::VariantName;
use analysis::compare::{Bound, Finding};
use analysis::effects::Interaction;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// The effects of the axes of a matrix on one metric at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectsRecord {
    /// Name of the metric: `ops_per_s`, `latency_ms.p99`, …; `peak` for the results of searches.
    pub metric: String,
    /// Load that the procedure used; `{}` for the results of searches.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Step of the import. Present only in a study of imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// True if the question of the study is about this point. cassay adjusts the effects at all
    /// other points for the number of these points.
    pub primary: bool,
    /// Axes of the matrix with more than one value, in the study's order.
    pub axes: Vec<AxisRecord>,
    /// Every combination of values. The value of the last axis varies fastest.
    pub cells: Vec<CellRecord>,
    /// Number of blocks that the effects would have if all trials had been usable.
    pub blocks_planned: usize,
    /// `repeated` or `anytime`, if cassay evaluated blocks while others were still to be measured.
    /// The intervals allow for this. Absent if the blocks were evaluated only once.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub looks: Option<LooksHow>,
    /// Margin of equivalence, as a share. A ratio between 1/(1 + margin) and 1 + margin does not
    /// matter.
    pub margin: f64,
    /// Reason why the effects have no intervals: `blocks` (fewer than three blocks) or `sequential`
    /// (the variants were not interleaved). Absent if the effects have intervals.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_interval: Option<WithoutInterval>,
    /// Effects in this order: main effects, interactions, simple effects.
    pub effects: Vec<EffectRecord>,
}

/// An axis of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AxisRecord {
    /// Name of the axis.
    pub name: String,
    /// Names of the values of the axis.
    pub values: Vec<String>,
}

/// One combination of values of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Value on each axis, in the order of the axes.
    pub values: Vec<String>,
    /// Name of the variant with this combination of values.
    pub variant: VariantName,
    /// Geometric mean of the metric over the blocks. `null` if no block has a usable trial.
    pub mean: Option<f64>,
    /// True if the mean is only a lower bound, because the value of a block is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Number of blocks with a usable trial.
    pub blocks: usize,
}

/// A value of an axis, and the value with which it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRecord {
    /// Name of the axis.
    pub axis: String,
    /// Name of the value.
    pub value: String,
    /// First value of the axis, with which `value` is compared. Empty for an axis that the effect
    /// holds constant at `value`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub against: String,
}

measure::word_enum! {
    /// Reason why the effects have no intervals.
    pub enum WithoutInterval {
        /// The matrix has fewer than three blocks.
        Blocks = "blocks",
        /// The variants were not interleaved.
        Sequential = "sequential",
    }
}

measure::word_enum! {
    /// Kind of an effect.
    #[derive(Default)]
    pub enum EffectKind {
        /// Ratio of a value to the first value of its axis, averaged over the other axes.
        #[default]
        Main = "main",
        /// Factor by which the ratio of a main effect changes when the second axis has another
        /// value.
        Interaction = "interaction",
        /// Ratio of a value to the first value of its axis, while the second axis is held at one
        /// value.
        Simple = "simple",
    }
}

/// Verdict on an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EffectVerdict {
    /// Verdict on a main or simple effect.
    Ratio(Finding),
    /// Verdict on an interaction.
    Interaction(Interaction),
}

impl Default for EffectVerdict {
    fn default() -> Self {
        EffectVerdict::Ratio(Finding::default())
    }
}

impl EffectVerdict {
    /// Returns the word for this verdict in files.
    pub fn name(self) -> &'static str {
        match self {
            EffectVerdict::Ratio(finding) => finding.name(),
            EffectVerdict::Interaction(interaction) => interaction.name(),
        }
    }
}

/// One effect of the axes of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Kind of the effect. `main` compares a value with the first value of its axis, averaged over
    /// the other axes. `interaction` is the factor by which that ratio changes when the axis in
    /// `with` has another value. `simple` is the ratio while the axis in `with` is held at one
    /// value.
    pub kind: EffectKind,
    /// Value whose effect was measured.
    pub of: LevelRecord,
    /// Second axis of an interaction or a simple effect. Absent for a main effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<LevelRecord>,
    /// Ratio of geometric means over the blocks. For an interaction, it is a ratio of two such
    /// ratios.
    pub ratio: f64,
    /// Direction of the bound, `at_least` or `at_most`, if `ratio` is only a bound. Absent if
    /// `ratio` is exact.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval of the ratio, without adjustment for other effects. `null` if the
    /// matrix has fewer than three blocks, if the variants were not interleaved, or if the ratio is
    /// a bound.
    pub ci95: Option<[f64; 2]>,
    /// The end of the 95 % confidence interval that is known, if the ratio is only a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// Verdict on the effect: `matters`, `negligible` or `not_resolved` for an interaction, and
    /// `faster`, `slower`, `equivalent` or `inconclusive` for other effects.
    pub verdict: EffectVerdict,
    /// Number of blocks that have all cells of this effect.
    pub blocks: usize,
    /// Probability (p-value) of a ratio at least this far from 1 if the value had no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The probability `p`, adjusted for the number of effects. The verdict uses this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// Number of blocks with which the verdict would be decided at this scatter. Absent if more
    /// blocks would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// Absolute value of ln `ratio` for a half-normal plot (Daniel 1959), scaled so that all
    /// effects have the same standard error.
    pub scaled: f64,
}
