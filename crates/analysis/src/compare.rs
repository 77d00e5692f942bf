//! Compares two variants.
//!
//! A comparison uses one number per block and variant, however many operations the block contains.
//! It uses logarithms, because ratios also hold on other machines. The result is the ratio of
//! geometric means with a 95 % interval by Student's t.
//!
//! With one block per variant, the comparison has a ratio but no interval, because the variation
//! *between* runs was not observed. The finding is then [`Finding::Inconclusive`].
//!
//! Only interleaved trials are pairs. Consecutive runs also differ by everything that changed
//! between them, and the blocks of a run cannot show such a change. Welch's test called equal runs
//! different in 13 to 23 % of cases. So the interval of such runs is widened by a stated variance
//! between runs ([`Metric::between_runs`]), and the strongest finding is
//! [`Finding::LooksDifferent`].
//!
//! A percentile may be known only as a lower bound. Then the ratio is a bound as well, and only one
//! end of its interval is known. A variant with lower bounds can be found slower, but neither
//! faster nor equivalent. The test uses means of values that are not above the true values, so the
//! rate of false differences does not exceed the level. If both variants have lower bounds, the
//! comparison has no ratio.

use crate::autocorrelation;
use crate::robust::{self, Robust};
use crate::sequential::Looks;
use measure::Known;

/// Properties of a compared metric on which a finding depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// True if higher values are better.
    pub higher_is_better: bool,
    /// Margin, as a share. A ratio between 1/(1 + margin) and 1 + margin counts as equal.
    pub margin: f64,
    /// Smallest assumed standard deviation between runs of the same study on the same machine, as a
    /// share. It is only used for runs that were not interleaved. The source is three published
    /// equal runs (1 h, 1 h and 24 h on one cluster). Their throughputs are within 3.7 %, a
    /// deviation of 2.2 %. Their mean read latencies are within 23 %, a deviation of 12 % (range ÷
    /// 1.69 for three values).
    pub between_runs: f64,
    /// Logarithm of the ratio of neighbouring points on the grid of a search; 0 for measured
    /// values. A search ends at the last grid point below the true limit, so equal variants may end
    /// one step apart.
    pub grid: f64,
}

impl Metric {
    /// Operations per second, with a margin of 3 %. On a quiet machine, the throughput varies by
    /// about this much from day to day.
    pub const THROUGHPUT: Metric = Metric {
        higher_is_better: true,
        margin: 0.03,
        between_runs: 0.03,
        grid: 0.0,
    };
    /// p99 and other tail latencies, with a margin of 10 %, because tails vary more than
    /// throughput.
    pub const LATENCY: Metric = Metric {
        higher_is_better: false,
        margin: 0.10,
        between_runs: 0.12,
        grid: 0.0,
    };

    /// Cost of operations, with a margin of 5 %. No source has published how much costs vary
    /// between runs, so the variation of latency is assumed as an upper limit.
    pub const COST: Metric = Metric {
        higher_is_better: false,
        margin: 0.05,
        between_runs: 0.12,
        grid: 0.0,
    };

    /// Returns the metric for results of a search on a grid. `step` is the ratio of neighbouring
    /// grid points.
    pub fn on_grid(self, step: f64) -> Metric {
        Metric {
            grid: step.max(1.0).ln(),
            ..self
        }
    }
}

measure::word_enum! {
    /// Finding of a comparison, stated about the contender.
    #[derive(Default)]
    pub enum Finding {
        /// The whole interval is better than 1, and at least some of the interval is outside the
        /// margin.
        Faster = "faster",
        /// The whole interval is worse than 1, and at least some of the interval is outside the
        /// margin.
        Slower = "slower",
        /// The contender is faster or slower, but the runs were not interleaved, so the machine may
        /// be the cause.
        LooksDifferent = "looks_different",
        /// The whole interval is inside the margin, so any difference is too small to be important.
        Equivalent = "equivalent",
        /// The blocks do not support any other finding. A decision needs more or longer blocks.
        #[default]
        Inconclusive = "inconclusive",
    }
}

