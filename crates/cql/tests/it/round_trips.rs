//! Tests that the crate parses everything that it encodes. The tests cover requests, templates
//! compared with plain requests, and compression.

use cql::Compression;
use cql::compression::{compress_frame, decompress_body};
use cql::frame::{HEADER_BYTES, flag};
use cql::request::{
    self, BatchEntry, BatchKind, BatchStatement, BoundValue, Parameters, QueryParams, Request,
    StatementId,
};
use cql::template::{BatchTemplate, Template, append_null, append_value, stamp};
use cql::{Consistency, FrameError, Header, Version};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Query parameters that own the data. [`QueryParams`] borrows this data.
#[derive(Clone, Debug)]
struct OwnedParams {
    version: Version,
    consistency: Consistency,
    values: Vec<Option<Vec<u8>>>,
    page_size: Option<i32>,
    paging_state: Option<Vec<u8>>,
    serial_consistency: Option<Consistency>,
    timestamp_us: Option<i64>,
    skip_metadata: bool,
}

impl OwnedParams {
    fn with<T>(&self, work: impl FnOnce(&QueryParams) -> T) -> T {
        let values: Vec<Option<&[u8]>> = self.values.iter().map(Option::as_deref).collect();
        work(&QueryParams {
            version: self.version,
            consistency: self.consistency,
            values: &values,
            page_size: self.page_size,
            paging_state: self.paging_state.as_deref(),
            serial_consistency: self.serial_consistency,
            timestamp_us: self.timestamp_us,
            skip_metadata: self.skip_metadata,
        })
    }

    fn check(&self, read: &Parameters) {
        assert_eq!(read.consistency, self.consistency.code());
        assert_eq!(read.page_size, self.page_size);
        assert_eq!(read.paging_state, self.paging_state.as_deref());
        assert_eq!(
            read.serial_consistency,
            self.serial_consistency.map(Consistency::code)
        );
        assert_eq!(read.timestamp_us, self.timestamp_us);
        assert_eq!(read.skip_metadata, self.skip_metadata);
        assert_eq!(read.values().collect::<Vec<_>>(), bound(&self.values));
    }
}

fn append_bound(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(bytes) => append_value(out, bytes),
        None => append_null(out),
    }
}

fn bound(values: &[Option<Vec<u8>>]) -> Vec<BoundValue<'_>> {
    values
        .iter()
        .map(|v| v.as_deref().map_or(BoundValue::Null, BoundValue::Bytes))
        .collect()
}

fn any_consistency() -> impl Strategy<Value = Consistency> {
    prop::sample::select(Consistency::ALL_LEVELS.to_vec())
}

fn any_values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    vec(option::weighted(0.8, vec(any::<u8>(), 0..50)), 0..8)
}

fn any_params() -> impl Strategy<Value = OwnedParams> {
    (
        any_consistency(),
        any_values(),
        option::of(any::<i32>()),
        option::of(vec(any::<u8>(), 0..30)),
        option::of(any_consistency()),
        option::of(any::<i64>()),
        any::<bool>(),
    )
        .prop_map(
            |(consistency, values, page_size, paging_state, serial, timestamp, skip)| OwnedParams {
                version: Version::V4,
                consistency,
                values,
                page_size,
                paging_state,
                serial_consistency: serial,
                timestamp_us: timestamp,
                skip_metadata: skip,
            },
        )
}

fn parsed(frame: &[u8], stream: i16) -> Request<'_> {
    let header = Header::parse_request(frame).unwrap().unwrap();
    assert_eq!((header.stream, header.flags), (stream, 0));
    assert_eq!(header.frame_bytes(), frame.len());
    request::parse(&header, &frame[HEADER_BYTES..]).unwrap()
}

/// Pattern of texts that the encoders send unchanged, since the texts have no comments or quotes.
const CQL: &str = "[a-zA-Z0-9 (),=?;*]{0,40}";

