//! Reading a sweep: where it was best, where latency passed a bound, where it saturated.

/// One step of a sweep, from lowest to highest load.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Load on the axis: threads, or op/s.
    pub load: f64,
    /// Achieved throughput.
    pub ops_per_s: f64,
    /// p99 latency, ms.
    pub p99_ms: f64,
    /// Whether the trial may be used (its verdict is not `invalid`).
    pub usable: bool,
}

/// What a sweep shows; indexes into its points. Points that are not usable are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The highest throughput.
    pub best: Option<usize>,
    /// The highest throughput with p99 within the bound. None when there is no bound.
    pub best_within_bound: Option<usize>,
    /// The first point whose p99 is above the bound.
    pub first_over_bound: Option<usize>,
    /// The knee: the last point before a step up in load that brought under 3 % more throughput
    /// while p99 grew with the load (twice the load, twice the latency). None: not reached.
    pub knee: Option<usize>,
    /// Whether the best point is the last usable one: the peak may lie beyond the sweep.
    pub best_is_last: bool,
}

/// A step that brings less throughput than this brings none: it is the margin within which two
/// throughputs count as equivalent.
const GAIN_MIN: f64 = 1.03;
/// p99 is known to about ±10 %, the margin of its comparisons.
const LATENCY_SLACK: f64 = 0.9;

/// Reads a sweep. `p99_bound_ms`: the latency that may not be passed, if there is one.
pub fn read_sweep(points: &[Point], p99_bound_ms: Option<f64>) -> Sweep {
    let usable: Vec<usize> = (0..points.len()).filter(|&i| points[i].usable).collect();
    let highest = |indexes: &mut dyn Iterator<Item = usize>| {
        indexes.max_by(|&a, &b| {
            // Of equals the first: less load for the same.
            points[a]
                .ops_per_s
                .total_cmp(&points[b].ops_per_s)
                .then(b.cmp(&a))
        })
    };
    let over = |i: usize| p99_bound_ms.is_some_and(|bound| points[i].p99_ms > bound);
    let best = highest(&mut usable.iter().copied());
    let within = p99_bound_ms.is_some();
    Sweep {
        best,
        best_within_bound: highest(&mut usable.iter().copied().filter(|&i| within && !over(i))),
        first_over_bound: usable.iter().copied().find(|&i| over(i)),
        knee: knee(points, &usable),
        best_is_last: best.is_some() && best == usable.last().copied(),
    }
}

/// In a closed loop past saturation latency grows as the load does (Little's law), so "latency
/// doubles" is asked per doubling of load: the growth of p99 is at least that of the load.
fn knee(points: &[Point], usable: &[usize]) -> Option<usize> {
    usable.windows(2).find_map(|pair| {
        let (before, after) = (&points[pair[0]], &points[pair[1]]);
        let grows = after.load > before.load && before.p99_ms > 0.0;
        let saturated = after.ops_per_s < before.ops_per_s * GAIN_MIN;
        let slower = after.p99_ms / before.p99_ms >= (after.load / before.load) * LATENCY_SLACK;
        (grows && saturated && slower).then_some(pair[0])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rows: &[(f64, f64, f64)]) -> Vec<Point> {
        let point = |&(load, ops_per_s, p99_ms): &(f64, f64, f64)| Point {
            load,
            ops_per_s,
            p99_ms,
            usable: true,
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
                knee: Some(2),
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
            (Some(2), None, true)
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
        assert_eq!(read_sweep(&sweep, None).knee, None);
    }

    #[test]
    fn invalid_points_are_passed_over_and_of_equals_the_lower_load_is_best() {
        let mut sweep = points(&[(4.0, 10.0, 1.0), (8.0, 10.0, 2.0), (16.0, 90.0, 9.0)]);
        sweep[2].usable = false;
        let seen = read_sweep(&sweep, None);
        assert_eq!((seen.best, seen.best_is_last), (Some(0), false));
        assert_eq!(read_sweep(&[], Some(1.0)).best, None);
    }
}
