//! Requests: the null target must survive whatever a client sends.
//!
//! `cargo +nightly fuzz run request` runs it (after `cargo install cargo-fuzz`), best with
//! `-- -max_len=4096 -malloc_limit_mb=64`, so that believing a hostile count is a finding too.
//! On stable, `cargo check --manifest-path fuzz/Cargo.toml` checks that it still compiles.
//! The input is a whole frame: a header of nine bytes, then the body.

#![no_main]

use cql::Header;
use cql::frame::{HEADER_BYTES, VERSION, flag};
use cql::request::{self, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Header::parse_request(bytes);
    let Some((head, body)) = bytes.split_at_checked(HEADER_BYTES) else { return };
    let header = Header {
        version: VERSION,
        flags: head[1],
        stream: 0,
        opcode: head[4],
        length: body.len() as u32,
    };
    match request::parse(&header, body) {
        Ok(Request::Execute { id, parameters }) => {
            assert_eq!(parameters.values().count(), usize::from(parameters.values_count));
            if header.flags & flag::CUSTOM_PAYLOAD == 0 {
                assert_eq!(request::execute_id(body), Some(id));
            }
        }
        Ok(Request::Query { parameters, .. }) => {
            assert_eq!(parameters.values().count(), usize::from(parameters.values_count));
        }
        _ => {}
    }
});
