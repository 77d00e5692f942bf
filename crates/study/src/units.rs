//! Numbers in the format that people write: `10k`, `2M`, `250ms`, `1GiB`. Only this module reads
//! and writes this format.
//!
//! `plan.json` contains numbers in this format. So for a text that a `format_…` function writes,
//! the corresponding `parse_…` function returns the same value (property tested).

pub(crate) mod pattern;

use measure::clock::{MILLISECOND_NS, SECOND_NS};

const COUNT_UNITS: &[(&str, u64)] = &[
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("k", 1_000),
    ("K", 1_000),
    ("", 1),
];

/// Units of durations, in nanoseconds, largest first.
const DURATION_UNITS: &[(&str, u64)] = &[
    ("d", 86_400 * SECOND_NS),
    ("h", 3_600 * SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("s", SECOND_NS),
    ("ms", MILLISECOND_NS),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// Units of sizes. IEC units come before SI units, because memory and files are measured in IEC
/// units.
const BYTE_UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Units of bit rates. They are decimal, like the units of network links and of `tc`.
const BIT_RATE_UNITS: &[(&str, u64)] = &[
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("Kbit", 1_000),
    ("kbit", 1_000),
    ("bit", 1),
];

/// Errors for values that are too large to represent: a count, a duration, a size and a bit rate.
const TOO_MANY: &str = "the value is not below 2^64";
const TOO_LONG: &str = "the value is longer than 584 years";
const TOO_BIG: &str = "the value is not below 16 EiB";
const TOO_FAST: &str = "the value is not below 2^64 bit/s";

/// Returns true if an error of a `parse_…` function means that the value is too large to represent.
/// Such a value is also above every maximum.
pub(crate) fn is_too_large(why: &str) -> bool {
    [TOO_MANY, TOO_LONG, TOO_BIG, TOO_FAST].contains(&why)
}

/// Parses a whole number, such as `250`, `10k`, `1.5M` or `1_000_000`. The error describes the
/// mistake.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, unit) = split(text)?;
    let scale = scale_of(unit, COUNT_UNITS)
        .ok_or_else(|| format!("unknown suffix `{unit}`; use k, M or G"))?;
    multiply(&digits, scale).map_err(|why| match why {
        Inexact::Fraction => "the value is not a whole number".to_owned(),
        Inexact::TooLarge => TOO_MANY.to_owned(),
    })
}

/// Parses a length of time, such as `10s`, `250ms`, `1m30s` or `1.5h`. Returns nanoseconds.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err("the value is empty".to_owned());
    }
    if rest.starts_with('-') {
        return Err("the value is negative".to_owned());
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !is_number_char(c)).unwrap_or(rest.len());
        let after = &rest[number_end..];
        let unit_end = after.find(is_number_char).unwrap_or(after.len());
        let (digits, _) = split(&rest[..number_end])?;
        let unit = after[..unit_end].trim();
        if unit.is_empty() {
            return Err("the value has no unit".to_owned());
        }
        let scale = scale_of(unit, DURATION_UNITS)
            .ok_or_else(|| format!("unknown unit `{unit}`; use ns, us, ms, s, m, h or d"))?;
        let part = multiply(&digits, scale).map_err(|why| match why {
            Inexact::Fraction => "the value is finer than 1 ns",
            Inexact::TooLarge => TOO_LONG,
        })?;
        total = total.checked_add(part).ok_or(TOO_LONG)?;
        rest = &after[unit_end..];
    }
    Ok(total)
}

/// Parses a size, such as `1GiB`, `512MiB` or `64kB`. Returns bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = split(text)?;
    if unit.is_empty() {
        return Err("the value has no unit".to_owned());
    }
    let scale = scale_of(unit, BYTE_UNITS)
        .ok_or_else(|| format!("unknown unit `{unit}`; use KiB, MiB, GiB, kB, MB or GB"))?;
    multiply(&digits, scale).map_err(|why| match why {
        Inexact::Fraction => "the value is not a whole number of bytes".to_owned(),
        Inexact::TooLarge => TOO_BIG.to_owned(),
    })
}

/// Parses a bit rate, such as `1Gbit` or `100Mbit/s`. Returns bit/s.
pub fn parse_bit_rate(text: &str) -> Result<u64, String> {
    let (digits, unit) = split(text)?;
    if unit.is_empty() {
        return Err("the value has no unit".to_owned());
    }
    let scale = scale_of(unit.strip_suffix("/s").unwrap_or(unit), BIT_RATE_UNITS)
        .ok_or_else(|| format!("unknown unit `{unit}`; use bit, Kbit, Mbit or Gbit"))?;
    multiply(&digits, scale).map_err(|why| match why {
        Inexact::Fraction => "the value is not a whole number of bits".to_owned(),
        Inexact::TooLarge => TOO_FAST.to_owned(),
    })
}

/// Parses a number that may have a fraction, such as `0.5`, `12` or `10k`.
pub fn parse_number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return if number.is_finite() {
            Ok(number)
        } else {
            Err("the value is not finite".to_owned())
        };
    }
    parse_count(text).map(|count| count as f64)
}

