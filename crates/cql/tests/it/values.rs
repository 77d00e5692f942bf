//! Tests values with bytes written by hand from the specification, with texts as people read them,
//! and with round trips.

use cql::value::decode;
use cql::{CqlType, Value};
use proptest::prelude::*;

use crate::samples;

/// Checks that the bytes decode to the value, and that the value encodes to the bytes.
fn check(cases: &[(CqlType, &[u8], Value)]) {
    for (typ, bytes, value) in cases {
        assert_eq!(decode(typ, Some(bytes)).as_ref(), Ok(value), "{typ}");
        let mut out = Vec::new();
        value.append(&mut out);
        assert_eq!(out, *bytes, "{typ}");
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn simple_values_have_the_bytes_of_the_specification() {
    check(&[
        (CqlType::Ascii, b"ab", text("ab")),
        (CqlType::Text, b"", text("")),
        (
            CqlType::Bigint,
            b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE",
            Value::Bigint(-2),
        ),
        (CqlType::Blob, b"\x00\xFF", Value::Blob(vec![0, 255])),
        (CqlType::Boolean, b"\x01", Value::Boolean(true)),
        (CqlType::Counter, b"\0\0\0\0\0\0\0\x05", Value::Counter(5)),
        (
            CqlType::Decimal,
            b"\0\0\0\x02\x04\xD2",
            Value::Decimal {
                unscaled: vec![4, 0xD2],
                scale: 2,
            },
        ),
        (CqlType::Double, b"\x3F\xF8\0\0\0\0\0\0", Value::Double(1.5)),
        (CqlType::Float, b"\xBF\xC0\0\0", Value::Float(-1.5)),
        (CqlType::Int, b"\0\0\x01\0", Value::Int(256)),
        (
            CqlType::Timestamp,
            b"\0\0\0\0\0\0\x03\xE8",
            Value::Timestamp(1000),
        ),
        (
            CqlType::Varint,
            b"\xFF\x7F",
            Value::Varint(vec![0xFF, 0x7F]),
        ),
        (
            CqlType::Inet,
            b"\x7F\0\0\x01",
            Value::Inet([127, 0, 0, 1].into()),
        ),
        (CqlType::Date, b"\x80\0\0\0", Value::Date(1 << 31)),
        (CqlType::Time, b"\0\0\0\0\0\0\0\x01", Value::Time(1)),
        (CqlType::Smallint, b"\xFF\xFE", Value::Smallint(-2)),
        (CqlType::Tinyint, b"\x80", Value::Tinyint(-128)),
        // In zigzag encoding, 1 month is 2, and -1 day is 1. 500 ns is 1000, which takes two bytes
        // as a vint.
        (
            CqlType::Duration,
            b"\x02\x01\x83\xE8",
            Value::Duration {
                months: 1,
                days: -1,
                nanoseconds: 500,
            },
        ),
        (CqlType::Int, b"", Value::Empty),
    ]);
    assert_eq!(decode(&CqlType::Int, None), Ok(Value::Null));
}

#[test]
fn compound_values_have_the_bytes_of_the_specification() {
    let list = |of| CqlType::List(Box::new(of));
    let vector = |of, dimension| CqlType::Vector(Box::new(of), dimension);
    check(&[
        (
            list(CqlType::Tinyint),
            b"\0\0\0\x01\0\0\0\x01\x07",
            Value::List(vec![Value::Tinyint(7)]),
        ),
        (
            CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Tinyint)),
            b"\0\0\0\x01\0\0\0\x01k\0\0\0\x01\x07",
            Value::Map(vec![(text("k"), Value::Tinyint(7))]),
        ),
        (
            CqlType::Tuple(vec![CqlType::Tinyint, CqlType::Text]),
            b"\0\0\0\x01\x07\xFF\xFF\xFF\xFF",
            Value::Tuple(vec![Value::Tinyint(7), Value::Null]),
        ),
        // This value was written before its type got the field `number`.
        (
            samples::address_type(),
            b"\0\0\0\x01a",
            Value::Udt(vec![("street".into(), text("a"))]),
        ),
        (
            vector(CqlType::Float, 2),
            b"\x3F\x80\0\0\0\0\0\0",
            Value::Vector(vec![Value::Float(1.0), Value::Float(0.0)]),
        ),
        // Each element of variable length has its length as a vint. Cassandra treats a smallint as
        // variable in length.
        (
            vector(CqlType::Text, 2),
            b"\x01a\x02bc",
            Value::Vector(vec![text("a"), text("bc")]),
        ),
        (
            vector(CqlType::Smallint, 1),
            b"\x02\0\x07",
            Value::Vector(vec![Value::Smallint(7)]),
        ),
    ]);
}

