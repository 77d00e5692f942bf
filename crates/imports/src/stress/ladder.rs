//! The steps of cassandra-stress's ladder of threads, and the rule that ends runs without a stated
//! length.
//!
//! From the same rates, this module takes the same steps and makes the same decisions as the tool.
//! It uses only the rates. The procedures in `analysis` decide when the number of threads no longer
//! rises.

/// Number of threads below which each step doubles the number. From this number on, each step adds
/// half of the number.
const DOUBLES_BELOW: u32 = 16;

/// Returns the numbers of threads of all runs, assuming that only `to` ends the ladder.
pub fn threads(from: u32, to: u32) -> Vec<u32> {
    std::iter::successors(Some(from), |threads| above(*threads))
        .take_while(|threads| *threads <= to)
        .collect()
}

/// Returns the next number of threads. Returns `None` if it would exceed the range of the type.
fn above(threads: u32) -> Option<u32> {
    match threads {
        // The tool would remain at zero threads forever.
        0 => Some(1),
        _ if threads < DOUBLES_BELOW => Some(threads * 2),
        _ => threads.checked_add(threads / 2),
    }
}

/// Statistics of the rates of a run's intervals: the mean and its uncertainty.
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

    /// Returns the standard error of the mean rate, as a share of the mean. Returns 0 before the
    /// first interval, and NaN while all rates are 0.
    pub fn value(&self) -> f64 {
        if self.intervals == 0 {
            return 0.0;
        }
        let count = f64::from(self.intervals);
        let mean = self.sum / count;
        // Because of rounding, the variance of equal rates may be slightly negative.
        let variance = (self.sum_of_squares / count - mean * mean).max(0.0);
        (variance.sqrt() / count.sqrt()) / mean
    }

    /// Returns true if the run may end. This is the case if the error is below `target` after at
    /// least `min` intervals, or if the run has had `max` intervals.
    pub fn reached(&self, target: f64, min: u32, max: u32) -> bool {
        (self.value() < target && self.intervals >= min.max(1)) || self.intervals >= max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_16_and_then_grow_by_half() {
        let steps = [4, 8, 16, 24, 36, 54, 81, 121, 181, 271, 406, 609, 913];
        assert_eq!(threads(4, 1000), steps);
        assert_eq!(threads(1, 3), [1, 2]);
        assert_eq!(threads(0, 5), [0, 1, 2, 4]);
        assert_eq!(threads(u32::MAX, u32::MAX), [u32::MAX]);
        assert!(threads(5, 4).is_empty());
    }

    #[test]
    fn a_run_ends_when_the_standard_error_of_its_mean_rate_is_small() {
        // The mean is 100, and the standard deviation is 10. After n intervals, the error is
        // therefore 0.1 / sqrt(n). It is below 0.02 from n = 26 on.
        let rates: Vec<f64> = (0..40).map(|n| if n % 2 == 0 { 90.0 } else { 110.0 }).collect();
        let of = |rates: &[f64]| {
            let mut uncertainty = Uncertainty::default();
            rates.iter().for_each(|rate| uncertainty.add(*rate));
            uncertainty
        };
        let uncertainty_reached =
            |rates: &[f64], target, min, max| of(rates).reached(target, min, max);
        assert!((of(&rates[..4]).value() - 0.05).abs() < 1e-12);
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
}
