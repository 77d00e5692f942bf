//! CQL types and values. The control plane decodes and encodes cells with this module.
//!
//! The data plane does not use this module, since it compares and writes bytes. Decoding reserves
//! at most a small multiple of the cell's size, regardless of the counts in the cell.

mod class;
mod decode;
mod display;
mod encode;
mod time;

use std::net::IpAddr;
use std::sync::Arc;

use crate::wire::{ParseError, Reader, Result};

pub use decode::{decode, fixed_bytes};
pub use encode::{append_unsigned_vint, append_varint};
pub use time::{civil, days_since_1970, time_uuid, uuid_ticks};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CqlType {
    Ascii,
    /// 64-bit integer.
    Bigint,
    /// Uninterpreted bytes.
    Blob,
    Boolean,
    /// 64-bit counter.
    Counter,
    /// Decimal number of any precision.
    Decimal,
    /// 64-bit floating point number.
    Double,
    /// 32-bit floating point number.
    Float,
    /// 32-bit integer.
    Int,
    /// Milliseconds since 1970.
    Timestamp,
    /// UUID of any version.
    Uuid,
    /// UTF-8 text. `text` and `varchar` are the same type.
    Text,
    /// Integer of any size.
    Varint,
    /// UUID of version 1.
    Timeuuid,
    /// IPv4 or IPv6 address.
    Inet,
    /// A date without a time of day.
    Date,
    /// Time of day.
    Time,
    /// 16-bit integer.
    Smallint,
    /// 8-bit integer.
    Tinyint,
    /// Months, days and nanoseconds.
    Duration,
    /// Elements in order.
    List(Box<CqlType>),
    /// Elements without duplicates.
    Set(Box<CqlType>),
    /// Keys and values.
    Map(Box<CqlType>, Box<CqlType>),
    /// A fixed number of elements, each with a separate type.
    Tuple(Vec<CqlType>),
    /// User-defined type.
    Udt(Box<UdtType>),
    /// A fixed number of elements of one type (Cassandra 5).
    Vector(Box<CqlType>, u32),
    /// Another type, which only the name of its Java class identifies.
    Custom(String),
}

/// A user-defined type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdtType {
    /// Keyspace of the user-defined type.
    pub keyspace: String,
    /// Name of the user-defined type.
    pub name: String,
    /// Names and types of the fields. All values of the type share the memory of the names.
    pub fields: Vec<(Arc<str>, CqlType)>,
}

/// A CQL value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null, which means the absence of a value.
    Null,
    /// Zero bytes as the value of a type whose values otherwise have at least one byte. Cassandra
    /// still allows this relic of Thrift.
    Empty,
    /// `ascii` and `text`.
    Text(String),
    Bigint(i64),
    Blob(Vec<u8>),
    Boolean(bool),
    Counter(i64),
    /// `decimal`, with the value `unscaled` × 10^-`scale`.
    Decimal {
        /// Number in two's complement, big-endian, with at least one byte.
        unscaled: Vec<u8>,
        /// Number of digits after the point.
        scale: i32,
    },
    Double(f64),
    Float(f32),
    Int(i32),
    /// `timestamp`: milliseconds since 1970.
    Timestamp(i64),
    Uuid([u8; 16]),
    /// `varint`, in two's complement, big-endian, with at least one byte.
    Varint(Vec<u8>),
    Timeuuid([u8; 16]),
    Inet(IpAddr),
    /// `date`, as a number of days, where 2^31 is 1970-01-01.
    Date(u32),
    /// `time`: nanoseconds since midnight.
    Time(i64),
    Smallint(i16),
    Tinyint(i8),
    /// `duration`, as three numbers that must have the same sign.
    Duration {
        /// The number of months.
        months: i32,
        /// The number of days.
        days: i32,
        /// The number of nanoseconds.
        nanoseconds: i64,
    },
    List(Vec<Value>),
    Set(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// `tuple`. The value has fewer elements than its type if it was written before elements were
    /// added to the type.
    Tuple(Vec<Value>),
    /// User-defined type, with fields by name. Fields that were added to the type after the value
    /// was written are missing.
    Udt(Vec<(Arc<str>, Value)>),
    Vector(Vec<Value>),
    /// A value of a type that cassay knows only by its Java class. The bytes are not decoded.
    Custom(Vec<u8>),
}

