//! Telling two variants apart.
//!
//! A run is one unit: a million operations of one run are one observation of how that variant does
//! that day. So a comparison takes one number per block and side, works on logarithms (ratios are
//! what carries over to other machines), and gives the ratio of geometric means with a 95 %
//! interval by Student's t. With one block a side there is a ratio and no interval: the variation
//! *between* runs was not observed, and the much smaller variation within a run must not stand in
//! for it; the finding is then [`Finding::Inconclusive`], however large the ratio.
//!
//! Only trials that took turns are pairs. What ran one after the other differs by all that changed
//! meanwhile, which its own blocks cannot show: equal runs were called different in 13 to 23 % of
//! cases by Welch's test. Such an interval is widened by a stated variance between runs
//! ([`Metric::between_runs`]) and never says more than [`Finding::LooksDifferent`].
//!
//! A percentile may be known as a lower bound only. Then the ratio is a bound as well, and only the
//! end of the interval on its known side is one: the variant that is at least so slow can be found
//! slower, and neither faster nor equivalent. It is the mean of values of which none is above the
//! true one that is tested, so that a difference is called no more often than at the level. With
//! bounds on both sides there is no ratio.

use crate::autocorrelation;
use crate::robust::{self, Robust};
use crate::sequential::Looks;
use measure::Known;

/// What is compared: which way is better, and how far apart still counts as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Whether more is better.
    pub higher_is_better: bool,
    /// A ratio within 1/(1 + margin) and 1 + margin is no difference that matters.
    pub margin: f64,
    /// Standard deviation, as a share, of one run from the next of the same study on the same
    /// machine, at least; only for runs that were not interleaved. Of three equal runs that were
    /// published (1 h, 1 h and 24 h on one cluster) the throughputs lie 3.7 % apart, a deviation
    /// of 2.2 %, and the mean read latencies 23 %, one of 12 % (range ÷ 1.69 for three values).
    pub between_runs: f64,
    /// How far apart, as a logarithm, two values may lie that were found on a grid and are the
    /// same: what a search ends with is the grid's point below the truth. 0 of what is measured.
    pub grid: f64,
}

impl Metric {
    /// Operations per second: ±3 %, about the day-to-day spread of a quiet machine.
    pub const THROUGHPUT: Metric = Metric {
        higher_is_better: true,
        margin: 0.03,
        between_runs: 0.03,
        grid: 0.0,
    };
    /// p99 and other tail latencies: ±10 %, since tails vary more.
    pub const LATENCY: Metric = Metric {
        higher_is_better: false,
        margin: 0.10,
        between_runs: 0.12,
        grid: 0.0,
    };

    /// What operations cost: ±5 %. From run to run it scatters as latency does, at most: nobody has
    /// published how much.
    pub const COST: Metric = Metric {
        higher_is_better: false,
        margin: 0.05,
        between_runs: 0.12,
        grid: 0.0,
    };

    /// The same of what was found on a grid whose points lie so many times apart.
    pub fn on_grid(self, step: f64) -> Metric {
        Metric {
            grid: step.max(1.0).ln(),
            ..self
        }
    }
}

measure::word_enum! {
    /// What a comparison says about the contender.
    #[derive(Default)]
    pub enum Finding {
        /// The whole interval is on the better side of 1, and not all inside the margin.
        Faster = "faster",
        /// The whole interval is on the worse side of 1, and not all inside the margin.
        Slower = "slower",
        /// Either of these, of runs that were not interleaved: it may be the machine.
        LooksDifferent = "looks_different",
        /// The whole interval is inside the margin: any difference is too small to matter.
        Equivalent = "equivalent",
        /// None of these: more blocks, or longer ones, are needed.
        #[default]
        Inconclusive = "inconclusive",
    }
}

impl Finding {
    /// Whether it says that the two differ.
    pub fn is_difference(self) -> bool {
        matches!(
            self,
            Finding::Faster | Finding::Slower | Finding::LooksDifferent
        )
    }
}

/// The level of intervals, and with it of equivalence.
pub const LEVEL: f64 = 0.05;
/// The level at which a comparison that stands alone is called different: stricter than that of
/// its interval, since the word is what people act upon. Of forty studies in which nothing
/// differs, 5 % would call two, and in every third such forty more
/// (`docs/decisions/030-the-word-different.md`).
pub const DIFFERENCE_LEVEL: f64 = 0.03;
/// A difference from which on nobody needs its figure, as a share: what could not see less has seen
/// nothing.
pub const TENFOLD: f64 = 9.0;
/// With which probability a difference of the size of [`Comparison::could_see`] is seen.
pub const POWER: f64 = 0.80;
/// More blocks than this settle nothing: the machine has to become quieter.
pub const BLOCKS_TO_SETTLE_MAX: usize = 1000;

/// A comparison of two variants. What it says depends on how many others there are: see
/// [`crate::multiple_comparisons`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Contender ÷ baseline, of geometric means.
    pub ratio: f64,
    /// Whether it is only that or more, or that or less; none where it is known.
    pub bound: Option<Bound>,
    /// Blocks (pairs), or the smaller side's number of runs.
    pub blocks: usize,
    /// The standard deviation between runs that the interval was widened by, as a share; none of
    /// pairs.
    pub between_runs: Option<f64>,
    /// What stands beside the ratio if one block differs from the others; none of a bound, and of
    /// what is not paired.
    pub robust: Option<Robust>,
    /// How often it is looked at.
    pub looks: Looks,
    /// How many comparisons of its kind share the level of its interval.
    among: usize,
    metric: Metric,
    /// Of the logarithm of the ratio; none with one block a side.
    error: Option<LogError>,
}

