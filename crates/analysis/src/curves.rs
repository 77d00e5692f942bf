//! The Universal Scalability Law: throughput against the operations in flight as one curve.
//!
//! X(N) = λ N ÷ (1 + σ (N − 1) + κ N (N − 1)) (Gunther, "Guerrilla Capacity Planning", 2007): λ is
//! what one operation in flight does by itself, σ the share that has to wait in line, κ the cost of
//! keeping all in agreement, for which throughput falls again beyond N* = √((1 − σ) ÷ κ).
//!
//! Fitted to ln X by least squares with 0 ≤ σ ≤ 1 and κ ≥ 0, each load weighted by the blocks it
//! has. λ follows from the other two as a mean, so two coefficients are looked for (Gauss and
//! Newton's steps, damped after Levenberg and Marquardt and kept within the bounds).
//!
//! A curve can be drawn through anything. So there is none of few loads, of loads that end before
//! throughput bends, and of points that lie off it; and where κ cannot be told from 0 there is no
//! peak, whatever the formula gives.

use crate::series;

/// Fewer loads than this are no curve of three coefficients.
pub const LOADS_MIN: usize = 6;
/// From so many blocks on, the spread between them is what intervals come from.
pub const BLOCKS_MIN: usize = 5;
/// The highest throughput seen must be at least this share of the curve's peak.
const SEEN_MIN: f64 = 0.6;
/// Points may lie off the curve by so much (root of the mean square of ln).
const OFF_MAX: f64 = 0.05;
/// A peak further out than so many times the last load is not said.
const BEYOND_MAX: f64 = 2.0;
/// Below this a coefficient is none: N* would lie beyond a hundred thousand.
const NONE_MAX: f64 = 1e-10;
/// Resamples of blocks. Of five blocks the ends of an interval are the second from each side.
const RESAMPLES: u64 = 2000;
/// Steps of the fit; it needs about ten.
const STEPS_MAX: usize = 200;

/// One load of a closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Operations in flight.
    pub threads: f64,
    /// Throughput by block; none where the trial may not be used.
    pub ops_per_s: Vec<Option<f64>>,
}

/// The three coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Throughput of one operation in flight.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherency.
    pub kappa: f64,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Usl {
    /// Its coefficients.
    pub coefficients: Coefficients,
    /// 95 % confidence intervals of σ and of κ.
    pub sigma_ci95: [f64; 2],
    /// See `sigma_ci95`.
    pub kappa_ci95: [f64; 2],
    /// Root of the mean square of ln (seen ÷ curve).
    pub off: f64,
    /// Where throughput is highest.
    pub peak: Peak,
}

/// What a curve says of its peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// Here.
    At {
        /// Operations in flight.
        threads: f64,
        /// Their 95 % confidence interval.
        threads_ci95: [f64; 2],
        /// Throughput there.
        ops_per_s: f64,
    },
    /// κ cannot be told from 0: throughput levels off, as far as this shows.
    Untold,
    /// Further out than a curve should be drawn.
    Beyond,
}

/// Why there is no curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoCurve {
    /// There are so many usable loads only.
    FewLoads(usize),
    /// The loads end before throughput bends.
    StillGrowing,
    /// Points lie off the best curve by this (root of the mean square of ln).
    OffCurve(f64),
}

impl NoCurve {
    /// The reason in words.
    pub fn words(self) -> String {
        match self {
            NoCurve::FewLoads(count) => {
                format!("{count} usable loads; a curve of three coefficients takes {LOADS_MIN}")
            }
            NoCurve::StillGrowing => {
                "the loads end before throughput bends: more in flight would show it".to_owned()
            }
            NoCurve::OffCurve(off) => format!(
                "the points lie off the best curve by {:.1} %, more than {:.0} %",
                off * 100.0,
                OFF_MAX * 100.0
            ),
        }
    }
}

impl Coefficients {
    /// Throughput with so many operations in flight.
    pub fn at(self, threads: f64) -> f64 {
        (self.lambda * threads) / slowing(threads, [self.sigma, self.kappa])
    }

