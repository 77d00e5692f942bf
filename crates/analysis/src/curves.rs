//! The Universal Scalability Law: throughput against the operations in flight as one curve.
//!
//! X(N) = λ N ÷ (1 + σ (N − 1) + κ N (N − 1)) (Gunther, "Guerrilla Capacity Planning", 2007). N is
//! the number of operations in flight, λ the throughput of one operation in flight, and σ the share
//! of the work that is serialized. κ is the cost of coherency. Because of κ, throughput falls
//! beyond N* = √((1 − σ) ÷ κ).
//!
//! The curve is fitted to ln X by least squares with 0 ≤ σ ≤ 1 and κ ≥ 0 (see
//! [`crate::least_squares`]).
//!
//! A curve can be drawn through any points. So this module does not return a curve for few loads,
//! or for loads that end before throughput bends. It also returns no curve if the points deviate
//! from the curve. If κ does not differ significantly from 0, the result has no peak, even if the
//! formula has one. If the peak is at or before the first measured load, the result contains only
//! that load, because the rise of throughput was not measured.

use crate::least_squares::{self, Curve, Fit, FixedCoefficients, Observations, SeriesByPoint};

pub use crate::least_squares::BLOCKS_MIN;

/// Minimum number of loads for a fit of the three coefficients of the curve.
pub const LOADS_MIN: usize = 6;
/// Minimum ratio of the highest measured throughput to the throughput at the peak of the curve.
const PEAK_RATIO_MIN: f64 = 0.6;
/// Maximum root mean square of ln (measured ÷ curve) of the points.
pub(crate) const OFF_MAX: f64 = 0.05;
/// Maximum ratio of the load at a reported peak to the highest measured load.
const BEYOND_MAX: f64 = 2.0;
/// Value below which a coefficient counts as zero. With a smaller κ, N* would be above a hundred
/// thousand.
pub(crate) const NONE_MAX: f64 = 1e-10;

/// One load of a closed loop, with its measured throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Number of operations in flight.
    pub threads: f64,
    /// Throughput of each block, in op/s. `None` if the trial may not be used.
    pub ops_per_s: Vec<Option<f64>>,
}

/// The three coefficients of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Throughput of one operation in flight, in op/s.
    pub lambda: f64,
    /// Contention (σ): the share of the work that is serialized.
    pub sigma: f64,
    /// Coherency (κ): the cost of agreement for each pair of operations.
    pub kappa: f64,
}

/// A fitted curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Usl {
    pub coefficients: Coefficients,
    /// 95 % confidence interval of σ.
    pub sigma_ci95: [f64; 2],
    /// 95 % confidence interval of κ.
    pub kappa_ci95: [f64; 2],
    /// Distance of the points from the curve, as the root mean square of ln (measured ÷ curve).
    pub off: f64,
    /// Peak of the throughput.
    pub peak: Peak,
}

/// Location of the peak of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// The peak is above the first measured load, and at most at twice the highest measured load.
    At {
        /// Number of operations in flight at the peak.
        threads: f64,
        /// 95 % confidence interval of the operations in flight at the peak.
        threads_ci95: [f64; 2],
        /// Throughput at the peak, in op/s.
        ops_per_s: f64,
    },
    /// The peak is at or before the first measured load, because throughput only falls over the
    /// measured loads. By the formula, N* may then be below 1, or 0 if σ is 1.
    First {
        /// First measured load, as a number of operations in flight.
        threads: f64,
    },
    /// κ does not differ significantly from 0, so the measurement does not show a peak.
    Inconclusive,
    /// The peak is above twice the highest measured load, where the curve must not be extrapolated.
    Beyond,
}

/// Reason why no curve can be fitted to the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoCurve {
    /// Too few loads are usable. The value is the number of usable loads.
    FewLoads(usize),
    /// The loads end before throughput bends.
    StillGrowing,
    /// The points are too far from the best curve. The value is the root mean square of ln
    /// (measured ÷ curve).
    OffCurve(f64),
}

