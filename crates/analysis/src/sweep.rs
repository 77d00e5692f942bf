//! Interprets a sweep: finds the best point, the point at which latency exceeded a bound, and the
//! point of saturation.
//!
//! The knee is the point beyond which more load gains little. The gain of a step depends on the
//! length of the step. So this module uses the *elasticity*, d ln throughput ÷ d ln load. It is 1
//! if throughput grows in proportion to the load, and 0 if throughput stays the same. The fit
//! covers **all** points from the knee on. The upper end of the elasticity's interval must be
//! small, not only the estimate. So a single noisy pair of points cannot decide the result. A sweep
//! of 64, 65, … 70 threads, whose steps are shorter than its noise, has no detectable knee.

use crate::autocorrelation;
use measure::Known;

/// One step of a sweep. Steps are ordered from the lowest to the highest load.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepStep {
    /// Load on the axis, as a number of threads or in op/s.
    pub load: f64,
    /// Achieved throughput of each block, in op/s.
    pub ops_per_s: Vec<f64>,
    /// p99 of the latency of all operations of the step, in ms.
    pub p99_ms: Known,
    /// State that determines which figures of the step are usable.
    pub state: State,
}

/// State that determines which figures of a point are usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Both throughput and latency are usable.
    Kept,
    /// Only the throughput is usable. In an open loop, the target did less than the client offered,
    /// because it could not do more. The latency then grows as long as the trial lasts.
    Saturated,
    /// The step is not usable, because the trial is invalid or missing.
    Unusable,
}

/// The point beyond which more load gains little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// The knee is at the point with this index. From this point on, throughput stops growing while
    /// p99 grows.
    At(usize),
    /// The sweep has no knee, because throughput still grows at the end.
    Growing,
    /// The knee is unknown, because the load grows by too little or the noise is too large.
    Inconclusive,
}

/// Results of a sweep. The values are indexes of points. Unusable points are not considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Point with the highest throughput among the points at which the target kept up. If the
    /// target kept up at no point, this is the point with the highest throughput among the
    /// saturated points.
    pub best: Option<usize>,
    /// Point with the highest throughput whose p99 is certainly within the bound. `None` if no
    /// bound is set.
    pub best_within_bound: Option<usize>,
    /// Point with the highest throughput whose p99 is only known to be at least a value within the
    /// bound. `None` unless the throughput exceeds that of `best_within_bound`.
    pub inconclusive_within_bound: Option<usize>,
    /// First point that is saturated, or whose p99 is certainly above the bound. `None` if no bound
    /// is set.
    pub first_over_bound: Option<usize>,
    /// First saturated point. `None` unless all later points are saturated as well.
    pub saturated_from: Option<usize>,
    pub knee: Knee,
    /// True if the best point is the last usable point, so that the peak may be beyond the sweep.
    pub best_is_last: bool,
}

/// Elasticity below which more load gains too little. At this elasticity, doubling the load gains a
/// tenth.
const ELASTICITY_MIN: f64 = 0.1375;
/// Minimum elasticity of p99 beyond a knee. On a target at its limit, p99 must grow at least with
/// the square root of the load.
const LATENCY_ELASTICITY_MIN: f64 = 0.5;
/// Minimum factor by which the load must grow beyond a knee. Over a shorter range, noise is larger
/// than any gain.
const RANGE_MIN: f64 = 2.0;
/// Smallest assumed deviation of trials of one point on a quiet machine, as a share. It is half of
/// the margin of throughput, because 95 % of trials are within two deviations. Points with a single
/// block do not show the deviation, so it must be assumed.
const TRIAL_DEVIATION_MIN: f64 = 0.015;
/// Quantile for a one-sided test at a level of 5 %.
const ONE_SIDED: f64 = 0.95;

impl SweepStep {
    /// Returns the mean throughput over the blocks.
    pub fn mean_ops_per_s(&self) -> f64 {
        autocorrelation::mean(&self.ops_per_s)
    }
}

