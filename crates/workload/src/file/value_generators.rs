//! Generators of single values. They convert a seed and a number to the bytes of a cell. They keep
//! no state between values.

use super::csv::Cells;
use super::groups::Groups;
use super::sizes::Sizes;
use crate::compressible::{FILLER, PATTERN_BYTES};
use crate::distribution::Sampler;
use crate::random::{Draws, GOLDEN, lane, mix};
use cql::value::{append_varint, time_uuid, uuid_ticks};
use std::sync::Arc;

/// Length field of an unset value in the protocol.
const UNSET: i32 = -2;

/// The characters of random texts. Since the alphabet has 64 characters, six random bits select a
/// character.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";

#[derive(Clone, Debug)]
pub(super) enum Number {
    /// The number `from + number / divide % modulo`.
    Row {
        from: u64,
        divide: u64,
        modulo: Option<u64>,
    },
    /// A hash of the number. Different numbers have different 64-bit hashes.
    Hash,
    /// A draw from a distribution. The first field is the start of the range, which may be below 0,
    /// and the sampler draws the distance from the start.
    Draw(i64, Sampler),
    /// Milliseconds since 1970, which increase by `step_ms` with each number.
    Time { start_ms: i64, step_ms: i64 },
}

/// Encoding of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// Two's complement in this number of bytes: 1, 2, 4 or 8.
    Int(usize),
    Digits,
    Varint,
    Decimal,
    Float,
    Double,
    /// Milliseconds since 1970, encoded as a day.
    DayOfTime,
    /// Days since 1970.
    Day,
    /// Milliseconds, encoded as nanoseconds within a day.
    TimeOfTime,
}

/// A generator of values of one CQL type.
#[derive(Clone, Debug)]
pub(super) enum Gen {
    Number(Number, As),
    /// A uniformly distributed number between two limits.
    Real {
        from: f64,
        to: f64,
        written: As,
    },
    Text {
        size: Sizes,
        random: usize,
    },
    Blob {
        size: Sizes,
        random: usize,
    },
    Words {
        words: Vec<Vec<u8>>,
        pick: Sampler,
    },
    Uuid,
    Timeuuid {
        start_ms: i64,
        step_ms: i64,
    },
    Boolean {
        share: f64,
    },
    Inet,
    /// The same bytes for every number.
    Fixed(Vec<u8>),
    /// The value of another generator for the quotient of the number and `divide`, so that `divide`
    /// consecutive numbers share a value. The values repeat after `modulo` different values.
    Every {
        of: Box<Gen>,
        divide: u64,
        modulo: Option<u64>,
    },
    /// The value of another generator for the number's group, or for the number's position in the
    /// group.
    Grouped {
        of: Box<Gen>,
        groups: Arc<Groups>,
        by: GroupedBy,
    },
    /// The cells of a CSV column, in sequence.
    Cell(Arc<Cells>),
    /// The value of another generator, or no value (unset) for a share of all numbers.
    Sometimes {
        of: Box<Gen>,
        missing: f64,
    },
    List {
        of: Box<Gen>,
        size: Sizes,
    },
    Map {
        keys: Box<Gen>,
        values: Box<Gen>,
        size: Sizes,
    },
    /// A tuple or a value of a user-defined type.
    Tuple(Vec<Gen>),
    /// A vector. If the element type has a fixed length, the elements have no length fields.
    Vector {
        of: Box<Gen>,
        count: u32,
        is_fixed: bool,
    },
}

/// Selects whether a value is computed from a group's number or from the position within the group.
/// See [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupedBy {
    /// The number of the group. All rows of a group share the value.
    Group,
    /// The position of the number in its group, counted from 0.
    Place,
}

impl Number {
    #[inline]
    fn draw(&self, seed: u64, n: u64) -> u64 {
        match self {
            Number::Row {
                from,
                divide,
                modulo,
            } => {
                let step = n / divide;
                from.wrapping_add(modulo.map_or(step, |modulo| step % modulo))
            }
            Number::Hash => mix(n.wrapping_add(seed)),
            Number::Draw(from, sampler) => {
                let mut sampler = *sampler;
                let drawn = sampler.draw(n, 0, &mut Draws::new(seed, n));
                drawn.wrapping_add_signed(*from)
            }
            Number::Time { start_ms, step_ms } => {
                start_ms.wrapping_add(step_ms.wrapping_mul(n as i64)) as u64
            }
        }
    }
}

