//! Converts constants in a workload file to bytes of CQL values. Constants include days, times and
//! time spans.

use std::net::IpAddr;

use super::expr::{Expr, Form, Wrong};
use cql::value::{CqlType, Value, append_varint, days_since_1970};

const MS_PER_DAY: i64 = 86_400_000;

/// Returns the text of a constant with or without quotes. Returns `None` for a function call.
fn text_of(expr: &Expr) -> Option<&str> {
    match &expr.form {
        Form::Text(text) => Some(text),
        Form::Number => Some(&expr.text),
        Form::Call { arguments, .. } if arguments.is_empty() => Some(&expr.text),
        Form::Call { .. } => None,
    }
}

/// Converts a cell of a CSV to a value of a type. A cell of any type except text may also contain
/// the bytes of the value, as `0x` and pairs of hexadecimal digits. Returns `None` if the cell is
/// not a value of the type.
pub(super) fn cell(text: &str, typ: &CqlType) -> Option<Vec<u8>> {
    if !matches!(typ, CqlType::Text | CqlType::Ascii)
        && let Some(bytes) = blob(text)
    {
        return cql::value::decode(typ, Some(&bytes)).ok().map(|_| bytes);
    }
    let mut bytes = Vec::new();
    value(text, typ)?.append(&mut bytes);
    Some(bytes)
}

pub(super) fn bytes(expr: &Expr, typ: &CqlType) -> Result<Vec<u8>, Wrong> {
    let found = text_of(expr).and_then(|text| value(text, typ));
    let Some(value) = found else {
        let message = format!("`{}` is not a constant of type {typ}", expr.text);
        return Err(Wrong::new(expr.at, message));
    };
    let mut bytes = Vec::new();
    value.append(&mut bytes);
    Ok(bytes)
}

fn value(text: &str, typ: &CqlType) -> Option<Value> {
    Some(match typ {
        CqlType::Text => Value::Text(text.to_owned()),
        CqlType::Ascii if text.is_ascii() => Value::Text(text.to_owned()),
        CqlType::Blob => Value::Blob(blob(text)?),
        CqlType::Boolean => Value::Boolean(text.to_ascii_lowercase().parse().ok()?),
        CqlType::Tinyint => Value::Tinyint(text.parse().ok()?),
        CqlType::Smallint => Value::Smallint(text.parse().ok()?),
        CqlType::Int => Value::Int(text.parse().ok()?),
        CqlType::Bigint => Value::Bigint(text.parse().ok()?),
        CqlType::Counter => Value::Counter(text.parse().ok()?),
        CqlType::Varint => Value::Varint(varint(text.parse().ok()?)),
        CqlType::Decimal => decimal(text)?,
        CqlType::Float => Value::Float(text.parse().ok()?),
        CqlType::Double => Value::Double(text.parse().ok()?),
        CqlType::Timestamp => Value::Timestamp(text.parse().ok().or_else(|| instant_ms(text))?),
        CqlType::Date => {
            let day = instant_ms(text)?.div_euclid(MS_PER_DAY);
            Value::Date(u32::try_from(day + (1 << 31)).ok()?)
        }
        CqlType::Time => Value::Time(time_of_day_ms(text)?.checked_mul(1_000_000)?),
        CqlType::Inet => Value::Inet(text.parse::<IpAddr>().ok()?),
        CqlType::Uuid => Value::Uuid(uuid(text)?),
        CqlType::Timeuuid => Value::Timeuuid(uuid(text).filter(|bytes| bytes[6] >> 4 == 1)?),
        CqlType::Duration => duration(text)?,
        _ => return None,
    })
}

/// Parses `0x` and pairs of hexadecimal digits. Returns `None` for other texts.
fn blob(text: &str) -> Option<Vec<u8>> {
    hexadecimal(text.strip_prefix("0x")?)
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = pairs.iter();
    pairs
        .map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8))
        .collect()
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let lengths = text.split('-').map(str::len);
    if !lengths.eq([8, 4, 4, 4, 12]) {
        return None;
    }
    hexadecimal(&text.replace('-', ""))?.try_into().ok()
}

fn varint(number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_varint(number, &mut bytes);
    bytes
}

fn decimal(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.starts_with(['-', '+']) {
        return None;
    }
    let unscaled: i64 = format!("{whole}{fraction}").parse().ok()?;
    Some(Value::Decimal {
        unscaled: varint(unscaled),
        scale: i32::try_from(fraction.len()).ok()?,
    })
}

