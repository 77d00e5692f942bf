//! Reading a sweep: where it was best, where latency passed a bound, where it saturated.
//!
//! The knee is where more load stops paying. How much a step pays depends on how long it is, so it
//! is the *elasticity* that is looked at, d ln throughput ÷ d ln load: 1 where throughput grows as
//! the load does, 0 where it does not grow. It is fitted over **all** points from the knee on, and
//! its upper end, not its estimate, must be small: one noisy pair decides nothing, and a sweep of
//! 64, 65, … 70 threads, whose steps are shorter than its noise, has no knee that could be told.

use crate::series;

/// One step of a sweep, from lowest to highest load.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Load on the axis: threads, or op/s.
    pub load: f64,
    /// Achieved throughput, block by block.
    pub ops_per_s: Vec<f64>,
    /// p99 latency of all its operations, ms.
    pub p99_ms: f64,
    /// Whether it may be used, and for what.
    pub state: State,
}

/// What a point may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Kept,
    /// Less was done than was offered because the target could not do more (open loop). Its
    /// throughput is what the target can do; its latency grows as long as the trial lasts.
    Saturated,
    /// Nothing: its trial is invalid, or there is none.
    Unusable,
}

/// Where more load stops paying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// At this point: the last before throughput stops growing while p99 grows.
    At(usize),
    /// There is none: throughput still grows at the end.
    Growing,
    /// It cannot be told: the load grows by too little, or the noise is too large.
    Untold,
}

/// What a sweep shows; indexes into its points. Points that are unusable are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The highest throughput of the points that were kept; of the saturated ones if none was.
    pub best: Option<usize>,
    /// The highest throughput with p99 within the bound. None when there is no bound.
    pub best_within_bound: Option<usize>,
    /// The first point whose p99 is above the bound, or that is saturated.
    pub first_over_bound: Option<usize>,
    /// The first point that is saturated, when all after it are too.
    pub saturated_from: Option<usize>,
    /// The knee.
    pub knee: Knee,
    /// Whether the best point is the last usable one: the peak may lie beyond the sweep.
    pub best_is_last: bool,
}

/// Elasticity below which load does not pay: twice the load brings under a tenth more.
const ELASTICITY_MIN: f64 = 0.1375;
/// p99 must grow at least with the square root of the load, or it is not the target that is full.
const LATENCY_ELASTICITY_MIN: f64 = 0.5;
/// By how much the load must grow beyond a knee: over less, noise is larger than any gain.
const RANGE_MIN: f64 = 2.0;
/// Trials of one point differ by at least this, as a share, on a quiet machine: half of the margin
/// of throughput is the deviation whose 95 % are the margin. Points of one block show no more.
const TRIAL_DEVIATION_MIN: f64 = 0.015;
/// One-sided 5 %.
const ONE_SIDED: f64 = 0.95;

impl Point {
    /// Mean throughput over the blocks.
    pub fn mean_ops_per_s(&self) -> f64 {
        series::mean(&self.ops_per_s)
    }
}

/// Reads a sweep. `p99_bound_ms`: the latency that may not be passed, if there is one.
pub fn read_sweep(points: &[Point], p99_bound_ms: Option<f64>) -> Sweep {
    let of = |state: State| -> Vec<usize> {
        (0..points.len())
            .filter(|&i| points[i].state == state)
            .collect()
    };
    let (kept, saturated) = (of(State::Kept), of(State::Saturated));
    let over = |i: &usize| p99_bound_ms.is_some_and(|bound| points[*i].p99_ms > bound);
    let highest = |indexes: &[usize]| {
        indexes.iter().copied().max_by(|&a, &b| {
            // Of equals the first: less load for the same.
            let (left, right) = (points[a].mean_ops_per_s(), points[b].mean_ops_per_s());
            left.total_cmp(&right).then(b.cmp(&a))
        })
    };
    let within: Vec<usize> = kept.iter().copied().filter(|i| !over(i)).collect();
    let best = highest(&kept).or_else(|| highest(&saturated));
    let mut usable = [kept.as_slice(), saturated.as_slice()].concat();
    usable.sort_unstable();
    let is_over = |i: &&usize| over(i) || points[**i].state == State::Saturated;
    Sweep {
        best,
        best_within_bound: highest(&within).filter(|_| p99_bound_ms.is_some()),
        first_over_bound: usable
            .iter()
            .find(is_over)
            .copied()
            .filter(|_| p99_bound_ms.is_some()),
        saturated_from: saturated_from(&kept, &saturated),
        knee: knee(points, &usable, &kept, &saturated),
        best_is_last: best.is_some() && best == usable.last().copied(),
    }
}