proptest! {
    #[test]
    fn a_query_is_read_back(stream in 0..i16::MAX, cql in CQL, params in any_params()) {
        let mut out = Vec::new();
        params.with(|params| request::query(&mut out, stream, &cql, params)).unwrap();
        let Request::Query { cql: read, parameters } = parsed(&out, stream) else {
            panic!("no QUERY")
        };
        prop_assert_eq!(read, cql);
        params.check(&parameters);
    }

    #[test]
    fn an_execute_is_read_back(
        stream in 0..i16::MAX, id in vec(any::<u8>(), 0..40), params in any_params()
    ) {
        let mut out = Vec::new();
        params.with(|params| request::execute(&mut out, stream, &id, params));
        let Request::Execute { id: read, parameters } = parsed(&out, stream) else {
            panic!("no EXECUTE")
        };
        prop_assert_eq!(read, &id[..]);
        params.check(&parameters);
    }

    #[test]
    fn a_batch_is_read_back(
        cql in CQL,
        id in vec(any::<u8>(), 0..20),
        (values, other) in (any_values(), any_values()),
        consistency in any_consistency(),
        timestamp in option::of(any::<i64>()),
    ) {
        let borrowed: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        let others: Vec<Option<&[u8]>> = other.iter().map(Option::as_deref).collect();
        let (text, prepared) = (BatchStatement::Query(&cql), BatchStatement::Prepared(&id));
        let entries = [
            BatchEntry { statement: text, values: &borrowed },
            BatchEntry { statement: prepared, values: &others },
        ];
        let mut out = Vec::new();
        request::batch(&mut out, 9, BatchKind::Counter, &entries, consistency, None, timestamp)
            .unwrap();
        let Request::Batch { kind, statements, parameters } = parsed(&out, 9) else {
            panic!("no BATCH")
        };
        prop_assert_eq!(kind, BatchKind::Counter);
        prop_assert_eq!(statements, [(text, bound(&values)), (prepared, bound(&other))]);
        prop_assert_eq!(parameters.consistency, consistency.code());
        prop_assert_eq!(parameters.timestamp_us, timestamp);
    }

    #[test]
    fn a_template_writes_what_execute_and_query_write(
        before in vec(any::<u8>(), 0..20),
        stream in 0..i16::MAX,
        id in vec(any::<u8>(), 0..40),
        cql in CQL,
        params in any_params(),
        is_query: bool,
        version in prop::sample::select(Version::ALL.to_vec()),
    ) {
        let params = OwnedParams { version, ..params };
        let id = StatementId { id: &id, result_metadata: b"columns" };
        let mut expected = before.clone();
        let count = params.values.len() as u16;
        // The client never sends the timestamp of the template, but only the timestamp of the
        // operation.
        let other = OwnedParams { timestamp_us: params.timestamp_us.map(|_| 0), ..params.clone() };
        let template = if is_query {
            params.with(|params| request::query(&mut expected, stream, &cql, params)).unwrap();
            other.with(|params| Template::query(&cql, count, params)).unwrap()
        } else {
            params.with(|params| request::execute(&mut expected, stream, id, params));
            other.with(|params| Template::execute(id, count, params))
        };
        let mut out = before.clone();
        let start = template.begin(&mut out);
        prop_assert_eq!(start, before.len());
        let mut values_bytes = 0;
        for value in &params.values {
            append_bound(&mut out, value.as_deref());
            values_bytes += 4 + value.as_ref().map_or(0, Vec::len);
        }
        match &params.paging_state {
            None => template.finish(&mut out, start, stream),
            Some(state) => {
                template.finish_page(&mut out, start, stream, state);
                values_bytes += 4 + state.len();
            }
        }
        prop_assert_eq!(template.has_timestamp(), params.timestamp_us.is_some());
        if let Some(timestamp_us) = params.timestamp_us {
            stamp(&mut out, timestamp_us);
        }
        prop_assert_eq!(out.len(), before.len() + template.bytes() + values_bytes);
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn a_batch_template_writes_what_batch_writes(
        before in vec(any::<u8>(), 0..20),
        stream in 0..i16::MAX,
        entries in vec((any::<bool>(), vec(any::<u8>(), 1..20), any_values()), 0..5),
        params in any_params(),
        kind in prop::sample::select(vec![
            BatchKind::Logged, BatchKind::Unlogged, BatchKind::Counter,
        ]),
    ) {
        let text = |bytes: &[u8]| "x".repeat(bytes.len());
        let cqls: Vec<String> = entries.iter().map(|(_, id, _)| text(id)).collect();
        let values: Vec<Vec<Option<&[u8]>>> = entries
            .iter()
            .map(|(_, _, values)| values.iter().map(Option::as_deref).collect())
            .collect();
        let plain: Vec<BatchEntry> = (0..entries.len())
            .map(|at| BatchEntry {
                statement: if entries[at].0 {
BatchStatement::Query(&cqls[at])
} else {
BatchStatement::Prepared(&entries[at].1)
},
                values: &values[at],
            })
            .collect();
        let (serial, timestamp) = (params.serial_consistency, params.timestamp_us);
        let mut expected = before.clone();
        request::batch(
            &mut expected, stream, kind, &plain, params.consistency, serial, timestamp,
        ).unwrap();

        let template = params.with(|params| BatchTemplate::new(kind, params));
        let mut out = before.clone();
        let start = template.begin(&mut out, entries.len() as u16);
        let mut entries_bytes = 0;
        for (at, (is_query, id, values)) in entries.iter().enumerate() {
            let count = values.len() as u16;
            let statement = params.with(|params| if *is_query {
Template::query(&cqls[at], count, params).unwrap()
} else {
Template::execute(id, count, params)
});
            let entry_start = out.len();
            statement.append_entry(&mut out);
            values.iter().for_each(|value| append_bound(&mut out, value.as_deref()));
            entries_bytes += out.len() - entry_start;
        }
        template.finish(&mut out, start, stream);
        prop_assert_eq!(out.len(), before.len() + template.bytes() + entries_bytes);
        if let Some(timestamp_us) = timestamp {
            prop_assert!(template.has_timestamp());
            stamp(&mut out, timestamp_us);
        }
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn a_compressed_frame_is_expanded_to_what_it_was(
        before in vec(any::<u8>(), 0..20), piece in vec(any::<u8>(), 1..30), times in 1usize..4000,
        compression in prop_oneof![Just(Compression::Lz4), Just(Compression::Snappy)],
    ) {
        let mut out = before.clone();
        request::auth_response(&mut out, Version::V4, 3, &piece.repeat(times));
        let plain = out[before.len()..].to_vec();
        compression.compress(&mut out, before.len(), &mut Vec::new());

        prop_assert_eq!(&out[..before.len()], &before[..]);
        let frame = &out[before.len()..];
        let header = Header::parse_request(frame).unwrap().unwrap();
        prop_assert_eq!(header.frame_bytes(), frame.len());
        prop_assert_eq!(header.stream, 3);
        let mut body = Vec::new();
        if header.flags & flag::COMPRESSED == 0 {
            prop_assert_eq!(frame, &plain[..]);
        } else {
            prop_assert!(frame.len() < plain.len());
            let limit = plain.len() - HEADER_BYTES;
            compression.decompress(&frame[HEADER_BYTES..], &mut body, limit).unwrap();
            prop_assert_eq!(&body[..], &plain[HEADER_BYTES..]);
            let refused = compression.decompress(&frame[HEADER_BYTES..], &mut body, limit - 1);
            let (length, limit) = (limit as u64, limit as u64 - 1);
            prop_assert_eq!(refused, Err(FrameError::TooLong { length, limit }));
        }
    }
}

/// The block was written by hand, and has 10 bytes after decompression. It has one literal `a`, a
/// match of 4 + 0 bytes at distance 1, and the last 5 bytes as literals. The LZ4 block format
/// requires these literals.
#[test]
fn a_block_written_by_hand_is_expanded() {
    let body = b"\x00\x00\x00\x0A\x10a\x01\x00\x50aaaaa";
    let mut out = Vec::new();
    decompress_body(body, &mut out, 10).unwrap();
    assert_eq!(out, b"aaaaaaaaaa");
}

/// The block was written by hand from the description of the Snappy format. It consists of the
/// length as a varint, a literal of one byte, and a copy of 9 bytes at offset 1.
#[test]
fn a_handmade_snappy_block_expands_and_a_lying_one_is_refused() {
    let expand = |body: &[u8], limit| {
        let mut out = Vec::new();
        let result = Compression::Snappy.decompress(body, &mut out, limit);
        result.map(|()| out)
    };
    let body = b"\x0A\x00a\x15\x01";
    assert_eq!(expand(body, 10), Ok(b"aaaaaaaaaa".to_vec()));
    for (body, what) in [
        (&b""[..], "the body does not begin with a length"),
        (
            b"\x80\x80\x80\x08\x00a",
            "the stated length of the body is impossible for Snappy",
        ),
        (
            b"\x0B\x00a\x15\x01",
            "the body is not a Snappy block of its stated length",
        ),
    ] {
        let bytes = body.len();
        let refused = Err(FrameError::Compression { bytes, what });
        assert_eq!(expand(body, 1 << 28), refused);
    }
}

#[test]
fn a_body_that_does_not_get_shorter_stays_as_it_is() {
    let mut options = Vec::new();
    request::options(&mut options, 1);
    let mut execute = Vec::new();
    request::execute(
        &mut execute,
        1,
        b"0123456789abcdef",
        &QueryParams::default(),
    );
    for frame in [options, execute] {
        let mut out = frame.clone();
        compress_frame(&mut out, 0, &mut Vec::new());
        assert_eq!(out, frame);
    }
}

#[test]
fn a_compressed_body_that_lies_about_its_length_is_refused() {
    let mut out = Vec::new();
    let cases: [(&[u8], &str); 4] = [
        (b"\x00\x00\x00", "the body does not begin with a length"),
        (
            b"\x0F\xFF\xFF\xFF\x10a",
            "the stated length of the body is impossible for LZ4",
        ),
        (
            b"\x00\x00\x00\x0B\x10a\x01\x00\x50aaaaa",
            "the body is shorter than its stated length",
        ),
        (
            b"\x00\x00\x00\x09\x10a\x01\x00\x50aaaaa",
            "the body is not an LZ4 block of its stated length",
        ),
    ];
    for (body, what) in cases {
        let error = decompress_body(body, &mut out, 1 << 28).unwrap_err();
        assert_eq!(
            error,
            FrameError::Compression {
                bytes: body.len(),
                what
            }
        );
        assert!(out.is_empty());
    }
}

#[test]
fn a_conditional_result_says_whether_it_was_applied() {
    use cql::reply;
    use cql::response::{ColumnSpec, RawRows};
    use cql::{CqlType, Value};
    let column = |name: &str, typ| ColumnSpec {
        keyspace: "k".to_owned(),
        table: "t".to_owned(),
        name: name.to_owned(),
        typ,
    };
    let columns = [
        column("[applied]", CqlType::Boolean),
        column("v", CqlType::Int),
    ];
    for (skip, rows, applied) in [
        (false, vec![vec![Value::Boolean(true)]], Some(true)),
        (
            true,
            vec![vec![Value::Boolean(false), Value::Int(7)]],
            Some(false),
        ),
        (true, vec![], None),
        (true, vec![vec![Value::Int(1)]], None),
        (true, vec![vec![Value::Null]], None),
    ] {
        let mut out = Vec::new();
        let columns = &columns[..rows.first().map_or(1, Vec::len)];
        reply::rows(&mut out, 0, columns, skip, None, &rows);
        let parsed = RawRows::parse(&out[cql::frame::HEADER_BYTES..]).unwrap();
        assert_eq!(parsed.applied(), applied, "{rows:?}");
        assert_eq!(parsed.paging_state, None);
    }
}
