//! The only crate that knows statistics: error bars, effective sample size, comparisons, knee,
//! procedures, verdict rules.
//!
//! Pure functions of measurements: no I/O, no clock, no chance. A number that cannot be supported
//! is `None`, never a guess; a rule without its input is [`rules::Outcome::Unknown`], never a pass.
//! [`series`] has the error of a mean, [`blocks`] that of percentiles, [`mod@trend`] says where a
//! series goes, [`run_course`] where the trials of a run go, [`steady`] when warm-up is over,
//! [`mod@compare`] tells two variants apart, whose names [`variant`] holds, [`sequential`] lets
//! their blocks be looked at as they come, [`robust`] says what one odd block does, [`mod@effects`]
//! says what each axis of a matrix does, [`multiple`] keeps many comparisons honest, [`require`]
//! says whether a requirement is met, [`procedure`] where to measure next, [`sweep`] reads a ladder
//! of loads, [`curves`] draws a curve through it, [`mod@scale_up`] says what a machine makes of
//! more of its units, [`least_squares`] fits the curves of both, [`screen`] finds the settings that
//! matter, [`capacity`] says what a throughput is worth, [`history`] finds where a series of runs
//! has changed, [`endurance`] reads hours under one load, [`mod@recovery`] says what a fault did to
//! it, [`durability`] what a configuration promises of acknowledged writes, [`linear`] whether
//! registers were one register to all, and [`rules`] decides whether a trial may be believed.

pub mod autocorrelation;
pub mod bisect;
pub mod blocks;
pub mod capacity;
pub mod compare;
pub mod curves;
pub mod durability;
pub mod effects;
pub mod endurance;
pub mod history;
pub mod least_squares;
pub mod linearizability;
pub mod multiple_comparisons;
pub mod procedure;
pub mod recovery;
pub mod require;
pub mod robust;
pub mod rules;
pub mod scale_up;
pub mod screening;
pub mod sequential;
pub mod sweep;
#[cfg(test)]
mod test_series;
pub mod trend;
pub mod trend_over_trials;
pub mod variant;
pub mod warmup_end;

pub use blocks::{Blocks, QUANTILES};
// Statistics of a series that is too long to be kept.
pub use autocorrelation::{Estimate, mean_estimate};
pub use compare::{
    Bound, Comparison, DIFFERENCE_LEVEL, Finding, LEVEL, Metric, NotCompared, TENFOLD,
    compare_paired, compare_unpaired,
};
pub use measure::{Bin, Bins};
pub use multiple_comparisons::{FalseFindings, Judged, judge_all};
pub use robust::Robust;
pub use rules::{Evidence, Judgement, Limits, Verdict, judge};
pub use sequential::{Design, Expected, Looks, too_few_blocks};
pub use sweep::{Knee, Reading, Rung, State, read_sweep};
pub use trend_over_trials::{RunCourse, RunStep};
pub use variant::VariantName;
pub use warmup_end::{Steady, SteadyLimits, SteadyState};