impl Gen {
    /// Appends the value for number `n` as a cell, which is an int length and the bytes (`[int
    /// length][bytes]`).
    #[inline]
    pub(super) fn append_cell(&self, seed: u64, n: u64, out: &mut Vec<u8>) {
        if self.is_missing(seed, n) {
            return out.extend_from_slice(&UNSET.to_be_bytes());
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        self.append(seed, n, out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends the bytes of the value for number `n`. `seed` is derived from the name of the value.
    pub(super) fn append(&self, seed: u64, n: u64, out: &mut Vec<u8>) {
        let draws = || Draws::new(seed, n);
        match self {
            Gen::Number(number, written) => append_number(number.draw(seed, n), *written, out),
            Gen::Real { from, to, written } => {
                let real = from + (to - from) * draws().unit();
                append_real(real, *written, out);
            }
            Gen::Text { size, random } => fill(out, size, *random, seed, n, true),
            Gen::Blob { size, random } => fill(out, size, *random, seed, n, false),
            Gen::Words { words, pick } => {
                let mut pick = *pick;
                let word = pick.draw(n, 0, &mut draws()) as usize;
                out.extend_from_slice(&words[word]);
            }
            Gen::Uuid => {
                let high = mix(n.wrapping_add(seed));
                // A UUID made from a single mixed number would lose bits to the version field. The
                // second half therefore contains all except two bits of the number.
                let low = mix(high ^ n.wrapping_mul(GOLDEN));
                out.extend_from_slice(&(high & !0xF000 | 0x4000).to_be_bytes());
                out.extend_from_slice(&(low >> 2 | 0x8000_0000_0000_0000).to_be_bytes());
            }
            Gen::Timeuuid { start_ms, step_ms } => {
                let ms = start_ms.wrapping_add(step_ms.wrapping_mul(n as i64));
                append_timeuuid(ms, mix(n.wrapping_add(seed)), out);
            }
            Gen::Boolean { share } => out.push(u8::from(draws().unit() < *share)),
            Gen::Inet => {
                let bits = mix(n.wrapping_add(seed)) as u32;
                // 10.0.0.0/8: private addresses.
                out.extend_from_slice(&(bits >> 8 | 10 << 24).to_be_bytes());
            }
            Gen::Fixed(bytes) => out.extend_from_slice(bytes),
            Gen::Every { of, divide, modulo } => {
                let step = n / divide;
                of.append(seed, modulo.map_or(step, |modulo| step % modulo), out);
            }
            Gen::Grouped { of, groups, by } => {
                let (group, place) = groups.position(n);
                let number = if *by == GroupedBy::Group {
                    group
                } else {
                    place
                };
                of.append(seed, number, out);
            }
            Gen::Cell(cells) => out.extend_from_slice(cells.cell(n)),
            Gen::Sometimes { of, .. } => of.append(seed, n, out),
            _ => self.append_collection(seed, n, out),
        }
    }

    fn is_missing(&self, seed: u64, n: u64) -> bool {
        match self {
            // The share of missing values needs a separate seed, because the first draw of the
            // value determines its size.
            Gen::Sometimes { missing, .. } => Draws::new(lane(seed, 0), n).unit() < *missing,
            _ => false,
        }
    }

    pub(super) fn may_be_missing(&self) -> bool {
        matches!(self, Gen::Sometimes { .. })
    }

    fn append_collection(&self, seed: u64, n: u64, out: &mut Vec<u8>) {
        let count = |size: &Sizes| size.draw(n, &mut Draws::new(lane(seed, 0), n));
        // Elements (or keys) and the values of a map have separate seeds, which depend on the
        // number. Each element is computed from its position.
        let element = |place: u64| lane(seed, 1 + place) ^ mix(n.wrapping_mul(GOLDEN));
        match self {
            Gen::List { of, size } => {
                let count = count(size);
                out.extend_from_slice(&(count as u32).to_be_bytes());
                (0..count).for_each(|i| of.append_cell(element(0), i, out));
            }
            Gen::Map { keys, values, size } => {
                let count = count(size);
                out.extend_from_slice(&(count as u32).to_be_bytes());
                for i in 0..count {
                    keys.append_cell(element(0), i, out);
                    values.append_cell(element(1), i, out);
                }
            }
            Gen::Tuple(fields) => {
                for (place, field) in fields.iter().enumerate() {
                    field.append_cell(lane(seed, 1 + place as u64), n, out);
                }
            }
            Gen::Vector {
                of,
                count,
                is_fixed,
            } => {
                for i in 0..u64::from(*count) {
                    if *is_fixed {
                        of.append(element(0), i, out);
                    } else {
                        append_counted(of, element(0), i, out);
                    }
                }
            }
            _ => unreachable!("not a collection"),
        }
    }

    /// Returns true if different numbers have different values, certainly or almost certainly.
    pub(super) fn is_unique(&self) -> bool {
        let long = |size: &Sizes, random: usize| {
            // 16 random characters contain 96 random bits.
            size.range().0 >= 16 && random >= 16
        };
        match self {
            Gen::Number(Number::Row { divide, modulo, .. }, written) => {
                *divide == 1 && modulo.is_none() && !matches!(written, As::Float | As::Double)
            }
            Gen::Number(Number::Hash, written) => {
                matches!(written, As::Int(8) | As::Digits | As::Varint | As::Decimal)
            }
            Gen::Number(Number::Time { step_ms, .. }, written) => {
                *step_ms != 0 && *written == As::Int(8)
            }
            Gen::Uuid | Gen::Timeuuid { .. } => true,
            Gen::Text { size, random } | Gen::Blob { size, random } => long(size, *random),
            Gen::Tuple(fields) => fields.iter().any(Gen::is_unique),
            Gen::Cell(cells) => cells.is_unique(),
            _ => false,
        }
    }

    /// Returns the groups if different groups have different values, or if different positions
    /// within a group have different values.
    pub(super) fn grouped(&self) -> Option<(&Groups, GroupedBy)> {
        match self {
            Gen::Grouped { of, groups, by } => of.is_unique().then_some((&**groups, *by)),
            _ => None,
        }
    }

    /// Returns true if all rows of each of these groups have the same value.
    pub(super) fn is_same_in_group(&self, groups: &Groups) -> bool {
        match self {
            Gen::Fixed(_) => true,
            Gen::Grouped {
                groups: own,
                by: GroupedBy::Group,
                ..
            } => **own == *groups,
            _ => false,
        }
    }

    /// Returns the number of consecutive numbers that share a value, provided that numbers further
    /// apart have different values. Otherwise returns `None`.
    pub(super) fn divided(&self) -> Option<u64> {
        let (divide, modulo) = self.stride()?;
        modulo.is_none().then_some(divide)
    }

    /// Returns the number of consecutive numbers after which values repeat. Returns `None` unless
    /// all values before the repetition differ.
    pub(super) fn modulo(&self) -> Option<u64> {
        let (divide, modulo) = self.stride()?;
        modulo.filter(|_| divide == 1)
    }

    /// Returns true if numbers with the same quotient after division by `divide` have the same
    /// value.
    pub(super) fn is_same_within(&self, divide: Option<u64>) -> bool {
        let own = match self {
            Gen::Fixed(_) => return true,
            Gen::Number(Number::Row { divide, .. }, _) | Gen::Every { divide, .. } => *divide,
            _ => return false,
        };
        divide.is_some_and(|divide| own.is_multiple_of(divide))
    }

    fn stride(&self) -> Option<(u64, Option<u64>)> {
        match self {
            Gen::Number(Number::Row { divide, modulo, .. }, written) => {
                let is_exact = !matches!(written, As::Float | As::Double);
                is_exact.then_some((*divide, *modulo))
            }
            Gen::Every { of, divide, modulo } => of.is_unique().then_some((*divide, *modulo)),
            _ => None,
        }
    }

    /// Returns an upper limit for the size of a value in bytes, without the length field.
    pub(super) fn bytes_max(&self) -> u64 {
        let of = |size: &Sizes, each: u64| size.range().1.saturating_mul(each).saturating_add(4);
        match self {
            Gen::Number(..) | Gen::Real { .. } => 24,
            Gen::Text { size, .. } | Gen::Blob { size, .. } => size.range().1,
            Gen::Words { words, .. } => words.iter().map(Vec::len).max().unwrap_or(0) as u64,
            Gen::Uuid | Gen::Timeuuid { .. } => 16,
            Gen::Boolean { .. } => 1,
            Gen::Inet => 4,
            Gen::Fixed(bytes) => bytes.len() as u64,
            Gen::Every { of, .. } | Gen::Grouped { of, .. } | Gen::Sometimes { of, .. } => {
                of.bytes_max()
            }
            Gen::Cell(cells) => cells.bytes_max(),
            Gen::List { of: element, size } => of(size, 4 + element.bytes_max()),
            Gen::Map { keys, values, size } => of(size, 8 + keys.bytes_max() + values.bytes_max()),
            Gen::Tuple(fields) => fields.iter().map(|field| 4 + field.bytes_max()).sum(),
            Gen::Vector { of, count, .. } => u64::from(*count).saturating_mul(4 + of.bytes_max()),
        }
    }
}

/// Appends a vector element of variable length. Its length precedes the element as an unsigned
/// vint.
fn append_counted(of: &Gen, seed: u64, n: u64, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    of.append(seed, n, &mut bytes);
    cql::value::append_unsigned_vint(out, bytes.len() as u64);
    out.extend_from_slice(&bytes);
}

fn append_number(number: u64, written: As, out: &mut Vec<u8>) {
    const DAY_MS: i64 = 86_400_000;
    let signed = number as i64;
    match written {
        As::Int(bytes) => out.extend_from_slice(&number.to_be_bytes()[8 - bytes..]),
        As::Digits => append_digits(number, out),
        As::Varint => append_varint(signed, out),
        As::Decimal => {
            out.extend_from_slice(&0i32.to_be_bytes());
            append_varint(signed, out);
        }
        As::Float => out.extend_from_slice(&(signed as f32).to_be_bytes()),
        As::Double => out.extend_from_slice(&(signed as f64).to_be_bytes()),
        As::Day => out.extend_from_slice(&((number as u32) ^ 1 << 31).to_be_bytes()),
        As::DayOfTime => {
            let day = signed.div_euclid(DAY_MS) as u32;
            out.extend_from_slice(&(day ^ 1 << 31).to_be_bytes());
        }
        As::TimeOfTime => {
            let ns = signed.rem_euclid(DAY_MS) * 1_000_000;
            out.extend_from_slice(&ns.to_be_bytes());
        }
    }
}

fn append_digits(mut number: u64, out: &mut Vec<u8>) {
    // A u64 has at most 20 decimal digits.
    let mut digits = [0u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

fn append_real(real: f64, written: As, out: &mut Vec<u8>) {
    match written {
        As::Float => out.extend_from_slice(&(real as f32).to_be_bytes()),
        As::Decimal => {
            // The scale of 2 means two digits after the point, as in amounts of money.
            out.extend_from_slice(&2i32.to_be_bytes());
            append_varint(libm::round(real * 100.0) as i64, out);
        }
        _ => out.extend_from_slice(&real.to_be_bytes()),
    }
}

/// Appends a version 1 UUID. The clock sequence and node come from `bits`, so that two UUIDs in one
/// millisecond differ.
fn append_timeuuid(ms: i64, bits: u64, out: &mut Vec<u8>) {
    // The two highest bits are the variant of the UUID. The multicast bit marks the node as random.
    let low = bits & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0100_0000_0000;
    out.extend_from_slice(&time_uuid(uuid_ticks(ms), low));
}

fn fill(out: &mut Vec<u8>, size: &Sizes, random: usize, seed: u64, n: u64, is_text: bool) {
    let mut draws = Draws::new(seed, n);
    let size = size.draw(n, &mut draws) as usize;
    out.reserve(size);
    let end = out.len() + size;
    while out.len() < end {
        let left = end - out.len();
        let pattern = left.min(PATTERN_BYTES);
        let start = out.len();
        while out.len() < start + random.min(pattern) {
            let mut bytes = draws.bits().to_le_bytes();
            if is_text {
                bytes = bytes.map(|byte| ALPHABET[usize::from(byte & 63)]);
            }
            let room = start + random.min(pattern) - out.len();
            out.extend_from_slice(&bytes[..room.min(8)]);
        }
        out.resize(start + pattern, FILLER);
    }
}
