//! Decodes the bytes of a cell into a value.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{CqlType, Value};
use crate::wire::{ParseError, Reader, Result};

/// Decodes a cell of type `typ`. If `bytes` is `None`, the cell is null. Zero bytes are
/// [`Value::Empty`], except for the types whose values may be empty (text, bytes).
///
/// # Errors
/// The bytes do not match the type: too short, too long, or not text.
pub fn decode(typ: &CqlType, bytes: Option<&[u8]>) -> Result<Value> {
    let Some(bytes) = bytes else {
        return Ok(Value::Null);
    };
    let mut reader = Reader::new(bytes);
    let value = read(typ, &mut reader)?;
    if reader.left() > 0 {
        return Err(ParseError::Value {
            what: "length of a value",
            offset: 0,
            value: bytes.len() as i64,
            allowed: "at most the length of its type",
        });
    }
    Ok(value)
}

/// Reads a value from all bytes that are left in `reader`. If the bytes are too short, the error
/// contains the position.
fn read(typ: &CqlType, reader: &mut Reader<'_>) -> Result<Value> {
    match typ {
        CqlType::Ascii | CqlType::Text => return text(typ, reader),
        CqlType::Blob => return Ok(Value::Blob(rest(reader)?)),
        CqlType::Custom(_) => return Ok(Value::Custom(rest(reader)?)),
        _ if reader.left() == 0 => return Ok(Value::Empty),
        _ => {}
    }
    Ok(match typ {
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Custom(_) => Value::Empty,
        CqlType::Bigint => Value::Bigint(reader.i64("bigint")?),
        CqlType::Counter => Value::Counter(reader.i64("counter")?),
        CqlType::Timestamp => Value::Timestamp(reader.i64("timestamp")?),
        CqlType::Time => Value::Time(reader.i64("time")?),
        CqlType::Boolean => Value::Boolean(reader.u8("boolean")? != 0),
        CqlType::Tinyint => Value::Tinyint(reader.u8("tinyint")? as i8),
        CqlType::Smallint => Value::Smallint(reader.u16("smallint")? as i16),
        CqlType::Int => Value::Int(reader.i32("int")?),
        CqlType::Date => Value::Date(reader.i32("date")? as u32),
        CqlType::Float => Value::Float(f32::from_be_bytes(reader.array("float")?)),
        CqlType::Double => Value::Double(f64::from_be_bytes(reader.array("double")?)),
        CqlType::Uuid => Value::Uuid(reader.array("uuid")?),
        CqlType::Timeuuid => Value::Timeuuid(reader.array("timeuuid")?),
        CqlType::Inet => Value::Inet(inet(reader)?),
        CqlType::Varint => Value::Varint(rest(reader)?),
        CqlType::Decimal => {
            let scale = reader.i32("scale of a decimal")?;
            let unscaled = match rest(reader)? {
                digits if digits.is_empty() => vec![0],
                digits => digits,
            };
            Value::Decimal { unscaled, scale }
        }
        CqlType::Duration => duration(reader)?,
        CqlType::List(of) => Value::List(elements(of, reader)?),
        CqlType::Set(of) => Value::Set(elements(of, reader)?),
        CqlType::Map(keys, values) => Value::Map(entries(keys, values, reader)?),
        CqlType::Tuple(types) => Value::Tuple(fields(types.iter(), reader)?),
        CqlType::Udt(udt) => {
            let values = fields(udt.fields.iter().map(|(_, typ)| typ), reader)?;
            let names = udt.fields.iter().map(|(name, _)| Arc::clone(name));
            Value::Udt(names.zip(values).collect())
        }
        CqlType::Vector(of, dimension) => Value::Vector(vector(of, *dimension, reader)?),
    })
}

fn rest(reader: &mut Reader<'_>) -> Result<Vec<u8>> {
    reader.take(reader.left(), "bytes").map(<[u8]>::to_vec)
}

fn text(typ: &CqlType, reader: &mut Reader<'_>) -> Result<Value> {
    let offset = reader.offset();
    let bytes = rest(reader)?;
    let what = match typ {
        CqlType::Ascii if bytes.is_ascii() => "text",
        CqlType::Ascii => {
            return Err(ParseError::Text {
                what: "ascii",
                offset,
            });
        }
        _ => "text",
    };
    let text = String::from_utf8(bytes).map_err(|_| ParseError::Text { what, offset })?;
    Ok(Value::Text(text))
}

