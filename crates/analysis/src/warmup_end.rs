//! Detects the end of warm-up.
//!
//! Each second, the detector receives one value of throughput and one value of p99. The detector
//! tests for a *trend* (Theil and Sen's slope, Mann and Kendall's test), because a test of variance
//! alone does not detect drift. Over the last window of seconds, the drift must be small or hidden
//! by noise. Over the last two windows, where noise matters less, the series must not have a clear
//! drift of twice that size. If a series is so noisy that one window cannot show its drift, the
//! detector needs values for two windows.

use crate::autocorrelation;
use crate::trend::trend;

/// Limits of the detection of a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyLimits {
    /// Minimum length of the warm-up, in seconds. The just-in-time compiler of a JVM needs about
    /// ten seconds for a hot path.
    pub min_s: usize,
    /// Maximum length of the warm-up, in seconds.
    pub max_s: usize,
    /// Length of the window that must not have a trend, in seconds.
    pub window_s: usize,
    /// Maximum drift of throughput over the window that counts as steady, as a share of the median
    /// throughput.
    pub throughput_drift: f64,
    /// Maximum drift of p99 over the window that counts as steady, as a share of the median p99.
    pub p99_drift: f64,
}

impl Default for SteadyLimits {
    fn default() -> Self {
        SteadyLimits {
            min_s: 10,
            max_s: 60,
            window_s: 10,
            // The limits equal the margins within which a comparison calls two results equivalent.
            throughput_drift: 0.03,
            p99_drift: 0.10,
        }
    }
}

measure::word_enum! {
    /// State of the detector.
    pub enum SteadyState {
        /// The warm-up continues.
        Warming = "warming",
        /// The detector found a steady state.
        Detected = "detected",
        /// The time limit of the warm-up was reached before a steady state.
        Forced = "forced",
    }
}

/// Detector for one warm-up.
#[derive(Clone, Debug)]
pub struct Steady {
    limits: SteadyLimits,
    ops_per_s: Vec<f64>,
    p99_ms: Vec<f64>,
}

impl Steady {
    /// Returns a detector that has not received any values.
    pub fn new(limits: SteadyLimits) -> Steady {
        Steady {
            limits,
            ops_per_s: Vec::new(),
            p99_ms: Vec::new(),
        }
    }

    /// Adds the values of one second. Returns the new state.
    pub fn push(&mut self, ops_per_s: f64, p99_ms: f64) -> SteadyState {
        self.ops_per_s.push(ops_per_s);
        self.p99_ms.push(p99_ms);
        let seconds = self.ops_per_s.len();
        if seconds >= self.limits.min_s.max(self.limits.window_s) && self.is_steady() {
            SteadyState::Detected
        } else if seconds >= self.limits.max_s {
            SteadyState::Forced
        } else {
            SteadyState::Warming
        }
    }

    fn is_steady(&self) -> bool {
        let window = self.limits.window_s;
        let some = autocorrelation::median(last(&self.ops_per_s, window)) > 0.0;
        some && is_flat(&self.ops_per_s, window, self.limits.throughput_drift)
            && is_flat(&self.p99_ms, window, self.limits.p99_drift)
    }
}

fn last(values: &[f64], count: usize) -> &[f64] {
    &values[values.len().saturating_sub(count)..]
}

fn is_flat(values: &[f64], window: usize, drift: f64) -> bool {
    let recent = trend(last(values, window));
    let small = recent.drift.abs() <= drift;
    let lost_in_noise = !recent.is_significant() && values.len() >= 2 * window;
    let longer = trend(last(values, 2 * window));
    (small || lost_in_noise) && !longer.matters(2.0 * drift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_series::Chance;

    /// Passes the values of one second after another to the detector until the warm-up ends.
    /// Returns the final state and the number of seconds.
    fn feed(mut second: impl FnMut(f64) -> (f64, f64)) -> (SteadyState, usize) {
        let mut steady = Steady::new(SteadyLimits::default());
        for t in 1.. {
            let (ops_per_s, p99_ms) = second(t as f64);
            match steady.push(ops_per_s, p99_ms) {
                SteadyState::Warming => {}
                state => return (state, t),
            }
        }
        unreachable!("the limit ends the warm-up")
    }

    #[test]
    fn a_flat_series_is_steady_at_the_minimum() {
        assert_eq!(feed(|_| (1000.0, 2.0)), (SteadyState::Detected, 10));
    }

    #[test]
    fn noise_without_trend_is_steady_soon() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let (state, seconds) = feed(|_| {
                let (rate, tail) = (chance.normal(), chance.normal());
                (1000.0 * (1.0 + 0.05 * rate), 5.0 * (0.2 * tail).exp())
            });
            assert_eq!(state, SteadyState::Detected, "seed {seed}");
            assert!(seconds <= 35, "seed {seed}: {seconds} s");
        }
    }

    #[test]
    fn a_ramp_as_of_a_compiler_warming_up_is_waited_for() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let level = |t: f64| 1.0 - 0.7 * (-t / 6.0).exp();
            let (state, seconds) = feed(|t| {
                let rate = level(t) * (1.0 + 0.02 * chance.normal());
                (50_000.0 * rate, 4.0 / rate)
            });
            assert_eq!(state, SteadyState::Detected, "seed {seed}");
            assert!(
                level(seconds as f64) > 0.97,
                "seed {seed}: steady after {seconds} s"
            );
        }
    }

    #[test]
    fn lasting_drift_of_throughput_or_p99_is_not_called_steady() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let falling = feed(|t| (1000.0 * (1.0 - 0.01 * t + 0.01 * chance.normal()), 5.0));
            assert_eq!(falling, (SteadyState::Forced, 60), "seed {seed}");
            let slower = feed(|t| (1000.0, 5.0 * (0.03 * t + 0.05 * chance.normal()).exp()));
            assert_eq!(slower, (SteadyState::Forced, 60), "seed {seed}");
        }
    }

    #[test]
    fn nothing_is_not_steady() {
        assert_eq!(feed(|_| (0.0, 0.0)), (SteadyState::Forced, 60));
    }
}
