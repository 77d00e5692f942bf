//! Generates the values of one column. If cassandra-stress supports the type, the values equal
//! those of cassandra-stress bit for bit.
//!
//! cassay also supports maps, tuples, user-defined types, vectors, durations and nested
//! collections, which cassandra-stress refuses. cassandra-stress draws the sizes of collections
//! from an unseeded generator, so each of its runs writes different rows. In cassay, the sizes
//! follow from the seed.

pub(crate) mod bytes;
mod elements;
mod order;
mod unseeded;

use self::elements::Elements;
use super::draw::Dist;
use cql::token::hash3_x64_128;
use cql::value::{
    CqlType, Value, append_unsigned_vint, append_varint, fixed_bytes, time_uuid, uuid_ticks,
};
use workload::java::Faster;

/// Default range of identities in cassandra-stress.
const IDENTITIES: (i64, i64) = (1, 100_000_000_000);
/// Default range of dates in ms: the first fifty years from 1970.
const DATES: (i64, i64) = (1, 50 * 365 * 24 * 3600 * 1000);
const SIZES: (i64, i64) = (4, 8);
/// Minimum size, in bytes, at which the number of possible random texts or blobs reaches the number
/// of possible identities.
const DISTINCT_BYTES: i64 = 8;
/// Maximum number of composite values that are skipped one by one. It takes about 1 µs to skip a
/// value.
const WALKED_MAX: i64 = 50_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spec {
    /// Sizes of texts, blobs and collections.
    pub(crate) size: Option<Dist>,
    /// Distribution of identities. The identities determine which values are possible and how
    /// frequent they are.
    pub(crate) population: Option<Dist>,
    /// Number of values of a clustering column under one value of the previous clustering column.
    pub(crate) cluster: Option<Dist>,
}

/// The way in which a value is combined with the seed for dependent values (folded).
#[derive(Clone, Copy, Debug)]
enum Fold {
    Bytes,
    Number(i64),
}

#[derive(Clone, Debug)]
enum ValueType {
    Text,
    Blob,
    /// The key of the predefined tables. It is a blob that consists of characters.
    HexBlob,
    /// A whole number. The field is its number of bytes.
    Integer(usize),
    /// A date in days since 1970, stored with an offset of 2³¹.
    Date,
    Varint,
    Decimal,
    Float,
    Double,
    Boolean,
    Timestamp,
    Uuid,
    Timeuuid,
    Inet,
    Duration,
    List(Box<Column>),
    Set(Box<Column>),
    Map(Box<Column>, Box<Column>),
    /// A tuple or a value of a user-defined type. The columns are its fields.
    Tuple(Vec<Column>),
    Vector(Box<Column>, u32, bool),
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    kind: ValueType,
    salt: i64,
    identity: Dist,
    size: Dist,
    pub(crate) cluster: Dist,
    fold: Option<i64>,
}

/// Returns the salt of a column, which is the low half of Cassandra's hash of a text.
fn salt(text: &str) -> i64 {
    hash3_x64_128(text.as_bytes(), 0).0
}

impl Column {
    pub(crate) fn from_profile(name: &str, typ: &CqlType, spec: Spec) -> Column {
        let salt = salt(&format!("seed for stress{}", name.to_lowercase()));
        Column::new(name, typ, salt, spec)
    }

    pub(crate) fn predefined(name: &str, typ: &CqlType, size: Dist) -> Column {
        let spec = Spec {
            size: Some(size),
            ..Spec::default()
        };
        Column::new(name, typ, salt(&format!("randomstr{name}")), spec)
    }

    pub(crate) fn predefined_key(bytes: i64) -> Column {
        let mut key = Column::predefined("key", &CqlType::Blob, Dist::fixed(bytes));
        key.kind = ValueType::HexBlob;
        key
    }

    /// Creates a counter column of the predefined tables. The values of the column are increments.
    pub(crate) fn predefined_counter(name: &str, increments: Dist) -> Column {
        let spec = Spec {
            population: Some(increments),
            ..Spec::default()
        };
        Column::new(
            name,
            &CqlType::Bigint,
            salt(&format!("randomstr{name}")),
            spec,
        )
    }