/// Parses a time span. It consists of numbers without blanks, each followed by `y`, `mo`, `w`, `d`,
/// `h`, `m`, `s`, `ms`, `us` or `ns`. Returns `None` for other texts.
fn duration(text: &str) -> Option<Value> {
    let (mut months, mut days, mut nanoseconds) = (0i32, 0i32, 0i64);
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit());
        let (unit, after) = rest.split_at(unit.unwrap_or(rest.len()));
        rest = after;
        let small = |factor: i64| i32::try_from(number.checked_mul(factor)?).ok();
        match unit {
            "y" => months = months.checked_add(small(12)?)?,
            "mo" => months = months.checked_add(small(1)?)?,
            "w" => days = days.checked_add(small(7)?)?,
            "d" => days = days.checked_add(small(1)?)?,
            _ => {
                let factor = match unit {
                    "h" => 3_600_000_000_000,
                    "m" => 60_000_000_000,
                    "s" => 1_000_000_000,
                    "ms" => 1_000_000,
                    "us" => 1_000,
                    "ns" => 1,
                    _ => return None,
                };
                nanoseconds = nanoseconds.checked_add(number.checked_mul(factor)?)?;
            }
        }
    }
    (!text.is_empty()).then_some(Value::Duration {
        months,
        days,
        nanoseconds,
    })
}

/// Parses a date such as `2024-01-31`. A time of day in UTC may follow after a `T` or a blank.
/// Returns milliseconds since 1970. Returns `None` for other texts.
fn instant_ms(text: &str) -> Option<i64> {
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut parts = day.split('-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1970..=9999).contains(&year) {
        return None;
    }
    let days = days_since_1970(year.into(), month.into(), day.into())?;
    // Notations of UTC in the output of cqlsh and other tools.
    let zones = ["Z", "+0000", "+00:00"];
    let time = zones.into_iter().find_map(|zone| time.strip_suffix(zone)).unwrap_or(time);
    let ms = if time.is_empty() {
        0
    } else {
        time_of_day_ms(time)?
    };
    Some(days * MS_PER_DAY + ms)
}

/// Parses `12:30`, `12:30:59` or `12:30:59.250`. Returns milliseconds since midnight, or `None` for
/// other texts.
fn time_of_day_ms(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Digits after the milliseconds must be zeros. The function accepts them because cqlsh writes
    // microseconds.
    let (fraction, finer) = fraction.split_at_checked(3).unwrap_or((fraction, ""));
    if !finer.bytes().all(|digit| digit == b'0') {
        return None;
    }
    let ms: u32 = format!("{fraction:0<3}").parse().ok()?;
    Some(i64::from((hour * 60 + minute) * 60 + second) * 1000 + i64::from(ms))
}

/// Parses a point in time, in ms since 1970. The constant is either a date in quotes or the number
/// of milliseconds itself.
pub(super) fn time_ms(expr: &Expr) -> Result<i64, Wrong> {
    let text = text_of(expr).unwrap_or_default();
    // The last millisecond of the year 9999. Four digits cannot express a later year.
    const MS_MAX: i64 = 253_402_300_799_999;
    let number = text.parse().ok().filter(|ms| (0..=MS_MAX).contains(ms));
    number.or_else(|| instant_ms(text)).ok_or_else(|| {
        let message = format!("`{}` is not a point in time from 1970 to 9999", expr.text);
        Wrong::new(expr.at, message).hint("'2024-01-31', '2024-01-31T12:30:00Z' or milliseconds")
    })
}

/// Parses a time span such as `1s`, `250ms`, `5m`, `1h` or `1d`. Returns the span in ms.
pub(super) fn span_ms(expr: &Expr) -> Result<i64, Wrong> {
    let text = expr.text.as_str();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match &text[digits..] {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(MS_PER_DAY),
        _ => None,
    };
    let number: Option<i64> = text[..digits].parse().ok();
    // With steps of more than a year, times would exceed their range after a few thousand rows.
    let span = number.zip(factor).and_then(|(n, factor)| n.checked_mul(factor));
    span.filter(|ms| *ms <= 366 * MS_PER_DAY).ok_or_else(|| {
        let message = format!("`{text}` is not a duration up to a year");
        Wrong::new(expr.at, message).hint("250ms, 1s, 5m, 1h or 1d")
    })
}
