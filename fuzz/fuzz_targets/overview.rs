//! Fuzz target for overviews of trials, and for lines of their series.
//!
//! `cargo +nightly fuzz run overview` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::overview(bytes));