    fn new(name: &str, typ: &CqlType, salt: i64, spec: Spec) -> Column {
        let kind = kind(name, typ, salt, spec);
        let dates = matches!(kind, ValueType::Timestamp | ValueType::Timeuuid);
        let (first, last) = if dates { DATES } else { IDENTITIES };
        Column {
            name: name.to_owned(),
            kind,
            salt,
            identity: spec.population.unwrap_or(Dist::uniform(first, last)),
            size: spec.size.unwrap_or(Dist::uniform(SIZES.0, SIZES.1)),
            cluster: spec.cluster.unwrap_or(Dist::fixed(1)),
            fold: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn is_set(&self) -> bool {
        matches!(self.kind, ValueType::Set(_))
    }

    /// Sets the seed that determines all following values.
    pub(crate) fn set_seed(&mut self, seed: i64) {
        self.identity.set_seed(seed ^ self.salt);
        self.cluster.set_seed(seed ^ !self.salt);
        let inner = seed.wrapping_mul(31);
        match &mut self.kind {
            ValueType::List(element) | ValueType::Set(element) | ValueType::Vector(element, ..) => {
                element.set_seed(inner);
                self.size.set_seed(seed ^ self.salt);
            }
            ValueType::Map(key, value) => {
                key.set_seed(inner);
                value.set_seed(!inner);
                self.size.set_seed(seed ^ self.salt);
            }
            ValueType::Tuple(fields) => {
                for (field, number) in fields.iter_mut().zip(0i64..) {
                    field.set_seed(inner.wrapping_add(number));
                }
            }
            _ => {}
        }
    }

    /// Appends the bytes of the next value, without a length.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        self.fold = match self.write(out) {
            Fold::Bytes => None,
            Fold::Number(number) => Some(number),
        };
        debug_assert!(out.len() >= start);
    }

    pub(crate) fn skip(&mut self, count: i64) {
        match &self.kind {
            ValueType::HexBlob
            | ValueType::List(_)
            | ValueType::Set(_)
            | ValueType::Map(..)
            | ValueType::Tuple(_)
            | ValueType::Vector(..) => {
                let mut value = Vec::new();
                // The number of generated values is below the limit. If more values are to be
                // skipped, the column may continue with any other values.
                for _ in 0..count % WALKED_MAX {
                    value.clear();
                    self.append(&mut value);
                }
            }
            // Each value of any other type takes exactly one identity.
            _ => self.identity.skip(count),
        }
    }

    /// Returns the approximate number of distinct values. Returns 0 if the number is unknown.
    pub(crate) fn distinct(&self) -> f64 {
        let identities = (self.identity.max() - self.identity.min()) as f64 + 1.0;
        let most = match &self.kind {
            ValueType::Text | ValueType::Blob if self.size.min() >= DISTINCT_BYTES => f64::INFINITY,
            ValueType::Integer(bytes) => libm::exp2(8.0 * *bytes as f64),
            ValueType::Date | ValueType::Inet => libm::exp2(32.0),
            ValueType::Float => libm::exp2(24.0),
            ValueType::Varint | ValueType::Decimal | ValueType::Double | ValueType::Duration => {
                f64::INFINITY
            }
            ValueType::Timestamp | ValueType::Uuid | ValueType::Timeuuid => f64::INFINITY,
            _ => 0.0,
        };
        identities.min(most)
    }

    /// Returns the seed for values that depend on the last appended value. `value` contains the
    /// bytes of the last appended value.
    pub(crate) fn fold(&self, value: &[u8], seed: i64) -> i64 {
        fold(self.fold, value, seed)
    }