/// The first saturated point, if the target kept up nowhere beyond it.
fn saturated_from(kept: &[usize], saturated: &[usize]) -> Option<usize> {
    let first = saturated.first().copied()?;
    kept.iter().all(|kept| *kept < first).then_some(first)
}

fn knee(points: &[Point], usable: &[usize], kept: &[usize], saturated: &[usize]) -> Knee {
    // An open loop that cannot be kept up with says by itself where it ends.
    if let (Some(last), Some(_)) = (kept.last(), saturated_from(kept, saturated)) {
        return Knee::At(*last);
    }
    let rising: Vec<&Point> = usable.iter().map(|&i| &points[i]).collect();
    let is_ladder = rising.windows(2).all(|pair| pair[1].load > pair[0].load);
    let positive = |p: &&Point| p.load > 0.0 && p.mean_ops_per_s() > 0.0 && p.p99_ms > 0.0;
    if !is_ladder || !rising.iter().all(positive) {
        return Knee::Untold;
    }
    let noise = Noise::of(&rising);
    if let Some(at) = (0..rising.len()).find(|&at| is_knee(&rising[at..], noise)) {
        return Knee::At(usable[at]);
    }
    match still_grows(&rising, noise) {
        true => Knee::Growing,
        false => Knee::Untold,
    }
}

/// Whether nothing pays beyond the first of `tail`.
fn is_knee(tail: &[&Point], noise: Noise) -> bool {
    let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
        return false;
    };
    if last.load < first.load * RANGE_MIN {
        return false;
    }
    let (slope, error) = elasticity(tail, noise);
    // No point beyond it stands out above what the load would have to pay.
    let pays = |point: &&Point| {
        let gain = (point.mean_ops_per_s() / first.mean_ops_per_s()).ln();
        let needed = ELASTICITY_MIN * (point.load / first.load).ln();
        let error = (noise.of_point(first).powi(2) + noise.of_point(point).powi(2)).sqrt();
        gain > needed + noise.quantile() * error
    };
    let load = (last.load / first.load).ln();
    let latency = (last.p99_ms / first.p99_ms).ln();
    slope + noise.quantile() * error < ELASTICITY_MIN
        && latency >= LATENCY_ELASTICITY_MIN * load
        && !tail[1..].iter().any(pays)
}

/// Whether throughput grows with the load over the last stretch that is long enough to tell.
fn still_grows(points: &[&Point], noise: Noise) -> bool {
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

/// Elasticity over the points by least squares, and its standard error: by the noise of the points,
/// or by how far they lie from the line, whichever is larger.
fn elasticity(points: &[&Point], noise: Noise) -> (f64, f64) {
    let x: Vec<f64> = points.iter().map(|p| p.load.ln()).collect();
    let y: Vec<f64> = points.iter().map(|p| p.mean_ops_per_s().ln()).collect();
    let (mean_x, mean_y) = (series::mean(&x), series::mean(&y));
    let square: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let product = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y));
    let slope = product.sum::<f64>() / square;
    let off = x
        .iter()
        .zip(&y)
        .map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2));
    let residual = match points.len() {
        0..=2 => 0.0,
        count => off.sum::<f64>() / (count - 2) as f64,
    };
    let known = points.iter().map(|p| noise.of_point(p).powi(2));
    let known = known.sum::<f64>() / points.len() as f64;
    (slope, (residual.max(known) / square).sqrt())
}

/// How far trials of one point lie apart.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the logarithm of one trial's throughput.
    deviation: f64,
    freedom: f64,
}