#[test]
fn bytes_of_the_wrong_length_are_refused() {
    let vector = CqlType::Vector(Box::new(CqlType::Float), 2);
    let cases: [(CqlType, &[u8], &str); 6] = [
        (
            CqlType::Int,
            b"\0\0\0",
            "int at byte 0 needs 4 bytes, but only 3 remain",
        ),
        (
            CqlType::Int,
            b"\0\0\0\0\0",
            "length of a value at byte 0 is 5; it must be at most the length of its type",
        ),
        (
            CqlType::Inet,
            b"\0\0\0",
            "length of an inet at byte 0 is 3; it must be 4 or 16",
        ),
        (CqlType::Text, b"\xFF", "text at byte 0 is not valid text"),
        (
            CqlType::Ascii,
            "é".as_bytes(),
            "ascii at byte 0 is not valid text",
        ),
        (
            vector,
            b"\0\0\0\0",
            "vector at byte 0 needs 8 bytes, but only 4 remain",
        ),
    ];
    for (typ, bytes, message) in cases {
        assert_eq!(decode(&typ, Some(bytes)).unwrap_err().to_string(), message);
    }
}

#[test]
fn values_are_shown_as_people_write_them() {
    let decimal = |unscaled: &[u8], scale| Value::Decimal {
        unscaled: unscaled.into(),
        scale,
    };
    let uuid: [u8; 16] = std::array::from_fn(|index| index as u8);
    let cases = [
        (Value::Null, "null"),
        (Value::Text("it's".into()), "it's"),
        (Value::List(vec![Value::Text("it's".into())]), "['it''s']"),
        (Value::Blob(vec![0, 0xAB]), "0x00ab"),
        (Value::Uuid(uuid), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (Value::Timestamp(0), "1970-01-01 00:00:00.000+0000"),
        (
            Value::Timestamp(951_782_399_999),
            "2000-02-28 23:59:59.999+0000",
        ),
        (Value::Timestamp(-1), "1969-12-31 23:59:59.999+0000"),
        (Value::Date((1 << 31) + 11_016), "2000-02-29"),
        (Value::Date((1 << 31) - 1), "1969-12-31"),
        (Value::Time(3_723_000_000_004), "01:02:03.000000004"),
        (Value::Time(-1), "-1"),
        (Value::Varint(vec![0x80]), "-128"),
        (Value::Varint(vec![0x00, 0xFF]), "255"),
        (Value::Varint(vec![0x00]), "0"),
        (
            Value::Varint([vec![1], vec![0; 8]].concat()),
            "18446744073709551616",
        ),
        (decimal(&[0x04, 0xD2], 2), "12.34"),
        (decimal(&[0x85], 3), "-0.123"),
        (decimal(&[0x7B], 0), "123"),
        (decimal(&[0x7B], -2), "1.23E+4"),
        (decimal(&[0x01], i32::MAX), "1E-2147483647"),
        (decimal(&[0x00], 3), "0.000"),
        (
            Value::Duration {
                months: 1,
                days: 2,
                nanoseconds: 3,
            },
            "1mo2d3ns",
        ),
        (Value::Set(vec![Value::Int(1), Value::Int(2)]), "{1, 2}"),
        (
            Value::Map(vec![(Value::Text("a".into()), Value::Int(1))]),
            "{'a': 1}",
        ),
        (Value::Tuple(vec![Value::Int(1), Value::Null]), "(1, null)"),
        (Value::Udt(vec![("zip".into(), Value::Int(1))]), "{zip: 1}"),
    ];
    for (value, shown) in cases {
        assert_eq!(value.to_string(), shown);
    }
    let nested = CqlType::Map(
        Box::new(CqlType::Text),
        Box::new(CqlType::Vector(Box::new(CqlType::Float), 3)),
    );
    assert_eq!(nested.to_string(), "map<text, vector<float, 3>>");
}

#[test]
fn numbers_come_out_of_every_numeric_type() {
    let nines = Value::Varint([vec![0xFF; 4], vec![0x80; 1], vec![0; 7]].concat());
    let cases = [
        (Value::Int(-1), Some(-1), Some(-1.0)),
        (Value::Tinyint(-1), Some(-1), Some(-1.0)),
        (Value::Varint(vec![0xFF]), Some(-1), Some(-1.0)),
        (
            Value::Varint(vec![0, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            None,
            Some(9_223_372_036_854_775_808.0),
        ),
        (nines, Some(i64::MIN), Some(-9_223_372_036_854_775_808.0)),
        (
            Value::Decimal {
                unscaled: vec![5],
                scale: 1,
            },
            None,
            Some(0.5),
        ),
        (Value::Double(0.25), None, Some(0.25)),
        (Value::Text("1".into()), None, None),
        (Value::Null, None, None),
    ];
    for (value, integer, float) in cases {
        assert_eq!(
            (value.as_i64(), value.as_f64()),
            (integer, float),
            "{value:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_value_is_decoded_to_what_was_encoded(
        (typ, value) in samples::any_type().prop_flat_map(|typ| {
            let value = samples::value_of(&typ);
            (Just(typ), value)
        }),
    ) {
        let mut cell = Vec::new();
        value.append_cell(&mut cell);
        let (length, bytes) = cell.split_first_chunk::<4>().unwrap();
        prop_assert_eq!(u32::from_be_bytes(*length) as usize, bytes.len());
        prop_assert_eq!(decode(&typ, Some(bytes)), Ok(value));
    }

    #[test]
    fn a_varint_is_shown_as_its_number(number in any::<i64>()) {
        let value = Value::Varint(number.to_be_bytes().to_vec());
        prop_assert_eq!(value.to_string(), number.to_string());
        prop_assert_eq!(value.as_i64(), Some(number));
    }
}
