//! Computes a ratio without the influence of one block that differs from the others.
//!
//! The estimator is the median of the means of all pairs of values (Hodges and Lehmann 1963,
//! "Estimates of location based on rank tests"). The interval of the estimate is that of Wilcoxon's
//! signed ranks. Reports show this ratio next to the actual ratio. The robust ratio does not affect
//! a finding, and does not remove a block. Only the rules of validity may exclude a trial, and they
//! do not consider the result of the trial.

use crate::autocorrelation;

/// Robust ratio, which reports show if one block differs from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust {
    /// Index of the pair that differs most.
    pub at: usize,
    /// Distance of the differing pair from the median, in robust deviations (1.4826 × MAD).
    pub z: f64,
    /// Ratio without the influence of the differing pair.
    pub ratio: f64,
    /// Interval of the robust ratio, by signed ranks.
    pub interval: [f64; 2],
    /// Coverage of the interval as a share, at least 95 %.
    pub covers: f64,
}

/// Distance from the median, in robust deviations, above which a block differs from the others.
const Z_MIN: f64 = 5.0;
/// Minimum number of pairs for a robust ratio. With five pairs, the smallest possible p value of
/// signed ranks is 6 %, which is above 5 %.
const PAIRS_MIN: usize = 6;
/// Maximum distance that is reported. If all other values are equal, the distance of a differing
/// value is infinite, and a record cannot contain infinity.
const Z_MOST: f64 = 1e6;
/// Maximum number of pairs for the exact distribution of signed ranks. With more pairs, the
/// function uses the normal distribution.
const EXACT_MAX: usize = 60;

/// Computes the robust ratio from logarithms of ratios. Returns `None` if no value differs enough
/// from the others.
pub fn beside(logs: &[f64]) -> Option<Robust> {
    let (median, deviation) = autocorrelation::median_and_deviation(logs);
    let distances: Vec<f64> = logs.iter().map(|log| (log - median).abs()).collect();
    let far = |at: usize| match distances[at] {
        0.0 => 0.0,
        distance => (distance / deviation).min(Z_MOST) * (logs[at] - median).signum(),
    };
    let at = (0..logs.len()).max_by(|a, b| distances[*a].total_cmp(&distances[*b]))?;
    if logs.len() < PAIRS_MIN || far(at).abs() <= Z_MIN {
        return None;
    }
    let mut means: Vec<f64> = (0..logs.len())
        .flat_map(|one| (one..logs.len()).map(move |other| (logs[one] + logs[other]) / 2.0))
        .collect();
    means.sort_by(f64::total_cmp);
    let (beyond, covers) = signed_ranks(logs.len());
    Some(Robust {
        at,
        z: far(at),
        ratio: autocorrelation::median(&means).exp(),
        interval: [means[beyond], means[means.len() - 1 - beyond]].map(f64::exp),
        covers,
    })
}

/// Returns the number of means in rising order that are beyond each end of the interval, and the
/// coverage of the interval.
fn signed_ranks(pairs: usize) -> (usize, f64) {
    let all = pairs * (pairs + 1) / 2;
    if pairs > EXACT_MAX {
        let mean = all as f64 / 2.0;
        let deviation = (mean * (2 * pairs + 1) as f64 / 6.0).sqrt();
        return (
            (mean - autocorrelation::NORMAL_975 * deviation - 0.5).max(0.0) as usize,
            0.95,
        );
    }
    // Element `sum` is the share of all combinations of signs whose positive ranks add up to `sum`.
    let mut shares = vec![0.0; all + 1];
    shares[0] = 1.0;
    for rank in 1..=pairs {
        for sum in (0..=all).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |less| shares[less]);
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    let (mut beyond, mut below) = (0, shares[0]);
    while below + shares[beyond + 1] <= 0.025 {
        beyond += 1;
        below += shares[beyond];
    }
    (beyond, 1.0 - 2.0 * below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(seen: f64, expected: f64, within: f64) {
        assert!((seen - expected).abs() <= within, "{seen}, not {expected}");
    }

    #[test]
    fn one_odd_block_of_eight_loses_its_weight_and_is_named() {
        let ratios = [1.052, 1.047, 1.061, 1.039, 1.055, 0.78, 1.049, 1.058];
        let logs = ratios.map(f64::ln);
        let seen = beside(&logs).unwrap();
        assert_eq!(seen.at, 5);
        close(seen.z, -35.3, 0.05);
        close(seen.ratio, 1.0497, 5e-5);
        close(seen.interval[0], 0.9046, 5e-5);
        close(seen.interval[1], 1.0580, 5e-5);
        close(seen.covers, 0.961, 5e-4);
        // The ordinary ratio, in which every block counts, is 1.0130.
        close(autocorrelation::mean(&logs).exp(), 1.0130, 5e-5);
    }

    #[test]
    fn nothing_stands_beside_blocks_of_one_kind_nor_beside_too_few() {
        let calm = [1.052, 1.047, 1.061, 1.039, 1.055, 1.031, 1.049, 1.058];
        assert_eq!(beside(&calm.map(f64::ln)), None);
        assert_eq!(beside(&[0.0, 0.0, 0.0, 0.0, 1.0]), None, "five");
        assert_eq!(beside(&[0.0; 8]), None, "all equal");
        assert_eq!(beside(&[]), None);
        let seen = beside(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        assert!((seen.at, seen.z, seen.ratio) == (5, Z_MOST, 1.0));
    }

    #[test]
    fn signed_ranks_are_those_of_the_tables() {
        // Critical values of Wilcoxon (1945) for 6 to 12 pairs and for 20 pairs, at 5 %, two-sided.
        for (pairs, critical) in [
            (6, 0),
            (7, 2),
            (8, 3),
            (9, 5),
            (10, 8),
            (11, 10),
            (12, 13),
            (20, 52),
        ] {
            assert_eq!(signed_ranks(pairs).0, critical, "{pairs}");
        }
        // At the number of pairs at which the normal distribution replaces the exact distribution,
        // the two distributions agree.
        let (counted, beyond) = (signed_ranks(60).0 as f64, signed_ranks(61).0 as f64);
        assert!(
            beyond > counted && beyond < counted * 1.05,
            "{counted}, {beyond}"
        );
    }
}
