//! Formats numbers like Java's `Formatter`. Java rounds the shortest decimal representation of a
//! number, and rounds halves away from zero. Rust rounds the exact binary value instead.

use measure::number::grouped as digits_grouped;

/// Formats a number like `%.Nf` in Java, in which N is `decimals`. If `grouped` is true, commas
/// separate the thousands.
pub(super) fn fixed(value: f64, decimals: usize, grouped: bool) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (whole, fraction) = rounded(value.abs(), decimals);
    let whole = if grouped {
        digits_grouped(&whole)
    } else {
        whole
    };
    match decimals {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

/// Rounds a number that is not negative. Returns its digits before and after the decimal point.
fn rounded(value: f64, decimals: usize) -> (String, String) {
    // `Display` prints the shortest digits that represent the same number, without an exponent.
    let shortest = format!("{value}");
    let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let kept = whole.len() + decimals;
    let up = digits.get(kept).is_some_and(|digit| *digit >= b'5');
    digits.resize(kept, b'0');
    if up {
        increment(&mut digits);
    }
    let text: String = digits.into_iter().map(char::from).collect();
    let (whole, fraction) = text.split_at(text.len() - decimals);
    (whole.to_owned(), fraction.to_owned())
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero_on_the_decimal_digits() {
        for (value, decimals, expected) in [
            (0.05, 1, "0.1"),
            (0.15, 1, "0.2"),
            (0.25, 1, "0.3"),
            (0.35, 1, "0.4"),
            (0.45, 1, "0.5"),
            (1.005, 1, "1.0"),
            (0.5, 0, "1"),
            (2.5, 0, "3"),
            (0.04, 1, "0.0"),
            (1e-9, 5, "0.00000"),
            (99.95, 1, "100.0"),
            (999_999.96, 1, "1,000,000.0"),
            (1_234_567.5, 0, "1,234,568"),
            (1e15, 0, "1,000,000,000,000,000"),
            (1e22, 1, "10,000,000,000,000,000,000,000.0"),
            (-0.04, 1, "-0.0"),
            (-2.5, 0, "-3"),
            (123.449999, 1, "123.4"),
            (123.449999, 5, "123.45000"),
            (f64::NAN, 1, "NaN"),
            (f64::INFINITY, 1, "Infinity"),
            (f64::NEG_INFINITY, 0, "-Infinity"),
        ] {
            assert_eq!(
                fixed(value, decimals, true),
                expected,
                "{value:?} to {decimals}"
            );
        }
        assert_eq!(fixed(1_234_567.5, 1, false), "1234567.5");
    }
}
