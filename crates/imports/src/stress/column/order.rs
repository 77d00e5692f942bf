//! Cassandra's order of the elements of sets and the keys of maps, by type.
//!
//! A read must return the bytes that were written, so cassay writes the elements of a set in
//! Cassandra's order. Most types are ordered by their bytes. Numbers have a different order because
//! of their sign.

use std::cmp::Ordering;

use super::ValueType;

pub(super) fn compare(kind: &ValueType, a: &[u8], b: &[u8]) -> Ordering {
    match kind {
        ValueType::Integer(_) | ValueType::Timestamp => signed(a, b),
        ValueType::Varint => varint(a, b),
        // All decimals have scale 0. The first four bytes contain the scale, so the comparison
        // skips them.
        ValueType::Decimal => varint(a.get(4..).unwrap_or(a), b.get(4..).unwrap_or(b)),
        // As in Java, the sign decides first, and then the other bits.
        ValueType::Float | ValueType::Double => float(a).cmp(&float(b)),
        ValueType::Uuid | ValueType::Timeuuid => uuid(a).cmp(&uuid(b)),
        ValueType::List(element) | ValueType::Set(element) => {
            let in_turn = |_: usize| &element.kind;
            cells(in_turn, a.get(4..).unwrap_or(a), b.get(4..).unwrap_or(b))
        }
        ValueType::Map(key, value) => {
            let in_turn = |at: usize| {
                if at.is_multiple_of(2) {
                    &key.kind
                } else {
                    &value.kind
                }
            };
            cells(in_turn, a.get(4..).unwrap_or(a), b.get(4..).unwrap_or(b))
        }
        ValueType::Tuple(fields) => {
            let last = fields.len().saturating_sub(1);
            cells(|at| &fields[at.min(last)].kind, a, b)
        }
        ValueType::Text
        | ValueType::Blob
        | ValueType::HexBlob
        | ValueType::Boolean
        | ValueType::Inet => a.cmp(b),
        ValueType::Date | ValueType::Duration | ValueType::Vector(..) => a.cmp(b),
    }
}

/// Returns a number with which a comparison of values of a type begins. A value with a smaller
/// number is smaller. If the numbers are equal, the full comparison decides, unless
/// [`is_told_by_key`] is true.
pub(super) fn key(kind: &ValueType, bytes: &[u8]) -> u128 {
    /// Maps signed numbers to unsigned numbers that have the same order.
    fn unsigned(number: i128) -> u128 {
        (number as u128) ^ (1 << 127)
    }
    match kind {
        ValueType::Integer(_) | ValueType::Timestamp | ValueType::Varint => unsigned(number(bytes)),
        ValueType::Decimal => unsigned(number(bytes.get(4..).unwrap_or(bytes))),
        ValueType::Float | ValueType::Double => unsigned(float(bytes)),
        ValueType::Uuid | ValueType::Timeuuid => {
            let (version, time, _) = uuid(bytes);
            u128::from(version) << 64 | u128::from(time)
        }
        ValueType::List(_) | ValueType::Set(_) | ValueType::Map(..) | ValueType::Tuple(_) => 0,
        ValueType::Text
        | ValueType::Blob
        | ValueType::HexBlob
        | ValueType::Boolean
        | ValueType::Inet => head(bytes),
        ValueType::Date | ValueType::Duration | ValueType::Vector(..) => head(bytes),
    }
}

/// Returns true if any two values of a type with equal [`key`]s are equal.
pub(super) fn is_told_by_key(kind: &ValueType) -> bool {
    match kind {
        ValueType::Integer(_) | ValueType::Timestamp | ValueType::Varint => true,
        ValueType::Decimal | ValueType::Float | ValueType::Double => true,
        ValueType::Uuid
        | ValueType::Timeuuid
        | ValueType::List(_)
        | ValueType::Set(_)
        | ValueType::Map(..) => false,
        ValueType::Tuple(_)
        | ValueType::Text
        | ValueType::Blob
        | ValueType::HexBlob
        | ValueType::Boolean => false,
        ValueType::Inet | ValueType::Date | ValueType::Duration | ValueType::Vector(..) => false,
    }
}