impl NoCurve {
    /// Describes the reason.
    pub fn words(self) -> String {
        match self {
            NoCurve::FewLoads(count) => {
                format!(
                    "only {count} loads are usable, but a curve with three coefficients needs \
                     {LOADS_MIN} loads"
                )
            }
            NoCurve::StillGrowing => {
                "throughput does not yet flatten at the highest load: measure with more operations \
                 in flight"
                    .to_owned()
            }
            NoCurve::OffCurve(off) => format!(
                "the points deviate from the best curve by {:.1} %, but the limit is {:.0} %",
                off * 100.0,
                OFF_MAX * 100.0
            ),
        }
    }
}

impl Coefficients {
    /// Returns the throughput at a number of operations in flight.
    pub fn throughput_at(self, threads: f64) -> f64 {
        (self.lambda * threads) / slowing(threads, [self.sigma, self.kappa])
    }

    /// Returns the number of operations in flight at which the throughput is highest. The result is
    /// infinite if κ is zero.
    pub fn peak_threads(self) -> f64 {
        if self.kappa > NONE_MAX {
            ((1.0 - self.sigma) / self.kappa).sqrt()
        } else {
            f64::INFINITY
        }
    }

    /// Returns the highest throughput at the load `first` and above. The result is infinite if the
    /// throughput grows without limit.
    fn most(self, first: f64) -> f64 {
        match self.peak_threads() {
            peak if peak.is_finite() => self.throughput_at(peak.max(first)),
            _ if self.sigma > NONE_MAX => self.lambda / self.sigma,
            _ => f64::INFINITY,
        }
    }
}

/// The Universal Scalability Law as a curve of throughput over the number of operations in flight,
/// with the coefficients σ and κ.
pub(crate) enum Law {}

impl Curve<2> for Law {
    type At = f64;
    const BOUNDS: [[f64; 2]; 2] = [[0.0, 1.0], [0.0, f64::INFINITY]];
    const FAR: [f64; 2] = [1.0, 1.0];
    const BEGINS: &'static [[f64; 2]] = &[[0.05, 1e-3], [0.5, 1e-5], [0.01, 1e-6], [0.2, 0.05]];

    fn ln_relative(threads: &f64, coefficients: &[f64; 2]) -> f64 {
        threads.ln() - slowing(*threads, *coefficients).ln()
    }

    fn slopes(threads: &f64, coefficients: &[f64; 2]) -> [f64; 2] {
        let (n, slow) = (*threads, slowing(*threads, *coefficients));
        [-(n - 1.0) / slow, -n * (n - 1.0) / slow]
    }
}

/// Returns the factor by which the operations of a load are slower than if they did not affect each
/// other.
pub(crate) fn slowing(threads: f64, [sigma, kappa]: [f64; 2]) -> f64 {
    1.0 + sigma * (threads - 1.0) + kappa * threads * (threads - 1.0)
}

const FREE: FixedCoefficients<2> = [None; 2];

/// Fits the curve. The same loads always return the same curve and intervals.
///
/// # Errors
/// Fewer than [`LOADS_MIN`] loads are usable, the points deviate too much from the best curve, or
/// throughput does not flatten within the measured loads.
pub fn fit(loads: &[Load]) -> Result<Usl, NoCurve> {
    let usable = loads.iter().filter(|load| load.threads >= 1.0);
    let measured: Vec<(f64, &[Option<f64>])> =
        usable.map(|load| (load.threads, load.ops_per_s.as_slice())).collect();
    let seen = least_squares::by_place(&measured, &least_squares::once(&measured));
    if seen.places.len() < LOADS_MIN {
        return Err(NoCurve::FewLoads(seen.places.len()));
    }
    let fitted = least_squares::fit::<2, Law>(&seen, &FREE);
    let found = coefficients(fitted.ln_scale, fitted.coefficients);
    let off = least_squares::off::<2, Law>(&seen, &fitted.coefficients);
    if off > OFF_MAX {
        return Err(NoCurve::OffCurve(off));
    }
    let most = seen.trials.iter().map(|of| of.ln_ops.exp()).fold(0.0, f64::max);
    let [first, last] = ends(&seen);
    if most < PEAK_RATIO_MIN * found.most(first) {
        return Err(NoCurve::StillGrowing);
    }
    let [sigma_ci95, kappa_ci95, threads_ci95] = intervals(&measured, &seen, &fitted);
    Ok(Usl {
        coefficients: found,
        sigma_ci95,
        kappa_ci95,
        off,
        peak: peak(found, kappa_ci95, threads_ci95, [first, last]),
    })
}