impl Value {
    /// Returns the value as an integer, for integer types, counters, dates, times, and varints that
    /// fit in 64 bits. Returns `None` for other types.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Bigint(v) | Value::Counter(v) | Value::Timestamp(v) | Value::Time(v) => Some(*v),
            Value::Int(v) => Some(i64::from(*v)),
            Value::Smallint(v) => Some(i64::from(*v)),
            Value::Tinyint(v) => Some(i64::from(*v)),
            Value::Date(v) => Some(i64::from(*v)),
            Value::Varint(bytes) => i64_of(bytes),
            _ => None,
        }
    }

    /// Returns the value as a floating point number, for floats, doubles, decimals and the types of
    /// [`as_i64`](Self::as_i64). Rounds large numbers. Returns `None` for other types.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Double(v) => Some(*v),
            Value::Float(v) => Some(f64::from(*v)),
            Value::Decimal { .. } | Value::Varint(_) => self.to_string().parse().ok(),
            other => other.as_i64().map(|v| v as f64),
        }
    }

    /// Returns the value as text. Returns `None` if it is not text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as a boolean. Returns `None` if it is not a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns true if the cell is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// Returns the integer in a two's complement number of at least one byte. The number may have more
/// than 8 bytes if the additional first bytes only repeat the sign.
fn i64_of(bytes: &[u8]) -> Option<i64> {
    let sign = if bytes.first()? & 0x80 == 0 {
        0x00
    } else {
        0xFF
    };
    let (front, last) = bytes.split_at(bytes.len().saturating_sub(8));
    let mut whole = [sign; 8];
    whole[8 - last.len()..].copy_from_slice(last);
    let fits = front.iter().all(|&byte| byte == sign) && (whole[0] ^ sign) & 0x80 == 0;
    fits.then_some(i64::from_be_bytes(whole))
}

/// Codes of the types without element types, with their CQL names and their Java classes.
const SIMPLE: [(u16, CqlType, &str, &str); 20] = [
    (0x0001, CqlType::Ascii, "ascii", "AsciiType"),
    (0x0002, CqlType::Bigint, "bigint", "LongType"),
    (0x0003, CqlType::Blob, "blob", "BytesType"),
    (0x0004, CqlType::Boolean, "boolean", "BooleanType"),
    (0x0005, CqlType::Counter, "counter", "CounterColumnType"),
    (0x0006, CqlType::Decimal, "decimal", "DecimalType"),
    (0x0007, CqlType::Double, "double", "DoubleType"),
    (0x0008, CqlType::Float, "float", "FloatType"),
    (0x0009, CqlType::Int, "int", "Int32Type"),
    (0x000B, CqlType::Timestamp, "timestamp", "TimestampType"),
    (0x000C, CqlType::Uuid, "uuid", "UUIDType"),
    (0x000D, CqlType::Text, "text", "UTF8Type"),
    (0x000E, CqlType::Varint, "varint", "IntegerType"),
    (0x000F, CqlType::Timeuuid, "timeuuid", "TimeUUIDType"),
    (0x0010, CqlType::Inet, "inet", "InetAddressType"),
    (0x0011, CqlType::Date, "date", "SimpleDateType"),
    (0x0012, CqlType::Time, "time", "TimeType"),
    (0x0013, CqlType::Smallint, "smallint", "ShortType"),
    (0x0014, CqlType::Tinyint, "tinyint", "ByteType"),
    (0x0015, CqlType::Duration, "duration", "DurationType"),
];

/// Codes of the types with element types.
mod code {
    pub const CUSTOM: u16 = 0x0000;
    pub const LIST: u16 = 0x0020;
    pub const MAP: u16 = 0x0021;
    pub const SET: u16 = 0x0022;
    pub const UDT: u16 = 0x0030;
    pub const TUPLE: u16 = 0x0031;
}