    /// Where throughput is highest; infinite without κ.
    pub fn peak_threads(self) -> f64 {
        match self.kappa > NONE_MAX {
            true => ((1.0 - self.sigma) / self.kappa).sqrt(),
            false => f64::INFINITY,
        }
    }

    /// The most that it comes to anywhere; infinite where it grows without end.
    fn most(self) -> f64 {
        match self.peak_threads() {
            peak if peak.is_finite() => self.at(peak.max(1.0)),
            _ if self.sigma > NONE_MAX => self.lambda / self.sigma,
            _ => f64::INFINITY,
        }
    }
}

/// By how much a load is slower than if each operation went by itself.
fn slowing(threads: f64, [sigma, kappa]: [f64; 2]) -> f64 {
    1.0 + sigma * (threads - 1.0) + kappa * threads * (threads - 1.0)
}

/// One load, for the fit.
#[derive(Clone, Copy, Debug)]
struct Seen {
    threads: f64,
    ln_ops: f64,
    weight: f64,
}

/// Fits the curve. The same loads give the same curve and intervals.
///
/// # Errors
/// The loads do not show a curve.
pub fn fit(loads: &[Load]) -> Result<Usl, NoCurve> {
    let blocks = loads.iter().map(|load| load.ops_per_s.len()).max();
    let blocks = blocks.unwrap_or(0);
    let all: Vec<u32> = vec![1; blocks];
    let seen = seen(loads, &all);
    if seen.len() < LOADS_MIN {
        return Err(NoCurve::FewLoads(seen.len()));
    }
    let found = coefficients(&seen);
    let weights: f64 = seen.iter().map(|at| at.weight).sum();
    let off = (squares(&seen, [found.sigma, found.kappa]) / weights).sqrt();
    if off > OFF_MAX {
        return Err(NoCurve::OffCurve(off));
    }
    let most = seen.iter().map(|at| at.ln_ops.exp()).fold(0.0, f64::max);
    if most < SEEN_MIN * found.most() {
        return Err(NoCurve::StillGrowing);
    }
    let between_blocks = blocks >= BLOCKS_MIN;
    let [sigma_ci95, kappa_ci95, threads_ci95] = match between_blocks {
        true => resampled(loads, blocks, seen.len()),
        false => profiled(&seen, found),
    };
    let last = seen.iter().map(|at| at.threads).fold(0.0, f64::max);
    let threads = found.peak_threads();
    let peak = if found.kappa <= NONE_MAX || kappa_ci95[0] <= NONE_MAX {
        Peak::Untold
    } else if threads > BEYOND_MAX * last {
        Peak::Beyond
    } else {
        Peak::At {
            threads,
            threads_ci95,
            ops_per_s: found.at(threads),
        }
    };
    Ok(Usl {
        coefficients: found,
        sigma_ci95,
        kappa_ci95,
        off,
        peak,
    })
}

/// The loads that have a usable trial in blocks that count so often.
fn seen(loads: &[Load], counts: &[u32]) -> Vec<Seen> {
    let of = |load: &Load| {
        let blocks = load.ops_per_s.iter().zip(counts);
        let usable = blocks.filter_map(|(ops, count)| {
            let ops = ops.filter(|ops| ops.is_finite() && *ops > 0.0)?;
            Some((ops.ln(), f64::from(*count)))
        });
        let (sum, weight) = usable.fold((0.0, 0.0), |(sum, weight), (ln, count)| {
            (sum + ln * count, weight + count)
        });
        let is_usable = weight > 0.0 && load.threads >= 1.0;
        is_usable.then(|| Seen {
            threads: load.threads,
            ln_ops: sum / weight,
            weight,
        })
    };
    loads.iter().filter_map(of).collect()
}

