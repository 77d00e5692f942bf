//! What functions of a recipe take and give: Java's types, as far as they can be told apart in
//! Cassandra, and the conversions that happen between one function and the next.

use std::borrow::Cow;

use crate::decimal::Decimal;
use cql::template::append_value;

/// The type of what a function takes or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ty {
    // In the order in which virtdata prefers them when several flavours would do.
    Long,
    Int,
    Float,
    Double,
    Bool,
    Byte,
    Text,
    // All others are equal to it: objects.
    Object,
    Short,
    Uuid,
    Date,
    Instant,
    Day,
    Bytes,
    Chars,
    List,
    Floats,
    Vector,
}

impl Ty {
    /// The types that a recipe can name after `->`, by Java's names.
    pub(crate) fn named(name: &str) -> Option<Ty> {
        Some(match name {
            "long" | "java.lang.Long" | "Long" => Ty::Long,
            "int" | "java.lang.Integer" | "Integer" => Ty::Int,
            "float" | "java.lang.Float" | "Float" => Ty::Float,
            "double" | "java.lang.Double" | "Double" => Ty::Double,
            "boolean" | "java.lang.Boolean" => Ty::Bool,
            "byte" | "java.lang.Byte" => Ty::Byte,
            "short" | "java.lang.Short" => Ty::Short,
            "String" | "java.lang.String" => Ty::Text,
            "Object" | "java.lang.Object" => Ty::Object,
            "java.util.UUID" => Ty::Uuid,
            "java.util.Date" => Ty::Date,
            "java.time.Instant" => Ty::Instant,
            "java.time.LocalDate" => Ty::Day,
            "java.nio.ByteBuffer" => Ty::Bytes,
            "java.nio.CharBuffer" => Ty::Chars,
            "java.util.List" => Ty::List,
            _ => return None,
        })
    }

    /// Java's name, for messages.
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
            Ty::Floats => "float[]",
            Ty::Vector => "CqlVector",
        }
    }

    /// Rank among the flavours of a function: lower is preferred.
    pub(crate) fn rank(self) -> Ty {
        self.min(Ty::Object)
    }

    /// Whether a value can be passed on without a loss: Java's widening.
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

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val<'a> {
    Long(i64),
    Int(i32),
    Float(f32),
    Double(f64),
    Bool(bool),
    Text(Cow<'a, str>),
    /// The text of a number; most keys are that, and so none is allocated.
    Digits(i64),
    Uuid([u8; 16]),
    /// Milliseconds since 1970: `Date` and `Instant`.
    Millis(i64),
    /// Days since 1970.
    Day(i32),
    Bytes(Vec<u8>),
    List(Vec<Val<'a>>),
}

impl<'a> Val<'a> {
    /// The value as the `long` that the next function takes.
    #[inline]
    pub(crate) fn long(&self) -> i64 {
        match self {
            Val::Long(v) | Val::Digits(v) | Val::Millis(v) => *v,
            Val::Int(v) | Val::Day(v) => i64::from(*v),
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
            Val::Uuid(_) | Val::Bytes(_) | Val::List(_) => 0.0,
            other => other.long() as f64,
        }
    }

    /// The value as text, as `String.valueOf` writes it.
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
            Val::Uuid(bytes) => write_uuid(bytes, out),
            Val::Millis(v) => write!(out, "{v}"),
            Val::Day(v) => write!(out, "{v}"),
            Val::Bytes(bytes) => bytes.iter().try_for_each(|b| write!(out, "{b:02x}")),
            Val::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.write_char(']')
            }
        };
    }

    /// Appends `[int length][bytes]` as the driver serialises a value of this type.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        match self {
            Val::Long(v) | Val::Millis(v) => append_value(out, &v.to_be_bytes()),
            Val::Int(v) => append_value(out, &v.to_be_bytes()),
            Val::Float(v) => append_value(out, &v.to_be_bytes()),
            Val::Double(v) => append_value(out, &v.to_be_bytes()),
            Val::Bool(v) => append_value(out, &[u8::from(*v)]),
            Val::Text(text) => append_value(out, text.as_bytes()),
            Val::Digits(v) => append_value(out, Decimal::signed(*v).bytes()),
            Val::Uuid(bytes) => append_value(out, bytes),
            // Day 2^31 is 1970-01-01.
            Val::Day(v) => append_value(out, &((*v as u32) ^ 0x8000_0000).to_be_bytes()),
            Val::Bytes(bytes) => append_value(out, bytes),
            Val::List(items) => {
                let start = out.len();
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&(items.len() as u32).to_be_bytes());
                items.iter().for_each(|item| item.append(out));
                let length = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    }

    /// Appends a vector: its elements without lengths.
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
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

fn write_uuid(bytes: &[u8; 16], out: &mut String) -> std::fmt::Result {
    use std::fmt::Write;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        write!(out, "{byte:02x}")?;
    }
    Ok(())
}

/// Java's text of a floating-point number: plain from 1e-3 to below 1e7, else with an exponent.
/// `scientific` is the shortest text of it in scientific notation.
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
    fn digits_are_appended_as_their_text() {
        for value in [0, 7, -1, 1_234_567_890, i64::MAX, i64::MIN] {
            let (mut plain, mut fast) = (Vec::new(), Vec::new());
            append_value(&mut plain, value.to_string().as_bytes());
            Val::Digits(value).append(&mut fast);
            assert_eq!(plain, fast);
        }
    }
}
