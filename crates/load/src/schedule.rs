//! When operations are due. Pure: no clock is read here.
//!
//! The schedule belongs to the run, not to a connection: worker `w` of `W` takes the operations
//! `w, w + W, w + 2W, …`, and the union over all workers is the schedule that was asked for.

use std::time::Duration;
use workload::random::{Draws, mix};

/// When operations are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// A closed loop: as many operations in flight as there are "threads"; the next one is due
    /// at the moment a slot becomes free.
    Closed {
        /// Operations in flight over all workers.
        in_flight: u32,
    },
    /// Evenly spaced.
    Fixed {
        /// Operations per second over all workers.
        ops_per_s: f64,
    },
    /// Independent arrivals: exponential gaps.
    Poisson {
        /// Mean operations per second over all workers.
        ops_per_s: f64,
    },
    /// A rate that changes linearly, and stays at its end value afterwards.
    Ramp {
        /// Rate at the start line.
        from_ops_per_s: f64,
        /// Rate at the end of the ramp.
        to_ops_per_s: f64,
        /// Length of the ramp.
        over: Duration,
    },
}

impl Schedule {
    /// Whether operations are due at times that do not depend on the answers.
    pub fn is_open(self) -> bool {
        !matches!(self, Schedule::Closed { .. })
    }
}

/// The due times of one worker's operations, one after the other, in ns since the start line.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    /// Bresenham's line: no drift, however long the run and whatever the rate.
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
    Ramp {
        index: u64,
        step: u64,
        from: f64,
        to: f64,
        over_s: f64,
    },
}

/// Rates are kept in thousandths of an operation per second, so that a fixed rate is exact.
const RATE_UNITS: f64 = 1_000.0;

impl Arrivals {
    /// The arrivals of worker `worker` of `workers`; none for a closed loop.
    pub fn new(schedule: Schedule, worker: u64, workers: u64, seed: u64) -> Option<Arrivals> {
        match schedule {
            Schedule::Closed { .. } => None,
            Schedule::Fixed { ops_per_s } => {
                let divisor = (ops_per_s * RATE_UNITS).round().max(1.0) as u128;
                let period = |ops: u64| u128::from(ops) * (RATE_UNITS * 1e9) as u128;
                let (first, step) = (period(worker), period(workers));
                Some(Arrivals::Fixed {
                    next_ns: (first / divisor) as u64,
                    rest: first % divisor,
                    step_ns: (step / divisor) as u64,
                    step_rest: step % divisor,
                    divisor,
                })
            }
            Schedule::Poisson { ops_per_s } => {
                let mean_ns = 1e9 * workers as f64 / ops_per_s;
                let mut arrivals = Arrivals::Poisson {
                    next_ns: 0.0,
                    mean_ns,
                    draws: Draws::sequence(mix(seed ^ mix(worker + 1))),
                };
                arrivals.advance();
                Some(arrivals)
            }
            Schedule::Ramp {
                from_ops_per_s,
                to_ops_per_s,
                over,
            } => Some(Arrivals::Ramp {
                index: worker,
                step: workers,
                from: from_ops_per_s,
                to: to_ops_per_s,
                over_s: over.as_secs_f64().max(1e-9),
            }),
        }
    }

    /// When the next operation is due, in ns since the start line.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        match *self {
            Arrivals::Fixed { next_ns, .. } => next_ns,
            Arrivals::Poisson { next_ns, .. } => next_ns as u64,
            Arrivals::Ramp {
                index,
                from,
                to,
                over_s,
                ..
            } => (ramp_due_s(index as f64, from, to, over_s) * 1e9) as u64,
        }
    }

    /// Moves on to the operation after.
    #[inline]
    pub fn advance(&mut self) {
        match self {
            Arrivals::Fixed {
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
            Arrivals::Poisson {
                next_ns,
                mean_ns,
                draws,
            } => *next_ns += -draws.unit().ln() * *mean_ns,
            Arrivals::Ramp { index, step, .. } => *index += *step,
        }
    }
}

