//! What the axes of a matrix do, in `findings.json`.

use crate::looks::LooksHow;
use analysis::VariantName;
use analysis::compare::{Bound, Finding};
use analysis::effects::Interaction;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

/// The effects of a matrix at one point, by one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectsRecord {
    /// `ops_per_s`, `latency_ms.p99`, …
    pub metric: String,
    /// Where on the axes of the procedure.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Of a study of imports, which of their steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Whether the question is about this point: effects at others are adjusted for their number.
    pub primary: bool,
    /// The matrix's axes with more than one value, in the study's order.
    pub axes: Vec<AxisRecord>,
    /// Every combination, the last axis the fastest.
    pub cells: Vec<CellRecord>,
    /// As many blocks as there would be, had every trial been usable.
    pub blocks_planned: usize,
    /// `repeated` or `anytime`, if the intervals hold over all looks at the blocks as they came;
    /// empty if they were looked at once.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub looks: Option<LooksHow>,
    /// A ratio within 1/(1 + margin) and 1 + margin is no effect that matters.
    pub margin: f64,
    /// Why no effect has an interval: `blocks` (fewer than three), `sequential` (the cells did not
    /// take turns); empty if they have.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub without_interval: Option<WithoutInterval>,
    /// Main effects, interactions, simple effects.
    pub effects: Vec<EffectRecord>,
}

/// An axis of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AxisRecord {
    /// Its name.
    pub name: String,
    /// The names of its values.
    pub values: Vec<String>,
}

/// One combination of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its value on each axis.
    pub values: Vec<String>,
    /// Name of its variant.
    pub variant: VariantName,
    /// Geometric mean of the metric over blocks; none if no block has a usable trial.
    pub mean: Option<f64>,
    /// Whether that is a lower bound, since a block's value is one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Blocks with a usable trial.
    pub blocks: usize,
}

/// A value of an axis, and the one it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRecord {
    /// The axis.
    pub axis: String,
    /// The value.
    pub value: String,
    /// The axis's first value; empty where the axis is held at `value`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub against: String,
}

measure::word_enum! {
    /// Why no effect has an interval.
    pub enum WithoutInterval {
        /// There are fewer than three blocks.
        Blocks = "blocks",
        /// The cells did not take turns.
        Sequential = "sequential",
    }
}

measure::word_enum! {
    /// What an effect is of.
    #[derive(Default)]
    pub enum EffectKind {
        /// Of a value against the first of its axis, averaged over the other axes.
        #[default]
        Main = "main",
        /// How many times larger that ratio is with another value of the second axis.
        Interaction = "interaction",
        /// The ratio where the second axis has one value.
        Simple = "simple",
    }
}

/// What is said of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EffectVerdict {
    /// Of a main or simple one.
    Ratio(Finding),
    /// Of an interaction.
    Interaction(Interaction),
}

impl Default for EffectVerdict {
    fn default() -> Self {
        EffectVerdict::Ratio(Finding::default())
    }
}

impl EffectVerdict {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            EffectVerdict::Ratio(finding) => finding.name(),
            EffectVerdict::Interaction(interaction) => interaction.name(),
        }
    }
}

/// One effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// `main`: of a value against the first of its axis, averaged over the other axes.
    /// `interaction`: how many times larger that ratio is with another value of `with`.
    /// `simple`: the ratio where `with` has one value.
    pub kind: EffectKind,
    /// Of what.
    pub of: LevelRecord,
    /// The second axis; none of a main effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<LevelRecord>,
    /// The ratio, of geometric means over blocks; of an interaction a ratio of ratios.
    pub ratio: f64,
    /// `at_least` or `at_most`, if the ratio is only that.
    #[serde(
        default,
        deserialize_with = "measure::word_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub bound: Option<Bound>,
    /// 95 % confidence interval, for it alone.
    pub ci95: Option<[f64; 2]>,
    /// Of a ratio that is a bound, the end of such an interval that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95_end: Option<f64>,
    /// Of an interaction `matters`, `negligible` or `not_resolved`; of others `faster`, `slower`,
    /// `equivalent` or `inconclusive`.
    pub verdict: EffectVerdict,
    /// Blocks that have every cell that it needs.
    pub blocks: usize,
    /// Probability of such a ratio if there is no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same, adjusted for the number of effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// How many blocks decide it at this spread, whatever the effect is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_settle: Option<usize>,
    /// |ln ratio| in units in which all effects have the same error.
    pub scaled: f64,
}
