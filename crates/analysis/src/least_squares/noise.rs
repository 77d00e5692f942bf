//! Estimates the noise of trials and points around a curve, and the resulting uncertainty of the
//! coefficients.
//!
//! Two kinds of noise limit the precision of a coefficient. First, trials of one point differ from
//! block to block. Second, a point is off the curve by an amount that further blocks would not
//! change, because no machine follows a formula exactly. The second kind has as many observations
//! as there are points, regardless of the number of measurements.

use super::{Curve, Fit, FixedCoefficients, Observations, SQUARES_MIN, descend, squares};
use crate::autocorrelation;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Smallest assumed noise of a throughput, as a share.
pub(crate) const EXACT: f64 = 1e-6;
/// Level of the test for points off the curve. The test wrongly rejects one in a hundred correct
/// curves.
const OFF_LEVEL: f64 = 0.01;
/// Maximum number of rounds that subtract the means of points and of blocks. If few trials are
/// missing, ten rounds are enough.
const ROUNDS_MAX: usize = 1000;

/// Variance of a logarithm around the curve, with its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Variance of the logarithm of a throughput.
    pub variance: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Noise {
    fn from_squares(squares: f64, freedom: Option<usize>) -> Option<Noise> {
        let freedom = freedom.filter(|freedom| *freedom > 0)? as f64;
        Some(Noise {
            variance: squares.max(0.0) / freedom,
            freedom,
        })
    }
}

/// Returns the number of fitted coefficients.
pub fn free_count<const P: usize>(held: &FixedCoefficients<P>) -> usize {
    held.iter().filter(|held| held.is_none()).count()
}

/// Returns the noise of the trials around the curve. Returns `None` if the trials do not outnumber
/// the levels and coefficients together.
pub fn noise_of_trials<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    found: &Fit<P>,
    held: &FixedCoefficients<P>,
) -> Option<Noise> {
    let looked_for = seen.levels_count() + free_count(held);
    let squares = squares::<P, C>(seen, &found.coefficients);
    Noise::from_squares(squares, seen.trials.len().checked_sub(looked_for))
}

/// Returns the noise of the points around the curve. Returns `None` if the points do not outnumber
/// the coefficients, including the scale.
pub fn noise_of_places<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    found: &Fit<P>,
    held: &FixedCoefficients<P>,
) -> Option<Noise> {
    let squares = squares::<P, C>(seen, &found.coefficients) - within(seen);
    let looked_for = 1 + free_count(held);
    Noise::from_squares(squares, seen.places.len().checked_sub(looked_for))
}

/// Returns true if the points deviate from the curve by more than trials of one point differ. The
/// function uses Fisher's F test. The noise of the test is the residual that the levels of points
/// and blocks do not explain. With one block, the noise is unknown and the result is false.
pub fn off_by_more(seen: &Observations<'_, impl Sized>, of_places: Noise) -> bool {
    let looked_for = (seen.levels_count() + seen.places.len()).saturating_sub(1);
    let freedom = seen.trials.len().checked_sub(looked_for);
    let Some(own) = Noise::from_squares(within(seen), freedom) else {
        return false;
    };
    let ratio = of_places.variance / own.variance.max(EXACT * EXACT);
    let by_chance = FisherSnedecor::new(of_places.freedom, own.freedom)
        .expect("both samples have at least one degree of freedom")
        .sf(ratio);
    by_chance < OFF_LEVEL
}

/// Returns the sum of squares around the curve that goes through every point. The function
/// subtracts the means of points and the means of blocks alternately.
fn within<A>(seen: &Observations<'_, A>) -> f64 {
    let mut of_places = vec![0.0; seen.places.len()];
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS_MAX {
        let (left, _) = seen.left(&of_places);
        let sum = seen.weighted(&left);
        if least - sum <= 1e-12 * least.min(f64::MAX) {
            break;
        }
        least = sum;
        let means = seen.place_residuals(&left);
        let moved = of_places.iter_mut().zip(means);
        moved.for_each(|(of, (mean, _))| *of += mean);
    }
    least
}

/// Returns 95 % intervals of the coefficients. At an end of an interval, the sum of squares has
/// grown to its limit (profile t; Bates and Watts 1988, "Nonlinear Regression Analysis").
pub fn profiled<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    found: &Fit<P>,
    held: &FixedCoefficients<P>,
    noise: Noise,
) -> [[f64; 2]; P] {
    let t = autocorrelation::t_quantile(0.975, noise.freedom);
    let least = squares::<P, C>(seen, &found.coefficients);
    let variance = noise.variance.max(SQUARES_MIN / noise.freedom);
    let most = least + t * t * variance;
    std::array::from_fn(|of| match held[of] {
        Some(held) => [held; 2],
        None => [false, true].map(|up| profile::<P, C>(seen, found, held, (of, most, up))),
    })
}

/// Returns one end of the interval of a coefficient: the lower end, or the upper end if `up`. At
/// this value, the sum of squares is `most`. The function finds the end by bisection. If the sum is
/// below `most` even at the farthest value tried, the result is the bound of the coefficient, which
/// may be infinite.
fn profile<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    found: &Fit<P>,
    held: &FixedCoefficients<P>,
    (of, most, up): (usize, f64, bool),
) -> f64 {
    let free = std::array::from_fn(|i| held[i].is_none() && i != of);
    let fits = |value: f64| {
        let mut begin = found.coefficients;
        begin[of] = value;
        squares::<P, C>(seen, &descend::<P, C>(seen, begin, free)) <= most
    };
    let [least_bound, most_bound] = C::BOUNDS[of];
    let mut inside = found.coefficients[of];
    let mut outside = if up {
        C::FAR[of].max(10.0 * inside).min(most_bound)
    } else {
        least_bound
    };
    if fits(outside) {
        // The search did not find an end of the interval, so the interval extends to the bound of
        // the coefficient.
        return if up { most_bound } else { least_bound };
    }
    for _ in 0..60 {
        let middle = (inside + outside) / 2.0;
        if fits(middle) {
            inside = middle
        } else {
            outside = middle
        }
    }
    inside
}