impl Finding {
    /// Returns true if the finding is that the two variants differ.
    pub fn is_difference(self) -> bool {
        matches!(
            self,
            Finding::Faster | Finding::Slower | Finding::LooksDifferent
        )
    }
}

/// Probability of error of an interval, and therefore of a finding of equivalence.
pub const LEVEL: f64 = 0.05;
/// Probability of error at which a single comparison counts as different. It is stricter than the
/// level of the interval, because people act on the word "different". At 5 %, two of forty studies
/// of equal variants would report a difference. Every third set of forty would contain more than
/// two such studies (`docs/decisions/030-confidence-levels.md`).
pub const DIFFERENCE_LEVEL: f64 = 0.03;
/// Smallest detectable difference, as a share, above which reports omit this difference. A
/// comparison that can only detect tenfold differences is of no use.
pub const TENFOLD: f64 = 9.0;
/// Probability with which a comparison detects a difference of the size of
/// [`Comparison::could_see`].
pub const POWER: f64 = 0.80;
/// Maximum number of further blocks that a finding proposes. If a decision needs more blocks than
/// this, a quieter machine helps more than further blocks.
pub const BLOCKS_TO_SETTLE_MAX: usize = 1000;

/// A comparison of two variants. The finding also depends on how many other comparisons the study
/// makes: see [`crate::multiple_comparisons`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Ratio of geometric means, contender ÷ baseline.
    pub ratio: f64,
    /// Direction in which the ratio is only a bound. `None` if the exact ratio is known.
    pub bound: Option<Bound>,
    /// Number of pairs. For runs that are not paired: the number of usable blocks of the variant
    /// that has fewer of them.
    pub blocks: usize,
    /// Standard deviation between runs, as a share, by which the interval is widened. `None` for
    /// pairs.
    pub between_runs: Option<f64>,
    /// Robust ratio, if one block differs from the others. `None` for a bound, and for runs that
    /// are not paired.
    pub robust: Option<Robust>,
    /// Schedule of the interim looks at the comparison.
    pub looks: Looks,
    /// Number of comparisons of the same kind that share the level of the interval.
    among: usize,
    metric: Metric,
    /// Error of the logarithm of the ratio. `None` with one block per variant.
    error: Option<LogError>,
}

measure::word_enum! {
    /// Direction in which a ratio is open because the values of one variant are only lower bounds.
    #[derive(Default)]
    pub enum Bound {
        /// Some or all of the contender's values are lower bounds.
        #[default]
        AtLeast = "at_least",
        /// Some or all of the baseline's values are lower bounds.
        AtMost = "at_most",
    }
}

impl Bound {
    /// Returns the words that precede a ratio with this bound, such as `at least `.
    pub fn before(self) -> String {
        match self {
            Bound::AtLeast => "at least ".to_owned(),
            Bound::AtMost => "at most ".to_owned(),
        }
    }

    /// Returns the direction in which a ratio is open, or `None` if the exact ratio is known. An
    /// argument is true if its variant has lower bounds. Returns an error if both variants have
    /// lower bounds.
    fn for_sides(baseline: bool, contender: bool) -> Result<Option<Bound>, NotCompared> {
        match (baseline, contender) {
            (false, false) => Ok(None),
            (false, true) => Ok(Some(Bound::AtLeast)),
            (true, false) => Ok(Some(Bound::AtMost)),
            (true, true) => Err(NotCompared::BoundsOnBothSides),
        }
    }
}

/// Reason why two variants cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCompared {
    /// A variant has no positive finite value.
    NoValues,
    /// Both variants have values that are only lower bounds, so the ratio is unknown.
    BoundsOnBothSides,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct LogError {
    standard_error: f64,
    freedom: f64,
}

