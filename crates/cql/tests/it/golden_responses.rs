//! Parses responses from bytes that were written by hand from the specification.

use std::net::SocketAddr;

use cql::frame::HEADER_BYTES;
use cql::response::{
    self, ErrorCode, ErrorDetail, Event, RawRows, Response, ResultBody, ResultKind, SchemaChange,
    SchemaChangeKind, SchemaTarget,
};
use cql::value::decode;
use cql::{CqlType, Header, Value, Version, reply};

use crate::samples::{self, column};

/// Parses a whole frame. Panics if the header does not state the length of the body.
fn parsed(frame: &[u8]) -> Response<'_> {
    let header = Header::parse_response(frame, Version::V4).unwrap().unwrap();
    assert_eq!(header.frame_bytes(), frame.len());
    response::parse(&header, &frame[HEADER_BYTES..]).unwrap()
}

fn frame(opcode: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x84, flags, 0x00, 0x01, opcode];
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(body);
    out
}

#[test]
fn the_handshake_is_read() {
    assert_eq!(
        parsed(b"\x84\x00\x00\x01\x02\x00\x00\x00\x00"),
        Response::Ready
    );
    let authenticate = b"\x84\x00\x00\x01\x03\x00\x00\x00\x0B\x00\x09Password?";
    assert_eq!(
        parsed(authenticate),
        Response::Authenticate { class: "Password?" }
    );
    let challenge = b"\x84\x00\x00\x01\x0E\x00\x00\x00\x06\x00\x00\x00\x02go";
    assert_eq!(parsed(challenge), Response::AuthChallenge(Some(b"go")));
    let success = b"\x84\x00\x00\x01\x10\x00\x00\x00\x04\xFF\xFF\xFF\xFF";
    assert_eq!(parsed(success), Response::AuthSuccess(None));
    let supported = b"\x84\x00\x00\x01\x06\x00\x00\x00\x1E\x00\x01\
        \x00\x0BCOMPRESSION\x00\x02\x00\x06snappy\x00\x03lz4";
    let values = vec!["snappy".to_owned(), "lz4".to_owned()];
    assert_eq!(
        parsed(supported),
        Response::Supported(vec![("COMPRESSION".into(), values)])
    );
}

#[test]
fn void_keyspace_and_schema_change_are_read() {
    let void = b"\x84\x00\x00\x01\x08\x00\x00\x00\x04\x00\x00\x00\x01";
    assert_eq!(parsed(void), Response::Result(ResultBody::Void));
    let set = b"\x84\x00\x00\x01\x08\x00\x00\x00\x08\x00\x00\x00\x03\x00\x02ks";
    assert_eq!(parsed(set), Response::Result(ResultBody::SetKeyspace("ks")));
    let change = b"\x84\x00\x00\x01\x08\x00\x00\x00\x1B\x00\x00\x00\x05\
        \x00\x07CREATED\x00\x05TABLE\x00\x02ks\x00\x01t";
    let expected = SchemaChange {
        change: SchemaChangeKind::Created,
        keyspace: "ks".into(),
        target: SchemaTarget::Table("t".into()),
    };
    assert_eq!(
        parsed(change),
        Response::Result(ResultBody::SchemaChange(expected))
    );
}

/// Two columns with a global table, a paging state, and the rows (text "a", int 1) and (text "b",
/// null).
const ROWS: &[u8] = b"\x84\x00\x00\x01\x08\x00\x00\x00\x3E\x00\x00\x00\x02\
    \x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x03nxt\
    \x00\x02ks\x00\x01t\x00\x01k\x00\x0D\x00\x01v\x00\x09\
    \x00\x00\x00\x02\
    \x00\x00\x00\x01a\x00\x00\x00\x04\x00\x00\x00\x01\
    \x00\x00\x00\x01b\xFF\xFF\xFF\xFF";

