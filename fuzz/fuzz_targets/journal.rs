//! Journals and other files of lines.
//!
//! `cargo +nightly fuzz run journal` runs it, best with `-- -max_len=16384`. The gate's mutation
//! run (`crates/cassay/tests/mutations/`) reads the same ways.

#![no_main]

use libfuzzer_sys::fuzz_target;
use store::Lines;
use store::record::{IntervalRecord, JournalRecord, SampleRecord};

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("fuzz-{}.ndjson", std::process::id()));
    if std::fs::write(&path, bytes).is_err() {
        return;
    }
    if let Ok(lines) = Lines::<JournalRecord>::open(&path) {
        lines.for_each(drop);
    }
    if let Ok(lines) = Lines::<IntervalRecord>::open(&path) {
        lines.for_each(drop);
    }
    if let Ok(lines) = Lines::<SampleRecord>::open(&path) {
        lines.for_each(drop);
    }
});