/// Returns the first 16 bytes as a number, padded with zeros.
fn head(bytes: &[u8]) -> u128 {
    let mut first = [0; 16];
    let count = bytes.len().min(first.len());
    first[..count].copy_from_slice(&bytes[..count]);
    u128::from_be_bytes(first)
}

/// Compares two signed numbers that have the same width.
fn signed(a: &[u8], b: &[u8]) -> Ordering {
    let is_negative = |bytes: &[u8]| bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    is_negative(b).cmp(&is_negative(a)).then_with(|| a.cmp(b))
}

/// Compares two signed numbers, each with its minimal width.
fn varint(a: &[u8], b: &[u8]) -> Ordering {
    number(a).cmp(&number(b))
}

fn number(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    bytes.iter().fold(start, |sum, byte| sum << 8 | i128::from(*byte))
}

fn float(bytes: &[u8]) -> i128 {
    let bits = number(bytes);
    let below = (1i128 << (8 * bytes.len()).saturating_sub(1)) - 1;
    if bits < 0 { bits ^ below } else { bits }
}

/// Returns the sort key of a UUID. The version comes first, then the time (for version 1), and then
/// the bytes.
fn uuid(bytes: &[u8]) -> (u64, u64, u128) {
    let bits = number(bytes) as u128;
    let high = (bits >> 64) as u64;
    let version = high >> 12 & 15;
    let time = (high & 0x0FFF) << 48 | (high >> 16 & 0xFFFF) << 32 | high >> 32;
    (version, if version == 1 { time } else { 0 }, bits)
}

