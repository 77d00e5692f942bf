//! An HdrHistogram with fixed bounds: 1 ns to 1 h, and three significant digits.
//!
//! Every recorder in the workspace uses these bounds, so histograms of workers, intervals and
//! machines can be added exactly. A value above the upper bound is recorded *at* the bound and
//! counted in [`Histogram::clamped_count`]. No value is lost silently.

use hdrhistogram::Histogram as Hdr;
use std::sync::LazyLock;

/// Lowest value that the histogram distinguishes from others, in ns.
pub const LOWEST_NS: u64 = 1;
/// Highest value that the histogram can contain, in ns. It is one hour.
pub const HIGHEST_NS: u64 = 3_600 * 1_000_000_000;
/// Number of significant decimal digits. A recorded value differs from the true value by at most
/// 0.1 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// Binary logarithm of the number of values that HdrHistogram distinguishes in a range. The number
/// is 2 × 10^3, rounded up to a power of two.
const SUB_BUCKET_BITS: u32 = 11;

/// Histogram of latencies in nanoseconds. Recording the first value allocates about 290 kB.
/// Recording a later value only increments a counter.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Underlying histogram. `None` before the first value.
    hdr: Option<Hdr<u64>>,
    clamped: u64,
}

/// Empty histogram, which readers get if no value was recorded.
static EMPTY: LazyLock<Hdr<u64>> = LazyLock::new(with_bounds);

/// Creates an empty histogram with the workspace's bounds.
fn with_bounds() -> Hdr<u64> {
    Hdr::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid")
}

/// Returns the binary logarithm of the width of the bucket that contains a value.
fn width_bits(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BUCKET_BITS)
}

/// Writes a number with seven bits per byte, beginning with the lowest bits. If the eighth bit of a
/// byte is set, more bytes follow (LEB128).
fn write_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        number |= bits << shift;
        if *byte < 0x80 {
            return (bits << shift >> shift == bits).then_some(number);
        }
    }
    None
}

impl Histogram {
    /// Creates an empty histogram with the workspace's bounds.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Creates an empty histogram and allocates its memory, so that recording never allocates.
    pub fn with_room() -> Histogram {
        Histogram {
            hdr: Some(with_bounds()),
            clamped: 0,
        }
    }