measure::word_enum! {
    /// What a ratio is, of which one side is only known to be at least so large.
    #[derive(Default)]
    pub enum Bound {
        /// The contender's values are lower bounds, or some of them.
        #[default]
        AtLeast = "at_least",
        /// The baseline's are.
        AtMost = "at_most",
    }
}

impl Bound {
    /// What stands before a ratio that is only that: `at least `.
    pub fn before(self) -> String {
        match self {
            Bound::AtLeast => "at least ".to_owned(),
            Bound::AtMost => "at most ".to_owned(),
        }
    }

    /// What a ratio is whose sides have such values.
    fn of(baseline: bool, contender: bool) -> Result<Option<Bound>, NotCompared> {
        match (baseline, contender) {
            (false, false) => Ok(None),
            (false, true) => Ok(Some(Bound::AtLeast)),
            (true, false) => Ok(Some(Bound::AtMost)),
            (true, true) => Err(NotCompared::BoundsOnBothSides),
        }
    }
}

/// Why there is no comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCompared {
    /// A side has no positive finite value.
    NoValues,
    /// On both sides are values that are only lower bounds: their ratio may be anything.
    BoundsOnBothSides,
}

/// The error of a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogError {
    standard_error: f64,
    freedom: f64,
}

/// Compares pairs of one block each: (baseline, contender), run close to each other. Pairing takes
/// out what changes from block to block.
///
/// # Errors
/// No pair has two positive finite values, or there are lower bounds on both sides.
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
    let bound = Bound::of(
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

/// Compares runs that did not take turns: of different days, or one variant after the other.
/// Welch's interval, widened by the variance between runs: that of the metric, or that between
/// the blocks of the runs if it is larger, since a run differs from the next at least as much as
/// its blocks do from each other.
///
/// # Errors
/// A side has no positive finite value, or there are lower bounds on both sides.
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
    let bound = Bound::of(base_bound, cont_bound)?;
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
    // Welch and Satterthwaite's degrees of freedom, but at most those of the blocks: which of the
    // two variances is larger is told by them alone. Of two blocks a side 7 % of equal runs looked
    // different without that.
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

/// The logarithms of the values that have one, and whether any of them is a lower bound.
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
    /// The same, looked at so often, with `among` comparisons of its kind that share the level of
    /// its interval.
    pub fn looked_at(mut self, looks: Looks, among: usize) -> Comparison {
        self.looks = looks;
        self.among = among.max(1);
        self
    }

    /// 95 % confidence interval of the ratio, for it alone, over all looks; none with one block a
    /// side, none of a ratio that is a bound, and none where it would have no end.
    pub fn ci95(&self) -> Option<[f64; 2]> {
        self.bound.is_none().then(|| self.reach()).flatten()
    }

    /// Of a ratio that is a bound, the end of its 95 % interval that is known; none with one block
    /// a side.
    pub fn ci95_end(&self) -> Option<f64> {
        let [low, high] = self.reach()?;
        match self.bound? {
            Bound::AtLeast => Some(low),
            Bound::AtMost => Some(high),
        }
    }

    /// Where the ratio lies, for it alone: the interval, open on the side that nobody knows.
    fn reach(&self) -> Option<[f64; 2]> {
        let half = self.half(self.error?, self.blocks, self.level())?;
        let [low, high] = [self.ratio * (-half).exp(), self.ratio * half.exp()];
        Some(match self.bound {
            None => [low, high],
            Some(Bound::AtLeast) => [low, f64::INFINITY],
            Some(Bound::AtMost) => [0.0, high],
        })
    }

    /// Probability of a ratio at least as far from 1, at any of the looks, if the variants are
    /// equal; none with one block a side, and none before the first look. Of a bound that says
    /// nothing, since it lies on its open side of 1, it is 1.
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

    /// Whether the ratio is further from 1 than the margin of its metric.
    pub fn is_beyond_margin(&self) -> bool {
        self.ratio.ln().abs() > self.metric.margin.ln_1p()
    }

    /// What it says, given `p`: its own, or one adjusted for the others.
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

    /// The smallest difference that it could have seen, as a share: one of this size is found at
    /// `level` in four of five studies like this one. None with one block a side, and none of a
    /// bound, which is found in one direction only.
    pub fn could_see(&self, level: f64) -> Option<f64> {
        let error = self.error.filter(|_| self.bound.is_none())?;
        let power = autocorrelation::t_quantile(POWER, error.freedom) * error.standard_error;
        Some((self.half(error, self.blocks, level)? + power).exp() - 1.0)
    }

    /// The standard deviation of the ratio from block to block, as a share; none with one block,
    /// and of what is not paired.
    pub fn noise(&self) -> Option<f64> {
        let error = self.error.filter(|_| self.between_runs.is_none())?;
        Some(error.standard_error * (self.blocks as f64).sqrt())
    }

    /// How many blocks decide it at `level`, if blocks go on to vary as they did. Where the ratio
    /// is beyond the margin and stays what it is: so many that the interval at `level` leaves 1
    /// out. Whatever the ratio is: so many that half the interval at `level`, and half the one of
    /// 95 %, fit into the margin. Then it is either further from 1 than the one, or so near that
    /// the other lies within the margin. The fewer of both. None with one block, when the runs did
    /// not take turns or the ratio is a bound (more of the same would not help), and above
    /// [`BLOCKS_TO_SETTLE_MAX`].
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

    /// The overall level of its interval.
    fn level(&self) -> f64 {
        LEVEL / self.among as f64
    }

    /// Half the two-sided interval with so many blocks; none where it would have no end.
    fn half(&self, error: LogError, blocks: usize, level: f64) -> Option<f64> {
        let looks = match self.looks {
            // What more blocks would settle, a plan of so many would.
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