impl CqlType {
    /// Reads a type of at most `depth` levels. Reduces `types_left` by one for each type, including
    /// nested types.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        depth: usize,
        types_left: &mut usize,
    ) -> Result<CqlType> {
        let offset = reader.offset();
        let id = reader.u16("type")?;
        if depth == 0 || *types_left == 0 {
            let (what, allowed) = ("type", "at most 32 levels and 131,070 types");
            return Err(ParseError::Value {
                what,
                offset,
                value: id.into(),
                allowed,
            });
        }
        *types_left -= 1;
        let mut inner = |reader: &mut Reader<'_>| Self::read(reader, depth - 1, types_left);
        Ok(match id {
            code::CUSTOM => class::parse(reader.string("class of a type")?),
            code::LIST => CqlType::List(Box::new(inner(reader)?)),
            code::SET => CqlType::Set(Box::new(inner(reader)?)),
            code::MAP => CqlType::Map(Box::new(inner(reader)?), Box::new(inner(reader)?)),
            code::TUPLE => {
                let count = reader.u16("number of a tuple's types")?;
                CqlType::Tuple((0..count).map(|_| inner(reader)).collect::<Result<_>>()?)
            }
            code::UDT => {
                let keyspace = reader.string("keyspace of a type")?.to_owned();
                let name = reader.string("name of a type")?.to_owned();
                let count = reader.u16("number of a type's fields")?;
                let fields = (0..count)
                    .map(|_| Ok((reader.string("name of a field")?.into(), inner(reader)?)))
                    .collect::<Result<_>>()?;
                CqlType::Udt(Box::new(UdtType {
                    keyspace,
                    name,
                    fields,
                }))
            }
            simple => CqlType::simple(simple, offset)?,
        })
    }

    /// Skips a type of at most `depth` levels, without allocating.
    pub(crate) fn skip(reader: &mut Reader<'_>, depth: usize) -> Result<()> {
        let offset = reader.offset();
        let id = reader.u16("type")?;
        let Some(depth) = depth.checked_sub(1) else {
            let (what, allowed) = ("type", "at most 32 levels");
            return Err(ParseError::Value {
                what,
                offset,
                value: id.into(),
                allowed,
            });
        };
        match id {
            code::CUSTOM => reader.short_bytes("class of a type").map(drop),
            code::LIST | code::SET => Self::skip(reader, depth),
            code::MAP => {
                Self::skip(reader, depth)?;
                Self::skip(reader, depth)
            }
            code::TUPLE => {
                let count = reader.u16("number of a tuple's types")?;
                (0..count).try_for_each(|_| Self::skip(reader, depth))
            }
            code::UDT => {
                reader.short_bytes("keyspace of a type")?;
                reader.short_bytes("name of a type")?;
                let count = reader.u16("number of a type's fields")?;
                (0..count).try_for_each(|_| {
                    reader.short_bytes("name of a field")?;
                    Self::skip(reader, depth)
                })
            }
            simple => CqlType::simple(simple, offset).map(drop),
        }
    }

    fn simple(id: u16, offset: usize) -> Result<CqlType> {
        let known = SIMPLE.iter().find(|(code, ..)| *code == id);
        known.map(|(_, typ, ..)| typ.clone()).ok_or(ParseError::Value {
            what: "type",
            offset,
            value: id.into(),
            allowed: "the code of a CQL type",
        })
    }

    /// Appends the type as in metadata. Writes vectors and durations as their Java classes, because
    /// version 4 has no codes for them.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        use crate::wire::{append_count, append_string, append_u16};
        match self {
            CqlType::List(of) | CqlType::Set(of) => {
                append_u16(
                    out,
                    if matches!(self, CqlType::List(_)) {
                        code::LIST
                    } else {
                        code::SET
                    },
                );
                of.append(out);
            }
            CqlType::Map(keys, values) => {
                append_u16(out, code::MAP);
                keys.append(out);
                values.append(out);
            }
            CqlType::Tuple(types) => {
                append_u16(out, code::TUPLE);
                append_count(out, types.len());
                types.iter().for_each(|typ| typ.append(out));
            }
            CqlType::Udt(udt) => {
                append_u16(out, code::UDT);
                append_string(out, &udt.keyspace);
                append_string(out, &udt.name);
                append_count(out, udt.fields.len());
                for (name, typ) in &udt.fields {
                    append_string(out, name);
                    typ.append(out);
                }
            }
            CqlType::Vector(..) | CqlType::Custom(_) | CqlType::Duration => {
                append_u16(out, code::CUSTOM);
                append_string(out, &class::name(self));
            }
            simple => {
                let row = SIMPLE.iter().find(|(_, typ, ..)| typ == simple);
                append_u16(out, row.expect("SIMPLE has every type without parts").0);
            }
        }
    }
}
