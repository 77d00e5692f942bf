//! Input and output values of recipe functions. The values have the Java types that Cassandra
//! distinguishes, and the conversions between functions.
//!
//! The file is long because it formats, serialises and compares every type.

use std::borrow::Cow;

use cql::template::append_value;
use data_encoding::HEXLOWER;
use workload::decimal::Decimal;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ty {
    // The variants are in virtdata's order of preference. This order decides if several flavours
    // fit.
    Long,
    Int,
    Float,
    Double,
    Bool,
    Byte,
    Text,
    // All types below have the same rank as `Object`.
    Object,
    Short,
    Uuid,
    Date,
    Instant,
    Day,
    Bytes,
    Chars,
    List,
    Set,
    Map,
    Floats,
    Vector,
    BigInt,
    Decimal,
    Duration,
    Inet,
    Time,
}

impl Ty {
    pub(crate) fn parse(name: &str) -> Option<Ty> {
        Some(match name {
            "long" | "java.lang.Long" | "Long" => Ty::Long,
            "int" | "java.lang.Integer" | "Integer" => Ty::Int,
            "float" | "java.lang.Float" | "Float" => Ty::Float,
            "double" | "java.lang.Double" | "Double" => Ty::Double,
            "boolean" | "java.lang.Boolean" | "Boolean" => Ty::Bool,
            "byte" | "java.lang.Byte" | "Byte" => Ty::Byte,
            "short" | "java.lang.Short" | "Short" => Ty::Short,
            "String" | "java.lang.String" => Ty::Text,
            "Object" | "java.lang.Object" => Ty::Object,
            "java.util.UUID" => Ty::Uuid,
            "java.util.Date" => Ty::Date,
            "java.time.Instant" => Ty::Instant,
            "java.time.LocalDate" => Ty::Day,
            "java.nio.ByteBuffer" => Ty::Bytes,
            "java.nio.CharBuffer" => Ty::Chars,
            "java.util.List" | "List" => Ty::List,
            "java.util.Set" | "Set" => Ty::Set,
            "java.util.Map" | "Map" => Ty::Map,
            "java.math.BigInteger" | "BigInteger" => Ty::BigInt,
            "java.math.BigDecimal" | "BigDecimal" => Ty::Decimal,
            "java.net.InetAddress" | "InetAddress" => Ty::Inet,
            "java.time.LocalTime" | "LocalTime" => Ty::Time,
            "UUID" => Ty::Uuid,
            "Instant" => Ty::Instant,
            "ByteBuffer" => Ty::Bytes,
            "CharBuffer" => Ty::Chars,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Ty::Long => "long",
            Ty::Int => "int",
            Ty::Float => "float",
            Ty::Double => "double",
            Ty::Bool => "boolean",
            Ty::Byte => "byte",
            Ty::Short => "short",
            Ty::Text => "String",
            Ty::Object => "Object",
            Ty::Uuid => "UUID",
            Ty::Date => "Date",
            Ty::Instant => "Instant",
            Ty::Day => "LocalDate",
            Ty::Bytes => "ByteBuffer",
            Ty::Chars => "CharBuffer",
            Ty::List => "List",
            Ty::Set => "Set",
            Ty::Map => "Map",
            Ty::BigInt => "BigInteger",
            Ty::Decimal => "BigDecimal",
            Ty::Duration => "CqlDuration",
            Ty::Inet => "InetAddress",
            Ty::Time => "LocalTime",
            Ty::Floats => "float[]",
            Ty::Vector => "CqlVector",
        }
    }

    /// Returns the rank of the type among the flavours of a function. A flavour with a lower rank
    /// is preferred.
    pub(crate) fn rank(self) -> Ty {
        self.min(Ty::Object)
    }

    /// Returns true if Java's widening converts a value to `to`.
    pub(crate) fn widens_to(self, to: Ty) -> bool {
        self == to
            || to == Ty::Object
            || match self {
                Ty::Byte => matches!(to, Ty::Short | Ty::Int | Ty::Long | Ty::Float | Ty::Double),
                Ty::Short => matches!(to, Ty::Int | Ty::Long | Ty::Float | Ty::Double),
                Ty::Int => matches!(to, Ty::Long | Ty::Float | Ty::Double),
                Ty::Long => matches!(to, Ty::Float | Ty::Double),
                Ty::Float => to == Ty::Double,
                _ => false,
            }
    }
}

/// A value that a function takes or returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val<'a> {
    Long(i64),
    Int(i32),
    Float(f32),
    Double(f64),
    Bool(bool),
    Text(Cow<'a, str>),
    /// The text of a number. Most keys are such texts. This variant avoids the allocation of the
    /// text.
    Digits(i64),
    Uuid([u8; 16]),
    /// An `Instant`, in milliseconds since 1970.
    Millis(i64),
    /// A `Date`, in milliseconds since 1970. The text of a `Date` has another format than the text
    /// of an `Instant`.
    Date(i64),
    /// A date, in days since 1970.
    Day(i32),
    Bytes(Vec<u8>),
    List(Vec<Val<'a>>),
    Set(Vec<Val<'a>>),
    Map(Vec<(Val<'a>, Val<'a>)>),
    Byte(i8),
    Short(i16),
    BigInt(i64),
    /// A decimal number. Its value is `unscaled` × 10^-`scale`.
    Decimal {
        unscaled: i64,
        scale: i32,
    },
    Duration {
        months: i32,
        days: i32,
        nanos: i64,
    },
    Inet([u8; 4]),
    /// A time of day, in nanoseconds since midnight.
    Time(i64),
}

impl<'a> Val<'a> {
    pub(crate) fn ty(&self) -> Ty {
        match self {
            Val::Long(_) => Ty::Long,
            Val::Int(_) => Ty::Int,
            Val::Float(_) => Ty::Float,
            Val::Double(_) => Ty::Double,
            Val::Bool(_) => Ty::Bool,
            Val::Text(_) | Val::Digits(_) => Ty::Text,
            Val::Uuid(_) => Ty::Uuid,
            Val::Millis(_) => Ty::Instant,
            Val::Date(_) => Ty::Date,
            Val::Day(_) => Ty::Day,
            Val::Bytes(_) => Ty::Bytes,
            Val::List(_) => Ty::List,
            Val::Set(_) => Ty::Set,
            Val::Map(_) => Ty::Map,
            Val::Byte(_) => Ty::Byte,
            Val::Short(_) => Ty::Short,
            Val::BigInt(_) => Ty::BigInt,
            Val::Decimal { .. } => Ty::Decimal,
            Val::Duration { .. } => Ty::Duration,
            Val::Inet(_) => Ty::Inet,
            Val::Time(_) => Ty::Time,
        }
    }

    pub(crate) fn owned(self) -> Val<'static> {
        let all = |items: Vec<Val<'a>>| items.into_iter().map(Val::owned).collect();
        match self {
            Val::Text(text) => Val::Text(Cow::Owned(text.into_owned())),
            Val::List(items) => Val::List(all(items)),
            Val::Set(items) => Val::Set(all(items)),
            Val::Map(pairs) => {
                let pairs = pairs.into_iter();
                Val::Map(pairs.map(|(k, v)| (k.owned(), v.owned())).collect())
            }
            Val::Long(v) => Val::Long(v),
            Val::Int(v) => Val::Int(v),
            Val::Float(v) => Val::Float(v),
            Val::Double(v) => Val::Double(v),
            Val::Bool(v) => Val::Bool(v),
            Val::Digits(v) => Val::Digits(v),
            Val::Uuid(v) => Val::Uuid(v),
            Val::Millis(v) => Val::Millis(v),
            Val::Date(v) => Val::Date(v),
            Val::Day(v) => Val::Day(v),
            Val::Bytes(v) => Val::Bytes(v),
            Val::Byte(v) => Val::Byte(v),
            Val::Short(v) => Val::Short(v),
            Val::BigInt(v) => Val::BigInt(v),
            Val::Decimal { unscaled, scale } => Val::Decimal { unscaled, scale },
            Val::Duration {
                months,
                days,
                nanos,
            } => Val::Duration {
                months,
                days,
                nanos,
            },
            Val::Inet(v) => Val::Inet(v),
            Val::Time(v) => Val::Time(v),
        }
    }

    /// Returns true if a set treats the two values as the same.
    pub(crate) fn is_same(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Digits(_), Val::Text(_)) | (Val::Text(_), Val::Digits(_)) => {
                self.text() == other.text()
            }
            (one, other) => one == other,
        }
    }