/// ln λ that fits best with these σ and κ.
fn ln_lambda(seen: &[Seen], at: [f64; 2]) -> f64 {
    let weights: f64 = seen.iter().map(|s| s.weight).sum();
    let sum = seen
        .iter()
        .map(|s| s.weight * (s.ln_ops - s.threads.ln() + slowing(s.threads, at).ln()));
    sum.sum::<f64>() / weights
}

/// The weighted sum of the squares of what is left.
fn squares(seen: &[Seen], at: [f64; 2]) -> f64 {
    let level = ln_lambda(seen, at);
    let left = |s: &Seen| s.ln_ops - s.threads.ln() + slowing(s.threads, at).ln() - level;
    seen.iter().map(|s| s.weight * left(s) * left(s)).sum()
}

fn coefficients(seen: &[Seen]) -> Coefficients {
    // Wherever it begins it ends at the same place but for curves that are nearly flat or straight:
    // the best of a few beginnings is taken.
    let begins = [[0.05, 1e-3], [0.5, 1e-5], [0.01, 1e-6], [0.2, 0.05]];
    let ends = begins.map(|begin| descend(seen, begin, [true; 2]));
    let best = ends
        .into_iter()
        .min_by(|a, b| squares(seen, *a).total_cmp(&squares(seen, *b)));
    let [sigma, kappa] = best.unwrap_or(begins[0]);
    Coefficients {
        lambda: ln_lambda(seen, [sigma, kappa]).exp(),
        sigma,
        kappa,
    }
}

