//! Encodes a value into the bytes of its cell, the reverse of `decode`.

use std::net::IpAddr;

use super::Value;
use crate::template::append_null;
use crate::wire::append_i32;

impl Value {
    /// Appends the value as a cell. A cell is an int length (-1 for null), and then the bytes of
    /// [`append`](Self::append). Cells and bound values have this form.
    pub fn append_cell(&self, out: &mut Vec<u8>) {
        if self.is_null() {
            return append_null(out);
        }
        let start = out.len();
        append_i32(out, 0);
        self.append(out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends the bytes of the value without a length. Appends nothing for null.
    pub fn append(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null | Value::Empty => {}
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Blob(bytes) | Value::Varint(bytes) | Value::Custom(bytes) => {
                out.extend_from_slice(bytes);
            }
            Value::Bigint(v) | Value::Counter(v) | Value::Timestamp(v) | Value::Time(v) => {
                out.extend_from_slice(&v.to_be_bytes());
            }
            Value::Boolean(v) => out.push(u8::from(*v)),
            Value::Decimal { unscaled, scale } => {
                append_i32(out, *scale);
                out.extend_from_slice(unscaled);
            }
            Value::Double(v) => out.extend_from_slice(&v.to_be_bytes()),
            Value::Float(v) => out.extend_from_slice(&v.to_be_bytes()),
            Value::Int(v) => append_i32(out, *v),
            Value::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
            Value::Smallint(v) => out.extend_from_slice(&v.to_be_bytes()),
            Value::Tinyint(v) => out.extend_from_slice(&v.to_be_bytes()),
            Value::Uuid(bytes) | Value::Timeuuid(bytes) => out.extend_from_slice(bytes),
            Value::Inet(IpAddr::V4(address)) => out.extend_from_slice(&address.octets()),
            Value::Inet(IpAddr::V6(address)) => out.extend_from_slice(&address.octets()),
            Value::Duration {
                months,
                days,
                nanoseconds,
            } => {
                for part in [i64::from(*months), i64::from(*days), *nanoseconds] {
                    append_unsigned_vint(out, zigzag(part));
                }
            }
            Value::List(values) | Value::Set(values) => {
                append_i32(out, values.len() as i32);
                values.iter().for_each(|value| value.append_cell(out));
            }
            Value::Map(entries) => {
                append_i32(out, entries.len() as i32);
                for (key, value) in entries {
                    key.append_cell(out);
                    value.append_cell(out);
                }
            }
            Value::Tuple(values) => values.iter().for_each(|value| value.append_cell(out)),
            Value::Udt(fields) => fields.iter().for_each(|(_, value)| value.append_cell(out)),
            Value::Vector(values) => values.iter().for_each(|value| append_element(out, value)),
        }
    }

    /// Returns true if a vector contains values of this type without length fields. See
    /// `decode::fixed_bytes`.
    fn has_fixed_bytes(&self) -> bool {
        match self {
            Value::Boolean(_) | Value::Int(_) | Value::Float(_) => true,
            Value::Bigint(_) | Value::Double(_) | Value::Timestamp(_) => true,
            Value::Uuid(_) | Value::Timeuuid(_) => true,
            Value::Vector(values) => values.first().is_some_and(Value::has_fixed_bytes),
            _ => false,
        }
    }
}

fn append_element(out: &mut Vec<u8>, value: &Value) {
    if value.has_fixed_bytes() {
        return value.append(out);
    }
    let mut bytes = Vec::new();
    value.append(&mut bytes);
    append_unsigned_vint(out, bytes.len() as u64);
    out.extend_from_slice(&bytes);
}

/// Appends a number of variable length, as in vectors and durations.
pub fn append_unsigned_vint(out: &mut Vec<u8>, value: u64) {
    // One byte has space for 7 bits. Each further byte adds 8 bits, and uses one leading bit of the
    // first byte. A number that leaves no bits of the first byte free needs a ninth byte.
    let bits = 64 - value.leading_zeros();
    let more = if bits > 56 {
        8
    } else {
        bits.saturating_sub(1) / 7
    };
    let ones = !(0xFF_u32 >> more) as u8;
    let bytes = value.to_be_bytes();
    if more == 8 {
        out.push(0xFF);
        out.extend_from_slice(&bytes);
    } else {
        let used = &bytes[7 - more as usize..];
        out.push(ones | used[0]);
        out.extend_from_slice(&used[1..]);
    }
}

/// Appends a number in two's complement with the fewest bytes. A `varint` in a key must have this
/// form, since any other form of the same number would be a different key.
pub fn append_varint(number: i64, out: &mut Vec<u8>) {
    let bits = 65 - (number ^ number >> 63).leading_zeros() as usize;
    out.extend_from_slice(&number.to_be_bytes()[8 - bits.div_ceil(8)..]);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}
