//! Computes the times at which operations are due. The module does not read a clock, so its results
//! depend only on its inputs.
//!
//! The schedule belongs to the run, not to a connection. Worker `w` of `W` takes the operations `w,
//! w + W, w + 2W, …`. The operations of all workers together form the requested schedule.

use std::sync::Arc;
use std::time::Duration;
use workload::ArrivalTimes;
use workload::random::{Draws, mix};

/// Schedule of the operations' due times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// A closed loop with a fixed number of operations in flight (called "threads" in other tools).
    /// The next operation is due when a slot becomes free.
    Closed {
        /// Number of operations in flight over all workers.
        in_flight: u32,
    },
    /// Evenly spaced due times at a fixed rate.
    Fixed {
        /// Operations per second over all workers.
        ops_per_s: f64,
    },
    /// Independent arrivals with exponentially distributed gaps.
    Poisson {
        /// Mean operations per second over all workers.
        ops_per_s: f64,
    },
    /// The recorded times of the program's operations, sped up by a factor.
    Recorded {
        /// Factor by which the recorded times are sped up. With 1, the times are as recorded.
        speed: f64,
    },
}

impl Schedule {
    /// Returns true if the due times do not depend on the responses.
    pub fn is_open(self) -> bool {
        !matches!(self, Schedule::Closed { .. })
    }
}

/// Due times of one worker's operations in sequence, in ns since the start line.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    even: Even,
    /// Time in which the rate rises to its final value, in ns.
    rise_ns: u64,
}

/// Due times without the rise, as if the full rate applied from the start line on.
#[derive(Clone, Debug)]
enum Even {
    /// Due times at a fixed rate. Bresenham's line algorithm computes them, so they do not drift
    /// for any duration and rate.
    Fixed {
        next_ns: u64,
        rest: u128,
        step_ns: u64,
        step_rest: u128,
        divisor: u128,
    },
    Poisson {
        next_ns: f64,
        mean_ns: f64,
        draws: Draws,
    },
    Recorded {
        course: Arc<ArrivalTimes>,
        /// Recorded due time of the first operation of all workers, in ns.
        from_ns: u64,
        /// Number of the next operation.
        n: u64,
        step: u64,
        speed: f64,
    },
}

/// Number of rate units per operation per second. Rates are counted in thousandths of an operation
/// per second, so that a fixed rate is exact.
const RATE_UNITS: f64 = 1_000.0;

impl Arrivals {
    /// Returns the arrivals of worker `worker` of `workers` workers. Returns `None` for a closed
    /// loop. The rate rises linearly from zero to its final value over the time `rise`.
    pub fn new(
        schedule: Schedule,
        rise: Duration,
        worker: u64,
        workers: u64,
        seed: u64,
    ) -> Option<Arrivals> {
        Some(Arrivals {
            even: Even::new(schedule, worker, workers, seed)?,
            rise_ns: rise.as_nanos() as u64,
        })
    }

    /// Returns recorded arrivals that start with operation `first`. The other parameters are those
    /// of [`Arrivals::new`].
    pub fn recorded(
        (course, speed): (Arc<ArrivalTimes>, f64),
        rise: Duration,
        first: u64,
        worker: u64,
        workers: u64,
    ) -> Arrivals {
        Arrivals {
            even: Even::Recorded {
                from_ns: course.at_ns(first),
                course,
                n: first + worker,
                step: workers,
                speed,
            },
            rise_ns: rise.as_nanos() as u64,
        }
    }

    #[inline]
    pub fn next_ns(&self) -> u64 {
        risen_ns(self.even.next_ns(), self.rise_ns)
    }

    #[inline]
    pub fn advance(&mut self) {
        self.even.advance();
    }

    /// Skips all operations that are due before `until_ns` and returns their number. The number is
    /// exact, except for Poisson arrivals, for which the number is about the mean.
    pub fn skip_until(&mut self, until_ns: u64) -> u64 {
        // The first step skips slightly too few operations at once, so that the rounding of the
        // root does not matter.
        let even_ns = even_ns(until_ns, self.rise_ns);
        let mut count = self.even.skip_until(even_ns);
        while self.next_ns() < until_ns {
            self.advance();
            count += 1;
        }
        count
    }
}