pub(crate) fn coefficients(ln_scale: f64, [sigma, kappa]: [f64; 2]) -> Coefficients {
    Coefficients {
        lambda: ln_scale.exp(),
        sigma,
        kappa,
    }
}

pub(crate) fn ends(seen: &Observations<'_, f64>) -> [f64; 2] {
    let places = seen.places.iter().map(|place| **place);
    [
        places.clone().fold(f64::INFINITY, f64::min),
        places.fold(0.0, f64::max),
    ]
}

/// Returns the peak. The interval of κ and the first and last load decide whether a peak can be
/// reported.
pub(crate) fn peak(
    found: Coefficients,
    kappa_ci95: [f64; 2],
    threads_ci95: [f64; 2],
    [first, last]: [f64; 2],
) -> Peak {
    let threads = found.peak_threads();
    if found.kappa <= NONE_MAX || kappa_ci95[0] <= NONE_MAX {
        Peak::Inconclusive
    } else if threads <= first {
        Peak::First { threads: first }
    } else if threads > BEYOND_MAX * last {
        Peak::Beyond
    } else {
        Peak::At {
            threads,
            // The law starts at one operation in flight, so the interval must not start below that.
            threads_ci95: threads_ci95.map(|end| end.max(1.0)),
            ops_per_s: found.throughput_at(threads),
        }
    }
}

/// Returns the intervals of σ, κ and N*. With at least `BLOCKS_MIN` blocks, they come from
/// resampled blocks, and otherwise from the growth of the residual sum of squares.
fn intervals(
    measured: &SeriesByPoint<'_, f64>,
    seen: &Observations<'_, f64>,
    found: &Fit<2>,
) -> [[f64; 2]; 3] {
    let blocks = least_squares::blocks_count(measured);
    if blocks >= BLOCKS_MIN {
        let seen = |counts: &[u32]| least_squares::by_place(measured, counts);
        let draws = least_squares::resampled::<2, Law>(blocks, seen, &FREE, Law::BEGINS);
        return between_draws(&draws, blocks);
    }
    let noise = least_squares::noise_of_places::<2, Law>(seen, found, &FREE)
        .expect("the fit has more loads than coefficients");
    let [sigma, kappa] = least_squares::profiled::<2, Law>(seen, found, &FREE, noise);
    [sigma, kappa, threads_between(seen, found, kappa)]
}

fn between_draws(draws: &[[f64; 2]], blocks: usize) -> [[f64; 2]; 3] {
    let of = |pick: fn(Coefficients) -> f64| {
        let values = draws.iter().map(|drawn| pick(coefficients(0.0, *drawn)));
        least_squares::between(values.collect(), blocks)
    };
    [
        of(|drawn| drawn.sigma),
        of(|drawn| drawn.kappa),
        of(Coefficients::peak_threads),
    ]
}

/// Returns the interval of N* that corresponds to an interval of κ. N* falls as κ grows. For each
/// κ, the function uses the σ that fits best.
pub(crate) fn threads_between(
    seen: &Observations<'_, f64>,
    found: &Fit<2>,
    kappa: [f64; 2],
) -> [f64; 2] {
    let threads = |kappa: f64| {
        if kappa.is_infinite() {
            return 0.0;
        }
        let begin = [found.coefficients[0], kappa];
        let best = least_squares::descend::<2, Law>(seen, begin, [true, false]);
        coefficients(0.0, best).peak_threads()
    };
    [threads(kappa[1]), threads(kappa[0])]
}

#[cfg(test)]
mod tests;