/// Parses a share, such as `5%` or `0.05`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    match text.trim().strip_suffix('%') {
        // The division by 100 is a change of the exponent in the text. A floating-point division
        // would add a rounding error.
        Some(percent) => {
            let number = parse_number(percent)?;
            let share = format!("{number}e-2").parse();
            share.map_err(|_| "the value is not a number".to_owned())
        }
        None => parse_number(text),
    }
}

/// Formats a share for output to users, for example as `5%`.
pub fn format_share(share: f64) -> String {
    // The percentage is rounded to ten digits, so that 7 % does not become 7.000000000000001 %.
    let percent = (share * 1e12).round() / 1e10;
    format!("{percent}%")
}

/// Formats a count, for example as `10k`, `1234` or `2M`. Abbreviates the count only if the
/// abbreviation is exact.
pub fn format_count(count: u64) -> String {
    format_exact(
        count,
        &[("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)],
        "",
    )
}

/// Formats a duration exactly, for example as `10s` or `250ms`. `1m30s` becomes `90s`.
pub fn format_duration_ns(ns: u64) -> String {
    let units = [
        ("h", 3_600 * SECOND_NS),
        ("m", 60 * SECOND_NS),
        ("s", SECOND_NS),
        ("ms", MILLISECOND_NS),
        ("us", 1_000),
    ];
    if ns == 0 {
        return "0s".to_owned();
    }
    format_exact(ns, &units, "ns")
}

/// Formats a size exactly, for example as `1GiB`, `200MB` or `1500B`.
pub fn format_bytes(bytes: u64) -> String {
    let units = [
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
    ];
    format_exact(bytes, &units, "B")
}

/// Formats a count for output to users, with about three significant digits, for example as
/// `1.82M`, `64.0k` or `123`.
pub fn count_for_people(count: u64) -> String {
    let (unit, scale) = match count {
        0..1_000 => return count.to_string(),
        1_000..1_000_000 => ("k", 1e3),
        1_000_000..1_000_000_000 => ("M", 1e6),
        _ => ("G", 1e9),
    };
    let value = count as f64 / scale;
    let places = match value {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.places$}{unit}")
}

/// Formats a bit rate exactly, for example as `1Gbit` or `1500bit`.
pub fn format_bit_rate(bits_per_s: u64) -> String {
    let units = [
        ("Gbit", 1_000_000_000),
        ("Mbit", 1_000_000),
        ("Kbit", 1_000),
    ];
    format_exact(bits_per_s, &units, "bit")
}

/// Formats a number of trials as a number or a range, for example as `12 trials` or `6 to 12
/// trials`.
pub fn trials(least: usize, most: usize) -> String {
    if least < most {
        format!("{least} to {most} trials")
    } else {
        measure::number::counted(most, "trial")
    }
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || c == '.' || c == '_'
}

/// Splits a number such as `1.5M` into its digits (without underscores) and its unit.
fn split(text: &str) -> Result<(String, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !is_number_char(c)).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(|&c| c != '_').collect();
    if text.starts_with('-') {
        return Err("the value is negative".to_owned());
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("the value does not begin with a digit".to_owned());
    }
    Ok((digits, text[end..].trim()))
}

fn scale_of(unit: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|&(_, scale)| scale)
}

enum Inexact {
    /// The product is not a whole number.
    Fraction,
    /// The product is not below 2^64.
    TooLarge,
}

/// Multiplies `digits` (a decimal number) by `scale` exactly.
fn multiply(digits: &str, scale: u64) -> Result<u64, Inexact> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    // A number with more than 18 decimal places is refused. With these multipliers, its product is
    // almost never whole, and 10^places could overflow.
    if fraction.len() > 18 || fraction.contains('.') {
        return Err(Inexact::Fraction);
    }
    let places = 10u128.pow(fraction.len() as u32);
    // The caller has checked that the text consists of digits, so only a large number fails here.
    let whole: u128 = whole.parse::<u64>().map_err(|_| Inexact::TooLarge)?.into();
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| Inexact::Fraction)?
    };
    // The factors are below 2^64, 10^18 and 2^57, so their product may need more than 128 bits.
    let scaled = (whole * places + fraction)
        .checked_mul(u128::from(scale))
        .ok_or(Inexact::TooLarge)?;
    if !scaled.is_multiple_of(places) {
        return Err(Inexact::Fraction);
    }
    u64::try_from(scaled / places).map_err(|_| Inexact::TooLarge)
}