/// Returns the due time of an operation that would be due at `even_ns` without the rise. If the
/// rate rises linearly to R over the time T, then R·t²/2T operations are due before t ≤ T, and
/// R·T/2 before T.
#[inline]
fn risen_ns(even_ns: u64, rise_ns: u64) -> u64 {
    if even_ns < rise_ns / 2 {
        (2.0 * even_ns as f64 * rise_ns as f64).sqrt() as u64
    } else {
        even_ns + rise_ns / 2
    }
}

/// Returns a time that [`risen_ns`] maps to `until_ns` or to a time at most a few µs before
/// `until_ns`.
fn even_ns(until_ns: u64, rise_ns: u64) -> u64 {
    if until_ns < rise_ns {
        let even = until_ns as f64 * until_ns as f64 / (2.0 * rise_ns as f64);
        (even as u64).saturating_sub(1)
    } else {
        (until_ns - rise_ns).saturating_add(rise_ns.div_ceil(2))
    }
}

impl Even {
    fn new(schedule: Schedule, worker: u64, workers: u64, seed: u64) -> Option<Even> {
        match schedule {
            // A recorded schedule takes its times from the program. See `Arrivals::recorded`.
            Schedule::Closed { .. } | Schedule::Recorded { .. } => None,
            Schedule::Fixed { ops_per_s } => {
                let divisor = (ops_per_s * RATE_UNITS).round().max(1.0) as u128;
                let period = |ops: u64| u128::from(ops) * (RATE_UNITS * 1e9) as u128;
                let (first, step) = (period(worker), period(workers));
                Some(Even::Fixed {
                    next_ns: (first / divisor) as u64,
                    rest: first % divisor,
                    step_ns: (step / divisor) as u64,
                    step_rest: step % divisor,
                    divisor,
                })
            }
            Schedule::Poisson { ops_per_s } => {
                let mean_ns = 1e9 * workers as f64 / ops_per_s;
                let mut arrivals = Even::Poisson {
                    next_ns: 0.0,
                    mean_ns,
                    draws: Draws::sequence(mix(seed ^ mix(worker + 1))),
                };
                arrivals.advance();
                Some(arrivals)
            }
        }
    }

    #[inline]
    fn next_ns(&self) -> u64 {
        match *self {
            Even::Fixed { next_ns, .. } => next_ns,
            Even::Poisson { next_ns, .. } => next_ns as u64,
            Even::Recorded {
                ref course,
                from_ns,
                n,
                speed,
                ..
            } => ((course.at_ns(n) - from_ns) as f64 / speed) as u64,
        }
    }

    #[inline]
    fn advance(&mut self) {
        match self {
            Even::Fixed {
                next_ns,
                rest,
                step_ns,
                step_rest,
                divisor,
            } => {
                *next_ns += *step_ns;
                *rest += *step_rest;
                if *rest >= *divisor {
                    *rest -= *divisor;
                    *next_ns += 1;
                }
            }
            Even::Poisson {
                next_ns,
                mean_ns,
                draws,
            } => *next_ns += -draws.unit().ln() * *mean_ns,
            Even::Recorded { n, step, .. } => *n += *step,
        }
    }

