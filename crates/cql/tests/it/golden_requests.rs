//! Compares requests with bytes that were written by hand from the specification.

use cql::compression::Compression;
use cql::frame::{HEADER_BYTES, opcode};
use cql::request::{
    self, BatchEntry, BatchKind, BatchStatement, BoundValue, EventKind, QueryParams, Request,
};
use cql::{Consistency, FrameError, Header, Version};

const OPTIONS: &[u8] = b"\x04\x00\x00\x01\x05\x00\x00\x00\x00";

const AUTH_RESPONSE: &[u8] = b"\x04\x00\x00\x02\x0F\x00\x00\x00\x10\
    \x00\x00\x00\x0C\x00cass\x00geheim";

const REGISTER: &[u8] = b"\x04\x00\x00\x03\x0B\x00\x00\x00\x31\x00\x03\
    \x00\x0FTOPOLOGY_CHANGE\x00\x0DSTATUS_CHANGE\x00\x0DSCHEMA_CHANGE";

const PREPARE: &[u8] = b"\x04\x00\x00\x04\x09\x00\x00\x00\x0C\x00\x00\x00\x08SELECT 1";

/// QUERY with consistency QUORUM and flags for values, skip metadata, page size, paging state,
/// serial consistency and timestamp. The values are a value of 2 bytes, null, and an empty value.
const QUERY_WITH_EVERYTHING: &[u8] = b"\x04\x00\x01\x02\x07\x00\x00\x00\x35\
    \x00\x00\x00\x08SELECT 1\x00\x04\x3F\
    \x00\x03\x00\x00\x00\x02ab\xFF\xFF\xFF\xFF\x00\x00\x00\x00\
    \x00\x00\x13\x88\x00\x00\x00\x04page\x00\x09\x00\x05\xAF\x31\x07\xA4\x00\x00";

const QUERY_PLAIN: &[u8] = b"\x04\x00\x00\x05\x07\x00\x00\x00\x0F\
    \x00\x00\x00\x08SELECT 1\x00\x0A\x00";

const EXECUTE: &[u8] = b"\x04\x00\x7F\xFF\x0A\x00\x00\x00\x1C\
    \x00\x10ABCDEFGHIJKLMNOP\x00\x01\x01\x00\x01\x00\x00\x00\x01k";

/// LOGGED batch of a query without values and a prepared statement with one value. The consistency
/// is ONE, and the flags are serial consistency and timestamp.
const BATCH: &[u8] = b"\x04\x00\x00\x06\x0D\x00\x00\x00\x28\x00\x00\x02\
    \x00\x00\x00\x00\x05QUERY\x00\x00\
    \x01\x00\x02id\x00\x01\x00\x00\x00\x01v\
    \x00\x01\x30\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07";

/// Returns one request frame of each kind, for mutation.
pub fn frames() -> Vec<Vec<u8>> {
    let written = [
        OPTIONS,
        AUTH_RESPONSE,
        REGISTER,
        PREPARE,
        QUERY_WITH_EVERYTHING,
        QUERY_PLAIN,
        EXECUTE,
        BATCH,
    ];
    let mut frames: Vec<Vec<u8>> = written.map(<[u8]>::to_vec).into();
    frames.push(encoded(|out| {
        request::startup(out, Version::V4, 1, Some(Compression::Lz4))
    }));
    frames
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    // Encoders append to the buffer, so they must not change existing bytes.
    let mut out = b"before".to_vec();
    write(&mut out);
    assert_eq!(&out[..6], b"before");
    out.split_off(6)
}

fn parsed(frame: &[u8]) -> Request<'_> {
    let header = Header::parse_request(frame).unwrap().unwrap();
    assert_eq!(header.frame_bytes(), frame.len());
    request::parse(&header, &frame[HEADER_BYTES..]).unwrap()
}

const EVERYTHING: QueryParams<'_> = QueryParams {
    version: Version::V4,
    consistency: Consistency::Quorum,
    values: &[Some(b"ab"), None, Some(b"")],
    page_size: Some(5000),
    paging_state: Some(b"page"),
    serial_consistency: Some(Consistency::LocalSerial),
    timestamp_us: Some(1_600_000_000_000_000),
    skip_metadata: true,
};

#[test]
fn requests_have_the_bytes_of_the_specification() {
    let one = QueryParams {
        consistency: Consistency::One,
        values: &[Some(b"k")],
        ..QueryParams::default()
    };
    let entries = [
        BatchEntry {
            statement: BatchStatement::Query("QUERY"),
            values: &[],
        },
        BatchEntry {
            statement: BatchStatement::Prepared(b"id"),
            values: &[Some(b"v")],
        },
    ];
    let token = request::sasl_plain("cass", "geheim");
    let cases = [
        (OPTIONS, encoded(|out| request::options(out, 1))),
        (
            AUTH_RESPONSE,
            encoded(|out| request::auth_response(out, Version::V4, 2, &token)),
        ),
        (
            REGISTER,
            encoded(|out| request::register(out, 3, &EventKind::ALL_KINDS)),
        ),
        (
            PREPARE,
            encoded(|out| request::prepare(out, Version::V4, 4, "SELECT 1").unwrap()),
        ),
        (
            QUERY_WITH_EVERYTHING,
            encoded(|out| request::query(out, 0x0102, "SELECT 1", &EVERYTHING).unwrap()),
        ),
        (
            QUERY_PLAIN,
            encoded(|out| request::query(out, 5, "SELECT 1", &QueryParams::default()).unwrap()),
        ),
        (
            EXECUTE,
            encoded(|out| request::execute(out, i16::MAX, b"ABCDEFGHIJKLMNOP", &one)),
        ),
        (
            BATCH,
            encoded(|out| {
                let (consistency, serial) = (Consistency::One, Some(Consistency::Serial));
                let kind = BatchKind::Logged;
                request::batch(out, 6, kind, &entries, consistency, serial, Some(7)).unwrap();
            }),
        ),
    ];
    for (golden, bytes) in cases {
        assert_eq!(bytes, golden, "opcode {:#04x}", golden[4]);
    }
}

