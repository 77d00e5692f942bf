//! Fuzz target for requests. The null target must survive any bytes that a client sends.
//!
//! `cargo +nightly fuzz run request` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=4096 -malloc_limit_mb=64`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::request(bytes));
