//! Fuzz target for the JSON files of a run.
//!
//! `cargo +nightly fuzz run findings` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::findings(bytes));
