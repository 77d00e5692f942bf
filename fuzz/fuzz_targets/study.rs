//! Studies: whoever wrote one, reading it ends with a plan or with sentences.
//!
//! `cargo +nightly fuzz run study` runs it (after `cargo install cargo-fuzz`), best with
//! `-- -max_len=16384`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz::study(bytes));