    fn skip_until(&mut self, until_ns: u64) -> u64 {
        if self.next_ns() >= until_ns {
            return 0;
        }
        match self {
            Even::Fixed {
                next_ns,
                rest,
                step_ns,
                step_rest,
                divisor,
            } => {
                let step = u128::from(*step_ns) * *divisor + *step_rest;
                let distance = u128::from(until_ns - *next_ns) * *divisor - *rest;
                let count = distance.div_ceil(step);
                let moved = *rest + count * step;
                *next_ns += (moved / *divisor) as u64;
                *rest = moved % *divisor;
                count as u64
            }
            Even::Poisson {
                next_ns, mean_ns, ..
            } => {
                let count = ((until_ns as f64 - *next_ns) / *mean_ns).floor() + 1.0;
                *next_ns += count * *mean_ns;
                count as u64
            }
            Even::Recorded {
                course,
                from_ns,
                n,
                step,
                speed,
            } => {
                // The first step skips slightly too few operations, so that the rounding of the
                // quotient does not matter.
                let until = (until_ns as f64 * *speed) as u64;
                let until = until.saturating_sub(1 + speed.ceil() as u64);
                let end = course.count_before(from_ns.saturating_add(until));
                let count = end.saturating_sub(*n).div_ceil(*step);
                *n += count * *step;
                count
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT_ONCE: Duration = Duration::ZERO;

    fn due(schedule: Schedule, workers: u64, count: usize) -> Vec<u64> {
        due_rising(schedule, AT_ONCE, workers, count)
    }

    fn due_rising(schedule: Schedule, rise: Duration, workers: u64, count: usize) -> Vec<u64> {
        let mut all: Vec<u64> = (0..workers)
            .flat_map(|worker| {
                let mut arrivals = Arrivals::new(schedule, rise, worker, workers, 7).unwrap();
                (0..count).map(move |_| {
                    let at = arrivals.next_ns();
                    arrivals.advance();
                    at
                })
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// cassandra-stress divides 1e9 by the rate with integer division, so it sends 300 030 op/s
    /// instead of 300 000 op/s.
    #[test]
    fn a_rate_that_does_not_divide_a_second_is_still_exact() {
        for ops_per_s in [300_000.0, 700_000.0, 333.3, 7.0] {
            let mut arrivals =
                Arrivals::new(Schedule::Fixed { ops_per_s }, AT_ONCE, 0, 1, 0).unwrap();
            let operations = (ops_per_s * 10.0) as u64;
            for _ in 0..operations {
                arrivals.advance();
            }
            let exact = operations as f64 / ops_per_s * 1e9;
            assert!(
                (arrivals.next_ns() as f64 - exact).abs() <= 1.0,
                "{ops_per_s}"
            );
        }
    }

    /// With a period of a whole number of nanoseconds, each operation would add an error of a third
    /// of a nanosecond.
    #[test]
    fn three_a_second_for_an_hour_are_10_800() {
        let hour_ns = 3600 * 1_000_000_000u64;
        for workers in [1, 3, 7] {
            let within = due(Schedule::Fixed { ops_per_s: 3.0 }, workers, 10_900)
                .into_iter()
                .filter(|&at_ns| at_ns < hour_ns);
            assert_eq!(within.count(), 10_800);
        }
    }

    #[test]
    fn workers_share_one_schedule() {
        let schedule = Schedule::Fixed { ops_per_s: 1234.5 };
        let alone = due(schedule, 1, 4000);
        let shared = due(schedule, 4, 1000);
        assert!(alone.iter().zip(&shared).all(|(a, b)| a.abs_diff(*b) <= 1));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_poisson() {
        let at = due(Schedule::Poisson { ops_per_s: 1e6 }, 2, 100_000);
        let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        // The two workers end at slightly different times, so the test omits the last gaps.
        let gaps = &gaps[..190_000];
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1000.0).abs() < 15.0, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    /// At the highest rate, it would take too long to step through 10^11 operations one by one.
    #[test]
    fn a_hundred_seconds_of_the_highest_rate_are_skipped_at_once() {
        let second_ns = 1_000_000_000;
        let at = |schedule| Arrivals::new(schedule, AT_ONCE, 1, 2, 7).unwrap();
        let mut fixed = at(Schedule::Fixed { ops_per_s: 1e9 });
        assert_eq!(fixed.skip_until(100 * second_ns), 50 * second_ns);
        assert_eq!(fixed.next_ns(), 100 * second_ns + 1);
        let mut poisson = at(Schedule::Poisson { ops_per_s: 1e9 });
        let skipped = poisson.skip_until(100 * second_ns) as f64;
        assert!((skipped / 5e10 - 1.0).abs() < 1e-6, "{skipped}");
        assert!(poisson.next_ns() >= 100 * second_ns);
    }

    #[test]
    fn a_recording_repeats_its_arrival_times_at_any_speed() {
        let course = Arc::new(ArrivalTimes::new(vec![0, 100, 100, 700], 1000));
        for (speed, workers) in [(1.0, 1), (1.0, 3), (2.0, 2), (0.5, 1)] {
            let mut at: Vec<u64> = (0..workers)
                .flat_map(|worker| {
                    let asked = (Arc::clone(&course), speed);
                    let mut one = Arrivals::recorded(asked, AT_ONCE, 0, worker, workers);
                    let mut skipped = one.clone();
                    assert_eq!(
                        skipped.skip_until(2_000),
                        (0..)
                            .map_while(|_| {
                                let is_before = one.next_ns() < 2_000;
                                is_before.then(|| one.advance())
                            })
                            .count() as u64
                    );
                    assert_eq!(skipped.next_ns(), one.next_ns());
                    let asked = (Arc::clone(&course), speed);
                    let mut one = Arrivals::recorded(asked, AT_ONCE, 0, worker, workers);
                    (0..12).map(move |_| {
                        let at_ns = one.next_ns();
                        one.advance();
                        at_ns
                    })
                })
                .collect();
            at.sort_unstable();
            let expected = [0.0, 100.0, 100.0, 700.0, 1000.0, 1100.0].map(|ns| (ns / speed) as u64);
            assert_eq!(at[..6], expected, "{speed} {workers}");
        }
    }

    #[test]
    fn a_rising_rate_offers_the_area_below_its_line() {
        let second = |at: &[u64], second: u64| {
            let in_it = at.iter().filter(|ns| **ns / 1_000_000_000 == second);
            in_it.count()
        };
        let rise = Duration::from_secs(10);
        let at = due_rising(Schedule::Fixed { ops_per_s: 600.0 }, rise, 3, 3000);
        let counts: Vec<usize> = (0..12).map(|number| second(&at, number)).collect();
        // At the time t, 600·t²/20 operations have been due: 30, 120, 270, …, 3000. After the rise,
        // 600 operations per second are due.
        let exact = [30, 90, 150, 210, 270, 330, 390, 450, 510, 570, 600, 600];
        let differ = counts.iter().zip(exact).map(|(a, b)| a.abs_diff(b)).max();
        assert!(differ <= Some(1), "{counts:?}");
        let at = due_rising(Schedule::Poisson { ops_per_s: 600.0 }, rise, 3, 3000);
        let in_rise = at.iter().filter(|ns| **ns < 10_000_000_000).count();
        assert!(
            in_rise.abs_diff(3000) < 5 * 55,
            "{in_rise}: five deviations"
        );
    }

    proptest! {
        #[test]
        fn skipped_arrivals_are_those_that_a_walk_would_pass(
            rate in 0.5f64..2e4, until_ms in 0u64..3000, workers in 1u64..5, before in 0u64..50,
            rise_ms in 0u64..4000) {
            for rise_ms in [0, rise_ms] {
                let rise = Duration::from_millis(rise_ms);
                let schedule = Schedule::Fixed { ops_per_s: rate };
                let until_ns = until_ms * 1_000_000;
                let mut walked = Arrivals::new(schedule, rise, 0, workers, 1).unwrap();
                (0..before).for_each(|_| walked.advance());
                let mut skipped = walked.clone();
                let mut count = 0;
                while walked.next_ns() < until_ns {
                    walked.advance();
                    count += 1;
                }
                prop_assert_eq!(skipped.skip_until(until_ns), count);
                prop_assert_eq!(skipped.next_ns(), walked.next_ns());
                skipped.advance();
                walked.advance();
                prop_assert_eq!(skipped.next_ns(), walked.next_ns());
            }
        }

        #[test]
        fn due_times_never_go_back(rate in 0.01f64..5e6, workers in 1u64..9, worker in 0u64..8,
            rise_us in 0u64..1000) {
            let (worker, rise) = (worker % workers, Duration::from_micros(rise_us));
            for schedule in [Schedule::Fixed { ops_per_s: rate },
                             Schedule::Poisson { ops_per_s: rate }] {
                let mut arrivals = Arrivals::new(schedule, rise, worker, workers, 1).unwrap();
                let mut last = 0;
                for _ in 0..100 {
                    prop_assert!(arrivals.next_ns() >= last);
                    last = arrivals.next_ns();
                    arrivals.advance();
                }
            }
        }
    }
}
