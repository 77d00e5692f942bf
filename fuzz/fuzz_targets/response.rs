//! Fuzz target for responses. A client must survive any bytes that a server sends.
//!
//! `cargo +nightly fuzz run response` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=4096 -malloc_limit_mb=64`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::response(bytes));