impl Noise {
    /// Pooled over all points that have several blocks.
    fn of(points: &[&Point]) -> Noise {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for point in points {
            let values = point.ops_per_s.iter().filter(|v| **v > 0.0);
            let logs: Vec<f64> = values.map(|v| v.ln()).collect();
            let more = logs.len().saturating_sub(1) as f64;
            sum += series::variance(&logs) * more;
            freedom += more;
        }
        let seen = if freedom > 0.0 {
            (sum / freedom).sqrt()
        } else {
            0.0
        };
        Noise {
            deviation: seen.max(TRIAL_DEVIATION_MIN),
            // The least deviation is not an estimate.
            freedom: if seen > TRIAL_DEVIATION_MIN {
                freedom
            } else {
                1e6
            },
        }
    }

    /// Standard error of the logarithm of a point's mean.
    fn of_point(self, point: &Point) -> f64 {
        self.deviation / (point.ops_per_s.len().max(1) as f64).sqrt()
    }

    fn quantile(self) -> f64 {
        series::t_quantile(ONE_SIDED, self.freedom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Chance;

    fn points(rows: &[(f64, f64, f64)]) -> Vec<Point> {
        let point = |&(load, ops_per_s, p99_ms): &(f64, f64, f64)| Point {
            load,
            ops_per_s: vec![ops_per_s],
            p99_ms,
            state: State::Kept,
        };
        rows.iter().map(point).collect()
    }

    #[test]
    fn a_sweep_past_saturation_has_a_peak_a_bound_and_a_knee() {
        let sweep = points(&[
            (4.0, 10_000.0, 1.0),
            (8.0, 19_000.0, 1.1),
            (16.0, 30_000.0, 1.8),
            (32.0, 30_600.0, 3.9),
            (64.0, 29_900.0, 8.5),
        ]);
        let seen = read_sweep(&sweep, Some(1.5));
        assert_eq!(
            seen,
            Sweep {
                best: Some(3),
                best_within_bound: Some(1),
                first_over_bound: Some(2),
                saturated_from: None,
                knee: Knee::At(2),
                best_is_last: false,
            }
        );
    }

    #[test]
    fn a_sweep_that_still_rises_has_no_knee_and_says_that_its_best_is_its_last() {
        let sweep = points(&[
            (4.0, 10_000.0, 1.0),
            (8.0, 19_000.0, 1.1),
            (16.0, 33_000.0, 1.3),
        ]);
        let seen = read_sweep(&sweep, None);
        assert_eq!(
            (seen.best, seen.knee, seen.best_is_last),
            (Some(2), Knee::Growing, true)
        );
        assert_eq!(
            (seen.best_within_bound, seen.first_over_bound),
            (None, None)
        );
    }

    #[test]
    fn throughput_that_stops_growing_while_latency_does_not_grow_is_no_knee() {
        // A client at its own limit, for example: V3 says so.
        let sweep = points(&[(4.0, 10_000.0, 1.0), (8.0, 10_050.0, 1.0)]);
        assert_eq!(read_sweep(&sweep, None).knee, Knee::Untold);
    }

    #[test]
    fn steps_that_are_shorter_than_the_noise_show_no_knee() {
        // As it was found: 64 "was the knee" of these, since 65 brought under 3 % more.
        let sweep = points(&[
            (64.0, 50_000.0, 2.00),
            (65.0, 50_300.0, 2.05),
            (66.0, 51_400.0, 2.04),
            (67.0, 52_000.0, 2.10),
            (68.0, 52_500.0, 2.11),
            (70.0, 53_900.0, 2.13),
        ]);
        assert_eq!(read_sweep(&sweep, None).knee, Knee::Untold);
    }

    #[test]
    fn one_pair_that_brings_nothing_is_no_knee_when_throughput_grows_after_it() {
        let sweep = points(&[
            (8.0, 20_000.0, 1.0),
            (16.0, 20_100.0, 2.2),
            (32.0, 39_000.0, 2.3),
            (64.0, 70_000.0, 2.6),
        ]);
        assert_ne!(read_sweep(&sweep, None).knee, Knee::At(0));
    }

    #[test]
    fn saturated_rates_are_read_and_not_passed_over() {
        let mut sweep = points(&[
            (5_000.0, 5_000.0, 1.0),
            (10_000.0, 10_000.0, 1.2),
            (15_000.0, 12_300.0, 900.0),
            (20_000.0, 12_500.0, 2500.0),
        ]);
        sweep[2].state = State::Saturated;
        sweep[3].state = State::Saturated;
        let seen = read_sweep(&sweep, Some(10.0));
        assert_eq!((seen.knee, seen.saturated_from), (Knee::At(1), Some(2)));
        assert_eq!((seen.best, seen.best_within_bound), (Some(1), Some(1)));
        assert_eq!((seen.first_over_bound, seen.best_is_last), (Some(2), false));
        // Kept up with again beyond it: then it was an incident, not the end.
        sweep[3].state = State::Kept;
        assert_eq!(read_sweep(&sweep, None).saturated_from, None);
        // Saturated from the first on: what it did is the best that there is.
        sweep.iter_mut().for_each(|p| p.state = State::Saturated);
        assert_eq!(read_sweep(&sweep, None).best, Some(3));
    }

    #[test]
    fn unusable_points_are_passed_over_and_of_equals_the_lower_load_is_best() {
        let mut sweep = points(&[(4.0, 10.0, 1.0), (8.0, 10.0, 2.0), (16.0, 90.0, 9.0)]);
        sweep[2].state = State::Unusable;
        let seen = read_sweep(&sweep, None);
        assert_eq!((seen.best, seen.best_is_last), (Some(0), false));
        assert_eq!(read_sweep(&[], Some(1.0)).best, None);
        assert_eq!(read_sweep(&[], None).knee, Knee::Untold);
    }

    /// A ladder whose throughput grows with `elasticity` up to `knee`, and not beyond it.
    fn ladder(
        chance: &mut Chance,
        loads: &[f64],
        (elasticity, knee): (f64, f64),
        (noise, blocks): (f64, usize),
    ) -> Vec<Point> {
        let point = |&load: &f64| {
            let truth = load.min(knee).powf(elasticity);
            let ops: Vec<f64> = (0..blocks)
                .map(|_| 1000.0 * truth * (noise * chance.normal()).exp())
                .collect();
            Point {
                load,
                p99_ms: load / truth * (0.1 * chance.normal()).exp(),
                ops_per_s: ops,
                state: State::Kept,
            }
        };
        loads.iter().map(point).collect()
    }

    /// Share of ladders with a knee; with `at`, with the knee there or at a neighbour.
    fn share(made: impl Iterator<Item = Vec<Point>>, at: Option<usize>) -> f64 {
        let (mut found, mut all) = (0, 0);
        for points in made {
            all += 1;
            found += match (read_sweep(&points, None).knee, at) {
                (Knee::At(seen), Some(at)) => u32::from(seen.abs_diff(at) <= 1),
                (Knee::At(_), None) => 1,
                _ => 0,
            };
        }
        f64::from(found) / f64::from(all)
    }

    const DOUBLING: [f64; 6] = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    const SHORT: [f64; 6] = [64.0, 65.0, 66.0, 67.0, 68.0, 70.0];
    const HALVES: [f64; 6] = [8.0, 12.0, 16.0, 24.0, 32.0, 48.0];

    #[test]
    fn of_ladders_that_rise_to_the_end_at_most_one_in_twenty_has_a_knee() {
        let mut chance = Chance(41);
        for loads in [DOUBLING, SHORT, HALVES] {
            for elasticity in [0.5, 0.8, 1.0] {
                for noise in [(0.02, 1), (0.02, 3), (0.05, 1), (0.10, 1), (0.10, 3)] {
                    let made =
                        (0..400).map(|_| ladder(&mut chance, &loads, (elasticity, 1e9), noise));
                    let seen = share(made, None);
                    println!("{loads:?} {elasticity} {noise:?}: {seen:.3}");
                    assert!(seen <= 0.05, "{loads:?} {elasticity} {noise:?}: {seen}");
                }
            }
        }
    }

    #[test]
    fn the_knee_of_a_ladder_that_has_one_is_found() {
        let mut chance = Chance(43);
        for noise in [(0.02, 1), (0.02, 3), (0.05, 3)] {
            let made = (0..400).map(|_| ladder(&mut chance, &DOUBLING, (0.9, 16.0), noise));
            let seen = share(made, Some(2));
            println!("{noise:?}: {seen:.3}");
            assert!(seen >= 0.9, "{noise:?}: {seen}");
        }
    }
}