/// Compares pairs of trials. The first trial of a pair is of the baseline, and the second is of the
/// contender. The two trials belong to one block and ran close to each other.
///
/// # Errors
/// No pair has two positive finite values, or both variants have lower bounds.
pub fn compare_paired<V: Into<Known> + Copy>(
    pairs: &[(V, V)],
    metric: Metric,
) -> Result<Comparison, NotCompared> {
    let pairs = pairs.iter().map(|(b, c)| ((*b).into(), (*c).into()));
    let (places, usable): (Vec<usize>, Vec<(Known, Known)>) =
        pairs.enumerate().filter(|(_, (b, c))| positive(*b) && positive(*c)).unzip();
    if usable.is_empty() {
        return Err(NotCompared::NoValues);
    }
    let bound = Bound::for_sides(
        usable.iter().any(|(baseline, _)| baseline.is_at_least()),
        usable.iter().any(|(_, contender)| contender.is_at_least()),
    )?;
    let ratio = |(baseline, contender): &(Known, Known)| contender.least() / baseline.least();
    let logs: Vec<f64> = usable.iter().map(|pair| ratio(pair).ln()).collect();
    let count = logs.len() as f64;
    let robust = robust::beside(&logs).filter(|_| bound.is_none());
    Ok(Comparison {
        ratio: autocorrelation::mean(&logs).exp(),
        bound,
        blocks: logs.len(),
        between_runs: None,
        robust: robust.map(|beside| Robust {
            at: places[beside.at],
            ..beside
        }),
        looks: Looks::Once,
        among: 1,
        metric,
        error: (logs.len() > 1).then(|| LogError {
            standard_error: (autocorrelation::variance(&logs) / count).sqrt(),
            freedom: count - 1.0,
        }),
    })
}

/// Compares runs that were not interleaved: they ran on different days, or one variant ran after
/// the other. The interval is that of Welch's test, widened by the larger of two variances. These
/// are the metric's variance between runs, and the variance between the blocks of the runs. Runs
/// differ from each other at least as much as their blocks do.
///
/// # Errors
/// A variant has no positive finite value, or both variants have lower bounds.
pub fn compare_unpaired<V: Into<Known> + Copy>(
    baseline: &[V],
    contender: &[V],
    metric: Metric,
) -> Result<Comparison, NotCompared> {
    let [(base, base_bound), (cont, cont_bound)] = [baseline, contender].map(logs_of);
    let blocks = base.len().min(cont.len());
    if blocks == 0 {
        return Err(NotCompared::NoValues);
    }
    let bound = Bound::for_sides(base_bound, cont_bound)?;
    let counts = [base.len() as f64, cont.len() as f64];
    let variances = [
        autocorrelation::variance(&base),
        autocorrelation::variance(&cont),
    ];
    let within_freedom = counts[0] + counts[1] - 2.0;
    let within = (0..2).map(|side| variances[side] * (counts[side] - 1.0)).sum::<f64>()
        / within_freedom.max(1.0);
    let floor = metric.between_runs * metric.between_runs;
    let between = within.max(floor);
    let parts = [variances[0] / counts[0], variances[1] / counts[1]];
    let sum = parts[0] + parts[1] + 2.0 * between;
    // The degrees of freedom are those of Welch and Satterthwaite, but not more than those of the
    // blocks. Only the blocks show which of the two variances is larger.
    let mut below: f64 = (0..2)
        .map(|side| parts[side] * parts[side] / (counts[side] - 1.0).max(1.0))
        .sum();
    if within > floor {
        below += 4.0 * between * between / within_freedom.max(1.0);
    }
    let freedom = if below > 0.0 { sum * sum / below } else { 1e6 };
    let freedom = freedom.min(within_freedom.max(1.0));
    Ok(Comparison {
        ratio: (autocorrelation::mean(&cont) - autocorrelation::mean(&base)).exp(),
        bound,
        blocks,
        between_runs: Some(between.sqrt()),
        robust: None,
        looks: Looks::Once,
        among: 1,
        metric,
        error: (blocks > 1).then(|| LogError {
            standard_error: sum.sqrt(),
            freedom,
        }),
    })
}

