//! Tests hostile bytes. The parsers must never panic, and must never request much more memory than
//! the size of the bytes.

use cql::compression::decompress_body;
use cql::frame::{HEADER_BYTES, flag, opcode};
use cql::request::{self, Request};
use cql::response::{self, RawRows, Response, ResultBody};
use cql::value::decode;
use cql::{CqlType, Header, Version};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::allocation::requested_bytes;
use crate::{golden_requests, samples};

/// Maximum number of bytes of memory that a parser may request per byte of a body, including memory
/// that it frees. A type of 2 bytes takes 32 bytes in memory, and a growing vector copies its
/// content.
const EXPANSION_MAX: usize = 128;

/// Number of bytes that a parser may request in addition, for words in errors and the repeated
/// names of a keyspace.
const BASE_BYTES: usize = 16 * 1024;

/// Calls every function that accepts a response body.
fn read_response(header: &Header, body: &[u8]) {
    let (bytes, parsed) = requested_bytes(|| response::parse(header, body));
    assert!(
        bytes <= EXPANSION_MAX * body.len() + BASE_BYTES,
        "{bytes} for {}",
        body.len()
    );
    let Ok(payload) = response::payload(header.flags, body) else {
        assert!(parsed.is_err());
        return;
    };
    let _ = response::error_code(payload);
    let _ = response::result_kind(payload);
    let (bytes, raw) = requested_bytes(|| RawRows::parse(payload));
    assert_eq!(bytes, 0);
    if let Ok(raw) = raw {
        read_rows(raw);
    }
    let Ok(Response::Result(ResultBody::Rows(rows))) = parsed else {
        return;
    };
    assert_eq!(raw, Ok(rows.raw), "both ways of reading rows agree");
    for row in rows.raw.rows().flatten() {
        for (column, cell) in rows.columns.iter().zip(row.cells()) {
            read_value(&column.typ, cell);
        }
    }
}

fn read_rows(raw: RawRows<'_>) {
    let mut rows_count = 0;
    for row in raw.rows() {
        rows_count += 1;
        if let Ok(row) = row {
            assert_eq!(row.cells().count(), raw.columns_count);
        }
    }
    assert!(rows_count <= raw.rows_count);
}

fn read_value(typ: &CqlType, cell: Option<&[u8]>) {
    let cell_bytes = cell.map_or(0, <[u8]>::len);
    let (bytes, value) = requested_bytes(|| decode(typ, cell));
    assert!(
        bytes <= EXPANSION_MAX * cell_bytes + BASE_BYTES,
        "{bytes} for {cell_bytes}"
    );
    if let Ok(value) = value {
        let _ = (value.to_string(), value.as_i64(), value.as_f64());
    }
}

/// Calls every function that accepts a request body.
fn read_request(header: &Header, body: &[u8]) {
    let (bytes, parsed) = requested_bytes(|| request::parse(header, body));
    assert!(
        bytes <= EXPANSION_MAX * body.len() + BASE_BYTES,
        "{bytes} for {}",
        body.len()
    );
    match parsed {
        Ok(Request::Execute { id, parameters }) => {
            assert_eq!(
                parameters.values().count(),
                usize::from(parameters.values_count)
            );
            if header.flags & flag::CUSTOM_PAYLOAD == 0 {
                assert_eq!(request::execute_id(body), Some(id));
            }
        }
        Ok(Request::Query { parameters, .. }) => {
            assert_eq!(
                parameters.values().count(),
                usize::from(parameters.values_count)
            );
        }
        _ => {}
    }
}