    /// Returns the number with which the last appended value is folded. Returns `None` if the value
    /// is folded by its bytes.
    pub(crate) fn folded(&self) -> Option<i64> {
        self.fold
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Fold {
        match &mut self.kind {
            ValueType::Text => {
                let (mut random, size) = self.sized();
                while_filling(out, size, &mut random, |byte| ((byte & 127) + 32) & 127);
                Fold::Bytes
            }
            ValueType::Blob => {
                let (mut random, size) = self.sized();
                let start = out.len();
                out.resize(start + size, 0);
                random.fill(&mut out[start..]);
                Fold::Bytes
            }
            ValueType::HexBlob => {
                let identity = self.identity.next();
                self.size.set_seed(identity);
                let size = self.size.next().max(0) as usize;
                self.hexadecimal(size, out);
                Fold::Bytes
            }
            ValueType::Boolean => {
                self.identity.next();
                out.push(1);
                Fold::Bytes
            }
            ValueType::Timestamp => {
                out.extend_from_slice(&self.identity.next().to_be_bytes());
                Fold::Bytes
            }
            ValueType::Uuid => {
                let number = self.identity.next();
                out.extend_from_slice(&number.to_be_bytes());
                out.extend_from_slice(&number.to_be_bytes());
                Fold::Number(0)
            }
            ValueType::Timeuuid => {
                let uuid = time_uuid(uuid_ticks(self.identity.next()), self.salt as u64);
                out.extend_from_slice(&uuid);
                let high = (u128::from_be_bytes(uuid) >> 64) as i64;
                Fold::Number(self.salt ^ high)
            }
            ValueType::Inet => {
                let number = self.identity.next() as i32;
                out.extend_from_slice(&number.to_be_bytes());
                Fold::Bytes
            }
            ValueType::Integer(_) | ValueType::Date | ValueType::Varint => self.number(out),
            ValueType::Decimal | ValueType::Float | ValueType::Double => self.number(out),
            _ => {
                self.composite(out);
                Fold::Bytes
            }
        }
    }

    /// Appends a value of a numeric or date type, and returns its number for the fold. For all
    /// other types, appends nothing and returns `Fold::Bytes`.
    fn number(&mut self, out: &mut Vec<u8>) -> Fold {
        match &self.kind {
            ValueType::Integer(bytes) => {
                let number = self.identity.next();
                let cut = number.to_be_bytes();
                out.extend_from_slice(&cut[8 - *bytes..]);
                let shift = 64 - 8 * *bytes as u32;
                Fold::Number(number << shift >> shift)
            }
            ValueType::Date => {
                let days = self.identity.next() as i32;
                out.extend_from_slice(&(days ^ i32::MIN).to_be_bytes());
                Fold::Number(i64::from(days))
            }
            ValueType::Varint => {
                let number = self.identity.next();
                append_varint(number, out);
                Fold::Number(number)
            }
            ValueType::Decimal => {
                let number = self.identity.next();
                out.extend_from_slice(&0i32.to_be_bytes());
                append_varint(number, out);
                Fold::Number(number)
            }
            ValueType::Float => {
                let number = self.identity.next_double() as f32;
                out.extend_from_slice(&number.to_be_bytes());
                Fold::Number(number as i64)
            }
            ValueType::Double => {
                let number = self.identity.next_double();
                out.extend_from_slice(&number.to_be_bytes());
                Fold::Number(number as i64)
            }
            _ => Fold::Bytes,
        }
    }

    fn composite(&mut self, out: &mut Vec<u8>) {
        match &mut self.kind {
            ValueType::List(element) => {
                let size = self.size.next().max(0);
                let values: Vec<Vec<u8>> = (0..size).map(|_| cell(element)).collect();
                append_cells(&values, out);
            }
            ValueType::Set(element) => {
                let size = self.size.next();
                Elements::made(size, element, None).append_once(&element.kind, out);
            }
            ValueType::Map(key, value) => {
                let size = self.size.next();
                Elements::made(size, key, Some(value)).append_once(&key.kind, out);
            }
            ValueType::Tuple(fields) => {
                for field in fields {
                    let value = cell(field);
                    append_cell(&value, out);
                }
            }
            ValueType::Vector(element, dimension, fixed) => {
                for _ in 0..*dimension {
                    let value = cell(element);
                    if !*fixed {
                        append_unsigned_vint(out, value.len() as u64);
                    }
                    out.extend_from_slice(&value);
                }
            }
            ValueType::Duration => {
                let number = self.identity.next();
                let duration = Value::Duration {
                    months: (number % 1200) as i32,
                    days: (number / 1200 % 31) as i32,
                    nanoseconds: number.saturating_abs(),
                };
                duration.append(out);
            }
            _ => {}
        }
    }

    /// Returns the random generator and the size for a text or blob.
    fn sized(&mut self) -> (Faster, usize) {
        let identity = self.identity.next();
        self.size.set_seed(identity);
        let size = self.size.next().max(0) as usize;
        (Faster::new(!identity as u64), size)
    }

    /// Appends the nibbles of further identities as characters, with the lowest nibble first. The
    /// characters are 0 to 9, then K to P.
    fn hexadecimal(&mut self, size: usize, out: &mut Vec<u8>) {
        let end = out.len() + size;
        while out.len() < end {
            let mut number = self.identity.next() as u64;
            for _ in 0..16.min(end - out.len()) {
                let digit = (number & 15) as u8;
                out.push(if digit < 10 {
                    b'0' + digit
                } else {
                    b'A' + digit
                });
                number >>= 4;
            }
        }
    }
}

fn kind(name: &str, typ: &CqlType, salt: i64, spec: Spec) -> ValueType {
    let inner = |typ: &CqlType| Box::new(Column::new(name, typ, salt, spec));
    match typ {
        CqlType::Ascii | CqlType::Text => ValueType::Text,
        CqlType::Blob | CqlType::Custom(_) => ValueType::Blob,
        CqlType::Bigint | CqlType::Counter | CqlType::Time => ValueType::Integer(8),
        CqlType::Int => ValueType::Integer(4),
        CqlType::Date => ValueType::Date,
        CqlType::Smallint => ValueType::Integer(2),
        CqlType::Tinyint => ValueType::Integer(1),
        CqlType::Varint => ValueType::Varint,
        CqlType::Decimal => ValueType::Decimal,
        CqlType::Float => ValueType::Float,
        CqlType::Double => ValueType::Double,
        CqlType::Boolean => ValueType::Boolean,
        CqlType::Timestamp => ValueType::Timestamp,
        CqlType::Uuid => ValueType::Uuid,
        CqlType::Timeuuid => ValueType::Timeuuid,
        CqlType::Inet => ValueType::Inet,
        CqlType::Duration => ValueType::Duration,
        CqlType::List(element) => ValueType::List(inner(element)),
        CqlType::Set(element) => ValueType::Set(inner(element)),
        CqlType::Map(key, value) => ValueType::Map(inner(key), inner(value)),
        CqlType::Tuple(elements) => {
            ValueType::Tuple(elements.iter().map(|element| *inner(element)).collect())
        }
        CqlType::Udt(udt) => {
            ValueType::Tuple(udt.fields.iter().map(|(_, field)| *inner(field)).collect())
        }
        CqlType::Vector(element, dimension) => {
            ValueType::Vector(inner(element), *dimension, fixed_bytes(element).is_some())
        }
    }
}

/// Returns the seed for values that depend on a given value. The seed is 31·seed plus the number of
/// the value. If `number` is `None`, the function folds the value byte by byte.
pub(crate) fn fold(number: Option<i64>, value: &[u8], seed: i64) -> i64 {
    match number {
        Some(number) => seed.wrapping_mul(31).wrapping_add(number),
        None => value.iter().fold(seed, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(i64::from(*byte as i8))
        }),
    }
}

fn cell(column: &mut Column) -> Vec<u8> {
    let mut value = Vec::new();
    column.append(&mut value);
    value
}

fn append_cells(values: &[Vec<u8>], out: &mut Vec<u8>) {
    out.extend_from_slice(&(values.len() as i32).to_be_bytes());
    values.iter().for_each(|value| append_cell(value, out));
}

fn append_cell(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(value.len() as i32).to_be_bytes());
    out.extend_from_slice(value);
}

/// Appends `size` bytes. Each random number provides eight bytes. `change` converts each byte.
fn while_filling(out: &mut Vec<u8>, size: usize, random: &mut Faster, change: impl Fn(u8) -> u8) {
    let end = out.len() + size;
    while out.len() < end {
        let bytes = random.long().to_le_bytes();
        let count = bytes.len().min(end - out.len());
        out.extend(bytes[..count].iter().map(|byte| change(*byte)));
    }
}