#[test]
fn rows_are_read_with_and_without_allocating() {
    let Response::Result(ResultBody::Rows(rows)) = parsed(ROWS) else {
        panic!("no rows")
    };
    assert_eq!(
        rows.columns,
        [column("k", CqlType::Text), column("v", CqlType::Int)]
    );
    assert_eq!(rows.paging_state, Some(&b"nxt"[..]));
    let cells: Vec<Vec<_>> = rows.raw.rows().map(|row| row.unwrap().cells().collect()).collect();
    let one: &[u8] = &[0, 0, 0, 1];
    assert_eq!(
        cells,
        [[Some(&b"a"[..]), Some(one)], [Some(&b"b"[..]), None]]
    );
    assert_eq!(decode(&rows.columns[1].typ, cells[0][1]), Ok(Value::Int(1)));

    let body = &ROWS[HEADER_BYTES..];
    assert_eq!(response::result_kind(body), Some(ResultKind::Rows));
    let raw = RawRows::parse(body).unwrap();
    assert_eq!(raw, rows.raw);
    assert_eq!((raw.columns_count, raw.rows_count), (2, 2));
}

/// This is Cassandra's answer to an EXECUTE that asked the server to omit the metadata.
#[test]
fn rows_without_metadata_are_read() {
    let body = b"\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x01\
        \x00\x00\x00\x01x";
    let frame = frame(0x08, 0, body);
    let Response::Result(ResultBody::Rows(rows)) = parsed(&frame) else {
        panic!("no rows")
    };
    assert!(rows.columns.is_empty());
    let row = rows.raw.rows().next().unwrap().unwrap();
    assert_eq!(row.cells().collect::<Vec<_>>(), [Some(&b"x"[..])]);
}

/// This is the answer of a version 5 server if the table has changed since the client prepared the
/// statement. The answer contains the columns and the new id of their description, even if the
/// request asked the server to omit them.
#[test]
fn rows_whose_metadata_has_changed_are_read() {
    let body = b"\x00\x00\x00\x02\x00\x00\x00\x0B\x00\x00\x00\x01\
        \x00\x00\x00\x03nxt\x00\x02id\
        \x00\x02ks\x00\x01t\x00\x01k\x00\x0D\
        \x00\x00\x00\x01\x00\x00\x00\x01x";
    let frame = frame(0x08, 0, body);
    let Response::Result(ResultBody::Rows(rows)) = parsed(&frame) else {
        panic!("no rows")
    };
    assert_eq!(rows.columns, [column("k", CqlType::Text)]);
    assert_eq!(rows.paging_state, Some(&b"nxt"[..]));
    let raw = RawRows::parse(&frame[HEADER_BYTES..]).unwrap();
    let row = raw.rows().next().unwrap().unwrap();
    assert_eq!(row.cells().collect::<Vec<_>>(), [Some(&b"x"[..])]);
}

#[test]
fn a_row_that_is_cut_off_is_an_error_and_the_last() {
    let body = b"\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\
        \x00\x00\x00\x09x\x00\x00\x00";
    let rows: Vec<_> = RawRows::parse(body).unwrap().rows().collect();
    assert_eq!(rows.len(), 1);
    let error = rows[0].clone().unwrap_err().to_string();
    assert_eq!(error, "cell at byte 4 needs 9 bytes, but only 4 remain");
}

/// The statement is an INSERT with two markers. The second marker is the partition key. The
/// statement has no result columns.
#[test]
fn a_prepared_statement_is_read() {
    let body = b"\x00\x00\x00\x04\x00\x02id\
        \x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x01\
        \x00\x02ks\x00\x01t\x00\x01c\x00\x03\x00\x03key\x00\x0D\
        \x00\x00\x00\x04\x00\x00\x00\x00";
    let frame = frame(0x08, 0, body);
    let Response::Result(ResultBody::Prepared(prepared)) = parsed(&frame) else {
        panic!("not prepared")
    };
    assert_eq!(prepared.id, b"id");
    let columns = [column("c", CqlType::Blob), column("key", CqlType::Text)];
    assert_eq!(prepared.bind_columns, columns);
    assert_eq!(prepared.partition_key_indexes, [1]);
    assert!(prepared.result_columns.is_empty());
}

