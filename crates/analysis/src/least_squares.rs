//! Fits curves of throughput by least squares. A curve has a scale and a few bounded coefficients.
//!
//! A point on the axis of the curve is, for example, a number of operations in flight. The
//! throughput at a point is a multiple of the scale: X = scale × relative(point). The curve is
//! fitted to ln X. Every block of trials has a separate level, and the scale is the mean of the
//! levels. So if a block lacks a trial, this does not distort the curve. For given coefficients,
//! the levels are means, so the search covers only the coefficients. The search uses Gauss-Newton
//! steps with the damping of Levenberg and Marquardt, and stays within the bounds.
//!
//! If there are enough blocks, the intervals come from resampling the blocks. Otherwise, they come
//! from the growth of the residual sum of squares. The same points always return the same fit and
//! the same intervals.

mod noise;
mod observations;

use crate::autocorrelation;
pub(crate) use noise::EXACT;
pub use noise::{Noise, free_count, noise_of_places, noise_of_trials, off_by_more, profiled};
pub use observations::{
    Observations, SeriesByPoint, Trial, blocks_count, by_block, by_place, once, usable,
};

/// Minimum number of blocks for intervals that are computed from the spread between blocks.
pub const BLOCKS_MIN: usize = 5;
/// Number of resamples. With five blocks, the ends of an interval are the third value from each end
/// of the sorted resamples.
const RESAMPLES: u64 = 2000;
/// Maximum number of steps of the fit, which usually needs about ten.
const STEPS_MAX: usize = 200;
/// Sums of squares below this value count as zero, because they are rounding errors.
const SQUARES_MIN: f64 = 1e-18;

/// A curve with `P` coefficients in addition to the scale.
pub trait Curve<const P: usize> {
    /// Type of a point on the axis, such as the number of operations in flight or the number of
    /// units.
    type At;
    /// Minimum and maximum of each coefficient.
    const BOUNDS: [[f64; 2]; P];
    /// Lowest value at which the search for the upper end of an interval starts, unless the upper
    /// bound of the coefficient is lower.
    const FAR: [f64; P];
    /// Starting points of the fit. All starting points lead to the same result, except for curves
    /// that are nearly flat or straight. The fit keeps the best result.
    const BEGINS: &'static [[f64; P]];

    /// Returns the logarithm of the ratio of the throughput at a point to the scale.
    fn ln_relative(at: &Self::At, coefficients: &[f64; P]) -> f64;
    /// Returns the derivatives of the logarithm of the throughput with respect to each coefficient.
    fn slopes(at: &Self::At, coefficients: &[f64; P]) -> [f64; P];
}

/// Coefficients of the best fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<const P: usize> {
    /// Logarithm of the scale: the mean of the blocks' levels.
    pub ln_scale: f64,
    /// Coefficients of the curve, without the scale.
    pub coefficients: [f64; P],
}

/// Coefficients that have a fixed value and are not fitted.
pub type FixedCoefficients<const P: usize> = [Option<f64>; P];

/// Returns the logarithm of the relative throughput of the curve at each point.
fn relative<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    at: &[f64; P],
) -> Vec<f64> {
    let places = seen.places.iter();
    places.map(|place| C::ln_relative(place, at)).collect()
}

/// Returns the residual of each trial. A residual is the distance of the trial from the curve,
/// after subtraction of the level of the block.
pub fn left<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    at: &[f64; P],
) -> Vec<f64> {
    seen.left(&relative::<P, C>(seen, at)).0
}

/// Returns the logarithm of the level of each block, or `None` for a block without a trial.
pub fn levels<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    at: &[f64; P],
) -> Vec<Option<f64>> {
    seen.left(&relative::<P, C>(seen, at)).1
}

/// Returns the weighted sum of the squared residuals.
pub fn squares<const P: usize, C: Curve<P>>(seen: &Observations<'_, C::At>, at: &[f64; P]) -> f64 {
    seen.weighted(&left::<P, C>(seen, at))
}

/// Returns the distance of the points from the curve, as the root mean square of ln (measured ÷
/// curve).
pub fn off<const P: usize, C: Curve<P>>(seen: &Observations<'_, C::At>, at: &[f64; P]) -> f64 {
    let places = seen.place_residuals(&left::<P, C>(seen, at));
    let squares: f64 = places.iter().map(|(off, weight)| weight * off * off).sum();
    (squares / seen.weights()).sqrt()
}

/// Fits a curve to observations of at least one point.
pub fn fit<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    held: &FixedCoefficients<P>,
) -> Fit<P> {
    fit_from::<P, C>(seen, held, C::BEGINS)
}

fn fit_from<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    held: &FixedCoefficients<P>,
    begins: &[[f64; P]],
) -> Fit<P> {
    let free = held.map(|held| held.is_none());
    let ends = begins.iter().map(|begin| {
        let begin = std::array::from_fn(|i| held[i].unwrap_or(begin[i]));
        descend::<P, C>(seen, begin, free)
    });
    let best = ends.min_by(|a, b| squares::<P, C>(seen, a).total_cmp(&squares::<P, C>(seen, b)));
    let coefficients = best.unwrap_or([0.0; P]);
    let levels: Vec<f64> = levels::<P, C>(seen, &coefficients).into_iter().flatten().collect();
    Fit {
        ln_scale: autocorrelation::mean(&levels),
        coefficients,
    }
}