fn positive(value: Known) -> bool {
    value.least().is_finite() && value.least() > 0.0
}

/// Returns the logarithms of the usable values, and true if any of these values is a lower bound.
fn logs_of<V: Into<Known> + Copy>(values: &[V]) -> (Vec<f64>, bool) {
    let usable: Vec<Known> = values
        .iter()
        .map(|value| (*value).into())
        .filter(|value| positive(*value))
        .collect();
    let logs = usable.iter().map(|value| value.least().ln()).collect();
    (logs, usable.iter().any(|value| value.is_at_least()))
}

impl Comparison {
    /// Returns the comparison with this schedule of looks. `among` is the number of comparisons of
    /// the same kind that share the level of the interval.
    pub fn looked_at(mut self, looks: Looks, among: usize) -> Comparison {
        self.looks = looks;
        self.among = among.max(1);
        self
    }

    /// Returns the confidence interval of the ratio. Its error probability of 5 % applies to all
    /// looks, and to all comparisons that share the level. Returns `None` with one block per
    /// variant, for a bound, before the first look, and if an end of the interval is not finite.
    pub fn ci95(&self) -> Option<[f64; 2]> {
        self.bound.is_none().then(|| self.reach()).flatten()
    }

    /// Returns the known end of the 95 % interval of a ratio that is a bound. Returns `None` with
    /// one block per variant, before the first look, and if the exact ratio is known.
    pub fn ci95_end(&self) -> Option<f64> {
        let [low, high] = self.reach()?;
        match self.bound? {
            Bound::AtLeast => Some(low),
            Bound::AtMost => Some(high),
        }
    }

    /// Returns the interval of the ratio. If the ratio is a bound, the unknown end of the interval
    /// is infinite or 0. Returns `None` with one block per variant, before the first look, and if
    /// the interval is not finite.
    fn reach(&self) -> Option<[f64; 2]> {
        let half = self.half(self.error?, self.blocks, self.level())?;
        let [low, high] = [self.ratio * (-half).exp(), self.ratio * half.exp()];
        Some(match self.bound {
            None => [low, high],
            Some(Bound::AtLeast) => [low, f64::INFINITY],
            Some(Bound::AtMost) => [0.0, high],
        })
    }

    /// Returns the p value. If the variants are equal, it is the probability that any of the looks
    /// shows a ratio at least as far from 1 as the measured ratio. Returns `None` with one block
    /// per variant, and before the first look. A bound that is open towards 1 does not show a
    /// difference, so it has the p value of a ratio of 1.
    pub fn p(&self) -> Option<f64> {
        let error = self.error?;
        let p = |t: f64| self.looks.p(t, self.blocks, error.freedom);
        let says_nothing = match self.bound {
            None => false,
            Some(Bound::AtLeast) => self.ratio <= 1.0,
            Some(Bound::AtMost) => self.ratio >= 1.0,
        };
        let distance = (self.ratio.ln().abs() - self.metric.grid).max(0.0);
        let at_none = p(0.0)?;
        if says_nothing || distance == 0.0 {
            return Some(at_none);
        }
        if error.standard_error == 0.0 {
            return Some(0.0);
        }
        p(distance / error.standard_error)
    }

    /// Returns true if the ratio differs from 1 by more than the margin of its metric.
    pub fn is_beyond_margin(&self) -> bool {
        self.ratio.ln().abs() > self.metric.margin.ln_1p()
    }

    /// Returns the finding. `p` is the p value of the comparison, or that value adjusted for
    /// multiple comparisons.
    pub fn finding(&self, p: Option<f64>) -> Finding {
        let (Some(reach), Some(p)) = (self.reach(), p) else {
            return Finding::Inconclusive;
        };
        match find(reach, self.metric) {
            found if found.is_difference() && p > DIFFERENCE_LEVEL => Finding::Inconclusive,
            found if found.is_difference() && self.between_runs.is_some() => {
                Finding::LooksDifferent
            }
            found => found,
        }
    }