#[test]
fn a_partition_key_index_beyond_the_markers_is_refused() {
    let body = b"\x00\x00\x00\x04\x00\x02id\
        \x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x01";
    let header = Header::parse_response(&frame(0x08, 0, body), Version::V4).unwrap().unwrap();
    let error = response::parse(&header, body).unwrap_err().to_string();
    let expected =
        "index of a partition key column at byte 20 is 1; it must be below the number of columns";
    assert_eq!(error, expected);
}

/// The bytes contain every type as in metadata. Each type is an option code, followed by its
/// element types.
#[test]
fn types_are_read_from_their_codes() {
    use samples::address_type;
    let int = || Box::new(CqlType::Int);
    let vector_class = b"\x00\x00\x00\x59org.apache.cassandra.db.marshal.VectorType(\
        org.apache.cassandra.db.marshal.FloatType , 3)";
    let duration_class = b"\x00\x00\x00\x2Corg.apache.cassandra.db.marshal.DurationType";
    let cases: &[(&[u8], CqlType)] = &[
        (b"\x00\x20\x00\x09", CqlType::List(int())),
        (b"\x00\x22\x00\x09", CqlType::Set(int())),
        (
            b"\x00\x21\x00\x0D\x00\x09",
            CqlType::Map(Box::new(CqlType::Text), int()),
        ),
        (
            b"\x00\x31\x00\x02\x00\x09\x00\x0D",
            CqlType::Tuple(vec![CqlType::Int, CqlType::Text]),
        ),
        (
            b"\x00\x30\x00\x02ks\x00\x07address\x00\x02\
              \x00\x06street\x00\x0D\x00\x06number\x00\x09",
            address_type(),
        ),
        (vector_class, CqlType::Vector(Box::new(CqlType::Float), 3)),
        (duration_class, CqlType::Duration),
        (b"\x00\x00\x00\x03x.Y", CqlType::Custom("x.Y".into())),
    ];
    let simple_codes = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 0xB, 0xC, 0xD, 0xE, 0xF, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15u8,
    ];
    let simple = simple_codes.map(|code| vec![0, code]).into_iter().zip(samples::SIMPLE_TYPES);
    let parts = cases.iter().map(|(bytes, typ)| (bytes.to_vec(), typ.clone()));
    for (bytes, typ) in simple.chain(parts) {
        let mut body = b"\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\
            \x00\x02ks\x00\x01t\x00\x01c"
            .to_vec();
        body.extend_from_slice(&bytes);
        body.extend_from_slice(&[0; 4]);
        let frame = frame(0x08, 0, &body);
        let Response::Result(ResultBody::Rows(rows)) = parsed(&frame) else {
            panic!("no rows")
        };
        assert_eq!(rows.columns, [column("c", typ)]);
        assert!(RawRows::parse(&body).is_ok());
    }
}

/// The body begins with a tracing id, one warning and one entry of custom payload, in this order.
/// READY itself has an empty body.
#[test]
fn parts_announced_by_the_flags_are_passed_over() {
    let tracing_id = [7; 16];
    let warning = b"\x00\x01\x00\x04hot!";
    let payload = b"\x00\x01\x00\x01k\x00\x00\x00\x01v";
    let void = [0, 0, 0, 1];
    let body = [&tracing_id[..], warning, payload, &void].concat();
    assert_eq!(
        parsed(&frame(0x08, 0x0E, &body)),
        Response::Result(ResultBody::Void)
    );
    assert_eq!(response::payload(0x0E, &body), Ok(&void[..]));
    let body = [&warning[..], &void].concat();
    assert_eq!(
        parsed(&frame(0x08, 0x08, &body)),
        Response::Result(ResultBody::Void)
    );
}

