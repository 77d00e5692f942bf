//! Curves of throughput that are fitted by least squares: a scale, and a few bounded coefficients.
//!
//! A curve says what is done at a place as a multiple of a scale, X = scale × relative(place). It
//! is fitted to ln X, each place weighted by the blocks it has. The scale then follows from the
//! coefficients as a mean, so only these are looked for: Gauss and Newton's steps, damped after
//! Levenberg and Marquardt, and kept within the bounds.
//!
//! Intervals come from drawing blocks again where there are enough of them, or else from how fast
//! the squares grow. The same points give the same fit and the same intervals.

use crate::series;

/// From so many blocks on, the spread between them is what intervals come from.
pub const BLOCKS_MIN: usize = 5;
/// Resamples of blocks. Of five blocks the ends of an interval are the second from each side.
const RESAMPLES: u64 = 2000;
/// Steps of the fit; it needs about ten.
const STEPS_MAX: usize = 200;
/// Squares below this are none: what is left is how numbers are rounded.
const SQUARES_MIN: f64 = 1e-18;

/// A curve of `P` coefficients beside its scale.
pub trait Curve<const P: usize> {
    /// Where something is done: so many in flight, so many units.
    type At;
    /// Least and most of each coefficient.
    const BOUNDS: [[f64; 2]; P];
    /// How far up a profile follows each coefficient, where nothing bounds it.
    const FAR: [f64; P];
    /// Where the fit begins. Wherever it does it ends at the same place but for curves that are
    /// nearly flat or straight: the best of a few is taken.
    const BEGINS: &'static [[f64; P]];

    /// The logarithm of what is done there, as a multiple of the scale.
    fn ln_relative(at: &Self::At, coefficients: &[f64; P]) -> f64;
    /// By how much that changes with each coefficient.
    fn slopes(at: &Self::At, coefficients: &[f64; P]) -> [f64; P];
}

/// Places, each with its throughput by block; none where the trial may not be used.
pub type Measured<'a, A> = [(A, &'a [Option<f64>])];

/// What was done at one place, for the fit.
#[derive(Debug)]
pub struct Seen<'a, A> {
    /// The place.
    pub at: &'a A,
    /// Mean of the logarithms of its blocks.
    pub ln_ops: f64,
    /// How many blocks.
    pub weight: f64,
}

impl<A> Clone for Seen<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Seen<'_, A> {}

/// The coefficients that fit best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<const P: usize> {
    /// The logarithm of the scale.
    pub ln_scale: f64,
    /// The others.
    pub coefficients: [f64; P],
}

/// Coefficients that are held at a value and not looked for.
pub type Held<const P: usize> = [Option<f64>; P];

/// The places that have a usable trial in blocks that count so often.
pub fn seen<'a, A>(measured: &'a Measured<'_, A>, counts: &[u32]) -> Vec<Seen<'a, A>> {
    let of = |(at, ops): &'a (A, &[Option<f64>])| {
        let usable = ops.iter().zip(counts).filter_map(|(ops, count)| {
            let ops = ops.filter(|ops| ops.is_finite() && *ops > 0.0)?;
            Some((ops.ln(), f64::from(*count)))
        });
        let (sum, weight) = usable.fold((0.0, 0.0), |(sum, weight), (ln, count)| {
            (sum + ln * count, weight + count)
        });
        (weight > 0.0).then(|| Seen {
            at,
            ln_ops: sum / weight,
            weight,
        })
    };
    measured.iter().filter_map(of).collect()
}

/// How many blocks there are.
pub fn blocks_count<A>(measured: &Measured<'_, A>) -> usize {
    let counts = measured.iter().map(|(_, ops)| ops.len());
    counts.max().unwrap_or(0)
}

/// All blocks once.
pub fn seen_once<'a, A>(measured: &'a Measured<'_, A>) -> Vec<Seen<'a, A>> {
    seen(measured, &vec![1; blocks_count(measured)])
}

