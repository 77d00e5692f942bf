//! Reads numbers as Cassandra's parser of YAML 1.1 does: with underscores, in other bases, and with
//! minutes and seconds (`1:30` is 90).

use serde_json::Value;

/// Returns the whole number in a text. A number with a leading `0` is octal. Returns `None` for
/// other texts.
pub(crate) fn whole(text: &str) -> Option<i128> {
    let (sign, digits) = signed(text);
    let number = if let Some(binary) = digits.strip_prefix("0b") {
        parse(binary, 2)?
    } else if let Some(hexadecimal) = digits.strip_prefix("0x") {
        parse(hexadecimal, 16)?
    } else if let Some(octal) = digits.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        parse(octal, 8)?
    } else {
        digits.split(':').try_fold(0_i128, |sum, part| {
            sum.checked_mul(60)?.checked_add(parse(part, 10)?)
        })?
    };
    Some(if sign < 0.0 { -number } else { number })
}

/// Returns the number in a text, which may have a fraction or an exponent. `.inf` and `.nan` are
/// numbers too. Unlike Java, the function does not accept numbers in other bases. Returns `None`
/// for other texts.
pub(crate) fn number(text: &str) -> Option<f64> {
    let (sign, digits) = signed(text);
    match digits.to_ascii_lowercase().as_str() {
        ".inf" => return Some(sign * f64::INFINITY),
        ".nan" => return Some(f64::NAN),
        _ => {}
    }
    // Java permits the suffix of a type at the end of a number.
    let plain = digits.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(&digits);
    let part = |part: &str| {
        let begins = part.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        begins.then(|| part.parse::<f64>().ok()).flatten()
    };
    let parts = plain.split(':').try_fold(0.0, |sum, one| Some(sum * 60.0 + part(one)?));
    parts.map(|number| sign * number)
}

/// Returns true if Cassandra may read a text as a number. Such a text cannot name a class, a
/// program or a file.
pub fn is_number(text: &str) -> bool {
    whole(text).is_some() || number(text).is_some()
}

/// Returns the whole number in a value of a setting, which may be a text such as `1_000`. Returns
/// `None` for other values.
pub fn whole_number(value: &Value) -> Option<i64> {
    let of_text = || i64::try_from(whole(value.as_str()?)?).ok();
    value.as_i64().or_else(of_text)
}

/// Returns the sign, and the rest of the text without underscores.
fn signed(text: &str) -> (f64, String) {
    let plain = text.replace('_', "");
    match plain.strip_prefix('-') {
        Some(digits) => (-1.0, digits.to_owned()),
        None => (1.0, plain.strip_prefix('+').unwrap_or(&plain).to_owned()),
    }
}

/// Returns the number in digits of a base. The text has no sign. Returns `None` for other texts.
fn parse(digits: &str, base: u32) -> Option<i128> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| i128::from_str_radix(digits, base).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_yaml_1_1_has_them() {
        for (text, expected) in [
            ("64", Some(64)),
            ("-1", Some(-1)),
            ("+5", Some(5)),
            ("1_000", Some(1000)),
            ("0x20", Some(32)),
            ("-0x10", Some(-16)),
            ("0b101", Some(5)),
            ("010", Some(8)),
            ("0", Some(0)),
            ("1:30", Some(90)),
            ("08", None),
            ("1e3", None),
            ("--1", None),
            ("5s", None),
            ("", None),
            ("4.5", None),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
        for (text, expected) in [
            ("4.5", Some(4.5)),
            ("1e3", Some(1000.0)),
            ("1_0.5", Some(10.5)),
            ("33", Some(33.0)),
            ("5d", Some(5.0)),
            ("-.inf", Some(f64::NEG_INFINITY)),
            ("inf", None),
            ("0x20", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        assert!(number(".NaN").is_some_and(f64::is_nan));
    }
}