/// An error code, the bytes that follow the message (written by hand), and the parsed detail.
type DetailCase = (i32, &'static [u8], ErrorDetail<'static>);

/// Returns every error code that has a detail, with the bytes of the detail and the parsed detail.
pub fn error_details() -> impl Iterator<Item = DetailCase> {
    let names = [
        (
            0x1400,
            &b"\x00\x02ks\x00\x01f\x00\x01\x00\x03int"[..],
            ErrorDetail::FunctionFailure {
                keyspace: "ks",
                function: "f",
                argument_types: vec!["int".into()],
            },
        ),
        (
            0x2400,
            b"\x00\x02ks\x00\x00",
            ErrorDetail::AlreadyExists {
                keyspace: "ks",
                table: "",
            },
        ),
        (0x2500, b"\x00\x02id", ErrorDetail::Unprepared { id: b"id" }),
    ];
    names.into_iter().chain(replica_details())
}

/// Returns the details of errors that begin with a consistency and two numbers of replicas.
fn replica_details() -> [DetailCase; 6] {
    use ErrorDetail as Detail;
    let (consistency, received, block_for, failures) = (4, 1, 2, 3);
    [
        (
            0x1000,
            b"\x00\x01\x00\x00\x00\x03\x00\x00\x00\x02",
            Detail::Unavailable {
                consistency: 1,
                required: 3,
                alive: 2,
            },
        ),
        (
            0x1100,
            b"\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x05BATCH",
            Detail::WriteTimeout {
                consistency,
                received,
                block_for,
                write_type: "BATCH",
            },
        ),
        (
            0x1200,
            b"\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00",
            Detail::ReadTimeout {
                consistency,
                received,
                block_for,
                data_present: false,
            },
        ),
        (
            0x1300,
            b"\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x01",
            Detail::ReadFailure {
                consistency,
                received,
                block_for,
                failures,
                data_present: true,
            },
        ),
        (
            0x1500,
            b"\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x03CAS",
            Detail::WriteFailure {
                consistency,
                received,
                block_for,
                failures,
                write_type: "CAS",
            },
        ),
        (
            0x1700,
            b"\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02",
            Detail::CasWriteUnknown {
                consistency,
                received,
                block_for,
            },
        ),
    ]
}

#[test]
fn every_detail_of_an_error_is_read() {
    for (code, bytes, expected) in error_details() {
        let body = [&code.to_be_bytes()[..], b"\x00\x03why", bytes].concat();
        assert_eq!(response::error_code(&body).map(ErrorCode::code), Some(code));
        let frame = frame(0x00, 0, &body);
        let Response::Error(error) = parsed(&frame) else {
            panic!("no error")
        };
        assert_eq!((error.code.code(), error.message), (code, "why"));
        assert_eq!(error.detail, expected);
        let header = Header::parse_response(&frame, Version::V4).unwrap().unwrap();
        let cut = response::parse(&header, &body[..body.len() - 1]);
        assert!(cut.is_err(), "{code:#x} cut by a byte: {cut:?}");
    }
}

#[test]
fn every_error_code_is_typed_and_unknown_ones_are_kept() {
    for (code, _) in samples::errors() {
        assert_eq!(ErrorCode::from_code(code.code()), code);
    }
    let typed =
        (0..0x3000).filter(|code| !matches!(ErrorCode::from_code(*code), ErrorCode::Other(_)));
    assert_eq!(typed.count(), 20);
    assert_eq!(ErrorCode::WriteTimeout.to_string(), "write timeout");
    assert_eq!(ErrorCode::Other(0x7777).to_string(), "error 0x7777");
    assert_eq!(response::error_code(&[0, 0, 1]), None);
}

