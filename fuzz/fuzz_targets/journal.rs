//! Fuzz target for journals and other files that consist of lines.
//!
//! `cargo +nightly fuzz run journal` runs it (after `cargo install cargo-fuzz`), best with `--
//! -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::journal(bytes));