    /// Returns the value as a `long`, in the form that the next function receives.
    #[inline]
    pub(crate) fn long(&self) -> i64 {
        match self {
            Val::Long(v) | Val::Digits(v) | Val::Millis(v) | Val::Date(v) => *v,
            Val::BigInt(v) | Val::Time(v) => *v,
            Val::Int(v) | Val::Day(v) => i64::from(*v),
            Val::Byte(v) => i64::from(*v),
            Val::Short(v) => i64::from(*v),
            other => other.double() as i64,
        }
    }

    #[inline]
    pub(crate) fn double(&self) -> f64 {
        match self {
            Val::Double(v) => *v,
            Val::Float(v) => f64::from(*v),
            Val::Text(text) => text.trim().parse().unwrap_or(0.0),
            Val::Bool(v) => f64::from(u8::from(*v)),
            Val::Decimal { unscaled, scale } => *unscaled as f64 / 10f64.powi(*scale),
            Val::Uuid(_)
            | Val::Bytes(_)
            | Val::List(_)
            | Val::Set(_)
            | Val::Map(_)
            | Val::Duration { .. }
            | Val::Inet(_) => 0.0,
            other => other.long() as f64,
        }
    }

    /// Returns the value as text, in the form of Java's `String.valueOf`.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        match self {
            Val::Text(text) => text.clone(),
            other => {
                let mut out = String::new();
                other.write(&mut out);
                Cow::Owned(out)
            }
        }
    }

    pub(crate) fn write(&self, out: &mut String) {
        use std::fmt::Write;
        // Writing into a String cannot fail.
        let _ = match self {
            Val::Text(text) => out.write_str(text),
            Val::Long(v) | Val::Digits(v) => write!(out, "{v}"),
            Val::Int(v) => write!(out, "{v}"),
            Val::Bool(v) => write!(out, "{v}"),
            Val::Float(v) => out.write_str(&java_float(f64::from(*v), format!("{v:e}"))),
            Val::Double(v) => out.write_str(&java_float(*v, format!("{v:e}"))),
            Val::Uuid(bytes) => write!(out, "{}", cql::value::Value::Uuid(*bytes)),
            Val::Millis(v) => out.write_str(&super::dates::instant(*v)),
            Val::Date(v) => out.write_str(&super::dates::date(*v)),
            Val::Day(v) => out.write_str(&super::dates::day(i64::from(*v))),
            Val::Time(v) => out.write_str(&super::dates::time(*v)),
            Val::Byte(v) => write!(out, "{v}"),
            Val::Short(v) => write!(out, "{v}"),
            Val::BigInt(v) => write!(out, "{v}"),
            Val::Decimal { unscaled, scale } => out.write_str(&decimal(*unscaled, *scale)),
            Val::Duration {
                months,
                days,
                nanos,
            } => write!(out, "{months}mo{days}d{nanos}ns"),
            // Java uses this format for an address without a host name.
            Val::Inet([a, b, c, d]) => write!(out, "/{a}.{b}.{c}.{d}"),
            Val::Bytes(bytes) => HEXLOWER.encode_write(bytes, out),
            Val::List(items) | Val::Set(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.write_char(']')
            }
            Val::Map(pairs) => {
                out.push('{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    key.write(out);
                    out.push('=');
                    value.write(out);
                }
                out.write_char('}')
            }
        };
    }

    /// Appends the value as `[int length][bytes]`, in the driver's encoding of this type.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        match self {
            Val::Long(v) | Val::Millis(v) | Val::Date(v) | Val::Time(v) => {
                append_value(out, &v.to_be_bytes());
            }
            Val::Byte(v) => append_value(out, &v.to_be_bytes()),
            Val::Short(v) => append_value(out, &v.to_be_bytes()),
            Val::BigInt(v) => append_value(out, shortest(&v.to_be_bytes())),
            Val::Decimal { unscaled, scale } => {
                let bytes = unscaled.to_be_bytes();
                let parts = [&scale.to_be_bytes()[..], shortest(&bytes)];
                append_value(out, &parts.concat());
            }
            Val::Duration {
                months,
                days,
                nanos,
            } => {
                let duration = cql::value::Value::Duration {
                    months: *months,
                    days: *days,
                    nanoseconds: *nanos,
                };
                duration.append_cell(out);
            }
            Val::Inet(bytes) => append_value(out, bytes),
            Val::Int(v) => append_value(out, &v.to_be_bytes()),
            Val::Float(v) => append_value(out, &v.to_be_bytes()),
            Val::Double(v) => append_value(out, &v.to_be_bytes()),
            Val::Bool(v) => append_value(out, &[u8::from(*v)]),
            Val::Text(text) => append_value(out, text.as_bytes()),
            Val::Digits(v) => append_value(out, Decimal::signed(*v).bytes()),
            Val::Uuid(bytes) => append_value(out, bytes),
            // Cassandra encodes the day 1970-01-01 as 2^31.
            Val::Day(v) => append_value(out, &((*v as u32) ^ 0x8000_0000).to_be_bytes()),
            Val::Bytes(bytes) => append_value(out, bytes),
            Val::List(items) | Val::Set(items) => {
                let start = begin(items.len(), out);
                items.iter().for_each(|item| item.append(out));
                end(start, out);
            }
            Val::Map(pairs) => {
                let start = begin(pairs.len(), out);
                for (key, value) in pairs {
                    key.append(out);
                    value.append(out);
                }
                end(start, out);
            }
        }
    }

    /// Appends a vector, whose elements have no length fields.
    pub(crate) fn append_vector(&self, out: &mut Vec<u8>) {
        let Val::List(items) = self else {
            return self.append(out);
        };
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        for item in items {
            let before = out.len();
            item.append(out);
            out.drain(before..before + 4);
        }
        end(start, out);
    }
}