/// Goes down to the least squares from a beginning, changing the coefficients that are free.
fn descend(seen: &[Seen], begin: [f64; 2], free: [bool; 2]) -> [f64; 2] {
    let (mut at, mut damping) = (begin, 1e-3);
    let mut least = squares(seen, at);
    for _ in 0..STEPS_MAX {
        let (hessian, gradient) = slopes(seen, at);
        // What stands at its bound and would leave it, stays.
        let moves = [0, 1].map(|i| {
            let bound = (at[i] <= 0.0 && gradient[i] > 0.0)
                || (i == 0 && at[i] >= 1.0 && gradient[i] < 0.0);
            free[i] && !bound
        });
        let step = solve(hessian, gradient, moves, damping);
        let next = [
            (at[0] + step[0]).clamp(0.0, 1.0),
            (at[1] + step[1]).max(0.0),
        ];
        let sum = squares(seen, next);
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

/// Gauss and Newton's matrix, and half the gradient, of the squares by σ and κ.
fn slopes(seen: &[Seen], at: [f64; 2]) -> ([f64; 3], [f64; 2]) {
    let weights: f64 = seen.iter().map(|s| s.weight).sum();
    let level = ln_lambda(seen, at);
    let of = |s: &Seen| {
        let (n, slow) = (s.threads, slowing(s.threads, at));
        [(n - 1.0) / slow, n * (n - 1.0) / slow]
    };
    // λ moves with them, which takes the mean out of each slope.
    let mean = |i: usize| seen.iter().map(|s| s.weight * of(s)[i]).sum::<f64>() / weights;
    let means = [mean(0), mean(1)];
    let (mut hessian, mut gradient) = ([0.0; 3], [0.0; 2]);
    for s in seen {
        let slope = [of(s)[0] - means[0], of(s)[1] - means[1]];
        let left = s.ln_ops - s.threads.ln() + slowing(s.threads, at).ln() - level;
        for i in 0..2 {
            gradient[i] += s.weight * slope[i] * left;
            hessian[i] += s.weight * slope[i] * slope[i];
        }
        hessian[2] += s.weight * slope[0] * slope[1];
    }
    (hessian, gradient)
}

/// A damped step of the coefficients that move.
fn solve(hessian: [f64; 3], gradient: [f64; 2], moves: [bool; 2], damping: f64) -> [f64; 2] {
    let [a, b] = [0, 1].map(|i| (hessian[i] * (1.0 + damping)).max(1e-300));
    match moves {
        [false, false] => [0.0; 2],
        [true, false] => [-gradient[0] / a, 0.0],
        [false, true] => [0.0, -gradient[1] / b],
        [true, true] => {
            let c = hessian[2];
            let determinant = (a * b - c * c).max(1e-300);
            [
                -(b * gradient[0] - c * gradient[1]) / determinant,
                -(a * gradient[1] - c * gradient[0]) / determinant,
            ]
        }
    }
}

/// Intervals of σ, κ and N* from drawing whole blocks again and again (Efron 1979): what differs
/// from block to block is what a repetition would change. Percentiles of few blocks are too near to
/// each other, so those are taken that are as far out as Student's t for as many blocks (Hesterberg
/// 2015, "What teachers should know about the bootstrap"). The draws are the same every time.
fn resampled(loads: &[Load], blocks: usize, loads_count: usize) -> [[f64; 2]; 3] {
    let mut found: [Vec<f64>; 3] = Default::default();
    for resample in 0..RESAMPLES {
        let mut counts = vec![0; blocks];
        for draw in 0..blocks as u64 {
            let at = spread(resample * blocks as u64 + draw) % blocks as u64;
            counts[at as usize] += 1;
        }
        let seen = seen(loads, &counts);
        // A draw in which a load has no block is another curve.
        if seen.len() < loads_count {
            continue;
        }
        let drawn = coefficients(&seen);
        found[0].push(drawn.sigma);
        found[1].push(drawn.kappa);
        found[2].push(drawn.peak_threads());
    }
    let count = blocks as f64;
    let far = series::t_quantile(0.975, count - 1.0) * (count / (count - 1.0)).sqrt();
    let outside = series::normal_below(-far);
    found.map(|mut values| {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (values.len().saturating_sub(1)) as f64 * share;
            values.get(index.round() as usize).copied().unwrap_or(0.0)
        };
        [at(outside), at(1.0 - outside)]
    })
}

/// Spreads numbers evenly over 64 bits (the finalizer of SplitMix64; Steele et al. 2014).
fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Intervals of σ, κ and N* from how fast the squares grow when one is held elsewhere (Bates and
/// Watts 1988, "Nonlinear Regression Analysis", profile t): of few blocks nothing better is known.
fn profiled(seen: &[Seen], found: Coefficients) -> [[f64; 2]; 3] {
    let at = [found.sigma, found.kappa];
    let freedom = (seen.len() - 3) as f64;
    let most = squares(seen, at).max(1e-18) * (1.0 + f_quantile(0.95, freedom) / freedom);
    let ends = |of: usize, up: bool| profile(seen, at, of, most, up);
    let sigma = [ends(0, false), ends(0, true).min(1.0)];
    let kappa = [ends(1, false), ends(1, true)];
    // N* falls as κ grows, with the σ that fits best there.
    let threads = |kappa: f64| {
        let [sigma, kappa] = descend(seen, [found.sigma, kappa], [true, false]);
        Coefficients {
            lambda: 1.0,
            sigma,
            kappa,
        }
        .peak_threads()
    };
    [sigma, kappa, [threads(kappa[1]), threads(kappa[0])]]
}

/// How far one coefficient can go up or down before the squares are too many, by halves.
fn profile(seen: &[Seen], at: [f64; 2], of: usize, most: f64, up: bool) -> f64 {
    let mut free = [true; 2];
    free[of] = false;
    let fits = |value: f64| {
        let mut begin = at;
        begin[of] = value;
        squares(seen, descend(seen, begin, free)) <= most
    };
    let (mut inside, mut outside) = (at[of], if up { 1.0 } else { 0.0 });
    if !up && fits(0.0) {
        return 0.0;
    }
    if up && fits(outside) {
        return outside;
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

/// Quantile of the F distribution with 1 and so many degrees of freedom.
fn f_quantile(p: f64, freedom: f64) -> f64 {
    // The square of Student's t has it.
    let t = series::t_quantile(0.5 + p / 2.0, freedom);
    t * t
}

#[cfg(test)]
mod tests;