#[test]
fn startup_says_who_asks_and_for_which_compression() {
    let version = env!("CARGO_PKG_VERSION");
    for compression in [None, Some(Compression::Lz4)] {
        let frame = encoded(|out| request::startup(out, Version::V4, 0, compression));
        assert_eq!(frame[..5], [4, 0, 0, 0, opcode::STARTUP]);
        let Request::Startup { options } = parsed(&frame) else {
            panic!("no STARTUP")
        };
        let mut expected = vec![
            ("CQL_VERSION", "3.0.0"),
            ("DRIVER_NAME", "cassay"),
            ("DRIVER_VERSION", version),
        ];
        expected.extend(compression.map(|_| ("COMPRESSION", "lz4")));
        assert_eq!(options, expected);
    }
}

#[test]
fn sasl_plain_separates_user_and_password_with_zeroes() {
    assert_eq!(
        request::sasl_plain("cassandra", "secret"),
        b"\0cassandra\0secret"
    );
}

#[test]
fn a_server_reads_back_what_was_asked() {
    assert_eq!(parsed(OPTIONS), Request::Options);
    let token = Some(&b"\x00cass\x00geheim"[..]);
    assert_eq!(parsed(AUTH_RESPONSE), Request::AuthResponse { token });
    assert_eq!(
        parsed(REGISTER),
        Request::Register {
            events: EventKind::ALL_KINDS.to_vec()
        }
    );
    assert_eq!(parsed(PREPARE), Request::Prepare { cql: "SELECT 1" });

    let Request::Query { cql, parameters } = parsed(QUERY_WITH_EVERYTHING) else {
        panic!("no QUERY")
    };
    assert_eq!(
        (cql, parameters.consistency, parameters.values_count),
        ("SELECT 1", 4, 3)
    );
    let values: Vec<_> = parameters.values().collect();
    assert_eq!(
        values,
        [
            BoundValue::Bytes(b"ab"),
            BoundValue::Null,
            BoundValue::Bytes(b"")
        ]
    );
    assert!(parameters.skip_metadata);
    assert_eq!(parameters.page_size, Some(5000));
    assert_eq!(parameters.paging_state, Some(&b"page"[..]));
    assert_eq!(parameters.serial_consistency, Some(9));
    assert_eq!(parameters.timestamp_us, Some(1_600_000_000_000_000));

    let Request::Execute { id, parameters } = parsed(EXECUTE) else {
        panic!("no EXECUTE")
    };
    assert_eq!((id, parameters.values_count), (&b"ABCDEFGHIJKLMNOP"[..], 1));
    assert_eq!(request::execute_id(&EXECUTE[HEADER_BYTES..]), Some(id));

    let Request::Batch {
        kind,
        statements,
        parameters,
    } = parsed(BATCH)
    else {
        panic!("no BATCH")
    };
    assert_eq!(
        (kind, parameters.timestamp_us),
        (BatchKind::Logged, Some(7))
    );
    let prepared = (
        BatchStatement::Prepared(b"id"),
        vec![BoundValue::Bytes(b"v")],
    );
    assert_eq!(
        statements,
        [(BatchStatement::Query("QUERY"), vec![]), prepared]
    );
}

/// Some drivers send values by name and leave values unset. The null target must accept such
/// requests.
#[test]
fn named_and_unset_values_are_read() {
    let body = b"\x00\x00\x00\x01Q\x00\x01\x41\x00\x02\
        \x00\x01a\xFF\xFF\xFF\xFE\x00\x01b\x00\x00\x00\x01x";
    let length = body.len() as u32;
    let header = Header {
        version: 4,
        flags: 0,
        stream: 0,
        opcode: opcode::QUERY,
        length,
    };
    let Ok(Request::Query { parameters, .. }) = request::parse(&header, body) else {
        panic!("no QUERY")
    };
    let values: Vec<_> = parameters.values().collect();
    assert_eq!(values, [BoundValue::Unset, BoundValue::Bytes(b"x")]);
}

#[test]
fn a_custom_payload_in_front_of_a_request_is_passed_over() {
    let body = [
        b"\x00\x01\x00\x01k\x00\x00\x00\x01v",
        &PREPARE[HEADER_BYTES..],
    ]
    .concat();
    let length = body.len() as u32;
    let header = Header {
        version: 4,
        flags: 4,
        stream: 0,
        opcode: opcode::PREPARE,
        length,
    };
    assert_eq!(
        request::parse(&header, &body),
        Ok(Request::Prepare { cql: "SELECT 1" })
    );
}

/// Current drivers try version 5 first. A server that refuses this version must repeat the stream
/// id of the request in its answer.
#[test]
fn a_request_of_version_5_is_told_apart_from_garbage() {
    let mut frame = PREPARE.to_vec();
    frame[0] = 5;
    let error = Header::parse_request(&frame).unwrap_err();
    assert_eq!(
        error,
        FrameError::Version {
            version: 5,
            expected: 4,
            stream: 4
        }
    );
}