/// Begins a collection of `entries` entries. Returns the position of the collection's length field.
fn begin(entries: usize, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(entries as u32).to_be_bytes());
    start
}

/// Writes the number of bytes after the length field at `start` into this field.
fn end(start: usize, out: &mut [u8]) {
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Returns the number in two's complement, without leading bytes that only repeat the sign.
fn shortest(bytes: &[u8; 8]) -> &[u8] {
    let repeats = |at: &usize| {
        let sign = (bytes[at + 1] as i8) < 0;
        bytes[*at] == if sign { 0xFF } else { 0 }
    };
    let from = (0..7).take_while(repeats).count();
    &bytes[from..]
}

fn decimal(unscaled: i64, scale: i32) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let sign = if unscaled < 0 { "-" } else { "" };
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    if scale > 0 && exponent >= -6 {
        let width = scale as usize + 1;
        let digits = format!("{digits:0>width$}");
        let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
        return format!("{sign}{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{exponent:+}")
}

/// Formats a floating-point number in the same way as Java. The number 0 and numbers from 1e-3 to
/// below 1e7 have no exponent, and all other numbers have one. `scientific` is the shortest text of
/// the number in scientific notation.
fn java_float(value: f64, scientific: String) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-3..7).contains(&exponent) {
        let sign = if digits.starts_with('-') { "-" } else { "" };
        let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
        let point = (exponent + 1).max(1) as usize;
        let mut whole = "0".repeat((-exponent).max(0) as usize) + &digits;
        while whole.len() < point + 1 {
            whole.push('0');
        }
        return format!("{sign}{}.{}", &whole[..point], &whole[point..]);
    }
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_numbers_are_java_s() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (0.001, "0.001"),
            (0.000_12, "1.2E-4"),
            (1_234_567.5, "1234567.5"),
            (1e7, "1.0E7"),
            (123e8, "1.23E10"),
        ] {
            assert_eq!(Val::Double(value).text(), text);
        }
        assert_eq!(Val::Float(0.1).text(), "0.1");
    }

    #[test]
    fn texts_of_other_types_are_java_s() {
        let decimal = |unscaled, scale| Val::Decimal { unscaled, scale };
        for (value, text) in [
            (decimal(12345, 2), "123.45"),
            (decimal(-5, 3), "-0.005"),
            (decimal(7, 0), "7"),
            (decimal(7, 10), "7E-10"),
            (decimal(123, -2), "1.23E+4"),
            (Val::Inet([1, 2, 3, 4]), "/1.2.3.4"),
            (Val::Millis(0), "1970-01-01T00:00:00Z"),
            (Val::Millis(1_517_461_200_120), "2018-02-01T05:00:00.120Z"),
            (Val::Date(1_517_461_200_000), "Thu Feb 01 05:00:00 UTC 2018"),
            (Val::Day(-1), "1969-12-31"),
            (Val::Time(3_600_000_000_000), "01:00"),
            (Val::Time(3_605_120_000_000), "01:00:05.120"),
            (Val::Set(vec![Val::Int(1), Val::Int(2)]), "[1, 2]"),
            (Val::Map(vec![(Val::Int(1), Val::Bool(true))]), "{1=true}"),
        ] {
            assert_eq!(value.text(), text);
        }
    }

    #[test]
    fn whole_numbers_of_any_size_are_as_short_as_they_can_be() {
        for (value, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0, 128]),
            (-1, &[255]),
            (-128, &[128]),
            (-129, &[255, 127]),
            (i64::MIN, &[128, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(shortest(&value.to_be_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn maps_are_counted_pairs_with_lengths() {
        let map = Val::Map(vec![(Val::Byte(1), Val::Short(2))]);
        let mut out = Vec::new();
        map.append(&mut out);
        let expected = [0, 0, 0, 15, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 2, 0, 2];
        assert_eq!(out, expected);
    }

    #[test]
    fn digits_are_appended_as_their_text() {
        for value in [0, 7, -1, 1_234_567_890, i64::MAX, i64::MIN] {
            let (mut plain, mut fast) = (Vec::new(), Vec::new());
            append_value(&mut plain, value.to_string().as_bytes());
            Val::Digits(value).append(&mut fast);
            assert_eq!(plain, fast);
        }
    }
}
