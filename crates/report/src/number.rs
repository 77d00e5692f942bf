//! Formats numbers with the digits that are useful, but never with more digits than are known.

pub use measure::number::{ABSENT, bytes, count, duration, round, short, significant};

use measure::Known;

/// Minimum number of values above a reliable quantile. With 100 values above it, the relative
/// sampling error of their number is about 10 %.
pub const COUNT_ABOVE_MIN: f64 = 100.0;

pub fn rate(value: f64) -> String {
    significant(value, 4)
}

/// Formats milliseconds with three significant digits, which is the precision of a histogram.
pub fn ms(value: f64) -> String {
    significant(value, 3)
}

/// Formats milliseconds with three significant digits, preceded by `≥ ` if the value is a lower
/// bound.
pub fn known_ms(value: Known) -> String {
    format!("{}{}", value.sign(), ms(value.least()))
}

/// Formats a small measured value, such as µs of CPU time, with three significant digits.
pub fn small(value: f64) -> String {
    significant(value, 3)
}

/// Formats the ends of an interval, such as `0.1 to 0.2`, or `0.1 or more` without an upper end.
pub fn small_ends([low, high]: [Option<f64>; 2]) -> String {
    let low = low.map_or(ABSENT.into(), small);
    match high {
        Some(high) => format!("{low} to {}", small(high)),
        None => format!("{low} or more"),
    }
}

/// Formats half the width of a 95 % confidence interval, relative to the value, such as `± 1.2 %`.
/// Returns an empty string if the interval is not finite, or if the value is not positive.
pub fn relative_error(value: f64, ci95: Option<[f64; 2]>) -> String {
    match ci95 {
        Some([low, high]) if value > 0.0 && low.is_finite() && high.is_finite() => {
            format!("± {} %", significant((high - low) / 2.0 / value * 100.0, 2))
        }
        _ => String::new(),
    }
}

/// Formats a ratio. Ratios from 0.1 to 10 have three decimals, because two intervals may differ
/// only in the third decimal. Other ratios have three significant digits.
pub fn ratio(value: f64) -> String {
    if (0.1..10.0).contains(&value) {
        format!("{value:.3}")
    } else {
        significant(value, 3)
    }
}

/// Formats a range from the minimum to the maximum, with three significant digits. If the two
/// values are equal, returns one number.
pub fn range([least, most]: [f64; 2]) -> String {
    if least < most {
        format!("{} to {}", short(least, 3), short(most, 3))
    } else {
        short(least, 3)
    }
}

/// Formats a share (1 is 100 %) as a percentage with three significant digits.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 3))
}

/// Returns the expected number of values above the quantile `q` (0 to 1) among `n` values.
pub fn count_above(n: u64, q: f64) -> f64 {
    n as f64 * (1.0 - q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_relative_to_its_value_and_absent_without_a_ci() {
        assert_eq!(relative_error(100.0, Some([97.0, 103.0])), "± 3.0 %");
        assert_eq!(relative_error(100.0, None), "");
        assert_eq!(relative_error(0.0, Some([0.0, 1.0])), "");
    }
}
