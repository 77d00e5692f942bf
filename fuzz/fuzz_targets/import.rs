//! Fuzz target for command lines of other tools, and for the files that they name.
//!
//! `cargo +nightly fuzz run import` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::import(bytes));
