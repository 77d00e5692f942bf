//! Formats numbers with enough digits to be useful, but never with more digits than are known.
//!
//! Thousands are separated by commas, and `–` marks an absent value. Most numbers are formatted
//! without a unit, which is in the heading of a table.

use std::fmt;

/// Placeholder for an absent value.
pub const ABSENT: &str = "–";

/// Inserts commas between thousands.
pub fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a whole number with thousands separators.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Formats a number of objects with their noun, such as `1 node` or `2 nodes`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{plural}")
}

/// Lists items for a sentence, such as `a, b and c`.
pub fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.concat(),
    }
}

/// Formats a measured value as a whole number with thousands separators. Formats a negative value
/// as 0.
pub fn whole(value: f64) -> String {
    grouped(&format!("{:.0}", value.max(0.0)))
}

/// Formats `value` with `digits` significant digits and with thousands separators, but without an
/// exponent.
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
    let whole = grouped(whole);
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
    // Rounding uses the decimal text, because multiplying by powers of ten leaves binary rounding
    // errors.
    let decimals = shift.max(0) as usize;
    let scale = 10f64.powi((-shift).max(0));
    let rounded = (value / scale).round() * scale;
    if shift <= 0 {
        return rounded;
    }
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Minimum ratio that is written as a factor, because a change such as `+63900 %` is hard to read.
const FACTOR_FROM: f64 = 10.0;

/// Formats a ratio as a change, such as `+5.1 %` or `-31.2 %`. A ratio of 10 or more is formatted
/// as a factor, such as `× 640`.
pub fn change(ratio: f64) -> String {
    if ratio >= FACTOR_FROM {
        format!("× {}", short(ratio, 3))
    } else {
        format!("{:+.1} %", (ratio - 1.0) * 100.0)
    }
}

/// Formats both ends of an interval of a ratio in the same form, such as `+3.9 to +6.3 %` or `× 0.5
/// to × 640`.
pub fn changes([low, high]: [f64; 2]) -> String {
    if high >= FACTOR_FROM {
        format!("× {} to × {}", short(low, 3), short(high, 3))
    } else {
        let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
        format!("{} to {} %", percent(low), percent(high))
    }
}

/// Formats a value with `digits` significant digits, but without trailing zeros of a fraction. For
/// example, `1.50` becomes `1.5`.
pub fn short(value: f64, digits: i32) -> String {
    without_zeros(&significant(value, digits)).to_owned()
}

/// Formats a number of bytes with three significant digits (four from 1,000 on), in the largest
/// binary unit for which the number is at least 1, such as `23.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // A value that would be rounded to 1,024 is written in the next larger unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!(
        "{} {}",
        short(value, if value < 1000.0 { 3 } else { 4 }),
        UNITS[unit]
    )
}

/// Formats a measured time, which is given in seconds. A time below a minute has three significant
/// digits. A longer time is written in its two largest units.
pub fn duration(seconds: f64) -> String {
    match seconds.round() as u64 {
        _ if !seconds.is_finite() || seconds < 0.0 => ABSENT.into(),
        _ if round(seconds, 3) < 60.0 => format!("{} s", significant(seconds, 3)),
        whole => two_units(whole),
    }
}

/// Formats an estimated or remaining time, which is given in seconds. Examples are `4.2 s`, `45 s`
/// and `3 min 20 s`.
pub fn about_duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    match seconds.round() as u64 {
        ..60 if seconds < 10.0 => format!("{seconds:.1} s"),
        whole @ ..60 => format!("{whole} s"),
        whole => two_units(whole),
    }
}

/// Formats a time of at least a minute in its two largest units, such as `2 min 5 s`, `24 h` or `2
/// days 12 h`.
fn two_units(seconds: u64) -> String {
    let [(large, of_large), (small, of_small)] = match seconds {
        ..3600 => [(seconds / 60, "min"), (seconds % 60, "s")],
        3600..172_800 => [(seconds / 3600, "h"), (seconds / 60 % 60, "min")],
        _ => [(seconds / 86_400, "days"), (seconds / 3600 % 24, "h")],
    };
    match small {
        0 => format!("{large} {of_large}"),
        _ => format!("{large} {of_large} {small} {of_small}"),
    }
}

