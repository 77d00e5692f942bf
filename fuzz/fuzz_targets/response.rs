//! Responses: a client must survive whatever a server sends.
//!
//! `cargo +nightly fuzz run response` runs it (after `cargo install cargo-fuzz`), best with
//! `-- -max_len=4096 -malloc_limit_mb=64`, so that believing a hostile count is a finding too.
//! On stable, `cargo check --manifest-path fuzz/Cargo.toml` checks that it still compiles.
//! The input is a whole frame: a header of nine bytes, then the body.

#![no_main]

use cql::compression::decompress_body;
use cql::frame::{HEADER_BYTES, RESPONSE_BIT, VERSION, flag};
use cql::response::{self, RawRows, Response, ResultBody};
use cql::{Header, value};
use libfuzzer_sys::fuzz_target;

/// Limit of decompressed bodies: small, so that the fuzzer is fast.
const BODY_BYTES_MAX: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let _ = Header::parse_response(bytes);
    let Some((head, body)) = bytes.split_at_checked(HEADER_BYTES) else { return };
    // Most inputs have a header that is refused; the body shall be read all the same.
    let header = Header {
        version: VERSION | RESPONSE_BIT,
        flags: head[1],
        stream: 0,
        opcode: head[4],
        length: body.len() as u32,
    };
    if header.flags & flag::COMPRESSED == 0 {
        return read(&header, body);
    }
    let mut expanded = Vec::new();
    if decompress_body(body, &mut expanded, BODY_BYTES_MAX).is_ok() {
        read(&header, &expanded);
    }
});

fn read(header: &Header, body: &[u8]) {
    let parsed = response::parse(header, body);
    let Ok(payload) = response::payload(header.flags, body) else { return };
    let _ = (response::error_code(payload), response::result_kind(payload));
    let raw = RawRows::parse(payload);
    if let Ok(raw) = raw {
        for row in raw.rows().flatten() {
            assert_eq!(row.cells().count(), raw.columns_count);
        }
    }
    let Ok(Response::Result(ResultBody::Rows(rows))) = parsed else { return };
    assert_eq!(raw, Ok(rows.raw));
    for row in rows.raw.rows().flatten() {
        for (column, cell) in rows.columns.iter().zip(row.cells()) {
            if let Ok(value) = value::decode(&column.typ, cell) {
                let _ = (value.to_string(), value.as_i64(), value.as_f64());
            }
        }
    }
}
