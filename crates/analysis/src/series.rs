//! The error of a mean whose values are not independent.
//!
//! One-second throughputs follow each other: a compaction or a collector slows several seconds in
//! a row. Treating them as independent makes error bars too short. Here neighbours are joined into
//! batches until the batch means look uncorrelated (batch means; Schmeiser 1982, "Batch size
//! effects in the analysis of simulation output", holds 10 to 30 batches to be enough), and what
//! correlation is left widens the interval by the factor of an AR(1) series, (1 + r) / (1 − r).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer values than this give no interval: a variance of four values says next to nothing.
pub const VALUES_MIN: usize = 5;
/// Batches are not joined below this number (Schmeiser's lower end).
const BATCHES_MIN: usize = 10;
/// One-sided 5 % point of the normal distribution: correlation below it may be chance.
const CORRELATION_Z: f64 = 1.645;
/// A lag-1 correlation above this is taken as this (the interval is then 3 times as long), and the
/// degrees of freedom are never taken as fewer than [`FREEDOM_MIN`]. Simulated on AR(1) series of
/// 10 to 240 values: with 0.95 and 1 instead, coverage is the same to 0.3 points, and one interval
/// in twenty is 3 to 8 times as long for nothing.
const CORRELATION_MAX: f64 = 0.8;
/// See [`CORRELATION_MAX`].
const FREEDOM_MIN: f64 = 3.0;

/// A mean and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard error of the mean; infinite with fewer than [`VALUES_MIN`] values.
    pub standard_error: f64,
    /// Degrees of freedom behind the standard error.
    pub freedom: f64,
    /// 95 % confidence interval; none with fewer than [`VALUES_MIN`] values.
    pub ci95: Option<[f64; 2]>,
    /// How many independent values the series is worth.
    pub effective_count: f64,
}

/// Mean of a stationary series with its 95 % confidence interval.
pub fn mean_estimate(values: &[f64]) -> Estimate {
    let mean = mean(values);
    if values.len() < VALUES_MIN {
        return Estimate {
            mean,
            standard_error: f64::INFINITY,
            freedom: 0.0,
            ci95: None,
            effective_count: values.len() as f64,
        };
    }
    let (batches, correlation) = join(values);
    let count = batches.len() as f64;
    let widening = (1.0 + correlation) / (1.0 - correlation);
    let standard_error = (variance(&batches) / count * widening).sqrt();
    let freedom = (count / widening - 1.0).max(FREEDOM_MIN);
    let half = t_quantile(0.975, freedom) * standard_error;
    Estimate {
        mean,
        standard_error,
        freedom,
        ci95: Some([mean - half, mean + half]),
        effective_count: effective_count(values, standard_error),
    }
}

/// Joins neighbours until the batches look uncorrelated; returns the batch means and the lag-1
/// correlation that is left.
fn join(values: &[f64]) -> (Vec<f64>, f64) {
    let mut size = 1;
    loop {
        let means: Vec<f64> = values.chunks_exact(size).map(mean).collect();
        let raw = autocorrelation(&means, 1);
        let chance = CORRELATION_Z / (means.len() as f64).sqrt();
        if raw <= chance || values.len() / (2 * size) < BATCHES_MIN {
            return (means, unbiased(raw, values.len() / size));
        }
        size *= 2;
    }
}

/// The estimated correlation of a short series is too small by about (1 + 4 r) / n (Marriott and
/// Pope 1954); negative correlation is taken as none, which can only lengthen the interval.
fn unbiased(raw: f64, count: usize) -> f64 {
    (raw + (1.0 + 4.0 * raw) / count as f64).clamp(0.0, CORRELATION_MAX)
}

/// Number of independent values with the same standard error; at most the number of values.
fn effective_count(values: &[f64], standard_error: f64) -> f64 {
    let count = values.len() as f64;
    let spread = variance(values);
    if spread == 0.0 || standard_error == 0.0 {
        return count;
    }
    (spread / (standard_error * standard_error)).min(count)
}

