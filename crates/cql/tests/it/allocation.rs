//! A counting allocator. The tests use it to check that the hot path does not allocate. They also
//! check that a parser requests a limited amount of memory per byte of input.

use std::cell::Cell;

use cql::Compression;
use cql::request::QueryParams;
use cql::response::{self, RawRows};
use cql::segment::{SEGMENT_BYTES_MAX, Segments};
use cql::template::{Template, append_null, append_value};
use cql::{Header, Value, Version, reply};

use crate::allocator::Telling;
use crate::samples;

thread_local! {
    /// Number of bytes that this thread has requested so far, including bytes that it has freed
    /// since.
    static REQUESTED_BYTES: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    // The thread-local cell no longer exists while a thread ends, but the tests do not measure
    // allocations at that time.
    given: |bytes| {
        let _ = REQUESTED_BYTES.try_with(|total| total.set(total.get() + bytes));
    },
    returned: |_| (),
};

/// Calls `work`. Returns the number of bytes that `work` requests from the allocator on this
/// thread, including freed bytes, and the result of `work`.
pub fn requested_bytes<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = REQUESTED_BYTES.get();
    let result = work();
    (REQUESTED_BYTES.get() - before, result)
}

#[test]
fn a_template_allocates_nothing_when_out_has_room() {
    let params = QueryParams {
        page_size: Some(100),
        ..QueryParams::default()
    };
    let template = Template::execute(&[7; 16], 2, &params);
    let mut out = Vec::with_capacity(template.bytes() + 4 + 34 + 4);
    let (bytes, ()) = requested_bytes(|| {
        let start = template.begin(&mut out);
        append_value(&mut out, &[1; 34]);
        append_null(&mut out);
        template.finish(&mut out, start, 5);
    });
    assert_eq!(bytes, 0);
    assert_eq!(out.len(), out.capacity());
}

#[test]
fn walking_rows_allocates_nothing() {
    let columns = samples::columns();
    let rows = vec![samples::row(), samples::row()];
    let mut out = Vec::new();
    reply::rows(&mut out, 1, &columns, false, Some(b"next"), &rows);
    let (bytes, cells) = requested_bytes(|| {
        let header = Header::parse_response(&out, Version::V4).unwrap().unwrap();
        let body = response::payload(header.flags, &out[9..]).unwrap();
        assert_eq!(
            response::result_kind(body),
            Some(response::ResultKind::Rows)
        );
        let rows = RawRows::parse(body).unwrap();
        rows.rows().map(|row| row.unwrap().cells().count()).sum::<usize>()
    });
    assert_eq!((bytes, cells), (0, 2 * columns.len()));
}

#[test]
fn classifying_an_error_allocates_nothing() {
    let (bytes, code) = requested_bytes(|| response::error_code(&[0, 0, 0x11, 0, 0, 0]));
    assert_eq!((bytes, code), (0, Some(response::ErrorCode::WriteTimeout)));
}

#[test]
fn compressing_again_allocates_nothing() {
    let mut frame = Vec::new();
    cql::request::prepare(&mut frame, Version::V4, 1, &"SELECT ".repeat(100)).unwrap();
    for compression in [Compression::Lz4, Compression::Snappy] {
        let (mut out, mut scratch, mut body) = (frame.clone(), Vec::new(), Vec::new());
        compression.compress(&mut out, 0, &mut scratch);
        compression.decompress(&out[9..], &mut body, 4096).unwrap();
        assert_eq!(body, frame[9..]);

        out.clear();
        out.extend_from_slice(&frame);
        let (bytes, ()) = requested_bytes(|| {
            compression.compress(&mut out, 0, &mut scratch);
            compression.decompress(&out[9..], &mut body, 4096).unwrap();
        });
        assert_eq!(bytes, 0, "{compression:?}");
    }
}

#[test]
fn segments_with_room_allocate_nothing() {
    let mut frames = Vec::new();
    for words in [1, 100, 30_000] {
        cql::request::prepare(&mut frames, Version::V5, 1, &"SELECT ".repeat(words)).unwrap();
    }
    for compression in [None, Some(Compression::Lz4)] {
        let segments = Segments::new(compression);
        let mut out = Vec::with_capacity(Segments::room_bytes(frames.len()));
        let mut payload = Vec::with_capacity(SEGMENT_BYTES_MAX);
        // The compressor creates its hash table once per thread, so this call happens before the
        // measurement.
        segments.wrap(&frames, &mut out);
        out.clear();
        let (bytes, read) = requested_bytes(|| {
            segments.wrap(&frames, &mut out);
            let (mut rest, mut read) = (&out[..], 0);
            while let Some(length) = segments.segment_bytes(rest).unwrap() {
                segments.unwrap(&rest[..length], &mut payload).unwrap();
                read += payload.len();
                rest = &rest[length..];
            }
            read
        });
        assert_eq!((bytes, read), (0, frames.len()), "{compression:?}");
    }
}

#[test]
fn a_value_that_lies_about_its_count_reserves_nothing() {
    let list = cql::CqlType::List(Box::new(cql::CqlType::Int));
    let vector = cql::CqlType::Vector(Box::new(cql::CqlType::Text), u32::MAX);
    for typ in [list, vector] {
        let (bytes, value) =
            requested_bytes(|| cql::value::decode(&typ, Some(&[0x7F, 0xFF, 0xFF, 0xFF])));
        assert!(value.is_err());
        assert_eq!(bytes, 0, "{typ}");
    }
    // The parser must not turn a tuple of 4 bytes into a null for each of 60,000 elements.
    let tuple = cql::CqlType::Tuple(vec![cql::CqlType::Int; 60_000]);
    let (bytes, value) = requested_bytes(|| cql::value::decode(&tuple, Some(&[0xFF; 4])));
    assert_eq!(value, Ok(Value::Tuple(vec![Value::Null])));
    assert!(bytes < 1024, "{bytes}");
}
