//! Finds the value at a percentile, with the rounding of each tool. The tools round in different
//! ways.
//!
//! The rank of a percentile is computed in floating point, so it may be inexact. For example, 99.9
//! % of 1,000 values results in slightly more than 999. Rounding up would then select the maximum.

use measure::Histogram;

/// Returns the rank of a percentile (0 to 100) among `count` values. Ranks start at 1. The rank is
/// rounded to the nearest whole number, as in Java's HdrHistogram 2.1.9. YCSB 0.17 and
/// cassandra-stress 3.11 and later use this rank.
fn nearest(percentile: f64, count: u64) -> u64 {
    // Java casts to a long here. Like the cast in Rust, that cast truncates.
    ((percentile.min(100.0) / 100.0 * count as f64 + 0.5) as u64).max(1)
}

/// Returns the value at a percentile (0 to 100) in nanoseconds, with the rank of [`nearest`].
/// Returns 0 if the histogram is empty.
pub(super) fn nearest_ns(histogram: &Histogram, percentile: f64) -> u64 {
    histogram.value_at_rank_ns(nearest(percentile, histogram.count()))
}

/// Returns the value at a share (0 to 1) of the sorted values, in nanoseconds. As in YCSB's
/// measurement type `raw`, the index of this value is `(int) (share * count)`. Indexes start at 0.
pub(super) fn behind_share_ns(histogram: &Histogram, share: f64) -> u64 {
    histogram.value_at_rank_ns((share * histogram.count() as f64) as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(count: u64) -> Histogram {
        let mut histogram = Histogram::default();
        (1..=count).for_each(|value| histogram.record(value));
        histogram
    }

    /// Compares with results of Java's HdrHistogram 2.1.9. Each histogram contains each whole
    /// number from 1 to a count once.
    #[test]
    fn percentiles_are_those_of_the_library_of_the_tools() {
        for (count, percentile, value) in [
            (1000, 99.91, 999),
            (1000, 99.9, 999),
            (1000, 99.95, 1000),
            (1000, 12.34, 123),
            (1000, 50.0, 500),
            (1000, 0.0, 1),
            (1000, 100.0, 1000),
            (1000, 120.0, 1000),
            (60, 99.0, 59),
            (60, 95.0, 57),
            (3, 50.0, 2),
            (2, 50.0, 1),
            (1, 99.9, 1),
        ] {
            let seen = nearest_ns(&up_to(count), percentile);
            assert_eq!(seen, value, "{percentile} of {count}");
        }
        assert_eq!(nearest_ns(&Histogram::default(), 99.0), 0);
    }

    #[test]
    fn a_sorted_list_is_read_at_the_whole_part_of_the_share() {
        for (count, share, value) in [
            (1000, 0.999, 1000),
            (1000, 0.5, 501),
            (100, 0.99, 100),
            (60, 0.99, 60),
            (7, 0.95, 7),
            (7, 0.01, 1),
        ] {
            assert_eq!(
                behind_share_ns(&up_to(count), share),
                value,
                "{share} of {count}"
            );
        }
    }
}
