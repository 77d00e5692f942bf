//! Formats values and types as in CQL, for people. A text has quotes only within another value.

use data_encoding::HEXLOWER;
use std::fmt::{self, Display, Formatter, Write as _};

use super::{CqlType, SIMPLE, Value, civil};

/// Size of the longest integer that is formatted in decimal, in bytes. The conversion takes
/// quadratic time, and 10,000 digits are useless to a reader. Longer integers are formatted in
/// hexadecimal.
const DECIMAL_BYTES_MAX: usize = 4096;

/// Number of nanoseconds of a day. A `time` must be less than this number.
const NS_PER_DAY: i64 = 86_400_000_000_000;

impl Display for CqlType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CqlType::List(of) => write!(f, "list<{of}>"),
            CqlType::Set(of) => write!(f, "set<{of}>"),
            CqlType::Map(keys, values) => write!(f, "map<{keys}, {values}>"),
            CqlType::Tuple(types) => {
                f.write_str("tuple<")?;
                separated(f, types, |f, typ| write!(f, "{typ}"))?;
                f.write_char('>')
            }
            CqlType::Udt(udt) => write!(f, "{}.{}", udt.keyspace, udt.name),
            CqlType::Vector(of, dimension) => write!(f, "vector<{of}, {dimension}>"),
            CqlType::Custom(class) => write!(f, "'{class}'"),
            simple => {
                let row = SIMPLE.iter().find(|(_, typ, ..)| typ == simple);
                f.write_str(row.expect("SIMPLE has every type without parts").2)
            }
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Empty => Ok(()),
            Value::Text(text) => f.write_str(text),
            Value::Blob(bytes) | Value::Custom(bytes) => hex(f, bytes),
            Value::Bigint(v) | Value::Counter(v) => write!(f, "{v}"),
            Value::Boolean(v) => write!(f, "{v}"),
            Value::Decimal { unscaled, scale } => decimal(f, unscaled, *scale),
            Value::Double(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v}"),
            Value::Int(v) => write!(f, "{v}"),
            Value::Smallint(v) => write!(f, "{v}"),
            Value::Tinyint(v) => write!(f, "{v}"),
            Value::Varint(bytes) => integer(f, bytes),
            Value::Uuid(bytes) | Value::Timeuuid(bytes) => uuid(f, bytes),
            Value::Inet(address) => write!(f, "{address}"),
            Value::Timestamp(ms) => {
                day(f, ms.div_euclid(86_400_000))?;
                f.write_char(' ')?;
                time(f, ms.rem_euclid(86_400_000), 1000, 3)?;
                f.write_str("+0000")
            }
            Value::Date(days) => day(f, i64::from(*days) - (1 << 31)),
            Value::Time(ns @ 0..NS_PER_DAY) => time(f, *ns, 1_000_000_000, 9),
            Value::Time(no_time_of_day) => write!(f, "{no_time_of_day}"),
            Value::Duration {
                months,
                days,
                nanoseconds,
            } => {
                write!(f, "{months}mo{days}d{nanoseconds}ns")
            }
            Value::List(values) | Value::Vector(values) => bracketed(f, values, '[', ']'),
            Value::Set(values) => bracketed(f, values, '{', '}'),
            Value::Tuple(values) => bracketed(f, values, '(', ')'),
            Value::Map(entries) => {
                f.write_char('{')?;
                separated(f, entries, |f, (key, value)| {
                    inner(f, key)?;
                    f.write_str(": ")?;
                    inner(f, value)
                })?;
                f.write_char('}')
            }
            Value::Udt(fields) => {
                f.write_char('{')?;
                separated(f, fields, |f, (name, value)| {
                    write!(f, "{name}: ")?;
                    inner(f, value)
                })?;
                f.write_char('}')
            }
        }
    }
}

/// Formats a value that is part of another value. Texts have quotes.
fn inner(f: &mut Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        other => write!(f, "{other}"),
    }
}

fn bracketed(f: &mut Formatter<'_>, values: &[Value], open: char, close: char) -> fmt::Result {
    f.write_char(open)?;
    separated(f, values, inner)?;
    f.write_char(close)
}

fn separated<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    mut show: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        show(f, item)?;
    }
    Ok(())
}

fn hex(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    f.write_str(&HEXLOWER.encode(bytes))
}

fn uuid(f: &mut Formatter<'_>, bytes: &[u8; 16]) -> fmt::Result {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            f.write_char('-')?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

fn day(f: &mut Formatter<'_>, days_since_1970: i64) -> fmt::Result {
    let (year, month, day) = civil(days_since_1970);
    write!(f, "{year:04}-{month:02}-{day:02}")
}

/// Formats a time of day, given in ticks. A second has `per_second` ticks. The fraction of the
/// second has `digits` digits.
fn time(f: &mut Formatter<'_>, ticks: i64, per_second: i64, digits: usize) -> fmt::Result {
    let (seconds, fraction) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    write!(
        f,
        "{hours:02}:{minutes:02}:{:02}.{fraction:0digits$}",
        seconds % 60
    )
}

fn integer(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    if bytes.len() > DECIMAL_BYTES_MAX {
        return hex(f, bytes);
    }
    let (negative, digits) = decimal_digits(bytes);
    if negative {
        f.write_char('-')?;
    }
    f.write_str(&digits)
}

/// Formats a number like Java's BigDecimal, with a point while the exponent is small, and otherwise
/// in scientific notation. A scale of 2^31 therefore does not produce 2^31 zeroes.
fn decimal(f: &mut Formatter<'_>, unscaled: &[u8], scale: i32) -> fmt::Result {
    if unscaled.len() > DECIMAL_BYTES_MAX {
        hex(f, unscaled)?;
        return write!(f, "E{}", -i64::from(scale));
    }
    let (negative, digits) = decimal_digits(unscaled);
    if negative {
        f.write_char('-')?;
    }
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    if scale < 0 || exponent < -6 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return write!(f, "{first}{point}{rest}E{exponent:+}");
    }
    let scale = scale as usize;
    if scale == 0 {
        return f.write_str(&digits);
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    write!(f, "{whole}.{fraction}")
}

/// Returns the sign and the decimal digits of a two's complement integer. Computes the digits by
/// repeated division by 10^9.
fn decimal_digits(bytes: &[u8]) -> (bool, String) {
    const BILLION: u64 = 1_000_000_000;
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in magnitude.iter_mut().rev() {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    let mut groups = Vec::new();
    let mut rest = &mut magnitude[..];
    while let Some(first) = rest.iter().position(|&byte| byte != 0) {
        rest = &mut rest[first..];
        let mut remainder = 0;
        for byte in rest.iter_mut() {
            let value = remainder << 8 | u64::from(*byte);
            *byte = (value / BILLION) as u8;
            remainder = value % BILLION;
        }
        groups.push(remainder);
    }
    let Some(highest) = groups.pop() else {
        return (negative, "0".to_owned());
    };
    let mut digits = highest.to_string();
    for group in groups.iter().rev() {
        digits.push_str(&format!("{group:09}"));
    }
    (negative, digits)
}