/// Formats a range of estimated times, such as `45 s` or `45 s to 3 min 20 s`.
pub fn about_durations(least: f64, most: f64) -> String {
    match [least, most].map(about_duration) {
        [least, most] if least == most => most,
        [least, most] => format!("{least} to {most}"),
    }
}

/// Removes the trailing zeros of a fraction.
pub fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Maximum relative error that is displayed. A number with a larger error is practically unknown,
/// so the ends of its interval are displayed instead.
const ERROR_SHOWN_MAX: f64 = 0.5;

/// Returns the ends of the interval of a rate, if this interval is too wide to be displayed as a
/// relative error. `compared` is the geometric mean over blocks, with the relative error of that
/// mean. The ends are scaled to `compared`.
pub fn wide_ends(value: f64, ci95: Option<[f64; 2]>, compared: Option<f64>) -> Option<[f64; 2]> {
    let [low, high] = ci95?;
    let scale = compared.map_or(1.0, |compared| compared / value);
    let is_wide = (high - low) / 2.0 > value * ERROR_SHOWN_MAX;
    is_wide.then(|| [low, high].map(|end| end.max(0.0) * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_items_have_commas_and_one_and() {
        for (items, words) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a and b"),
            (&["a", "b", "c"], "a, b and c"),
        ] {
            assert_eq!(listed(items), words);
        }
    }

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
    fn changes_are_percent_up_to_tenfold_and_factors_from_there_on() {
        for (ratio, text) in [
            (1.0, "+0.0 %"),
            (0.688, "-31.2 %"),
            (9.99, "+899.0 %"),
            (10.0, "× 10"),
            (640.217, "× 640"),
            (f64::INFINITY, "× –"),
        ] {
            assert_eq!(change(ratio), text);
        }
        assert_eq!(changes([1.039, 1.063]), "+3.9 to +6.3 %");
        assert_eq!(changes([0.5, 640.0]), "× 0.5 to × 640");
    }

    #[test]
    fn whole_numbers_are_never_rounded() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn three_digits_are_what_a_histogram_holds() {
        for (value, expected) in [
            (12.345, "12.3"),
            (0.04512, "0.0451"),
            (123.4, "123"),
            (1234.5, "1,230"),
        ] {
            assert_eq!(significant(value, 3), expected);
        }
    }

    #[test]
    fn bytes_are_in_the_largest_unit_with_three_digits() {
        for (value, expected) in [
            (0, "0 B"),
            (1023, "1,023 B"),
            (1024, "1 KiB"),
            (1_048_575, "1 MiB"),
            (1000 << 20, "1,000 MiB"),
            (1_610_612_736, "1.5 GiB"),
            (25_233_000_000, "23.5 GiB"),
            (u64::MAX, "16,780,000 TiB"),
        ] {
            assert_eq!(bytes(value), expected);
        }
    }

    #[test]
    fn durations_name_the_units_that_matter() {
        for (seconds, measured, about) in [
            (0.5, "0.500 s", "0.5 s"),
            (9.0, "9.00 s", "9.0 s"),
            (45.34, "45.3 s", "45 s"),
            (59.94, "59.9 s", "1 min"),
            (59.96, "1 min", "1 min"),
            (125.0, "2 min 5 s", "2 min 5 s"),
            (3_900.0, "1 h 5 min", "1 h 5 min"),
            (7_320.0, "2 h 2 min", "2 h 2 min"),
            (86_400.0, "24 h", "24 h"),
            (216_000.0, "2 days 12 h", "2 days 12 h"),
            (2_592_000.0, "30 days", "30 days"),
            (-1.0, "–", "0.0 s"),
            (f64::NAN, "–", "0.0 s"),
        ] {
            assert_eq!(duration(seconds), measured);
            assert_eq!(about_duration(seconds), about);
        }
        assert_eq!(about_durations(44.6, 45.3), "45 s");
        assert_eq!(about_durations(45.3, 200.0), "45 s to 3 min 20 s");
    }

    #[test]
    fn a_measured_number_is_whole_without_a_sign() {
        for (value, expected) in [(1_234_567.4, "1,234,567"), (12.0, "12"), (-3.0, "0")] {
            assert_eq!(whole(value), expected);
        }
    }

    #[test]
    fn rounding_leaves_no_binary_noise() {
        assert_eq!(round(0.1 + 0.2, 3).to_string(), "0.3");
        assert_eq!(round(123_456.0, 3), 123_000.0);
    }
}
