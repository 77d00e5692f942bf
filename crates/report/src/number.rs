//! How numbers are written: enough digits to be useful, never more than are known.
//!
//! Four significant digits for what is measured (histograms hold three), thousands separated by
//! commas, `–` for what is absent. A unit stands in the heading, not beside each number.

use measure::Known;

/// What stands for a value that is not there.
pub const ABSENT: &str = "–";

/// How many values must lie above a quantile for it to be relied on. With 100, its relative
/// sampling error is about 10 %.
pub const COUNT_ABOVE_MIN: f64 = 100.0;

/// Whole number with thousands separators.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `value` with `digits` significant digits and thousands separators; no exponent.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let value = round(value, digits);
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (digits - 1 - magnitude).clamp(0, 9) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if value < 0.0 { "−" } else { "" };
    let whole = whole.parse().map(count).unwrap_or_else(|_| whole.into());
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// Rounds to `digits` significant digits.
pub fn round(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let shift = digits - 1 - value.abs().log10().floor() as i32;
    // Through text: a power of ten times a power of ten leaves a tail of binary noise.
    let decimals = shift.max(0) as usize;
    let scale = 10f64.powi((-shift).max(0));
    let rounded = (value / scale).round() * scale;
    if shift <= 0 {
        return rounded;
    }
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Operations per second.
pub fn rate(value: f64) -> String {
    significant(value, 4)
}

/// Milliseconds: three digits, as many as a histogram holds.
pub fn ms(value: f64) -> String {
    significant(value, 3)
}

/// The same with `≥ ` before it if it is a lower bound.
pub fn known_ms(value: Known) -> String {
    format!("{}{}", value.sign(), ms(value.least()))
}

/// Microseconds of CPU, or other small measured things.
pub fn small(value: f64) -> String {
    significant(value, 3)
}

/// Half the width of a confidence interval, relative to the value: `± 1.2 %`.
pub fn relative_error(value: f64, ci95: Option<[f64; 2]>) -> String {
    match ci95 {
        Some([low, high]) if value > 0.0 && low.is_finite() && high.is_finite() => {
            format!("± {} %", significant((high - low) / 2.0 / value * 100.0, 2))
        }
        _ => String::new(),
    }
}

/// A ratio: three decimals near 1, where the third is what tells two intervals apart.
pub fn ratio(value: f64) -> String {
    if (0.1..10.0).contains(&value) {
        format!("{value:.3}")
    } else {
        significant(value, 3)
    }
}

/// A share of one, in percent.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 3))
}

/// Bytes in binary units.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled, 3), UNITS[unit])
}

/// A length of time in the two largest units that matter: `2 min 5 s`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return ABSENT.into();
    }
    if seconds < 60.0 {
        return format!("{} s", significant(seconds, 3));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours} h {minutes} min")
    } else {
        format!("{minutes} min {rest} s")
    }
}

/// How many of `n` values lie above quantile `q`.
pub fn count_above(n: u64, q: f64) -> f64 {
    n as f64 * (1.0 - q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_significant_digits_and_thousands_separators() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.000"),
            (0.012345, "0.01235"),
            (99.996, "100.0"),
            (1234.56, "1,235"),
            (48_213.7, "48,210"),
            (1_534_210.0, "1,534,000"),
            (-3.25159, "−3.252"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value, 4), text, "{value}");
        }
    }

    #[test]
    fn whole_numbers_are_never_rounded() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn durations_name_the_units_that_matter() {
        let cases = [
            (0.5, "0.500 s"),
            (59.94, "59.9 s"),
            (125.0, "2 min 5 s"),
            (7_320.0, "2 h 2 min"),
            (-1.0, "–"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn an_error_is_relative_to_its_value_and_absent_without_an_interval() {
        assert_eq!(relative_error(100.0, Some([97.0, 103.0])), "± 3.0 %");
        assert_eq!(relative_error(100.0, None), "");
        assert_eq!(relative_error(0.0, Some([0.0, 1.0])), "");
    }

    #[test]
    fn rounding_leaves_no_binary_noise() {
        assert_eq!(round(0.1 + 0.2, 3).to_string(), "0.3");
        assert_eq!(round(123_456.0, 3), 123_000.0);
    }
}