    /// Returns the smallest difference that the comparison could have detected, as a share. Four of
    /// five studies like this one detect a difference of this size at `level`. Returns `None` with
    /// one block per variant, and before the first look. Also returns `None` for a bound, which can
    /// only show a difference in one direction.
    pub fn could_see(&self, level: f64) -> Option<f64> {
        let error = self.error.filter(|_| self.bound.is_none())?;
        let power = autocorrelation::t_quantile(POWER, error.freedom) * error.standard_error;
        Some((self.half(error, self.blocks, level)? + power).exp() - 1.0)
    }

    /// Returns the standard deviation of the ratio from block to block, as a share. Returns `None`
    /// with one block, and for runs that are not paired.
    pub fn noise(&self) -> Option<f64> {
        let error = self.error.filter(|_| self.between_runs.is_none())?;
        Some(error.standard_error * (self.blocks as f64).sqrt())
    }

    /// Returns the number of blocks that decides the comparison at `level`, if blocks continue to
    /// vary as they did. The result is the smaller of two numbers:
    ///
    /// - If the ratio is beyond the margin and remains there: the number of blocks until the
    ///   interval at `level` excludes 1.
    /// - For any ratio: the number of blocks until half the interval at `level`, plus half the 95 %
    ///   interval, fit into the margin. Then the ratio is either further from 1 than the first
    ///   half, or so close to 1 that the second half is within the margin.
    ///
    /// Returns `None` with one block, and if the result is above [`BLOCKS_TO_SETTLE_MAX`]. Also
    /// returns `None` if the runs are not paired or the ratio is a bound, because further blocks of
    /// this kind would not help.
    pub fn blocks_to_settle(&self, level: f64) -> Option<usize> {
        let helps = self.between_runs.is_none() && self.bound.is_none();
        let error = self.error.filter(|_| helps)?;
        let deviation = error.standard_error * (self.blocks as f64).sqrt();
        let margin = (1.0 + self.metric.margin).ln();
        let own = self.ratio.ln().abs();
        let settles = |blocks: usize| {
            let error = LogError {
                standard_error: deviation / (blocks as f64).sqrt(),
                freedom: blocks as f64 - 1.0,
            };
            let half = |level: f64| self.half(error, blocks, level);
            let halves = half(level).zip(half(self.level()));
            halves.is_some_and(|(word, interval)| {
                word + interval <= margin || own > margin && word < own
            })
        };
        let candidates: Vec<usize> = (2..=BLOCKS_TO_SETTLE_MAX).collect();
        let first = candidates.partition_point(|blocks| !settles(*blocks));
        candidates.get(first).copied()
    }

    /// Returns the level of the interval, which is this comparison's share of the overall level.
    fn level(&self) -> f64 {
        LEVEL / self.among as f64
    }

    /// Returns half the two-sided interval of the logarithm with `blocks` blocks. Returns `None`
    /// before the first look, and if the interval is not finite.
    fn half(&self, error: LogError, blocks: usize, level: f64) -> Option<f64> {
        let looks = match self.looks {
            // If the comparison has more blocks than planned, assume that exactly this many blocks
            // were planned.
            Looks::Repeated { min, max } => Looks::Repeated {
                min,
                max: max.max(blocks),
            },
            looks => looks,
        };
        let reach = looks.reach(level, blocks, error.freedom)?;
        Some(reach * error.standard_error + self.metric.grid)
    }
}

fn find([low, high]: [f64; 2], metric: Metric) -> Finding {
    let bound = 1.0 + metric.margin;
    if low >= 1.0 / bound && high <= bound {
        Finding::Equivalent
    } else if low <= 1.0 && 1.0 <= high {
        Finding::Inconclusive
    } else if (low > 1.0) == metric.higher_is_better {
        Finding::Faster
    } else {
        Finding::Slower
    }
}

#[cfg(test)]
mod tests;
