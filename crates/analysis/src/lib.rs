//! The only crate that computes statistics: error bars, effective sample size, comparisons, knee,
//! procedures, verdict rules.
//!
//! All functions are pure functions of measurements, so they do not use I/O, a clock or random
//! numbers. A number without sufficient support is `None`, never a guess. A rule whose input is
//! missing is [`rules::RuleOutcome::Unknown`], never a pass.
//!
//! - Errors: [`autocorrelation`] for a mean, [`percentile_interval`] for percentiles, [`robust`]
//!   for results without one odd block.
//! - Trends: [`mod@trend`] of a series, [`trend_over_trials`] of a run, and [`warmup_end`] for the
//!   end of warm-up. [`endurance`] is for hours under one load, and [`history`] for a series of
//!   runs.
//! - Comparisons: [`mod@compare`] for two variants, whose names are in [`variant`]. [`sequential`]
//!   is for looks at the variants block by block, and [`multiple_comparisons`] for the
//!   adjustment of many comparisons.
//! - Many variants: [`mod@effects`] of the axes of a matrix, [`screening`] for the settings that
//!   matter, [`bisect`] for the first worse build.
//! - Load: [`procedure`] for the next point, [`sweep`] for the knee, [`curves`] and
//!   [`mod@scale_up`] for curves, which [`least_squares`] fits.
//! - Judgements: [`rules`] on the validity of a trial, [`requirements`] on requirements, and
//!   [`capacity`] on the number of nodes for a demand. [`mod@limits`] is for the resource that was
//!   nearest its limit.
//! - Profiles: [`mod@profile`] for the frames in which two variants differ.
//! - Failures: [`mod@recovery`] from a fault, [`durability`] of acknowledged writes, and
//!   [`linearizability`] of registers.

pub mod autocorrelation;
pub mod bisect;
pub mod capacity;
pub mod compare;
pub mod curves;
pub mod durability;
pub mod effects;
pub mod endurance;
pub mod history;
pub mod least_squares;
pub mod limits;
pub mod linearizability;
pub mod multiple_comparisons;
pub mod percentile_interval;
pub mod procedure;
pub mod profile;
pub mod recovery;
pub mod requirements;
pub mod robust;
pub mod rules;
pub mod scale_up;
pub mod screening;
pub mod sequential;
pub mod sweep;
pub mod tail;
#[cfg(test)]
mod test_series;
pub mod trend;
pub mod trend_over_trials;
pub mod variant;
pub mod warmup_end;

pub use percentile_interval::{Blocks, QUANTILES};
// Items that other crates use by the name of this crate alone.
pub use autocorrelation::{Estimate, mean_estimate};
pub use compare::{
    Bound, Comparison, DIFFERENCE_LEVEL, Finding, LEVEL, Metric, NotCompared, TENFOLD,
    compare_paired, compare_unpaired,
};
pub use measure::{Bin, Bins};
pub use multiple_comparisons::{AdjustedFinding, FalseFindings, judge_all};
pub use robust::Robust;
pub use rules::{Evidence, Judgement, Limits, Verdict, judge};
pub use sequential::{Design, ExpectedOutcome, Looks, too_few_blocks};
pub use sweep::{Knee, Reading, State, SweepStep, read_sweep};
pub use trend_over_trials::{RunStep, RunTrend};
pub use variant::VariantName;
pub use warmup_end::{Steady, SteadyLimits, SteadyState};