/// Descends from a starting point to the least squares. Only the coefficients that are not fixed
/// change.
pub fn descend<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    begin: [f64; P],
    free: [bool; P],
) -> [f64; P] {
    let (mut at, mut damping) = (begin, 1e-3);
    let mut least = squares::<P, C>(seen, &at);
    for _ in 0..STEPS_MAX {
        let (hessian, gradient) = slopes::<P, C>(seen, &at);
        // A coefficient stays at its bound if the step would move it beyond the bound.
        let moves = std::array::from_fn(|i| {
            let [low, high] = C::BOUNDS[i];
            let leaves =
                (at[i] <= low && gradient[i] > 0.0) || (at[i] >= high && gradient[i] < 0.0);
            free[i] && !leaves
        });
        let step = solve(hessian, gradient, moves, damping);
        let next = std::array::from_fn(|i| {
            if free[i] {
                (at[i] + step[i]).clamp(C::BOUNDS[i][0], C::BOUNDS[i][1])
            } else {
                at[i]
            }
        });
        let sum = squares::<P, C>(seen, &next);
        if sum < least {
            let gain = least - sum;
            (at, least, damping) = (next, sum, damping / 4.0);
            if gain <= 1e-15 * least.max(1e-300) {
                break;
            }
        } else {
            damping *= 8.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    at
}

/// Returns the Gauss-Newton matrix and half the gradient of the sum of squares with respect to the
/// coefficients.
fn slopes<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    at: &[f64; P],
) -> ([[f64; P]; P], [f64; P]) {
    let left = left::<P, C>(seen, at);
    let slopes: Vec<[f64; P]> = seen.places.iter().map(|of| C::slopes(of, at)).collect();
    // The levels change with the coefficients, so each slope is reduced by the mean slope of its
    // block.
    let means: [Vec<(f64, f64)>; P] = std::array::from_fn(|i| {
        seen.sums(seen.blocks_end(), |trial| {
            (trial.block, slopes[trial.place][i])
        })
    });
    let (mut hessian, mut gradient) = ([[0.0; P]; P], [0.0; P]);
    for (trial, left) in seen.trials.iter().zip(left) {
        let slope: [f64; P] = std::array::from_fn(|i| {
            let (sum, weight) = means[i][trial.block];
            slopes[trial.place][i] - sum / weight
        });
        for i in 0..P {
            gradient[i] -= trial.weight * slope[i] * left;
            for j in 0..P {
                hessian[i][j] += trial.weight * slope[i] * slope[j];
            }
        }
    }
    (hessian, gradient)
}

/// Returns a damped step of the coefficients that may move. The function uses Gaussian elimination
/// without pivoting, because the matrix is positive semidefinite.
fn solve<const P: usize>(
    mut matrix: [[f64; P]; P],
    gradient: [f64; P],
    moves: [bool; P],
    damping: f64,
) -> [f64; P] {
    let mut right = gradient.map(|slope| -slope);
    for i in 0..P {
        if moves[i] {
            matrix[i][i] = matrix[i][i].mul_add(damping, matrix[i][i]).max(1e-300)
        } else {
            // A fixed coefficient does not move, and does not affect the other coefficients.
            (0..P).for_each(|j| (matrix[i][j], matrix[j][i]) = (0.0, 0.0));
            (matrix[i][i], right[i]) = (1.0, 0.0);
        }
    }
    for i in 0..P {
        matrix[i][i] = matrix[i][i].max(1e-300);
        for below in i + 1..P {
            let times = matrix[below][i] / matrix[i][i];
            let row = matrix[i];
            let changed = matrix[below].iter_mut().zip(row);
            changed.for_each(|(to, from)| *to -= times * from);
            right[below] -= times * right[i];
        }
    }
    let mut step = [0.0; P];
    for i in (0..P).rev() {
        let known: f64 = (i + 1..P).map(|j| matrix[i][j] * step[j]).sum();
        step[i] = (right[i] - known) / matrix[i][i];
    }
    step
}

/// Fits resamples of whole blocks (the bootstrap; Efron 1979), because a repetition of the study
/// would have other blocks. `seen` builds the observations from the number of times that each block
/// counts. The resamples are the same in every call. The fits start at `begins`.
pub fn resampled<'a, const P: usize, C: Curve<P>>(
    blocks: usize,
    seen: impl Fn(&[u32]) -> Observations<'a, C::At>,
    held: &FixedCoefficients<P>,
    begins: &[[f64; P]],
) -> Vec<[f64; P]>
where
    C::At: 'a,
{
    let places = seen(&vec![1; blocks]).places.len();
    let draw = |resample: u64| {
        let mut counts = vec![0; blocks];
        for draw in 0..blocks as u64 {
            let at = spread(resample * blocks as u64 + draw) % blocks as u64;
            counts[at as usize] += 1;
        }
        let seen = seen(&counts);
        // A resample is not usable if it omits all blocks of a point, or if none of its blocks
        // connects a point to the others. Such a resample describes another curve.
        let is_same = seen.places.len() == places && seen.is_bound();
        is_same.then(|| fit_from::<P, C>(&seen, held, begins).coefficients)
    };
    (0..RESAMPLES).filter_map(draw).collect()
}

/// Returns the 95 % interval of values from fits of resampled blocks. Plain percentiles of few
/// blocks are too narrow. So the function uses percentiles that correspond to Student's t for the
/// number of blocks (Hesterberg 2015, "What teachers should know about the bootstrap").
pub fn between(mut values: Vec<f64>, blocks: usize) -> [f64; 2] {
    let count = blocks as f64;
    let far = autocorrelation::t_quantile(0.975, count - 1.0) * (count / (count - 1.0)).sqrt();
    let outside = autocorrelation::normal_below(-far);
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (values.len().saturating_sub(1)) as f64 * share;
        values.get(index.round() as usize).copied().unwrap_or(0.0)
    };
    [at(outside), at(1.0 - outside)]
}

/// Spreads numbers evenly over 64 bits. This is the finalizer of SplitMix64 (Steele et al. 2014).
fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