fn header(version: u8, flags: u8, opcode: u8, body: &[u8]) -> Header {
    Header {
        version,
        flags,
        stream: 0,
        opcode,
        length: body.len() as u32,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_can_be_read_as_a_header(bytes in vec(any::<u8>(), 0..20)) {
        for parsed in [Header::parse_response(&bytes, Version::V4), Header::parse_request(&bytes)] {
            prop_assert_eq!(matches!(parsed, Ok(None)), bytes.len() < HEADER_BYTES);
        }
    }

    #[test]
    fn any_bytes_can_be_read_as_a_response(
        opcode in 0u8..0x12, flags in any::<u8>(), body in vec(any::<u8>(), 0..200)
    ) {
        read_response(&header(0x84, flags, opcode, &body), &body);
    }

    #[test]
    fn any_bytes_can_be_read_as_a_request(
        opcode in 0u8..0x12, flags in any::<u8>(), body in vec(any::<u8>(), 0..200)
    ) {
        read_request(&header(0x04, flags, opcode, &body), &body);
    }

    #[test]
    fn a_damaged_response_can_be_read(
        frame in prop::sample::select(samples::responses()),
        flags in prop_oneof![4 => Just(0u8), 1 => 0u8..16],
        damages in vec(samples::damage(), 1..5),
    ) {
        let mut body = frame[HEADER_BYTES..].to_vec();
        damages.iter().for_each(|damage| damage.apply(&mut body));
        read_response(&header(0x84, flags, frame[4], &body), &body);
    }

    #[test]
    fn a_damaged_request_can_be_read(
        frame in prop::sample::select(golden_requests::frames()),
        damages in vec(samples::damage(), 1..5),
    ) {
        let mut body = frame[HEADER_BYTES..].to_vec();
        damages.iter().for_each(|damage| damage.apply(&mut body));
        read_request(&header(0x04, frame[1], frame[4], &body), &body);
    }

    #[test]
    fn any_bytes_can_be_read_as_a_value(
        typ in samples::any_type(), cell in vec(any::<u8>(), 0..100)
    ) {
        read_value(&typ, Some(&cell));
    }

    #[test]
    fn a_damaged_value_can_be_read(
        (typ, value) in samples::any_type().prop_flat_map(|typ| {
            let value = samples::value_of(&typ);
            (Just(typ), value)
        }),
        damages in vec(samples::damage(), 1..4),
    ) {
        let mut cell = Vec::new();
        value.append(&mut cell);
        damages.iter().for_each(|damage| damage.apply(&mut cell));
        read_value(&typ, Some(&cell));
    }

    #[test]
    fn any_bytes_can_be_read_as_a_compressed_body(
        body in vec(any::<u8>(), 0..100), limit in 0usize..100_000
    ) {
        let mut out = Vec::new();
        let (bytes, result) = requested_bytes(|| decompress_body(&body, &mut out, limit));
        prop_assert!(bytes <= limit.min(255 * body.len()), "{bytes}");
        prop_assert!(out.len() <= limit);
        prop_assert!(result.is_ok() || out.is_empty());
    }
}

/// Each count would make the parser reserve gigabytes if the parser trusted it.
#[test]
fn a_hostile_count_reserves_nothing() {
    let int = |value: i32| value.to_be_bytes().to_vec();
    let (rows, prepared) = (int(2), int(4));
    let id = [0, 1, 9].to_vec();
    let cases: [(&str, Vec<Vec<u8>>); 6] = [
        ("columns of rows", vec![rows.clone(), int(0), int(i32::MAX)]),
        (
            "columns of rows without metadata",
            vec![rows.clone(), int(4), int(i32::MAX), int(1)],
        ),
        ("rows", vec![rows.clone(), int(4), int(1), int(i32::MAX)]),
        (
            "rows without columns",
            vec![rows, int(4), int(0), int(i32::MAX)],
        ),
        (
            "bind markers",
            vec![prepared.clone(), id.clone(), int(0), int(i32::MAX), int(0)],
        ),
        (
            "partition key",
            vec![prepared, id, int(0), int(1), int(i32::MAX)],
        ),
    ];
    for (what, parts) in cases {
        let body = parts.concat();
        let header = header(0x84, 0, opcode::RESULT, &body);
        let (bytes, result) = requested_bytes(|| response::parse(&header, &body));
        assert!(result.is_err(), "{what}: {result:?}");
        assert!(bytes < 256, "{what}: {bytes}");
    }
}

/// The protocol itself permits one amplification. A response names the keyspace and table once, but
/// the parser repeats both in memory for every column.
#[test]
fn long_global_names_are_not_repeated_without_limit() {
    let name = [&u16::MAX.to_be_bytes()[..], &[b'k'; 65_535]].concat();
    let mut body = [2i32, 1, 65_535].map(i32::to_be_bytes).concat();
    body.extend_from_slice(&name);
    body.extend_from_slice(&name);
    body.extend_from_slice(&[0, 0, 0, 9].repeat(65_535));
    let header = header(0x84, 0, opcode::RESULT, &body);
    let (bytes, result) = requested_bytes(|| response::parse(&header, &body));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("16 MiB"), "{error}");
    assert!(bytes < 32 << 20, "{bytes}");
}

#[test]
fn types_nested_without_end_are_refused() {
    let mut body = [2i32, 0, 1].map(i32::to_be_bytes).concat();
    body.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
    body.extend_from_slice(&[0x00, 0x20].repeat(1_000_000));
    let header = header(0x84, 0, opcode::RESULT, &body);
    assert!(response::parse(&header, &body).is_err());
    assert!(RawRows::parse(&body).is_err());
}

#[test]
fn flags_that_promise_more_than_the_body_has_are_an_error() {
    for flags in [flag::TRACING, flag::WARNING, flag::CUSTOM_PAYLOAD] {
        let header = header(0x84, flags, opcode::READY, &[0]);
        assert!(response::parse(&header, &[0]).is_err());
    }
}