/// Correlation of a series with itself `lag` values later; 0 for a constant or too short series.
pub fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    if values.len() <= lag + 1 {
        return 0.0;
    }
    let mean = mean(values);
    let total: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    if total == 0.0 {
        return 0.0;
    }
    let pairs = values.iter().zip(&values[lag..]);
    pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / total
}

/// Arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance (divisor n − 1); 0 with fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares = values.iter().map(|v| (v - mean) * (v - mean));
    squares.sum::<f64>() / (values.len() - 1) as f64
}

/// Middle value (mean of the middle two); 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Quantile `p` of Student's t distribution; `freedom` may be a fraction and is at least 1.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1.0))
        .expect("location 0, scale 1 and a freedom of 1 or more are valid")
        .inverse_cdf(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Chance;
    use proptest::prelude::*;

    #[test]
    fn t_quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1.0, 12.706), (4.0, 2.776), (9.0, 2.262), (1e6, 1.960)] {
            let seen = t_quantile(0.975, freedom);
            assert!((seen - expected).abs() < 6e-4, "{freedom}: {seen}");
        }
    }

    #[test]
    fn the_interval_of_independent_values_is_the_textbook_one() {
        // Uncorrelated by construction: mean 10, variance 10/9, n 10.
        let values = [9.0, 11.0, 11.0, 9.0, 9.0, 11.0, 9.0, 11.0, 11.0, 9.0];
        let estimate = mean_estimate(&values);
        let half = 2.262_157 * (10.0 / 9.0 / 10.0_f64).sqrt();
        let [low, high] = estimate.ci95.unwrap();
        assert!((low - (10.0 - half)).abs() < 1e-3 && (high - (10.0 + half)).abs() < 1e-3);
        assert!((estimate.effective_count - 10.0).abs() < 1e-9);
    }

    #[test]
    fn coverage_of_autocorrelated_series_is_near_95_percent() {
        let mut chance = Chance(7);
        for (count, phi, least) in [
            (10, 0.0, 0.93),
            // Ten seconds cannot show how correlated they are.
            (10, 0.6, 0.84),
            (30, 0.3, 0.91),
            (60, 0.0, 0.93),
            (60, 0.3, 0.92),
            (60, 0.6, 0.90),
            (240, 0.6, 0.92),
            (240, 0.8, 0.90),
        ] {
            let trials = 1500;
            let hits = (0..trials)
                .filter(|_| {
                    let estimate = mean_estimate(&chance.autocorrelated(count, phi));
                    let [low, high] = estimate.ci95.unwrap();
                    low <= 0.0 && 0.0 <= high
                })
                .count();
            let coverage = f64::from(hits as u32) / f64::from(trials);
            println!("n {count} phi {phi}: coverage {coverage:.3}");
            assert!(
                coverage >= least && coverage <= 0.99,
                "n {count} phi {phi}: {coverage}"
            );
        }
    }

    #[test]
    fn correlation_costs_effective_values() {
        let mut chance = Chance(3);
        let independent = mean_estimate(&chance.autocorrelated(200, 0.0));
        let correlated = mean_estimate(&chance.autocorrelated(200, 0.8));
        assert!(independent.effective_count > 120.0, "{independent:?}");
        assert!(correlated.effective_count < 60.0, "{correlated:?}");
    }

    #[test]
    fn few_or_constant_values_have_no_or_an_empty_interval() {
        assert_eq!(mean_estimate(&[1.0, 2.0, 3.0, 4.0]).ci95, None);
        assert_eq!(mean_estimate(&[]).mean, 0.0);
        assert_eq!(mean_estimate(&[5.0; 20]).ci95, Some([5.0, 5.0]));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_mean_and_scales_with_the_values(
            values in prop::collection::vec(0.0f64..1e6, 5..100), scale in 0.001f64..1000.0) {
            let estimate = mean_estimate(&values);
            let [low, high] = estimate.ci95.unwrap();
            prop_assert!(low <= estimate.mean && estimate.mean <= high);
            let scaled: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let [scaled_low, _] = mean_estimate(&scaled).ci95.unwrap();
            prop_assert!((scaled_low - low * scale).abs() <= 1e-6 * (1.0 + high * scale));
        }
    }
}