/// Interprets a sweep. `p99_bound_ms` is the bound on p99 in ms, if any.
pub fn read_sweep(points: &[SweepStep], p99_bound_ms: Option<f64>) -> Reading {
    let of = |state: State| -> Vec<usize> {
        (0..points.len()).filter(|&i| points[i].state == state).collect()
    };
    let (kept, saturated) = (of(State::Kept), of(State::Saturated));
    let over = |i: &usize| match p99_bound_ms {
        Some(bound) => points[*i].p99_ms.is_above(bound),
        None => Some(false),
    };
    let highest = |indexes: &[usize]| {
        indexes.iter().copied().max_by(|&a, &b| {
            // Among points with equal throughput, the first point has the lowest load, so it is the
            // best.
            let (left, right) = (points[a].mean_ops_per_s(), points[b].mean_ops_per_s());
            left.total_cmp(&right).then(b.cmp(&a))
        })
    };
    let [within, inconclusive] = [Some(false), None].map(|wanted| {
        let so = kept.iter().copied().filter(|i| over(i) == wanted);
        highest(&so.collect::<Vec<usize>>()).filter(|_| p99_bound_ms.is_some())
    });
    let more = |i: &usize| {
        let ops_per_s = |i: usize| points[i].mean_ops_per_s();
        within.is_none_or(|within| ops_per_s(*i) > ops_per_s(within))
    };
    let best = highest(&kept).or_else(|| highest(&saturated));
    let mut usable = [kept.as_slice(), saturated.as_slice()].concat();
    usable.sort_unstable();
    let is_over = |i: &&usize| over(i) == Some(true) || points[**i].state == State::Saturated;
    Reading {
        best,
        best_within_bound: within,
        inconclusive_within_bound: inconclusive.filter(more),
        first_over_bound: usable.iter().find(is_over).copied().filter(|_| p99_bound_ms.is_some()),
        saturated_from: saturated_from(&kept, &saturated),
        knee: knee(points, &usable, &kept, &saturated),
        best_is_last: best.is_some() && best == usable.last().copied(),
    }
}

/// Returns the first saturated point. Returns `None` if the target kept up at any later point.
fn saturated_from(kept: &[usize], saturated: &[usize]) -> Option<usize> {
    let first = saturated.first().copied()?;
    kept.iter().all(|kept| *kept < first).then_some(first)
}

fn knee(points: &[SweepStep], usable: &[usize], kept: &[usize], saturated: &[usize]) -> Knee {
    // If the target falls behind at the end of an open loop, the knee is the last point at which it
    // kept up.
    if let (Some(last), Some(_)) = (kept.last(), saturated_from(kept, saturated)) {
        return Knee::At(*last);
    }
    let rising: Vec<&SweepStep> = usable.iter().map(|&i| &points[i]).collect();
    let is_ladder = rising.windows(2).all(|pair| pair[1].load > pair[0].load);
    let positive =
        |p: &&SweepStep| p.load > 0.0 && p.mean_ops_per_s() > 0.0 && p.p99_ms.least() > 0.0;
    if !is_ladder || !rising.iter().all(positive) {
        return Knee::Inconclusive;
    }
    let noise = Noise::pooled(&rising);
    if let Some(at) = (0..rising.len()).find(|&at| is_knee(&rising[at..], noise)) {
        return Knee::At(usable[at]);
    }
    if still_grows(&rising, noise) {
        Knee::Growing
    } else {
        Knee::Inconclusive
    }
}

