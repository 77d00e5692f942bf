//! Fuzz target for the published results of a study's source.
//!
//! `cargo +nightly fuzz run published` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::published(bytes));
