//! When cassandra-stress stops: its ladder of threads, and its runs without an end that is said.
//!
//! What must hold: the same steps and the same decisions as the tool takes for the same rates,
//! from the rates alone.

/// One run of the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LadderResult {
    /// Operations in flight.
    pub threads: u32,
    /// Operations per second.
    pub rate: f64,
}

/// Below this many threads they are doubled, above it they grow by half.
const DOUBLES_BELOW: u32 = 16;

/// Why a ladder goes on, for how long, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    /// Threads of the first run.
    pub from: u32,
    /// Threads of the last run at most.
    pub to: u32,
    /// Whether it ends when more threads no longer help; otherwise only at `to`.
    pub auto: bool,
    /// The improvement that the last five runs must have shown on average: the uncertainty that
    /// is aimed for, of a run that ends by it.
    pub improvement_min: Option<f64>,
}

impl Ladder {
    /// The threads of the next run; `None` when the ladder has ended.
    pub fn next(&self, results: &[LadderResult]) -> Option<u32> {
        let Some(last) = results.last() else {
            return Some(self.from);
        };
        let next = above(last.threads)?;
        let rates: Vec<f64> = results.iter().map(|result| result.rate).collect();
        let flat = self.auto && is_flat(&rates, self.improvement_min);
        (next <= self.to && !flat).then_some(next)
    }

    /// The threads of every run, were there no end but `to`.
    pub fn steps(&self) -> Vec<u32> {
        std::iter::successors(Some(self.from), |threads| above(*threads))
            .take_while(|threads| *threads <= self.to)
            .collect()
    }
}

/// The threads that follow on so many; `None` when there are no more numbers.
fn above(threads: u32) -> Option<u32> {
    match threads {
        // The tool would stay at none for ever.
        0 => Some(1),
        _ if threads < DOUBLES_BELOW => Some(threads * 2),
        _ => threads.checked_add(threads / 2),
    }
}

/// Whether more threads no longer help: the last three runs were worse on average each than the
/// one before, or the last five better by less than `improvement_min` (as a share).
pub fn is_flat(rates: &[f64], improvement_min: Option<f64>) -> bool {
    // A run that ends by a count has no uncertainty to aim for; the tool then takes -1, below
    // which five runs cannot fall without three falling first.
    let five = improvement_min.unwrap_or(-1.0);
    [(3, 0.0), (5, five)].into_iter().any(|(runs, least)| {
        let share = improvement(rates, runs);
        // Not a number, as after a run without any operation, is no improvement.
        rates.len() > runs && (share.is_nan() || share < least)
    })
}

/// The improvement of the last `runs` runs over those before them, on average, as a share.
pub fn improvement(rates: &[f64], runs: usize) -> f64 {
    let last = &rates[rates.len().saturating_sub(runs + 1)..];
    let shares = last.windows(2).map(|pair| (pair[1] - pair[0]) / pair[0]);
    shares.sum::<f64>() / runs as f64
}

/// The rates of the intervals of a run so far, and how well they tell its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Uncertainty {
    intervals: u32,
    sum: f64,
    sum_of_squares: f64,
}

impl Uncertainty {
    /// Adds the rate of an interval.
    pub fn add(&mut self, rate: f64) {
        self.intervals += 1;
        self.sum += rate;
        self.sum_of_squares += rate * rate;
    }

    /// The standard error of the mean rate, as a share of the mean: 0 before the first interval,
    /// not a number while nothing was done.
    pub fn value(&self) -> f64 {
        if self.intervals == 0 {
            return 0.0;
        }
        let count = f64::from(self.intervals);
        let mean = self.sum / count;
        // Equal rates may come out a rounding error below zero.
        let variance = (self.sum_of_squares / count - mean * mean).max(0.0);
        (variance.sqrt() / count.sqrt()) / mean
    }

    /// Whether the run may end: `target` is undercut after at least `min` intervals, or there were
    /// `max`.
    pub fn reached(&self, target: f64, min: u32, max: u32) -> bool {
        (self.value() < target && self.intervals >= min.max(1)) || self.intervals >= max
    }
}

/// Whether a run whose intervals had these `rates` may end.
pub fn uncertainty_reached(rates: &[f64], target: f64, min: u32, max: u32) -> bool {
    let mut uncertainty = Uncertainty::default();
    rates.iter().for_each(|rate| uncertainty.add(*rate));
    uncertainty.reached(target, min, max)
}

