//! Fuzz target for histogram logs. Each entry is a histogram, or reading it ends with an error
//! sentence.
//!
//! `cargo +nightly fuzz run hlog` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::hlog(bytes));