impl Arrivals {
    /// Moves past all that is due before `until_ns`, and says how many that were: exactly, but of
    /// Poisson arrivals the mean number.
    pub fn skip_until(&mut self, until_ns: u64) -> u64 {
        if self.next_ns() >= until_ns {
            return 0;
        }
        match self {
            Arrivals::Fixed {
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
            Arrivals::Poisson {
                next_ns, mean_ns, ..
            } => {
                let count = ((until_ns as f64 - *next_ns) / *mean_ns).floor() + 1.0;
                *next_ns += count * *mean_ns;
                count as u64
            }
            Arrivals::Ramp {
                index,
                step,
                from,
                to,
                over_s,
            } => {
                let is_due = |count: u64| {
                    let index = (*index + count * *step) as f64;
                    ((ramp_due_s(index, *from, *to, *over_s) * 1e9) as u64) < until_ns
                };
                let (mut due, mut beyond) = (0, 1);
                while is_due(beyond) {
                    (due, beyond) = (beyond, beyond * 2);
                }
                while beyond - due > 1 {
                    let middle = due + (beyond - due) / 2;
                    match is_due(middle) {
                        true => due = middle,
                        false => beyond = middle,
                    }
                }
                *index += beyond * *step;
                beyond
            }
        }
    }
}

/// Time in seconds at which the integral of the rate reaches `n`: the root of
/// `from·t + (to − from)·t²/(2·over) = n` inside the ramp, a straight line after it.
fn ramp_due_s(n: f64, from: f64, to: f64, over_s: f64) -> f64 {
    let in_ramp = (from + to) / 2.0 * over_s;
    if n >= in_ramp {
        return over_s + (n - in_ramp) / to.max(1e-9);
    }
    let slope = (to - from) / over_s;
    if slope.abs() < 1e-12 {
        return n / from.max(1e-9);
    }
    // The stable form of the quadratic's root.
    2.0 * n / (from + (from * from + 2.0 * slope * n).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(schedule: Schedule, workers: u64, count: usize) -> Vec<u64> {
        let mut all: Vec<u64> = (0..workers)
            .flat_map(|worker| {
                let mut arrivals = Arrivals::new(schedule, worker, workers, 7).unwrap();
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

    /// cassandra-stress divides 1e9 by the rate in integers and offers 300 030/s for 300 000/s.
    #[test]
    fn a_rate_that_does_not_divide_a_second_is_still_exact() {
        for ops_per_s in [300_000.0, 700_000.0, 333.3, 7.0] {
            let mut arrivals = Arrivals::new(Schedule::Fixed { ops_per_s }, 0, 1, 0).unwrap();
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

    /// A period of whole nanoseconds is wrong by a third of one at each operation.
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
        let gaps: Vec<f64> = at
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        // The two workers end at slightly different times: leave the tail out.
        let gaps = &gaps[..190_000];
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1000.0).abs() < 15.0, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    /// At the highest rate: nobody walks past 10^11 of them one by one.
    #[test]
    fn a_hundred_seconds_of_the_highest_rate_are_skipped_at_once() {
        let second_ns = 1_000_000_000;
        let at = |schedule| Arrivals::new(schedule, 1, 2, 7).unwrap();
        let mut fixed = at(Schedule::Fixed { ops_per_s: 1e9 });
        assert_eq!(fixed.skip_until(100 * second_ns), 50 * second_ns);
        assert_eq!(fixed.next_ns(), 100 * second_ns + 1);
        let mut poisson = at(Schedule::Poisson { ops_per_s: 1e9 });
        let skipped = poisson.skip_until(100 * second_ns) as f64;
        assert!((skipped / 5e10 - 1.0).abs() < 1e-6, "{skipped}");
        assert!(poisson.next_ns() >= 100 * second_ns);
    }

    #[test]
    fn a_ramp_offers_its_area() {
        let over = Duration::from_secs(10);
        let ramp = Schedule::Ramp {
            from_ops_per_s: 100.0,
            to_ops_per_s: 300.0,
            over,
        };
        let at = due(ramp, 3, 1000);
        let in_ramp = at.iter().filter(|&&ns| ns < 10_000_000_000).count();
        assert!((1999..=2001).contains(&in_ramp), "{in_ramp}");
        let down = Schedule::Ramp {
            from_ops_per_s: 300.0,
            to_ops_per_s: 100.0,
            over,
        };
        assert!(due(down, 1, 2500).windows(2).all(|pair| pair[0] <= pair[1]));
    }

    proptest! {
        #[test]
        fn what_is_skipped_is_what_would_be_walked_past(
            rate in 0.5f64..2e4, until_ms in 0u64..3000, workers in 1u64..5, before in 0u64..50) {
            let over = Duration::from_secs(2);
            let ramp = Schedule::Ramp { from_ops_per_s: rate, to_ops_per_s: 5.0, over };
            for schedule in [Schedule::Fixed { ops_per_s: rate }, ramp] {
                let until_ns = until_ms * 1_000_000;
                let mut walked = Arrivals::new(schedule, 0, workers, 1).unwrap();
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
        fn due_times_never_go_back(rate in 0.01f64..5e6, workers in 1u64..9, worker in 0u64..8) {
            let worker = worker % workers;
            for schedule in [Schedule::Fixed { ops_per_s: rate },
                             Schedule::Poisson { ops_per_s: rate }] {
                let mut arrivals = Arrivals::new(schedule, worker, workers, 1).unwrap();
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
