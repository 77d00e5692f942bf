//! Looking at a comparison while its blocks come, without being fooled by having looked.
//!
//! Whoever looks at a 95 % interval after each block and stops when it leaves out 1 calls 18 % of
//! equal variants different by the twelfth block. Two ways of looking hold what they promise:
//!
//! - [`Looks::Repeated`]: where the least and the most blocks were stated before the first. Every
//!   look is at one constant nominal level (Pocock 1977, "Group sequential methods in the design
//!   and analysis of clinical trials"), chosen so that all intervals together hold the truth with
//!   the overall level (repeated confidence intervals: Jennison and Turnbull 1989). The path of t
//!   statistics does not depend on mean or variance, so that the levels are a table ([`levels`]).
//! - [`Looks::Anytime`]: where blocks are added to what was seen. The t interval of Lai (1976, "On
//!   confidence sequences") with g = 1, as Wang and Ramdas (2023) and Lindon and others (2022) have
//!   it: holds at every number of blocks at once, and takes one to three blocks more.
//!
//! What must hold: min and max come from the study, never from what was measured; nor does g.

mod expect;
mod levels;

pub use expect::{Design, Expected};
pub use levels::{BLOCKS_LEAST, BLOCKS_MOST, nominal_of, overall_of};

use crate::series;

/// How often a comparison is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// Once, when all blocks are there.
    #[default]
    Once,
    /// After each block from the `min`-th to the `max`-th.
    Repeated {
        /// Blocks before the first look.
        min: usize,
        /// Blocks at the last look.
        max: usize,
    },
    /// At any time, and as often as anybody likes.
    Anytime,
}

impl Looks {
    /// The word in records: `once`, `repeated`, `anytime`.
    pub fn name(self) -> &'static str {
        match self {
            Looks::Once => "once",
            Looks::Repeated { .. } => "repeated",
            Looks::Anytime => "anytime",
        }
    }

    /// Half of the two-sided interval at an overall `level` with so many `blocks`, in standard
    /// errors; none where no interval is finite, or before the first look.
    pub fn reach(self, level: f64, blocks: usize, freedom: f64) -> Option<f64> {
        let of_t = |level: f64| series::t_quantile(1.0 - level / 2.0, freedom);
        match self {
            Looks::Once => Some(of_t(level)),
            Looks::Repeated { min, max } => {
                (blocks >= min).then(|| of_t(nominal_of(min, max, level)))
            }
            Looks::Anytime => anytime_reach(blocks, level),
        }
    }

    /// The two-sided p value of a t statistic that is so far from 0, at any of the looks; none
    /// before the first.
    pub fn p(self, t: f64, blocks: usize, freedom: f64) -> Option<f64> {
        let once = || 2.0 * series::t_above(t, freedom);
        match self {
            Looks::Once => Some(once()),
            Looks::Repeated { min, max } => (blocks >= min).then(|| overall_of(min, max, once())),
            Looks::Anytime => Some((-anytime_log_e(t, blocks)).exp().min(1.0)),
        }
    }

    /// The nominal level of an interval at an overall `level`; none of what has no such.
    pub fn nominal(self, level: f64) -> Option<f64> {
        match self {
            Looks::Once => Some(level),
            Looks::Repeated { min, max } => Some(nominal_of(min, max, level)),
            Looks::Anytime => None,
        }
    }
}

/// The scale of the mixture, chosen before any data: good for stopping near a dozen blocks.
const G: f64 = 1.0;

/// The logarithm of the e value of a t statistic of so many pairs (Lindon and others 2022): with
/// ν = n − 1 and r = g ÷ (g + n), √r · ((1 + t²/ν) ÷ (1 + r·t²/ν))^(n/2).
fn anytime_log_e(t: f64, blocks: usize) -> f64 {
    let n = blocks as f64;
    let (freedom, share) = ((n - 1.0).max(1.0), G / (G + n));
    let squared = t * t / freedom;
    share.ln() / 2.0 + n / 2.0 * (squared.ln_1p() - (share * squared).ln_1p())
}

/// Where that e value is 1 ÷ `level`; none as long as no t reaches it.
fn anytime_reach(blocks: usize, level: f64) -> Option<f64> {
    let n = blocks as f64;
    let share = G / (G + n);
    let root = (share * level * level).powf(1.0 / n);
    (blocks > 1 && root > share).then(|| ((n - 1.0) * (1.0 - root) / (root - share)).sqrt())
}

/// Whether most blocks of a comparison were lost. What made their trials invalid, and a load at its
/// limit does that by itself, has then chosen those that are left, and nothing sees to it that each
/// side was first in half of them.
pub fn too_few_blocks(used: usize, planned: usize, looks: Looks) -> bool {
    match looks {
        Looks::Once => used * 2 < planned,
        // Their number was to be what decides.
        Looks::Repeated { .. } | Looks::Anytime => planned.saturating_sub(used) * 3 > planned,
    }
}

#[cfg(test)]
mod tests;