/// The rate of an interval as the tool adds it: rows over the time of the interval, less the
/// longest latency in it. A part of a second counts as that part.
pub fn interval_rate(rows: u64, interval_ns: u64, latency_max_ns: u64) -> f64 {
    // An interval that is all one latency has no time left; one nanosecond keeps the rate finite.
    let time_ns = interval_ns.saturating_sub(latency_max_ns).max(1);
    rows as f64 / (time_ns as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: Ladder = Ladder {
        from: 4,
        to: 1000,
        auto: true,
        improvement_min: Some(0.02),
    };

    fn results(rates: &[f64]) -> Vec<LadderResult> {
        let steps = LADDER.steps();
        let pairs = steps.into_iter().zip(rates);
        pairs
            .map(|(threads, rate)| LadderResult {
                threads,
                rate: *rate,
            })
            .collect()
    }

    #[test]
    fn threads_double_up_to_16_and_then_grow_by_half() {
        let steps = [4, 8, 16, 24, 36, 54, 81, 121, 181, 271, 406, 609, 913];
        assert_eq!(LADDER.steps(), steps);
        assert_eq!(
            Ladder {
                from: 1,
                to: 3,
                ..LADDER
            }
            .steps(),
            [1, 2]
        );
        assert_eq!(
            Ladder {
                from: 0,
                to: 5,
                ..LADDER
            }
            .steps(),
            [0, 1, 2, 4]
        );
        assert_eq!(
            Ladder {
                from: u32::MAX,
                to: u32::MAX,
                ..LADDER
            }
            .steps(),
            [u32::MAX]
        );
    }

    #[test]
    fn a_ladder_ends_when_three_runs_did_not_help() {
        assert_eq!(LADDER.next(&[]), Some(4));
        assert_eq!(LADDER.next(&results(&[100.0, 90.0, 80.0])), Some(24));
        assert_eq!(LADDER.next(&results(&[100.0, 90.0, 80.0, 70.0])), None);
        // Doubling once carries three runs: +1, -0.1, -0.1 are better on average.
        assert_eq!(
            LADDER.next(&results(&[100.0, 200.0, 180.0, 162.0])),
            Some(36)
        );
        let all = Ladder {
            auto: false,
            ..LADDER
        };
        assert_eq!(all.next(&results(&[100.0, 90.0, 80.0, 70.0])), Some(36));
    }

    #[test]
    fn a_ladder_ends_when_five_runs_helped_less_than_the_uncertainty() {
        let rates: Vec<f64> = (0..6).map(|run| 1.01f64.powi(run)).collect();
        assert_eq!(LADDER.next(&results(&rates[..5])), Some(54));
        assert_eq!(LADDER.next(&results(&rates)), None);
        let counted = Ladder {
            improvement_min: None,
            ..LADDER
        };
        assert_eq!(counted.next(&results(&rates)), Some(81));
    }

    #[test]
    fn a_ladder_ends_at_its_last_step_and_after_runs_without_operations() {
        let last = [LadderResult {
            threads: 913,
            rate: 5.0,
        }];
        assert_eq!(LADDER.next(&last), None);
        assert_eq!(LADDER.next(&results(&[0.0, 0.0, 0.0, 0.0])), None);
    }

    #[test]
    fn a_run_ends_when_the_standard_error_of_its_mean_rate_is_small() {
        // Mean 100, deviation 10: after n intervals 0.1 / sqrt(n), below 0.02 from n = 26 on.
        let rates: Vec<f64> = (0..40)
            .map(|n| if n % 2 == 0 { 90.0 } else { 110.0 })
            .collect();
        let mut uncertainty = Uncertainty::default();
        rates[..4].iter().for_each(|rate| uncertainty.add(*rate));
        assert!((uncertainty.value() - 0.05).abs() < 1e-12);
        assert!(!uncertainty_reached(&rates[..24], 0.02, 1, 200));
        assert!(uncertainty_reached(&rates[..26], 0.02, 1, 200));
        assert!(!uncertainty_reached(&rates[..26], 0.02, 30, 200));
        assert!(
            uncertainty_reached(&rates[..5], 0.02, 1, 5),
            "enough intervals"
        );
        assert!(
            !uncertainty_reached(&[], 0.02, 0, 200),
            "nothing is known yet"
        );
        assert!(
            !uncertainty_reached(&[0.0, 0.0], 0.02, 1, 200),
            "nothing was done"
        );
        assert!(
            uncertainty_reached(&[3.3, 3.3, 3.3], 0.02, 1, 200),
            "no negative variance"
        );
    }

    #[test]
    fn part_of_a_second_counts_as_that_part() {
        assert!((interval_rate(500, 500_000_000, 0) - 1000.0).abs() < 1e-9);
        assert!((interval_rate(900, 1_000_000_000, 100_000_000) - 1000.0).abs() < 1e-9);
        assert!(interval_rate(1, 5, 9).is_finite());
    }
}