/// Returns true if the first point of `tail` is a knee: throughput gains too little over all points
/// and at each later point, and p99 grows.
fn is_knee(tail: &[&SweepStep], noise: Noise) -> bool {
    let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
        return false;
    };
    if last.load < first.load * RANGE_MIN {
        return false;
    }
    let (slope, error) = elasticity(tail, noise);
    // If the throughput of any later point justifies its load, the first point is not a knee.
    let pays = |point: &&SweepStep| {
        let gain = (point.mean_ops_per_s() / first.mean_ops_per_s()).ln();
        let needed = ELASTICITY_MIN * (point.load / first.load).ln();
        let error = (noise.point_error(first).powi(2) + noise.point_error(point).powi(2)).sqrt();
        gain > needed + noise.quantile() * error
    };
    let load = (last.load / first.load).ln();
    slope + noise.quantile() * error < ELASTICITY_MIN
        && has_grown(first.p99_ms, last.p99_ms, load)
        && !tail[1..].iter().any(pays)
}

/// Returns true if p99 has certainly grown with the load. A lower bound on p99 is sufficient for
/// the last point, but not for the first point.
fn has_grown(first_ms: Known, last_ms: Known, load: f64) -> bool {
    let least = (last_ms.least() / first_ms.least()).ln();
    !first_ms.is_at_least() && least >= LATENCY_ELASTICITY_MIN * load
}

/// Returns true if throughput still grows at the end. The function uses the shortest range at the
/// end that is long enough to decide.
fn still_grows(points: &[&SweepStep], noise: Noise) -> bool {
    let Some(last) = points.last() else {
        return false;
    };
    let long = |at: &usize| last.load >= points[*at].load * RANGE_MIN;
    let Some(from) = (0..points.len()).rev().find(long) else {
        return false;
    };
    let (slope, error) = elasticity(&points[from..], noise);
    slope - noise.quantile() * error > ELASTICITY_MIN
}

/// Returns the elasticity over the points by least squares, and the standard error of the
/// elasticity. The error comes from the noise of the points or from their distances to the line,
/// whichever is larger.
fn elasticity(points: &[&SweepStep], noise: Noise) -> (f64, f64) {
    let x: Vec<f64> = points.iter().map(|p| p.load.ln()).collect();
    let y: Vec<f64> = points.iter().map(|p| p.mean_ops_per_s().ln()).collect();
    let (mean_x, mean_y) = (autocorrelation::mean(&x), autocorrelation::mean(&y));
    let square: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let product = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y));
    let slope = product.sum::<f64>() / square;
    let off = x.iter().zip(&y).map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2));
    let residual = match points.len() {
        0..=2 => 0.0,
        count => off.sum::<f64>() / (count - 2) as f64,
    };
    let known =
        points.iter().map(|p| noise.point_error(p).powi(2)).sum::<f64>() / points.len() as f64;
    (slope, (residual.max(known) / square).sqrt())
}

#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the logarithm of one trial's throughput.
    deviation: f64,
    freedom: f64,
}

impl Noise {
    fn pooled(points: &[&SweepStep]) -> Noise {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for point in points {
            let values = point.ops_per_s.iter().filter(|v| **v > 0.0);
            let logs: Vec<f64> = values.map(|v| v.ln()).collect();
            let more = logs.len().saturating_sub(1) as f64;
            sum += autocorrelation::variance(&logs) * more;
            freedom += more;
        }
        let seen = if freedom > 0.0 {
            (sum / freedom).sqrt()
        } else {
            0.0
        };
        Noise {
            deviation: seen.max(TRIAL_DEVIATION_MIN),
            // The smallest assumed deviation is not an estimate from the blocks, so its degrees of
            // freedom are practically infinite.
            freedom: if seen > TRIAL_DEVIATION_MIN {
                freedom
            } else {
                1e6
            },
        }
    }

    /// Returns the standard error of the logarithm of a point's mean throughput.
    fn point_error(self, point: &SweepStep) -> f64 {
        self.deviation / (point.ops_per_s.len().max(1) as f64).sqrt()
    }

    fn quantile(self) -> f64 {
        autocorrelation::t_quantile(ONE_SIDED, self.freedom)
    }
}

#[cfg(test)]
mod tests;