/// Compares two sequences of values with lengths. The first difference decides. If the sequences do
/// not differ, the number of values decides.
fn cells<'a>(kind: impl Fn(usize) -> &'a ValueType, mut a: &[u8], mut b: &[u8]) -> Ordering {
    let mut at = 0;
    loop {
        match (take(&mut a), take(&mut b)) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => {
                let order = compare(kind(at), a, b);
                if order != Ordering::Equal {
                    return order;
                }
            }
        }
        at += 1;
    }
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    let (value, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use data_encoding::HEXLOWER;

    /// Lines of `type seed bytes`. The classes Sets and Lists in
    /// org.apache.cassandra.stress.generate.values of 3.11.4 generated the values with `size:
    /// fixed(6)`, and the types of the tool serialized them.
    const COLLECTIONS: &str = include_str!("collections.txt");

    fn element(name: &str) -> CqlType {
        match name {
            "int" => CqlType::Int,
            "bigint" => CqlType::Bigint,
            "smallint" => CqlType::Smallint,
            "tinyint" => CqlType::Tinyint,
            "varint" => CqlType::Varint,
            "decimal" => CqlType::Decimal,
            "double" => CqlType::Double,
            "float" => CqlType::Float,
            "uuid" => CqlType::Uuid,
            "timeuuid" => CqlType::Timeuuid,
            "text" => CqlType::Text,
            "blob" => CqlType::Blob,
            "inet" => CqlType::Inet,
            "timestamp" => CqlType::Timestamp,
            "boolean" => CqlType::Boolean,
            "time" => CqlType::Time,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn collections_of_fixed_size_equal_those_of_cassandra_stress() {
        let mut compared = 0;
        for line in COLLECTIONS.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (of, name) = words[0].trim_end_matches('>').split_once('<').expect(line);
            let element = Box::new(element(name));
            let typ = match of {
                "set" => CqlType::Set(element),
                _ => CqlType::List(element),
            };
            let spec = Spec {
                size: Some(Dist::fixed(6)),
                ..Spec::default()
            };
            let mut column = Column::from_profile("s", &typ, spec);
            column.set_seed(words[1].parse().expect(line));
            assert_eq!(HEXLOWER.encode(&cell(&mut column)), words[2], "{line}");
            compared += 1;
        }
        assert!(compared > 50, "{compared}");
    }

    #[test]
    fn the_number_of_a_value_is_in_the_order_of_the_values() {
        for name in [
            "int",
            "bigint",
            "smallint",
            "tinyint",
            "varint",
            "decimal",
            "double",
            "float",
            "uuid",
            "timeuuid",
            "text",
            "blob",
            "inet",
            "timestamp",
            "boolean",
            "time",
        ] {
            let mut column = Column::from_profile("s", &element(name), Spec::default());
            let made = |seed| {
                column.set_seed(seed);
                cell(&mut column)
            };
            let values: Vec<Vec<u8>> = (-40..40).map(made).collect();
            let kind = &column.kind;
            for a in &values {
                for b in &values {
                    let (by_key, by_value) = (key(kind, a).cmp(&key(kind, b)), compare(kind, a, b));
                    let agrees =
                        by_key == by_value || by_key == Ordering::Equal && !is_told_by_key(kind);
                    assert!(agrees, "{name}: {a:?} {b:?}");
                }
            }
        }
        // These are texts with a common beginning, texts that end with additional zeros, and empty
        // texts.
        let texts: [&[u8]; 6] = [
            b"",
            b"\0",
            b"a",
            b"a\0",
            b"aaaaaaaaaaaaaaaaa",
            b"aaaaaaaaaaaaaaaab",
        ];
        for (at, a) in texts.iter().enumerate() {
            for b in &texts[at + 1..] {
                assert!(
                    key(&ValueType::Text, a) <= key(&ValueType::Text, b),
                    "{a:?} {b:?}"
                );
                assert_eq!(compare(&ValueType::Text, a, b), Ordering::Less);
            }
        }
    }

    /// The result must equal that of a simpler method, which has a separate buffer for each element
    /// and sorts by the full comparison.
    #[test]
    fn large_sets_have_each_element_once_in_order() {
        for name in ["int", "text", "timeuuid", "double"] {
            let spec = || Spec {
                size: Some(Dist::fixed(900)),
                population: Some(Dist::uniform(1, 100)),
                ..Spec::default()
            };
            let typ = CqlType::Set(Box::new(element(name)));
            let mut column = Column::from_profile("s", &typ, spec());
            column.set_seed(7);
            let set = cell(&mut column);
            let ValueType::Set(of) = &column.kind else {
                panic!("a set")
            };
            let count = i32::from_be_bytes(set[..4].try_into().unwrap());
            let mut rest = &set[4..];
            let mut values = Vec::new();
            while let Some(value) = take(&mut rest) {
                values.push(value.to_vec());
            }
            assert_eq!(values.len(), count as usize);
            let in_order = |pair: &[Vec<u8>]| compare(&of.kind, &pair[0], &pair[1]);
            assert!(
                values.windows(2).all(|pair| in_order(pair) == Ordering::Less),
                "{name}"
            );
            // For doubles, values between the numbers of the population also occur, so more values
            // are distinct.
            let most = if name == "double" { 900 } else { 100 };
            assert!((50..=most).contains(&values.len()), "{name}");
        }
    }

    #[test]
    fn elements_are_ordered_by_what_they_mean() {
        let bytes = |number: i64| {
            let mut bytes = Vec::new();
            append_varint(number, &mut bytes);
            bytes
        };
        for (kind, low, high) in [
            (ValueType::Integer(4), vec![0xFF, 0, 0, 0], vec![0, 0, 0, 1]),
            (ValueType::Varint, bytes(-300), bytes(5)),
            (ValueType::Varint, bytes(200), bytes(70_000)),
            (
                ValueType::Double,
                (-1f64).to_be_bytes().into(),
                (-0.5f64).to_be_bytes().into(),
            ),
            (
                ValueType::Float,
                (-1f32).to_be_bytes().into(),
                2f32.to_be_bytes().into(),
            ),
            (ValueType::Text, b"a".to_vec(), b"ab".to_vec()),
            (
                ValueType::List(Box::new(Column::from_profile(
                    "e",
                    &CqlType::Int,
                    Spec::default(),
                ))),
                [&[0, 0, 0, 1, 0, 0, 0, 4][..], &[0xFF; 4]].concat(),
                vec![0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0],
            ),
        ] {
            assert_eq!(compare(&kind, &low, &high), Ordering::Less, "{kind:?}");
            assert_eq!(compare(&kind, &high, &low), Ordering::Greater, "{kind:?}");
            assert_eq!(compare(&kind, &low, &low), Ordering::Equal, "{kind:?}");
        }
    }
}