fn format_exact(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    units
        .iter()
        .find(|&&(_, scale)| value >= scale && value.is_multiple_of(scale))
        .map_or_else(
            || format!("{value}{smallest}"),
            |(unit, scale)| format!("{}{unit}", value / scale),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_so_many_percent() {
        for (text, share, written) in [
            ("5%", 0.05, "5%"),
            ("0.05", 0.05, "5%"),
            (" 2.5 % ", 0.025, "2.5%"),
            ("7%", 0.07, "7%"),
            ("1", 1.0, "100%"),
        ] {
            assert_eq!(parse_share(text), Ok(share), "{text}");
            assert_eq!(format_share(share), written);
        }
        for text in ["%", "five %", "", "5%%"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }
    use proptest::prelude::*;

    #[test]
    fn counts_are_read_with_their_suffix() {
        for (text, expected) in [
            ("0", Some(0)),
            ("250", Some(250)),
            ("10k", Some(10_000)),
            ("1.5M", Some(1_500_000)),
            ("2G", Some(2_000_000_000)),
            ("1_000", Some(1_000)),
            ("0.5", None),
            ("1.2345k", None),
            ("-1", None),
            ("k", None),
            ("10q", None),
            ("1.2.3k", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(parse_count(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn durations_need_a_unit_and_may_be_compound() {
        for (text, expected) in [
            ("10s", Some(10 * SECOND_NS)),
            ("250ms", Some(250 * MILLISECOND_NS)),
            ("1m30s", Some(90 * SECOND_NS)),
            ("1.5h", Some(5_400 * SECOND_NS)),
            ("20us", Some(20_000)),
            ("10", None),
            ("s", None),
            ("", None),
            ("10 parsecs", None),
            ("0.1ns", None),
        ] {
            assert_eq!(parse_duration_ns(text).ok(), expected, "{text}");
        }
        assert_eq!(
            parse_duration_ns("-5s"),
            Err("the value is negative".to_owned())
        );
    }

    /// In an earlier version, values that were too large and values that were too precise had the
    /// same error message.
    #[test]
    fn a_value_that_is_too_large_is_told_from_a_fraction() {
        for (text, why) in [
            ("99999999d", TOO_LONG),
            ("99999999999999999999s", TOO_LONG),
            ("18446744073709551615.123456789012345678d", TOO_LONG),
            ("0.1ns", "the value is finer than 1 ns"),
        ] {
            assert_eq!(parse_duration_ns(text), Err(why.to_owned()), "{text}");
        }
        assert_eq!(parse_bytes("99999999TiB"), Err(TOO_BIG.to_owned()));
        assert_eq!(parse_count("99999999999G"), Err(TOO_MANY.to_owned()));
        assert_eq!(parse_bit_rate("99999999999Gbit"), Err(TOO_FAST.to_owned()));
        let fraction = Err("the value is not a whole number".to_owned());
        assert_eq!(parse_count("0.5"), fraction);
        assert!(is_too_large(TOO_LONG) && !is_too_large("the value is negative"));
    }

    #[test]
    fn sizes_are_read_in_binary_and_decimal_units() {
        for (text, expected) in [
            ("1GiB", Some(1 << 30)),
            ("512MiB", Some(512 << 20)),
            ("1.5KiB", Some(1536)),
            ("64kB", Some(64_000)),
            ("7", None),
            ("1Gb", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn shares_are_numbers_or_percent() {
        for (text, expected) in [
            ("0.001", Some(0.001)),
            ("0.1%", Some(0.001)),
            ("97 %", Some(0.97)),
            ("0", Some(0.0)),
            ("1.1%", Some(0.011)),
            ("%", None),
            ("0.1%%", None),
            ("inf%", None),
        ] {
            assert_eq!(parse_share(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn sizes_and_counts_are_written_as_they_are_said() {
        for (bytes, expected) in [
            (200_000_000, "200MB"),
            (512 << 20, "512MiB"),
            (20 << 30, "20GiB"),
            (1500, "1500B"),
        ] {
            assert_eq!(format_bytes(bytes), expected);
        }
        for (count, expected) in [(999, "999"), (1_818_181, "1.82M"), (64_000, "64.0k")] {
            assert_eq!(count_for_people(count), expected);
        }
    }

    #[test]
    fn bit_rates_are_read_in_decimal_units() {
        for (text, expected) in [
            ("1Gbit", Some(1_000_000_000)),
            ("2.5Gbit/s", Some(2_500_000_000)),
            ("100Mbit", Some(100_000_000)),
            ("64kbit", Some(64_000)),
            ("7", None),
            ("1Gb", None),
            ("1GiB", None),
            ("0.1bit", None),
        ] {
            assert_eq!(parse_bit_rate(text).ok(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_formatted_quantity_is_parsed_back(value in any::<u64>()) {
            prop_assert_eq!(parse_count(&format_count(value)), Ok(value));
            prop_assert_eq!(parse_duration_ns(&format_duration_ns(value)), Ok(value));
            prop_assert_eq!(parse_bytes(&format_bytes(value)), Ok(value));
            prop_assert_eq!(parse_bit_rate(&format_bit_rate(value)), Ok(value));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,24}") {
            let _ = (parse_count(&text), parse_duration_ns(&text));
            let _ = (parse_bytes(&text), parse_number(&text), parse_bit_rate(&text));
        }
    }
}
