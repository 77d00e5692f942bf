//! Fuzz target for studies. Reading any content ends with a plan or with error sentences.
//!
//! `cargo +nightly fuzz run study` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::study(bytes));