/// The sum of the weights.
pub fn weights<A>(seen: &[Seen<'_, A>]) -> f64 {
    seen.iter().map(|s| s.weight).sum()
}

/// ln of the scale that fits best with these coefficients.
fn ln_scale<const P: usize, C: Curve<P>>(seen: &[Seen<'_, C::At>], at: &[f64; P]) -> f64 {
    let left = seen
        .iter()
        .map(|s| s.weight * (s.ln_ops - C::ln_relative(s.at, at)));
    left.sum::<f64>() / weights(seen)
}

/// The weighted sum of the squares of what is left.
pub fn squares<const P: usize, C: Curve<P>>(seen: &[Seen<'_, C::At>], at: &[f64; P]) -> f64 {
    let level = ln_scale::<P, C>(seen, at);
    let left = |s: &Seen<'_, C::At>| s.ln_ops - C::ln_relative(s.at, at) - level;
    seen.iter().map(|s| s.weight * left(s) * left(s)).sum()
}

/// Root of the mean square of ln (seen ÷ curve).
pub fn off<const P: usize, C: Curve<P>>(seen: &[Seen<'_, C::At>], at: &[f64; P]) -> f64 {
    (squares::<P, C>(seen, at) / weights(seen)).sqrt()
}

/// Fits a curve. There must be a place.
pub fn fit<const P: usize, C: Curve<P>>(seen: &[Seen<'_, C::At>], held: &Held<P>) -> Fit<P> {
    fit_from::<P, C>(seen, held, C::BEGINS)
}

/// The same from other beginnings.
fn fit_from<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    held: &Held<P>,
    begins: &[[f64; P]],
) -> Fit<P> {
    let free = held.map(|held| held.is_none());
    let ends = begins.iter().map(|begin| {
        let begin = std::array::from_fn(|i| held[i].unwrap_or(begin[i]));
        descend::<P, C>(seen, begin, free)
    });
    let best = ends.min_by(|a, b| squares::<P, C>(seen, a).total_cmp(&squares::<P, C>(seen, b)));
    let coefficients = best.unwrap_or([0.0; P]);
    Fit {
        ln_scale: ln_scale::<P, C>(seen, &coefficients),
        coefficients,
    }
}

/// Goes down to the least squares from a beginning, changing the coefficients that are free.
pub fn descend<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    begin: [f64; P],
    free: [bool; P],
) -> [f64; P] {
    let (mut at, mut damping) = (begin, 1e-3);
    let mut least = squares::<P, C>(seen, &at);
    for _ in 0..STEPS_MAX {
        let (hessian, gradient) = slopes::<P, C>(seen, &at);
        // What stands at its bound and would leave it, stays.
        let moves = std::array::from_fn(|i| {
            let [low, high] = C::BOUNDS[i];
            let leaves =
                (at[i] <= low && gradient[i] > 0.0) || (at[i] >= high && gradient[i] < 0.0);
            free[i] && !leaves
        });
        let step = solve(hessian, gradient, moves, damping);
        let next = std::array::from_fn(|i| match free[i] {
            true => (at[i] + step[i]).clamp(C::BOUNDS[i][0], C::BOUNDS[i][1]),
            false => at[i],
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

/// Gauss and Newton's matrix, and half the gradient, of the squares by the coefficients.
fn slopes<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    at: &[f64; P],
) -> ([[f64; P]; P], [f64; P]) {
    let level = ln_scale::<P, C>(seen, at);
    let slopes: Vec<[f64; P]> = seen.iter().map(|s| C::slopes(s.at, at)).collect();
    // The scale moves with them, which takes the mean out of each slope.
    let all = weights(seen);
    let means: [f64; P] = std::array::from_fn(|i| {
        let weighted = seen.iter().zip(&slopes).map(|(s, of)| s.weight * of[i]);
        weighted.sum::<f64>() / all
    });
    let (mut hessian, mut gradient) = ([[0.0; P]; P], [0.0; P]);
    for (s, of) in seen.iter().zip(&slopes) {
        let left = s.ln_ops - C::ln_relative(s.at, at) - level;
        let slope: [f64; P] = std::array::from_fn(|i| of[i] - means[i]);
        for i in 0..P {
            gradient[i] -= s.weight * slope[i] * left;
            for j in 0..P {
                hessian[i][j] += s.weight * slope[i] * slope[j];
            }
        }
    }
    (hessian, gradient)
}

/// A damped step of the coefficients that move (Gauss's elimination; the matrix has no negative
/// direction, so it needs no change of rows).
fn solve<const P: usize>(
    mut matrix: [[f64; P]; P],
    gradient: [f64; P],
    moves: [bool; P],
    damping: f64,
) -> [f64; P] {
    let mut right = gradient.map(|slope| -slope);
    for i in 0..P {
        match moves[i] {
            true => matrix[i][i] = matrix[i][i].mul_add(damping, matrix[i][i]).max(1e-300),
            false => {
                // It takes no step, and none of the others'.
                (0..P).for_each(|j| (matrix[i][j], matrix[j][i]) = (0.0, 0.0));
                (matrix[i][i], right[i]) = (1.0, 0.0);
            }
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

/// Fits of whole blocks that are drawn again and again (Efron 1979): what differs from block to
/// block is what a repetition would change. The draws are the same every time; their fits begin
/// where they are told to.
pub fn resampled<const P: usize, C: Curve<P>>(
    measured: &Measured<'_, C::At>,
    held: &Held<P>,
    begins: &[[f64; P]],
) -> Vec<Fit<P>> {
    let blocks = blocks_count(measured);
    let places = seen_once(measured).len();
    let draw = |resample: u64| {
        let mut counts = vec![0; blocks];
        for draw in 0..blocks as u64 {
            let at = spread(resample * blocks as u64 + draw) % blocks as u64;
            counts[at as usize] += 1;
        }
        let seen = seen(measured, &counts);
        // A draw in which a place has no block is another curve.
        (seen.len() == places).then(|| fit_from::<P, C>(&seen, held, begins))
    };
    (0..RESAMPLES).filter_map(draw).collect()
}

/// The 95 % interval of what was found in such fits. Percentiles of few blocks are too near to
/// each other, so those are taken that are as far out as Student's t for as many blocks (Hesterberg
/// 2015, "What teachers should know about the bootstrap").
pub fn between(mut values: Vec<f64>, blocks: usize) -> [f64; 2] {
    let count = blocks as f64;
    let far = series::t_quantile(0.975, count - 1.0) * (count / (count - 1.0)).sqrt();
    let outside = series::normal_below(-far);
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (values.len().saturating_sub(1)) as f64 * share;
        values.get(index.round() as usize).copied().unwrap_or(0.0)
    };
    [at(outside), at(1.0 - outside)]
}

/// Spreads numbers evenly over 64 bits (the finalizer of SplitMix64; Steele et al. 2014).
fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// How much what is left varies, as a variance of one block, and how well that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Variance of a logarithm.
    pub variance: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// The noise of what the places are off the curve; none where there are as many coefficients as
/// places.
pub fn noise<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    found: &Fit<P>,
    held: &Held<P>,
) -> Option<Noise> {
    let freedom = seen.len().checked_sub(free_count(held) + 1)?;
    let freedom = (freedom > 0).then_some(freedom as f64)?;
    Some(Noise {
        variance: squares::<P, C>(seen, &found.coefficients) / freedom,
        freedom,
    })
}

/// How many coefficients are looked for.
pub fn free_count<const P: usize>(held: &Held<P>) -> usize {
    held.iter().filter(|held| held.is_none()).count()
}

/// 95 % intervals of the coefficients from how fast the squares grow when one is held elsewhere
/// (Bates and Watts 1988, "Nonlinear Regression Analysis", profile t): of few blocks nothing better
/// is known.
pub fn profiled<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    found: &Fit<P>,
    held: &Held<P>,
    noise: Noise,
) -> [[f64; 2]; P] {
    let t = series::t_quantile(0.975, noise.freedom);
    let least = squares::<P, C>(seen, &found.coefficients);
    let variance = noise.variance.max(SQUARES_MIN / noise.freedom);
    let most = least + t * t * variance;
    std::array::from_fn(|of| match held[of] {
        Some(held) => [held; 2],
        None => [false, true].map(|up| profile::<P, C>(seen, found, held, (of, most, up))),
    })
}

/// How far one coefficient can go up or down before the squares are too many, by halves.
fn profile<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    found: &Fit<P>,
    held: &Held<P>,
    (of, most, up): (usize, f64, bool),
) -> f64 {
    let free = std::array::from_fn(|i| held[i].is_none() && i != of);
    let fits = |value: f64| {
        let mut begin = found.coefficients;
        begin[of] = value;
        squares::<P, C>(seen, &descend::<P, C>(seen, begin, free)) <= most
    };
    let end = if up { C::FAR[of] } else { C::BOUNDS[of][0] };
    let (mut inside, mut outside) = (found.coefficients[of], end);
    if fits(end) {
        return end;
    }
    for _ in 0..60 {
        let middle = (inside + outside) / 2.0;
        match fits(middle) {
            true => inside = middle,
            false => outside = middle,
        }
    }
    inside
}