/// Returns frames with events, each with the parsed event.
pub fn events() -> impl Iterator<Item = (Vec<u8>, Event)> {
    let v4: SocketAddr = "127.0.0.1:9042".parse().unwrap();
    let v6: SocketAddr = "[::1]:9042".parse().unwrap();
    let function = SchemaTarget::Function {
        name: "f".into(),
        argument_types: vec!["int".into(), "text".into()],
    };
    let schema = |change, target| {
        Event::SchemaChange(SchemaChange {
            change,
            keyspace: "ks".into(),
            target,
        })
    };
    let events: [(&[u8], Event); 5] = [
        (
            b"\x00\x0FTOPOLOGY_CHANGE\x00\x08NEW_NODE\x04\x7F\x00\x00\x01\x00\x00\x23\x52",
            Event::TopologyChange {
                change: "NEW_NODE".into(),
                address: v4,
            },
        ),
        (
            b"\x00\x0DSTATUS_CHANGE\x00\x04DOWN\
              \x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x00\x23\x52",
            Event::StatusChange {
                up: false,
                address: v6,
            },
        ),
        (
            b"\x00\x0DSTATUS_CHANGE\x00\x02UP\x04\x7F\x00\x00\x01\x00\x00\x23\x52",
            Event::StatusChange {
                up: true,
                address: v4,
            },
        ),
        (
            b"\x00\x0DSCHEMA_CHANGE\x00\x07DROPPED\x00\x08KEYSPACE\x00\x02ks",
            schema(SchemaChangeKind::Dropped, SchemaTarget::Keyspace),
        ),
        (
            b"\x00\x0DSCHEMA_CHANGE\x00\x07UPDATED\x00\x08FUNCTION\x00\x02ks\
              \x00\x01f\x00\x02\x00\x03int\x00\x04text",
            schema(SchemaChangeKind::Updated, function),
        ),
    ];
    events.into_iter().map(|(body, event)| {
        let mut bytes = frame(0x0C, 0, body);
        bytes[2..4].copy_from_slice(&(-1i16).to_be_bytes());
        (bytes, event)
    })
}

#[test]
fn events_are_read() {
    for (bytes, event) in events() {
        assert_eq!(
            Header::parse_response(&bytes, Version::V4).unwrap().unwrap().stream,
            -1
        );
        assert_eq!(parsed(&bytes), Response::Event(event));
    }
}

#[test]
fn an_event_that_does_not_exist_is_named() {
    let body = b"\x00\x05PARTY";
    let header = Header::parse_response(&frame(0x0C, 0, body), Version::V4).unwrap().unwrap();
    let error = response::parse(&header, body).unwrap_err().to_string();
    assert_eq!(error, "event `PARTY` is unknown");
}

#[test]
fn answers_of_the_null_target_are_read_back() {
    let mut out = Vec::new();
    reply::prepared(&mut out, 1, &samples::prepared());
    let Response::Result(ResultBody::Prepared(prepared)) = parsed(&out) else {
        panic!("not prepared")
    };
    assert_eq!(prepared, samples::prepared());

    for (code, detail) in samples::errors() {
        out.clear();
        reply::error(&mut out, 1, code, "why", &detail);
        let Response::Error(error) = parsed(&out) else {
            panic!("no error")
        };
        assert_eq!(
            (error.code, error.message, error.detail),
            (code, "why", detail)
        );
    }

    out.clear();
    reply::rows(
        &mut out,
        1,
        &samples::columns(),
        false,
        None,
        &[samples::row()],
    );
    let Response::Result(ResultBody::Rows(rows)) = parsed(&out) else {
        panic!("no rows")
    };
    assert_eq!(rows.columns, samples::columns());
    let row = rows.raw.rows().next().unwrap().unwrap();
    let values = row.cells().zip(&rows.columns).map(|(cell, column)| decode(&column.typ, cell));
    assert_eq!(values.collect::<Result<Vec<_>, _>>(), Ok(samples::row()));
}