    /// Records one value in ns. A value of 0 is recorded as 1, and a value above an hour as an
    /// hour.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        let value = value_ns.clamp(LOWEST_NS, HIGHEST_NS);
        self.clamped += u64::from(value_ns > HIGHEST_NS);
        // Recording cannot fail, because the value is inside the bounds.
        let _ = self.hdr_mut().record(value);
    }

    /// Records the same value `count` times, in the same way as [`Histogram::record`].
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        let value = value_ns.clamp(LOWEST_NS, HIGHEST_NS);
        self.clamped += if value_ns > HIGHEST_NS { count } else { 0 };
        // Recording cannot fail, because the value is inside the bounds.
        let _ = self.hdr_mut().record_n(value, count);
    }

    /// Returns the lowest value in the same bucket as `value_ns`. A value of 0 is treated as 1, and
    /// a value above an hour as an hour.
    pub fn lowest_equivalent_ns(value_ns: u64) -> u64 {
        let value = value_ns.clamp(LOWEST_NS, HIGHEST_NS);
        let shift = width_bits(value);
        (value >> shift) << shift
    }

    /// Adds all values of `other`. The result is exact, because all histograms have the same
    /// bounds.
    pub fn add(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        self.hdr_mut().add(other.hdr()).expect("all histograms have the same bounds");
        self.clamped += other.clamped;
    }

    /// Removes all values, but keeps the memory.
    pub fn clear(&mut self) {
        if let Some(hdr) = self.hdr.as_mut().filter(|hdr| !hdr.is_empty()) {
            hdr.reset();
        }
        self.clamped = 0;
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.hdr.as_ref().map_or(0, Hdr::len)
    }

    /// Returns true if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the number of recorded values that were above [`HIGHEST_NS`].
    pub fn clamped_count(&self) -> u64 {
        self.clamped
    }

    /// Returns the value at quantile `q` (0 to 1) in ns, with three significant digits. Returns 0
    /// if the histogram is empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.hdr().value_at_quantile(q)
        }
    }

    /// Returns the value at `rank` in ns, with three significant digits. The lowest rank is 1. For
    /// a rank above the number of values, returns the largest value. Returns 0 if the histogram is
    /// empty.
    pub fn value_at_rank_ns(&self, rank: u64) -> u64 {
        let hdr = self.hdr();
        let mut passed = 0;
        let at = hdr.iter_recorded().find(|bucket| {
            passed += bucket.count_at_value();
            passed >= rank.max(1)
        });
        let found = at.map(|bucket| hdr.highest_equivalent(bucket.value_iterated_to()));
        found.unwrap_or_else(|| self.max_ns())
    }

    /// Returns the arithmetic mean in ns. Returns 0 if the histogram is empty.
    pub fn mean_ns(&self) -> f64 {
        self.hdr().mean()
    }

    /// Returns the smallest value in ns, with three significant digits. Returns 0 if the histogram
    /// is empty.
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.hdr().min() }
    }

    /// Returns the largest value in ns, with three significant digits. Returns 0 if the histogram
    /// is empty.
    pub fn max_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.hdr().max() }
    }

    /// Returns the number of values above `value_ns`. The comparison uses three significant digits.
    pub fn count_above(&self, value_ns: u64) -> u64 {
        let at_or_below = self.hdr().count_between(0, value_ns.min(HIGHEST_NS));
        self.count() - at_or_below
    }

    /// Returns the number of distinct buckets that contain values. The measurements of a real
    /// system fill more than a few buckets.
    pub fn buckets_used(&self) -> usize {
        self.hdr().iter_recorded().count()
    }

    /// Returns the percentile curve as pairs of quantile (0 to 1) and value in ns. The curve has
    /// `ticks` steps for each halving of the distance to 1, as in plots of HdrHistogram. It ends
    /// with the maximum at quantile 1.
    pub fn curve(&self, ticks: u32) -> Vec<(f64, u64)> {
        self.hdr()
            .iter_quantiles(ticks)
            .map(|v| (v.quantile_iterated_to(), v.value_iterated_to()))
            .collect()
    }

    /// Returns the underlying histogram. The store writes it to interval logs.
    pub fn hdr(&self) -> &Hdr<u64> {
        self.hdr.as_ref().unwrap_or(&EMPTY)
    }

    #[inline]
    fn hdr_mut(&mut self) -> &mut Hdr<u64> {
        self.hdr.get_or_insert_with(with_bounds)
    }

    /// Appends all values in a private format, for another process of the same build. The format
    /// takes about two bytes for each bucket that contains values. [`Histogram::add_bytes`] reads
    /// it.
    pub fn write_bytes(&self, to: &mut Vec<u8>) {
        let buckets = self.hdr.iter().flat_map(Hdr::iter_recorded);
        write_number(to, self.buckets_used() as u64);
        write_number(to, self.clamped);
        let mut before = 0;
        for bucket in buckets {
            let value = Histogram::lowest_equivalent_ns(bucket.value_iterated_to());
            // The previous bucket is at most as wide as this bucket, so the gap is a multiple of
            // the width of the previous bucket.
            write_number(to, (value - before) >> width_bits(before));
            write_number(to, bucket.count_since_last_iteration());
            before = value;
        }
    }

    /// Adds the values that [`Histogram::write_bytes`] wrote at the start of `from`, and advances
    /// `from` past them. Returns `None` if the bytes are incomplete or invalid.
    pub fn add_bytes(&mut self, from: &mut &[u8]) -> Option<()> {
        let buckets = read_number(from)?;
        self.clamped = self.clamped.checked_add(read_number(from)?)?;
        let mut value = 0_u64;
        for _ in 0..buckets {
            let gap = read_number(from)?.checked_mul(1 << width_bits(value))?;
            value = value.checked_add(gap)?;
            let count = read_number(from)?;
            self.count().checked_add(count)?;
            self.hdr_mut().record_n(value.max(LOWEST_NS), count).ok()?;
        }
        Some(())
    }

    /// Converts a histogram that was read from a log. The values are added bucket by bucket, so the
    /// bounds of the log may differ from those of this crate.
    pub fn from_hdr(other: &Hdr<u64>) -> Histogram {
        let mut all = Histogram::new();
        for bucket in other.iter_recorded() {
            let value = bucket.value_iterated_to();
            let count = bucket.count_since_last_iteration();
            all.clamped += if value > HIGHEST_NS { count } else { 0 };
            let _ = all.hdr_mut().record_n(value.clamp(LOWEST_NS, HIGHEST_NS), count);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_value_stands_at_its_place() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.value_at_rank_ns(1), 0);
        (1..=1000).for_each(|value| histogram.record(value));
        for rank in [1, 2, 500, 999, 1000] {
            assert_eq!(histogram.value_at_rank_ns(rank), rank);
        }
        assert_eq!(
            (
                histogram.value_at_rank_ns(0),
                histogram.value_at_rank_ns(1001)
            ),
            (1, 1000)
        );
    }

    #[test]
    fn values_out_of_bounds_are_kept_at_the_bound_and_counted() {
        let mut histogram = Histogram::new();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.clamped_count(), 1);
        assert!(histogram.max_ns() >= HIGHEST_NS);
    }

    #[test]
    fn an_empty_histogram_answers_zero() {
        let histogram = Histogram::new();
        assert_eq!(histogram.quantile_ns(0.99), 0);
        assert_eq!(histogram.max_ns(), 0);
        assert_eq!(histogram.count_above(5), 0);
    }

    proptest! {
        #[test]
        fn the_lowest_equivalent_is_that_of_the_library(value in 1u64..=HIGHEST_NS) {
            let histogram = Histogram::new();
            let lowest = Histogram::lowest_equivalent_ns(value);
            prop_assert_eq!(lowest, histogram.hdr().lowest_equivalent(value));
        }
    }

    proptest! {
        #[test]
        fn a_written_histogram_is_read_again_and_added(
            values in prop::collection::vec((0u64..=HIGHEST_NS + 5, 1u64..1 << 40), 0..200),
            more in prop::collection::vec(1u64..1 << 34, 0..20),
        ) {
            let (mut one, mut other, mut both) =
                (Histogram::new(), Histogram::new(), Histogram::new());
            for (value, count) in values {
                one.record_n(value, count);
                both.record_n(value, count);
            }
            for value in more { other.record(value); both.record(value); }
            let mut bytes = Vec::new();
            one.write_bytes(&mut bytes);
            bytes.push(7);
            let mut from = &bytes[..];
            prop_assert_eq!(other.add_bytes(&mut from), Some(()));
            prop_assert_eq!(from, &[7][..]);
            prop_assert_eq!(other.hdr(), both.hdr());
            prop_assert_eq!(other.clamped_count(), both.clamped_count());
            for length in 0..bytes.len() - 1 {
                prop_assert_eq!(Histogram::new().add_bytes(&mut &bytes[..length]), None);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Histogram::new().add_bytes(&mut &bytes[..]);
        }

        #[test]
        fn merging_loses_nothing(a in prop::collection::vec(1u64..10_000_000_000, 0..200),
                                 b in prop::collection::vec(1u64..10_000_000_000, 0..200)) {
            let (mut left, mut right, mut both) =
                (Histogram::new(), Histogram::new(), Histogram::new());
            for &v in &a { left.record(v); both.record(v); }
            for &v in &b { right.record(v); both.record(v); }
            left.add(&right);
            prop_assert_eq!(left.count(), both.count());
            for q in [0.0, 0.5, 0.9, 0.99, 1.0] {
                prop_assert_eq!(left.quantile_ns(q), both.quantile_ns(q));
            }
        }

        #[test]
        fn a_quantile_is_within_a_thousandth(v in 1u64..HIGHEST_NS) {
            let mut histogram = Histogram::new();
            histogram.record(v);
            let read = histogram.quantile_ns(0.5) as f64;
            prop_assert!((read - v as f64).abs() <= v as f64 * 0.001 + 1.0);
        }
    }
}
