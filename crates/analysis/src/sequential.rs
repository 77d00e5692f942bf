//! Evaluates a comparison while its blocks arrive, without inflating the error rate.
//!
//! Suppose that a study looks at a 95 % interval after each block from the third on, and stops when
//! the interval excludes 1. By the twelfth block, this study calls 18 % of equal variants
//! different. Two ways of looking keep their level:
//!
//! - [`Looks::Repeated`] is for studies that state the minimum and the maximum number of blocks
//!   before the first block. Every look is at one constant nominal level (Pocock 1977, "Group
//!   sequential methods in the design and analysis of clinical trials"). This level is chosen so
//!   that all intervals together contain the true value with the overall level (repeated confidence
//!   intervals: Jennison and Turnbull 1989). The path of t statistics does not depend on mean or
//!   variance, so the levels are a table ([`levels`]).
//! - [`Looks::Anytime`] is for blocks that are added after the result is known. It uses the t
//!   interval of Lai (1976, "On confidence sequences") with g = 1, as in Wang and Ramdas (2023) and
//!   Lindon and others (2022). The interval is valid at every number of blocks at once, and takes
//!   one to three blocks more than [`Looks::Repeated`].
//!
//! Invariant: min, max and g never depend on measurements, because min and max come from the study
//! and g is constant.

mod expect;
mod levels;

pub use expect::{Design, ExpectedOutcome};
pub use levels::{BLOCKS_LEAST, BLOCKS_MOST, nominal_of, overall_of};

use crate::autocorrelation;

/// Times at which the run evaluates a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// The run evaluates the comparison once, when all blocks are complete.
    #[default]
    Once,
    /// The run evaluates the comparison after each block from the `min`-th to the `max`-th.
    Repeated {
        /// Number of blocks before the first look.
        min: usize,
        /// Number of blocks at the last look.
        max: usize,
    },
    /// The run may evaluate the comparison at any time and any number of times.
    Anytime,
}

impl Looks {
    /// Returns the word for the schedule in records: `once`, `repeated` or `anytime`.
    pub fn name(self) -> &'static str {
        match self {
            Looks::Once => "once",
            Looks::Repeated { .. } => "repeated",
            Looks::Anytime => "anytime",
        }
    }

    /// Returns the half-width of the two-sided interval at an overall `level` with `blocks` blocks,
    /// in standard errors. Returns `None` before the first look, or if the interval is not finite.
    pub fn reach(self, level: f64, blocks: usize, freedom: f64) -> Option<f64> {
        let of_t = |level: f64| autocorrelation::t_quantile(1.0 - level / 2.0, freedom);
        match self {
            Looks::Once => Some(of_t(level)),
            Looks::Repeated { min, max } => {
                (blocks >= min).then(|| of_t(nominal_of(min, max, level)))
            }
            Looks::Anytime => anytime_reach(blocks, level),
        }
    }

    /// Returns the two-sided p value of a t statistic, adjusted for all looks. Returns `None`
    /// before the first look.
    pub fn p(self, t: f64, blocks: usize, freedom: f64) -> Option<f64> {
        let once = || 2.0 * autocorrelation::t_above(t, freedom);
        match self {
            Looks::Once => Some(once()),
            Looks::Repeated { min, max } => (blocks >= min).then(|| overall_of(min, max, once())),
            Looks::Anytime => Some((-anytime_log_e(t, blocks)).exp().min(1.0)),
        }
    }

    /// Returns the nominal level of an interval for an overall `level`. Returns `None` for
    /// [`Looks::Anytime`], which has no nominal level.
    pub fn nominal(self, level: f64) -> Option<f64> {
        match self {
            Looks::Once => Some(level),
            Looks::Repeated { min, max } => Some(nominal_of(min, max, level)),
            Looks::Anytime => None,
        }
    }
}

/// Scale of the mixture (g). It is fixed before any measurement, and suits comparisons that end
/// near a dozen blocks.
const G: f64 = 1.0;

/// Returns the logarithm of the e value of a t statistic of n pairs, where n is `blocks` (Lindon
/// and others 2022). With ν = n − 1 and r = g ÷ (g + n), the e value is √r · ((1 + t²/ν) ÷ (1 +
/// r·t²/ν))^(n/2).
fn anytime_log_e(t: f64, blocks: usize) -> f64 {
    let n = blocks as f64;
    let (freedom, share) = ((n - 1.0).max(1.0), G / (G + n));
    let squared = t * t / freedom;
    share.ln() / 2.0 + n / 2.0 * (squared.ln_1p() - (share * squared).ln_1p())
}

/// Returns the t statistic at which the e value is 1 ÷ `level`. Returns `None` if even an infinite
/// t does not reach this e value.
fn anytime_reach(blocks: usize, level: f64) -> Option<f64> {
    let n = blocks as f64;
    let share = G / (G + n);
    let root = (share * level * level).powf(1.0 / n);
    (blocks > 1 && root > share).then(|| ((n - 1.0) * (1.0 - root) / (root - share)).sqrt())
}

/// Returns true if a comparison lost too many of its blocks. The remaining blocks are then not a
/// random selection, for example because blocks fail at a load near the limit. Also, the order of
/// the two variants is then unbalanced.
pub fn too_few_blocks(used: usize, planned: usize, looks: Looks) -> bool {
    match looks {
        Looks::Once => used * 2 < planned,
        // The study planned the number of blocks that a decision needs, so losing more than a third
        // of the blocks is too much.
        Looks::Repeated { .. } | Looks::Anytime => planned.saturating_sub(used) * 3 > planned,
    }
}

#[cfg(test)]
mod tests;