fn inet(reader: &mut Reader<'_>) -> Result<IpAddr> {
    match reader.left() {
        4 => Ok(IpAddr::V4(Ipv4Addr::from(reader.array::<4>("inet")?))),
        16 => Ok(IpAddr::V6(Ipv6Addr::from(reader.array::<16>("inet")?))),
        other => {
            let (what, offset) = ("length of an inet", reader.offset());
            let (value, allowed) = (other as i64, "4 or 16");
            Err(ParseError::Value {
                what,
                offset,
                value,
                allowed,
            })
        }
    }
}

/// Reads a nested value, which has a separate length field.
fn nested(typ: &CqlType, reader: &mut Reader<'_>) -> Result<Value> {
    decode(typ, reader.bytes("element")?)
}

fn elements(of: &CqlType, reader: &mut Reader<'_>) -> Result<Vec<Value>> {
    let count = reader.count("number of elements", 4)?;
    (0..count).map(|_| nested(of, reader)).collect()
}

fn entries(
    keys: &CqlType,
    values: &CqlType,
    reader: &mut Reader<'_>,
) -> Result<Vec<(Value, Value)>> {
    let count = reader.count("number of entries", 8)?;
    (0..count)
        .map(|_| Ok((nested(keys, reader)?, nested(values, reader)?)))
        .collect()
}

/// Reads the elements of a tuple or the fields of a user-defined type until the bytes end. Elements
/// that were added to the type later are missing. The function does not fill them with null,
/// because a type with many elements would turn a few bytes into many values.
fn fields<'t>(
    types: impl Iterator<Item = &'t CqlType>,
    reader: &mut Reader<'_>,
) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    for typ in types {
        if reader.left() == 0 {
            break;
        }
        values.push(nested(typ, reader)?);
    }
    Ok(values)
}

/// Reads a vector. If the element type has a fixed length, the elements have no length fields.
/// Otherwise each element has its length as a vint.
fn vector(of: &CqlType, dimension: u32, reader: &mut Reader<'_>) -> Result<Vec<Value>> {
    let fixed = fixed_bytes(of);
    let needed = fixed.unwrap_or(1).saturating_mul(u64::from(dimension));
    if needed > reader.left() as u64 {
        let (what, offset, left) = ("vector", reader.offset(), reader.left());
        return Err(ParseError::Short {
            what,
            offset,
            needed,
            left,
        });
    }
    let element = |reader: &mut Reader<'_>| {
        let length = match fixed {
            Some(length) => length,
            None => unsigned_vint(reader)?,
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        decode(of, Some(reader.take(length, "element of a vector")?))
    };
    (0..dimension).map(|_| element(reader)).collect()
}

/// Returns the number of bytes of every value of the type within a vector. Returns `None` if
/// Cassandra treats the length as variable, which includes some types whose values all have the
/// same length.
pub fn fixed_bytes(typ: &CqlType) -> Option<u64> {
    match typ {
        CqlType::Boolean => Some(1),
        CqlType::Int | CqlType::Float => Some(4),
        CqlType::Bigint | CqlType::Double | CqlType::Timestamp => Some(8),
        CqlType::Uuid | CqlType::Timeuuid => Some(16),
        // CQL does not permit a dimension of 0. With elements that take no bytes, a few bytes could
        // announce any number of elements.
        CqlType::Vector(of, dimension) if *dimension > 0 => {
            fixed_bytes(of).map(|bytes| bytes.saturating_mul(u64::from(*dimension)))
        }
        _ => None,
    }
}

fn duration(reader: &mut Reader<'_>) -> Result<Value> {
    let offset = reader.offset();
    let mut small = |what| {
        let value = unzigzag(unsigned_vint(reader)?);
        let allowed = "a 32-bit integer";
        i32::try_from(value).map_err(|_| ParseError::Value {
            what,
            offset,
            value,
            allowed,
        })
    };
    let months = small("months of a duration")?;
    let days = small("days of a duration")?;
    let nanoseconds = unzigzag(unsigned_vint(reader)?);
    Ok(Value::Duration {
        months,
        days,
        nanoseconds,
    })
}

/// Reads a vint. The number of leading one bits in the first byte is the number of bytes that
/// follow. The rest of the first byte contains the highest bits of the number.
fn unsigned_vint(reader: &mut Reader<'_>) -> Result<u64> {
    let first = reader.u8("vint")?;
    let more = first.leading_ones();
    let high = u64::from(first) & (0xFF_u64 >> more);
    let bytes = reader.take(more as usize, "vint")?;
    Ok(bytes.iter().fold(high, |value, &byte| value << 8 | u64::from(byte)))
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
